//! Checks requests over TCP before routing. Rejects requests whose `Host` does not name this
//! listener (DNS rebinding), and requests that a browser sends for another origin
//! (cross-origin requests).
//! <https://fetch.spec.whatwg.org>, <https://w3c.github.io/webappsec-fetch-metadata>

#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use axum::http::{HeaderMap, Uri, header};

use crate::error_response::Refusal;

/// The values of `Host` that name this listener, each with its port.
#[derive(Debug)]
pub(crate) struct OwnHosts(Vec<String>);

impl OwnHosts {
    /// Returns the hosts of a listener bound to `address`.
    pub(crate) fn for_address(address: SocketAddr) -> Self {
        let port = address.port();
        Self(vec![
            format!("127.0.0.1:{port}"),
            format!("localhost:{port}"),
            format!("[::1]:{port}"),
            address.to_string(),
        ])
    }

    fn contains(&self, host: &[u8]) -> bool {
        self.0.iter().any(|own_host| own_host.as_bytes() == host)
    }
}

/// Checks the hosts and origins that a request names.
///
/// # Errors
/// Returns 400 if `Host` is missing, empty or repeated. Returns 403 if `Host`, the request's target or
/// `Origin` names another host, or if `Sec-Fetch-Site` is neither `same-origin` nor `none`.
pub(crate) fn check_host_and_origin(
    hosts: &OwnHosts,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    check_host(hosts, uri, headers)?;
    check_origin(hosts, headers)?;
    check_site(headers)
}

fn check_host(hosts: &OwnHosts, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut values = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (values.next().filter(|host| !host.is_empty()), values.next()) else {
        return Err(Refusal::bad_request(
            "a request must have exactly one `Host` header",
        ));
    };
    let target_is_own = uri
        .authority()
        .is_none_or(|authority| hosts.contains(authority.as_str().as_bytes()));
    if hosts.contains(host.as_bytes()) && target_is_own {
        return Ok(());
    }
    Err(Refusal::forbidden(
        "the header `Host` names another address; use http://127.0.0.1 and the port of Drawbridge",
    ))
}

fn check_origin(hosts: &OwnHosts, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut values = headers.get_all(header::ORIGIN).iter();
    let is_own_origin = match (values.next(), values.next()) {
        (None, _) => true,
        (Some(origin), None) => origin
            .as_bytes()
            .strip_prefix(b"http://")
            .is_some_and(|host| hosts.contains(host)),
        (Some(_), Some(_)) => false,
    };
    is_own_origin.then_some(()).ok_or_else(|| {
        Refusal::forbidden("requests from other websites are not allowed (header `Origin`)")
    })
}

fn check_site(headers: &HeaderMap) -> Result<(), Refusal> {
    let is_own_site = |site: &[u8]| matches!(site, b"same-origin" | b"none");
    if headers
        .get_all("sec-fetch-site")
        .iter()
        .all(|site| is_own_site(site.as_bytes()))
    {
        return Ok(());
    }
    Err(Refusal::forbidden(
        "requests from other websites are not allowed (header `Sec-Fetch-Site`)",
    ))
}
