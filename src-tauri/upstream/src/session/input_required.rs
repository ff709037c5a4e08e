//! Obtains the input that a server of the modern era requires: asks a client of the legacy era for
//! the input, and Drawbridge for the input that a client of either era cannot provide. Also asks a
//! person to visit the URLs that a server of the legacy era requires, if the client cannot show
//! them.

use std::collections::BTreeMap;

use drawbridge_jsonrpc::{
    json::{self, Json, RawObject},
    rpc::RpcError,
};
use drawbridge_model::{
    protocol::{
        Era,
        input::{InputRequest, InputRequired, RetryInput},
        meta, translate,
    },
    random,
};
use drawbridge_sessions::ClientHandle;
use futures_util::future::try_join_all;
use serde_json::value::RawValue;

use super::{ANSWER_TIMEOUT, ServerSession};
use crate::{
    client_requests::{Respondent, ServerQuestion},
    server_request::ServerRequest,
};

/// Returns the params without the fields that a client of the modern era adds to a retry, or `None`
/// if the params contain no such field.
pub(super) fn without_retry_fields(params: Option<&RawValue>) -> Option<Box<RawValue>> {
    let params = params?;
    if !json::mentions(params, "inputResponses") && !json::mentions(params, "requestState") {
        return None;
    }
    let mut object = RawObject::parse(params).ok()?;
    RetryInput::take_from(&mut object).ok()?;
    Some(object.to_raw())
}

/// Returns the params of a retry: the original params with the answers and the server's state.
pub(super) fn build_retry_params(
    params: Option<&RawValue>,
    required: &InputRequired,
    answers: &BTreeMap<String, Box<RawValue>>,
) -> Option<Box<RawValue>> {
    let mut object = RawObject::parse(params?).ok()?;
    required.prepare_retry(&mut object, answers);
    Some(object.to_raw())
}

impl ServerSession {
    /// Returns the input that a result requires, if Drawbridge has to obtain the input. If client
    /// and server are modern, the client obtains the input itself, unless Drawbridge has to answer
    /// a part of it.
    pub(super) fn find_required_input(
        &self,
        client: Era,
        server: Era,
        handle: Option<&ClientHandle>,
        result: &Json,
    ) -> Option<InputRequired> {
        if !(client.is_modern() && server.is_modern()) {
            return translate::required_client_input(client, server, result);
        }
        let session = handle?.session();
        InputRequired::read(result).filter(|required| {
            required.requests.iter().any(|(_, request)| {
                self.client_requests.find_respondent(request, session)
                    == Some(Respondent::Drawbridge)
            })
        })
    }

    /// Asks a person to visit the URLs that a server of the legacy era requires, if the client
    /// cannot show them. Returns whether the person agreed to visit all of them.
    pub(super) async fn visit_required_urls(
        &self,
        error: &RpcError,
        outgoing: &ServerRequest<'_>,
    ) -> bool {
        let Some(handle) = outgoing.client_handle else {
            return false;
        };
        let Some(required) = translate::required_urls(outgoing.method, error) else {
            return false;
        };
        let session = handle.session();
        let is_for_drawbridge = |(_, request): &(String, InputRequest)| {
            self.client_requests.find_respondent(request, session) == Some(Respondent::Drawbridge)
        };
        if !required.requests.iter().all(is_for_drawbridge) {
            return false;
        }
        let answers = self.ask_all(handle, &required, outgoing).await;
        let is_accepted = |answer: &RawValue| {
            RawObject::parse(answer)
                .is_ok_and(|answer| answer.get_string("action").as_deref() == Some("accept"))
        };
        answers.is_ok_and(|answers| answers.values().all(|answer| is_accepted(answer)))
    }

    /// Asks the client or Drawbridge for all the input that the server requires.
    pub(super) async fn ask_all(
        &self,
        client_handle: &ClientHandle,
        required: &InputRequired,
        outgoing: &ServerRequest<'_>,
    ) -> Result<BTreeMap<String, Box<RawValue>>, RpcError> {
        let ask = |(key, request): &(String, InputRequest)| {
            let request = translate::request_for_legacy_client(request, &random::id());
            let key = key.clone();
            async move {
                let session = client_handle.session();
                if self
                    .client_requests
                    .find_respondent(&request, session)
                    .is_none()
                {
                    let reason = format!(
                        "The server requests '{}', which the client does not support",
                        request.method
                    );
                    return Err(RpcError::new(meta::MISSING_CAPABILITY, reason));
                }
                let answer = self.client_requests.answer_request(ServerQuestion {
                    server: &self.server,
                    request: &request,
                    handle: client_handle,
                    progress_token: outgoing.progress_token,
                    timeout: ANSWER_TIMEOUT,
                });
                Ok((key, answer.await?.to_raw()))
            }
        };
        Ok(try_join_all(required.requests.iter().map(ask))
            .await?
            .into_iter()
            .collect())
    }
}
