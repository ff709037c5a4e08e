//! The API client, which runs verbs in a hub in another process and receives its events. The stdio
//! bridge uses the API client, and so do the command line and the desktop app if their hub is in
//! another process.

pub(crate) mod events;
mod hub_handle;

use std::{path::Path, time::Duration};

use bytes::Bytes;
use drawbridge_hub::api::{ApiError, Verb};
use drawbridge_model::event::Event;
use futures_util::Stream;
use reqwest::{
    Client, ClientBuilder, Method, RequestBuilder, Response, StatusCode, Url, header::CONTENT_TYPE,
};
use serde::Deserialize;
use serde_json::value::RawValue;

pub use hub_handle::HubHandle;

use crate::{error_response::code_for_status, local};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an idle connection is kept. The endpoint keeps it longer, so the client never reuses a
/// connection that the endpoint is closing.
const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// The timeout of a verb. A tool call that waits long for a person or for its server can exceed it.
const VERB_TIMEOUT: Duration = Duration::from_secs(180);

/// A client of a hub in another process.
#[derive(Clone)]
pub struct ApiClient {
    http: Client,
    /// `http://HOST:PORT` or `https://HOST:PORT`, without a trailing slash.
    base_url: String,
    /// Whether the hub is reached by its URL, and not over its local socket.
    is_remote: bool,
    /// The token that each request carries: the administrator's or, for the bridge, a client's.
    token: Option<String>,
}

impl ApiClient {
    /// Returns a client that reaches the hub of a data folder over the hub's local socket.
    ///
    /// # Errors
    /// Returns `unavailable` if no hub runs there.
    pub fn local(data_dir: &Path) -> Result<Self, ApiError> {
        drawbridge_upstream::install_tls();
        Ok(Self {
            http: build_http_client(local::client_builder(data_dir)?)?,
            base_url: "http://localhost".to_owned(),
            is_remote: false,
            token: None,
        })
    }

