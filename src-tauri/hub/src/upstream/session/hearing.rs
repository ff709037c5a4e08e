//! What a server says by itself: heard, answered, and passed on to whom it concerns.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::{ANSWER, Connection, ServerSession};
use crate::{
    model::{
        json::Json,
        log::Level,
        rpc::{RpcError, code},
    },
    protocol::{input::InputRequest, meta},
    sessions::Back,
    transport::{FromServer, Reply, message::Incoming},
};

impl ServerSession {
    pub(super) async fn listen(self: Arc<Self>, connection: Arc<Connection>, mut inbox: mpsc::Receiver<FromServer>) {
        while let Some(told) = inbox.recv().await {
            match told {
                FromServer::Message { message: Incoming::Request { id, method, params }, during } => {
                    // In a task of its own: a person may have to answer it, and what follows must not wait.
                    let (me, connection) = (self.clone(), connection.clone());
                    tokio::spawn(async move {
                        let reply = me.answer(InputRequest { method, params }, during).await;
                        let _ = connection.link().answer(&id, &reply).await;
                    });
                }
                FromServer::Message { message: Incoming::Notification { method, params }, during } => {
                    self.notified(&method, params.as_deref(), during);
                }
                FromServer::Ended(how) => return self.ended(&connection, how),
            }
        }
    }

    /// Answers a request of the server's: by the client whose request is in flight.
    async fn answer(&self, request: InputRequest, during: Option<u64>) -> Reply {
        let InputRequest { method, params } = &request;
        if method == "ping" {
            return Ok(Json::new("{}"));
        }
        let nobody = |why: &str| RpcError::new(code::METHOD_NOT_FOUND, format!("nobody can answer '{method}': {why}"));
        let owner = self.in_flight.owner(during);
        let owner = owner.ok_or_else(|| nobody("there is not one client with a request in flight"))?;
        if !owner.back.session().hello.capabilities.can_answer(method, params.as_deref()) {
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
                "notifications/resources/updated" | "notifications/tasks/status" | "notifications/tasks",
                Some(params),
            ) => {
                self.mailbox.announce(&self.server.id, method, meta::without_subscription(params));
            }
            ("notifications/subscriptions/acknowledged", Some(params)) => self.wanted.acknowledge(params),
            ("notifications/message", params) => {
                let text = params.map_or("", RawValue::get);
                self.linker.logs().server(&self.server.id, Level::Info, "message", text);
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
