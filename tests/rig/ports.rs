//! Ports for programs that a test starts.

use std::{net::TcpListener, time::Duration};

use crate::wait::wait_until_within;

/// The ports that the system never assigns by itself. Linux assigns ports from 32768 up to outgoing
/// connections and to listeners on port 0.
const UNASSIGNED: std::ops::Range<u16> = 20_000..32_768;

/// Returns a free port, chosen at random, so that neither another test nor an outgoing connection
/// takes the port before the program listens on it.
pub fn find_free_port() -> u16 {
    std::iter::repeat_with(|| rand::random_range(UNASSIGNED))
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("the iterator is endless")
}

/// Waits until nothing listens on a port.
#[track_caller]
pub fn wait_until_free(port: u16) {
    wait_until_within(
        Duration::from_secs(5),
        format!("port {port} is free"),
        || TcpListener::bind(("127.0.0.1", port)).ok(),
    );
}
