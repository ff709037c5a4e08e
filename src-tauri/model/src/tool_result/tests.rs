//! Tests of the conversion of results.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn convert(result: &Value) -> ToolExecutionResult {
    ToolExecutionResult::from_result(result, Some(7))
}

#[test]
fn each_block_becomes_an_item_of_its_kind() {
    let table = [
        (json!({"type":"text","text":"hi"}), ContentKind::Text),
        (
            json!({"type":"image","data":"AA==","mimeType":"image/png"}),
            ContentKind::Image,
        ),
        (
            json!({"type":"audio","data":"AA==","mimeType":"audio/wav"}),
            ContentKind::Audio,
        ),
        (
            json!({"type":"resource_link","uri":"file:///a","name":"a"}),
            ContentKind::ResourceLink,
        ),
        (
            json!({"type":"resource","resource":{"uri":"file:///a","text":"hi"}}),
            ContentKind::Resource,
        ),
        (
            json!({"type":"resource","resource":{"uri":"file:///a","blob":"AA=="}}),
            ContentKind::Binary,
        ),
        (json!({"type":"video","data":"AA=="}), ContentKind::Unknown),
        (json!({"type":"text"}), ContentKind::Unknown),
        (
            json!({"type":"resource","resource":{}}),
            ContentKind::Unknown,
        ),
        (json!("text"), ContentKind::Unknown),
        (json!(null), ContentKind::Unknown),
    ];
    for (block, kind) in table {
        let items = convert(&json!({ "content": [block.clone()] })).content_items;
        assert_eq!(items.len(), 1, "{block}");
        assert_eq!(items[0].kind, kind, "{block}");
        if kind == ContentKind::Unknown {
            assert_eq!(items[0].raw, Some(block));
        }
    }
}

#[test]
fn members_without_a_place_of_their_own_are_kept() {
    let block = json!({
        "type": "text", "text": "hi", "annotations": { "priority": 1 }, "_meta": { "a": 1 }
    });
    let item = &convert(&json!({ "content": [block] })).content_items[0];
    assert_eq!(
        item.raw,
        Some(json!({ "annotations": { "priority": 1 }, "_meta": { "a": 1 } }))
    );
    let block = json!({"type":"resource","resource":{"uri":"u","text":"t","_meta":{"a":1}}});
    let item = &convert(&json!({ "content": [block] })).content_items[0];
    assert_eq!(
        item.raw.as_ref().expect("other members")["resource"]["_meta"],
        json!({ "a": 1 })
    );
}

#[test]
fn a_member_of_an_unexpected_type_stays_in_raw() {
    let table = [
        (
            json!({"type":"image","data":"","mimeType":{"type":"a"}}),
            json!({"mimeType":{"type":"a"}}),
        ),
        (
            json!({"type":"resource","resource":{"uri":{"a":1},"text":"t"}}),
            json!({"resource":{"uri":{"a":1},"text":"t"}}),
        ),
    ];
    for (block, rest) in table {
        let item = &convert(&json!({ "content": [block] })).content_items[0];
        assert_eq!(item.raw, Some(rest), "{block}");
    }
}

#[test]
fn the_history_is_the_first_part_that_is_not_empty() {
    let table = [
        (
            json!({"content":[{"type":"text","text":"a"},{"type":"image","data":"AA==","mimeType":"image/png"},
                   {"type":"text","text":"b"}],"structuredContent":{"x":1}}),
            "a\nb",
        ),
        (
            json!({"content":[{"type":"text","text":"  "},
                   {"type":"image","data":"AA==","mimeType":"image/png"},
                   {"type":"resource_link","uri":"file:///a","name":"a"},{"type":"video"}],
                   "structuredContent":{"x":1}}),
            "[image: image/png]\n[resource link: a, file:///a]\n[video]",
        ),
        (
            json!({"content":[{"type":"resource","resource":{"uri":"file:///a","text":"inside"}}]}),
            "[resource: file:///a]\ninside",
        ),
        (
            json!({"content":[],"structuredContent":{"x":1}}),
            r#"{"x":1}"#,
        ),
        (json!({"content":[]}), ""),
        (
            json!({"content":[],"isError":true}),
            "The tool failed without a message",
        ),
    ];
    for (result, history) in table {
        assert_eq!(convert(&result).history, history, "{result}");
    }
    let failed = ToolExecutionResult::from_error("it broke", None);
    assert_eq!((failed.success, &*failed.history), (false, "it broke"));
}

#[test]
fn the_content_of_a_failed_call_is_its_error_message() {
    let failed = convert(&json!({
        "content": [{ "type": "text", "text": "no such file" }], "isError": true, "_meta": { "a": 1 }
    }));
    assert!(!failed.success);
    assert_eq!(failed.error_message, "no such file");
    assert_eq!(failed.metadata, json!({ "a": 1 }));
    assert_eq!(failed.execution_time_ms, Some(7));
    assert_eq!(failed.content_length(), "no such file".len());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop_oneof![
            "[a-z]{0,4}",
            Just("text".to_owned()),
            Just("image".to_owned()),
            Just("resource".to_owned()),
            Just("resource_link".to_owned()),
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let key = prop_oneof![
            Just("type"),
            Just("text"),
            Just("data"),
            Just("resource"),
            Just("uri"),
            Just("blob"),
            Just("mimeType"),
            Just("other"),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(key.prop_map(str::to_owned), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Adds the strings in a JSON value, except keys, to `found`.
fn collect_strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, found)),
        Value::Object(members) => members
            .values()
            .for_each(|member| collect_strings(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

proptest! {
    #[test]
    fn any_result_is_converted_and_no_item_is_lost(
        blocks in prop::collection::vec(any_json(), 0..6),
        structured in any_json(),
        is_error in any::<bool>(),
    ) {
        let result = json!({
            "content": blocks, "structuredContent": structured, "isError": is_error
        });
        let converted = convert(&result);
        prop_assert_eq!(converted.content_items.len(), blocks.len());
        prop_assert_eq!(converted.success, !is_error);
        prop_assert_eq!(&converted.structured_content, &structured);
        for (block, item) in blocks.iter().zip(&converted.content_items) {
            let (mut sent, mut kept) = (Vec::new(), Vec::new());
            collect_strings(block, &mut sent);
            collect_strings(&serde_json::to_value(item).expect("an item is JSON"), &mut kept);
            for text in sent {
                // The type of a known block is its kind.
                let is_type = block["type"] == *text;
                prop_assert!(
                    is_type || kept.contains(&text),
                    "{text} of {block} is not in {kept:?}"
                );
            }
        }
        let read: ToolExecutionResult =
            serde_json::from_value(serde_json::to_value(&converted).expect("written"))
                .expect("read");
        prop_assert_eq!(read, converted);
    }

    #[test]
    fn any_json_is_converted(result in any_json()) {
        let _ = convert(&result);
    }
}
