//! The path of requests that servers send to clients: decide and record, send, answer. Drawbridge
//! stands in for a client that cannot answer: the sampling provider answers sampling requests, a
//! person answers requests for input, and the roots come from the project folder or the settings.

use std::{sync::Arc, time::Duration};

use drawbridge_jsonrpc::{
    json::{self, Json},
    rpc::{RpcError, RpcResult, code},
};
use drawbridge_model::{
    approval::FormContent,
    call::{Decision, Outcome},
    event::Events,
    ids::{ClientName, SessionId},
    protocol::{
        OwnCapabilities,
        guarded::GuardedMethod,
        input::{InputRequest, InputRequired},
    },
    spec::RegisteredServer,
};
use drawbridge_sessions::{ClientHandle, ClientSession};
use drawbridge_store::settings::Settings;
use drawbridge_upstream::{ClientRequestGate, Respondent, ServerQuestion};
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::{OWN_NAME, guarded::abort};
use crate::{
    elicitation::Elicitation,
    policy::{Gate, GuardedRequest, Permitted, Refusal, StandIn},
    roots::Roots,
    sampling::{Provider, Sampling},
};

/// The interval of progress notifications to a client while the sampling provider works.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// The count of the first of these notifications, which is higher than the counts of the
/// notifications during the approval, because progress must increase.
const FIRST_PROGRESS: u32 = 1_000;

/// Carries requests from servers to clients, and answers the requests that the client cannot
/// answer. Cheap to clone.
#[derive(Clone)]
pub struct ClientRequests {
    gate: Gate,
    events: Events,
    settings: Settings,
    sampling: Sampling,
    roots: Roots,
}

impl ClientRequestGate for ClientRequests {
    fn find_respondent(
        &self,
        request: &InputRequest,
        session: &ClientSession,
    ) -> Option<Respondent> {
        let params = request.params.as_deref();
        let capabilities = &session.hello.capabilities;
        let is_client_able = capabilities.can_answer(&request.method, params);
        let drawbridge_answers = match client_method(&request.method)? {
            // If the client can sample, but not with tools, the provider answers a request that
            // has tools.
            GuardedMethod::CreateMessage if is_client_able => {
                has_tools(params)
                    && capabilities.lacks_sampling_tools()
                    && self.sampling.uses_tools()
            }
            _ if is_client_able => false,
            GuardedMethod::CreateMessage => self.sampling.is_on(),
            GuardedMethod::Elicit => self.can_ask_person(),
            GuardedMethod::ListRoots => self.roots.has_any(session.scope.project.as_deref()),
            GuardedMethod::CallTool
            | GuardedMethod::GetPrompt
            | GuardedMethod::ReadResource
            | GuardedMethod::SubscribeToResource
            | GuardedMethod::Complete
            | GuardedMethod::GetTask
            | GuardedMethod::UpdateTask
            | GuardedMethod::CancelTask
            | GuardedMethod::GetTaskResult
            | GuardedMethod::ListTasks => false,
        };
        match (drawbridge_answers, is_client_able) {
            (true, _) => Some(Respondent::Drawbridge),
            (false, true) => Some(Respondent::Client),
            (false, false) => None,
        }
    }

    fn own_capabilities(&self, session: &ClientSession) -> OwnCapabilities {
        OwnCapabilities {
            sampling: self.sampling.is_on(),
            sampling_tools: self.sampling.uses_tools(),
            elicitation: self.can_ask_person(),
            roots: self.roots.has_any(session.scope.project.as_deref()),
        }
    }

    fn answer_request<'a>(&'a self, question: ServerQuestion<'a>) -> BoxFuture<'a, RpcResult> {
        Box::pin(self.answer_question(question))
    }

    fn answer_request_without_client<'a>(
        &'a self,
        server: &'a Arc<RegisteredServer>,
        request: &'a InputRequest,
    ) -> BoxFuture<'a, Option<RpcResult>> {
        Box::pin(async move {
            let is_for_roots = client_method(&request.method) == Some(GuardedMethod::ListRoots);
            // A server may ask as soon as it is connected, before any client's request reaches it.
            let roots = is_for_roots
                .then(|| self.roots.list_result(None))
                .flatten()?;
            let request = GuardedRequest {
                client: ClientName::new(OWN_NAME),
                session: SessionId::new(""),
                project: None,
                ..build_request(GuardedMethod::ListRoots, server, request)
            };
            Some(self.give_roots(request, None, roots).await)
        })
    }
}

impl ClientRequests {
    pub fn new(
        gate: Gate,
        events: Events,
        settings: Settings,
        sampling: Sampling,
        roots: Roots,
    ) -> Self {
        Self {
            gate,
            events,
            settings,
            sampling,
            roots,
        }
    }

    /// Returns whether forms are switched on, and a front end is open in which a person can fill in
    /// a form. If not, the server gets an error at once.
    fn can_ask_person(&self) -> bool {
        self.settings.get().elicitation_forms && self.events.has_subscribers()
    }

