//! A server at a URL over HTTP+SSE, the transport of 2024-11-05: messages are posted to an endpoint
//! that the server names, and answers arrive on a stream of events that must stay open.

pub(super) mod opening;

use std::{fmt, sync::Arc, time::Duration};

use drawbridge_jsonrpc::{
    encode,
    json::Json,
    server_message::{self, ServerMessage},
    sse::SseEvent,
};
use drawbridge_model::{cause::MapText, display_url::DisplayUrl};
use http::{HeaderValue, Uri, header::ACCEPT};
use tokio::{sync::oneshot::error::RecvError, task::AbortHandle, time::timeout};

use super::{
    EndReason, EventSender, HttpRefusal, LostReason, NotSentReason, RemoteError, RpcResponse,
    TransportError, TransportEvent, TransportRequest,
    pending::Pending,
    remote::{self, HttpTarget, Remote, TargetError},
};
use crate::{
    http::{HttpClient, HttpError},
    oauth::SignInReason,
};
use opening::OpenedStream;

/// How long the server may take to name its endpoint, unless its spec sets a shorter timeout.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the stream cannot be opened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SseError {
    #[error(transparent)]
    TimedOut(#[from] EndpointTimeout),
    /// A person has to sign in.
    #[error(transparent)]
    NeedsSignIn(SignInReason),
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The stream was not requested, or the server refused its authorization.
    #[error(transparent)]
    Transport(Box<TransportError>),
    #[error(transparent)]
    Remote(RemoteError),
    #[error("{0}. {TRY_HTTP_HINT}")]
    Http(HttpRefusal),
    #[error("{url} refused the stream of events: \"{message}\". {TRY_HTTP_HINT}")]
    Rpc { url: DisplayUrl, message: String },
    #[error(
        "{url} answered with the content type '{content_type}' instead of a stream of events. \
         {TRY_HTTP_HINT}"
    )]
    NotStream {
        url: DisplayUrl,
        content_type: String,
    },
    #[error(
        "{url} ended its stream of events without an 'endpoint' event, which names the URL for \
         messages"
    )]
    Ended { url: DisplayUrl },
    #[error(
        "{url} sent more than {max_lines} lines or {} KiB without an 'endpoint' event, which names \
         the URL for messages", .max_bytes / 1024
    )]
    NoEndpoint {
        url: DisplayUrl,
        max_lines: usize,
        max_bytes: usize,
    },
    #[error(
        "The 'endpoint' event of {url} names no URL: \"{data}\" has neither 'uri' nor 'session_id'"
    )]
    EmptyEndpoint { url: DisplayUrl, data: String },
    #[error("{url} {referral} '{target}', which is not a URL: {source}")]
    NotUrl {
        url: DisplayUrl,
        referral: Referral,
        target: DisplayUrl,
        source: url::ParseError,
    },
    #[error(
        "{url} {referral} '{target}', which is another server, so Drawbridge sends nothing there. If the \
         server has moved, enter its new URL"
    )]
    OtherOrigin {
        url: DisplayUrl,
        referral: Referral,
        target: DisplayUrl,
    },
}

const TRY_HTTP_HINT: &str = "If it is a streamable HTTP server, choose the transport 'http'";

/// The `endpoint` event did not arrive in time.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "The SSE connection to {url} timed out: no 'endpoint' event arrived within {} s. Check that: \
     1. the server is running; 2. the URL is correct (currently: {url}); 3. the network is up; \
     4. no firewall blocks the connection",
    .timeout.as_secs_f32()
)]
pub struct EndpointTimeout {
    pub url: DisplayUrl,
    pub timeout: Duration,
}

/// How a server refers to another URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Referral {
    Redirect,
    Endpoint,
}

impl fmt::Display for Referral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redirect => "redirects to",
            Self::Endpoint => "wants messages at",
        })
    }
}

impl From<TransportError> for SseError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::NeedsSignIn(reason) => Self::NeedsSignIn(reason),
            TransportError::NotSent(_)
            | TransportError::Lost(_)
            | TransportError::Refused(_)
            | TransportError::Protocol(_) => Self::Transport(Box::new(error)),
        }
    }
}

