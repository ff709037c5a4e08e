//! Escaping of text for a terminal, indentation of JSON, and texts of enums.

use drawbridge_model::policy::Effect;

use super::{enum_text, escape, escape_json, indent_json};

#[test]
fn characters_that_a_terminal_interprets_or_hides_are_escaped() {
    assert_eq!(
        escape("a\u{1b}[31mb\u{202e}c\u{200b}d\u{e0041}\ne\u{9b}"),
        r"a\u{1b}[31mb\u{202e}c\u{200b}d\u{e0041}\ne\u{9b}"
    );
    assert_eq!(escape("grüße 漢字 ✓"), "grüße 漢字 ✓");
}

#[test]
fn escaped_json_has_the_same_value() {
    let text = "a\u{202e}\u{e0041}\u{7f}ü";
    let json = serde_json::to_string(text).expect("JSON");
    assert_eq!(escape_json(&json), r#""a\u202e\udb40\udc41\u007fü""#);
    assert_eq!(
        serde_json::from_str::<String>(&escape_json(&json)).expect("JSON"),
        text
    );
}

#[test]
fn json_is_indented_without_changing_a_token() {
    let json =
        r#"{"a" : [1.0e2, 12345678901234567890123], "a":{}, "s":"x{[,:\\\"}", "e":[ ], "n":[[1]]}"#;
    let expected = r#"{
  "a": [
    1.0e2,
    12345678901234567890123
  ],
  "a": {},
  "s": "x{[,:\\\"}",
  "e": [],
  "n": [
    [
      1
    ]
  ]
}"#;
    assert_eq!(indent_json(json), expected);
    assert_eq!(indent_json("7"), "7");
}

#[test]
fn an_enum_has_the_same_text_as_in_the_api() {
    assert_eq!(enum_text(Effect::Ask), "ask");
}
