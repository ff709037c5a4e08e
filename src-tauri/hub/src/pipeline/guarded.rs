//! The path of clients' guarded requests other than calls and requests about tasks: find, count,
//! decide and record, send, answer.

use drawbridge_jsonrpc::{
    json::{self, RawObject},
    rpc::{RpcError, RpcResponse, RpcResult, code},
};
use drawbridge_model::{
    call::Outcome,
    policy::RequestKind,
    protocol::{ProgressToken, guarded::GuardedMethod},
    trace::TraceContext,
};
use drawbridge_sessions::{ClientHandle, ClientRequest};
use drawbridge_store::logs::within_call;

use super::{PAUSED_REASON, Pipeline, error_outcome, scan_response};
use crate::{
    policy::{GuardedRequest, Permitted, Refusal},
    router::{ForwardError, Target, server_error, string_member},
};

/// The error for a request that was in flight when the user paused all calls.
const ABORTED: &str = "All calls are paused. This request was aborted.";

impl Pipeline {
    /// Answers `prompts/get`.
    ///
    /// # Errors
    /// Returns an error if the params are invalid or no server has the prompt (`-32602`), if the
    /// request is denied, its result is withheld or the server cannot be reached (`-32603`), and if
    /// the server answers with an error.
    pub async fn get_prompt(&self, request: ClientRequest<'_>) -> RpcResult {
        let (handle, trace) = (request.handle, request.trace);
        let mut params = request.params_object()?;
        let exposed_name = string_member(&params, "name")?;
        let prompt = self.router.find_prompt(handle, &exposed_name).await?;
        let name = prompt.definition.name.clone();
        params.set("name", json::raw(json::quote(&name)));
        let method = GuardedMethod::GetPrompt;
        let named = NamedTarget {
            target: prompt.into(),
            kind: method.kind(),
            name,
            exposed_name,
        };
        let request = build_request(method, named, params, (handle, trace))?;
        self.run_request(request, handle, async |permitted| {
            self.router.send(permitted, handle).await
        })
        .await
    }

    /// Answers `resources/read`, possibly with the cached result.
    ///
    /// # Errors
    /// Returns an error if the params are invalid (`-32602`), if no server has the resource
    /// (`-32002`), if the request is denied, its result is withheld or the server cannot be reached
    /// (`-32603`), and if the server answers with an error.
    pub async fn read_resource(&self, request: ClientRequest<'_>) -> RpcResult {
        let (handle, trace) = (request.handle, request.trace);
        let params = request.params_object()?;
        let uri = string_member(&params, "uri")?;
        let target = self.router.find_resource(handle, &uri).await?;
        let request = build_request(
            GuardedMethod::ReadResource,
            NamedTarget::resource(target, uri),
            params,
            (handle, trace),
        )?;
        self.run_request(request, handle, async |permitted| {
            match self.router.cached_resource(permitted) {
                Some(cached) => Ok(RpcResponse::Result(cached)),
                None => self.router.read_resource(permitted, handle).await,
            }
        })
        .await
    }

    /// Answers `resources/subscribe`: subscribes the client until its session ends.
    ///
    /// # Errors
    /// Returns an error if the params are invalid (`-32602`), and as [`Self::subscribe`] does.
    pub async fn subscribe_to_resource(&self, request: ClientRequest<'_>) -> RpcResult {
        let uri = string_member(&request.params_object()?, "uri")?;
        self.subscribe(request.handle, uri, request.trace).await
    }

    /// Subscribes a client to a resource until its session ends.
    ///
    /// # Errors
    /// Returns an error if no server has the resource (`-32002`), if the request is denied, its
    /// result is withheld, the server is transient or cannot be reached, or the session has too
    /// many subscriptions (`-32603`), and if the server answers with an error.
    pub async fn subscribe(
        &self,
        handle: &ClientHandle,
        uri: String,
        trace: Option<TraceContext>,
    ) -> RpcResult {
        let target = self.router.find_resource(handle, &uri).await?;
        let mut params = RawObject::default();
        params.set("uri", json::raw(json::quote(&uri)));
        let request = build_request(
            GuardedMethod::SubscribeToResource,
            NamedTarget::resource(target, uri),
            params,
            (handle, trace),
        )?;
        self.run_request(request, handle, async |permitted| {
            self.router.subscribe(permitted, handle).await
        })
        .await
    }

    /// Answers `completion/complete`.
    ///
    /// # Errors
    /// Returns an error if the params are invalid or no server has the prompt or the resource
    /// (`-32602`), if the request is denied, its result is withheld or the server cannot be reached
    /// (`-32603`), and if the server answers with an error.
    pub async fn complete(&self, request: ClientRequest<'_>) -> RpcResult {
        let (handle, mut params) = (request.handle, request.params_object()?);
        let trace = request.trace;
        let invalid = |reason: &str| {
            RpcError::new(
                code::INVALID_PARAMS,
                format!("completion/complete: {reason}"),
            )
        };
        let reference = params
            .get("ref")
            .ok_or_else(|| invalid("params.ref is missing"))?
            .to_owned();
        let mut reference = RawObject::parse(&reference).map_err(|e| invalid(&e.to_string()))?;
        let named = match reference.get_string("type").as_deref() {
            Some("ref/prompt") => {
                let exposed_name = string_member(&reference, "name")?;
                let prompt = self.router.find_prompt(handle, &exposed_name).await?;
                let name = prompt.definition.name.clone();
                reference.set("name", json::raw(json::quote(&name)));
                NamedTarget {
                    target: prompt.into(),
                    kind: RequestKind::Prompts,
                    name,
                    exposed_name,
                }
            }
            Some("ref/resource") => {
                let uri = string_member(&reference, "uri")?;
                let target = self.router.find_completion_target(handle, &uri).await?;
                NamedTarget::resource(target, uri)
            }
            _ => {
                return Err(invalid(
                    "params.ref.type must be ref/prompt or ref/resource",
                ));
            }
        };
        let reference = reference.to_raw();
        params.set("ref", reference);
        let request = build_request(GuardedMethod::Complete, named, params, (handle, trace))?;
        self.run_request(request, handle, async |permitted| {
            self.router.send(permitted, handle).await
        })
        .await
    }

