use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Redacts JSON without any known secrets.
fn redact(text: &str) -> Cow<'_, str> {
    redact_json(text, &|_| None)
}

const GITHUB: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const JWT: &str =
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";

#[test]
fn a_value_with_a_secret_name_is_masked() {
    for name in [
        "password",
        "PASSWORD",
        "db_password",
        "userPassword",
        "passwd",
        "Secret",
        "client_secret",
        "client-secret",
        "token",
        "access_token",
        "refreshToken",
        "api_key",
        "apikey",
        "API-KEY",
        "apiKey",
        "Authorization",
        "private_key",
        "privateKey",
        "credential",
        "credentials",
        "Cookie",
        "set-cookie",
        "x-api-key",
        "AWS_SECRET_ACCESS_KEY",
        "pwd",
        "pass",
        "pa\\u0073sword",
        "paſſword",
        "to\u{212a}en",
    ] {
        for value in [
            "\"hunter2\"",
            "12345",
            "-1.5e3",
            "{\"a\":[\"hunter2\"]}",
            "[\"hunter2\", {\"b\":\"]}\"}]",
        ] {
            let text = format!(r#"{{"before":1.0, "{name}" : {value} ,"after":"x"}}"#);
            let hidden = format!(r#"{{"before":1.0, "{name}" : "•••" ,"after":"x"}}"#);
            assert_eq!(redact(&text), hidden);
        }
    }
}

#[test]
fn values_that_are_no_secrets_are_unchanged() {
    for text in [
        r#"{"path":"/etc/hosts","n":1.10,"big":123456789012345678901234567890,"e":1E+2}"#,
        r#"{"max_tokens": 4096, "token": null, "use_token": true, "secret":"", "b":{"z":1,"a":2}}"#,
        r#"{"text":"task-force-of-the-disk-1234567890123456 says: ask-me-anything-at-all-2026","key":"k"}"#,
        r#"["monkey","author","tokenizer is a word","\u00e9","\ud83d\ude00", "\ud83d"]"#,
        r#"{"deep":{"password_":null},"list":["password", "secret"]}"#,
        "12",
        "\"eyJ\"",
        "",
        "no json, no secret",
        "{",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn a_token_format_is_masked_anywhere() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY-----";
    for secret in [
        GITHUB,
        "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
        "sk-proj-abcdefghijklmnop1234567890",
        "xoxb-1234567890-abcdefghij",
        "xoxp-1234567890-abc",
        "AKIAIOSFODNN7EXAMPLE",
        JWT,
        key,
        "-----BEGIN OPENSSH PRIVATE KEY-----\\nb3Bl",
        "sk-ant-api03-abcdefghijklmnop",
    ] {
        assert_eq!(
            redact(&format!(r#"{{"text":"{secret}"}}"#)),
            r#"{"text":"•••"}"#
        );
        assert_eq!(
            redact(&format!(r#"["one", "{secret}"]"#)),
            r#"["one", "•••"]"#
        );
        assert!(
            redact(&format!(r#"{{"{secret}":1}}"#)).starts_with(r#"{"•••":"#),
            "a secret in a member's name is masked"
        );
    }
    let header =
        format!(r#"{{"curl":"-H 'Authorization: Bearer 0123456789abcdef0123' -d {GITHUB} x"}}"#);
    assert_eq!(
        redact(&header),
        r#"{"curl":"-H 'Authorization: Bearer •••' -d ••• x"}"#
    );
    let escaped = format!(r#"{{"text":"\u0067{}"}}"#, &GITHUB[1..]);
    assert_eq!(
        redact(&escaped),
        r#"{"text":"•••"}"#,
        "a secret with escapes is masked"
    );
    assert_eq!(redact(&format!("no json: {GITHUB}.")), "no json: •••.");
}

#[test]
fn json_inside_a_string_is_redacted() {
    let inner = r#"{"user":"u","password":"hunter2"}"#;
    let text = format!(r#"{{"body":{}, "n":1.0}}"#, json::quote(inner));
    let hidden = format!(
        r#"{{"body":{}, "n":1.0}}"#,
        json::quote(r#"{"user":"u","password":"•••"}"#)
    );
    assert_eq!(redact(&text), hidden);
    let twice = format!("[{}]", json::quote(&text));
    assert!(!redact(&twice).contains("hunter2"), "{}", redact(&twice));
}

#[test]
fn known_secrets_are_masked_in_names_strings_and_numbers() {
    let known = |text: &str| {
        text.contains("424242")
            .then(|| text.replace("424242", MASK))
    };
    let hide = |text| redact_json(text, &known).into_owned();
    assert_eq!(
        hide(r#"{"a 424242":["b\n424242",1424242.5,424]}"#),
        r#"{"a •••":["b\n•••","•••",424]}"#
    );
}

/// Generates JSON of every shape, with names and strings that may be secret.
fn texts() -> impl Strategy<Value = String> {
    let string = prop_oneof![
        "[a-z\"\\\\\n\u{e9}]{0,12}",
        Just("password".to_owned()),
        Just("max_tokens".to_owned()),
        Just(GITHUB.to_owned()),
        Just(format!("x {JWT} y")),
        Just(r#"{"secret":"hunter2"}"#.to_owned()),
    ];
    let leaf = prop_oneof![
        string.clone().prop_map(|text| json::quote(&text)),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?",
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("\"\\ud800 sk-\"".to_owned()),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let space = "[ \n]{0,2}";
        let member = (string.clone(), space, inner.clone()).prop_map(|(name, space, value)| {
            format!("{}{space}:{space}{value}", json::quote(&name))
        });
        prop_oneof![
            (prop::collection::vec(inner, 0..5), space)
                .prop_map(|(all, space)| format!("[{space}{}{space}]", all.join(","))),
            prop::collection::vec(member, 0..5).prop_map(|all| format!("{{{}}}", all.join(", "))),
        ]
    })
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            texts.push(name.clone());
            collect_texts(value, texts);
        }),
        Value::Array(all) => all.iter().for_each(|value| collect_texts(value, texts)),
        Value::String(text) => texts.push(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn a_known_secret_is_masked_in_any_escaping() {
    let known = |text: &str| {
        let masked = text.replace("ab/cd+ef==", MASK);
        (masked != text).then_some(masked)
    };
    for text in [
        r#"{"a":"x ab\/cd+ef== y"}"#,
        r#"{"a":"\ud800 ab/cd+ef== y"}"#,
        r#"{"a":"\udc00\\ab\/cd+ef==\ud83d"}"#,
        r#"["\ud83d\ude00 ab\/cd+ef==\ud800\ud800"]"#,
    ] {
        let hidden = redact_json(text, &known);
        assert!(
            hidden.contains(MASK) && !hidden.contains("cd+ef"),
            "{text} became {hidden}"
        );
    }
    let harmless = r#"{"a":"\ud800 \/ nothing"}"#;
    assert_eq!(
        redact_json(harmless, &known),
        harmless,
        "only the secret changes"
    );
}

proptest! {
    #[test]
    fn redacted_json_is_valid_and_stable(text in texts()) {
        let hidden = redact(&text);
        prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&hidden).is_ok(), "{text} became {hidden}");
        for secret in [GITHUB, JWT, "hunter2"] {
            prop_assert!(!hidden.contains(secret), "{text} became {hidden}");
        }
        prop_assert_eq!(redact(&hidden), hidden.clone());
        let mut texts = Vec::new();
        if let Ok(value) = serde_json::from_str(&hidden) {
            collect_texts(&value, &mut texts);
        }
        prop_assert!(!texts.iter().any(|text| text.contains("ghp_")));
    }

    #[test]
    fn no_text_causes_a_panic(text in "(?s).{0,200}") {
        let _ = redact(&text);
        let _ = redact_json(&text, &|_| Some(MASK.to_owned()));
    }
}

#[test]
fn a_personal_access_token_is_masked_within_a_string_too() {
    let nested = r#"{"body":"{\"pat\":\"some value\"}"}"#;
    assert_eq!(redact(nested), r#"{"body":"{\"pat\":\"•••\"}"}"#);
}

#[test]
fn only_a_number_of_tokens_is_exempt() {
    for name in ["max_tokens", "tokenUsage", "completion-tokens"] {
        let text = format!(r#"{{"{name}":7}}"#);
        assert_eq!(redact(&text), text);
    }
    for name in ["cookie_tokenusage", "secret_tokens", "token_of_tokens"] {
        let masked = format!(r#"{{"{name}":"•••"}}"#);
        assert_eq!(redact(&format!(r#"{{"{name}":7}}"#)), masked);
    }
}

#[test]
fn a_name_with_a_masked_token_is_judged_as_it_is_written() {
    for name in [
        format!("cookie {JWT}tokenusage"),
        // Without the token, `to` and `ken` become one word.
        format!("to {GITHUB} ken"),
    ] {
        let redacted = redact(&format!(r#"{{"{name}":7}}"#)).into_owned();
        assert!(redacted.ends_with(r#":"•••"}"#), "{redacted}");
        assert_eq!(redact(&redacted), redacted);
    }
}
