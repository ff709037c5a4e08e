//! A server at a URL, over streamable HTTP: one POST a message, answered with JSON or with a
//! stream of events.

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt;
use reqwest::{
    Client, Method, RequestBuilder, Response,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::{
    FromServer, LinkError, MAX_MESSAGE, Reply, ToUpstream,
    message::{self, Message},
    remote::{self, HttpTarget, Remote},
    sse,
};
use crate::model::rpc::RpcError;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const TELL: Duration = Duration::from_secs(10);

/// A session with a server at a URL.
pub struct HttpLink {
    remote: Remote,
    session: OnceLock<HeaderValue>,
    version: OnceLock<HeaderValue>,
    next_id: AtomicU64,
    ended: Mutex<Option<String>>,
    upstream: ToUpstream,
}

impl HttpLink {
    /// Makes a link; the first request connects.
    ///
    /// # Errors
    /// In plain words, for a header that cannot be sent.
    pub fn new(http: Client, target: &HttpTarget, upstream: ToUpstream) -> Result<Arc<Self>, String> {
        Ok(Arc::new(Self {
            remote: Remote::new(http, target)?,
            session: OnceLock::new(),
            version: OnceLock::new(),
            next_id: AtomicU64::new(1),
            ended: Mutex::default(),
            upstream,
        }))
    }

    pub fn set_protocol_version(&self, version: &str) {
        if let Ok(version) = HeaderValue::try_from(version) {
            let _ = self.version.set(version);
        }
    }

    pub fn ended(&self) -> Option<String> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// See [`super::Link::request`].
    pub async fn request(
        self: &Arc<Self>,
        method: &str,
        params: Option<&RawValue>,
        patience: Duration,
    ) -> Result<Reply, LinkError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut in_flight = InFlight { link: self.clone(), id, answered: false };
        let exchange = async {
            match self.post(message::request(id, method, params)).await? {
                Ok(response) => self.read_answer(response, id).await,
                Err(error) => Ok(Err(error)),
            }
        };
        match timeout(patience, exchange).await {
            Ok(answer) => {
                in_flight.answered = true;
                answer
            }
            Err(_) => Err(LinkError::TimedOut(patience)),
        }
    }

    /// Sends what has no answer; not for ever.
    pub async fn tell(&self, message: Vec<u8>) -> Result<(), LinkError> {
        timeout(TELL, self.post(message)).await.unwrap_or(Err(LinkError::TimedOut(TELL))).map(drop)
    }

    /// See [`super::Link::close`].
    pub async fn close(&self) {
        self.end("it was stopped");
        if self.session.get().is_some() {
            let delete = self.with_session(self.remote.request(Method::DELETE, &self.remote.url));
            let _ = timeout(Duration::from_secs(2), self.remote.send(delete)).await;
        }
    }

    fn end(&self, why: &str) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| why.to_owned());
    }

    fn with_session(&self, mut request: RequestBuilder) -> RequestBuilder {
        if let Some(session) = self.session.get() {
            request = request.header(SESSION, session);
        }
        if let Some(version) = self.version.get() {
            request = request.header(VERSION, version);
        }
        request
    }

    /// Posts a message: the response, or the JSON-RPC error that came with a status of failure.
    async fn post(&self, body: Vec<u8>) -> Result<Result<Response, RpcError>, LinkError> {
        let request = self
            .with_session(self.remote.post(&self.remote.url, body))
            .header(ACCEPT, "application/json, text/event-stream");
        let response = self.remote.send(request).await?.map_err(|e| self.failed(&e))?;
        if let Some(session) = response.headers().get(SESSION) {
            let _ = self.session.set(session.clone());
        }
        self.check(response).await
    }

    async fn check(&self, response: Response) -> Result<Result<Response, RpcError>, LinkError> {
        let status = response.status();
        if status.is_success() {
            return Ok(Ok(response));
        }
        let text = self.remote.read_text(response).await.unwrap_or_default();
        if self.session.get().is_some() && remote::is_about_the_session(status, &text) {
            return Err(self.lost(remote::FORGOTTEN));
        }
        self.remote.refused(status, &text).map(Err)
    }

    /// Ends the link with nothing sent: the next request makes a new one.
    fn lost(&self, why: &str) -> LinkError {
        self.end(why);
        let _ = self.upstream.try_send(FromServer::Ended(why.to_owned()));
        LinkError::NotSent(why.to_owned())
    }

    fn failed(&self, error: &reqwest::Error) -> LinkError {
        if remote::is_unsent(error) {
            self.lost(&self.remote.cannot_connect(error))
        } else {
            LinkError::Lost(self.remote.broke(error))
        }
    }

    async fn read_answer(&self, response: Response, id: u64) -> Result<Reply, LinkError> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/event-stream") {
            return self.read_stream(response, id).await;
        }
        let text = self.remote.read_text(response).await?;
        match message::parse(text.as_bytes()) {
            Some(Message::Answer { reply, .. }) => Ok(reply),
            Some(Message::Incoming(_)) | None => {
                let (url, said) = (&self.remote.url, remote::shown(&text));
                Err(LinkError::Protocol(format!("{url} answered something that is not JSON-RPC: {said}")))
            }
        }
    }

    async fn read_stream(&self, response: Response, id: u64) -> Result<Reply, LinkError> {
        let mut events = sse::Events::new(MAX_MESSAGE);
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|e| self.failed(&e))?;
            for event in events.push(&chunk).map_err(|_| self.too_long())? {
                match message::parse(event.data.as_bytes()) {
                    Some(Message::Answer { id: answered, reply }) if answered == Some(id) || answered.is_none() => {
                        return Ok(reply);
                    }
                    Some(Message::Incoming(incoming)) => drop(self.upstream.send(FromServer::Message(incoming)).await),
                    Some(Message::Answer { .. }) | None => {}
                }
            }
        }
        Err(LinkError::Lost(format!("{} ended its stream without an answer", self.remote.url)))
    }

    fn too_long(&self) -> LinkError {
        LinkError::Protocol(self.remote.too_long())
    }
}

/// A request whose answer is awaited. Dropped before the answer came, it tells the server to stop.
struct InFlight {
    link: Arc<HttpLink>,
    id: u64,
    answered: bool,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if !self.answered
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (link, id) = (self.link.clone(), self.id);
            runtime.spawn(async move {
                let cancelled = message::cancelled(id, "the client cancelled it, or it took too long");
                let _ = timeout(Duration::from_secs(5), link.post(cancelled)).await;
            });
        }
    }
}
