use drawbridge_jsonrpc::json;
use serde_json::json;

use super::*;

#[test]
fn a_header_value_survives_encoding_and_decoding() {
    for (value, header) in [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("", ""),
    ] {
        assert_eq!(encode(value), header);
        assert_eq!(decode(header).as_deref(), Some(value));
    }
    for broken in ["=?base64?%%?=", "=?base64?/w==?=", "\u{7f}"] {
        assert_eq!(decode(broken), None, "{broken}");
    }
}

#[test]
fn header_params_have_the_paths_of_their_arguments() {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "at": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
        // Here `x-mcp-header` is the name of an ordinary argument, and marks nothing.
        "x-mcp-header": {"type": "string"},
    }});
    let mut found = header_params(&schema).expect("a valid schema");
    found.sort_by(|a, b| a.header.cmp(&b.header));
    let read: Vec<_> = found
        .iter()
        .map(|param| (param.header.as_str(), param.path.join(".")))
        .collect();
    assert_eq!(
        read,
        [
            ("mcp-param-n", "at.n".to_owned()),
            ("mcp-param-region", "region".to_owned())
        ]
    );
    let arguments = json::raw(r#"{"at":{"n":42.0},"region":null}"#.into());
    assert_eq!(param_value(&arguments, &found[0]).as_deref(), Some("42.0"));
    assert_eq!(param_value(&arguments, &found[1]), None);
}

#[test]
fn an_invalid_x_mcp_header_is_rejected() {
    let string = |name: &str| json!({"type": "string", "x-mcp-header": name});
    for schema in [
        json!({"properties": {"a": string("")}}),
        json!({"properties": {"a": string("a b")}}),
        json!({"properties": {"a": string("A"), "b": string("a")}}),
        json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
        json!({"properties": {"a": {"type": "array", "items": string("A")}}}),
        json!({"anyOf": [{"properties": {"a": string("A")}}]}),
        json!({"$defs": {"d": string("A")}}),
        string("A"),
    ] {
        assert!(header_params(&schema).is_err(), "{schema}");
    }
}

#[test]
fn safe_integers_match_in_any_notation_and_other_values_only_as_text() {
    for (header, body, same) in [
        ("42", "42.0", true),
        ("-7", "-7", true),
        ("42", "43", false),
        ("9007199254740993", "9007199254740992", false),
        ("true", "true", true),
        ("1.5", "1.50", false),
    ] {
        assert_eq!(values_match(header, body), same, "{header} {body}");
    }
}
