use super::*;

fn rewrite(text: &str, change: impl FnOnce(&mut RawObject<'_>)) -> String {
    let value = RawValue::from_string(text.to_owned()).expect("json");
    let mut object = RawObject::parse(&value).expect("object");
    change(&mut object);
    object.to_raw().get().to_owned()
}

#[test]
fn what_is_not_changed_stays_as_it_was_written() {
    let text = r#"{"b":1.0,"a":1e400,"n":12345678901234567890,"x":{"z" : [ ]}}"#;
    assert_eq!(rewrite(text, |_| {}), text);
}

#[test]
fn a_member_is_replaced_in_its_place() {
    assert_eq!(rewrite(r#"{"a":1,"b":2}"#, |o| o.set("a", raw("3".into()))), r#"{"a":3,"b":2}"#);
}

#[test]
fn an_escaped_key_is_found_by_what_it_says() {
    assert_eq!(rewrite(r#"{"\u0061":1}"#, |o| o.remove("a")), "{}");
}

#[test]
fn a_key_that_occurs_twice_is_refused() {
    let value = RawValue::from_string(r#"{"a":1,"\u0061":2}"#.into()).expect("json");
    assert!(RawObject::parse(&value).is_err());
}