    async fn answer_question(&self, question: ServerQuestion<'_>) -> RpcResult {
        let ServerQuestion {
            request, handle, ..
        } = question;
        let method = method_of(request).map_err(|refusal| refusal.to_rpc_error())?;
        let unanswerable = || {
            let message = format!("No client can answer '{}'", request.method);
            RpcError::new(code::METHOD_NOT_FOUND, message)
        };
        let session = handle.session();
        let respondent = self.find_respondent(request, session);
        match respondent.ok_or_else(unanswerable)? {
            Respondent::Client => self.ask_client(question).await,
            Respondent::Drawbridge if method == GuardedMethod::CreateMessage => {
                self.create_message(question).await
            }
            Respondent::Drawbridge if method == GuardedMethod::Elicit => {
                self.elicit(question).await
            }
            Respondent::Drawbridge => {
                let roots = self.roots.list_result(session.scope.project.as_deref());
                let guarded = guarded_request(method, question);
                let roots = roots.ok_or_else(unanswerable)?;
                self.give_roots(guarded, Some(handle), roots).await
            }
        }
    }

    async fn ask_client(&self, question: ServerQuestion<'_>) -> RpcResult {
        let ServerQuestion {
            server,
            request,
            handle,
            timeout,
            ..
        } = question;
        let admitted = self.admit(server, request, handle).await;
        let permitted = admitted.map_err(|refusal| refusal.to_rpc_error())?;
        let answer = tokio::select! {
            biased;
            () = self.gate.wait_until_paused() => return Err(abort(permitted)),
            answer = handle.send_request(request, timeout) => answer,
        };
        match answer {
            Ok(answer) => self.release(permitted, answer).await,
            Err(error) => {
                permitted.record_outcome(Outcome::ClientError, error.message.clone());
                Err(error)
            }
        }
    }

    /// Lets the sampling provider answer, after a rule or a person has allowed the request.
    async fn create_message(&self, question: ServerQuestion<'_>) -> RpcResult {
        let mut guarded = guarded_request(GuardedMethod::CreateMessage, question);
        let provider = self.sampling.provider(&guarded.params);
        let provider = provider.ok_or_else(|| {
            let message = "The client cannot answer, and the sampling provider was switched off";
            RpcError::new(code::METHOD_NOT_FOUND, message)
        })?;
        guarded.stand_in = Some(StandIn::Provider(provider.name()));
        // Nobody is asked about a request that cannot be sent.
        if let Err(error) = self
            .sampling
            .check_request(&provider, &guarded.params)
            .await
        {
            return self.refuse(&guarded, error.to_rpc_error()).await;
        }
        let admitted = self.gate.admit(guarded, Some(question.handle)).await;
        let permitted = admitted.map_err(|refusal| refusal.to_rpc_error())?;
        let params = &permitted.request().params;
        let answer = tokio::select! {
            biased;
            () = self.gate.wait_until_paused() => None,
            answer = self.sampling.create_message(&provider, params) => Some(answer),
            () = send_keepalives(question, &provider) => None,
        };
        match answer {
            Some(Ok(answer)) => self.release(permitted, answer).await,
            Some(Err(error)) => {
                permitted.record_outcome(Outcome::ClientError, error.to_string());
                Err(error.to_rpc_error())
            }
            None => Err(abort(permitted)),
        }
    }

