//! The dial policy: to which addresses a sign-in, a webhook or a download may connect. Also decides
//! which URLs may be opened in a browser. A server and its metadata are not trusted. They must not
//! send a browser to `file:`, or this program to a machine in the local network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use drawbridge_model::{cause::MapText, display_url::DisplayUrl};
use url::{Host, Url};

const MAX_URL_BYTES: usize = 8 * 1024;

/// The addresses to which the sign-in to one server, the requests to one webhook or the downloads
/// from one host may connect.
#[derive(Debug, Clone)]
pub(crate) struct DialPolicy {
    host: String,
    /// The address, if `host` is an address and not a name.
    ip: Option<IpAddr>,
    /// Whether `host` is this computer.
    loopback: bool,
}

/// Why a dial policy does not allow a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    #[error("{url} uses http, so others on the network could read the requests. Use its https URL")]
    PlainHttp { url: DisplayUrl },
    #[error("'{url}' is not an https URL")]
    NotHttps { url: DisplayUrl },
    #[error("'{url}' contains a user name")]
    UserName { url: DisplayUrl },
    #[error("'{url}' leads to an address that is neither public nor the server's own")]
    PrivateAddress { url: DisplayUrl },
}

impl DialError {
    /// Returns the error with `change` applied to its URL, for instance to mask a secret.
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::PlainHttp { url } => Self::PlainHttp {
                url: url.map_text(change),
            },
            Self::NotHttps { url } => Self::NotHttps {
                url: url.map_text(change),
            },
            Self::UserName { url } => Self::UserName {
                url: url.map_text(change),
            },
            Self::PrivateAddress { url } => Self::PrivateAddress {
                url: url.map_text(change),
            },
        }
    }
}

/// Why a URL is not opened in a browser.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{url}' is not opened in a browser: {reason}")]
pub struct BrowserUrlError {
    url: DisplayUrl,
    reason: BrowserUrlReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum BrowserUrlReason {
    #[error("it is longer than {MAX_URL_BYTES} bytes")]
    TooLong,
    #[error("it contains the character {0:?}")]
    Character(char),
    #[error("it is not a URL")]
    NotUrl,
    #[error("only https URLs are opened, and http URLs of this computer")]
    Scheme,
    #[error("it contains a user name")]
    UserName,
}

impl BrowserUrlError {
    /// Returns the error with `change` applied to its URL, for instance to mask a secret.
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        Self {
            url: self.url.map_text(change),
            reason: self.reason,
        }
    }
}

impl DialPolicy {
    /// Returns the dial policy for a server, a webhook or a host of downloads.
    ///
    /// # Errors
    /// Returns an error if requests would cross the network to `server` in plain text.
    pub(crate) fn for_server(server: &Url) -> Result<Self, DialError> {
        let policy = Self {
            host: normalized_host(server),
            ip: ip_literal(server),
            loopback: is_loopback(server),
        };
        if server.scheme() == "https" || policy.loopback {
            return Ok(policy);
        }
        Err(DialError::PlainHttp {
            url: DisplayUrl::from(server),
        })
    }

    /// Checks whether a URL may be used. The URL has to use https, or http if both the URL and the
    /// server are on loopback. The URL must not contain a user name, or name an address that
    /// [`Self::allows`] rejects.
    ///
    /// # Errors
    /// Returns the reason if the URL may not be used.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), DialError> {
        let shown = || DisplayUrl::from(url);
        let plain = url.scheme() == "http" && self.loopback && is_loopback(url);
        if url.scheme() != "https" && !plain {
            return Err(DialError::NotHttps { url: shown() });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(DialError::UserName { url: shown() });
        }
        let allowed = match ip_literal(url) {
            Some(address) => self.allows(&normalized_host(url), address),
            None => !is_loopback(url) || self.loopback,
        };
        if allowed {
            return Ok(());
        }
        Err(DialError::PrivateAddress { url: shown() })
    }

    /// Returns whether `host` may be dialled at `address`. The HTTP client checks the resolved
    /// address when it connects, so that no later DNS answer can replace the checked address.
    pub(super) fn allows(&self, host: &str, address: IpAddr) -> bool {
        match AddressClass::of(address) {
            AddressClass::Public => true,
            AddressClass::Loopback => self.loopback,
            AddressClass::Private
                if host.trim_end_matches('.').eq_ignore_ascii_case(&self.host) =>
            {
                true
            }
            AddressClass::Private | AddressClass::Reserved => self.ip == Some(address),
        }
    }
}

