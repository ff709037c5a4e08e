//! The client handle: messages that the hub sends to a client by itself, and the client's answers.
//!
//! A message that belongs to a request in flight goes into that request's answer stream. All other
//! messages wait in the session's outbox until the client listens to the session.

use drawbridge_model::protocol::{
    Era, LogLevel, ProgressToken, ServerProgress, input::InputRequest, meta, translate,
};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use drawbridge_jsonrpc::{
    encode::{build_cancelled_params, encode_notification, encode_request},
    json::{self, RawObject},
    pending::PendingRequests,
    rpc::{RpcError, RpcResponse, RpcResult, code},
};
use serde_json::value::RawValue;
use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    time,
};

use super::{
    ClientSession,
    message_queue::{Lifetime, MessageQueue, MessageReader, MessageSender, Undelivered},
};

/// The most requests to a client that may wait for answers: in one session of a legacy client, or
/// during one request of a modern client.
const MAX_PENDING: usize = 64;

/// Messages for a client that belong to none of its requests.
#[derive(Debug)]
pub(super) struct Outbox(Arc<MessageQueue>);

impl Default for Outbox {
    fn default() -> Self {
        Self(Arc::new(MessageQueue::new(Lifetime::Session)))
    }
}

/// The hub's requests that a client has not answered yet.
#[derive(Debug)]
pub(super) struct HubRequests {
    next_id: AtomicU64,
    pending: PendingRequests<RpcResult>,
}

impl Default for HubRequests {
    /// Returns an empty set of requests. The first id is random, because a late answer to a request
    /// from before a restart must not match a request of this hub.
    fn default() -> Self {
        Self {
            next_id: AtomicU64::new(rand::random::<u32>().into()),
            pending: PendingRequests::default(),
        }
    }
}

impl ClientSession {
    /// Returns a reader of the messages that belong to no request. The new reader takes over from
    /// the previous reader.
    pub fn listen(&self) -> MessageReader {
        self.outbox.0.attach_reader()
    }

    /// Delivers the client's answer to a request of the hub. An answer to an unknown request is
    /// dropped.
    pub fn deliver_response(&self, id: &RawValue, response: RpcResponse) {
        if let Ok(id) = id.get().parse() {
            self.hub_requests.pending.settle(id, response.into_result());
        }
    }
}

/// A client handle. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ClientHandle {
    session: Arc<ClientSession>,
    /// The request to which the handle belongs, if any.
    request: Option<Arc<RequestContext>>,
}

/// A request of the client that is in flight.
#[derive(Debug)]
struct RequestContext {
    answers: Mutex<AnswerStream>,
    /// The sender of questions, which wait for the retry of a modern client because the client
    /// cannot receive requests. `None` for a legacy client.
    questions: Option<mpsc::Sender<PendingQuestion>>,
    /// The level of log messages that the request names, if any.
    log_level: Option<LogLevel>,
}

/// The stream for the messages that belong to a request.
#[derive(Debug)]
struct AnswerStream {
    sender: MessageSender,
    /// The progress token of the client's latest retry, if there was a retry with a token.
    progress_token: Option<ProgressToken>,
}

/// A server's request to a modern client, and the sender of the client's answer.
#[derive(Debug)]
pub struct PendingQuestion {
    pub request: InputRequest,
    pub answer: oneshot::Sender<RpcResult>,
}

impl ClientHandle {
    /// Returns a handle for the duration of a legacy client's request. `stream` takes the messages
    /// that belong to the request, before its answer.
    pub fn for_request(session: Arc<ClientSession>, stream: MessageSender) -> Self {
        Self::new(session, stream, None, None)
    }

    /// Returns a handle for a request of a modern client, and a receiver of the questions to that
    /// client.
    pub fn for_stateless_request(
        session: Arc<ClientSession>,
        stream: MessageSender,
        log_level: Option<LogLevel>,
    ) -> (Self, mpsc::Receiver<PendingQuestion>) {
        let (sender, questions) = mpsc::channel(MAX_PENDING);
        (
            Self::new(session, stream, Some(sender), log_level),
            questions,
        )
    }

    fn new(
        session: Arc<ClientSession>,
        stream: MessageSender,
        questions: Option<mpsc::Sender<PendingQuestion>>,
        log_level: Option<LogLevel>,
    ) -> Self {
        let request = RequestContext {
            answers: Mutex::new(AnswerStream {
                sender: stream,
                progress_token: None,
            }),
            questions,
            log_level,
        };
        Self {
            session,
            request: Some(Arc::new(request)),
        }
    }

    /// Returns a handle that belongs to no request.
    pub fn for_session(session: Arc<ClientSession>) -> Self {
        Self {
            session,
            request: None,
        }
    }

    pub fn session(&self) -> &Arc<ClientSession> {
        &self.session
    }

    pub fn era(&self) -> Era {
        self.session.hello.era
    }

    /// Returns the minimum level of log messages that the client wants, or `None` if the client has
    /// named no level.
    pub fn log_level(&self) -> Option<LogLevel> {
        match self.era() {
            Era::Modern => self.request.as_ref()?.log_level,
            Era::Legacy => self.session.log_level(),
        }
    }

    /// Moves the handle to the client's retry: later messages go to the retry's stream, with its
    /// progress token.
    pub fn switch_to_retry(&self, stream: MessageSender, progress_token: Option<ProgressToken>) {
        if let Some(request) = &self.request {
            *lock(&request.answers) = AnswerStream {
                sender: stream,
                progress_token,
            };
        }
    }

