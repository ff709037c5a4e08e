use super::*;

fn spec(text: &str) -> ServerSpec {
    serde_json::from_str(text).expect("a spec")
}

#[test]
fn invalid_and_contradicting_fields_are_reported() {
    for (text, error) in [
        ("{}", SpecError::NoCommandOrUrl),
        (
            r#"{"command":"a","url":"http://b"}"#,
            SpecError::CommandAndUrl,
        ),
        (
            r#"{"command":"a","url":"http://b","type":"sse"}"#,
            SpecError::UrlNotLoopback(DisplayUrl::new("http://b")),
        ),
        (
            r#"{"command":"a","transport":"http"}"#,
            SpecError::RemoteWithCommand("http"),
        ),
        (
            r#"{"command":"a","type":"sse"}"#,
            SpecError::RemoteWithCommand("sse"),
        ),
        (r#"{"transport":"sse"}"#, SpecError::NoCommandOrUrl),
        (
            r#"{"url":"http://b","type":"stdio"}"#,
            SpecError::StdioWithUrl,
        ),
        (
            r#"{"url":"http://b","args":["x"]}"#,
            SpecError::UnusedField("args", "remote"),
        ),
        (
            r#"{"command":"a","headers":{"x":"y"}}"#,
            SpecError::UnusedField("headers", "local"),
        ),
        (
            r#"{"url":"file:///etc"}"#,
            SpecError::BadUrl(DisplayUrl::new("file:///etc")),
        ),
        (
            r#"{"url":"https://${keyring:s.H}.test/mcp"}"#,
            SpecError::SecretInHost,
        ),
        (
            r#"{"url":"https://${keyring:s.U}:${keyring:s.P}@a.test:${keyring:s.N}/mcp"}"#,
            SpecError::SecretInHost,
        ),
        (
            r#"{"command":"${keyring:s.T}","args":["a"]}"#,
            SpecError::SecretInCommand,
        ),
        (
            r#"{"command":"a","bearer_token":"t"}"#,
            SpecError::UnusedField("bearer_token", "local"),
        ),
        (
            r#"{"url":"http://b","lifecycle":"transient"}"#,
            SpecError::UnusedField("lifecycle", "remote"),
        ),
        (
            r#"{"url":"http://b","headers":{"authorization":"x"},"bearer_token":"t"}"#,
            SpecError::DuplicateToken,
        ),
        (
            r#"{"command":"a","oauth":{"client_id":"c"}}"#,
            SpecError::UnusedField("oauth", "local"),
        ),
        (
            r#"{"url":"http://b","oauth":{"client_id":" "}}"#,
            SpecError::BadOauthClient,
        ),
        (
            r#"{"url":"http://b","oauth":{"client_id":"${keyring:x}"}}"#,
            SpecError::BadOauthClient,
        ),
        (
            r#"{"url":"http://b","oauth":{"client_id":"c"},"bearer_token":"t"}"#,
            SpecError::OauthWithToken,
        ),
        (
            r#"{"url":"http://b","oauth":{"client_id":"c"},"headers":{"authorization":"t"}}"#,
            SpecError::OauthWithToken,
        ),
        (
            r#"{"command":"a","prefix":"a__b"}"#,
            SpecError::BadPrefix("a__b".into()),
        ),
        (
            r#"{"command":"a","timeouts":{"call_ms":0}}"#,
            SpecError::TooSmall("timeouts.call_ms", 1),
        ),
        (
            r#"{"command":"a","timeouts":{"tools":{"x":0}}}"#,
            SpecError::TooSmall("timeouts.tools", 1),
        ),
        (
            r#"{"command":"a","fallback":["b","b"]}"#,
            SpecError::DuplicateFallback(ServerId::new("b")),
        ),
    ] {
        assert_eq!(spec(text).check(), Err(error), "{text}");
    }
    assert_eq!(
        spec(r#"{"command":"npx","args":["-y","x"],"env":{"A":"1"}}"#).check(),
        Ok(())
    );
    assert_eq!(
        spec(r#"{"url":"https://example.com/mcp","type":"streamable-http"}"#).check(),
        Ok(())
    );
    assert_eq!(
        spec(r#"{"url":"https://example.com/sse","type":"sse"}"#).check(),
        Ok(())
    );
    assert_eq!(
        spec(r#"{"command":"a","url":"http://127.0.0.1:3001/sse","type":"sse"}"#).check(),
        Ok(())
    );
}

#[test]
fn the_arguments_environment_and_folder_affect_the_identity_and_the_name_does_not() {
    let base = spec(r#"{"name":"a","command":"x","args":["1"]}"#);
    assert_eq!(
        base.identity(),
        spec(r#"{"name":"b","command":"x","args":["1"],"enabled":false}"#).identity()
    );
    for other in [
        r#"{"command":"x","args":["2"]}"#,
        r#"{"command":"x","args":["1"],"env":{"A":""}}"#,
        r#"{"command":"x","args":["1"],"cwd":"/"}"#,
    ] {
        assert_ne!(base.identity(), spec(other).identity(), "{other}");
    }
}

#[test]
fn the_sse_transport_changes_the_identity() {
    let http = spec(r#"{"url":"http://a/sse"}"#);
    assert_eq!(
        http.identity(),
        spec(r#"{"url":"http://a/sse","transport":"http"}"#).identity()
    );
    assert_ne!(
        http.identity(),
        spec(r#"{"url":"http://a/sse","transport":"sse"}"#).identity()
    );
}

#[test]
fn unknown_fields_of_a_spec_are_preserved() {
    let text = r#"{"command":"x","disabledTools":["y"]}"#;
    assert_eq!(serde_json::to_string(&spec(text)).expect("json"), text);
}

#[test]
fn a_bearer_token_is_a_header_and_part_of_the_identity() {
    let with = spec(r#"{"url":"http://a","bearer_token":"${keyring:t}"}"#);
    assert_eq!(with.all_headers()["Authorization"], "Bearer ${keyring:t}");
    let as_header = spec(r#"{"url":"http://a","headers":{"Authorization":"Bearer ${keyring:t}"}}"#);
    assert_eq!(
        with.identity(),
        as_header.identity(),
        "both specs have the same identity"
    );
    assert_ne!(with.identity(), spec(r#"{"url":"http://a"}"#).identity());
}

#[test]
fn an_oauth_client_is_part_of_the_identity_and_its_secret_may_refer_to_the_keyring() {
    let without = spec(r#"{"url":"http://a"}"#);
    // Specs that were accepted before the field existed keep their identity.
    assert_eq!(
        without.identity(),
        "7c051b5e94e09b132590105bd4e20432cddfef3fff4143c37b941cc9179ba73d"
    );
    let with = |client: &str| spec(&format!(r#"{{"url":"http://a","oauth":{client}}}"#));
    let client = with(r#"{"client_id":"one","client_secret":"${keyring:s}"}"#);
    assert_eq!(client.check(), Ok(()));
    assert_eq!(
        client.values_with_references().collect::<Vec<_>>(),
        ["http://a", "${keyring:s}"]
    );
    for other in [
        without,
        with(r#"{"client_id":"two","client_secret":"${keyring:s}"}"#),
        with(r#"{"client_id":"one"}"#),
        with(r#"{"client_id":"one","client_secret":"${keyring:s}","callback_port":8123}"#),
    ] {
        assert_ne!(client.identity(), other.identity());
    }
    let in_camel_case = with(r#"{"clientId":"one","clientSecret":"${keyring:s}"}"#);
    assert_eq!(client, in_camel_case);
}

#[test]
fn the_trust_setting_changes_the_identity() {
    let asks = spec(r#"{"command":"x"}"#);
    assert_ne!(
        asks.identity(),
        spec(r#"{"command":"x","definitions":"trust"}"#).identity()
    );
}

#[test]
fn the_runtime_is_inferred_from_the_command() {
    for (command, runtime) in [
        ("npx", Some(Runtime::Npx)),
        ("/usr/bin/uvx", Some(Runtime::Uvx)),
        (r"C:\nodejs\npx.cmd", Some(Runtime::Npx)),
        ("python3.12", Some(Runtime::Python)),
        ("docker", Some(Runtime::Docker)),
        ("my-server", None),
    ] {
        assert_eq!(Runtime::from_command(command), runtime, "{command}");
    }
    assert_eq!(
        spec(r#"{"command":"my-server","runtime_hint":"npx"}"#).runtime(),
        Some(Runtime::Npx)
    );
}

#[test]
fn a_sandbox_is_part_of_the_identity_and_only_for_local_servers() {
    let free = spec(r#"{"command":"x"}"#);
    let own = spec(r#"{"command":"x","sandbox":{}}"#);
    let offline = spec(r#"{"command":"x","sandbox":{"network":"none"}}"#);
    assert_ne!(free.identity(), own.identity());
    assert_ne!(own.identity(), offline.identity());
    assert_eq!(own.check(), Ok(()));
    assert_eq!(
        spec(r#"{"url":"http://a","sandbox":{}}"#).check(),
        Err(SpecError::UnusedField("sandbox", "remote"))
    );
    let served = r#"{"command":"x","url":"http://127.0.0.1:1/mcp","transport":"http"}"#;
    let mut served = spec(served);
    served.sandbox = offline.sandbox;
    assert_eq!(served.check(), Err(SandboxError::NoPortForUrl.into()));
}
