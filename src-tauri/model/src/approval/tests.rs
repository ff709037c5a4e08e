//! Tests of how a verdict is read from JSON.

use super::Verdict;

#[test]
fn a_verdict_survives_a_round_trip() {
    for text in [
        r#"{"kind":"approve_once","arguments":"{}"}"#,
        r#"{"kind":"approve_for","seconds":900,"conditions":[{"pointer":"/n","is":{"equals":1.50}}]}"#,
        r#"{"kind":"approve_calls","count":10,"conditions":[{"pointer":"/n","is":{"between":{"min":1,"max":2.0}}}]}"#,
        r#"{"kind":"approve_session","conditions":[{"pointer":"/b","is":{"one_of":["main",null]}}]}"#,
        r#"{"kind":"approve_always","conditions":[{"pointer":"/a","is":{"equals":"a \u0000 b"}}]}"#,
        r#"{"kind":"deny","reason":"no"}"#,
    ] {
        let verdict: Verdict = serde_json::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(serde_json::to_string(&verdict).expect("JSON"), text);
    }
}

#[test]
fn an_incomplete_verdict_is_refused_with_the_missing_field() {
    for (text, field) in [
        (r#"{"kind":"approve_for"}"#, "seconds"),
        (r#"{"kind":"approve_calls"}"#, "count"),
        ("{}", "kind"),
    ] {
        let error = serde_json::from_str::<Verdict>(text)
            .expect_err(text)
            .to_string();
        assert!(error.contains(field), "{error}");
    }
}
