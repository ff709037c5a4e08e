//! A server at a URL over streamable HTTP: one POST for each message, answered with JSON or with a
//! stream of events.
//!
//! In the legacy era, a stream that breaks can be resumed, and a separate stream
//! ([`standalone_stream`]) carries the messages that belong to no request. The modern era has
//! neither, and closing the connection of a request cancels the request.

mod standalone_stream;

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use drawbridge_jsonrpc::{
    encode,
    headers::{LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID},
    json::Json,
    rpc::{RpcError, code},
    server_message::{self, ServerMessage},
    sse::{self, SseParser},
};
use drawbridge_model::protocol::ServerHello;
use http::{
    HeaderName, HeaderValue, Method, StatusCode, Uri,
    header::{ACCEPT, CONTENT_TYPE},
};
use tokio::{
    task::AbortHandle,
    time::{sleep, timeout},
};

use super::{
    EndReason, EventSender, InvalidAnswer, LostReason, MAX_MESSAGE, NotSentReason, RpcResponse,
    TransportError, TransportEvent, TransportRequest,
    remote::{self, HttpTarget, Remote, TargetError},
};
use crate::http::{HttpClient, HttpError, HttpRequest, HttpResponse};

const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause before a broken stream is resumed, if the server requests no other pause. Also the
/// first pause while the [`standalone_stream`] is not available.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The shortest and the longest pause that a server may request. Without a pause, a server that
/// ends each stream at once would keep this program and itself busy. While the
/// [`standalone_stream`] is not available, the pauses grow up to the longest pause.
const MIN_RETRY_PAUSE: Duration = Duration::from_millis(100);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(30);
/// After this many breaks in a row without a new event id, a stream is not resumed. After as many
/// events in a row that are too long, the [`standalone_stream`] is not opened again.
const MAX_BREAKS: u32 = 5;

/// A connection to a server at a URL.
pub struct HttpTransport {
    remote: Remote,
    /// The URL to which the server's URL redirects, if any.
    moved_to: OnceLock<Uri>,
    session: Mutex<Option<HeaderValue>>,
    /// The agreed revision, if it belongs to the legacy era.
    version: OnceLock<HeaderValue>,
    /// Whether the server belongs to the modern era, once its era is known.
    is_modern: OnceLock<bool>,
    /// Aborts the task that reads the [`standalone_stream`].
    stream_reader: OnceLock<AbortHandle>,
    ended: OnceLock<EndReason>,
    events: EventSender,
}

/// The response to a POST.
enum PostResponse {
    Accepted(HttpResponse),
    /// A failure status, with a JSON-RPC error.
    Refused(RpcError),
}

/// How reading a stream ended.
enum StreamOutcome {
    Answered(RpcResponse),
    /// The stream broke, or the server closed it, before the answer.
    Broken(TransportError),
}

impl HttpTransport {
    /// Creates a connection. The first request opens it.
    ///
    /// # Errors
    /// Returns an error if the URL or a header cannot be sent.
    pub fn new(
        http: HttpClient,
        target: &HttpTarget,
        events: EventSender,
    ) -> Result<Arc<Self>, TargetError> {
        Ok(Arc::new(Self {
            remote: Remote::new(http, target)?,
            moved_to: OnceLock::new(),
            session: Mutex::default(),
            version: OnceLock::new(),
            is_modern: OnceLock::new(),
            stream_reader: OnceLock::new(),
            ended: OnceLock::new(),
            events,
        }))
    }

    /// See [`super::Transport::complete_handshake`].
    pub fn complete_handshake(self: &Arc<Self>, hello: &ServerHello) {
        let _ = self.is_modern.set(hello.era().is_modern());
        if !hello.era().is_modern()
            && let Ok(version) = HeaderValue::try_from(&hello.protocol_version)
        {
            let _ = self.version.set(version);
            let _ = self
                .stream_reader
                .set(tokio::spawn(standalone_stream::listen(Arc::downgrade(self))).abort_handle());
        }
    }

