use super::*;

#[test]
fn input_requests_survive_a_round_trip() {
    let roots = InputRequest {
        method: "roots/list".into(),
        params: None,
    };
    let elicitation = InputRequest {
        method: "elicitation/create".into(),
        params: Some(json::raw(r#"{"message":"?","n":1.0}"#.into())),
    };
    let text = input_required_result([("a\"", &elicitation), ("b", &roots)], Some("s"));
    let read = InputRequired::read(&text.into()).expect("the result requires input");
    assert_eq!(read.requests[0].0, "a\"");
    assert_eq!(
        read.requests[0].1.params.as_ref().map(|p| p.get()),
        Some(r#"{"message":"?","n":1.0}"#)
    );
    assert_eq!(
        (
            read.requests[1].1.method.as_str(),
            read.requests[1].1.params.is_none()
        ),
        ("roots/list", true)
    );
    assert_eq!(
        read.state.map(|state| state.get().to_owned()).as_deref(),
        Some("\"s\"")
    );
}

#[test]
fn a_final_result_requires_no_input() {
    for text in [
        r#"{"content":[]}"#,
        r#"{"resultType":"complete"}"#,
        r#"{"content":["input_required"]}"#,
    ] {
        assert!(InputRequired::read(&Json::new(text)).is_none(), "{text}");
    }
}

#[test]
fn a_retry_carries_the_answers_and_the_servers_state() {
    let original = json::raw(r#"{"name":"t","requestState":"old"}"#.into());
    let answers = BTreeMap::from([("a".to_owned(), json::raw(r#"{"action":"accept"}"#.into()))]);
    let with = |text: &str| {
        let required = InputRequired::read(&Json::new(text)).expect("the result requires input");
        let mut params = RawObject::parse(&original).expect("an object");
        required.prepare_retry(&mut params, &answers);
        params.to_raw().get().to_owned()
    };
    assert_eq!(
        with(r#"{"resultType":"input_required","requestState":"new"}"#),
        r#"{"name":"t","requestState":"new","inputResponses":{"a":{"action":"accept"}}}"#
    );
    assert_eq!(
        with(r#"{"resultType":"input_required","inputRequests":{}}"#),
        r#"{"name":"t","inputResponses":{"a":{"action":"accept"}}}"#
    );
}

#[test]
fn retry_members_are_taken_out_of_the_params() {
    let params =
        json::raw(r#"{"name":"t","requestState":"s","inputResponses":{"k":{"x":1.0}}}"#.into());
    let mut object = RawObject::parse(&params).expect("an object");
    let retry = RetryInput::take_from(&mut object).expect("take the input of the retry");
    assert_eq!(object.to_raw().get(), r#"{"name":"t"}"#);
    assert_eq!(
        (retry.state.as_deref(), retry.answers["k"].get()),
        (Some("s"), r#"{"x":1.0}"#)
    );
    for broken in [r#"{"requestState":1}"#, r#"{"inputResponses":[]}"#] {
        let params = json::raw(broken.into());
        assert!(
            RetryInput::take_from(&mut RawObject::parse(&params).expect("an object")).is_err(),
            "{broken}"
        );
    }
}