impl SseError {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::TimedOut(timeout) => Self::TimedOut(timeout.map_text(change)),
            Self::NeedsSignIn(reason) => Self::NeedsSignIn(reason.map_text(change)),
            Self::Target(error) => Self::Target(error.map_text(change)),
            Self::Transport(error) => Self::Transport(Box::new(error.map_text(change))),
            Self::Remote(error) => Self::Remote(error.map_text(change)),
            Self::Http(refusal) => Self::Http(refusal.map_text(change)),
            Self::Rpc { url, message } => Self::Rpc {
                url: url.map_text(change),
                message: change(&message),
            },
            Self::NotStream { url, content_type } => Self::NotStream {
                url: url.map_text(change),
                content_type: change(&content_type),
            },
            Self::Ended { url } => Self::Ended {
                url: url.map_text(change),
            },
            Self::NoEndpoint {
                url,
                max_lines,
                max_bytes,
            } => Self::NoEndpoint {
                url: url.map_text(change),
                max_lines,
                max_bytes,
            },
            Self::EmptyEndpoint { url, data } => Self::EmptyEndpoint {
                url: url.map_text(change),
                data: change(&data),
            },
            Self::NotUrl {
                url,
                referral,
                target,
                source,
            } => Self::NotUrl {
                url: url.map_text(change),
                referral,
                target: target.map_text(change),
                source,
            },
            Self::OtherOrigin {
                url,
                referral,
                target,
            } => Self::OtherOrigin {
                url: url.map_text(change),
                referral,
                target: target.map_text(change),
            },
        }
    }
}

impl EndpointTimeout {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        Self {
            url: self.url.map_text(change),
            timeout: self.timeout,
        }
    }
}

/// An open stream, and the requests in flight whose answers arrive on it. Dropping the value closes
/// the stream.
pub struct SseTransport {
    shared: Arc<Shared>,
    reader: AbortHandle,
}

struct Shared {
    remote: Remote,
    /// The URL for messages, which has the same origin as the server's URL.
    endpoint: Uri,
    pending: Pending,
    events: EventSender,
}

impl SseTransport {
    /// Opens the stream within `time_limit`, at most 10 s.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached, or does not name its endpoint in time.
    pub async fn connect(
        http: HttpClient,
        target: &HttpTarget,
        time_limit: Duration,
        events: EventSender,
    ) -> Result<Self, SseError> {
        let time_limit = time_limit.min(ENDPOINT_TIMEOUT);
        let remote = Remote::new(http, target)?;
        let opened = timeout(time_limit, opening::open(&remote))
            .await
            .map_err(|_| EndpointTimeout {
                url: remote.url.clone(),
                timeout: time_limit,
            })??;
        let endpoint = remote::to_uri(&opened.endpoint)?;
        let shared = Arc::new(Shared {
            remote,
            endpoint,
            pending: Pending::default(),
            events,
        });
        let reader = tokio::spawn(listen(shared.clone(), opened)).abort_handle();
        Ok(Self { shared, reader })
    }

    pub fn end_reason(&self) -> Option<EndReason> {
        self.shared.pending.end_reason()
    }

    /// See [`super::Transport::request`].
    pub async fn request(
        &self,
        request: TransportRequest<'_>,
    ) -> Result<RpcResponse, TransportError> {
        let is_cancellable = request.is_cancellable();
        let TransportRequest {
            id,
            method,
            params,
            headers: _,
        } = request;
        let mut receiver = self.shared.pending.register(id)?;
        let mut in_flight = CancelOnDrop {
            shared: self.shared.clone(),
            id,
            notifies_server: is_cancellable,
        };
        // The answer may arrive on the stream before the response to the POST does.
        let answer = tokio::select! {
            biased;
            answer = &mut receiver => flatten_answer(answer),
            posted = self.shared.post(Some(id), encode::encode_request(id, method, params)) => match posted {
                Ok(()) => flatten_answer(receiver.await),
                Err(error) => Err(error),
            },
        };
        in_flight.notifies_server = false;
        answer
    }

    /// Sends a message that has no answer, within 10 s.
    pub async fn send_message(&self, message: Vec<u8>) -> Result<(), TransportError> {
        timeout(SEND_TIMEOUT, self.shared.post(None, message))
            .await
            .unwrap_or_else(|_| Err(remote::send_timeout_error(SEND_TIMEOUT)))
    }

    /// See [`super::Transport::close`].
    pub async fn close(&self) {
        self.shared.pending.end(&EndReason::Stopped);
        self.reader.abort();
    }
}

