//! The engine of Drawbridge: the path of a call from a client to a server and back, and
//! everything that decides, remembers and shows it. It names neither tauri nor axum.
//!
//! | room | what it is for |
//! |---|---|
//! | [`model`] | the words as types; no I/O |
//! | [`protocol`] | the revisions of MCP |
//! | [`store`], [`secrets`], [`settings`], [`logs`], [`clock`], [`random`], [`redact`], [`events`], [`http`], [`lines`], [`data_dir`] | what the rooms above stand on |
//! | [`oauth`] | signing in to remote servers |
//! | [`transport`] | a connection to a server: stdio, streamable HTTP, processes |
//! | [`registry`], [`upstream`], [`access`], [`sessions`] | specs; sessions with servers; clients and their sessions |
//! | [`catalog`] | all tools as one snapshot, and the cache behind it |
//! | [`policy`], [`router`] | may it cross; where to |
//! | [`pipeline`] | the way of a call |
//! | [`api`], [`hub`] | the verbs, and the one facade |

pub mod access;
pub mod api;
pub mod catalog;
pub mod clients;
pub mod clock;
pub mod data_dir;
pub mod events;
pub mod http;
pub mod hub;
pub mod lines;
pub mod logs;
pub mod model;
pub mod oauth;
pub mod pipeline;
pub mod policy;
pub mod protocol;
pub mod random;
pub mod redact;
pub mod registry;
pub mod router;
pub mod secrets;
pub mod sessions;
pub mod settings;
pub mod store;
pub mod transport;
pub mod upstream;

pub use data_dir::default_data_dir;
pub use hub::{Hub, HubOptions};
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use transport::fuzzing;
pub use transport::process::guard;

/// Makes *ring* the provider of TLS for this process. To be called before the first HTTP client is made.
pub fn install_tls() {
    // An error says that it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
