//! The rig of the tests that run the whole product: a private desktop session with its own screen,
//! bus and keyring, the product's binaries, and real clients and servers.
//!
//! If a prerequisite is missing, the rig panics with the name of the package; `cargo xtask test`
//! installs all of them.

#![expect(
    clippy::missing_panics_doc,
    reason = "a failure of the rig fails the test"
)]

pub mod bridge;
pub mod browser;
pub mod canary;
pub mod clients;
pub mod desktop_session;
pub mod docs;
pub mod events;
pub mod faulty;
pub mod home;
pub mod host_name;
pub mod http;
pub mod hub;
pub mod keyring;
pub mod mcp;
pub mod memory;
pub mod notifications;
pub mod official_registry;
pub mod paths;
pub mod portal;
pub mod ports;
pub mod process;
pub mod protected_server;
pub mod provider;
pub mod screen_times;
pub mod slow_connections;
pub mod source;
pub mod stateless;
pub mod store;
pub mod tray;
pub mod wait;
pub mod web_driver;

pub use bridge::Bridge;
pub use desktop_session::DesktopSession;
pub use faulty::FaultyServer;
pub use home::Home;
pub use hub::Hub;
pub use mcp::McpClient;
pub use memory::MemoryGrowth;
pub use official_registry::OfficialRegistryServer;
pub use stateless::StatelessClient;
pub use wait::{wait_until, wait_until_within};
pub use web_driver::WebDriver;
