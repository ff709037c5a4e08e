use super::*;

fn params(text: &str) -> Box<RawValue> {
    json::raw(text.into())
}

/// Returns the introduction in the params, and the remaining params.
fn take_meta(text: &str) -> Result<(RequestMeta, Box<RawValue>), RpcError> {
    let params = params(text);
    let mut params = parse_params(Some(&params))?;
    let meta = take_request_meta(&mut params)?;
    Ok((meta, params.to_raw()))
}

const WHOLE: &str = r#"{"name":"t","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/logLevel":"info","progressToken":7,"x":1}}"#;

#[test]
fn request_meta_is_taken_out_and_the_rest_is_unchanged() {
    let (meta, rest) = take_meta(WHOLE).expect("take the meta out");
    assert_eq!(
        rest.get(),
        r#"{"name":"t","arguments":{"n":1.0},"_meta":{"progressToken":7,"x":1}}"#
    );
    assert_eq!(meta.log_level, Some(LogLevel::Info));
    assert_eq!(meta.hello.software().as_deref(), Some("c 1"));
    assert!(meta.hello.capabilities.can_answer("roots/list", None));
}

/// Returns the token 7.
fn token_7() -> ProgressToken {
    let params = json::raw(r#"{"_meta":{"progressToken":7}}"#.into());
    let params = RawObject::parse(&params).expect("an object");
    ProgressToken::read(&params).expect("a token")
}

#[test]
fn meta_survives_being_taken_out_and_added_again() {
    let (meta, rest) = take_meta(WHOLE).expect("take the meta out");
    let token = token_7();
    let outgoing = OutgoingMeta {
        is_modern: true,
        client: Some(&meta.hello),
        own_extensions: None,
        log_level: meta.log_level,
        progress_token: Some(&token),
        ..OutgoingMeta::default()
    };
    let text = add_meta(Some(&rest), &outgoing).expect("add the meta");
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    assert_eq!(value(&text), value(WHOLE));
}

#[test]
fn added_meta_appears_once_in_any_notation_of_the_params() {
    let token = token_7();
    let outgoing = OutgoingMeta {
        progress_token: Some(&token),
        ..OutgoingMeta::default()
    };
    for (params, expected) in [
        ("{}", r#"{"_meta":{"progressToken":7}}"#),
        ("{ }", r#"{"_meta":{"progressToken":7}}"#),
        (
            r#"{"a":"} _meta" }"#,
            r#"{"a":"} _meta","_meta":{"progressToken":7}}"#,
        ),
        (
            r#"{"_meta":{"x":1},"a":1.0}"#,
            r#"{"_meta":{"x":1,"progressToken":7},"a":1.0}"#,
        ),
        (
            r#"{"_\u006deta":{"x":1}}"#,
            r#"{"_meta":{"x":1,"progressToken":7}}"#,
        ),
        (
            r#"{"a":{"_meta":{"x":1}}}"#,
            r#"{"a":{"_meta":{"x":1}},"_meta":{"progressToken":7}}"#,
        ),
        (
            r#"{"_meta":{"progressToken":"theirs"}}"#,
            r#"{"_meta":{"progressToken":7}}"#,
        ),
    ] {
        assert_eq!(
            add_meta(Some(&self::params(params)), &outgoing).expect("add the meta"),
            expected,
            "{params}"
        );
    }
    assert_eq!(
        add_meta(None, &outgoing).expect("add the meta"),
        r#"{"_meta":{"progressToken":7}}"#
    );
    assert_eq!(MODERN_TEXT, json::quote(revision::MODERN));
}

#[test]
fn a_client_cannot_override_the_revision_sent_to_a_server() {
    let forged = params(
        r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"x","io.modelcontextprotocol/logLevel":"debug"}}"#,
    );
    let text = add_meta(
        Some(&forged),
        &OutgoingMeta {
            is_modern: true,
            ..OutgoingMeta::default()
        },
    )
    .expect("add the meta");
    assert!(
        text.contains(r#""2026-07-28""#) && !text.contains(r#""x""#) && !text.contains("logLevel"),
        "{text}"
    );
}

#[test]
fn invalid_meta_is_refused_with_its_error_code() {
    let with = |members: &str| format!(r#"{{"_meta":{{{members}}}}}"#);
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    let level = r#""io.modelcontextprotocol/logLevel":"loud""#;
    for (text, code) in [
        ("{}".to_owned(), code::INVALID_PARAMS),
        (with(""), code::INVALID_PARAMS),
        (with(version), code::INVALID_PARAMS),
        (with(capabilities), code::INVALID_PARAMS),
        (
            with(&format!("{version},{capabilities},{level}")),
            code::INVALID_PARAMS,
        ),
        (
            with(&format!(
                "{},{capabilities}",
                version.replace("2026-07-28", "1900-01-01")
            )),
            UNSUPPORTED_VERSION,
        ),
    ] {
        assert_eq!(take_meta(&text).err().map(|e| e.code), Some(code), "{text}");
    }
    assert_eq!(
        parse_params(None)
            .and_then(|mut params| take_request_meta(&mut params))
            .err()
            .map(|e| e.code),
        Some(code::INVALID_PARAMS)
    );
}

#[test]
fn a_subscription_id_is_added_and_removed() {
    let bare = params(r#"{"uri":"file:///a"}"#);
    let tagged = with_subscription_id(Some(&bare), &params("\"7\""));
    assert_eq!(
        tagged.get(),
        r#"{"uri":"file:///a","_meta":{"io.modelcontextprotocol/subscriptionId":"7"}}"#
    );
    assert_eq!(without_subscription_id(&tagged).get(), bare.get());
}
