//! Batches, which exist only in MCP 2025-03-26. A batch is an array of messages; one array answers
//! all its requests.

use std::{fmt, sync::Arc};

use axum::{
    http::{HeaderMap, StatusCode},
    response::IntoResponse,
};
use bytes::Bytes;
use drawbridge_hub::methods;
use drawbridge_jsonrpc::{
    client_message::{self, ClientMessage, ParseError},
    encode,
    rpc::{RpcError, code},
};
use drawbridge_model::protocol;
use drawbridge_sessions::{ClientSession, RequestPermit, message_stream};
use futures_util::future::join_all;
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    exchange::Exchange,
    request::{Caller, check_version, malformed_error, names_modern_revision},
    response::{McpResult, ResponseMessages, json_response, respond},
};
use crate::{error_response::RpcRefusal, headers::accepts_events, state::ListenerState};

/// The largest number of messages in a batch.
const MAX_MESSAGES: usize = 100;

/// Returns whether a body is a batch.
pub(super) fn is_batch(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"[")
}

/// Answers a batch. Its requests run concurrently. The answer to a malformed message is an error
/// among the other answers.
///
/// # Errors
/// Returns an error if the headers name no open session of the caller, or an unknown revision, if
/// the revision has no batches, or if the body is not a batch of 1 to [`MAX_MESSAGES`] messages.
pub(super) async fn answer(
    state: &Arc<ListenerState>,
    caller: &Caller,
    headers: &HeaderMap,
    body: &[u8],
    permit: RequestPermit,
) -> McpResult {
    check_version(headers)?;
    if names_modern_revision(headers) {
        return Err(client_message::batch_unsupported().into());
    }
    let session = caller.find_session(state, headers, None)?;
    if !protocol::supports_batches(&session.hello.protocol_version) {
        return Err(client_message::batch_unsupported().into());
    }
    let mut batch = Batch {
        permit: Arc::new(permit),
        exchanges: Vec::new(),
        answers: Vec::new(),
    };
    for message in read_messages(body)? {
        batch.add(state, &session, message);
    }
    let Batch {
        permit: _permit,
        exchanges,
        mut answers,
    } = batch;
    if exchanges.is_empty() && answers.is_empty() {
        return Ok(StatusCode::ACCEPTED.into_response());
    }
    let (sender, messages) = message_stream();
    let sender = accepts_events(headers).then_some(sender);
    let answer = async move {
        answers.extend(
            join_all(
                exchanges
                    .into_iter()
                    .map(|exchange| exchange.answer(sender.clone())),
            )
            .await,
        );
        Bytes::from([b"[", answers.join(&b","[..]).as_slice(), b"]"].concat())
    };
    Ok(if accepts_events(headers) {
        respond(ResponseMessages::new(messages, answer)).await
    } else {
        json_response(answer.await)
    })
}

fn read_messages(body: &[u8]) -> Result<Vec<&RawValue>, ParseError<'_>> {
    let Messages(messages) = serde_json::from_slice(body).map_err(|e| {
        ParseError::new(
            code::INVALID_REQUEST,
            if e.is_data() {
                e.to_string()
            } else {
                format!("the batch is not valid JSON: {e}")
            },
        )
    })?;
    Ok(messages)
}

/// The messages of a batch: from 1 to [`MAX_MESSAGES`]. Parsing stops at the first message beyond
/// the limit.
struct Messages<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Messages<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MessagesVisitor;

        impl<'de> Visitor<'de> for MessagesVisitor {
            type Value = Vec<&'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut messages = Vec::new();
                while let Some(message) = seq.next_element()? {
                    if messages.len() == MAX_MESSAGES {
                        return Err(serde::de::Error::custom(format_args!(
                            "the batch has more than {MAX_MESSAGES} messages, which is the limit"
                        )));
                    }
                    messages.push(message);
                }
                if messages.is_empty() {
                    Err(serde::de::Error::custom("the batch is empty"))
                } else {
                    Ok(messages)
                }
            }
        }

        deserializer.deserialize_seq(MessagesVisitor).map(Self)
    }
}

struct Batch {
    permit: Arc<RequestPermit>,
    exchanges: Vec<Exchange>,
    /// The answers that are known before any request runs.
    answers: Vec<Bytes>,
}

impl Batch {
    fn add(
        &mut self,
        state: &Arc<ListenerState>,
        session: &Arc<ClientSession>,
        message: &RawValue,
    ) {
        match client_message::parse(message.get().as_bytes()) {
            Ok(ClientMessage::Request { id, method, .. }) if methods::opens_session(&method) => {
                let error = RpcError::new(
                    code::INVALID_REQUEST,
                    "`initialize` must not be part of a batch",
                );
                self.answers.push(encode::encode_error(Some(id), &error));
            }
            Ok(ClientMessage::Request { id, method, params }) => {
                let permit = Arc::clone(&self.permit);
                match Exchange::begin(state, session, id, &method, params, permit) {
                    Ok(exchange) => self.exchanges.push(exchange),
                    Err(refusal) => self.answers.push(refusal.into_body()),
                }
            }
            Ok(ClientMessage::Notification { method, params }) => {
                state.hub.handle_notification(session, &method, params)
            }
            Ok(ClientMessage::Response { id, response }) => {
                match client_message::read_response(response) {
                    Ok(response) => session.deliver_response(id, response),
                    Err(error) => self.answers.push(malformed_error(error).into_body()),
                }
            }
            Err(error) => self.answers.push(RpcRefusal::from(error).into_body()),
        }
    }
}