    pub fn end_reason(&self) -> Option<EndReason> {
        self.ended.get().cloned()
    }

    /// See [`super::Transport::request`].
    pub async fn request(
        self: &Arc<Self>,
        request: TransportRequest<'_>,
    ) -> Result<RpcResponse, TransportError> {
        let mut in_flight = CancelOnDrop {
            transport: self.clone(),
            id: request.id,
            notifies_server: request.is_cancellable(),
        };
        let body = encode::encode_request(request.id, request.method, request.params);
        let answer = match self.post(body, request.headers).await {
            Ok(PostResponse::Accepted(response)) if request.method == "initialize" => {
                self.read_initialize_answer(response, request.id).await
            }
            Ok(PostResponse::Accepted(response)) => self.read_answer(response, request.id).await,
            Ok(PostResponse::Refused(error)) => Ok(RpcResponse::Error(error)),
            Err(error) => Err(error),
        };
        in_flight.notifies_server = false;
        answer
    }

    /// Sends a message that has no answer, within 10 s.
    pub async fn send_message(&self, message: Vec<u8>) -> Result<(), TransportError> {
        timeout(SEND_TIMEOUT, self.post(message, &[]))
            .await
            .unwrap_or_else(|_| Err(remote::send_timeout_error(SEND_TIMEOUT)))
            .map(drop)
    }

    /// See [`super::Transport::close`].
    pub async fn close(&self) {
        self.end(EndReason::Stopped);
        if self.session().is_some() {
            let delete = self.with_session(self.remote.build_request(Method::DELETE, self.uri()));
            let _ = timeout(Duration::from_secs(2), self.remote.send(delete)).await;
        }
    }

    /// Ends the connection. Returns `false` if the connection had already ended; the first reason
    /// stays.
    fn end(&self, reason: EndReason) -> bool {
        let is_new = self.ended.set(reason).is_ok();
        if let Some(stream_reader) = self.stream_reader.get() {
            stream_reader.abort();
        }
        is_new
    }

