//! Checks requests over TCP before routing. Rejects requests whose `Host` names neither this
//! listener nor a host that a person allowed (DNS rebinding), and requests that a browser sends for
//! another origin (cross-origin requests).
//! <https://fetch.spec.whatwg.org>, <https://w3c.github.io/webappsec-fetch-metadata>

#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use arc_swap::ArcSwap;
use axum::http::{HeaderMap, Uri, header};
use drawbridge_model::allowed_host::AllowedHost;

use crate::error_response::Refusal;

/// The values of `Host` and `Origin` that name a listener. Requests must have exactly these values,
/// with the port.
#[derive(Debug)]
pub(crate) struct ListenerHosts {
    address: SocketAddr,
    /// The names of this computer's own address.
    own: Names,
    /// The names of the hosts that a person allowed. The settings may change them at any time.
    allowed: ArcSwap<Names>,
}

#[derive(Debug, Default)]
struct Names {
    authorities: Vec<String>,
    origins: Vec<String>,
}

/// The kind of host that a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedHost {
    /// This computer's own address.
    Own,
    /// A host that a person allowed. The request may come from another computer, through a proxy.
    Allowed,
}

impl ListenerHosts {
    /// Returns the hosts of a listener bound to `address`.
    pub(crate) fn new(address: SocketAddr, allowed: &[AllowedHost]) -> Self {
        let port = address.port();
        let mut authorities = vec![
            format!("127.0.0.1:{port}"),
            format!("localhost:{port}"),
            format!("[::1]:{port}"),
        ];
        // No request names the unspecified address, which stands for all addresses.
        if !address.ip().is_unspecified() {
            authorities.push(address.to_string());
        }
        if port == 80 {
            // Browsers omit the default port.
            let without_port: Vec<_> = authorities
                .iter()
                .filter_map(|host| host.strip_suffix(":80"))
                .map(str::to_owned)
                .collect();
            authorities.extend(without_port);
        }
        let hosts = Self {
            address,
            own: Names {
                origins: authorities
                    .iter()
                    .map(|host| format!("http://{host}"))
                    .collect(),
                authorities,
            },
            allowed: ArcSwap::default(),
        };
        hosts.set_allowed(allowed);
        hosts
    }

    /// Replaces the hosts that a person allowed.
    pub(crate) fn set_allowed(&self, allowed: &[AllowedHost]) {
        let port = self.address.port();
        let mut names = Names::default();
        for host in allowed {
            names.authorities.extend(host.authorities(port));
            names.origins.extend(host.origins(port));
        }
        self.allowed.store(names.into());
    }

    fn find_host(&self, host: &[u8]) -> Option<NamedHost> {
        let names_host =
            |names: &Names| names.authorities.iter().any(|name| name.as_bytes() == host);
        if names_host(&self.own) {
            Some(NamedHost::Own)
        } else {
            names_host(&self.allowed.load()).then_some(NamedHost::Allowed)
        }
    }

    fn has_origin(&self, origin: &[u8]) -> bool {
        let names_origin =
            |names: &Names| names.origins.iter().any(|name| name.as_bytes() == origin);
        names_origin(&self.own) || names_origin(&self.allowed.load())
    }
}

/// Checks the hosts and origins that a request names, and returns the kind of host that it names.
///
/// # Errors
/// Returns 400 if `Host` is missing, empty or repeated. Returns 403 if `Host`, the request's target
/// or `Origin` names another host, if `Origin` is repeated, or if `Sec-Fetch-Site` is neither
/// `same-origin` nor `none` and the request does not open the web UI as a document.
pub(crate) fn check_host_and_origin(
    hosts: &ListenerHosts,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<NamedHost, Refusal> {
    let host = check_host(hosts, uri, headers)?;
    check_origin(hosts, headers)?;
    check_site(uri, headers)?;
    Ok(host)
}

fn check_host(hosts: &ListenerHosts, uri: &Uri, headers: &HeaderMap) -> Result<NamedHost, Refusal> {
    let mut values = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (values.next().filter(|host| !host.is_empty()), values.next()) else {
        return Err(Refusal::bad_request(
            "a request must have exactly one `Host` header",
        ));
    };
    let is_target_known = uri
        .authority()
        .is_none_or(|authority| hosts.find_host(authority.as_str().as_bytes()).is_some());
    match hosts.find_host(host.as_bytes()) {
        Some(named) if is_target_known => Ok(named),
        Some(_) | None => Err(unknown_host(hosts, host.as_bytes())),
    }
}

fn unknown_host(hosts: &ListenerHosts, host: &[u8]) -> Refusal {
    let port = hosts.address.port();
    // The other end can send any text as the header, so only a valid host is quoted.
    let host = std::str::from_utf8(host)
        .ok()
        .and_then(|host| host.parse::<AllowedHost>().ok());
    Refusal::forbidden(match host {
        Some(host) => format!(
            "the header `Host` names '{host}', under which Drawbridge does not answer. On the same \
             computer use http://127.0.0.1:{port}. If '{host}' is a name of this computer, allow it \
             with `drawbridge serve --allow-host {host}`, or on the Settings screen"
        ),
        None => format!(
            "the header `Host` names another address; use http://127.0.0.1:{port}, or allow the \
             host with `drawbridge serve --allow-host HOST:PORT`"
        ),
    })
}

fn check_origin(hosts: &ListenerHosts, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut values = headers.get_all(header::ORIGIN).iter();
    let is_known_origin = match (values.next(), values.next()) {
        (None, _) => true,
        (Some(origin), None) => hosts.has_origin(origin.as_bytes()),
        (Some(_), Some(_)) => false,
    };
    is_known_origin.then_some(()).ok_or_else(|| {
        Refusal::forbidden("requests from other websites are not allowed (header `Origin`)")
    })
}

fn check_site(uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let is_own_site = |site: &[u8]| matches!(site, b"same-origin" | b"none");
    let sites = headers.get_all("sec-fetch-site");
    if sites.iter().all(|site| is_own_site(site.as_bytes())) || opens_web_ui(uri, headers) {
        return Ok(());
    }
    Err(Refusal::forbidden(
        "requests from other websites are not allowed (header `Sec-Fetch-Site`)",
    ))
}

/// Returns whether a browser opens the web UI as a document, for example because of the page that
/// `drawbridge open` writes. The web UI's page is the same for everyone and cannot be framed, so
/// another website learns nothing and changes nothing by opening the page.
fn opens_web_ui(uri: &Uri, headers: &HeaderMap) -> bool {
    let has_value = |name: &str, expected: &[u8]| {
        let mut values = headers.get_all(name).iter();
        values
            .next()
            .is_some_and(|value| value.as_bytes() == expected)
            && values.next().is_none()
    };
    uri.path() == "/"
        && uri.query().is_none()
        && has_value("sec-fetch-mode", b"navigate")
        && has_value("sec-fetch-dest", b"document")
}
