//! The path of requests that servers send to clients: decide and record, send, answer.

use std::{sync::Arc, time::Duration};

use drawbridge_jsonrpc::{
    json::{self, Json},
    rpc::RpcResult,
};
use drawbridge_model::{
    call::Outcome,
    protocol::{
        guarded::GuardedMethod,
        input::{InputRequest, InputRequired},
    },
    spec::RegisteredServer,
};
use drawbridge_sessions::ClientHandle;
use drawbridge_upstream::ClientRequestGate;
use futures_util::future::BoxFuture;

use super::guarded::abort;
use crate::policy::{Gate, GuardedRequest, Permitted, Refusal};

/// Carries requests from servers to clients. Cheap to clone.
#[derive(Clone)]
pub struct ClientRequests {
    gate: Gate,
}

impl ClientRequestGate for ClientRequests {
    fn ask<'a>(
        &'a self,
        server: &'a Arc<RegisteredServer>,
        request: &'a InputRequest,
        handle: &'a ClientHandle,
        max_wait: Duration,
    ) -> BoxFuture<'a, RpcResult> {
        Box::pin(self.carry_out(server, request, handle, max_wait))
    }
}

impl ClientRequests {
    pub fn new(gate: Gate) -> Self {
        Self { gate }
    }

    async fn carry_out(
        &self,
        server: &Arc<RegisteredServer>,
        request: &InputRequest,
        handle: &ClientHandle,
        max_wait: Duration,
    ) -> RpcResult {
        let admitted = self.admit(server, request, handle).await;
        let permitted = admitted.map_err(|refusal| refusal.to_rpc_error())?;
        let answer = tokio::select! {
            biased;
            () = self.gate.wait_until_paused() => return Err(abort(permitted)),
            answer = handle.send_request(request, max_wait) => answer,
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                permitted.record_outcome(Outcome::ClientError, error.message.clone());
                return Err(error);
            }
        };
        let released = self
            .gate
            .release_result(permitted.request(), permitted.record(), answer, None)
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
    /// Returns an error if one of the requests is denied, or if its decision cannot be recorded. The
    /// client must not get the result then.
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
        let method = to_client(&request.method).ok_or_else(|| Refusal::DeniedByHub {
            reason: format!("servers cannot send '{}' to clients", request.method),
        })?;
        let params = match &request.params {
            Some(params) => params.clone(),
            None => json::raw("{}".into()),
        };
        let session = handle.session();
        let request = GuardedRequest {
            method,
            kind: method.kind(),
            client: session.client.clone(),
            session: session.id.clone(),
            project: session.scope.project.clone(),
            server: server.clone(),
            entry: None,
            name: String::new(),
            exposed_name: String::new(),
            arguments: params.clone(),
            extra: None,
            params,
            progress_token: None,
        };
        self.gate.admit(request, Some(handle)).await
    }
}

/// Returns the method if servers may send its requests to clients.
fn to_client(name: &str) -> Option<GuardedMethod> {
    GuardedMethod::from_name(name).filter(|method| method.is_sent_to_clients())
}