    fn session(&self) -> MutexGuard<'_, Option<HeaderValue>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_modern(&self) -> bool {
        self.is_modern.get().copied().unwrap_or(false)
    }

    fn with_session(&self, mut request: HttpRequest) -> HttpRequest {
        let headers = request.headers_mut();
        let session = self.session().clone();
        headers.extend(session.map(|session| (SESSION_ID, session)));
        headers.extend(
            self.version
                .get()
                .map(|version| (PROTOCOL_VERSION, version.clone())),
        );
        request
    }

    /// Returns the id that the server gave the session, if any.
    pub(super) fn session_id(&self) -> Option<String> {
        let session = self.session();
        session.as_ref()?.to_str().ok().map(str::to_owned)
    }

    /// Reads the answer to `initialize`, and stores the id of the session that it begins. Some
    /// servers also send an id with an error, which begins no session.
    async fn read_initialize_answer(
        &self,
        response: HttpResponse,
        id: u64,
    ) -> Result<RpcResponse, TransportError> {
        // A request that resumes the stream of the answer already needs the id.
        *self.session() = response.headers().get(SESSION_ID).cloned();
        let answer = self.read_answer(response, id).await;
        if !matches!(answer, Ok(RpcResponse::Result(_))) {
            *self.session() = None;
        }
        answer
    }

    /// Posts a message. Returns the response, or the JSON-RPC error that came with an HTTP error.
    async fn post(
        &self,
        body: Vec<u8>,
        headers: &[(String, String)],
    ) -> Result<PostResponse, TransportError> {
        let mut request = self.with_session(self.remote.build_post(self.uri(), body));
        request.headers_mut().insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        for (name, value) in headers {
            let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value))
            else {
                return Err(TransportError::NotSent(NotSentReason::Header {
                    name: name.clone(),
                }));
            };
            request.headers_mut().append(name, value);
        }
        // The handshake shows whether the URL redirects. Later messages are never sent again, so
        // no copy of them is kept.
        let is_handshake = self.is_modern.get().is_none();
        let copy = is_handshake.then(|| request.clone());
        let mut response = self
            .remote
            .send(request)
            .await
            .map_err(|e| e.into_transport_error(|e| self.map_http_error(e)))?;
        if let (Some(mut copy), Some(target)) = (copy, self.remote.redirect_target(&response)) {
            copy.uri_mut().clone_from(&target);
            response = self
                .remote
                .send(copy)
                .await
                .map_err(|e| e.into_transport_error(|e| self.map_http_error(e)))?;
            let _ = self.moved_to.set(target);
        }
        self.check_status(response).await
    }

    /// Returns the URL for messages: the URL of the spec, or the URL to which it redirects.
    fn uri(&self) -> &Uri {
        self.moved_to.get().unwrap_or(&self.remote.uri)
    }

    async fn check_status(&self, response: HttpResponse) -> Result<PostResponse, TransportError> {
        let status = response.status();
        if status.is_success() {
            return Ok(PostResponse::Accepted(response));
        }
        let text = self.remote.read_text(response).await;
        let error = self.remote.parse_refusal(status, &text);
        let is_unknown_method = error
            .as_ref()
            .is_ok_and(|error| error.code == code::METHOD_NOT_FOUND);
        if self.session().is_some() && !is_unknown_method && remote::is_session_lost(status, &text)
        {
            return Err(self.end_not_sent(EndReason::SessionLost));
        }
        error.map(PostResponse::Refused)
    }

    /// Ends the connection, and returns the error for a message that the server has not carried
    /// out. The next request makes a new connection.
    fn end_not_sent(&self, reason: EndReason) -> TransportError {
        if self.end(reason.clone()) {
            self.events
                .send_later(TransportEvent::Ended(reason.clone()));
        }
        TransportError::NotSent(NotSentReason::Ended(reason))
    }

    fn map_http_error(&self, error: HttpError) -> TransportError {
        match self.remote.error_from(error) {
            error if error.was_not_sent() => self.end_not_sent(EndReason::Remote(error)),
            error => TransportError::Lost(LostReason::Remote(error)),
        }
    }

    async fn read_answer(
        &self,
        response: HttpResponse,
        id: u64,
    ) -> Result<RpcResponse, TransportError> {
        if is_stream(&response) {
            return self.read_stream(response, id).await;
        }
        let body = self.remote.read_body(response).await?;
        match server_message::parse(&body) {
            Some(ServerMessage::Response { response, .. }) => Ok(response),
            Some(ServerMessage::Malformed { rule, .. }) => {
                Err(TransportError::Protocol(InvalidAnswer::Malformed(rule)))
            }
            Some(ServerMessage::Incoming(_)) | None => {
                Err(TransportError::Protocol(InvalidAnswer::NotJsonRpc {
                    url: self.remote.url.clone(),
                    text: remote::excerpt(body.get()),
                }))
            }
        }
    }

    /// Reads a stream until the answer. Resumes a broken stream if the server supports resuming.
    async fn read_stream(
        &self,
        mut response: HttpResponse,
        id: u64,
    ) -> Result<RpcResponse, TransportError> {
        let mut parser = SseParser::new(MAX_MESSAGE);
        let mut breaks = 0;
        loop {
            let previous_id = parser.last_id().map(ToOwned::to_owned);
            let broken = match self.read_until_answer(response, &mut parser, id).await? {
                StreamOutcome::Answered(response) => return Ok(response),
                StreamOutcome::Broken(error) => error,
            };
            let last_id = parser.last_id().map(ToOwned::to_owned);
            breaks = if last_id == previous_id {
                breaks + 1
            } else {
                0
            };
            let (Some(last_id), false) = (last_id, self.is_modern() || breaks >= MAX_BREAKS) else {
                return Err(broken);
            };
            parser.reset_for_reconnect();
            response = match self.resume_stream(&last_id, parser.retry()).await {
                Some(response) => response,
                None => return Err(broken),
            };
        }
    }

    async fn read_until_answer(
        &self,
        mut response: HttpResponse,
        parser: &mut SseParser,
        id: u64,
    ) -> Result<StreamOutcome, TransportError> {
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => return Ok(StreamOutcome::Broken(self.map_http_error(error))),
            };
            for event in parser.push(&chunk).map_err(|_| self.too_long_error())? {
                match server_message::parse(&Json::new(event.data)) {
                    Some(ServerMessage::Response {
                        id: answered,
                        response,
                    }) if answered == Some(id) || answered.is_none() => {
                        return Ok(StreamOutcome::Answered(response));
                    }
                    Some(ServerMessage::Incoming(message)) => {
                        self.events.send_message(message, Some(id)).await;
                    }
                    Some(ServerMessage::Malformed { ids, rule })
                        if ids.is_empty() || ids.contains(&id) =>
                    {
                        return Err(TransportError::Protocol(InvalidAnswer::Malformed(rule)));
                    }
                    Some(ServerMessage::Response { .. } | ServerMessage::Malformed { .. })
                    | None => {}
                }
            }
        }
        let reason = LostReason::Remote(self.remote.stream_ended_error());
        Ok(StreamOutcome::Broken(TransportError::Lost(reason)))
    }

    /// Resumes a stream after an event, once the pause that the server requests is over. Returns
    /// `None` if the stream cannot be resumed.
    async fn resume_stream(&self, last_id: &str, pause: Option<Duration>) -> Option<HttpResponse> {
        // An id that is not a valid header value would begin another stream, without the answer.
        HeaderValue::try_from(last_id).ok()?;
        sleep(limit_retry_pause(pause.unwrap_or(RETRY_PAUSE))).await;
        let response = self
            .remote
            .send(self.stream_request(Some(last_id)))
            .await
            .ok()?;
        (response.status() == StatusCode::OK && is_stream(&response)).then_some(response)
    }

    /// Returns a request for a stream, from the beginning or after an event.
    fn stream_request(&self, last_id: Option<&str>) -> HttpRequest {
        let mut request = self.with_session(self.remote.build_request(Method::GET, self.uri()));
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers
            .extend(last_id.and_then(|id| Some((LAST_EVENT_ID, HeaderValue::try_from(id).ok()?))));
        request
    }

    fn too_long_error(&self) -> TransportError {
        TransportError::Protocol(InvalidAnswer::Remote(self.remote.too_long_error()))
    }
}

/// Limits the pause that a server requests.
fn limit_retry_pause(pause: Duration) -> Duration {
    pause.clamp(MIN_RETRY_PAUSE, MAX_RETRY_PAUSE)
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        if let Some(stream_reader) = self.stream_reader.get() {
            stream_reader.abort();
        }
    }
}

fn is_stream(response: &HttpResponse) -> bool {
    response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|value| sse::is_event_stream(value.as_bytes()))
}

/// A request that waits for its answer. If the value is dropped before the answer arrives, the
/// server is notified that the request is cancelled, unless the protocol forbids the notification.
struct CancelOnDrop {
    transport: Arc<HttpTransport>,
    id: u64,
    /// Whether the server is notified when the value is dropped.
    notifies_server: bool,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        // In the modern era, closing the connection cancels the request.
        if self.notifies_server
            && !self.transport.is_modern()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (transport, id) = (self.transport.clone(), self.id);
            runtime.spawn(async move {
                let cancelled = encode::encode_cancelled(
                    id,
                    "The client cancelled the request, or the request timed out",
                );
                let _ = timeout(Duration::from_secs(5), transport.post(cancelled, &[])).await;
            });
        }
    }
}

#[cfg(test)]
mod tests;
