//! Requests about tasks, and the notifications of servers about tasks and resources. A task belongs
//! to the call that started it: the rules for that call, and for its results, apply.

use drawbridge_jsonrpc::{
    json::{self, Json, RawObject},
    rpc::{RpcError, RpcResponse, RpcResult, code},
};
use drawbridge_model::{
    call::Outcome,
    policy::RequestKind,
    protocol::{self, ProgressToken, guarded::GuardedMethod, tasks},
};
use drawbridge_sessions::{ClientHandle, ClientRequest};
use drawbridge_upstream::ServerNotification;
use serde_json::value::RawValue;

use super::{
    Pipeline, error_result,
    guarded::{abort, fail, fail_to_send},
};
use crate::{
    content,
    policy::{GuardedRequest, Permitted, PermittedRequest, Refusal},
    router::string_member,
};

impl Pipeline {
    /// Answers a client's request about one of its tasks.
    ///
    /// # Errors
    /// Returns an error if the params are invalid or the client has no such task (`-32602`), if a
    /// modern client does not support tasks (`-32021`), if the request is denied, its result is
    /// withheld or the server cannot be reached (`-32603`), and if the server answers with an
    /// error. If the result of `tasks/result` is withheld, returns a result with `isError` instead.
    pub async fn forward_task_request(
        &self,
        method: GuardedMethod,
        request: ClientRequest<'_>,
    ) -> RpcResult {
        let handle = request.handle;
        tasks::check_allowed(&handle.session().hello)?;
        let mut params = request.params_object()?;
        // The server is not asked for progress notifications about a task.
        let _ = ProgressToken::take_from(&mut params)?;
        let id = string_member(&params, "taskId")?;
        let started_by = self.router.find_task(&handle.session().client, &id);
        let started_by = started_by
            .ok_or_else(|| RpcError::new(code::INVALID_PARAMS, format!("Unknown task: {id}")))?;
        self.request_task(method, &id, &started_by, &params.to_raw(), handle)
            .await
    }

