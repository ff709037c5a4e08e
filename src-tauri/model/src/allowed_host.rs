//! The hosts, besides this computer's own, under which the endpoint answers.

#[cfg(test)]
mod tests;

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

/// The most hosts that a person may allow.
pub const MAX_ALLOWED_HOSTS: usize = 32;

/// The longest name of a host (RFC 1035, section 2.3.4).
const MAX_NAME_CHARS: usize = 253;
const MAX_LABEL_CHARS: usize = 63;

/// A host that requests may name in `Host` and `Origin`: a name or an IP address, compared exactly.
/// There are no wildcards, because a wildcard would also cover names that others control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS), ts(type = "string"))]
#[serde(try_from = "String", into = "String")]
pub struct AllowedHost {
    /// In lower case, as browsers send it; an IPv6 address is in brackets.
    name: String,
    /// The port, or `None` for the listener's port.
    port: Option<u16>,
}

/// Why a text is not a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllowedHostError {
    #[error(
        "'{0}' is not a host: use a name or an IP address, with a port if it is not the listener's, as in hub.example or hub.example:443"
    )]
    BadName(String),
    #[error("'{0}' has no valid port: use 1 to 65535")]
    BadPort(String),
    #[error(
        "'{0}' stands for every address, and no client can connect to it: use the name or the address that clients connect to"
    )]
    Unspecified(String),
}

impl AllowedHost {
    /// Returns the values of `Host` that name this host. A host without a port has the listener's
    /// port. A browser omits the default port of a scheme.
    pub fn authorities(&self, listener_port: u16) -> Vec<String> {
        let port = self.port.unwrap_or(listener_port);
        let with_port = format!("{}:{port}", self.name);
        if matches!(port, 80 | 443) {
            vec![with_port, self.name.clone()]
        } else {
            vec![with_port]
        }
    }

    /// Returns the values of `Origin` of pages from this host. A reverse proxy may serve them over
    /// HTTPS.
    pub fn origins(&self, listener_port: u16) -> Vec<String> {
        let port = self.port.unwrap_or(listener_port);
        let mut origins = vec![
            format!("http://{}:{port}", self.name),
            format!("https://{}:{port}", self.name),
        ];
        match port {
            80 => origins.push(format!("http://{}", self.name)),
            443 => origins.push(format!("https://{}", self.name)),
            _ => {}
        }
        origins
    }

    /// Returns the URL of the endpoint under this host. Port 443 means HTTPS.
    pub fn endpoint_url(&self, listener_port: u16) -> String {
        match self.port.unwrap_or(listener_port) {
            443 => format!("https://{}/mcp", self.name),
            80 => format!("http://{}/mcp", self.name),
            port => format!("http://{}:{port}/mcp", self.name),
        }
    }
}

impl FromStr for AllowedHost {
    type Err = AllowedHostError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let (name, port) = split_port(text)?;
        let name = name.to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']');
        if address.parse().is_ok_and(|ip: IpAddr| ip.is_unspecified()) {
            return Err(AllowedHostError::Unspecified(text.to_owned()));
        }
        if is_name(&name) || is_ipv6(&name) {
            Ok(Self { name, port })
        } else {
            Err(AllowedHostError::BadName(text.to_owned()))
        }
    }
}

/// Splits `NAME:PORT`. A colon within brackets belongs to an IPv6 address.
fn split_port(text: &str) -> Result<(&str, Option<u16>), AllowedHostError> {
    let end_of_name = text.rfind(']').unwrap_or(0);
    let Some(colon) = text[end_of_name..].find(':').map(|at| at + end_of_name) else {
        return Ok((text, None));
    };
    let port = &text[colon + 1..];
    let is_number = port.chars().all(|c| c.is_ascii_digit());
    match port.parse() {
        Ok(port) if is_number && port > 0 => Ok((&text[..colon], Some(port))),
        Ok(_) | Err(_) => Err(AllowedHostError::BadPort(text.to_owned())),
    }
}

/// Returns whether a text is a host name or an IPv4 address. Names of containers may have `_`.
fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= MAX_LABEL_CHARS
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    text.len() <= MAX_NAME_CHARS && text.split('.').all(is_label)
}

fn is_ipv6(text: &str) -> bool {
    text.strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl TryFrom<String> for AllowedHost {
    type Error = AllowedHostError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<AllowedHost> for String {
    fn from(host: AllowedHost) -> Self {
        host.to_string()
    }
}
