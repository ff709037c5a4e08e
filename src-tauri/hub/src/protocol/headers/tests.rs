use serde_json::json;

use super::*;
use crate::model::json;

#[test]
fn a_value_crosses_as_it_is_or_encoded_and_comes_back_the_same() {
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
fn the_arguments_that_a_schema_wants_in_headers_are_found_by_their_path() {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "at": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
        "x-mcp-header": {"type": "string"},
    }});
    let mut found = mirrored(&schema).expect("mirrored");
    found.sort_by(|a, b| a.header.cmp(&b.header));
    let said: Vec<_> = found
        .iter()
        .map(|one| (one.header.as_str(), one.path.join(".")))
        .collect();
    assert_eq!(
        said,
        [
            ("mcp-param-n", "at.n".to_owned()),
            ("mcp-param-region", "region".to_owned())
        ]
    );
    let arguments = json::raw(r#"{"at":{"n":42.0},"region":null}"#.into());
    assert_eq!(value(&arguments, &found[0]).as_deref(), Some("42.0"));
    assert_eq!(value(&arguments, &found[1]), None);
}

#[test]
fn a_schema_that_wants_it_where_it_cannot_be_is_not_usable() {
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
        assert!(mirrored(&schema).is_err(), "{schema}");
    }
}

#[test]
fn integers_say_the_same_however_they_are_written() {
    for (header, body, same) in [
        ("42", "42.0", true),
        ("-7", "-7", true),
        ("42", "43", false),
        ("9007199254740993", "9007199254740992", false),
        ("true", "true", true),
        ("1.5", "1.50", false),
    ] {
        assert_eq!(says(header, body), same, "{header} {body}");
    }
}
