//! A server at a URL over HTTP+SSE, the transport of 2024-11-05: messages are posted to an endpoint
//! that the server names, and answers arrive on a stream of events that must stay open.

pub(super) mod opening;

use std::{sync::Arc, time::Duration};

use http::{HeaderValue, Uri, header::ACCEPT};
use tokio::{sync::oneshot::error::RecvError, task::AbortHandle, time::timeout};

use super::{
    EventSender, Reply, TransportError, TransportEvent, TransportRequest,
    message::{self, Message},
    pending::Pending,
    remote::{self, HttpTarget, Remote},
    sse::SseEvent,
};
use crate::{
    http::{HttpClient, HttpError},
    model::json::Json,
};
use opening::OpenedStream;

/// How long the server may take to name its endpoint.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Why there is no stream.
#[derive(Debug, thiserror::Error)]
pub enum SseError {
    #[error(
        "the SSE connection to {url} timed out: its 'endpoint' event did not come within {} s. Verify that: \
         1. the server is running; 2. the URL is correct (currently: {url}); 3. the network is up; \
         4. no firewall is in the way",
        .timeout.as_secs_f32()
    )]
    TimedOut { url: String, timeout: Duration },
    #[error("{0}")]
    Refused(String),
    /// A person has to sign in.
    #[error("{0}")]
    NeedsSignIn(String),
}

/// An open stream, and the requests in flight whose answers arrive on it. Dropping the value closes
/// the stream.
pub struct SseTransport {
    shared: Arc<Shared>,
    listener: AbortHandle,
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
        let remote = Remote::new(http, target).map_err(SseError::Refused)?;
        let opened = match timeout(time_limit, opening::open(&remote)).await {
            Ok(opened) => opened.map_err(|why| {
                remote
                    .sign_in_reason()
                    .map_or(SseError::Refused(why), SseError::NeedsSignIn)
            })?,
            Err(_) => {
                return Err(SseError::TimedOut {
                    url: remote.url,
                    timeout: time_limit,
                });
            }
        };
        let endpoint = remote::to_uri(&opened.endpoint).map_err(SseError::Refused)?;
        let shared = Arc::new(Shared {
            remote,
            endpoint,
            pending: Pending::default(),
            events,
        });
        let listener = tokio::spawn(listen(shared.clone(), opened)).abort_handle();
        Ok(Self { shared, listener })
    }

    pub fn end_reason(&self) -> Option<String> {
        self.shared.pending.end_reason()
    }

    /// See [`super::Transport::request`].
    pub async fn request(&self, request: TransportRequest<'_>) -> Result<Reply, TransportError> {
        let TransportRequest {
            id,
            method,
            params,
            headers: _,
        } = request;
        let mut answered = self.shared.pending.register(id)?;
        let mut in_flight = CancelOnDrop {
            shared: self.shared.clone(),
            id,
            done: false,
        };
        // The answer may be on the stream before the POST has its response.
        let answer = tokio::select! {
            biased;
            answer = &mut answered => flatten_answer(answer),
            posted = self.shared.post(Some(id), message::encode_request(id, method, params)) => match posted {
                Ok(()) => flatten_answer(answered.await),
                Err(error) => Err(error),
            },
        };
        in_flight.done = true;
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
        self.shared.pending.end("it was stopped");
        self.listener.abort();
    }
}

impl Drop for SseTransport {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Shared {
    /// Posts a message. `id` is given if the message is a request. An answer in the response
    /// instead of on the stream is accepted as well.
    async fn post(&self, id: Option<u64>, body: Vec<u8>) -> Result<(), TransportError> {
        if let Some(how) = self.pending.end_reason() {
            return Err(TransportError::NotSent(how));
        }
        let mut request = self.remote.build_post(&self.endpoint, body);
        request
            .headers_mut()
            .insert(ACCEPT, HeaderValue::from_static("application/json"));
        let response = self
            .remote
            .send(request)
            .await?
            .map_err(|e| self.map_http_error(&e))?;
        let status = response.status();
        if status.is_success() {
            let body = self.remote.read_body(response).await?;
            match message::parse(&body) {
                Some(Message::Answer {
                    id: answered,
                    reply,
                }) => drop(self.pending.complete(answered.or(id), reply)),
                Some(Message::Malformed { ids, why }) => drop(self.pending.fail(&ids, &why)),
                Some(Message::Incoming(_)) | None => {}
            }
            return Ok(());
        }
        let text = self.remote.read_text(response).await;
        if remote::is_session_lost(status, &text) {
            return Err(self.end_not_sent(remote::SESSION_LOST));
        }
        let error = self.remote.parse_refusal(status, &text)?;
        self.pending.complete(id, Err(error));
        Ok(())
    }

    fn map_http_error(&self, error: &HttpError) -> TransportError {
        let why = self.remote.describe_error(error);
        if matches!(error, HttpError::NotSent(_)) {
            self.end_not_sent(&why)
        } else {
            TransportError::Lost(why)
        }
    }

    /// Ends the connection because a message was not sent. The next request makes a new connection.
    fn end_not_sent(&self, why: &str) -> TransportError {
        if self.pending.end(why) {
            self.events.try_send(TransportEvent::Ended(why.to_owned()));
        }
        TransportError::NotSent(why.to_owned())
    }

    async fn handle_event(&self, event: SseEvent) {
        if event.name != "message" {
            return;
        }
        match message::parse(&Json::new(event.data)) {
            Some(Message::Answer { id, reply }) => drop(self.pending.complete(id, reply)),
            Some(Message::Malformed { ids, why }) => drop(self.pending.fail(&ids, &why)),
            Some(Message::Incoming(message)) => {
                self.events
                    .send(TransportEvent::Message {
                        message,
                        during: None,
                    })
                    .await;
            }
            None => {}
        }
    }

    /// Reads the stream to its end, and returns how it ended.
    async fn read_stream(&self, mut opened: OpenedStream) -> String {
        for event in opened.early_events {
            self.handle_event(event).await;
        }
        loop {
            let chunk = match opened.response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return format!("{} ended its stream of events", self.remote.url),
                Err(error) => return self.remote.describe_error(&error),
            };
            let Ok(events) = opened.parser.push(&chunk) else {
                return self.remote.too_long_message();
            };
            for event in events {
                self.handle_event(event).await;
            }
        }
    }
}

async fn listen(shared: Arc<Shared>, opened: OpenedStream) {
    let how = shared.read_stream(opened).await;
    if shared.pending.end(&how) {
        shared.events.send(TransportEvent::Ended(how)).await;
    }
}

fn flatten_answer(
    answer: Result<Result<Reply, TransportError>, RecvError>,
) -> Result<Reply, TransportError> {
    answer.unwrap_or_else(|_| Err(TransportError::Lost("it ended".into())))
}

/// A request that waits for its answer. If the value is dropped before the answer arrives, the
/// server is notified that the request is cancelled.
struct CancelOnDrop {
    shared: Arc<Shared>,
    id: u64,
    done: bool,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.shared.pending.remove(self.id);
        if !self.done
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (shared, id) = (self.shared.clone(), self.id);
            runtime.spawn(async move {
                let cancelled =
                    message::encode_cancelled(id, "the client cancelled it, or it took too long");
                let _ = timeout(Duration::from_secs(5), shared.post(None, cancelled)).await;
            });
        }
    }
}

#[cfg(test)]
mod tests;
