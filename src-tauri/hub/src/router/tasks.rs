//! The tasks that calls have started, by client, so that later requests about a task reach its
//! server.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use drawbridge_jsonrpc::{
    json::{self, Json},
    rpc::{RpcError, RpcResult, code},
};
use drawbridge_model::{
    ids::{ClientName, ServerId},
    protocol::ProgressToken,
    protocol::{self, tasks},
};
use drawbridge_sessions::{ClientHandle, ClientRequest, ClientSession};
use drawbridge_upstream::{RequestTimeouts, ServerRequest};
use serde_json::value::RawValue;

use super::{Router, passthrough::string_member};

/// The most tasks that are remembered. If the limit is reached, tasks of ended sessions are
/// deleted, and then the oldest ones.
const MAX_TASKS: usize = 10_000;
/// The number of old tasks that are deleted at a time, because finding them is slow.
const EVICTION_BATCH: usize = MAX_TASKS / 10;
/// The timeout of `tasks/result`, which a server answers only when the task ends.
const RESULT_TIMEOUT: Duration = Duration::from_secs(3_600);

/// The tasks of all clients. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Tasks(Arc<Mutex<TaskTable>>);

#[derive(Default)]
struct TaskTable {
    tasks: HashMap<TaskKey, Task>,
    /// The number of the newest task.
    last_number: u64,
}

/// A client, and the server's own id of a task.
type TaskKey = (ClientName, String);

struct Task {
    server: ServerId,
    session: Weak<ClientSession>,
    /// The position in the order in which the tasks began.
    number: u64,
}

impl TaskTable {
    fn evict_old(&mut self) {
        if self.tasks.len() < MAX_TASKS {
            return;
        }
        self.tasks.retain(|_, task| task.session.strong_count() > 0);
        if self.tasks.len() >= MAX_TASKS {
            let mut numbers: Vec<u64> = self.tasks.values().map(|task| task.number).collect();
            let (_, least, _) = numbers.select_nth_unstable(EVICTION_BATCH);
            let least = *least;
            self.tasks.retain(|_, task| task.number >= least);
        }
    }
}

impl Tasks {
    /// Remembers the task if the result of a call has started one.
    ///
    /// # Errors
    /// Returns an error if another server has given this client a task with the same id, because
    /// requests about one task must not reach the other.
    pub(super) fn record(
        &self,
        server: &ServerId,
        handle: &ClientHandle,
        result: &Json,
    ) -> Result<(), RpcError> {
        let Some(id) = tasks::created_task_id(result) else {
            return Ok(());
        };
        let mut all = self.lock();
        all.evict_old();
        let key = (handle.session().client.clone(), id);
        if let Some(other) = all.tasks.get(&key).filter(|task| task.server != *server) {
            let why = format!(
                "The server returned a task id that belongs to the server '{}'",
                other.server
            );
            return Err(RpcError::new(code::INTERNAL_ERROR, why));
        }
        all.last_number += 1;
        let task = Task {
            server: server.clone(),
            session: Arc::downgrade(handle.session()),
            number: all.last_number,
        };
        all.tasks.insert(key, task);
        Ok(())
    }

    fn server_of(&self, client: &ClientName, id: &str) -> Option<ServerId> {
        self.lock()
            .tasks
            .get(&(client.clone(), id.to_owned()))
            .map(|task| task.server.clone())
    }

    /// Returns the servers that have tasks of a client, with the ids of these tasks.
    fn client_tasks(&self, client: &ClientName) -> HashMap<ServerId, Vec<String>> {
        let mut servers: HashMap<ServerId, Vec<String>> = HashMap::new();
        for ((_, id), task) in self
            .lock()
            .tasks
            .iter()
            .filter(|((owner, _), _)| owner == client)
        {
            servers
                .entry(task.server.clone())
                .or_default()
                .push(id.clone());
        }
        servers
    }

    /// Returns the live sessions in which a task with this id began at the server.
    pub(super) fn task_sessions(&self, server: &ServerId, id: &str) -> Vec<Arc<ClientSession>> {
        let all = self.lock();
        let found = all
            .tasks
            .iter()
            .filter(|((_, task), entry)| task == id && entry.server == *server);
        found
            .filter_map(|(_, task)| task.session.upgrade())
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, TaskTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Router {
    /// Answers a client's request about one of its tasks.
    ///
    /// # Errors
    /// Returns an error if the client has no such task (`-32602`), if a modern client does not
    /// support tasks (`-32021`), if the server cannot be reached (`-32603`), and if the server
    /// answers with one.
    pub async fn forward_task_request(&self, request: ClientRequest<'_>) -> RpcResult {
        let ClientRequest { handle, method, .. } = request;
        tasks::check_allowed(&handle.session().hello)?;
        let mut request = request.params_object()?;
        // Drawbridge asks for no progress of a task.
        let _ = ProgressToken::take_from(&mut request)?;
        let id = string_member(&request, "taskId")?;
        let unknown = || RpcError::new(code::INVALID_PARAMS, format!("Unknown task: {id}"));
        let server = self
            .tasks
            .server_of(&handle.session().client, &id)
            .ok_or_else(unknown)?;
        self.request_task(&server, handle, method, &request.to_raw())
            .await
    }

    /// Lists the tasks of this client at all servers. Each task is requested by its id, because the
    /// list of a shared server would contain tasks of other clients.
    ///
    /// # Errors
    /// Returns an error (`-32602`) if the request continues at a cursor.
    pub async fn list_tasks(&self, request: ClientRequest<'_>) -> RpcResult {
        let handle = request.handle;
        tasks::check_allowed(&handle.session().hello)?;
        protocol::reject_cursor(request.method, request.params)?;
        let mut all = Vec::new();
        for (server, ids) in self.tasks.client_tasks(&handle.session().client) {
            for id in ids {
                let params = json::raw(format!(r#"{{"taskId":{}}}"#, json::quote(&id)));
                if let Ok(task) = self
                    .request_task(&server, handle, "tasks/get", &params)
                    .await
                {
                    all.push(task.get().to_owned());
                }
            }
        }
        Ok(Json::new(format!(r#"{{"tasks":[{}]}}"#, all.join(","))))
    }

    async fn request_task(
        &self,
        server: &ServerId,
        handle: &ClientHandle,
        method: &str,
        params: &RawValue,
    ) -> RpcResult {
        let server = self.registry.get_runnable(server);
        let server = server.map_err(|e| RpcError::new(code::INTERNAL_ERROR, e.to_string()))?;
        let call = RequestTimeouts::from_spec(&server.spec.timeouts, None);
        let deadlines = if method == "tasks/result" {
            RESULT_TIMEOUT.into()
        } else {
            call
        };
        let session = self.pool.session(&server, Some(&handle.session().client));
        let reply = session
            .request(ServerRequest::new(method, Some(params), deadlines).on_behalf_of(handle, None))
            .await;
        let reply = reply.map_err(|e| {
            RpcError::new(
                code::INTERNAL_ERROR,
                format!("The server '{}': {e}", server.name()),
            )
        })?;
        let result = reply.into_result()?;
        handle.session().record_issued_uris(&server.id, &result);
        Ok(result)
    }
}

#[cfg(test)]
mod tests;
