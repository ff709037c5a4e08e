//! Properties that hold for any message.

use serde_json::value::RawValue;

use super::{Incoming, ServerMessage, parse};
use crate::{
    encode::{encode_notification, encode_request, encode_response},
    json::Json,
    rpc::{RpcError, RpcResponse},
};

/// Checks that the id, the params, the result and the data of an error occur in the message's text,
/// and that a method, params and a result stay the same if they are written and read again.
pub(crate) fn read_is_what_was_sent(text: &[u8]) {
    let Ok(text) = Json::from_utf8(text.to_vec()) else {
        return;
    };
    let Some(message) = parse(&text) else { return };
    let text = text.get();
    let assert_in_text =
        |raw: &RawValue| assert!(text.contains(raw.get()), "{raw} does not occur in {text}");
    match message {
        ServerMessage::Response { id, response } => {
            if let RpcResponse::Result(result) = &response {
                let result: &RawValue =
                    serde_json::from_str(result.get()).expect("a result is JSON");
                assert_in_text(result);
                messages_survive_a_round_trip(id.unwrap_or(0), "m", Some(result));
            }
            response
                .into_result()
                .err()
                .and_then(|error| error.data)
                .iter()
                .for_each(|data| assert_in_text(data));
        }
        ServerMessage::Malformed { .. } => {}
        ServerMessage::Incoming(Incoming::Request { id, method, params }) => {
            assert_in_text(&id);
            params.iter().for_each(|params| assert_in_text(params));
            messages_survive_a_round_trip(7, &method, params.as_deref());
        }
        ServerMessage::Incoming(Incoming::Notification { method, params }) => {
            params.iter().for_each(|params| assert_in_text(params));
            messages_survive_a_round_trip(7, &method, params.as_deref());
        }
    }
}

/// Reads a message that Drawbridge wrote.
pub(super) fn read(bytes: Vec<u8>) -> Option<ServerMessage> {
    parse(&Json::from_utf8(bytes).expect("Drawbridge writes text"))
}

/// Checks that the messages that Drawbridge writes are read without a change, except that the
/// params `null` are read as missing params. `text` is the method, and the message of an error.
pub(crate) fn messages_survive_a_round_trip(id: u64, text: &str, value: Option<&RawValue>) {
    let params = value
        .filter(|value| value.get() != "null")
        .map(RawValue::get);
    let get = |raw: &Option<Box<RawValue>>| raw.as_deref().map(|raw| raw.get().to_owned());
    match read(encode_request(id, text, value.map(RawValue::get))) {
        Some(ServerMessage::Incoming(Incoming::Request {
            id: raw_id,
            method,
            params: read_params,
        })) => {
            assert_eq!(
                (raw_id.get(), method.as_str()),
                (id.to_string().as_str(), text)
            );
            assert_eq!(get(&read_params).as_deref(), params);
            answer_is_read(&raw_id, id, text, value);
        }
        other => panic!("a request is read as {other:?}"),
    }
    match read(encode_notification(text, value.map(RawValue::get))) {
        Some(ServerMessage::Incoming(Incoming::Notification {
            method,
            params: read_params,
        })) => {
            assert_eq!(
                (method.as_str(), get(&read_params).as_deref()),
                (text, params)
            );
        }
        other => panic!("a notification is read as {other:?}"),
    }
}

/// Checks that an answer that Drawbridge wrote, a result or an error, is read without a change.
fn answer_is_read(raw_id: &RawValue, id: u64, text: &str, value: Option<&RawValue>) {
    if let Some(value) = value {
        match read(encode_response(raw_id.get(), &Ok(value.to_owned().into())).to_vec()) {
            Some(ServerMessage::Response {
                id: read_id,
                response: RpcResponse::Result(result),
            }) => {
                assert_eq!((read_id, result.get()), (Some(id), value.get()));
            }
            other => panic!("an answer is read as {other:?}"),
        }
    }
    let other_members = value
        .map(|value| ("x-more".to_owned(), value.to_owned()))
        .into_iter()
        .collect();
    let error = RpcError {
        code: -32_000,
        message: text.to_owned(),
        data: value.map(ToOwned::to_owned),
        other_members,
    };
    match read(encode_response(raw_id.get(), &Err(error)).to_vec()) {
        Some(ServerMessage::Response {
            id: read_id,
            response: RpcResponse::Error(error),
        }) => {
            assert_eq!(
                (read_id, error.code, error.message.as_str()),
                (Some(id), -32_000, text)
            );
            assert_eq!(
                error.data.as_deref().map(RawValue::get),
                value.map(RawValue::get)
            );
            assert_eq!(
                error.other_members.first().map(|(_, member)| member.get()),
                value.map(RawValue::get)
            );
        }
        other => panic!("an error is read as {other:?}"),
    }
}
