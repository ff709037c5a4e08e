//! Handles requests and notifications that a server sends by itself.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use drawbridge_jsonrpc::{
    json::{Json, RawObject},
    rpc::{RpcError, RpcResult, code},
    server_message::Incoming,
};
use drawbridge_model::{
    log::{Level, LogKind},
    protocol::{ServerProgress, input::InputRequest, meta},
};
use drawbridge_sessions::ClientHandle;
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use super::{ANSWER_TIMEOUT, Connection, ServerSession};
use crate::{
    client_requests::{Respondent, ServerQuestion},
    transport::TransportEvent,
};

/// The most requests on one connection that are answered at the same time. Also the most refusals
/// of further requests that are sent at the same time.
const MAX_ANSWERS: usize = 256;

/// The tasks that answer the requests that a server sends on one connection. Dropping the value at
/// the end of the connection aborts the tasks.
#[derive(Default)]
struct AnswerTasks {
    tasks: JoinSet<()>,
    /// The tasks by the server's request ids, as raw text.
    by_id: HashMap<Box<str>, (DroppableFuture, AbortHandle)>,
    /// The tasks that refuse requests beyond [`MAX_ANSWERS`].
    refusals: JoinSet<()>,
}

impl AnswerTasks {
    /// Returns whether another request can be answered.
    fn has_room(&mut self) -> bool {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.len() < MAX_ANSWERS
    }

    /// Refuses a request with `refusal`, unless too many refusals are being sent already.
    fn refuse(&mut self, refusal: impl Future<Output = ()> + Send + 'static) {
        while self.refusals.try_join_next().is_some() {}
        if self.refusals.len() < MAX_ANSWERS {
            self.refusals.spawn(refusal);
        }
    }

    fn spawn(&mut self, id: Box<str>, answer: impl Future<Output = ()> + Send + 'static) {
        // Remove finished tasks only now and then, because each scan visits all entries.
        if self.by_id.len() >= 2 * self.tasks.len() + 16 {
            self.by_id.retain(|_, (_, task)| !task.is_finished());
        }
        let work = DroppableFuture(Arc::new(Mutex::new(Some(Box::pin(answer)))));
        let task = self.tasks.spawn(work.clone());
        self.by_id.insert(id, (work, task));
    }

    /// Cancels the answer to a request of the server. The client is notified, and the server
    /// receives no answer.
    fn cancel(&mut self, params: &RawValue) {
        let id = RawObject::parse(params)
            .ok()
            .and_then(|params| Some(params.get("requestId")?.get().to_owned()));
        if let Some((work, task)) = id.and_then(|id| self.by_id.remove(id.as_str())) {
            work.drop_now();
            task.abort();
        }
    }
}

