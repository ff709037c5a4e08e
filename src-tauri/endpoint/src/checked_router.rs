//! The router with the checks before it.

use std::panic::AssertUnwindSafe;

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
    body::{MAX_BODY_BYTES, TimeoutBody},
    error_response::{self, Refusal},
    headers,
    origin::{self, OwnHosts},
};

/// The router, and the checks before it.
pub(crate) struct CheckedRouter {
    routes: Router,
    /// The hosts that a request may name. `None` for the local socket, which browsers cannot reach.
    hosts: Option<OwnHosts>,
}

impl CheckedRouter {
    pub(crate) fn new(routes: Router, hosts: Option<OwnHosts>) -> Self {
        Self { routes, hosts }
    }

    /// Answers a request. Refusals and panics become responses too.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin + Send + 'static,
    {
        let result = match self.check(request.uri(), request.headers()) {
            Ok(()) => AssertUnwindSafe(self.route(request)).catch_unwind().await,
            Err(refusal) => Ok(refusal.into_response()),
        };
        let mut response = result.unwrap_or_else(error_response::panic_response);
        headers::add_security_headers(response.headers_mut());
        response
    }

    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        if let Some(hosts) = &self.hosts {
            origin::check_host_and_origin(hosts, uri, headers)?;
        }
        headers::check_content_length(headers)
    }

    async fn route<B>(&self, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin + Send + 'static,
    {
        let mut request = request.map(|body| Body::new(TimeoutBody::new(body)));
        DefaultBodyLimit::max(MAX_BODY_BYTES).apply(&mut request);
        match self.routes.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}
