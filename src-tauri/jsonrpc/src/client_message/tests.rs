//! Tests of which messages are read and which are rejected, which parts of a message are kept byte
//! for byte, and which message answers a request.

use arbitrary_json::{Choices, nested_object};
use proptest::prelude::*;
use serde_json::value::RawValue;

use crate::{
    encode::{encode_error, encode_result},
    rpc::{RpcError, RpcResponse, code},
};

use super::{ClientMessage, MAX_DEPTH, is_answer_to, parse, properties, read_response};

fn parse_request(text: &str) -> (String, String, Option<String>) {
    match parse(text.as_bytes()) {
        Ok(ClientMessage::Request { id, method, params }) => (
            id.as_json().to_owned(),
            method.into_owned(),
            params.map(|p| p.get().to_owned()),
        ),
        other => panic!("{text} is read as {other:?}"),
    }
}

fn parse_failure(text: &str) -> (i64, Option<String>) {
    match parse(text.as_bytes()) {
        Err(parse_error) => (
            parse_error.error.code,
            parse_error.id.map(|id| id.as_json().to_owned()),
        ),
        Ok(message) => panic!("{text} was accepted as {message:?}"),
    }
}

#[test]
fn ids_and_params_are_kept_byte_for_byte() {
    for id in [
        "0",
        "-7",
        "12345678901234567890123",
        r#""a\u0062""#,
        r#""""#,
    ] {
        let params = r#"{ "n" : 1.0, "big": 12345678901234567890123, "e":1E+2 , "b":2,"a":1}"#;
        let text =
            format!(r#"{{"jsonrpc":"2.0","params":{params}, "method":"tools/call" ,"id":{id}}}"#);
        assert_eq!(
            parse_request(&text),
            (
                id.to_owned(),
                "tools/call".to_owned(),
                Some(params.to_owned())
            )
        );
    }
}

#[test]
fn a_result_and_its_id_are_written_unchanged_and_an_unknown_id_is_null() {
    let text = r#"{"jsonrpc":"2.0","id":"a\u0062","method":"x"}"#;
    let Ok(ClientMessage::Request { id, .. }) = parse(text.as_bytes()) else {
        panic!("a request")
    };
    let raw: &RawValue = serde_json::from_str(r#"{"n":1.0, "z":0.90,"a":[]}"#).expect("JSON");
    assert_eq!(
        encode_result(id, raw).as_ref(),
        br#"{"jsonrpc":"2.0","id":"a\u0062","result":{"n":1.0, "z":0.90,"a":[]}}"#
    );
    let answer = encode_error(None, &RpcError::new(-32601, "no \"x\""));
    assert_eq!(
        answer.as_ref(),
        br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no \"x\""}}"#
    );
}

