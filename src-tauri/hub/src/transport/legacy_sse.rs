//! A server at a URL over HTTP+SSE, the transport of 2024-11-05: messages are posted to an endpoint
//! that the server names, and answers arrive on a stream of events that must stay open.

pub(super) mod opening;

use std::{sync::Arc, time::Duration};

use http::{HeaderValue, Uri, header::ACCEPT};
use tokio::{sync::oneshot::error::RecvError, task::AbortHandle, time::timeout};

use super::{
    FromServer, LinkError, Reply, Request, ToUpstream,
    message::{self, Message},
    pending::Pending,
    remote::{self, HttpTarget, Remote},
    sse::SseEvent,
};
use crate::{
    http::{HttpClient, HttpError},
    model::json::Json,
};
use opening::Opened;

/// How long the server may take to name its endpoint.
const OPENING: Duration = Duration::from_secs(10);
const TELL: Duration = Duration::from_secs(10);

/// Why there is no stream.
#[derive(Debug, thiserror::Error)]
pub enum SseError {
    #[error(
        "the SSE connection to {url} timed out: its 'endpoint' event did not come within {} s. Verify that: \
         1. the server is running; 2. the URL is correct (currently: {url}); 3. the network is up; \
         4. no firewall is in the way",
        .patience.as_secs_f32()
    )]
    TimedOut { url: String, patience: Duration },
    #[error("{0}")]
    Refused(String),
    /// A person has to sign in.
    #[error("{0}")]
    NeedsSignIn(String),
}

/// An open stream, and the requests in flight whose answers arrive on it. Dropping the value closes
/// the stream.
pub struct SseLink {
    shared: Arc<Shared>,
    listener: AbortHandle,
}

struct Shared {
    remote: Remote,
    /// The URL for messages, which has the same origin as the server's URL.
    endpoint: Uri,
    pending: Pending,
    upstream: ToUpstream,
}

impl SseLink {
    /// Opens the stream within `patience`, at most 10 s.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached, or does not name its endpoint in time.
    pub async fn connect(
        http: HttpClient,
        target: &HttpTarget,
        patience: Duration,
        upstream: ToUpstream,
    ) -> Result<Self, SseError> {
        let patience = patience.min(OPENING);
        let remote = Remote::new(http, target).map_err(SseError::Refused)?;
        let opened = match timeout(patience, opening::open(&remote)).await {
            Ok(opened) => opened.map_err(|why| {
                remote
                    .wants_sign_in()
                    .map_or(SseError::Refused(why), SseError::NeedsSignIn)
            })?,
            Err(_) => {
                return Err(SseError::TimedOut {
                    url: remote.url,
                    patience,
                });
            }
        };
        let endpoint = remote::uri_of(&opened.endpoint).map_err(SseError::Refused)?;
        let shared = Arc::new(Shared {
            remote,
            endpoint,
            pending: Pending::default(),
            upstream,
        });
        let listener = tokio::spawn(listen(shared.clone(), opened)).abort_handle();
        Ok(Self { shared, listener })
    }

    pub fn ended(&self) -> Option<String> {
        self.shared.pending.ended()
    }

    /// See [`super::Link::request`].
    pub async fn request(&self, request: Request<'_>) -> Result<Reply, LinkError> {
        let Request {
            id,
            method,
            params,
            headers: _,
        } = request;
        let mut answered = self.shared.pending.begin(id)?;
        let mut in_flight = InFlight {
            shared: self.shared.clone(),
            id,
            done: false,
        };
        // The answer may be on the stream before the POST has its response.
        let answer = tokio::select! {
            biased;
            answer = &mut answered => arrived(answer),
            posted = self.shared.post(Some(id), message::request(id, method, params)) => match posted {
                Ok(()) => arrived(answered.await),
                Err(error) => Err(error),
            },
        };
        in_flight.done = true;
        answer
    }

    /// Sends a message that has no answer, within 10 s.
    pub async fn tell(&self, message: Vec<u8>) -> Result<(), LinkError> {
        timeout(TELL, self.shared.post(None, message))
            .await
            .unwrap_or_else(|_| Err(remote::too_slow(TELL)))
    }

