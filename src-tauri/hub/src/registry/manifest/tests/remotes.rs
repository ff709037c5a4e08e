//! Remotes of `server.json`.

use super::*;

/// An answer of the official registry's API, which does not declare the header's variable.
const SLACK: &str = r#"{
  "server": {
    "name": "ai.smithery/smithery-ai-slack",
    "description": "Enable interaction with Slack workspaces.",
    "version": "1.0.0",
    "remotes": [{
      "type": "streamable-http", "url": "https://server.smithery.ai/@smithery-ai/slack/mcp",
      "headers": [{"name": "Authorization", "description": "Bearer token for Smithery authentication",
        "isRequired": true, "isSecret": true, "value": "Bearer {smithery_api_key}"}]
    }]
  },
  "_meta": {"io.modelcontextprotocol.registry/official": {"status": "active", "isLatest": true}}
}"#;

/// The official registry's own example of a server with a package and two remotes.
const HYBRID: &str = r#"{
  "name": "io.modelcontextprotocol.anonymous/hybrid-mcp", "version_detail": {"version": "1.5.0"},
  "packages": [{"registry_type": "npm", "identifier": "@example/hybrid-mcp-server", "version": "1.5.0",
    "package_arguments": [{"type": "named", "name": "--mode", "description": "Operation mode", "default": "local",
      "choices": ["local", "cached", "proxy"]}]}],
  "remotes": [
    {"transport_type": "sse", "url": "https://mcp.anonymous.modelcontextprotocol.io/sse",
     "headers": [
       {"name": "X-API-Key", "description": "API key for authentication", "is_required": true, "is_secret": true},
       {"name": "X-Region", "default": "us-east-1", "choices": ["us-east-1", "eu-west-1", "ap-southeast-1"]}]},
    {"transport_type": "streamable-http", "url": "https://mcp.anonymous.modelcontextprotocol.io/http"}
  ]
}"#;

#[test]
fn only_the_secret_part_of_a_header_is_an_input() {
    let choice = read_one(SLACK);
    assert_eq!(choice.inputs[0].name, "smithery_api_key");
    assert_eq!(
        choice.inputs[0].description,
        "Bearer token for Smithery authentication"
    );
    let filled_spec = filled(&choice, &[("smithery_api_key", "k")]);
    assert_eq!(
        filled_spec.secret_headers,
        values(&[("Authorization", "Bearer k")])
    );
    assert_eq!(
        filled_spec.spec.url.as_deref(),
        Some("https://server.smithery.ai/@smithery-ai/slack/mcp")
    );
    assert!(filled_spec.spec.headers.is_empty() && filled_spec.spec.command.is_none());
}

#[test]
fn packages_and_remotes_are_choices() {
    let manifest = read(HYBRID).expect("a manifest");
    let [package, sse, http] = &manifest.choices[..] else {
        panic!("three choices")
    };
    assert_eq!(
        command_line(package, &[("--mode", "proxy")]),
        "npx -y @example/hybrid-mcp-server@1.5.0 --mode proxy"
    );
    assert_eq!(
        fill_error(package, &[("--mode", "x")]).to_string(),
        "'--mode' must be one of local, cached, proxy"
    );
    let filled_spec = filled(sse, &[("X-API-Key", "k")]);
    assert_eq!(filled_spec.spec.transport, Some(TransportKind::Sse));
    assert_eq!(
        filled_spec.spec.headers,
        values(&[("X-Region", "us-east-1")])
    );
    assert_eq!(filled_spec.secret_headers, values(&[("X-API-Key", "k")]));
    assert_eq!(
        (http.runtime, filled(http, &[]).spec.transport),
        (None, Some(TransportKind::Http))
    );
}

#[test]
fn declared_and_undeclared_url_variables_are_inputs() {
    let url = |variables: &str| {
        read_one(&format!(
            r#"{{"name":"a","remotes":[{{"type":"streamable-http","url":"https://{{tenant_id}}.api.example.com/mcp"{variables}}}]}}"#
        ))
    };
    let declared = url(
        r#","variables":{"tenant_id":{"description":"Your tenant identifier","isRequired":true}}"#,
    );
    assert_eq!(
        (declared.inputs[0].kind, declared.inputs[0].required),
        (InputKind::Url, true)
    );
    assert_eq!(
        declared.preview(),
        "https://<tenant_id>.api.example.com/mcp"
    );
    assert_eq!(
        filled(&declared, &[("tenant_id", "acme")])
            .spec
            .url
            .as_deref(),
        Some("https://acme.api.example.com/mcp")
    );
    assert!(matches!(fill_error(&url(""), &[]), FillError::Missing(_)));
}

#[test]
fn a_secret_in_a_url_and_an_unknown_transport_are_problems() {
    let secret = r#"{"name":"a","remotes":[{"url":"https://x.example/{key}","variables":{"key":{"isSecret":true}}}]}"#;
    assert_eq!(
        read_one(secret).problem,
        Some(Problem::SecretInUrl("key".into()))
    );
    let unknown = r#"{"name":"a","remotes":[{"type":"grpc","url":"https://x.example"}]}"#;
    assert_eq!(
        read_one(unknown).problem,
        Some(Problem::UnknownTransport("grpc".into()))
    );
}
