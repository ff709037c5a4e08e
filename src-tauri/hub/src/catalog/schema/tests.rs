use drawbridge_jsonrpc::json;
use drawbridge_model::capability::CapabilityKind;
use serde_json::json;

use super::*;
use crate::catalog::Definition;

fn check_strictly(schema: &Value, arguments: &Value) -> Result<(), String> {
    check_with(Validate::Strict, schema, arguments)
}

fn check_with(validate: Validate, schema: &Value, arguments: &Value) -> Result<(), String> {
    let arguments = serde_json::value::to_raw_value(arguments).expect("json");
    compile_validator("t", schema).map_or(Ok(()), |validator| {
        check_arguments(&validator, &arguments, validate, budget(5_000_000))
            .expect("within the budget")
            .map_err(|mismatch| mismatch.to_string())
    })
}

#[test]
fn a_violation_names_the_path_and_the_schema_keyword() {
    let schema = json!({"type":"object","required":["path"],"properties":{"path":{"type":"string"},
        "edits":{"type":"array","items":{"type":"object","properties":{"line":{"type":"integer","minimum":1}}}}}});
    assert_eq!(
        check_strictly(&schema, &json!({"path":"/a","edits":[{"line":1}]})),
        Ok(())
    );
    let violation =
        check_strictly(&schema, &json!({"path":"/a","edits":[{"line":0}]})).expect_err("too small");
    assert!(
        violation.starts_with("/edits/0/line: ")
            && violation.ends_with("(schema keyword 'minimum')"),
        "{violation}"
    );
    let violation =
        check_strictly(&schema, &json!({})).expect_err("a required property is missing");
    assert!(
        violation.starts_with("the arguments: ")
            && violation.contains("path")
            && violation.ends_with("(schema keyword 'required')")
    );
}

#[test]
fn a_local_reference_is_followed_and_a_remote_reference_is_rejected() {
    let schema = json!({"type":"object","properties":{"a":{"$ref":"#/$defs/word"}},"$defs":{"word":{"type":"string"}}});
    assert_eq!(check_references(&schema), Ok(()));
    assert!(check_strictly(&schema, &json!({"a":1})).is_err());
    for to in [
        "https://example.com/schema.json",
        "http://127.0.0.1:1/x",
        "file:///etc/passwd",
        "//example.com/x",
    ] {
        let schema = json!({"type":"object","properties":{"a":{"allOf":[{"$ref":to}]}}});
        assert!(
            check_references(&schema)
                .expect_err("the reference is rejected")
                .to_string()
                .contains(to)
        );
    }
}

#[test]
fn an_invalid_schema_leaves_the_check_to_the_server() {
    assert_eq!(
        check_strictly(&json!({"type":"no such type"}), &json!({"a":1})),
        Ok(())
    );
    assert_eq!(
        check_strictly(
            &json!({"$schema":"https://example.com/mine","type":"object"}),
            &json!({"a":1})
        ),
        Ok(())
    );
}

