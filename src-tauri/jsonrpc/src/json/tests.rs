use arbitrary_json::{Choices, nested_object};
use proptest::prelude::*;

use super::*;

fn rewrite(text: &str, change: impl FnOnce(&mut RawObject<'_>)) -> String {
    let value = RawValue::from_string(text.to_owned()).expect("json");
    let mut object = RawObject::parse(&value).expect("object");
    change(&mut object);
    object.to_raw().get().to_owned()
}

#[test]
fn unchanged_members_keep_their_exact_text() {
    let text = r#"{"b":1.0,"a":1e400,"n":12345678901234567890,"x":{"z" : [ ]}}"#;
    assert_eq!(rewrite(text, |_| {}), text);
}

#[test]
fn a_member_is_replaced_in_its_place() {
    assert_eq!(
        rewrite(r#"{"a":1,"b":2}"#, |o| o.set("a", raw("3".into()))),
        r#"{"a":3,"b":2}"#
    );
}

#[test]
fn an_escaped_key_is_found_by_its_unescaped_name() {
    assert_eq!(rewrite(r#"{"\u0061":1}"#, |o| o.remove("a")), "{}");
}

#[test]
fn a_key_that_occurs_twice_is_rejected() {
    let value = RawValue::from_string(r#"{"a":1,"\u0061":2}"#.into()).expect("json");
    assert!(RawObject::parse(&value).is_err());
}

#[test]
fn every_character_folds_like_its_variants() {
    for letter in '\0'..=char::MAX {
        properties::a_key_folds_like_its_variants(&letter.to_string());
    }
}

#[test]
fn keys_that_readers_may_confuse_fold_to_the_same_text() {
    for (key, variant) in [
        ("straße", "STRASSE"),
        ("straße", "STRAẞE"),
        ("paramſ", "params"),
        ("\u{212a}ey", "key"),
    ] {
        assert_eq!(fold_key(key), fold_key(variant));
    }
    assert_ne!(fold_key("name"), fold_key("names"));
}

#[test]
fn deep_nesting_is_kept_without_recursion() {
    let text = nested_object(100_000, &mut Choices::new(&[1; 100_000]));
    assert_eq!(rewrite(&text, |_| {}).len(), text.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_survives_a_round_trip(bytes: Vec<u8>) {
        let mut choices = Choices::new(&bytes);
        let members = choices.members();
        let text = choices.object(&members);
        properties::rewritten_is_the_same(&text);
        let key = |key: &str| quote(&serde_json::from_str::<String>(key).expect("a key"));
        let expected: Vec<String> = members.iter().map(|(name, value)| format!("{}:{value}", key(name))).collect();
        prop_assert_eq!(rewrite(&text, |_| {}), format!("{{{}}}", expected.join(",")));
    }

    #[test]
    fn a_duplicate_key_is_rejected_at_any_position(bytes: Vec<u8>, at in 0_usize..5, escaped: bool) {
        let mut choices = Choices::new(&bytes);
        let mut members = choices.members();
        members.push(("\"twice\"".to_owned(), choices.value()));
        let repeated_key = if escaped { "\"tw\\u0069ce\"" } else { "\"twice\"" };
        members.insert(at.min(members.len()), (repeated_key.to_owned(), choices.value()));
        let text = raw(choices.object(&members));
        prop_assert!(RawObject::parse(&text).is_err(), "{}", text);
    }

    #[test]
    fn any_text_is_parsed_or_rejected_without_a_panic(text: String) {
        properties::rewritten_is_the_same(&text);
        properties::a_key_folds_like_its_variants(&text);
    }
}

#[test]
fn a_value_with_a_unicode_escape_may_mention_any_text() {
    let mentions = |text: &str| mentions(&raw(text.to_owned()), "result");
    assert!(mentions(r#"{"result":1}"#));
    assert!(mentions(r#"{"re\u0073ult":1}"#));
    assert!(!mentions(r#"{"other":"\n"}"#));
}

#[test]
fn a_name_with_a_slash_is_found_if_the_slash_is_escaped() {
    let mentions = |json: &str, text: &str| mentions(&raw(json.to_owned()), text);
    assert!(mentions(r#"{"example\/key":1}"#, "example/key"));
    assert!(!mentions(r#"{"example\/key":1}"#, "result"));
}
