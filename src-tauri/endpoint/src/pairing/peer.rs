//! The other end of a TCP connection.

use std::net::{IpAddr, SocketAddr};

/// The program that opened a TCP connection, by its address. An extension of each request over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(super) address: SocketAddr,
    /// The port of Drawbridge to which it connected.
    pub(super) listener_port: u16,
}

impl Peer {
    pub(crate) fn new(address: SocketAddr, listener_port: u16) -> Self {
        Self {
            address,
            listener_port,
        }
    }

    /// Returns whether the program runs on this computer.
    pub(crate) fn is_local(&self) -> bool {
        self.ip().is_loopback()
    }

    /// Returns the address, without its port.
    pub(crate) fn ip(&self) -> IpAddr {
        self.address.ip().to_canonical()
    }

    /// Returns whether these are the ends of this connection, as the program sees them.
    #[cfg(target_os = "linux")]
    pub(super) fn is_connected(&self, own: SocketAddr, remote: SocketAddr) -> bool {
        own.port() == self.address.port()
            && own.ip().to_canonical() == self.ip()
            && remote.port() == self.listener_port
    }
}