#[test]
fn a_too_deep_schema_is_rejected() {
    let deep = format!(
        "{}{}",
        r#"{"properties":{"a":"#.repeat(10_000),
        "{}".to_owned() + &"}}".repeat(10_000)
    );
    let read = Definition::parse(
        CapabilityKind::Tools,
        format!(r#"{{"name":"deep","inputSchema":{deep}}}"#),
    );
    let error = read.expect_err("too deep").to_string();
    assert!(
        error.contains("recursion limit"),
        "reading stops at a depth limit, not at the end of the text: {error}"
    );
}

#[test]
fn a_pattern_is_given_up_after_too_many_steps() {
    let check = |pattern: &str, text: &str| {
        let schema =
            json!({"type":"object","properties":{"a":{"type":"string","pattern":pattern}}});
        check_strictly(&schema, &json!({ "a": text }))
    };
    // Without a limit, this would take longer than anybody can wait.
    assert!(check("^(?=(a+)+$)(a+)+b\\1$", &"a".repeat(5_000)).is_err());
    // Both texts match, but the longer text only after a number of steps that grows with the fourth
    // power of its length.
    let pattern_with_backreference = "^(a*)(a*)(a*)(a*)\\1c$";
    assert_eq!(check(pattern_with_backreference, "aaaac"), Ok(()));
    let violation = check(pattern_with_backreference, &format!("{}c", "a".repeat(200)))
        .expect_err("the match is given up");
    assert!(
        violation.ends_with("(schema keyword 'pattern')"),
        "{violation}"
    );
}

#[test]
fn an_unconstrained_schema_is_not_checked() {
    for schema in [
        json!({}),
        json!({"type":"object"}),
        json!({"type":"object","properties":{},"required":[]}),
        json!(null),
    ] {
        assert!(compile_validator("t", &schema).is_none(), "{schema}");
    }
    for schema in [
        json!({"type":"object","required":["a"]}),
        json!({"additionalProperties":false}),
        json!(false),
    ] {
        assert!(compile_validator("t", &schema).is_some(), "{schema}");
    }
}

/// Returns the schema of an object with one optional property `v`.
fn with_property(property: &Value) -> Value {
    json!({"type":"object","properties":{"v":property},"additionalProperties":false})
}

#[test]
fn coercible_values_fit_unless_the_spec_is_strict() {
    let (number, integer, truth) = (
        json!({"type":"number"}),
        json!({"type":"integer"}),
        json!({"type":"boolean"}),
    );
    let text = json!({"type":"string"});
    let point = json!({"type":"object","required":["x"],"properties":{"x":integer,"y":integer}});
    let optional_point =
        json!({"anyOf":[{"$ref":"#/properties/v/$defs/p"},{"type":"null"}],"$defs":{"p":point}});
    let list = json!({"type":"array","items":integer});
    for (property, value) in [
        (&integer, json!("2")),
        (&integer, json!(" -3 ")),
        (&integer, json!("2.0")),
        (&number, json!("2.5e3")),
        (&truth, json!("true")),
        (&truth, json!("False")),
        (&text, json!(5)),
        (&text, json!(true)),
        (&text, json!(null)),
        (&integer, json!(null)),
        (&point, json!("{\"x\":1}")),
        (&point, json!("{\"x\":\"1\",\"y\":null}")),
        (&list, json!("[1,2]")),
        (&list, json!(["1", 2, "3"])),
        (&list, json!("[\"1\"]")),
        (&optional_point, json!("{\"x\":\"1\"}")),
        (&optional_point, json!("null")),
        (&json!({"anyOf":[integer, truth]}), json!("true")),
        (
            &json!({"oneOf":[{"type":"object","required":["a"]}, list]}),
            json!("[\"4\"]"),
        ),
        (
            &json!({"oneOf":[{"type":"integer","minimum":5}, {"type":"string","minLength":3}]}),
            json!("7"),
        ),
        (&json!({"allOf":[integer, {"minimum":1}]}), json!("3")),
        (&json!({"enum":[1, 2]}), json!("2")),
        (&json!({"type":"integer","enum":[1, 2]}), json!("2")),
        (&json!({"enum":["1", "2"]}), json!(2)),
        (&json!({"const":true}), json!("true")),
        (&json!({"enum":["a"]}), json!(null)),
        (&json!({"type":["integer","boolean"]}), json!("true")),
        (
            &json!({"type":"array","items":point}),
            json!([{"x":"1"}, "{\"x\":2}"]),
        ),
        (
            &json!({"type":"array","items":{"anyOf":[integer, {"type":"null"}]}}),
            json!(vec!["7"; 300]),
        ),
        (
            &json!({"anyOf":[{"type":"integer","minimum":9}, {"type":"array","items":integer}, truth]}),
            json!("false"),
        ),
    ] {
        let arguments = json!({"v": value});
        assert!(
            check_with(Validate::Strict, &with_property(property), &arguments).is_err(),
            "{property} {value}"
        );
        assert_eq!(
            check_with(Validate::Coercible, &with_property(property), &arguments),
            Ok(()),
            "{property} {value}"
        );
    }
}

#[test]
fn unconvertible_values_are_rejected_with_the_violations_of_the_original() {
    let integer = json!({"type":"integer","minimum":1});
    for (property, value) in [
        (&integer, json!("two")),
        (&integer, json!("0")),
        (&integer, json!("1.5")),
        (&integer, json!("")),
        (&integer, json!("1e999")),
        (&integer, json!(true)),
        (&json!({"type":"boolean"}), json!("yes")),
        (&json!({"type":"boolean"}), json!(1)),
        (&json!({"type":"string"}), json!(["a"])),
        (&json!({"type":"object"}), json!("[1]")),
        (
            &json!({"type":"array","items":{"type":"integer"}}),
            json!([null]),
        ),
        (
            &json!({"type":"array","items":{"type":"integer"}}),
            json!("[\"x\"]"),
        ),
        (&json!({"enum":[1, 2]}), json!("3")),
        (
            &json!({"anyOf":[{"type":"integer"},{"type":"boolean"}]}),
            json!("maybe"),
        ),
    ] {
        let arguments = json!({"v": value});
        let strict = check_with(Validate::Strict, &with_property(property), &arguments)
            .expect_err("strict validation rejects the value");
        assert_eq!(
            check_with(Validate::Coercible, &with_property(property), &arguments),
            Err(strict.clone()),
            "{property} {value}"
        );
        assert!(
            strict.contains("/v: ") || strict.contains("/v/0: "),
            "{strict}"
        );
        assert_eq!(
            check_with(Validate::Off, &with_property(property), &arguments),
            Ok(()),
            "{property} {value}"
        );
    }
}

#[test]
fn a_null_for_a_required_property_is_rejected() {
    let schema = json!({"type":"object","required":["v"],"properties":{"v":{"type":"string"}}});
    let violation = check_with(Validate::Coercible, &schema, &json!({"v":null}))
        .expect_err("a required property is null");
    assert!(
        violation.starts_with("/v: null"),
        "the error shows the value that was sent, not the converted value: {violation}"
    );
}

#[test]
fn the_search_for_conversions_is_bounded() {
    // Each alternative needs the conversion of a different member, and at most one alternative fits
    // afterwards.
    let members: serde_json::Map<String, Value> =
        (0..40).map(|n| (format!("m{n}"), json!("1"))).collect();
    let check = |fitting: usize, length: usize| {
        let alternatives: Vec<Value> = (0..members.len())
            .map(|n| (format!("m{n}"), if n == fitting { 1 } else { 100 }))
            .map(
                |(name, minimum)| json!({"properties":{name:{"type":"integer","minimum":minimum}}}),
            )
            .collect();
        let schema = with_property(&json!({"type":"array","items":{"anyOf":alternatives}}));
        let items = vec![Value::from(members.clone()); length];
        check_with(Validate::Coercible, &schema, &json!({ "v": items })).is_ok()
    };
    assert!(check(3, 1), "the fourth alternative is tried");
    assert!(!check(39, 1), "the search ends before the last alternative");
    assert!(
        !check(usize::MAX, 100),
        "without a bound, this would be 40 to the power of 100 attempts"
    );
}

#[test]
fn a_schema_with_an_id_can_refer_to_its_own_parts() {
    let word = json!({"type":"string"});
    for schema in [
        json!({"$id":"https://example.com/s","type":"object","properties":{"a":{"$ref":"https://example.com/s#/$defs/w"}},"$defs":{"w":word}}),
        json!({"$id":"https://example.com/s","type":"object","properties":{"a":{"$ref":"s#/$defs/w"}},"$defs":{"w":word}}),
        json!({"$id":"https://example.com/d/s","type":"object","properties":{"a":{"$ref":"/d/w"}},"$defs":{"x":{"$id":"w","type":"string"}}}),
        json!({"$id":"https://example.com/s","type":"object","properties":{"a":{"$ref":"https://example.com/w#word"}},
            "$defs":{"x":{"$id":"https://example.com/w","$defs":{"y":{"$anchor":"word","type":"string"}}}}}),
        json!({"type":"object","properties":{"a":{"$ref":"w"}},"$defs":{"x":{"$id":"w","type":"string"}}}),
        json!({"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://example.com/s","type":"object",
            "properties":{"a":{"$ref":"https://example.com/s#/definitions/w"}},"definitions":{"w":word}}),
        json!({"$schema":"http://json-schema.org/draft-04/schema#","id":"https://example.com/s","type":"object",
            "properties":{"a":{"$ref":"https://example.com/s#/definitions/w"}},"definitions":{"w":word}}),
        json!({"$id":"urn:example:s","type":"object","properties":{"a":{"$ref":"urn:example:s#/$defs/w"}},"$defs":{"w":word}}),
    ] {
        assert_eq!(check_references(&schema), Ok(()), "{schema}");
        assert!(compile_validator("t", &schema).is_some(), "{schema}");
        assert!(
            check_strictly(&schema, &json!({"a":1})).is_err(),
            "the reference is followed: {schema}"
        );
        assert_eq!(
            check_strictly(&schema, &json!({"a":"x"})),
            Ok(()),
            "{schema}"
        );
    }
}

#[test]
fn a_schema_may_refer_to_the_metaschemas() {
    for to in [
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-04/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2020-12/meta/validation",
    ] {
        let schema = with_property(&json!({"$ref":to}));
        assert_eq!(check_references(&schema), Ok(()), "{to}");
        assert_eq!(
            check_strictly(&schema, &json!({"v":{"type":"string"}})),
            Ok(()),
            "{to}"
        );
        assert!(
            check_strictly(&schema, &json!({"v":{"type":7}})).is_err(),
            "{to}"
        );
    }
}

#[test]
fn an_unrelated_id_does_not_make_a_remote_reference_local() {
    for schema in [
        json!({"$id":"https://example.com/s","$ref":"https://example.com/t"}),
        json!({"$id":"https://example.com/s","properties":{"a":{"$ref":"t#/$defs/x"}}}),
        json!({"$ref":"https://example.com/t","default":{"$id":"https://example.com/t"}}),
        json!({"properties":{"default":{"$ref":"https://example.com/t"}}}),
        json!({"id":"https://example.com/s","$ref":"https://example.com/s#/x"}),
        json!({"$ref":"https://json-schema.org/draft/2020-12/other"}),
        json!({"$id":"file:///etc/a","$ref":"passwd"}),
    ] {
        assert!(
            check_references(&schema)
                .expect_err("the reference is rejected")
                .to_string()
                .contains("Drawbridge does not fetch schemas"),
            "{schema}"
        );
    }
    let with_default = json!({"type":"object","default":{"$ref":"https://example.com/t"},
        "properties":{"$ref":{"type":"string"}}});
    assert_eq!(
        check_references(&with_default),
        Ok(()),
        "a reference in a default is ignored"
    );
}

#[test]
fn a_recursive_schema_does_not_overflow_the_stack() {
    for schema in [
        json!({"$ref":"#"}),
        json!({"$id":"https://example.com/s","$ref":"https://example.com/s"}),
    ] {
        let _ = check_strictly(&schema, &json!({"a":1}));
    }
}

/// Returns a schema with `n + 1` definitions. Each definition after the first refers twice to the
/// definition before.
fn doubling_schema(n: u32) -> Value {
    let mut definitions = json!({"a0": {"required": ["zz"]}});
    for i in 1..=n {
        let before = json!({"$ref": format!("#/$defs/a{}", i - 1)});
        definitions[format!("a{i}")] = json!({"anyOf": [before, before]});
    }
    json!({"type": "object", "$ref": format!("#/$defs/a{n}"), "$defs": definitions})
}

fn budget(steps: u32) -> Budget {
    Budget::new((steps, std::time::Duration::from_secs(60)))
}

/// Checks arguments with a budget of `steps` steps.
fn check_in_steps(
    schema: &Value,
    arguments: &Value,
    steps: u32,
) -> Option<Result<(), ArgumentsMismatch>> {
    let validator = compile_validator("t", schema).expect("a validator");
    let arguments = serde_json::value::to_raw_value(arguments).expect("json");
    check_arguments(&validator, &arguments, Validate::Strict, budget(steps))
}

#[test]
fn a_schema_that_expands_too_much_is_rejected() {
    assert_eq!(check_complexity(&doubling_schema(10)), Ok(()));
    for n in [20, 30, 2_000] {
        assert_eq!(check_complexity(&doubling_schema(n)), Err(TooComplex));
    }
    let recursive = json!({"properties":{"x":{"$ref":"#"},"y":{"$ref":"#"}}});
    assert_eq!(check_complexity(&recursive), Ok(()));
    let mut chain = json!({});
    for i in 0..20_000 {
        chain[format!("a{i}")] = json!({"$ref": format!("#/$defs/a{}", i + 1)});
    }
    let chain = json!({"$ref": "#/$defs/a0", "$defs": chain});
    assert_eq!(check_complexity(&chain), Err(TooComplex));
}

#[test]
fn a_check_ends_with_its_budget() {
    let schema = doubling_schema(14);
    assert!(check_in_steps(&schema, &json!({}), 10_000).is_none());
    let checked = check_in_steps(&schema, &json!({}), 1_000_000);
    assert!(checked.expect("within the budget").is_err());
    assert_eq!(
        check_in_steps(&schema, &json!({"zz":1}), 10_000),
        Some(Ok(()))
    );
}

#[test]
fn recursion_along_the_arguments_ends_with_the_budget_in_old_drafts() {
    let mut arguments = json!({});
    for _ in 0..60 {
        arguments = json!({"x": arguments});
    }
    for draft in ["draft-04/schema#", "draft-07/schema#"] {
        let draft = format!("http://json-schema.org/{draft}");
        let again = json!({"properties":{"x":{"$ref":"#/definitions/a"}},"required":["zz"]});
        let schema = json!({"$schema": draft, "type": "object", "allOf": [{"$ref":"#/definitions/a"}],
            "definitions": {"a": {"anyOf": [again, again]}}});
        assert_eq!(check_complexity(&schema), Ok(()));
        assert!(
            check_in_steps(&schema, &arguments, 100_000).is_none(),
            "{draft}"
        );
    }
}

#[test]
fn a_check_ends_at_its_deadline() {
    let validator = compile_validator("t", &doubling_schema(14)).expect("a validator");
    let budget = Budget::new((u32::MAX, std::time::Duration::ZERO));
    let arguments = json::raw("{}".into());
    let checked = check_arguments(&validator, &arguments, Validate::Strict, budget);
    assert!(checked.is_none());
}

#[test]
fn a_schema_that_refers_to_a_value_without_a_step_count_is_not_checked() {
    for to in ["#/default/a", "#/properties/p/enum/0", "#/$defs"] {
        let schema =
            json!({"type":"object","default":{"a":{"required":["zz"]}},"allOf":[{"$ref":to}]});
        assert!(compile_validator("t", &schema).is_none(), "{to}");
    }
    let schema = json!({"type":"object","properties":{"default":{"type":"string"},"b":{"$ref":"#/properties/default"}}});
    assert!(check_strictly(&schema, &json!({"b":1})).is_err());
}

#[test]
fn a_violation_shows_the_schema_as_the_server_wrote_it() {
    let schema = json!({"type":"object","properties":{"a":{"not":{"anyOf":[{"type":"string"}]}}}});
    let violation = check_strictly(&schema, &json!({"a":"x"})).expect_err("a string");
    assert_eq!(
        violation,
        r#"/a: {"anyOf":[{"type":"string"}]} is not allowed for "x" (schema keyword 'not')"#
    );
}
