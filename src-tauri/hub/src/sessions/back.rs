//! The way back: what the hub sends to a client by itself, and what the client answers to it.
//!
//! What belongs to a request in flight goes into that request's own answer stream; everything else
//! waits in the session's outbox for whoever listens to the session.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::timeout,
};

use super::ClientSession;
use crate::model::{
    json,
    rpc::{Reply, RpcError, code},
};

/// Messages that may wait for a client that does not listen; then the oldest makes room.
const MAX_WAITING: usize = 256;
/// Requests to one client that may wait for its answer.
const MAX_ASKED: usize = 64;

/// Messages for a client that belong to none of its requests.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: Mutex<VecDeque<Bytes>>,
    arrived: Notify,
}

/// The hub's requests that a client has not answered yet.
#[derive(Debug)]
pub(super) struct Asked {
    next_id: AtomicU64,
    pending: Mutex<HashMap<u64, oneshot::Sender<Reply>>>,
}

impl Default for Asked {
    /// Ids begin anywhere: a late answer to the hub of before a restart must not fit a request of this one.
    fn default() -> Self {
        Self { next_id: AtomicU64::new(rand::random::<u32>().into()), pending: Mutex::default() }
    }
}

impl ClientSession {
    /// The next message that belongs to no request; waits for one.
    pub async fn next_message(&self) -> Bytes {
        loop {
            let arrived = self.outbox.arrived.notified();
            if let Some(message) = self.outbox.lock().pop_front() {
                return message;
            }
            arrived.await;
        }
    }

    /// Takes the client's answer to a request of the hub's; one to no such request is dropped.
    pub fn answered(&self, id: &RawValue, reply: Reply) {
        let asked = id.get().parse().ok().and_then(|id: u64| self.asked.lock().remove(&id));
        if let Some(asked) = asked {
            let _ = asked.send(reply);
        }
    }
}

/// The way back to a client. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Back {
    session: Arc<ClientSession>,
    /// The answer stream of the request that it belongs to.
    stream: Option<mpsc::Sender<Bytes>>,
}

impl Back {
    /// The way back while a request is in flight: `stream` takes what belongs to it, before its answer.
    pub fn during(session: Arc<ClientSession>, stream: mpsc::Sender<Bytes>) -> Self {
        Self { session, stream: Some(stream) }
    }

    /// The way back at any time.
    pub fn at_any_time(session: Arc<ClientSession>) -> Self {
        Self { session, stream: None }
    }

    pub fn session(&self) -> &Arc<ClientSession> {
        &self.session
    }

    /// Sends a notification. Nobody waits for it: a client that reads too slowly loses it.
    pub fn notify(&self, method: &str, params: Option<&RawValue>) {
        self.send(message(None, method, params));
    }

    /// Sends a request, and waits for the client's answer. Dropping the future forgets it.
    ///
    /// # Errors
    /// The client's own error, or one that says that it did not answer.
    pub async fn ask(&self, method: &str, params: Option<&RawValue>, patience: Duration) -> Reply {
        let asked = &self.session.asked;
        let id = asked.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, answered) = oneshot::channel();
        {
            let mut pending = asked.lock();
            if pending.len() >= MAX_ASKED {
                return Err(RpcError::new(code::INTERNAL_ERROR, "too many requests wait for the client already"));
            }
            pending.insert(id, answer);
        }
        let _forget = Forget { session: &self.session, id };
        self.send(message(Some(id), method, params));
        let gone =
            |why: &str| RpcError::new(code::INTERNAL_ERROR, format!("the client did not answer {method}: {why}"));
        tokio::select! {
            answer = timeout(patience, answered) => match answer {
                Ok(Ok(reply)) => reply,
                Ok(Err(_)) => Err(gone("its session has ended")),
                Err(_) => Err(gone("it took too long")),
            },
            () = self.session.ended.cancelled() => Err(gone("its session has ended")),
        }
    }

    fn send(&self, message: Bytes) {
        let left = match &self.stream {
            Some(stream) => match stream.try_send(message) {
                Ok(()) => return,
                // The request has ended; what came late belongs to the session.
                Err(mpsc::error::TrySendError::Closed(message)) => message,
                Err(mpsc::error::TrySendError::Full(_)) => return,
            },
            None => message,
        };
        let mut waiting = self.session.outbox.lock();
        if waiting.len() == MAX_WAITING {
            waiting.pop_front();
        }
        waiting.push_back(left);
        drop(waiting);
        self.session.outbox.arrived.notify_one();
    }
}

struct Forget<'a> {
    session: &'a ClientSession,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.session.asked.lock().remove(&self.id);
    }
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Bytes>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Reply>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn message(id: Option<u64>, method: &str, params: Option<&RawValue>) -> Bytes {
    let mut text = String::from(r#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        text.push_str(&format!(r#","id":{id}"#));
    }
    text.push_str(r#","method":"#);
    text.push_str(&json::string(method));
    if let Some(params) = params {
        text.push_str(r#","params":"#);
        text.push_str(params.get());
    }
    text.push('}');
    text.into()
}
