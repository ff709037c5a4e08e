//! Another name of this computer, for tests of a hub under a name that is not `localhost`.

use std::net::{IpAddr, ToSocketAddrs};

use nix::unistd::gethostname;

/// A name of this computer, and the address that it stands for.
pub struct OtherName {
    pub name: String,
    pub address: IpAddr,
}

/// Returns the host name of this computer, or a name such as `mcp-hub.localhost` if the host name
/// is `localhost` or has no IPv4 address.
///
/// The name is in lower case, as clients send it.
#[track_caller]
pub fn find_other_name() -> OtherName {
    let own = gethostname().expect("this computer has a name");
    let candidates = [
        own.to_string_lossy().to_ascii_lowercase(),
        "mcp-hub.localhost".to_owned(),
        "localhost.localdomain".to_owned(),
    ];
    let resolve = |name: &String| {
        let mut addresses = (name.as_str(), 0).to_socket_addrs().ok()?;
        let address = addresses.find(std::net::SocketAddr::is_ipv4)?.ip();
        Some(OtherName {
            name: name.clone(),
            address,
        })
    };
    let is_other = |name: &&String| *name != "localhost";
    candidates
        .iter()
        .filter(is_other)
        .find_map(resolve)
        .unwrap_or_else(|| panic!("none of {candidates:?} is in /etc/hosts or the DNS"))
}
