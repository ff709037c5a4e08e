//! The other end of a TCP connection.

use std::net::{IpAddr, SocketAddr};

/// The address of the program that opened a TCP connection. An extension of each request over TCP,
/// unless the request names an allowed host, because it may then have come through a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(super) address: SocketAddr,
    /// The port of Drawbridge to which the program connected.
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

    /// Returns whether a socket with these addresses is the program's end of the connection.
    #[cfg(target_os = "linux")]
    pub(super) fn matches_socket(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        local.port() == self.address.port()
            && local.ip().to_canonical() == self.ip()
            && remote.port() == self.listener_port
    }
}
