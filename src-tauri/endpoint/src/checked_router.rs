//! The checks that each request passes before it is routed.

use std::{panic::AssertUnwindSafe, sync::Arc};

use axum::{
    BoxError, Router,
    body::{Body, HttpBody},
    extract::DefaultBodyLimit,
    http::{HeaderMap, Request, Uri},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::FutureExt;
use tower::ServiceExt;

use crate::{
    body::{BoundedBody, MAX_BODY_BYTES},
    error_response::{self, Refusal},
    headers,
    origin::{self, ListenerHosts, NamedHost},
    pairing::Peer,
};

/// The router. Checks host, origin and body length of a request before it routes the request.
pub(crate) struct CheckedRouter {
    routes: Router,
    /// The hosts that a request may name. `None` for the local socket, which browsers cannot reach.
    hosts: Option<Arc<ListenerHosts>>,
}

impl CheckedRouter {
    pub(crate) fn new(routes: Router, hosts: Option<Arc<ListenerHosts>>) -> Self {
        Self { routes, hosts }
    }

    /// Answers a request. Refusals and panics become responses too.
    pub(crate) async fn answer<B>(&self, mut request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin + Send + 'static,
    {
        let result = match self.check_request(request.uri(), request.headers()) {
            Ok(host_kind) => {
                // The request names a host that a person added to the allowed hosts, not an address
                // of this computer. It may have come through a proxy on this computer, and then
                // the program at the other end is not the client.
                if host_kind == Some(NamedHost::Allowed) {
                    request.extensions_mut().remove::<Peer>();
                }
                AssertUnwindSafe(self.route(request)).catch_unwind().await
            }
            Err(refusal) => Ok(refusal.into_response()),
        };
        let mut response = result.unwrap_or_else(error_response::panic_response);
        headers::add_security_headers(response.headers_mut());
        response
    }

    /// Checks the host, the origin and the announced body length of a request. Returns the kind of
    /// host that the request names, or `None` for the local socket.
    fn check_request(&self, uri: &Uri, headers: &HeaderMap) -> Result<Option<NamedHost>, Refusal> {
        let host_kind = match &self.hosts {
            Some(hosts) => Some(origin::check_host_and_origin(hosts, uri, headers)?),
            None => None,
        };
        headers::check_content_length(headers)?;
        Ok(host_kind)
    }

    async fn route<B>(&self, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin + Send + 'static,
    {
        let mut request = request.map(|body| Body::new(BoundedBody::new(body)));
        DefaultBodyLimit::max(MAX_BODY_BYTES).apply(&mut request);
        match self.routes.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}
