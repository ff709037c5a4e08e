//! Properties that hold for any message.

use std::collections::HashSet;

use drawbridge_hub::model::{
    json::{RawObject, fold_key},
    rpc::code,
};
use serde_json::value::RawValue;

use super::{Id, MAX_DEPTH, Message, encode_error, encode_result, is_answer_to, parse, read_reply};

/// Checks that an accepted message has each key once and that its parts are unchanged. Checks that
/// a rejected message is answered with JSON.
pub(crate) fn check_message_is_unchanged(text: &[u8]) {
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
            let answer = encode_error(parse_error.id, &parse_error.error);
            let is_json = serde_json::from_slice::<&RawValue>(&answer).is_ok();
            assert!(is_json, "{}", String::from_utf8_lossy(&answer));
            return;
        }
    };
    let raw: &RawValue = serde_json::from_slice(text).expect("an accepted message is JSON");
    let object =
        RawObject::parse(raw).expect("an accepted message is an object with each key once");
    let mut folded_keys = HashSet::new();
    assert!(
        object.keys().all(|key| folded_keys.insert(fold_key(key))),
        "{raw} has a key that occurs twice"
    );
    let has_member = |key: &str, part: &str| object.get(key).map(RawValue::get) == Some(part);
    match message {
        Message::Request { id, method, params } => {
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
            assert!(has_member("id", id.as_str()), "{raw}");
            check_answer(id, raw);
        }
        Message::Notification { method, params } => {
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
        Message::Response { id, reply } => {
            assert!(has_member("id", id.get()), "{raw}");
            assert!(object.get("method").is_none(), "{raw}");
            assert!(reply.map_or_else(
                |error| has_member("error", error.get()),
                |result| has_member("result", result.get())
            ));
            if let (Ok(reply_read), Ok(sent)) = (read_reply(reply), reply) {
                assert_eq!(reply_read.expect("a result").get(), sent.get());
            }
        }
    }
}

/// Checks that an answer belongs to this id and holds the value unchanged.
fn check_answer(id: Id<'_>, value: &RawValue) {
    let answer = encode_result(id, value);
    assert!(
        is_answer_to(&answer, id.as_str()),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    match parse(&answer) {
        Ok(Message::Response {
            id: answer_id,
            reply: Ok(result),
        }) => {
            assert_eq!((answer_id.get(), result.get()), (id.as_str(), value.get()));
        }
        // The envelope of the answer adds a level, so the nesting may exceed the limit.
        Err(parse_error) => assert!(
            parse_error.error.message.contains("nested deeper"),
            "{}",
            parse_error.error.message
        ),
        other => panic!("an answer is read as {other:?}"),
    }
}

/// Checks that nesting beyond the limit is rejected, whatever is between and behind the brackets.
pub(crate) fn check_deep_nesting_is_rejected(text: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<&RawValue>(text) else {
        return;
    };
    for (open, close) in [("[", "]"), (r#"{"\"]}":"#, "}")] {
        let (open, close) = (open.repeat(MAX_DEPTH), close.repeat(MAX_DEPTH));
        let message = format!(
            r#"{{"a":{raw},"jsonrpc":"2.0","id":1,"method":"x","params":{open}{raw}{close}}}"#
        );
        let refused = parse(message.as_bytes()).err();
        assert_eq!(
            refused.map(|parse_error| parse_error.error.code),
            Some(code::INVALID_REQUEST),
            "{message}"
        );
    }
}