/// A future that another task can drop at once. To abort the task would not be enough, because an
/// aborted task drops its future only when the runtime next polls the task. Dropping the future
/// notifies the client that the server no longer needs an answer. The client has to receive this
/// notification before the answer to its own request.
#[derive(Clone)]
struct DroppableFuture(Arc<Mutex<Option<BoxFuture<'static, ()>>>>);

impl DroppableFuture {
    fn drop_now(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Future for DroppableFuture {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut work = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = work.as_mut() else {
            return Poll::Ready(());
        };
        let polled = running.as_mut().poll(context);
        if polled.is_ready() {
            *work = None;
        }
        polled
    }
}

impl ServerSession {
    pub(super) async fn handle_incoming(
        self: Arc<Self>,
        connection: Arc<Connection>,
        mut inbox: mpsc::Receiver<TransportEvent>,
    ) {
        let mut answer_tasks = AnswerTasks::default();
        while let Some(event) = inbox.recv().await {
            match event {
                TransportEvent::Message {
                    message: Incoming::Request { id, method, params },
                    during_request,
                } => {
                    // A server can send requests faster than it accepts answers, for instance over
                    // HTTP. Its unanswered requests must not fill the memory.
                    if !answer_tasks.has_room() {
                        let reason = format!(
                            "{method} is refused: {MAX_ANSWERS} requests of this server are being answered"
                        );
                        let logs = self.connector.logs();
                        logs.add_server_line(&self.server.id, Level::Warn, "hub", &reason);
                        let connection = connection.clone();
                        answer_tasks.refuse(async move {
                            let refusal = Err(RpcError::new(code::INTERNAL_ERROR, reason));
                            let _ = connection.transport().answer(&id, &refusal).await;
                        });
                        continue;
                    }
                    // Answer in a separate task: a person may have to answer, and the messages that
                    // follow must not wait.
                    let (me, connection) = (self.clone(), connection.clone());
                    answer_tasks.spawn(id.get().into(), async move {
                        let response = me
                            .answer_request(InputRequest { method, params }, during_request)
                            .await;
                        let _ = connection.transport().answer(&id, &response).await;
                    });
                }
                TransportEvent::Message {
                    message:
                        Incoming::Notification {
                            method,
                            params: Some(params),
                        },
                    ..
                } if method == "notifications/cancelled" => answer_tasks.cancel(&params),
                TransportEvent::Message {
                    message: Incoming::Notification { method, params },
                    during_request,
                } => {
                    self.handle_notification(&method, params.as_deref(), during_request);
                }
                TransportEvent::Progress(progress) => self.handle_progress(&progress),
                TransportEvent::Ended(reason) => {
                    return self.handle_connection_end(&connection, reason);
                }
            }
        }
    }

    /// Answers a request of the server through the client whose request is in flight. If that
    /// client cannot answer, or if there is no such client, Drawbridge answers if it can.
    /// `during_request` is the id of the request during which the server asks, if the transport
    /// knows it.
    async fn answer_request(
        &self,
        request: InputRequest,
        during_request: Option<u64>,
    ) -> RpcResult {
        let InputRequest { method, .. } = &request;
        if method == "ping" {
            return Ok(Json::new("{}"));
        }
        let unanswerable = |reason: &str| {
            RpcError::new(
                code::METHOD_NOT_FOUND,
                format!("No client can answer '{method}': {reason}"),
            )
        };
        let Some(recipient) = self.in_flight.find_recipient(during_request) else {
            let answer = self
                .client_requests
                .answer_request_without_client(&self.server, &request)
                .await;
            return answer.unwrap_or_else(|| {
                Err(unanswerable(
                    "exactly one client must have a request in flight at this server",
                ))
            });
        };
        let session = recipient.client_handle.session();
        match self.client_requests.find_respondent(&request, session) {
            Some(Respondent::Client) => self.url_elicitations.record(&request, session),
            Some(Respondent::Drawbridge) => {}
            None => return Err(unanswerable("the client does not support it")),
        }
        let _timeout_pause = recipient.pause_timeout();
        self.client_requests
            .answer_request(ServerQuestion {
                server: &self.server,
                request: &request,
                handle: &recipient.client_handle,
                progress_token: recipient.progress_token.as_ref(),
                timeout: ANSWER_TIMEOUT,
            })
            .await
    }

    fn handle_progress(&self, progress: &ServerProgress) {
        if let Some((call, text)) = self.in_flight.forward_progress(progress) {
            self.connector.logs().add_server_output(
                &self.server.id,
                LogKind::Message,
                Level::Debug,
                Some(call),
                &text,
            );
        }
    }

    fn handle_notification(
        &self,
        method: &str,
        params: Option<&RawValue>,
        during_request: Option<u64>,
    ) {
        match (method, params) {
            (
                "notifications/tools/list_changed"
                | "notifications/prompts/list_changed"
                | "notifications/resources/list_changed",
                _,
            ) => self
                .session_events
                .list_changes
                .insert(self.server.id.clone()),
            (
                "notifications/resources/updated"
                | "notifications/tasks/status"
                | "notifications/tasks",
                Some(params),
            ) => {
                self.session_events.send_notification(
                    &self.server.id,
                    method,
                    meta::without_subscription_id(params),
                );
            }
            ("notifications/subscriptions/acknowledged", Some(params)) => {
                self.subscriptions.set_acknowledged(params)
            }
            ("notifications/message", params) => {
                let text = params.map_or("", RawValue::get);
                self.connector.logs().add_server_output(
                    &self.server.id,
                    LogKind::Message,
                    Level::Info,
                    self.in_flight.find_call(during_request),
                    text,
                );
                if let Some(recipient) = self.in_flight.find_recipient(during_request) {
                    recipient.client_handle.forward_log(params);
                }
            }
            ("notifications/elicitation/complete", Some(params)) => {
                if let Some(session) = self.url_elicitations.complete(params) {
                    ClientHandle::for_session(session).notify(method, Some(params));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use drawbridge_jsonrpc::json;

    use super::*;

    #[tokio::test]
    async fn only_a_limited_number_of_requests_is_answered_at_the_same_time() {
        let mut answer_tasks = AnswerTasks::default();
        for id in 0..MAX_ANSWERS {
            assert!(answer_tasks.has_room());
            answer_tasks.spawn(id.to_string().into(), pending());
        }
        assert!(!answer_tasks.has_room());
        answer_tasks.cancel(&json::raw(r#"{"requestId":7}"#.into()));
        tokio::task::yield_now().await;
        assert!(answer_tasks.has_room(), "a cancelled request makes room");
    }
}
