use arbitrary_json::Choices;
use proptest::prelude::*;

use super::{properties::read, *};
use crate::{
    encode::{encode_cancelled, encode_request, encode_response},
    rpc::code,
};

#[test]
fn a_result_is_kept_as_it_was_written() {
    let Some(ServerMessage::Response {
        id,
        response: RpcResponse::Result(result),
    }) = parse(&Json::new(
        r#"{"jsonrpc":"2.0","id":7,"result":{"n":1.0,"x":1e400}}"#,
    ))
    else {
        panic!("no answer")
    };
    assert_eq!((id, result.get()), (Some(7), r#"{"n":1.0,"x":1e400}"#));
}

#[test]
fn the_data_of_an_error_is_kept_and_a_missing_code_becomes_0() {
    let Some(ServerMessage::Response {
        response: RpcResponse::Error(error),
        ..
    }) = parse(&Json::new(
        r#"{"jsonrpc":"2.0","id":7,"error":{"message":"m","data":{"a" : 1}}}"#,
    ))
    else {
        panic!("no error")
    };
    assert_eq!((error.code, error.message.as_str()), (0, "m"));
    assert_eq!(error.data.expect("data").get(), r#"{"a" : 1}"#);
}

#[test]
fn an_error_keeps_unknown_members_and_a_malformed_error_is_passed_on_whole() {
    let error = |error: &str| match parse(&Json::new(format!(
        r#"{{"jsonrpc":"2.0","id":7,"error":{error}}}"#
    ))) {
        Some(ServerMessage::Response {
            response: RpcResponse::Error(error),
            ..
        }) => error,
        other => panic!("{error} is read as {other:?}"),
    };
    let read = error(r#"{"code":-32000.0,"message":"m","retryAfter":1.50,"data":null}"#);
    assert_eq!(
        json::to_raw(&read).get(),
        r#"{"code":-32000,"message":"m","data":null,"retryAfter":1.50}"#
    );
    let unreadable = r#"{"code":"E_BUSY","message":"busy"}"#;
    let passed_on = error(unreadable);
    assert_eq!(passed_on.code, code::INTERNAL_ERROR);
    assert_eq!(passed_on.data.expect("data").get(), unreadable);
}

#[test]
fn an_error_with_a_null_id_is_an_answer_without_id() {
    assert!(matches!(
        parse(&Json::new(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#
        )),
        Some(ServerMessage::Response { id: None, .. })
    ));
}

#[test]
fn text_that_is_not_json_rpc_is_no_message() {
    for text in [
        "",
        "hello",
        "[]",
        "{}",
        r#"{"level":"info"}"#,
        r#"{"id":1,"msg":"a line of a JSON log"}"#,
        r#"[{"id":1,"msg":"a line of a JSON log"}]"#,
        r#"{"jsonrpc":"1.0","method":"x"}"#,
    ] {
        assert!(parse(&Json::new(text)).is_none(), "{text}");
    }
}

#[test]
fn a_written_message_can_be_read() {
    let params = json::raw(r#"{"a":1.50}"#.into());
    let Some(ServerMessage::Incoming(Incoming::Request { id, method, params })) =
        read(encode_request(3, "a\"b", Some(params.get())))
    else {
        panic!("no request")
    };
    assert_eq!(
        (id.get(), method.as_str(), params.expect("params").get()),
        ("3", "a\"b", r#"{"a":1.50}"#)
    );
    assert!(matches!(
        read(encode_cancelled(3, "why")),
        Some(ServerMessage::Incoming(Incoming::Notification { .. }))
    ));
    assert!(matches!(
        read(encode_response(id.get(), &Err(RpcError::new(1, "m"))).to_vec()),
        Some(ServerMessage::Response {
            id: Some(3),
            response: RpcResponse::Error(_)
        })
    ));
}

#[test]
fn a_result_that_is_null_is_a_result_unless_there_is_an_error() {
    let response = |text: &str| match parse(&Json::new(text)) {
        Some(ServerMessage::Response { response, .. }) => response
            .into_result()
            .map(|result| result.get().to_owned())
            .map_err(|error| error.code),
        other => panic!("{text} is read as {other:?}"),
    };
    assert_eq!(
        response(r#"{"jsonrpc":"2.0","id":1,"result":null}"#),
        Ok("null".to_owned())
    );
    assert_eq!(
        response(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#),
        Ok("{}".to_owned())
    );
    assert_eq!(
        response(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":5,"message":""}}"#),
        Err(5)
    );
}

#[test]
fn an_error_keeps_data_that_is_null() {
    let text =
        Json::new(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":null}}"#);
    let Some(ServerMessage::Response {
        response: RpcResponse::Error(error),
        ..
    }) = parse(&text)
    else {
        panic!("no error")
    };
    assert_eq!(error.data.expect("data").get(), "null");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_skipped(bytes: Vec<u8>) {
        properties::read_is_what_was_sent(&bytes);
    }

    #[test]
    fn any_message_is_read_as_it_was_sent(bytes: Vec<u8>) {
        properties::read_is_what_was_sent(Choices::new(&bytes).message().as_bytes());
    }

    #[test]
    fn any_written_message_is_read_unchanged(id: u64, method: String, bytes: Vec<u8>) {
        let value = json::raw(Choices::new(&bytes).value());
        properties::messages_survive_a_round_trip(id, &method, Some(&value));
        properties::messages_survive_a_round_trip(id, &method, None);
    }
}

#[test]
fn an_answer_nested_too_deep_fails_its_request_and_other_messages_are_dropped() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    let answer = Json::new(format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"x":{deep}}}}}"#
    ));
    assert!(matches!(parse(&answer), Some(ServerMessage::Malformed { ids, .. }) if ids == [7]));
    let notification = Json::new(format!(
        r#"{{"jsonrpc":"2.0","method":"m","params":{{"x":{deep}}}}}"#
    ));
    assert!(parse(&notification).is_none());
    let in_a_string = Json::new(format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"x":"{deep}"}}}}"#
    ));
    assert!(matches!(
        parse(&in_a_string),
        Some(ServerMessage::Response {
            response: RpcResponse::Result(_),
            ..
        })
    ));
}

