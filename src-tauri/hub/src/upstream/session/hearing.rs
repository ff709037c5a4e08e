//! Handles requests and notifications that a server sends by itself.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use super::{ANSWER, Connection, ServerSession};
use crate::{
    model::{
        json::{Json, RawObject},
        log::Level,
        rpc::{RpcError, code},
    },
    protocol::{input::InputRequest, meta},
    sessions::Back,
    transport::{FromServer, Reply, message::Incoming},
};

/// The requests of a server that are being answered on one connection. They end with it.
#[derive(Default)]
struct Answering {
    tasks: JoinSet<()>,
    /// The tasks by the server's request ids, as raw text.
    by_id: HashMap<Box<str>, (Work, AbortHandle)>,
}

impl Answering {
    fn begin(&mut self, id: Box<str>, answer: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        // Clean up only now and then, because each scan visits all entries.
        if self.by_id.len() >= 2 * self.tasks.len() + 16 {
            self.by_id.retain(|_, (_, task)| !task.is_finished());
        }
        let work = Work(Arc::new(Mutex::new(Some(Box::pin(answer)))));
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

/// A future that another task can drop at once. An aborted task drops its future only when it runs
/// next. The client must be notified that its answer is not needed any more before it receives the
/// answer to its own request.
#[derive(Clone)]
struct Work(Arc<Mutex<Option<BoxFuture<'static, ()>>>>);

impl Work {
    fn drop_now(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Future for Work {
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
    pub(super) async fn listen(
        self: Arc<Self>,
        connection: Arc<Connection>,
        mut inbox: mpsc::Receiver<FromServer>,
    ) {
        let mut answering = Answering::default();
        while let Some(told) = inbox.recv().await {
            match told {
                FromServer::Message {
                    message: Incoming::Request { id, method, params },
                    during,
                } => {
                    // Answer in a separate task: a person may have to answer, and the messages that
                    // follow must not wait.
                    let (me, connection) = (self.clone(), connection.clone());
                    answering.begin(id.get().into(), async move {
                        let reply = me.answer(InputRequest { method, params }, during).await;
                        let _ = connection.link().answer(&id, &reply).await;
                    });
                }
                FromServer::Message {
                    message:
                        Incoming::Notification {
                            method,
                            params: Some(params),
                        },
                    ..
                } if method == "notifications/cancelled" => answering.cancel(&params),
                FromServer::Message {
                    message: Incoming::Notification { method, params },
                    during,
                } => {
                    self.notified(&method, params.as_deref(), during);
                }
                FromServer::Ended(how) => return self.ended(&connection, how),
            }
        }
    }

    /// Answers a request of the server with the help of the client whose request is in flight.
    async fn answer(&self, request: InputRequest, during: Option<u64>) -> Reply {
        let InputRequest { method, params } = &request;
        if method == "ping" {
            return Ok(Json::new("{}"));
        }
        let nobody = |why: &str| {
            RpcError::new(
                code::METHOD_NOT_FOUND,
                format!("nobody can answer '{method}': {why}"),
            )
        };
        let owner = self.in_flight.owner(during);
        let owner =
            owner.ok_or_else(|| nobody("there is not one client with a request in flight"))?;
        if !owner
            .back
            .session()
            .hello
            .capabilities
            .can_answer(method, params.as_deref())
        {
            return Err(nobody("the client does not offer it"));
        }
        self.visits.note(&request, owner.back.session());
        let _asked = owner.asked();
        owner.back.ask(&request, ANSWER).await
    }

    fn notified(&self, method: &str, params: Option<&RawValue>, during: Option<u64>) {
        match (method, params) {
            (
                "notifications/tools/list_changed"
                | "notifications/prompts/list_changed"
                | "notifications/resources/list_changed",
                _,
            ) => self.mailbox.list_changes.tell(self.server.id.clone()),
            ("notifications/progress", Some(params)) => self.in_flight.progress(params),
            (
                "notifications/resources/updated"
                | "notifications/tasks/status"
                | "notifications/tasks",
                Some(params),
            ) => {
                self.mailbox.announce(
                    &self.server.id,
                    method,
                    meta::without_subscription_id(params),
                );
            }
            ("notifications/subscriptions/acknowledged", Some(params)) => {
                self.wanted.acknowledge(params)
            }
            ("notifications/message", params) => {
                let text = params.map_or("", RawValue::get);
                self.linker
                    .logs()
                    .add_server_line(&self.server.id, Level::Info, "message", text);
                if let Some(owner) = self.in_flight.owner(during) {
                    owner.back.log(params);
                }
            }
            ("notifications/elicitation/complete", Some(params)) => {
                if let Some(session) = self.visits.done(params) {
                    Back::at_any_time(session).notify(method, Some(params));
                }
            }
            _ => {}
        }
    }
}
