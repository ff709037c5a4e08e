//! Manifests in the format `plugin.json`.

use super::*;

/// An example from the documentation of a gateway.
const GITHUB: &str = r#"{
  "name": "@modelcontextprotocol/github",
  "version": "1.0.0",
  "description": "GitHub MCP server for repository operations",
  "packages": [
    {
      "name": "default",
      "transport_type": "stdio",
      "runtime": "uvx",
      "command": ["mcp-server-github"],
      "environment_variables": [
        {"name": "GITHUB_TOKEN", "description": "GitHub Personal Access Token", "required": true, "secret": true}
      ]
    }
  ]
}"#;

fn plugin(members: &str) -> Choice {
    read_one(&format!(r#"{{"name":"p","packages":[{{{members}}}]}}"#))
}

#[test]
fn a_plugin_is_started_by_its_runtime_and_asks_for_its_variables() {
    let manifest = read(GITHUB).expect("a manifest");
    assert_eq!(manifest.server_name(), "github");
    let choice = &manifest.choices[0];
    assert_eq!(
        (choice.label.as_str(), choice.runtime),
        ("uvx mcp-server-github", Some(Runtime::Uvx))
    );
    assert_eq!(
        fill_error(choice, &[]).to_string(),
        "these inputs have no value: GITHUB_TOKEN (GitHub Personal Access Token)"
    );
    let filled_spec = filled(choice, &[("GITHUB_TOKEN", "ghp_x")]);
    assert_eq!(filled_spec.secret_env, values(&[("GITHUB_TOKEN", "ghp_x")]));
    assert_eq!(filled_spec.spec.cwd, None);
}

#[test]
fn a_plugin_on_the_disk_starts_in_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let plugin = r#"{"name":"p","packages":[{"runtime":"python","command":["server.py"],"args":["--fast"]}]}"#;
    fs::write(folder.path().join("plugin.json"), plugin).expect("written");
    fs::write(folder.path().join("server.json"), "not read").expect("written");
    let manifest = read_path(folder.path()).expect("a manifest");
    let spec = filled(&manifest.choices[0], &[]).spec;
    assert_eq!(spec.cwd, Some(folder.path().display().to_string()));
    assert_eq!(
        (spec.command.as_deref(), spec.args.join(" ").as_str()),
        (Some(Runtime::Python.command()), "server.py --fast")
    );
}

#[test]
fn a_command_is_completed_with_its_runtime_and_flags() {
    for (members, expected) in [
        (r#""command":"./run.sh","args":["-v"]"#, "./run.sh -v"),
        (r#""runtime":"npx","command":["@a/b"]"#, "npx -y @a/b"),
        (
            r#""runtime":"npx","command":["npx","--yes","@a/b"]"#,
            "npx --yes @a/b",
        ),
        (r#""command":["npx","@a/b"]"#, "npx -y @a/b"),
        (
            r#""command":["docker","compose","run","x"]"#,
            "docker compose run x",
        ),
        (
            r#""runtime":"docker","command":["a/b:1","--fast"]"#,
            "docker run -i --rm a/b:1 --fast",
        ),
        (
            r#""runtime":"docker","command":["run","--rm","a/b"],"environment_variables":[{"name":"A","default":"1"}]"#,
            "docker run -i -e A --rm a/b",
        ),
    ] {
        assert_eq!(command_line(&plugin(members), &[]), expected, "{members}");
    }
}

#[test]
fn an_unusable_plugin_has_a_reason() {
    for (members, expected) in [
        (r#""command":[]"#, "'command' is empty"),
        (r#""command":["x"],"runtime":"ruby""#, "'ruby'"),
        (
            r#""command":["x"],"transport_type":"carrier-pigeon""#,
            "'carrier-pigeon'",
        ),
    ] {
        let problem = plugin(members).problem.expect("a problem");
        assert!(
            problem.to_string().contains(expected),
            "{members}: {problem}"
        );
    }
}

#[test]
fn a_plugin_that_serves_sse_needs_a_url_if_the_manifest_has_none() {
    let choice = plugin(r#""command":["./serve"],"transport_type":"sse""#);
    assert_eq!(
        (choice.problem.as_ref(), names(&choice)),
        (None, vec!["url"])
    );
    assert_eq!(choice.preview(), "./serve");
    assert!(
        fill_error(&choice, &[]).to_string().contains("url"),
        "the URL is required"
    );
    let url = "http://127.0.0.1:9000/sse";
    let spec = filled(&choice, &[("url", url)]).spec;
    assert_eq!(
        (spec.command.as_deref(), spec.url.as_deref(), spec.transport),
        (Some("./serve"), Some(url), Some(TransportKind::Sse))
    );
    let with_url = plugin(&format!(
        r#""command":["./serve"],"transport_type":"sse","url":"{url}""#
    ));
    assert_eq!(filled(&with_url, &[]).spec, spec);
    let elsewhere = fill_error(&choice, &[("url", "https://example.com/sse")]);
    assert!(
        elsewhere.to_string().contains("on this computer"),
        "{elsewhere}"
    );
}

#[test]
fn a_plugin_has_a_process_for_each_call_unless_it_serves_a_url() {
    let lifecycle = |members: &str| filled(&plugin(members), &[]).spec.lifecycle;
    assert_eq!(lifecycle(r#""command":["x"]"#), Lifecycle::Transient);
    assert_eq!(
        lifecycle(r#""command":["x"],"transport_type":"sse","url":"http://localhost:1/sse""#),
        Lifecycle::Singleton
    );
}

#[test]
fn the_spec_names_the_variables_that_the_server_needs() {
    let choice = plugin(
        r#""command":["x"],"environment_variables":[{"name":"KEY","required":true},{"name":"REGION"}]"#,
    );
    let spec = filled(&choice, &[("KEY", "k"), ("REGION", "eu")]).spec;
    assert_eq!(spec.required_env, ["KEY"]);
}