    /// Counts a request, decides and records it, sends it with the function `send`, and returns the
    /// released result.
    async fn run_request(
        &self,
        request: GuardedRequest,
        handle: &ClientHandle,
        send: impl AsyncFnOnce(&Permitted) -> Result<RpcResponse, ForwardError>,
    ) -> RpcResult {
        if let Err(limit) = self.access.count_call(&request.client) {
            let refusal = self.record_beyond_limit(&request, limit).await;
            return Err(refusal.to_rpc_error());
        }
        let admitted = self.gate.admit(request, Some(handle)).await;
        let mut permitted = admitted.map_err(|refusal| refusal.to_rpc_error())?;
        let Some(sent) = self.send_unless_paused(&permitted, send).await else {
            return Err(abort(permitted));
        };
        let flags = match &sent {
            Ok(response) => scan_response(&permitted.request().server, response).await,
            Err(_) => Vec::new(),
        };
        permitted.set_flags(flags.clone());
        let (request, call) = (permitted.request(), permitted.record());
        match sent {
            Ok(RpcResponse::Result(result)) => {
                match self.release(request, call, result, &flags, handle).await {
                    Ok(result) => {
                        permitted.keep_result(&result);
                        permitted.record_outcome(Outcome::Ok, String::new());
                        Ok(result)
                    }
                    Err(refusal) => Err(withhold(permitted, &refusal)),
                }
            }
            Ok(RpcResponse::Error(error)) => {
                let released = self
                    .gate
                    .release_error(request, call, error, &flags, Some(handle));
                let released = released.await;
                Err(fail(permitted, released))
            }
            Err(error) => Err(fail_to_send(permitted, &error)),
        }
    }

    /// Sends a permitted request. Returns `None` if all calls are paused meanwhile, which aborts
    /// the request.
    pub(super) async fn send_unless_paused(
        &self,
        permitted: &Permitted,
        send: impl AsyncFnOnce(&Permitted) -> Result<RpcResponse, ForwardError>,
    ) -> Option<Result<RpcResponse, ForwardError>> {
        tokio::select! {
            biased;
            () = self.gate.wait_until_paused() => None,
            sent = within_call(permitted.record().id.clone(), send(permitted)) => Some(sent),
        }
    }
}

/// The prompt, resource or template that a request names.
struct NamedTarget {
    target: Target,
    kind: RequestKind,
    /// The server's own name of the prompt, or the URI.
    name: String,
    /// The name or URI as the client knows it.
    exposed_name: String,
}

impl NamedTarget {
    fn resource(target: Target, uri: String) -> Self {
        Self {
            target,
            kind: RequestKind::Resources,
            name: uri.clone(),
            exposed_name: uri,
        }
    }
}

fn build_request(
    method: GuardedMethod,
    named: NamedTarget,
    mut params: RawObject<'_>,
    (handle, trace): (&ClientHandle, Option<TraceContext>),
) -> Result<GuardedRequest, RpcError> {
    let progress_token = ProgressToken::take_from(&mut params)?;
    let params = params.to_raw();
    let session = handle.session();
    Ok(GuardedRequest {
        method,
        kind: named.kind,
        client: session.client.clone(),
        session: session.id.clone(),
        project: session.scope.project.clone(),
        server: named.target.server,
        entry: named.target.entry,
        name: named.name,
        exposed_name: named.exposed_name,
        arguments: params.clone(),
        extra: None,
        params,
        progress_token,
        hooked: None,
        stand_in: None,
        trace,
    })
}

/// Records that a request was aborted because all calls were paused, and returns the error for its
/// sender, a client or a server.
pub(super) fn abort(permitted: Permitted) -> RpcError {
    permitted.record_outcome(Outcome::Cancelled, PAUSED_REASON.into());
    RpcError::new(code::INTERNAL_ERROR, ABORTED)
}

/// Records that the result of a request is withheld, and returns the error for the client.
fn withhold(permitted: Permitted, refusal: &Refusal) -> RpcError {
    permitted.record_outcome(Outcome::Withheld, refusal.to_string());
    refusal.to_rpc_error()
}

/// Records the server's error, or that it is withheld, and returns the error for the client.
pub(super) fn fail(permitted: Permitted, released: Result<RpcError, Refusal>) -> RpcError {
    match released {
        Ok(error) => {
            permitted.record_outcome(Outcome::ServerError, error.message.clone());
            error
        }
        Err(refusal) => withhold(permitted, &refusal),
    }
}

/// Records that a request has no answer, and returns the error for the client.
pub(super) fn fail_to_send(permitted: Permitted, error: &ForwardError) -> RpcError {
    let answer = server_error(&permitted.request().server, error);
    permitted.record_outcome(error_outcome(error), error.to_string());
    answer
}
