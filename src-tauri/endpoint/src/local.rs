//! The local socket: the same endpoint for programs of this user, found by the data folder. Each
//! platform has its own file.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::{bind, connect};

#[cfg(not(unix))]
mod absent;
#[cfg(not(unix))]
pub(crate) use absent::{bind, connect};

/// A bound local socket and its address.
pub(crate) struct Bound<L> {
    pub(crate) listener: L,
    pub(crate) address: String,
}

/// The error of a local socket that cannot be bound.
#[derive(Debug)]
pub(crate) struct BindError {
    pub(crate) address: String,
    pub(crate) error: String,
}
