use super::*;

fn raw(text: &str) -> Box<RawValue> {
    json::raw(text.into())
}

#[test]
fn a_modern_client_gets_the_required_members_and_the_rest_unchanged() {
    for (method, result, expected) in [
        (
            "tools/call",
            r#"{"content":[],"n":1.0}"#,
            r#"{"resultType":"complete","content":[],"n":1.0}"#,
        ),
        (
            "completion/complete",
            "{ }",
            r#"{"resultType":"complete" }"#,
        ),
        (
            "tools/list",
            r#"{"tools":[]}"#,
            r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}"#,
        ),
        (
            "resources/read",
            r#"{"contents":[],"ttlMs":5,"resultType":"complete"}"#,
            r#"{"cacheScope":"private","contents":[],"ttlMs":5,"resultType":"complete"}"#,
        ),
        (
            "tools/call",
            r#"{"resultType":"input_required"}"#,
            r#"{"resultType":"input_required"}"#,
        ),
        (
            "tools/call",
            r#"{"resultType":"task","task":{}}"#,
            r#"{"resultType":"task","task":{}}"#,
        ),
        (
            "tools/call",
            r#"{"content":[{"text":"resultType"}]}"#,
            r#"{"resultType":"complete","content":[{"text":"resultType"}]}"#,
        ),
    ] {
        let translated =
            response_for_modern_client(method, Ok(Json::new(result))).expect("a result");
        assert_eq!(translated.get(), expected, "{method}");
    }
}

#[test]
fn a_legacy_client_gets_no_modern_members() {
    for (method, result, expected) in [
        (
            "tools/call",
            r#"{"resultType":"complete","content":[],"ttlMs":1}"#,
            r#"{"content":[],"ttlMs":1}"#,
        ),
        (
            "resources/read",
            r#"{"resultType":"complete","ttlMs":1,"cacheScope":"public","contents":[]}"#,
            r#"{"contents":[]}"#,
        ),
        ("tools/call", r#"{"content":[]}"#, r#"{"content":[]}"#),
        ("tools/call", r#"{"resultType":"complete"}"#, "{}"),
        (
            "tools/call",
            r#"{"content":[],"resultType":"complete"}"#,
            r#"{"content":[]}"#,
        ),
        (
            "tools/call",
            r#"{"resultType":"complete", "x":"resultType"}"#,
            r#"{ "x":"resultType"}"#,
        ),
        (
            "tools/call",
            r#"{"resultType":"task","taskId":"a"}"#,
            r#"{"resultType":"task","taskId":"a"}"#,
        ),
    ] {
        assert_eq!(
            translate_result(Era::Legacy, Era::Modern, method, Json::new(result)).get(),
            expected
        );
    }
}

#[test]
fn results_within_one_era_are_unchanged() {
    let result = r#"{ "resultType" : "complete", "ttlMs" : 1 }"#;
    for era in [Era::Legacy, Era::Modern] {
        assert_eq!(
            translate_result(era, era, "tools/list", Json::new(result)).get(),
            result
        );
        assert!(
            required_client_input(
                era,
                era,
                &Json::new(r#"{"resultType":"input_required","requestState":"s"}"#)
            )
            .is_none()
        );
    }
    assert!(
        required_client_input(
            Era::Legacy,
            Era::Modern,
            &Json::new(r#"{"resultType":"input_required"}"#)
        )
        .is_some()
    );
}

#[test]
fn legacy_errors_are_translated_for_modern_clients() {
    let missing = RpcError {
        data: Some(raw(r#"{"uri":"x"}"#)),
        ..RpcError::new(RESOURCE_NOT_FOUND, "not found")
    };
    let translated =
        response_for_modern_client("resources/read", Err(missing)).expect_err("an error");
    assert_eq!(
        (
            translated.code,
            translated.data.map(|d| d.get().to_owned()).as_deref()
        ),
        (code::INVALID_PARAMS, Some(r#"{"uri":"x"}"#))
    );

    let data = raw(
        r#"{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://h","message":"go"}]}"#,
    );
    let visit = RpcError {
        data: Some(data),
        ..RpcError::new(URL_ELICITATION_REQUIRED, "visit")
    };
    let response = response_for_modern_client("tools/call", Err(visit)).expect("a result");
    assert_eq!(
        response.get(),
        r#"{"resultType":"input_required","inputRequests":{"url-1":{"method":"elicitation/create","params":{"mode":"url","url":"https://h","message":"go"}}}}"#
    );
}

#[test]
fn a_url_elicitation_has_an_id_only_in_the_legacy_era() {
    let elicitation = |params: &str| InputRequest {
        method: "elicitation/create".into(),
        params: Some(raw(params)),
    };
    let text = |request: InputRequest| {
        request
            .params
            .map(|params| params.get().to_owned())
            .unwrap_or_default()
    };
    assert_eq!(
        text(request_for_legacy_client(
            &elicitation(r#"{"mode":"url"}"#),
            "7"
        )),
        r#"{"mode":"url","elicitationId":"7"}"#
    );
    assert_eq!(
        text(request_for_legacy_client(
            &elicitation(r#"{"message":"m"}"#),
            "7"
        )),
        r#"{"message":"m"}"#
    );
    assert_eq!(
        text(request_for_modern_client(&elicitation(
            r#"{"mode":"url","elicitationId":"7"}"#
        ))),
        r#"{"mode":"url"}"#
    );
}