    /// See [`super::Link::close`].
    pub async fn close(&self) {
        self.shared.pending.end("it was stopped");
        self.listener.abort();
    }
}

impl Drop for SseLink {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Shared {
    /// Posts a message. `id` is given if the message is a request. An answer in the response
    /// instead of on the stream is accepted as well.
    async fn post(&self, id: Option<u64>, body: Vec<u8>) -> Result<(), LinkError> {
        if let Some(how) = self.pending.ended() {
            return Err(LinkError::NotSent(how));
        }
        let mut request = self.remote.post(&self.endpoint, body);
        request
            .headers_mut()
            .insert(ACCEPT, HeaderValue::from_static("application/json"));
        let response = self
            .remote
            .send(request)
            .await?
            .map_err(|e| self.failed(&e))?;
        let status = response.status();
        if status.is_success() {
            let body = self.remote.read(response).await?;
            match message::parse(&body) {
                Some(Message::Answer {
                    id: answered,
                    reply,
                }) => drop(self.pending.answer(answered.or(id), reply)),
                Some(Message::Unusable { ids, why }) => drop(self.pending.fail(&ids, &why)),
                Some(Message::Incoming(_)) | None => {}
            }
            return Ok(());
        }
        let text = self.remote.read_text(response).await;
        if remote::is_about_the_session(status, &text) {
            return Err(self.lost(remote::FORGOTTEN));
        }
        let error = self.remote.refused(status, &text)?;
        self.pending.answer(id, Err(error));
        Ok(())
    }

    fn failed(&self, error: &HttpError) -> LinkError {
        let why = self.remote.why(error);
        if matches!(error, HttpError::NotSent(_)) {
            self.lost(&why)
        } else {
            LinkError::Lost(why)
        }
    }

    /// Ends the connection because a message was not sent. The next request makes a new connection.
    fn lost(&self, why: &str) -> LinkError {
        if self.pending.end(why) {
            self.upstream.try_tell(FromServer::Ended(why.to_owned()));
        }
        LinkError::NotSent(why.to_owned())
    }

    async fn take(&self, event: SseEvent) {
        if event.name != "message" {
            return;
        }
        match message::parse(&Json::new(event.data)) {
            Some(Message::Answer { id, reply }) => drop(self.pending.answer(id, reply)),
            Some(Message::Unusable { ids, why }) => drop(self.pending.fail(&ids, &why)),
            Some(Message::Incoming(message)) => {
                self.upstream
                    .tell(FromServer::Message {
                        message,
                        during: None,
                    })
                    .await;
            }
            None => {}
        }
    }

    /// Reads the stream to its end, and returns how it ended.
    async fn read(&self, mut opened: Opened) -> String {
        for event in opened.early {
            self.take(event).await;
        }
        loop {
            let chunk = match opened.response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return format!("{} ended its stream of events", self.remote.url),
                Err(error) => return self.remote.why(&error),
            };
            let Ok(events) = opened.events.push(&chunk) else {
                return self.remote.too_long();
            };
            for event in events {
                self.take(event).await;
            }
        }
    }
}

async fn listen(shared: Arc<Shared>, opened: Opened) {
    let how = shared.read(opened).await;
    if shared.pending.end(&how) {
        shared.upstream.tell(FromServer::Ended(how)).await;
    }
}

fn arrived(answer: Result<Result<Reply, LinkError>, RecvError>) -> Result<Reply, LinkError> {
    answer.unwrap_or_else(|_| Err(LinkError::Lost("it ended".into())))
}

/// A request that waits for its answer. If the value is dropped before the answer arrives, the
/// server is notified that the request is cancelled.
struct InFlight {
    shared: Arc<Shared>,
    id: u64,
    done: bool,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.shared.pending.forget(self.id);
        if !self.done
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (shared, id) = (self.shared.clone(), self.id);
            runtime.spawn(async move {
                let cancelled =
                    message::cancelled(id, "the client cancelled it, or it took too long");
                let _ = timeout(Duration::from_secs(5), shared.post(None, cancelled)).await;
            });
        }
    }
}

#[cfg(test)]
mod tests;