#[test]
fn a_message_without_id_is_a_notification() {
    assert!(matches!(
        parse(br#"{"jsonrpc":"2.0","method":"notifications/initialized","params":null}"#),
        Ok(ClientMessage::Notification { params: None, .. })
    ));
}

#[test]
fn a_message_without_method_is_a_response_whose_id_and_outcome_are_kept() {
    let parse_response = |text: &'static str| match parse(text.as_bytes()) {
        Ok(ClientMessage::Response { id, response }) => (id.get(), read_response(response)),
        other => panic!("{text} is read as {other:?}"),
    };
    let (id, response) =
        parse_response(r#"{"jsonrpc":"2.0","id":"7","result":{"n":1.0, "z":0.90}}"#);
    assert_eq!(
        (
            id,
            response
                .expect("a response")
                .into_result()
                .expect("a result")
                .get()
        ),
        ("\"7\"", r#"{"n":1.0, "z":0.90}"#)
    );
    let (id, response) = parse_response(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":[1.0]}}"#,
    );
    let error = response
        .expect("a response")
        .into_result()
        .expect_err("an error");
    assert_eq!((id, error.code, error.message.as_str()), ("1", -1, "no"));
    assert_eq!(error.data.expect("data").get(), "[1.0]");
    assert!(
        parse_response(r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#)
            .1
            .is_err()
    );
    assert_eq!(
        parse_failure(r#"{"jsonrpc":"2.0","result":{}}"#).0,
        code::INVALID_REQUEST
    );
}

#[test]
fn an_answer_is_distinguished_from_a_request_with_the_same_id() {
    assert!(is_answer_to(
        br#"{"jsonrpc":"2.0","id":1,"result":{"method":"x"}}"#,
        "1"
    ));
    assert!(is_answer_to(
        br#"{"error":{"code":1,"message":""},"id":"1"}"#,
        "\"1\""
    ));
    for other in [
        r#"{"id":1,"method":"roots/list"}"#,
        r#"{"id":2,"result":{}}"#,
        r#"{"method":"x"}"#,
        "1",
        "",
    ] {
        assert!(!is_answer_to(other.as_bytes(), "1"), "{other}");
    }
}

#[test]
fn a_method_is_unescaped() {
    assert_eq!(
        parse_request(r#"{"jsonrpc":"2.0","id":1,"method":"p\u0069ng"}"#).1,
        "ping"
    );
}

#[test]
fn keys_that_another_reader_might_confuse_are_rejected() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"Method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"ID":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"paramſ":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","extra":1,"Extra":2}"#,
    ] {
        assert_eq!(parse_failure(text).0, code::INVALID_REQUEST, "{text}");
    }
}

#[test]
fn anything_but_one_message_is_rejected() {
    for (text, expected) in [
        ("", code::PARSE_ERROR),
        ("{", code::PARSE_ERROR),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#,
            code::PARSE_ERROR,
        ),
        ("[]", code::INVALID_REQUEST),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            code::INVALID_REQUEST,
        ),
        ("1", code::INVALID_REQUEST),
        ("null", code::INVALID_REQUEST),
        ("{}", code::INVALID_REQUEST),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            code::INVALID_REQUEST,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            code::INVALID_REQUEST,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1e3,"method":"ping"}"#,
            code::INVALID_REQUEST,
        ),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            code::INVALID_REQUEST,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
            code::INVALID_REQUEST,
        ),
        (r#"{"jsonrpc":"2.0","id":1}"#, code::INVALID_REQUEST),
    ] {
        assert_eq!(parse_failure(text).0, expected, "{text}");
    }
}

#[test]
fn a_parse_error_has_the_id_if_it_could_be_read() {
    for text in [
        r#"{"id":7,"method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":1}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}"#,
    ] {
        assert_eq!(
            parse_failure(text),
            (code::INVALID_REQUEST, Some("7".to_owned())),
            "{text}"
        );
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_rejected_anywhere() {
    let texts: [&[u8]; 3] = [
        b"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"x\xff\":1}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"unknown\":{\"x\xff\":1}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"unknown\":\"\xc3\"}",
    ];
    for text in texts {
        let error = parse(text).expect_err("the message is not UTF-8");
        assert_eq!(error.error.code, code::PARSE_ERROR, "{text:?}");
    }
}

#[test]
fn nesting_is_bounded_without_recursion() {
    let nested = |depth: usize| {
        let inner = depth - 1;
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{}1{}}}"#,
            r#"{"a":"#.repeat(inner),
            "}".repeat(inner)
        )
    };
    assert_eq!(parse_request(&nested(128)).1, "x");
    assert_eq!(parse_failure(&nested(129)).0, code::INVALID_REQUEST);
    assert_eq!(
        parse_failure(&"[".repeat(10_000_000)).0,
        code::INVALID_REQUEST
    );
    let brackets_in_text = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":"\"{}"}}}}"#,
        "[".repeat(1000)
    );
    assert_eq!(parse_request(&brackets_in_text).1, "x");
}

