//! A server at a URL over streamable HTTP: one POST for each message, answered with JSON or with a
//! stream of events.
//!
//! In the legacy era, a stream that breaks can be resumed, and a separate stream ([`listening`])
//! carries the messages that belong to no request. The modern era has neither, and closing the
//! connection cancels the request.

mod listening;

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use http::{
    HeaderName, HeaderValue, Method, StatusCode, Uri,
    header::{ACCEPT, CONTENT_TYPE},
};
use tokio::{
    task::AbortHandle,
    time::{sleep, timeout},
};

use super::{
    FromServer, LinkError, MAX_MESSAGE, Reply, Request, ToUpstream,
    message::{self, Message},
    remote::{self, HttpTarget, Remote},
    sse::Events,
};
use crate::{
    http::{HttpClient, HttpError, HttpRequest, HttpResponse},
    model::{
        json::Json,
        rpc::{RpcError, code},
    },
    protocol::ServerHello,
};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const TELL: Duration = Duration::from_secs(10);
/// The pause before a broken stream is resumed, if the server does not name one.
const RETRY: Duration = Duration::from_secs(1);
/// The longest pause that a server may ask for.
const MAX_RETRY: Duration = Duration::from_secs(30);
/// How often in a row a stream may break without a new event id.
const MAX_BREAKS: u32 = 5;

/// A connection to a server at a URL.
pub struct HttpLink {
    remote: Remote,
    /// The URL to which the server's URL redirects, if it does.
    moved_to: OnceLock<Uri>,
    session: OnceLock<HeaderValue>,
    /// The agreed revision, if it belongs to the legacy era.
    version: OnceLock<HeaderValue>,
    /// Whether the server belongs to the modern era, once that is known.
    is_modern: OnceLock<bool>,
    listener: OnceLock<AbortHandle>,
    ended: Mutex<Option<String>>,
    upstream: ToUpstream,
}

/// How reading a stream ended.
enum Read {
    Answered(Reply),
    /// The stream broke, or the server closed it, before the answer.
    Broken(LinkError),
}

impl HttpLink {
    /// Creates a connection. The first request opens it.
    ///
    /// # Errors
    /// Returns an error, as text for people, if the URL or a header cannot be sent.
    pub fn new(
        http: HttpClient,
        target: &HttpTarget,
        upstream: ToUpstream,
    ) -> Result<Arc<Self>, String> {
        Ok(Arc::new(Self {
            remote: Remote::new(http, target)?,
            moved_to: OnceLock::new(),
            session: OnceLock::new(),
            version: OnceLock::new(),
            is_modern: OnceLock::new(),
            listener: OnceLock::new(),
            ended: Mutex::default(),
            upstream,
        }))
    }

    /// See [`super::Link::begin`].
    pub fn begin(self: &Arc<Self>, hello: &ServerHello) {
        let _ = self.is_modern.set(hello.era().is_modern());
        if !hello.era().is_modern()
            && let Ok(version) = HeaderValue::try_from(&hello.protocol_version)
        {
            let _ = self.version.set(version);
            let _ = self
                .listener
                .set(tokio::spawn(listening::listen(Arc::downgrade(self))).abort_handle());
        }
    }

