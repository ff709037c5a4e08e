//! Registrations of sources at a tools provider.

use serde_json::json;
use tempfile::TempDir;

use super::*;

const PLUGIN: &str = r#"{
  "name": "@modelcontextprotocol/github",
  "packages": [{
    "transport_type": "stdio", "runtime": "uvx", "command": ["mcp-server-github"], "args": ["--fast"],
    "environment_variables": [
      {"name": "GITHUB_TOKEN", "required": true, "secret": true},
      {"name": "HOST_NAME", "required": true},
      {"name": "LABEL"}
    ]
  }]
}"#;

fn plugin_folder(file: &str, text: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(file), text).expect("written");
    folder
}

/// Returns the manifest of a registration of the plugin in this folder. `members` are added to the
/// registration.
fn registered(folder: &TempDir, members: &Value) -> Manifest {
    let mut registration = json!({
        "name": "GitHub MCP",
        "url": "mcp://github-plugin",
        "source_type": "mcp",
        "mcp_plugin_dir": folder.path(),
        "mcp_env_vars": {"GITHUB_TOKEN": "ghp_x", "HOST_NAME": "github.example"},
    });
    let members = members.as_object().cloned().unwrap_or_default();
    registration
        .as_object_mut()
        .expect("an object")
        .extend(members);
    read(&registration.to_string()).unwrap_or_else(|error| panic!("{error}"))
}

fn words(spec: &drawbridge_model::spec::ServerSpec) -> String {
    let command = spec.command.iter();
    command
        .chain(&spec.args)
        .cloned()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_registration_with_its_required_values_becomes_a_spec() {
    let folder = plugin_folder("plugin.json", PLUGIN);
    let manifest = registered(
        &folder,
        &json!({"mcp_transport_type": "stdio", "mcp_runtime_hint": "uvx", "mcp_lifecycle_mode": "transient"}),
    );
    assert_eq!(manifest.server_name(), "GitHub MCP");
    let choice = &manifest.choices[0];
    assert_eq!(
        names(choice),
        ["LABEL"],
        "only the optional variable is left"
    );
    let FilledSpec {
        spec, secret_env, ..
    } = filled(choice, &[]);
    assert_eq!(words(&spec), "uvx mcp-server-github --fast");
    assert_eq!(spec.cwd, Some(folder.path().display().to_string()));
    assert_eq!(spec.lifecycle, Lifecycle::Transient);
    assert_eq!(secret_env, values(&[("GITHUB_TOKEN", "ghp_x")]));
    assert_eq!(spec.env, values(&[("HOST_NAME", "github.example")]));
    let mut required = spec.required_env;
    required.sort();
    assert_eq!(required, ["GITHUB_TOKEN", "HOST_NAME"]);
}

#[test]
fn the_registration_takes_precedence_over_the_manifest() {
    let folder = plugin_folder("plugin.json", PLUGIN);
    for (members, expected, lifecycle) in [
        (
            json!({}),
            "uvx mcp-server-github --fast",
            Lifecycle::Transient,
        ),
        (
            json!({"mcp_args": ["--more"], "mcp_lifecycle_mode": "singleton"}),
            "uvx mcp-server-github --fast --more",
            Lifecycle::Singleton,
        ),
        (
            json!({"mcp_command": "./run.sh", "mcp_args": ["-v"]}),
            "./run.sh -v",
            Lifecycle::Transient,
        ),
        (
            json!({"mcp_command": ["node", "index.js"]}),
            "node index.js",
            Lifecycle::Transient,
        ),
        (
            json!({"mcp_runtime_hint": "npx"}),
            "npx -y mcp-server-github --fast",
            Lifecycle::Transient,
        ),
    ] {
        let spec = filled(&registered(&folder, &members).choices[0], &[]).spec;
        assert_eq!(
            (words(&spec).as_str(), spec.lifecycle),
            (expected, lifecycle),
            "{members}"
        );
    }
    let served =
        json!({"mcp_transport_type": "sse", "mcp_server_url": "http://127.0.0.1:9000/sse"});
    let spec = filled(&registered(&folder, &served).choices[0], &[]).spec;
    assert_eq!(
        (spec.transport, spec.url.as_deref(), spec.lifecycle),
        (
            Some(TransportKind::Sse),
            Some("http://127.0.0.1:9000/sse"),
            Lifecycle::Singleton
        )
    );
}

#[test]
fn a_folder_with_a_server_json_can_be_registered_too() {
    let server = r#"{"name":"a/b","packages":[
        {"registryType":"npm","identifier":"@a/b","version":"1.0.0"},
        {"registryType":"pypi","identifier":"b","version":"1.0.0"}
    ]}"#;
    let folder = plugin_folder("server.json", server);
    let manifest = registered(
        &folder,
        &json!({"mcp_runtime_hint": "uvx", "mcp_args": ["--fast"]}),
    );
    assert_eq!(manifest.choices.len(), 1);
    let spec = filled(&manifest.choices[0], &[]).spec;
    assert_eq!(words(&spec), "uvx b@1.0.0 --fast");
    assert_eq!(spec.lifecycle, Lifecycle::Transient);
}

#[test]
fn a_remote_source_sends_its_variables_as_headers() {
    let choice = read_one(
        r#"{"name":"CML","url":"http://cml:9000","source_type":"mcp","mcp_server_url":"http://cml:9000",
            "mcp_transport_type":"streamable_http","mcp_env_vars":{"API_KEY":"0123456789abcdef","X-Team":"a"}}"#,
    );
    let FilledSpec {
        spec,
        secret_headers,
        ..
    } = filled(&choice, &[]);
    assert_eq!(
        (spec.url.as_deref(), spec.transport, spec.lifecycle),
        (
            Some("http://cml:9000"),
            Some(TransportKind::Http),
            Lifecycle::Singleton
        )
    );
    assert_eq!(secret_headers, values(&[("API_KEY", "0123456789abcdef")]));
    assert_eq!(spec.headers, values(&[("X-Team", "a")]));
}

#[test]
fn a_registration_that_cannot_be_used_names_its_fault() {
    let empty = tempfile::tempdir().expect("a folder");
    let in_empty = json!({"source_type": "mcp", "mcp_plugin_dir": empty.path()}).to_string();
    for (text, expected) in [
        (
            r#"{"source_type":"openapi","url":"http://x"}"#,
            "source_type: it is 'openapi'",
        ),
        (r#"{"source_type":"mcp"}"#, "mcp_plugin_dir: it is missing"),
        (
            r#"{"source_type":"mcp","url":"mcp://x"}"#,
            "mcp_plugin_dir: it is missing",
        ),
        (
            r#"{"mcp_plugin_dir":"plugins/x"}"#,
            "mcp_plugin_dir: it must be an absolute path",
        ),
        (
            r#"{"mcp_server_url":"http://x","mcp_transport_type":"stdio"}"#,
            "mcp_transport_type: it is 'stdio'",
        ),
        (
            r#"{"mcp_plugin_dir":"/x","mcp_lifecycle_mode":"forever"}"#,
            "mcp_lifecycle_mode: unknown variant `forever`",
        ),
        (in_empty.as_str(), "neither plugin.json nor server.json"),
    ] {
        let error = read(text).expect_err("an error").to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let folder = plugin_folder("plugin.json", PLUGIN);
    let manifest = registered(&folder, &json!({"mcp_env_vars": {"HOST_NAME": " "}}));
    assert_eq!(
        fill_error(&manifest.choices[0], &[]).to_string(),
        "these inputs have no value: GITHUB_TOKEN; HOST_NAME"
    );
}