    /// Returns the progress token of the client's latest retry, or `None` if there was no retry, or
    /// if the retry has no token.
    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.request
            .as_ref()
            .and_then(|request| lock(&request.answers).progress_token.clone())
    }

    /// Sends a notification without waiting. A client that reads too slowly misses the
    /// notification. A modern client also misses the notification if this handle belongs to a
    /// request that has ended, or neither to a request nor to a subscription.
    pub fn notify(&self, method: &str, params: Option<&RawValue>) {
        let params_with_id = match (&self.request, self.era()) {
            (None, Era::Modern) => match &self.session.subscription {
                Some(subscription) => Some(meta::with_subscription_id(params, &subscription.id)),
                // A modern client receives notifications only in an answer stream or a
                // subscription.
                None => return,
            },
            _ => None,
        };
        let params = params_with_id.as_deref().or(params).map(RawValue::get);
        let _ = self.send(encode_notification(method, params).into());
    }

    /// Forwards the progress of the client's request, with the client's token.
    pub fn forward_progress(&self, progress: &ServerProgress, token: &ProgressToken) {
        // A modern client receives progress only in the answer stream of its request.
        if self.request.is_some() || !self.era().is_modern() {
            let params = progress.params_with_token(token);
            let _ = self.send(encode_notification("notifications/progress", Some(&params)).into());
        }
    }

    /// Forwards a server's log message if the client wants messages of its level.
    pub fn forward_log(&self, params: Option<&RawValue>) {
        let level = params.and_then(|params| {
            LogLevel::from_member(&RawObject::parse(params).ok()?, "level").ok()
        });
        let reaches_level = match (self.log_level(), level) {
            (Some(minimum), Some(level)) => level >= minimum,
            (Some(_), None) => true,
            (None, _) => !self.era().is_modern(),
        };
        if reaches_level {
            self.notify("notifications/message", params);
        }
    }

    /// Sends a request to the client, and waits for the answer. Dropping the future cancels the
    /// request.
    ///
    /// # Errors
    /// Returns an error if the client answers with an error, does not read its messages or does not
    /// answer in time, if its session or request ends, or if too many requests wait for the client
    /// already.
    pub async fn send_request(&self, request: &InputRequest, timeout: Duration) -> RpcResult {
        match self
            .request
            .as_ref()
            .and_then(|context| context.questions.as_ref())
        {
            Some(questions) => self.request_by_retry(questions, request, timeout).await,
            None => self.request_directly(request, timeout).await,
        }
    }

    async fn request_by_retry(
        &self,
        questions: &mpsc::Sender<PendingQuestion>,
        request: &InputRequest,
        timeout: Duration,
    ) -> RpcResult {
        let (answer, answer_receiver) = oneshot::channel();
        let question = PendingQuestion {
            request: translate::request_for_modern_client(request),
            answer,
        };
        if let Err(error) = questions.try_send(question) {
            return Err(match error {
                TrySendError::Full(_) => too_many_waiting(),
                TrySendError::Closed(_) => {
                    no_answer_error(&request.method, "its request has ended")
                }
            });
        }
        match time::timeout(timeout, answer_receiver).await {
            Ok(Ok(response)) => response,
            Ok(Err(_)) => Err(no_answer_error(
                &request.method,
                "it did not repeat its request",
            )),
            Err(_) => Err(no_answer_error(&request.method, "it timed out")),
        }
    }

    async fn request_directly(&self, request: &InputRequest, timeout: Duration) -> RpcResult {
        let requests = &self.session.hub_requests;
        let id = requests.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(answer_receiver) = requests.pending.register(id, MAX_PENDING) else {
            return Err(too_many_waiting());
        };
        let _guard = PendingGuard { client: self, id };
        let InputRequest { method, params } = request;
        let params = params.as_deref().map(RawValue::get);
        if self
            .send(encode_request(id, method, params).into())
            .is_err()
        {
            return Err(no_answer_error(
                method,
                "it does not read its messages, or reads them too slowly",
            ));
        }
        tokio::select! {
            answer = time::timeout(timeout, answer_receiver) => match answer {
                Ok(Ok(response)) => response,
                Ok(Err(_)) => Err(no_answer_error(method, "its session has ended")),
                Err(_) => Err(no_answer_error(method, "it timed out")),
            },
            () = self.session.ended.cancelled() => Err(no_answer_error(method, "its session has ended")),
        }
    }

    /// Sends a message without waiting.
    ///
    /// # Errors
    /// Returns an error if the client does not read its messages, or reads them too slowly, or if
    /// the request of a modern client has ended.
    fn send(&self, message: Bytes) -> Result<(), Undelivered> {
        let message = match &self.request {
            Some(request) => match lock(&request.answers).sender.send(message) {
                // The request has ended. A message that is too late for the request's stream goes
                // to the session's outbox.
                Err(Undelivered::Ended(message)) if !self.era().is_modern() => message,
                sent => return sent,
            },
            None => message,
        };
        self.session.outbox.0.push(message)
    }
}

fn too_many_waiting() -> RpcError {
    RpcError::new(
        code::INTERNAL_ERROR,
        "too many requests are already waiting for the client",
    )
}

fn no_answer_error(method: &str, reason: &str) -> RpcError {
    RpcError::new(
        code::INTERNAL_ERROR,
        format!("the client did not answer {method}: {reason}"),
    )
}

/// A request that the client has not answered yet. If this guard is dropped before the answer, it
/// notifies the client that the request is cancelled.
struct PendingGuard<'a> {
    client: &'a ClientHandle,
    id: u64,
}

impl Drop for PendingGuard<'_> {
    fn drop(&mut self) {
        let session = &self.client.session;
        let is_unanswered = session.hub_requests.pending.remove(self.id);
        if is_unanswered && !session.ended.is_cancelled() {
            let reason = "the server cancelled the request, or it timed out";
            let params = json::raw(build_cancelled_params(self.id, reason));
            self.client.notify("notifications/cancelled", Some(&params));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