    pub fn ended(&self) -> Option<String> {
        self.ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// See [`super::Link::request`].
    pub async fn request(self: &Arc<Self>, request: Request<'_>) -> Result<Reply, LinkError> {
        let mut in_flight = InFlight {
            link: self.clone(),
            id: request.id,
            answered: false,
        };
        let body = message::request(request.id, request.method, request.params);
        let answer = match self.post(body, request.headers).await {
            Ok(Ok(response)) => {
                if request.method == "initialize" {
                    self.note_session(&response);
                }
                self.read_answer(response, request.id).await
            }
            Ok(Err(error)) => Ok(Err(error)),
            Err(error) => Err(error),
        };
        in_flight.answered = true;
        answer
    }

    /// Sends a message that has no answer, within 10 s.
    pub async fn tell(&self, message: Vec<u8>) -> Result<(), LinkError> {
        timeout(TELL, self.post(message, &[]))
            .await
            .unwrap_or_else(|_| Err(remote::too_slow(TELL)))
            .map(drop)
    }

    /// See [`super::Link::close`].
    pub async fn close(&self) {
        self.end("it was stopped");
        if self.session.get().is_some() {
            let delete = self.with_session(self.remote.request(Method::DELETE, self.uri()));
            let _ = timeout(Duration::from_secs(2), self.remote.send(delete)).await;
        }
    }

    fn end(&self, why: &str) {
        self.ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_with(|| why.to_owned());
        if let Some(listener) = self.listener.get() {
            listener.abort();
        }
    }

    fn is_modern(&self) -> bool {
        self.is_modern.get().copied().unwrap_or(false)
    }

    fn with_session(&self, mut request: HttpRequest) -> HttpRequest {
        let headers = request.headers_mut();
        headers.extend(self.session.get().map(|session| (SESSION, session.clone())));
        headers.extend(self.version.get().map(|version| (VERSION, version.clone())));
        request
    }

    /// Stores the id of the session that a successful `initialize` began. Some servers also send an
    /// id with a refusal, which begins no session.
    fn note_session(&self, response: &HttpResponse) {
        if let Some(session) = response.headers().get(SESSION) {
            let _ = self.session.set(session.clone());
        }
    }

    /// Posts a message. Returns the response, or the JSON-RPC error that came with an HTTP error.
    async fn post(
        &self,
        body: Vec<u8>,
        headers: &[(String, String)],
    ) -> Result<Result<HttpResponse, RpcError>, LinkError> {
        let mut request = self.with_session(self.remote.post(self.uri(), body));
        request.headers_mut().insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        for (name, value) in headers {
            let unfit = || LinkError::NotSent(format!("the header '{name}' cannot be sent"));
            let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value))
            else {
                return Err(unfit());
            };
            request.headers_mut().append(name, value);
        }
        // A redirect shows during the handshake. Later messages need no copy to be sent again.
        let is_first = self.is_modern.get().is_none();
        let again = is_first.then(|| request.clone());
        let mut response = self
            .remote
            .send(request)
            .await?
            .map_err(|e| self.failed(&e))?;
        if let (Some(mut again), Some(place)) = (again, self.remote.moved_to(&response)) {
            again.uri_mut().clone_from(&place);
            response = self
                .remote
                .send(again)
                .await?
                .map_err(|e| self.failed(&e))?;
            let _ = self.moved_to.set(place);
        }
        self.check(response).await
    }

    /// Returns the URL for messages: the URL of the spec, or the one to which it redirects.
    fn uri(&self) -> &Uri {
        self.moved_to.get().unwrap_or(&self.remote.uri)
    }

    async fn check(
        &self,
        response: HttpResponse,
    ) -> Result<Result<HttpResponse, RpcError>, LinkError> {
        let status = response.status();
        if status.is_success() {
            return Ok(Ok(response));
        }
        let text = self.remote.read_text(response).await;
        let error = self.remote.refused(status, &text);
        let knows_no_method = error
            .as_ref()
            .is_ok_and(|error| error.code == code::METHOD_NOT_FOUND);
        if self.session.get().is_some()
            && !knows_no_method
            && remote::is_about_the_session(status, &text)
        {
            return Err(self.lost(remote::FORGOTTEN));
        }
        error.map(Err)
    }

    /// Ends the connection because a message was not sent. The next request makes a new connection.
    fn lost(&self, why: &str) -> LinkError {
        self.end(why);
        self.upstream.try_tell(FromServer::Ended(why.to_owned()));
        LinkError::NotSent(why.to_owned())
    }

    fn failed(&self, error: &HttpError) -> LinkError {
        let why = self.remote.why(error);
        if matches!(error, HttpError::NotSent(_)) {
            self.lost(&why)
        } else {
            LinkError::Lost(why)
        }
    }

    async fn read_answer(&self, response: HttpResponse, id: u64) -> Result<Reply, LinkError> {
        if is_stream(&response) {
            return self.read_stream(response, id).await;
        }
        let body = self.remote.read(response).await?;
        match message::parse(&body) {
            Some(Message::Answer { reply, .. }) => Ok(reply),
            Some(Message::Unusable { why, .. }) => Err(LinkError::Protocol(why)),
            Some(Message::Incoming(_)) | None => {
                let (url, said) = (&self.remote.url, remote::shown(body.get()));
                Err(LinkError::Protocol(format!(
                    "{url} answered something that is not JSON-RPC: {said}"
                )))
            }
        }
    }

    /// Reads a stream until the answer. If the stream breaks, resumes it if the server supports
    /// that.
    async fn read_stream(&self, mut response: HttpResponse, id: u64) -> Result<Reply, LinkError> {
        let mut events = Events::new(MAX_MESSAGE);
        let mut breaks = 0;
        loop {
            let before = events.last_id().map(ToOwned::to_owned);
            let broken = match self.read_until_answer(response, &mut events, id).await? {
                Read::Answered(reply) => return Ok(reply),
                Read::Broken(error) => error,
            };
            let last_id = events.last_id().map(ToOwned::to_owned);
            breaks = if last_id == before { breaks + 1 } else { 0 };
            let (Some(last_id), false) = (last_id, self.is_modern() || breaks >= MAX_BREAKS) else {
                return Err(broken);
            };
            events.reconnected();
            response = match self.take_up(&last_id, events.retry()).await {
                Some(response) => response,
                None => return Err(broken),
            };
        }
    }

    async fn read_until_answer(
        &self,
        mut response: HttpResponse,
        events: &mut Events,
        id: u64,
    ) -> Result<Read, LinkError> {
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => return Ok(Read::Broken(self.failed(&error))),
            };
            for event in events.push(&chunk).map_err(|_| self.too_long())? {
                match message::parse(&Json::new(event.data)) {
                    Some(Message::Answer {
                        id: answered,
                        reply,
                    }) if answered == Some(id) || answered.is_none() => {
                        return Ok(Read::Answered(reply));
                    }
                    Some(Message::Incoming(message)) => {
                        self.upstream
                            .tell(FromServer::Message {
                                message,
                                during: Some(id),
                            })
                            .await;
                    }
                    Some(Message::Unusable { ids, why }) if ids.is_empty() || ids.contains(&id) => {
                        return Err(LinkError::Protocol(why));
                    }
                    Some(Message::Answer { .. } | Message::Unusable { .. }) | None => {}
                }
            }
        }
        let why = format!(
            "{} ended its stream of events before the answer",
            self.remote.url
        );
        Ok(Read::Broken(LinkError::Lost(why)))
    }

    /// Resumes a stream after an event, once the pause that the server asks for is over.
    async fn take_up(&self, last_id: &str, pause: Option<Duration>) -> Option<HttpResponse> {
        // An id that is not a valid header value would begin another stream, without the answer.
        HeaderValue::try_from(last_id).ok()?;
        sleep(pause.unwrap_or(RETRY).min(MAX_RETRY)).await;
        let response = self
            .remote
            .send(self.listening(Some(last_id)))
            .await
            .ok()?
            .ok()?;
        (response.status() == StatusCode::OK && is_stream(&response)).then_some(response)
    }

    /// Returns a request for a stream, from the beginning or after an event.
    fn listening(&self, last_id: Option<&str>) -> HttpRequest {
        let mut request = self.with_session(self.remote.request(Method::GET, self.uri()));
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.extend(last_id.and_then(|id| Some((LAST_EVENT, HeaderValue::try_from(id).ok()?))));
        request
    }

    fn too_long(&self) -> LinkError {
        LinkError::Protocol(self.remote.too_long())
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        if let Some(listener) = self.listener.get() {
            listener.abort();
        }
    }
}

fn is_stream(response: &HttpResponse) -> bool {
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    kind.starts_with("text/event-stream")
}

/// A request that waits for its answer. If the value is dropped before the answer arrives, the
/// server is notified that the request is cancelled.
struct InFlight {
    link: Arc<HttpLink>,
    id: u64,
    answered: bool,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        // In the modern era, closing the connection cancels the request.
        if !self.answered
            && !self.link.is_modern()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (link, id) = (self.link.clone(), self.id);
            runtime.spawn(async move {
                let cancelled =
                    message::cancelled(id, "the client cancelled it, or it took too long");
                let _ = timeout(Duration::from_secs(5), link.post(cancelled, &[])).await;
            });
        }
    }
}