    /// Lists the tasks of this client at all servers. Each task is requested by its id, because the
    /// list of a shared server would contain tasks of other clients. Tasks whose request fails are
    /// left out.
    ///
    /// # Errors
    /// Returns an error if the request has a cursor (`-32602`), or if a modern client does not
    /// support tasks (`-32021`).
    pub async fn list_tasks(&self, request: ClientRequest<'_>) -> RpcResult {
        let handle = request.handle;
        let client = &handle.session().client;
        tasks::check_allowed(&handle.session().hello)?;
        protocol::reject_cursor(request.method, request.params)?;
        let mut all = Vec::new();
        for id in self.router.client_task_ids(client) {
            let Some(started_by) = self.router.find_task(client, &id) else {
                continue;
            };
            let params = json::raw(format!(r#"{{"taskId":{}}}"#, json::quote(&id)));
            let method = GuardedMethod::GetTask;
            if let Ok(task) = self
                .request_task(method, &id, &started_by, &params, handle)
                .await
            {
                all.push(task.get().to_owned());
            }
        }
        Ok(Json::new(format!(r#"{{"tasks":[{}]}}"#, all.join(","))))
    }

    async fn request_task(
        &self,
        method: GuardedMethod,
        id: &str,
        started_by: &PermittedRequest,
        params: &RawValue,
        handle: &ClientHandle,
    ) -> RpcResult {
        let call = &started_by.request;
        let request = GuardedRequest {
            method,
            kind: RequestKind::Tools,
            client: handle.session().client.clone(),
            session: handle.session().id.clone(),
            project: handle.session().scope.project.clone(),
            server: call.server.clone(),
            entry: call.entry.clone(),
            name: call.name.clone(),
            exposed_name: call.exposed_name.clone(),
            arguments: params.to_owned(),
            extra: None,
            params: params.to_owned(),
            progress_token: None,
            hooked: None,
            stand_in: None,
            trace: None,
        };
        let admitted = self.gate.admit_for_task(request, started_by).await;
        let mut permitted = admitted.map_err(|refusal| refusal.to_rpc_error())?;
        let sent = self.send_unless_paused(&permitted, async |permitted| {
            self.router.send_task_request(permitted, handle).await
        });
        let result = match sent.await {
            Some(Ok(RpcResponse::Result(result))) => result,
            Some(Ok(RpcResponse::Error(error))) => {
                let PermittedRequest { request, call, .. } = started_by;
                let flags = content::scan_error(&request.server, &error).await;
                permitted.set_flags(flags.clone());
                let released = self
                    .gate
                    .release_error(request, call, error, &flags, Some(handle));
                return Err(fail(permitted, released.await));
            }
            Some(Err(error)) => return Err(fail_to_send(permitted, &error)),
            None => return Err(abort(permitted)),
        };
        let reviewed = self
            .ask_task_hooks(method, started_by, &mut permitted, result)
            .await;
        let released = match reviewed {
            Ok(result) => {
                let PermittedRequest { request, call, .. } = started_by;
                let flags = content::scan_result(&request.server, &result).await;
                permitted.set_flags(flags.clone());
                self.release(request, call, result, &flags, handle).await
            }
            Err(refusal) => Err(refusal),
        };
        match released {
            Ok(result) => {
                permitted.keep_result(&result);
                permitted.record_outcome(Outcome::Ok, String::new());
                Ok(result)
            }
            Err(refusal) => {
                permitted.record_outcome(Outcome::Withheld, refusal.to_string());
                self.router.cancel_task(started_by, id, handle).await;
                if method == GuardedMethod::GetTaskResult {
                    Ok(error_result(&refusal.to_string()))
                } else {
                    Err(refusal.to_rpc_error())
                }
            }
        }
    }

    /// Lets the hooks on `tool_executed` replace the result of a call that became a task, when the
    /// client fetches the result. In the legacy era the result is the whole answer, and in the
    /// modern era a member of the answer.
    ///
    /// # Errors
    /// Returns an error if a hook fails and the person chose that results are withheld in this
    /// case.
    async fn ask_task_hooks(
        &self,
        method: GuardedMethod,
        started_by: &PermittedRequest,
        permitted: &mut Permitted,
        answer: Json,
    ) -> Result<Json, Refusal> {
        if method == GuardedMethod::GetTaskResult {
            let watched = self.hooks.watch_task(started_by);
            let response = RpcResponse::Result(answer.clone());
            let response = self.ask_result_hooks(permitted, watched, response).await?;
            return Ok(match response {
                RpcResponse::Result(result) => result,
                // Hooks replace a result only with a result.
                RpcResponse::Error(_) => answer,
            });
        }
        let text = answer.clone();
        let Ok(mut object) = RawObject::parse(&text) else {
            return Ok(answer);
        };
        let result = object.get("result").filter(|result| result.get() != "null");
        let Some((result, watched)) = result
            .map(RawValue::to_owned)
            .zip(self.hooks.watch_task(started_by))
        else {
            return Ok(answer);
        };
        let response = RpcResponse::Result(Json::from(result));
        let response = self
            .ask_result_hooks(permitted, Some(watched), response)
            .await?;
        if let RpcResponse::Result(result) = response {
            object.set("result", result.to_raw());
        }
        Ok(Json::from(object.to_raw()))
    }

    /// Forwards a server's notification about a resource or a task to the clients that it concerns,
    /// except to clients for which the policy denies the notification. A notification with a result
    /// is also kept back if a hook or a person has to see the result first, or if the result may be
    /// flagged.
    pub fn forward_notification(&self, notification: &ServerNotification) {
        let ServerNotification {
            server,
            method,
            params,
        } = notification;
        let Ok(object) = RawObject::parse(params) else {
            return;
        };
        if method == "notifications/resources/updated" {
            let Some(uri) = object.get_string("uri") else {
                return;
            };
            self.router.drop_cached_results(server);
            let Some(server) = self.router.runnable_server(server) else {
                return;
            };
            for session in self.router.subscribers(&server.id, &uri) {
                let kind = RequestKind::Resources;
                if !self.gate.denies_all(kind, &session.client, &server) {
                    ClientHandle::for_session(session).notify(method, Some(params));
                }
            }
            return;
        }
        let Some(task) = object.get_string("taskId") else {
            return;
        };
        for (session, started_by) in self.router.task_sessions(server, &task) {
            // If a hook has to see the result first, the client gets it only as an answer.
            if tasks::may_contain_result(params) && self.hooks.reviews_result(&started_by.request) {
                continue;
            }
            if let Some(params) = self.gate.release_notification(&started_by.request, params) {
                ClientHandle::for_session(session).notify(method, Some(&params));
            }
        }
    }
}
