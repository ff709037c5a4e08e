use super::*;

fn parsed(text: &str) -> Result<(String, String), RpcError> {
    let params = json::raw(text.into());
    let mut request = parse_call(Some(&params), None)?;
    request.params.set("name", json::raw("\"own\"".into()));
    Ok((
        request.params.to_raw().get().to_owned(),
        request.arguments.get().to_owned(),
    ))
}

#[test]
fn only_the_name_and_the_progress_token_change_when_forwarding() {
    let (params, arguments) =
        parsed(r#"{"x":1.0,"name":"s__t","arguments":{"n":1e400, "b":2},"_meta":{"progressToken":1,"k":0.9}}"#)
            .expect("parsed");
    assert_eq!(
        params,
        r#"{"x":1.0,"name":"own","arguments":{"n":1e400, "b":2},"_meta":{"k":0.9}}"#
    );
    assert_eq!(arguments, r#"{"n":1e400, "b":2}"#);
}

#[test]
fn null_or_missing_arguments_count_as_empty_and_are_forwarded_unchanged() {
    let (params, arguments) = parsed(r#"{"name":"s__t","arguments":null,"x":1}"#).expect("parsed");
    assert_eq!(
        (params.as_str(), arguments.as_str()),
        (r#"{"name":"own","arguments":null,"x":1}"#, "{}")
    );
    let (params, arguments) = parsed(r#"{"name":"s__t"}"#).expect("parsed");
    assert_eq!(
        (params.as_str(), arguments.as_str()),
        (r#"{"name":"own"}"#, "{}")
    );
}

#[test]
fn a_meta_with_only_a_progress_token_is_removed() {
    let (params, _) = parsed(r#"{"name":"s__t","_meta":{"progressToken":1}}"#).expect("parsed");
    assert_eq!(params, r#"{"name":"own"}"#);
}

#[test]
fn invalid_params_are_rejected_with_the_reason() {
    for (text, expected) in [
        ("[]", "params"),
        (r#"{"arguments":{}}"#, "params.name"),
        (r#"{"name":1}"#, "params.name"),
        (r#"{"name":"a","arguments":[]}"#, "params.arguments"),
        (r#"{"name":"a","name":"b"}"#, "twice"),
        (r#"{"name":"a","arguments":{"p":1,"p":2}}"#, "twice"),
        (r#"{"name":"a","Name":"b"}"#, "'Name'"),
        (r#"{"name":"a","Arguments":{}}"#, "'Arguments'"),
        (r#"{"name":"a","x":1,"X":2}"#, "'X'"),
    ] {
        let error = parsed(text).expect_err("the params are rejected");
        assert!(
            error.code == code::INVALID_PARAMS && error.message.contains(expected),
            "{text}: {}",
            error.message
        );
    }
}

#[test]
fn an_is_error_flag_is_distinguished_from_text_that_mentions_the_flag() {
    assert!(is_tool_error(&error_result("x")));
    assert!(!is_tool_error(&Json::new(
        r#"{"content":[{"type":"text","text":"\"isError\": true"}]}"#
    )));
    assert!(!is_tool_error(&Json::new(
        r#"{"structuredContent":{"isError":true},"isError":false}"#
    )));
}
