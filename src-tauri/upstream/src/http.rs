//! HTTP requests to servers, without redirects. Plain HTTP without a proxy, typically to a server
//! on this computer, goes directly over hyper. Everything else goes over reqwest, which supports
//! TLS, HTTP/2 and proxies, and costs three times as much per request.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use drawbridge_model::cause::Cause;
use futures_util::TryFutureExt;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::{
    client::{
        legacy::{Client, connect::HttpConnector},
        proxy::matcher::Matcher,
    },
    rt::{TokioExecutor, TokioTimer},
};

pub type HttpRequest = http::Request<Bytes>;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval of keep-alive probes on a quiet connection, as in reqwest. On Linux, a connection
/// also breaks if sent data is not acknowledged within twice this time.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// How long an unused connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// The connections to all servers. Cheap to clone.
#[derive(Clone)]
pub struct HttpClient {
    direct: Client<HttpConnector, Full<Bytes>>,
    /// An error if TLS cannot be used, for instance on a machine without CA certificates.
    reqwest: Result<reqwest::Client, TlsUnavailable>,
    proxies: Arc<Matcher>,
}

#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "TLS cannot be used ({0}); install the system's CA certificates, such as the package ca-certificates, and restart Drawbridge"
)]
struct TlsUnavailable(Cause);

/// Why a request has no complete answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HttpError {
    /// Nothing was sent.
    #[error("The connection failed: {source}")]
    NotSent { source: Cause },
    /// The request may have been sent.
    #[error("The connection broke: {source}")]
    Interrupted { source: Cause },
    #[error("The answer is longer than {max} bytes")]
    TooLong { max: usize },
}

/// An answer whose body is not read yet.
pub struct HttpResponse(ResponseKind);

enum ResponseKind {
    Direct(http::Response<Incoming>),
    Reqwest(reqwest::Response),
}

impl HttpClient {
    /// Returns a client that uses the proxies that the environment names.
    pub fn new() -> Self {
        crate::install_tls();
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.set_keepalive(Some(KEEP_ALIVE_INTERVAL));
        connector.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
        connector.set_keepalive_retries(Some(3));
        #[cfg(target_os = "linux")]
        connector.set_tcp_user_timeout(Some(2 * KEEP_ALIVE_INTERVAL));
        let direct = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build(connector);
        let reqwest = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .build()
            .map_err(|e| TlsUnavailable(Cause::innermost(e)));
        Self {
            direct,
            reqwest,
            proxies: Arc::new(Matcher::from_env()),
        }
    }

    /// Sends a request, at most once.
    ///
    /// # Errors
    /// Returns an error if the request cannot be sent, or if the connection breaks before the
    /// headers of the answer have arrived.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_plain = request.uri().scheme_str() == Some("http")
            && self.proxies.intercept(request.uri()).is_none();
        if is_plain {
            let response = self.direct.request(request.map(Full::new));
            let failed = |e: hyper_util::client::legacy::Error| HttpError::new(e.is_connect(), e);
            return response
                .map_ok(|response| HttpResponse(ResponseKind::Direct(response)))
                .map_err(failed)
                .await;
        }
        let failed = |e: reqwest::Error| HttpError::new(e.is_connect() || e.is_builder(), e);
        let reqwest = self.reqwest.as_ref();
        let reqwest = reqwest.map_err(|e| HttpError::new(true, e.clone()))?;
        let request = reqwest::Request::try_from(request).map_err(failed)?;
        // The future is boxed because it is large and seldom needed for a server on this computer.
        let response = Box::pin(reqwest.execute(request));
        response
            .map_ok(|response| HttpResponse(ResponseKind::Reqwest(response)))
            .map_err(failed)
            .await
    }
}

impl Default for HttpClient {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpError {
    fn new(is_unsent: bool, error: impl std::error::Error + Send + Sync + 'static) -> Self {
        let source = Cause::innermost(error);
        if is_unsent {
            Self::NotSent { source }
        } else {
            Self::Interrupted { source }
        }
    }
}

impl HttpResponse {
    pub fn status(&self) -> StatusCode {
        match &self.0 {
            ResponseKind::Direct(response) => response.status(),
            ResponseKind::Reqwest(response) => response.status(),
        }
    }

    pub fn headers(&self) -> &HeaderMap {
        match &self.0 {
            ResponseKind::Direct(response) => response.headers(),
            ResponseKind::Reqwest(response) => response.headers(),
        }
    }

    /// Returns the next piece of the body, or `None` at its end.
    ///
    /// # Errors
    /// Returns an error if the connection breaks.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        match &mut self.0 {
            ResponseKind::Direct(response) => loop {
                let Some(frame) = response.frame().await else {
                    return Ok(None);
                };
                let frame = frame.map_err(|e| HttpError::new(false, e))?;
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            },
            ResponseKind::Reqwest(response) => {
                response.chunk().await.map_err(|e| HttpError::new(false, e))
            }
        }
    }

    /// Returns the whole body, of at most `max` bytes.
    ///
    /// # Errors
    /// Returns an error if the body is longer, or if the connection breaks.
    pub async fn bytes(mut self, max: usize) -> Result<Bytes, HttpError> {
        let announced = self.headers().get(http::header::CONTENT_LENGTH);
        let announced = announced
            .and_then(|length| length.to_str().ok()?.parse::<usize>().ok())
            .unwrap_or_default();
        let first = self.chunk().await?.unwrap_or_default();
        // Most answers come in one piece, which needs no copy.
        if !first.is_empty() && first.len() == announced && announced <= max {
            return Ok(first);
        }
        let mut whole = BytesMut::with_capacity(announced.min(max).max(first.len()));
        let mut next = Some(first);
        while let Some(chunk) = next {
            if whole.len() + chunk.len() > max {
                return Err(HttpError::TooLong { max });
            }
            whole.extend_from_slice(&chunk);
            next = self.chunk().await?;
        }
        Ok(whole.freeze())
    }
}

#[cfg(test)]
mod tests;