impl Drop for SseTransport {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Shared {
    /// Posts a message. `id` is given if the message is a request. An answer in the response to the
    /// POST is accepted too, although it should arrive on the stream.
    async fn post(&self, id: Option<u64>, body: Vec<u8>) -> Result<(), TransportError> {
        if let Some(reason) = self.pending.end_reason() {
            return Err(TransportError::NotSent(NotSentReason::Ended(reason)));
        }
        let mut request = self.remote.build_post(&self.endpoint, body);
        request
            .headers_mut()
            .insert(ACCEPT, HeaderValue::from_static("application/json"));
        let response = self
            .remote
            .send(request)
            .await
            .map_err(|e| e.into_transport_error(|e| self.map_http_error(e)))?;
        let status = response.status();
        if status.is_success() {
            let body = self.remote.read_body(response).await?;
            match server_message::parse(&body) {
                Some(ServerMessage::Response {
                    id: answered,
                    response,
                }) => drop(self.pending.complete(answered.or(id), response)),
                Some(ServerMessage::Malformed { ids, rule }) => {
                    self.pending.fail(&ids, &rule);
                }
                Some(ServerMessage::Incoming(_)) | None => {}
            }
            return Ok(());
        }
        let text = self.remote.read_text(response).await;
        if remote::is_session_lost(status, &text) {
            return Err(self.end_not_sent(EndReason::SessionLost));
        }
        let error = self.remote.parse_refusal(status, &text)?;
        self.pending.complete(id, RpcResponse::Error(error));
        Ok(())
    }

    fn map_http_error(&self, error: HttpError) -> TransportError {
        match self.remote.error_from(error) {
            error if error.was_not_sent() => self.end_not_sent(EndReason::Remote(error)),
            error => TransportError::Lost(LostReason::Remote(error)),
        }
    }

    /// Ends the connection, and returns the error for a message that the server has not carried
    /// out. The next request makes a new connection.
    fn end_not_sent(&self, reason: EndReason) -> TransportError {
        if self.pending.end(&reason) {
            self.events
                .send_later(TransportEvent::Ended(reason.clone()));
        }
        TransportError::NotSent(NotSentReason::Ended(reason))
    }

    async fn handle_event(&self, event: SseEvent) {
        if event.name != "message" {
            return;
        }
        match server_message::parse(&Json::new(event.data)) {
            Some(ServerMessage::Response { id, response }) => {
                self.pending.complete(id, response);
            }
            Some(ServerMessage::Malformed { ids, rule }) => drop(self.pending.fail(&ids, &rule)),
            Some(ServerMessage::Incoming(message)) => {
                self.events.send_message(message, None).await;
            }
            None => {}
        }
    }

    /// Reads the stream to its end, and returns why it ended.
    async fn read_stream(&self, mut opened: OpenedStream) -> RemoteError {
        for event in opened.early_events {
            self.handle_event(event).await;
        }
        loop {
            let chunk = match opened.response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return self.remote.stream_ended_error(),
                Err(error) => return self.remote.error_from(error),
            };
            let Ok(events) = opened.parser.push(&chunk) else {
                return self.remote.too_long_error();
            };
            for event in events {
                self.handle_event(event).await;
            }
        }
    }
}

async fn listen(shared: Arc<Shared>, opened: OpenedStream) {
    let reason = EndReason::Remote(shared.read_stream(opened).await);
    if shared.pending.end(&reason) {
        shared.events.send_end(reason).await;
    }
}

fn flatten_answer(
    answer: Result<Result<RpcResponse, TransportError>, RecvError>,
) -> Result<RpcResponse, TransportError> {
    answer.unwrap_or_else(|_| Err(TransportError::Lost(LostReason::Ended(EndReason::Stopped))))
}

/// A request that waits for its answer. If the value is dropped before the answer arrives, the
/// server is notified that the request is cancelled, unless the protocol forbids the notification.
struct CancelOnDrop {
    shared: Arc<Shared>,
    id: u64,
    /// Whether the server is notified when the value is dropped.
    notifies_server: bool,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.shared.pending.remove(self.id);
        if self.notifies_server
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (shared, id) = (self.shared.clone(), self.id);
            runtime.spawn(async move {
                let cancelled = encode::encode_cancelled(
                    id,
                    "The client cancelled the request, or the request timed out",
                );
                let _ = timeout(Duration::from_secs(5), shared.post(None, cancelled)).await;
            });
        }
    }
}

#[cfg(test)]
mod tests;