#[test]
fn a_message_too_long_to_read_still_names_the_request_that_it_answers() {
    assert_eq!(
        answered_id(br#"{"jsonrpc":"2.0","id":42,"result":{"content":"xxxx"#),
        Some(42)
    );
    assert_eq!(
        answered_id(br#"{"jsonrpc":"2.0", "id" : 7 , "result":[1"#),
        Some(7)
    );
    for other in [
        r#"{"jsonrpc":"2.0","method":"m","params":{"id":1,"x"#,
        r#"{"result":{"id":4,"x"#,
        "xxxxxxxx",
        "",
    ] {
        assert_eq!(answered_id(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn a_malformed_answer_names_the_broken_rule_and_its_request() {
    for (text, expected) in [
        (r#"{"id":7,"result":{}}"#, r#"has no "jsonrpc":"2.0""#),
        (
            r#"{"jsonrpc":"1.0","id":7,"result":{}}"#,
            r#"has "jsonrpc":"1.0" instead of "2.0""#,
        ),
        (
            r#"{"jsonrpc":2.0,"id":7,"error":{"code":1,"message":""}}"#,
            r#"has "jsonrpc":2.0 instead of "2.0""#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"7","result":{}}"#,
            "has the id 7 as a string",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7}"#,
            "has neither a result nor an error",
        ),
        (
            r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#,
            "is inside an array",
        ),
    ] {
        match parse(&Json::new(text)) {
            Some(ServerMessage::Malformed { ids, rule }) => {
                assert_eq!(ids, [7], "{text}");
                assert!(rule.to_string().contains(expected), "{text}: {rule}");
            }
            other => panic!("{text} is read as {other:?}"),
        }
    }
}
