use super::*;

fn params(version: &str) -> Box<RawValue> {
    json::to_raw(
        &json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
    )
}

#[test]
fn a_client_gets_its_own_revision_where_it_has_sessions_and_else_the_newest_that_has() {
    for revision in revision::LEGACY {
        assert_eq!(
            client_hello(Some(&params(revision)))
                .expect("a hello")
                .protocol_version,
            revision
        );
    }
    for other in ["2031-01-01", revision::MODERN] {
        let hello = client_hello(Some(&params(other))).expect("a hello");
        assert_eq!(
            (hello.protocol_version.as_str(), hello.era),
            (revision::NEWEST_LEGACY, Era::Legacy)
        );
    }
}

#[test]
fn an_initialize_without_params_is_refused() {
    assert_eq!(
        client_hello(None).err().map(|e| e.code),
        Some(code::INVALID_PARAMS)
    );
}

#[test]
fn a_client_is_asked_only_for_what_it_offers() {
    let hello = |capabilities: Value| {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities});
        client_hello(Some(&json::to_raw(&params)))
            .expect("a hello")
            .capabilities
    };
    let url = json::raw(r#"{"mode":"url","url":"https://h"}"#.into());
    let form = json::raw(r#"{"message":"m"}"#.into());
    let (older, both) = (
        hello(json!({"elicitation": {}})),
        hello(json!({"elicitation": {"form": {}, "url": {}}})),
    );
    let only_url = hello(json!({"elicitation": {"url": {}}, "roots": {}}));
    for (capabilities, form_too, url_too) in [
        (&older, true, false),
        (&both, true, true),
        (&only_url, false, true),
    ] {
        assert_eq!(
            capabilities.can_answer("elicitation/create", Some(&form)),
            form_too
        );
        assert_eq!(
            capabilities.can_answer("elicitation/create", Some(&url)),
            url_too
        );
    }
    assert!(
        only_url.can_answer("roots/list", None)
            && !only_url.can_answer("sampling/createMessage", None)
    );
}

#[test]
fn a_server_of_an_unknown_revision_is_refused_in_words() {
    let result = Json::from(json::to_raw(
        &json!({"protocolVersion": "1999-01-01", "capabilities": {}}),
    ));
    assert!(
        initialized(&result)
            .expect_err("refused")
            .contains("1999-01-01")
    );
}

#[test]
fn a_discovery_counts_where_it_names_the_modern_revision() {
    let result = |versions: &[&str]| {
        Json::from(json::to_raw(&json!({
            "supportedVersions": versions, "capabilities": {"prompts": {}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "2"}},
        })))
    };
    let hello = discovered(&result(&["2025-11-25", revision::MODERN])).expect("a hello");
    assert_eq!(
        (hello.era(), hello.server_info.name.as_str()),
        (Era::Modern, "s")
    );
    assert!(discovered(&result(&["2025-11-25"])).is_none());
}
