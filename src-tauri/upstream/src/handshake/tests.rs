use std::path::PathBuf;

use drawbridge_model::ids::ServerId;

use super::*;

fn spec(text: &str) -> ServerSpec {
    serde_json::from_str(text).expect("a spec")
}

fn registered(text: &str) -> RegisteredServer {
    RegisteredServer::new(ServerId::new("s"), spec(text), PathBuf::new())
}

fn hello(protocol_version: &str) -> ServerHello {
    ServerHello {
        protocol_version: protocol_version.to_owned(),
        ..ServerHello::default()
    }
}

#[test]
fn servers_of_the_same_package_have_the_same_package_name() {
    for (text, expected) in [
        (
            r#"{"command":"npx","args":["-y","@scope/files@1.2.0","/a"]}"#,
            Some("npx @scope/files"),
        ),
        (
            r#"{"command":"/usr/bin/npx","args":["--yes","@scope/files","/b"]}"#,
            Some("npx @scope/files"),
        ),
        (
            r#"{"command":"uvx","args":["chroma-mcp==0.2.0","--client-type","persistent"]}"#,
            Some("uvx chroma-mcp"),
        ),
        (
            r#"{"command":"python3","args":["-m","my_server","--fast"]}"#,
            Some("python3 my_server"),
        ),
        (
            r#"{"command":"node","args":["/srv/index.js"]}"#,
            Some("node /srv/index.js"),
        ),
        (r#"{"command":"mcp-server-time"}"#, Some("mcp-server-time")),
        (r#"{"command":"docker","args":["run","-i","image"]}"#, None),
        (r#"{"command":"uv","args":["run","server.py"]}"#, None),
        (r#"{"url":"http://127.0.0.1:1/mcp"}"#, None),
    ] {
        assert_eq!(package_name(&spec(text)).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_second_server_of_a_package_is_not_probed_again() {
    let cache = NegotiationCache::default();
    let first = registered(r#"{"command":"uvx","args":["my-server","--db","a"]}"#);
    let second = registered(r#"{"command":"uvx","args":["my-server","--db","b"]}"#);
    assert_eq!(
        cache.negotiation_for(&second),
        Negotiation::Discover,
        "a package without a record is asked to discover first"
    );
    cache.record(&first, Negotiation::Discover, &hello("2025-06-18"));
    assert_eq!(cache.negotiation_for(&second), Negotiation::Initialize);
    assert_eq!(
        cache.negotiation_for(&registered(r#"{"command":"uvx","args":["chroma-mcp"]}"#)),
        Negotiation::Initialize,
        "the built-in list contains this package"
    );
}

#[test]
fn a_server_that_needs_initialize_is_not_asked_to_discover_again() {
    let cache = NegotiationCache::default();
    let server = registered(r#"{"command":"half-modern"}"#);
    cache.require_initialize(&server);
    cache.record(&server, Negotiation::OnlyInitialize, &hello("2025-06-18"));
    assert_eq!(cache.negotiation_for(&server), Negotiation::OnlyInitialize);
}

#[test]
fn a_spec_that_names_the_revision_decides_whatever_is_known() {
    let cache = NegotiationCache::default();
    for (revision, expected) in [
        ("2025-06-18", Negotiation::OnlyInitialize),
        ("2026-07-28", Negotiation::Discover),
    ] {
        let server = registered(&format!(
            r#"{{"command":"x","protocol_version":"{revision}"}}"#
        ));
        for spoken in ["2025-11-25", "2026-07-28"] {
            cache.record(&server, Negotiation::Initialize, &hello(spoken));
            assert_eq!(
                cache.negotiation_for(&server),
                expected,
                "{revision} after {spoken}"
            );
        }
    }
}

#[test]
fn only_an_error_about_a_missing_initialize_requires_it() {
    for (code, message, expected) in [
        (-32600, "initialize is required", true),
        (-32600, "Bad Request: Missing session ID", true),
        (-32002, "Server not initialized", true),
        (-32000, "the database is not initialized", false),
        (-32603, "cannot initialize the model", false),
        (-32600, "unknown argument", false),
    ] {
        assert_eq!(
            is_initialize_required(&RpcError::new(code, message)),
            expected,
            "{code} {message}"
        );
    }
}