#[test]
fn an_error_keeps_data_that_is_null() {
    let error: &RawValue =
        serde_json::from_str(r#"{"code":1,"message":"m","data":null}"#).expect("JSON");
    let Ok(RpcResponse::Error(error)) = read_response(Err(error)) else {
        panic!("an error")
    };
    assert_eq!(error.data.expect("data").get(), "null");
}

#[test]
fn a_clients_error_keeps_unknown_members_and_a_malformed_error_is_passed_on_whole() {
    let parse_error_response = |text: &str| {
        let error: &RawValue = serde_json::from_str(text).expect("JSON");
        read_response(Err(error))
            .expect("an answer")
            .into_result()
            .expect_err("an error")
    };
    let parsed = parse_error_response(r#"{"code":-1.0,"message":"no","data":1.0,"retryAfter":5}"#);
    assert_eq!(
        serde_json::to_string(&parsed).expect("JSON"),
        r#"{"code":-1,"message":"no","data":1.0,"retryAfter":5}"#
    );
    let unreadable = r#"{"code":"E_NO","message":"no"}"#;
    let wrapped = parse_error_response(unreadable);
    assert_eq!(
        (wrapped.code, wrapped.data.expect("data").get()),
        (code::INTERNAL_ERROR, unreadable)
    );
}

/// Returns the members of a request among other members, in an order that the choices determine.
fn members(choices: &mut Choices<'_>) -> Vec<(String, String)> {
    let params = choices.members();
    let params = choices.object(&params);
    let mut members = choices.members();
    for (key, value) in [
        ("jsonrpc", "\"2.0\""),
        ("id", "1"),
        ("method", "\"tools/call\""),
        ("params", &params),
    ] {
        members.insert(
            choices.below(members.len() + 1),
            (format!("\"{key}\""), value.to_owned()),
        );
    }
    members
}

/// Returns a spelling of the key that a reader takes for the same key if it ignores case.
fn variant(key: &str, choices: &mut Choices<'_>) -> String {
    key.chars()
        .map(|letter| match (choices.below(4), letter) {
            (0, _) => letter.to_string(),
            (1, 's') => "\u{17f}".to_owned(),
            (2, _) if letter.is_ascii_alphabetic() => format!("\\u{:04x}", u32::from(letter)),
            _ => letter.to_uppercase().to_string(),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_rejected(bytes: Vec<u8>) {
        properties::check_message(&bytes);
    }

    #[test]
    fn a_request_with_any_other_members_is_read_as_it_was_sent(bytes: Vec<u8>) {
        let mut choices = Choices::new(&bytes);
        let members = members(&mut choices);
        let text = choices.object(&members);
        let params = members.into_iter().find_map(|(key, value)| (key == "\"params\"").then_some(value));
        prop_assert_eq!(parse_request(&text), ("1".to_owned(), "tools/call".to_owned(), params));
        properties::check_message(text.as_bytes());
    }

    #[test]
    fn any_members_are_read_or_rejected(bytes: Vec<u8>) {
        properties::check_message(Choices::new(&bytes).message().as_bytes());
    }

    #[test]
    fn a_key_that_occurs_twice_in_any_spelling_is_rejected(bytes: Vec<u8>, index: prop::sample::Index) {
        let mut choices = Choices::new(&bytes);
        let mut members = members(&mut choices);
        let key = members[index.index(members.len())].0.clone();
        let plain = serde_json::from_str::<String>(&key).expect("a key");
        // `variant` cannot spell keys with characters that JSON requires to be escaped.
        let plain = if plain.contains(['"', '\\', '\n']) { "method".to_owned() } else { plain };
        let duplicate = format!("\"{}\"", variant(&plain, &mut choices));
        members.insert(choices.below(members.len() + 1), (duplicate, choices.value()));
        prop_assert_eq!(parse_failure(&choices.object(&members)).0, code::INVALID_REQUEST);
    }

    #[test]
    fn nesting_over_the_limit_is_rejected_whatever_surrounds_it(bytes: Vec<u8>, excess in 0_usize..40) {
        let mut choices = Choices::new(&bytes);
        let deep = |depth: usize, choices: &mut Choices<'_>| {
            let mut members: Vec<_> = choices.members();
            let params = nested_object(depth - 1, choices);
            for (key, value) in [("jsonrpc", "\"2.0\""), ("id", "1"), ("method", "\"x\""), ("params", &params)] {
                members.insert(choices.below(members.len() + 1), (format!("\"{key}\""), value.to_owned()));
            }
            choices.object(&members)
        };
        prop_assert_eq!(parse_failure(&deep(MAX_DEPTH + 1 + excess, &mut choices)).0, code::INVALID_REQUEST);
        prop_assert_eq!(parse_request(&deep(MAX_DEPTH, &mut choices)).1, "x");
        properties::check_deep_nesting_is_rejected(choices.value().as_bytes());
    }
}
