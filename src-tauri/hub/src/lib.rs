//! The engine of Drawbridge: the path of a call from a client to a server and back, and everything
//! that decides, records and shows the call. This crate names neither tauri nor axum.
//!
//! | module | purpose |
//! |---|---|
//! | [`model`] | shared types; no I/O |
//! | [`protocol`] | the revisions of MCP |
//! | [`store`], [`secrets`], [`settings`], [`logs`], [`clock`], [`random`], [`redact`], [`events`], [`http`], [`lines`], [`data_dir`] | small parts that the modules below use |
//! | [`oauth`] | signing in to remote servers |
//! | [`transport`] | a connection to a server: stdio, streamable HTTP, processes |
//! | [`registry`], [`upstream`], [`access`], [`sessions`], [`clients`] | specs; sessions with servers; clients, their sessions and their configuration files |
//! | [`catalog`] | all tools as one snapshot, and the stored copies behind it |
//! | [`policy`], [`router`] | whether a call may run; which server it goes to |
//! | [`pipeline`] | the steps of a call |
//! | [`error`] | the error of a verb |
//! | [`hub`] | the facade |
//! | [`api`] | the verbs |

pub mod access;
pub mod api;
pub mod catalog;
pub mod clients;
pub mod clock;
pub mod data_dir;
pub mod error;
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
pub use hub::{Hub, HubOptions, methods};
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use transport::fuzzing;
pub use transport::process::guard;

/// Makes *ring* the TLS provider of this process. Call this before the first HTTP client is
/// created.
pub fn install_tls() {
    // An error means that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