    /// Lets a person answer on screen. The person's values are not kept: they are dropped with the
    /// answer.
    async fn elicit(&self, question: ServerQuestion<'_>) -> RpcResult {
        let mut guarded = guarded_request(GuardedMethod::Elicit, question);
        if let Err(error) = Elicitation::read(&guarded.params) {
            let message = format!("elicitation/create: {error}");
            let error = RpcError::new(code::INVALID_PARAMS, message);
            return self.refuse(&guarded, error).await;
        }
        guarded.stand_in = Some(StandIn::Person(None));
        match self.gate.admit(guarded, Some(question.handle)).await {
            Ok(permitted) => {
                let answer = match &permitted.request().stand_in {
                    Some(StandIn::Person(Some(content))) => to_accept_answer(content),
                    _ => Json::new(r#"{"action":"accept"}"#),
                };
                permitted.record_outcome(Outcome::Ok, String::new());
                Ok(answer)
            }
            Err(Refusal::DeniedByUser { .. }) => Ok(Json::new(r#"{"action":"decline"}"#)),
            Err(
                Refusal::Dismissed
                | Refusal::TimedOut { .. }
                | Refusal::NoScreen { .. }
                | Refusal::QueueFull { .. }
                | Refusal::Muted { .. },
            ) => Ok(Json::new(r#"{"action":"cancel"}"#)),
            Err(
                refusal @ (Refusal::Paused
                | Refusal::DeniedByPolicy { .. }
                | Refusal::DeniedByHub { .. }
                | Refusal::NotRecorded(_)
                | Refusal::Withheld { .. }),
            ) => Err(refusal.to_rpc_error()),
        }
    }

    async fn give_roots(
        &self,
        mut guarded: GuardedRequest,
        handle: Option<&ClientHandle>,
        roots: Json,
    ) -> RpcResult {
        guarded.stand_in = Some(StandIn::Settings);
        let admitted = self.gate.admit(guarded, handle).await;
        let permitted = admitted.map_err(|refusal| refusal.to_rpc_error())?;
        permitted.record_outcome(Outcome::Ok, String::new());
        Ok(roots)
    }

    /// Records a request that is refused without asking a person, and returns the error for the
    /// server.
    async fn refuse(&self, guarded: &GuardedRequest, error: RpcError) -> RpcResult {
        let reason = error.message.clone();
        self.gate
            .record_answered(guarded, Decision::Denied, reason)
            .await
            .map_err(|refusal| refusal.to_rpc_error())?;
        Err(error)
    }

    /// Returns an answer for the server, as the rules for results demand.
    async fn release(&self, permitted: Permitted, answer: Json) -> RpcResult {
        let released = self
            .gate
            .release_result(permitted.request(), permitted.record(), answer, &[], None)
            .await;
        match released {
            Ok(answer) => {
                permitted.record_outcome(Outcome::Ok, String::new());
                Ok(answer)
            }
            Err(refusal) => {
                permitted.record_outcome(Outcome::Withheld, refusal.to_string());
                Err(refusal.to_rpc_error())
            }
        }
    }

    /// Decides and records the requests to the client that are part of a result: a modern server
    /// answers `input_required`, and a modern client gets this answer.
    ///
    /// # Errors
    /// Returns an error if one of the requests is denied, or if its decision cannot be recorded.
    /// The client must not get the result then.
    pub async fn admit_in_result(
        &self,
        server: &Arc<RegisteredServer>,
        result: &Json,
        handle: &ClientHandle,
    ) -> Result<(), Refusal> {
        let Some(required) = InputRequired::read(result) else {
            return Ok(());
        };
        for (_, request) in &required.requests {
            let permitted = self.admit(server, request, handle).await?;
            permitted.record_outcome(Outcome::Ok, String::new());
        }
        Ok(())
    }

    async fn admit(
        &self,
        server: &Arc<RegisteredServer>,
        request: &InputRequest,
        handle: &ClientHandle,
    ) -> Result<Permitted, Refusal> {
        let method = method_of(request)?;
        let request = with_client(build_request(method, server, request), handle);
        self.gate.admit(request, Some(handle)).await
    }
}

/// Notifies the client that its request goes on while the sampling provider works. Never returns.
async fn send_keepalives(question: ServerQuestion<'_>, provider: &Provider) {
    let mut keepalive = interval_at(Instant::now() + KEEPALIVE, KEEPALIVE);
    keepalive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let message = format!("Waiting for {}", provider.name());
    for count in FIRST_PROGRESS.. {
        keepalive.tick().await;
        let token = question.handle.progress_token();
        if let Some(token) = token.as_ref().or(question.progress_token) {
            let params = token.early_progress(count, &message);
            question
                .handle
                .notify("notifications/progress", Some(&params));
        }
    }
}

/// Returns the answer with a person's values.
fn to_accept_answer(content: &FormContent) -> Json {
    Json::new(format!(
        r#"{{"action":"accept","content":{}}}"#,
        content.expose()
    ))
}

fn has_tools(params: Option<&RawValue>) -> bool {
    params.is_some_and(|params| {
        json::RawObject::parse(params).is_ok_and(|params| params.get("tools").is_some())
    })
}

fn guarded_request(method: GuardedMethod, question: ServerQuestion<'_>) -> GuardedRequest {
    let request = build_request(method, question.server, question.request);
    GuardedRequest {
        progress_token: question.progress_token.cloned(),
        ..with_client(request, question.handle)
    }
}

fn with_client(request: GuardedRequest, handle: &ClientHandle) -> GuardedRequest {
    let session = handle.session();
    GuardedRequest {
        client: session.client.clone(),
        session: session.id.clone(),
        project: session.scope.project.clone(),
        ..request
    }
}

/// Returns a request to a client. The caller sets the client, its session and its project.
fn build_request(
    method: GuardedMethod,
    server: &Arc<RegisteredServer>,
    request: &InputRequest,
) -> GuardedRequest {
    let params = match &request.params {
        Some(params) => params.clone(),
        None => json::raw("{}".into()),
    };
    GuardedRequest {
        method,
        kind: method.kind(),
        client: ClientName::new(""),
        session: SessionId::new(""),
        project: None,
        server: server.clone(),
        entry: None,
        name: String::new(),
        exposed_name: String::new(),
        arguments: params.clone(),
        extra: None,
        params,
        progress_token: None,
        hooked: None,
        stand_in: None,
        trace: None,
    }
}

fn method_of(request: &InputRequest) -> Result<GuardedMethod, Refusal> {
    client_method(&request.method).ok_or_else(|| Refusal::DeniedByHub {
        reason: format!("servers cannot send '{}' to clients", request.method),
    })
}

/// Returns the method with this name if servers may send its requests to clients.
fn client_method(name: &str) -> Option<GuardedMethod> {
    GuardedMethod::from_name(name).filter(|method| method.is_sent_to_clients())
}
