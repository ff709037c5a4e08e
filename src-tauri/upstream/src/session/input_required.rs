//! Asks a client of the legacy era for the input that a server of the modern era requires.

use std::collections::BTreeMap;

use drawbridge_jsonrpc::{
    json::{self, RawObject},
    rpc::RpcError,
};
use drawbridge_model::{
    protocol::{
        input::{InputRequest, InputRequired, RetryInput},
        meta, translate,
    },
    random,
};
use drawbridge_sessions::ClientHandle;
use futures_util::future::try_join_all;
use serde_json::value::RawValue;

use super::{ANSWER_TIMEOUT, ServerSession};

/// Returns the params without the fields that a client of the modern era adds to a retry. Returns
/// `None` if there are none of them.
pub(super) fn without_retry(params: Option<&RawValue>) -> Option<Box<RawValue>> {
    let params = params?;
    if !json::mentions(params, "inputResponses") && !json::mentions(params, "requestState") {
        return None;
    }
    let mut object = RawObject::parse(params).ok()?;
    RetryInput::take_from(&mut object).ok()?;
    Some(object.to_raw())
}

/// Returns the params with the client's answers.
pub(super) fn retry_params(
    params: Option<&RawValue>,
    required: &InputRequired,
    answers: &BTreeMap<String, Box<RawValue>>,
) -> Option<Box<RawValue>> {
    let mut object = RawObject::parse(params?).ok()?;
    required.prepare_retry(&mut object, answers);
    Some(object.to_raw())
}

impl ServerSession {
    /// Asks a client for all the input that the server requires.
    pub(super) async fn ask_all(
        &self,
        client_handle: &ClientHandle,
        required: &InputRequired,
    ) -> Result<BTreeMap<String, Box<RawValue>>, RpcError> {
        let ask = |(key, request): &(String, InputRequest)| {
            let request = translate::request_for_legacy_client(request, &random::id());
            let key = key.clone();
            async move {
                if !client_handle
                    .session()
                    .hello
                    .capabilities
                    .can_answer(&request.method, request.params.as_deref())
                {
                    let why = format!(
                        "The server requests '{}', which the client does not support",
                        request.method
                    );
                    return Err(RpcError::new(meta::MISSING_CAPABILITY, why));
                }
                let answer =
                    self.client_requests
                        .ask(&self.server, &request, client_handle, ANSWER_TIMEOUT);
                Ok((key, answer.await?.to_raw()))
            }
        };
        Ok(try_join_all(required.requests.iter().map(ask))
            .await?
            .into_iter()
            .collect())
    }
}
