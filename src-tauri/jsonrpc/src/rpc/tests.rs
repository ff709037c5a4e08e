use super::*;
use crate::json;

fn read(text: &str) -> Option<RpcError> {
    RpcError::parse(&json::raw(text.into())).ok()
}

#[test]
fn an_error_keeps_all_members() {
    let text = r#"{"code":-32000,"message":"m","data":{"a" : 1.0},"retryable":true,"x":[1e400]}"#;
    let error = read(text).expect("readable");
    assert_eq!(json::to_raw(&error).get(), text);
    let with_other_code = RpcError {
        code: -32602,
        ..error
    };
    assert_eq!(
        json::to_raw(&with_other_code).get(),
        text.replace("-32000", "-32602"),
        "a translated code changes nothing else"
    );
}

#[test]
fn a_code_is_read_in_any_notation_of_an_integer() {
    for (code, expected) in [
        ("-32000", Some(-32000)),
        ("-32000.0", Some(-32000)),
        ("-3.2e4", Some(-32000)),
        ("5E0", Some(5)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-32000.5", None),
        ("1e400", None),
        ("1e300", None),
        ("92233720368547758080", None),
        ("\"-32000\"", None),
        ("null", None),
        ("true", None),
        ("[1]", None),
    ] {
        let read = read(&format!(r#"{{"code":{code},"message":"m"}}"#));
        assert_eq!(read.map(|error| error.code), expected, "{code}");
    }
}

#[test]
fn missing_members_are_filled_in_and_wrong_members_are_rejected() {
    let empty = read("{}").expect("readable");
    assert_eq!((empty.code, empty.message.as_str()), (0, ""));
    for wrong in [
        "\"no\"",
        "[]",
        "null",
        r#"{"code":1,"message":5}"#,
        r#"{"code":1,"code":2}"#,
    ] {
        assert!(read(wrong).is_none(), "{wrong}");
    }
}
