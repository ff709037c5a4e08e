use super::*;

fn spec(text: &str) -> ServerSpec {
    serde_json::from_str(text).expect("a spec")
}

#[test]
fn contradictions_are_errors_that_say_so() {
    for (text, error) in [
        ("{}", SpecError::Neither),
        (r#"{"command":"a","url":"http://b"}"#, SpecError::Both),
        (r#"{"command":"a","transport":"http"}"#, SpecError::RemoteWithCommand("http")),
        (r#"{"command":"a","type":"sse"}"#, SpecError::RemoteWithCommand("sse")),
        (r#"{"transport":"sse"}"#, SpecError::Neither),
        (r#"{"url":"http://b","type":"stdio"}"#, SpecError::StdioWithUrl),
        (r#"{"url":"http://b","args":["x"]}"#, SpecError::Useless("args", "remote")),
        (r#"{"command":"a","headers":{"x":"y"}}"#, SpecError::Useless("headers", "local")),
        (r#"{"url":"file:///etc"}"#, SpecError::BadUrl("file:///etc".into())),
        (r#"{"command":"a","args":["${keyring:x}"]}"#, SpecError::SecretInArguments("args")),
    ] {
        assert_eq!(spec(text).check(), Err(error), "{text}");
    }
    assert_eq!(spec(r#"{"command":"npx","args":["-y","x"],"env":{"A":"1"}}"#).check(), Ok(()));
    assert_eq!(spec(r#"{"url":"https://example.com/mcp","type":"streamable-http"}"#).check(), Ok(()));
    assert_eq!(spec(r#"{"url":"https://example.com/sse","type":"sse"}"#).check(), Ok(()));
}

#[test]
fn only_what_would_run_is_the_identity() {
    let base = spec(r#"{"name":"a","command":"x","args":["1"]}"#);
    assert_eq!(base.identity(), spec(r#"{"name":"b","command":"x","args":["1"],"enabled":false}"#).identity());
    for other in [
        r#"{"command":"x","args":["2"]}"#,
        r#"{"command":"x","args":["1"],"env":{"A":""}}"#,
        r#"{"command":"x","args":["1"],"cwd":"/"}"#,
    ] {
        assert_ne!(base.identity(), spec(other).identity(), "{other}");
    }
}

#[test]
fn the_older_way_to_a_url_is_another_identity() {
    let http = spec(r#"{"url":"http://a/sse"}"#);
    assert_eq!(http.identity(), spec(r#"{"url":"http://a/sse","transport":"http"}"#).identity());
    assert_ne!(http.identity(), spec(r#"{"url":"http://a/sse","transport":"sse"}"#).identity());
}

#[test]
fn what_a_spec_holds_beyond_its_fields_is_kept() {
    let text = r#"{"command":"x","disabledTools":["y"]}"#;
    assert_eq!(serde_json::to_string(&spec(text)).expect("json"), text);
}
