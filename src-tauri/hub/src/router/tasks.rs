//! The tasks that calls have started, by client, so that later requests about a task reach its
//! server.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use drawbridge_jsonrpc::{
    json,
    rpc::{RpcError, RpcResponse, code},
};
use drawbridge_model::{
    ids::{ClientName, ServerId},
    protocol::guarded::GuardedMethod,
};
use drawbridge_sessions::{ClientHandle, ClientSession};
use drawbridge_upstream::{RequestTimeouts, ServerRequest, ServerSession};

use super::{ForwardError, Router};
use crate::policy::{Permitted, PermittedRequest};

/// The most tasks that are remembered. If this limit or [`MAX_SIZE`] is reached, the tasks of ended
/// sessions are removed. If the limit is still reached, the oldest tenth is removed, repeatedly if
/// necessary.
const MAX_TASKS: usize = 10_000;
/// The maximum size of all calls by which these tasks were started, in bytes, without the newest
/// call; see [`Task::size`].
const MAX_SIZE: usize = 64 * 1024 * 1024;
/// The timeout of `tasks/result`, which a server answers only when the task ends.
const RESULT_TIMEOUT: Duration = Duration::from_secs(3_600);

/// The tasks of all clients. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Tasks(Arc<Mutex<TaskTable>>);

#[derive(Default)]
struct TaskTable {
    tasks: HashMap<TaskKey, Task>,
    /// The sum of [`Task::size`] of all tasks.
    size: usize,
    /// The number of the newest task.
    last_number: u64,
}

/// A client, and the server's own id of a task.
type TaskKey = (ClientName, String);

struct Task {
    /// The call that started the task. The rules for its result apply to the task's result.
    started_by: PermittedRequest,
    session: Weak<ClientSession>,
    /// The position in the order in which the tasks began.
    number: u64,
}

impl Task {
    fn server(&self) -> &ServerId {
        &self.started_by.request.server.id
    }

    /// Returns how many bytes of params, arguments and other members the task keeps in memory.
    fn size(&self) -> usize {
        let request = &self.started_by.request;
        let extra = request.extra.as_ref().map_or(0, |extra| extra.get().len());
        request.params.get().len() + request.arguments.get().len() + extra
    }
}

impl TaskTable {
    fn insert(&mut self, key: TaskKey, task: Task) {
        self.size += task.size();
        if let Some(replaced) = self.tasks.insert(key, task) {
            self.size -= replaced.size();
        }
    }

    /// Makes room for one more task.
    fn evict_old(&mut self) {
        if self.has_room() {
            return;
        }
        self.retain(|task| task.session.strong_count() > 0);
        // Remove several tasks at a time, because finding the oldest tasks is slow.
        while !self.has_room() {
            let mut numbers: Vec<u64> = self.tasks.values().map(|task| task.number).collect();
            let last = numbers.len() / 10;
            let (_, last_evicted, _) = numbers.select_nth_unstable(last);
            let last_evicted = *last_evicted;
            self.retain(|task| task.number > last_evicted);
        }
    }

    fn has_room(&self) -> bool {
        self.tasks.len() < MAX_TASKS && self.size < MAX_SIZE
    }

    fn retain(&mut self, is_kept: impl Fn(&Task) -> bool) {
        self.tasks.retain(|_, task| is_kept(task));
        self.size = self.tasks.values().map(Task::size).sum();
    }
}

impl Tasks {
    /// Remembers a task with this id that a call has started.
    ///
    /// # Errors
    /// Returns an error if another server has given this client a task with the same id, because
    /// requests about one task must not reach the server of the other task.
    pub(super) fn record(
        &self,
        started_by: PermittedRequest,
        id: String,
        handle: &ClientHandle,
    ) -> Result<(), RpcError> {
        let server = &started_by.request.server.id;
        let mut all = self.lock();
        all.evict_old();
        let key = (handle.session().client.clone(), id);
        if let Some(other) = all.tasks.get(&key).filter(|task| task.server() != server) {
            let reason = format!(
                "The server returned a task id that belongs to the server '{}'",
                other.server()
            );
            return Err(RpcError::new(code::INTERNAL_ERROR, reason));
        }
        all.last_number += 1;
        let task = Task {
            started_by,
            session: Arc::downgrade(handle.session()),
            number: all.last_number,
        };
        all.insert(key, task);
        Ok(())
    }

    fn started_by(&self, client: &ClientName, id: &str) -> Option<PermittedRequest> {
        let key = (client.clone(), id.to_owned());
        self.lock()
            .tasks
            .get(&key)
            .map(|task| task.started_by.clone())
    }

    fn client_task_ids(&self, client: &ClientName) -> Vec<String> {
        let all = self.lock();
        let keys = all.tasks.keys().filter(|(owner, _)| owner == client);
        keys.map(|(_, id)| id.clone()).collect()
    }

    /// Returns the live sessions in which a task with this id began at the server, each with the
    /// call that started the task.
    pub(super) fn task_sessions(
        &self,
        server: &ServerId,
        id: &str,
    ) -> Vec<(Arc<ClientSession>, PermittedRequest)> {
        let all = self.lock();
        let found = all
            .tasks
            .iter()
            .filter(|((_, task), entry)| task == id && entry.server() == server);
        found
            .filter_map(|(_, task)| Some((task.session.upgrade()?, task.started_by.clone())))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, TaskTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Router {
    /// Returns the call that started a task of the client, or `None` if the client has no such
    /// task.
    pub fn find_task(&self, client: &ClientName, id: &str) -> Option<PermittedRequest> {
        self.tasks.started_by(client, id)
    }

    /// Returns the ids of a client's tasks.
    pub fn client_task_ids(&self, client: &ClientName) -> Vec<String> {
        self.tasks.client_task_ids(client)
    }

    /// Sends a permitted request about a task to the task's server. The answer to `tasks/result`
    /// comes only when the task ends.
    ///
    /// # Errors
    /// Returns an error as [`Router::send`] does.
    pub async fn send_task_request(
        &self,
        permitted: &Permitted,
        handle: &ClientHandle,
    ) -> Result<RpcResponse, ForwardError> {
        let is_result = permitted.request().method == GuardedMethod::GetTaskResult;
        let timeout = is_result.then_some(RESULT_TIMEOUT);
        let send = async |session: &Arc<ServerSession>, outgoing: ServerRequest<'_>| {
            session.request(outgoing).await
        };
        self.send_with(permitted, handle, timeout, send).await
    }

    /// Cancels a task at its server, because its result is withheld. The server's answer does not
    /// matter.
    pub async fn cancel_task(
        &self,
        started_by: &PermittedRequest,
        task: &str,
        handle: &ClientHandle,
    ) {
        let Ok((server, session)) = self.lease_session(&started_by.request) else {
            return;
        };
        let params = json::raw(format!(r#"{{"taskId":{}}}"#, json::quote(task)));
        let timeouts = RequestTimeouts::from_spec(&server.spec.timeouts, None);
        let request = ServerRequest::new(GuardedMethod::CancelTask.name(), Some(&params), timeouts)
            .on_behalf_of(handle, None);
        let _ = session.request(request).await;
    }
}

#[cfg(test)]
mod tests;
