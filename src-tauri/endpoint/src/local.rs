//! The local socket: the same door for programs of this user, found by the data folder. All
//! that depends on the platform is in one file each.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::{bind, connect};

#[cfg(not(unix))]
mod absent;
#[cfg(not(unix))]
pub(crate) use absent::{bind, connect};

/// A bound local socket, and where it is.
pub(crate) struct Bound<L> {
    pub(crate) listener: L,
    pub(crate) address: String,
}

/// A local socket that cannot be bound.
#[derive(Debug)]
pub(crate) struct BindError {
    pub(crate) address: String,
    pub(crate) error: String,
}
