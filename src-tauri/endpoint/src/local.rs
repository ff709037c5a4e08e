//! The local socket: the same endpoint for programs of this user, found by the data folder. Each
//! platform has its own file.

use crate::listener::BindError;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::{bind, client_builder};

#[cfg(not(unix))]
mod unsupported;
#[cfg(not(unix))]
pub(crate) use unsupported::{bind, client_builder};

/// The attempt to bind the local socket.
pub(crate) struct Bound<L> {
    pub(crate) address: String,
    pub(crate) listener: Result<L, BindError>,
}
