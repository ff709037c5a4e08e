use std::time::Instant;

use serde_json::json;

use super::*;
use crate::{catalog::Definition, model::capability::Kind};

fn checked(schema: &Value, arguments: &Value) -> Result<(), String> {
    let arguments = serde_json::value::to_raw_value(arguments).expect("json");
    compile("t", schema).map_or(Ok(()), |validator| check_arguments(&validator, &arguments))
}

#[test]
fn a_fault_names_the_path_and_the_rule() {
    let schema = json!({"type":"object","required":["path"],"properties":{"path":{"type":"string"},
        "edits":{"type":"array","items":{"type":"object","properties":{"line":{"type":"integer","minimum":1}}}}}});
    assert_eq!(checked(&schema, &json!({"path":"/a","edits":[{"line":1}]})), Ok(()));
    let fault = checked(&schema, &json!({"path":"/a","edits":[{"line":0}]})).expect_err("too small");
    assert!(fault.starts_with("/edits/0/line: ") && fault.ends_with("(rule 'minimum')"), "{fault}");
    let fault = checked(&schema, &json!({})).expect_err("it is missing");
    assert!(fault.starts_with("the arguments: ") && fault.contains("path") && fault.ends_with("(rule 'required')"));
}

#[test]
fn a_reference_within_the_schema_is_followed_and_one_to_the_network_is_refused() {
    let schema = json!({"type":"object","properties":{"a":{"$ref":"#/$defs/word"}},"$defs":{"word":{"type":"string"}}});
    assert_eq!(check(&schema), Ok(()));
    assert!(checked(&schema, &json!({"a":1})).is_err());
    for to in ["https://example.com/schema.json", "http://127.0.0.1:1/x", "file:///etc/passwd", "//example.com/x"] {
        let schema = json!({"type":"object","properties":{"a":{"allOf":[{"$ref":to}]}}});
        assert!(check(&schema).expect_err("refused").contains(to));
    }
}

#[test]
fn a_schema_that_is_none_leaves_the_check_to_the_server() {
    assert_eq!(checked(&json!({"type":"no such type"}), &json!({"a":1})), Ok(()));
    assert_eq!(checked(&json!({"$schema":"https://example.com/mine","type":"object"}), &json!({"a":1})), Ok(()));
}

#[test]
fn a_schema_as_deep_as_the_sea_is_no_definition_and_costs_no_time() {
    let deep = format!("{}{}", r#"{"properties":{"a":"#.repeat(10_000), "{}".to_owned() + &"}}".repeat(10_000));
    let began = Instant::now();
    let read = Definition::read(Kind::Tools, format!(r#"{{"name":"deep","inputSchema":{deep}}}"#));
    assert!(read.is_err());
    assert!(began.elapsed().as_millis() < 100, "{:?}", began.elapsed());
}

#[test]
fn a_pattern_made_to_be_slow_ends() {
    let schema = json!({"type":"object","properties":{"a":{"type":"string","pattern":"^(?=(a+)+$)(a+)+b\\1$"}}});
    let began = Instant::now();
    let _ = checked(&schema, &json!({"a":"a".repeat(5_000)}));
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
}

#[test]
fn a_schema_that_demands_nothing_is_not_checked() {
    for schema in
        [json!({}), json!({"type":"object"}), json!({"type":"object","properties":{},"required":[]}), json!(null)]
    {
        assert!(compile("t", &schema).is_none(), "{schema}");
    }
    for schema in [json!({"type":"object","required":["a"]}), json!({"additionalProperties":false}), json!(false)] {
        assert!(compile("t", &schema).is_some(), "{schema}");
    }
}