    /// Returns a client of the hub at `url`. Only the scheme, host and port count, so a path such
    /// as `/mcp` or `/sse` is ignored.
    ///
    /// # Errors
    /// Returns `invalid` if `url` is not an HTTP URL.
    pub fn remote(url: &str, token: Option<String>) -> Result<Self, ApiError> {
        drawbridge_upstream::install_tls();
        let invalid = || {
            ApiError::invalid(format!(
                "'{url}' is not a URL such as http://127.0.0.1:8765/mcp"
            ))
        };
        let parsed = Url::parse(url).map_err(|_| invalid())?;
        if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
            return Err(invalid());
        }
        let base_url = parsed.origin().ascii_serialization();
        let mut builder = Client::builder().no_proxy();
        if parsed.scheme() == "http" {
            // Plain HTTP needs no CA certificates.
            builder = builder.tls_certs_only([]);
        }
        Ok(Self {
            http: build_http_client(builder)?,
            base_url,
            is_remote: true,
            token,
        })
    }

    /// Returns the origin, such as `http://HOST:PORT`, of a hub that is reached by its URL, or
    /// `None` for a hub that is reached over its local socket.
    pub fn remote_origin(&self) -> Option<&str> {
        self.is_remote.then_some(self.base_url.as_str())
    }

    /// Runs a verb in the hub.
    ///
    /// # Errors
    /// Returns the verb's own errors. Returns `unavailable` if the hub cannot be reached, and
    /// `timeout` if the hub does not answer in time.
    pub async fn call<V: Verb>(&self, verb: V) -> Result<V::Answer, ApiError> {
        let params = serde_json::to_string(&verb)
            .map_err(|e| ApiError::internal(format!("{}: {e}", V::NAME)))?;
        let body = self.send_verb(V::NAME, params).await?;
        serde_json::from_slice(&body).map_err(|e| unreadable_answer(V::NAME, &e))
    }

    /// Runs the verb called `name`, with its parameters as JSON, and returns its answer as JSON.
    ///
    /// # Errors
    /// Returns an error as [`ApiClient::call`] does. Returns `not_found` if the hub has no such
    /// verb.
    pub async fn call_by_name(
        &self,
        name: &str,
        params: String,
    ) -> Result<Box<RawValue>, ApiError> {
        let body = self.send_verb(name, params).await?;
        serde_json::from_slice(&body).map_err(|e| unreadable_answer(name, &e))
    }

    async fn send_verb(&self, name: &str, params: String) -> Result<Bytes, ApiError> {
        let response = self
            .send(
                self.request(Method::POST, &format!("/api/verbs/{name}"))
                    .timeout(VERB_TIMEOUT)
                    .header(CONTENT_TYPE, "application/json")
                    .body(params),
            )
            .await?;
        response
            .bytes()
            .await
            .map_err(|e| self.connection_error(&e))
    }

    /// Returns the hub's events from now on, until the connection ends.
    ///
    /// # Errors
    /// Returns an error if the hub cannot be reached or refuses the request, as [`ApiClient::call`]
    /// does.
    pub async fn events(
        &self,
    ) -> Result<impl Stream<Item = Event> + Send + Unpin + use<>, ApiError> {
        let response = self.send(self.request(Method::GET, "/api/events")).await?;
        Ok(events::read_hub_events(response.bytes_stream()))
    }

    /// Returns a response that never ends by itself. Until the response is dropped, the hub does
    /// not end for lack of use.
    ///
    /// # Errors
    /// Returns an error as [`ApiClient::call`] does. An older hub, which never ends for lack of
    /// use, returns `not_found`.
    pub(crate) async fn keep_hub_running(&self) -> Result<Response, ApiError> {
        self.send(self.request(Method::GET, "/api/presence")).await
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self
            .http
            .request(method, format!("{}{path}", self.base_url));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, ApiError> {
        let response = request
            .send()
            .await
            .map_err(|e| self.connection_error(&e))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.bytes().await.unwrap_or_default();
        let error = serde_json::from_slice(&body).map_or_else(
            |_| {
                let message = match self.remote_origin() {
                    Some(hub) => format!(
                        "{hub} answered {status} without a reason, so it may not be a Drawbridge hub. Check the URL (MCP_HUB_URL or --hub-url)"
                    ),
                    None => format!("Drawbridge answered {status} without a reason; see its log"),
                };
                ApiError::new(code_for_status(status), message)
            },
            |ErrorBody { error }| error,
        );
        Err(self.explain_refusal(status, error))
    }

    /// Adds the hub's URL to a 401 or 403 of a remote hub and, to a 401, the remedy: the hub cannot
    /// know which variables its client reads.
    fn explain_refusal(&self, status: StatusCode, error: ApiError) -> ApiError {
        if !self.is_remote {
            return error;
        }
        let hub = &self.base_url;
        let message = match (status, &self.token) {
            (StatusCode::UNAUTHORIZED, None) => format!(
                "the hub at {hub} requires its admin token. Set DRAWBRIDGE_ADMIN_TOKEN to the token with which the hub was started, or DRAWBRIDGE_ADMIN_TOKEN_FILE to a file that holds it"
            ),
            (StatusCode::UNAUTHORIZED, Some(_)) => format!(
                "the hub at {hub} does not accept the token in DRAWBRIDGE_ADMIN_TOKEN, or in the file that DRAWBRIDGE_ADMIN_TOKEN_FILE names. Use the token with which the hub was started"
            ),
            (StatusCode::FORBIDDEN, _) => format!("the hub at {hub} refused: {}", error.message),
            _ => return error,
        };
        ApiError::new(error.code, message)
    }

    fn connection_error(&self, error: &reqwest::Error) -> ApiError {
        if error.is_timeout() && !error.is_connect() {
            return ApiError::new(
                drawbridge_hub::api::ErrorCode::Timeout,
                "Drawbridge did not answer in time, and may still carry out the request. Check whether it did before you try again",
            );
        }
        let cause = root_cause_message(error);
        ApiError::unavailable(match self.remote_origin() {
            Some(hub) => format!(
                "the hub at {hub} cannot be reached: {cause}. Check that it runs, and that the URL (MCP_HUB_URL or --hub-url) is right"
            ),
            None => format!(
                "Drawbridge cannot be reached: {cause}. Start Drawbridge, or run `drawbridge serve`"
            ),
        })
    }
}

fn unreadable_answer(verb: &str, error: &serde_json::Error) -> ApiError {
    ApiError::internal(format!(
        "{verb}: cannot read the answer of Drawbridge: {error}"
    ))
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ApiError,
}

/// Returns the message of the innermost error. The outer errors only repeat the URL.
pub(crate) fn root_cause_message(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

fn build_http_client(builder: ClientBuilder) -> Result<Client, ApiError> {
    builder
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_CONNECTION_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|e| {
            ApiError::internal(format!(
                "cannot create an HTTP client: {}",
                root_cause_message(&e)
            ))
        })
}
