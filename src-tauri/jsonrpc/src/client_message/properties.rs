//! Properties that hold for any message.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::{ClientMessage, Id, MAX_DEPTH, is_answer_to, parse, read_response};
use crate::{
    encode::{encode_error, encode_result},
    json::{RawObject, fold_key},
    rpc::code,
};

/// Checks an accepted message: each part is kept byte for byte, no two keys differ only in case,
/// and a response to a request keeps the request's id. Checks a rejected message: its error code is
/// one that [`parse`] documents, and the error response is valid JSON.
pub(crate) fn check_message(text: &[u8]) {
    let message = match parse(text) {
        Ok(message) => message,
        Err(parse_error) => {
            assert!(
                matches!(
                    parse_error.error.code,
                    code::PARSE_ERROR | code::INVALID_REQUEST
                ),
                "{}",
                parse_error.error.code
            );
            let response = encode_error(parse_error.id, &parse_error.error);
            let is_json = serde_json::from_slice::<&RawValue>(&response).is_ok();
            assert!(is_json, "{}", String::from_utf8_lossy(&response));
            return;
        }
    };
    let raw: &RawValue = serde_json::from_slice(text).expect("an accepted message is JSON");
    let object =
        RawObject::parse(raw).expect("an accepted message is an object with each key once");
    let mut folded_keys = HashSet::new();
    assert!(
        object.keys().all(|key| folded_keys.insert(fold_key(key))),
        "{raw} was accepted with two keys that differ only in case"
    );
    let has_member = |key: &str, part: &str| object.get(key).map(RawValue::get) == Some(part);
    match message {
        ClientMessage::Request { id, method, params } => {
            assert_eq!(
                object.get_string("method").as_deref(),
                Some(method.as_ref())
            );
            assert!(
                params
                    .is_none_or(|params| has_member("params", params.get())
                        && params.get().starts_with('{')),
                "{raw}"
            );
            assert!(has_member("id", id.as_json()), "{raw}");
            check_response(id, raw);
        }
        ClientMessage::Notification { method, params } => {
            assert_eq!(
                object.get_string("method").as_deref(),
                Some(method.as_ref())
            );
            assert!(
                params.is_none_or(|params| has_member("params", params.get())),
                "{raw}"
            );
            assert!(object.get("id").is_none(), "{raw}");
        }
        ClientMessage::Response { id, response } => {
            assert!(has_member("id", id.get()), "{raw}");
            assert!(object.get("method").is_none(), "{raw}");
            assert!(response.map_or_else(
                |error| has_member("error", error.get()),
                |result| has_member("result", result.get())
            ));
            if let (Ok(parsed), Ok(sent)) = (read_response(response), response) {
                assert_eq!(parsed.into_result().expect("a result").get(), sent.get());
            }
        }
    }
}

/// Checks that a response keeps the request's id and the result unchanged.
fn check_response(id: Id<'_>, value: &RawValue) {
    let response = encode_result(id, value);
    assert!(
        is_answer_to(&response, id.as_json()),
        "{}",
        String::from_utf8_lossy(&response)
    );
    match parse(&response) {
        Ok(ClientMessage::Response {
            id: response_id,
            response: Ok(result),
        }) => {
            assert_eq!(
                (response_id.get(), result.get()),
                (id.as_json(), value.get())
            );
        }
        // The envelope of the response adds a level, so the nesting may exceed the limit.
        Err(parse_error) => assert_eq!(
            parse_error.error.code,
            code::INVALID_REQUEST,
            "{}",
            parse_error.error.message
        ),
        other => panic!("a response was parsed as {other:?}"),
    }
}

/// Checks that a message nested deeper than [`MAX_DEPTH`] is rejected, whatever values come before
/// and inside the nesting.
pub(crate) fn check_deep_nesting_is_rejected(text: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<&RawValue>(text) else {
        return;
    };
    for (open, close) in [("[", "]"), (r#"{"\"]}":"#, "}")] {
        let (open, close) = (open.repeat(MAX_DEPTH), close.repeat(MAX_DEPTH));
        let message = format!(
            r#"{{"a":{raw},"jsonrpc":"2.0","id":1,"method":"x","params":{open}{raw}{close}}}"#
        );
        let rejected = parse(message.as_bytes()).err();
        assert_eq!(
            rejected.map(|parse_error| parse_error.error.code),
            Some(code::INVALID_REQUEST),
            "{message}"
        );
    }
}
