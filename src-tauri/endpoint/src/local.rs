//! The local socket: serves the same endpoint to programs of this user, which find the socket
//! through the data folder. `unix` implements it; on other platforms, each function fails
//! (`unsupported`).

use crate::listener::BindError;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::{bind, client_builder};

#[cfg(not(unix))]
mod unsupported;
#[cfg(not(unix))]
pub(crate) use unsupported::{bind, client_builder};

/// The outcome of an attempt to bind the local socket.
pub(crate) struct BindOutcome<L> {
    /// The path of the socket, for messages.
    pub(crate) address: String,
    pub(crate) listener: Result<L, BindError>,
}