/// Returns the URL if a browser may open it: https, or http on this computer, not too long, without
/// a user name, and with only the characters that sign-in URLs need (no quotes, `$`, `;` or `\`).
///
/// # Errors
/// Returns the reason if the URL may not be opened.
pub fn check_browser_url(text: &str) -> Result<Url, BrowserUrlError> {
    let refused = |reason| {
        Err(BrowserUrlError {
            url: DisplayUrl::new(text),
            reason,
        })
    };
    if text.len() > MAX_URL_BYTES {
        return refused(BrowserUrlReason::TooLong);
    }
    if let Some(character) = text
        .chars()
        .find(|c| !(c.is_ascii_alphanumeric() || "-._~:/?@[]&=+,%*".contains(*c)))
    {
        return refused(BrowserUrlReason::Character(character));
    }
    let Ok(url) = Url::parse(text) else {
        return refused(BrowserUrlReason::NotUrl);
    };
    if !url.has_host() || !(url.scheme() == "https" || url.scheme() == "http" && is_loopback(&url))
    {
        return refused(BrowserUrlReason::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused(BrowserUrlReason::UserName);
    }
    Ok(url)
}

/// Returns the first 300 characters of a server's text. Spaces replace control characters, which a
/// terminal would interpret.
pub(super) fn printable_excerpt(text: &str) -> String {
    text.chars()
        .take(300)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

fn normalized_host(url: &Url) -> String {
    url.host_str()
        .unwrap_or_default()
        .trim_end_matches('.')
        .to_ascii_lowercase()
}

fn ip_literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}

fn is_loopback(url: &Url) -> bool {
    match ip_literal(url) {
        Some(address) => AddressClass::of(address) == AddressClass::Loopback,
        None => normalized_host(url) == "localhost" || normalized_host(url).ends_with(".localhost"),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressClass {
    Public,
    Loopback,
    /// An address of a private network (RFC 1918, RFC 6598, RFC 4193).
    Private,
    /// A link-local address (cloud providers serve credentials at a link-local address), a
    /// multicast address, or a reserved address.
    Reserved,
}

impl AddressClass {
    fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => {
                embedded_v4(address).map_or_else(|| Self::of_v6(address), Self::of_v4)
            }
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        let [a, b, c, _] = address.octets();
        let reserved = address.is_link_local()
            || address.is_multicast()
            || address.is_documentation()
            || a == 0
            || a >= 240
            || (a, b, c) == (192, 0, 0)
            || a == 198 && matches!(b, 18 | 19);
        match () {
            () if address.is_loopback() => Self::Loopback,
            () if address.is_private() || a == 100 && (64..=127).contains(&b) => Self::Private,
            () if reserved => Self::Reserved,
            () => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let [a, b, c, ..] = address.segments();
        let reserved = address.is_multicast()
            || address.is_unspecified()
            || a & 0xffc0 == 0xfe80
            || (a, b) == (0x2001, 0)
            || (a, b) == (0x2001, 0xdb8)
            || (a, b, c) == (0x64, 0xff9b, 1);
        match () {
            () if address.is_loopback() => Self::Loopback,
            // Unique local addresses, and the deprecated site-local addresses.
            () if a & 0xfe00 == 0xfc00 || a & 0xffc0 == 0xfec0 => Self::Private,
            () if reserved => Self::Reserved,
            () => Self::Public,
        }
    }
}

/// Returns the IPv4 address that a mapped, compatible, NAT64 or 6to4 address embeds.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let from = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => Some(from(g, h)),
        [0, 0, 0, 0, 0, 0] if !address.is_loopback() && !address.is_unspecified() => {
            Some(from(g, h))
        }
        [0x2002, ..] => Some(from(b, c)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
