use serde_json::Value;

use super::*;
use crate::protocol::OwnCapabilities;

fn params(version: &str) -> Box<RawValue> {
    json::to_raw(
        &json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
    )
}

#[test]
fn a_legacy_client_keeps_its_revision_and_others_get_the_newest_legacy_revision() {
    for revision in revision::LEGACY {
        assert_eq!(
            read_initialize(Some(&params(revision)))
                .expect("a hello")
                .protocol_version,
            revision
        );
    }
    for other in ["2031-01-01", revision::MODERN] {
        let hello = read_initialize(Some(&params(other))).expect("a hello");
        assert_eq!(
            (hello.protocol_version.as_str(), hello.era),
            (revision::NEWEST_LEGACY, Era::Legacy)
        );
    }
}

#[test]
fn an_initialize_without_params_is_refused() {
    assert_eq!(
        read_initialize(None).err().map(|e| e.code),
        Some(code::INVALID_PARAMS)
    );
}

#[test]
fn an_introduction_of_more_than_64_kib_is_refused() {
    let introduce = |bytes: usize| {
        let capabilities = json!({"experimental": {"x": "x".repeat(bytes)}});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities});
        read_initialize(Some(&json::to_raw(&params)))
    };
    assert!(introduce(63 * 1024).is_ok());
    let error = introduce(64 * 1024).expect_err("refused");
    assert_eq!(error.code, code::INVALID_PARAMS);
    assert!(error.message.contains("at most 65536"), "{}", error.message);
}

#[test]
fn a_client_gets_only_requests_that_it_supports() {
    let read = |capabilities: Value| {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities});
        read_initialize(Some(&json::to_raw(&params)))
            .expect("a hello")
            .capabilities
    };
    let url = json::raw(r#"{"mode":"url","url":"https://h"}"#.into());
    let form = json::raw(r#"{"message":"m"}"#.into());
    let (older, both) = (
        read(json!({"elicitation": {}})),
        read(json!({"elicitation": {"form": {}, "url": {}}})),
    );
    let only_url = read(json!({"elicitation": {"url": {}}, "roots": {}}));
    for (capabilities, answers_form, answers_url) in [
        (&older, true, false),
        (&both, true, true),
        (&only_url, false, true),
    ] {
        assert_eq!(
            capabilities.can_answer("elicitation/create", Some(&form)),
            answers_form
        );
        assert_eq!(
            capabilities.can_answer("elicitation/create", Some(&url)),
            answers_url
        );
    }
    assert!(
        only_url.can_answer("roots/list", None)
            && !only_url.can_answer("sampling/createMessage", None)
    );
}

#[test]
fn the_capabilities_of_the_client_and_of_drawbridge_are_declared() {
    let own = OwnCapabilities {
        sampling: true,
        sampling_tools: true,
        elicitation: true,
        roots: true,
    };
    for (own, capabilities, expected) in [
        (
            own,
            json!({}),
            json!({"sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}, "roots": {}}),
        ),
        (
            own,
            json!({"sampling": {"context": {}}, "elicitation": {}, "roots": {"listChanged": true}, "x": 1}),
            json!({"sampling": {"context": {}, "tools": {}}, "elicitation": {"form": {}, "url": {}},
                "roots": {"listChanged": true}, "x": 1}),
        ),
        (
            OwnCapabilities::default(),
            json!({"sampling": {}}),
            json!({"sampling": {}}),
        ),
    ] {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities});
        let hello = read_initialize(Some(&json::to_raw(&params))).expect("a hello");
        let declared: Value =
            serde_json::from_str(hello.capabilities.with_own(own).get()).expect("JSON");
        assert_eq!(declared, expected);
    }
}

#[test]
fn a_server_with_an_unknown_revision_is_refused() {
    let result = Json::from(json::to_raw(
        &json!({"protocolVersion": "1999-01-01", "capabilities": {}}),
    ));
    assert!(
        read_initialize_result(&result)
            .expect_err("the result is rejected")
            .to_string()
            .contains("1999-01-01")
    );
}

#[test]
fn a_discovery_must_name_the_modern_revision() {
    let result = |versions: &[&str]| {
        Json::from(json::to_raw(&json!({
            "supportedVersions": versions, "capabilities": {"prompts": {}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "2"}},
        })))
    };
    let hello = read_discover_result(&result(&["2025-11-25", revision::MODERN])).expect("a hello");
    assert_eq!(
        (hello.era(), hello.server_info.name.as_str()),
        (Era::Modern, "s")
    );
    assert!(read_discover_result(&result(&["2025-11-25"])).is_none());
}
