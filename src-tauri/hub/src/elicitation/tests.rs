use drawbridge_jsonrpc::json;
use serde_json::{Value, json};

use super::{ContentError, Elicitation, ElicitationError};

fn read(params: Value) -> Result<Elicitation, ElicitationError> {
    Elicitation::read(&json::to_raw(&params))
}

fn form(properties: Value, required: Value) -> Elicitation {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    read(json!({"message": "m", "requestedSchema": schema})).expect("a form")
}

#[test]
fn each_kind_of_field_accepts_only_values_that_fit() {
    let cases = [
        (json!({"type": "string"}), json!("x"), json!(1)),
        (
            json!({"type": "string", "minLength": 2}),
            json!("äö"),
            json!("ä"),
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            json!("äö"),
            json!("abc"),
        ),
        (
            json!({"type": "string", "format": "email"}),
            json!("a@b.example"),
            json!("a@@b"),
        ),
        (
            json!({"type": "string", "format": "uri"}),
            json!("https://a.example/x"),
            json!("not a url"),
        ),
        (
            json!({"type": "string", "format": "date"}),
            json!("2026-02-28"),
            json!("2026-02-30"),
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("2026-02-28T10:00:00+01:00"),
            json!("2026-02-28T10:00:00"),
        ),
        (
            json!({"type": "integer", "minimum": 1, "maximum": 3}),
            json!(3),
            json!(4),
        ),
        (json!({"type": "integer"}), json!(2.0), json!(2.5)),
        (
            json!({"type": "number", "minimum": 0.5}),
            json!(0.5),
            json!(0.4),
        ),
        (json!({"type": "boolean"}), json!(false), json!("false")),
        (
            json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}),
            json!("a"),
            json!("A"),
        ),
        (
            json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}),
            json!("a"),
            json!("A"),
        ),
        (
            json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1}),
            json!(["b"]),
            json!(["a", "b"]),
        ),
        (
            json!({"type": "array", "minItems": 1, "items": {"anyOf": [{"const": "a", "title": "A"}]}}),
            json!(["a"]),
            json!([]),
        ),
        (
            json!({"type": "array", "items": {"enum": ["a"]}}),
            json!([]),
            json!(["a", "a"]),
        ),
    ];
    for (schema, good, bad) in cases {
        let form = form(json!({"field": schema}), json!(["field"]));
        let check = |value: &Value| form.check(Some(&json!({"field": value}).to_string()));
        assert_eq!(
            check(&good),
            Ok(vec!["field".to_owned()]),
            "{schema} {good}"
        );
        let error = check(&bad).expect_err(&format!("{schema} {bad}"));
        assert!(matches!(error, ContentError::Wrong { .. }), "{error}");
    }
}

#[test]
fn required_fields_are_demanded_and_unknown_fields_are_refused_without_quoting_values() {
    let form = form(
        json!({"pin": {"type": "string", "maxLength": 4}, "note": {"type": "string"}}),
        json!(["pin"]),
    );
    let check = |content: &str| form.check(Some(content));
    assert_eq!(
        check(r#"{"note":"x"}"#),
        Err(ContentError::Missing("pin".into()))
    );
    assert_eq!(
        check(r#"{"pin":"1","more":"s3cret"}"#),
        Err(ContentError::Unknown("more".into()))
    );
    assert_eq!(check(r#"["s3cret"]"#), Err(ContentError::NotObject));
    let error = check(r#"{"pin":"s3cret"}"#)
        .expect_err("too long")
        .to_string();
    assert_eq!(error, "'pin' must be at most 4 characters long");
    assert_eq!(form.check(None), Err(ContentError::NoContent));
}

#[test]
fn only_forms_and_urls_that_a_person_can_be_shown_are_accepted() {
    let nested = json!({"type": "object", "properties": {"a": {"type": "object"}}});
    let empty = json!({"type": "object", "properties": {"a": {"type": "string", "enum": []}}});
    let many: serde_json::Map<_, _> = (0..101)
        .map(|n| (format!("f{n}"), json!({"type": "boolean"})))
        .collect();
    for params in [
        json!({"message": "m"}),
        json!({"message": "m", "requestedSchema": nested}),
        json!({"message": "m", "requestedSchema": empty}),
        json!({"message": "m", "requestedSchema": {"type": "object", "properties": many}}),
        json!({"mode": "url", "message": "m", "url": "file:///etc/passwd"}),
        json!({"mode": "url", "message": "m", "url": "http://example.com/"}),
        json!({"mode": "url", "message": "m"}),
        json!({"mode": "window", "message": "m"}),
    ] {
        read(params.clone()).expect_err(&params.to_string());
    }
    let url = read(json!({"mode": "url", "message": "m", "url": "https://example.com/x"}))
        .expect("a URL");
    assert_eq!(url.check(None), Ok(Vec::new()));
    assert_eq!(url.check(Some("{}")), Err(ContentError::NoForm));
}
