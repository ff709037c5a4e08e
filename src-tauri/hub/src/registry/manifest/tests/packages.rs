//! Packages of `server.json`.

use super::*;

/// `upstash/context7`, schema 2025-10-17.
const CONTEXT7: &str = r#"{
  "$schema": "https://static.modelcontextprotocol.io/schemas/2025-10-17/server.schema.json",
  "name": "io.github.upstash/context7",
  "title": "Context7",
  "description": "Up-to-date code docs for any prompt",
  "repository": {"url": "https://github.com/upstash/context7", "source": "github"},
  "version": "1.0.0",
  "packages": [{
    "registryType": "npm", "identifier": "@upstash/context7-mcp", "version": "1.0.26",
    "transport": {"type": "stdio"},
    "environmentVariables": [{"description": "API key for authentication", "isRequired": false,
      "format": "string", "isSecret": true, "name": "CONTEXT7_API_KEY"}]
  }]
}"#;

/// The official registry's own example from before September 2025: two packages, `snake_case`.
const FILESYSTEM: &str = r#"{
  "name": "io.github.modelcontextprotocol/filesystem",
  "description": "Node.js server implementing Model Context Protocol (MCP) for filesystem operations.",
  "status": "active",
  "version_detail": {"version": "1.0.2"},
  "packages": [
    {"registry_type": "npm", "identifier": "@modelcontextprotocol/server-filesystem", "version": "1.0.2",
     "package_arguments": [{"type": "positional", "value_hint": "target_dir", "description": "Path to access",
       "default": "/Users/username/Desktop", "is_required": true, "is_repeated": true}],
     "environment_variables": [{"name": "LOG_LEVEL", "description": "Logging level", "default": "info"}]},
    {"registry_type": "oci", "registry_base_url": "https://docker.io", "identifier": "mcp/filesystem", "version": "1.0.2",
     "runtime_arguments": [{"type": "named", "description": "Mount a volume into the container", "name": "--mount",
       "value": "type=bind,src={source_path},dst={target_path}", "is_required": true, "is_repeated": true,
       "variables": {"source_path": {"description": "Source path on host", "format": "filepath", "is_required": true},
         "target_path": {"description": "Path to mount in the container.", "is_required": true, "default": "/project"}}}],
     "package_arguments": [{"type": "positional", "value_hint": "target_dir", "value": "/project"}],
     "environment_variables": [{"name": "LOG_LEVEL", "description": "Logging level", "default": "info"}]}
  ]
}"#;

/// `github/github-mcp-server`: Docker's complete command line, with a secret in it.
const GITHUB: &str = r#"{
  "name": "io.github.github/github-mcp-server", "title": "GitHub MCP Server", "version": "0.20.1",
  "packages": [{
    "registryType": "oci", "identifier": "ghcr.io/github/github-mcp-server:0.20.1", "transport": {"type": "stdio"},
    "runtimeArguments": [
      {"type": "positional", "value": "run", "description": "The runtime command to execute", "isRequired": true},
      {"type": "named", "name": "-i", "value": "true", "format": "boolean", "isRequired": true},
      {"type": "named", "name": "--rm", "value": "true", "format": "boolean"},
      {"type": "named", "name": "-e", "description": "Set an environment variable in the runtime",
       "value": "GITHUB_PERSONAL_ACCESS_TOKEN={token}", "isRequired": true,
       "variables": {"token": {"isRequired": true, "isSecret": true, "format": "string"}}},
      {"type": "positional", "valueHint": "image_name", "value": "ghcr.io/github/github-mcp-server", "isRequired": true}
    ]
  }]
}"#;

/// The official registry's example of a package with fixed arguments.
const NUGET: &str = r#"{
  "name": "io.github.joelverhagen/knapcode-samplemcpserver", "version_detail": {"version": "0.4.0-beta"},
  "packages": [{"registry_type": "nuget", "registry_base_url": "https://api.nuget.org",
    "identifier": "Knapcode.SampleMcpServer", "version": "0.4.0-beta",
    "package_arguments": [{"type": "positional", "value": "mcp"}, {"type": "positional", "value": "start"}]}]
}"#;

#[test]
fn an_npm_package_starts_with_npx_and_its_secret_goes_to_the_secret_store() {
    let manifest = read(CONTEXT7).expect("a manifest");
    assert_eq!(
        (manifest.server_name(), manifest.version.as_str()),
        ("Context7", "1.0.0")
    );
    let choice = &manifest.choices[0];
    assert_eq!(
        (choice.label.as_str(), choice.runtime),
        ("npx @upstash/context7-mcp@1.0.26", Some(Runtime::Npx))
    );
    let input = &choice.inputs[0];
    assert_eq!(
        (input.name.as_str(), input.kind),
        ("CONTEXT7_API_KEY", InputKind::Env)
    );
    assert!(input.secret && !input.required);
    assert_eq!(
        command_line(choice, &[]),
        "npx -y @upstash/context7-mcp@1.0.26"
    );
    assert!(filled(choice, &[]).spec.env.is_empty());
    let with_key = filled(choice, &[("CONTEXT7_API_KEY", "k")]);
    assert!(with_key.spec.env.is_empty());
    assert_eq!(with_key.secret_env, values(&[("CONTEXT7_API_KEY", "k")]));
}

#[test]
fn older_manifests_are_read() {
    let manifest = read(FILESYSTEM).expect("a manifest");
    assert_eq!(
        (manifest.server_name(), manifest.version.as_str()),
        ("filesystem", "1.0.2")
    );
    let npm = &manifest.choices[0];
    assert_eq!(
        command_line(npm, &[]),
        "npx -y @modelcontextprotocol/server-filesystem@1.0.2 /Users/username/Desktop"
    );
    assert_eq!(
        command_line(npm, &[("target_dir", "/a\n\n /b ")]),
        "npx -y @modelcontextprotocol/server-filesystem@1.0.2 /a /b"
    );
    assert_eq!(filled(npm, &[]).spec.env["LOG_LEVEL"], "info");
    let oldest =
        package(r#""registry_name":"pypi","name":"mcp-x","version":"0.5.0","runtime_hint":"uvx""#);
    assert_eq!(command_line(&oldest, &[]), "uvx mcp-x@0.5.0");
    let docker = package(r#""registry_name":"docker","name":"mcp/x","version":"1""#);
    assert_eq!(command_line(&docker, &[]), "docker run -i --rm mcp/x:1");
}

#[test]
fn an_image_is_the_same_package_with_any_tag_and_digest() {
    let with_version = |identifier: &str, version: &str| {
        package(&format!(
            r#""registry_name":"docker","name":"{identifier}","version":"{version}""#
        ))
    };
    for identifier in ["a/b", "a/b:1", "a/b@sha256:0a", "a/b:1@sha256:0a"] {
        let image = with_version(identifier, "2");
        for used in ["1", "sha256:0b"] {
            let spec = filled(&with_version("a/b", used), &[]).spec;
            assert!(image.is_used_by(&spec), "{identifier}: {spec:?}");
        }
        let other = filled(&with_version("a/c", "1"), &[]).spec;
        assert!(!image.is_used_by(&other), "{identifier}");
    }
}

#[test]
fn docker_runs_an_image_with_its_variables_and_arguments() {
    let manifest = read(FILESYSTEM).expect("a manifest");
    let image = &manifest.choices[1];
    assert_eq!(names(image), ["LOG_LEVEL", "source_path", "target_path"]);
    assert_eq!(
        image.preview(),
        "docker run -i --rm -e LOG_LEVEL --mount type=bind,src=<source_path>,dst=<target_path> mcp/filesystem:1.0.2 /project"
    );
    assert_eq!(
        command_line(
            image,
            &[
                ("source_path", "/a\n/b"),
                ("target_path", "/project/a\n/project/b")
            ]
        ),
        "docker run -i --rm -e LOG_LEVEL --mount type=bind,src=/a,dst=/project/a --mount type=bind,src=/b,dst=/project/b \
         mcp/filesystem:1.0.2 /project"
    );
}

#[test]
fn a_secret_in_a_docker_argument_goes_through_the_environment() {
    let choice = read_one(GITHUB);
    assert_eq!(names(&choice), ["token"]);
    let filled_spec = filled(&choice, &[("token", "ghp_x")]);
    let args = filled_spec.spec.args.join(" ");
    assert_eq!(
        args,
        "run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server:0.20.1"
    );
    assert_eq!(
        filled_spec.secret_env,
        values(&[("GITHUB_PERSONAL_ACCESS_TOKEN", "ghp_x")])
    );
    assert!(filled_spec.spec.env.is_empty());
}

#[test]
fn a_nuget_package_gets_its_arguments_after_two_dashes() {
    assert_eq!(
        command_line(&read_one(NUGET), &[]),
        "dnx Knapcode.SampleMcpServer@0.4.0-beta --yes -- mcp start"
    );
}

#[test]
fn redundant_runtime_arguments_are_dropped() {
    for argument in [
        r#"{"value":"-y","type":"positional"}"#,
        r#"{"type":"named","name":"--yes"}"#,
        r#"{"value":"x"}"#,
    ] {
        let choice = package(&format!(
            r#""registryType":"npm","identifier":"x","version":"1.0.0","runtimeArguments":[{argument}]"#
        ));
        assert_eq!(command_line(&choice, &[]), "npx -y x@1.0.0", "{argument}");
    }
}

#[test]
fn uvx_starts_another_program_of_a_python_package() {
    let choice = package(
        r#""registryType":"pypi","identifier":"seam-suite","version":"2.4.1",
           "runtimeArguments":[{"type":"positional","value":"--from"}],
           "packageArguments":[{"type":"positional","value":"seam-mcp"}]"#,
    );
    assert_eq!(
        command_line(&choice, &[]),
        "uvx --from seam-suite==2.4.1 seam-mcp"
    );
}

#[test]
fn an_image_keeps_its_tag_and_gets_its_host_and_digest() {
    for (members, image) in [
        (
            r#""identifier":"ghcr.io/a/b:v1","version":"2""#,
            "ghcr.io/a/b:v1",
        ),
        (
            r#""identifier":"a/b","version":"sha256:abc""#,
            "a/b@sha256:abc",
        ),
        (
            r#""identifier":"a/b","version":"1","registryBaseUrl":"https://ghcr.io""#,
            "ghcr.io/a/b:1",
        ),
        (r#""identifier":"localhost:5000/b""#, "localhost:5000/b"),
    ] {
        let choice = package(&format!(r#""registryType":"oci",{members}"#));
        assert_eq!(
            command_line(&choice, &[]),
            format!("docker run -i --rm {image}")
        );
    }
}

#[test]
fn without_a_registry_type_the_hint_sets_the_runtime() {
    let python = package(r#""identifier":"/opt/server.py","runtimeHint":"python""#);
    assert_eq!(
        command_line(&python, &[]),
        format!("{} /opt/server.py", Runtime::Python.command())
    );
    assert_eq!(
        command_line(&package(r#""identifier":"a.js","runtimeHint":"node""#), &[]),
        "node a.js"
    );
}

#[test]
fn an_unusable_package_has_a_reason_and_does_not_affect_other_packages() {
    for (members, expected) in [
        (
            r#""registryType":"mcpb","identifier":"https://x.example/a.mcpb""#,
            "MCP bundle",
        ),
        (r#""registryType":"cargo","identifier":"x""#, "'cargo'"),
        (r#""identifier":"x","runtimeHint":"ruby""#, "'ruby'"),
        (
            r#""registryType":"npm","identifier":"--call=x""#,
            "'identifier'",
        ),
        (
            r#""registryType":"npm","identifier":"x","version":"1 --call"#,
            "'version'",
        ),
        (
            r#""registryType":"npm","identifier":"x","registryBaseUrl":"https://npm.evil.example"#,
            "npm.evil.example",
        ),
        (
            r#""registryType":"oci","identifier":"x","transport":{"type":"streamable-http","url":"http://localhost:80"#,
            "localhost:80",
        ),
        (
            r#""registryType":"npm","identifier":"x","environmentVariables":[{"description":"no name"#,
            "no 'name'",
        ),
        (
            r#""registryType":"npm","identifier":"x","packageArguments":[{"name":"--key","isSecret":true,"isRequired":true,"description":""#,
            "the secret '--key' on its command line",
        ),
    ] {
        // The texts above omit the closing quote and brackets, which are added here.
        let closed = match members.matches('"').count() % 2 {
            0 => members.to_owned(),
            _ => format!("{members}\""),
        };
        let open: Vec<char> = closed.chars().filter(|c| "[]{}".contains(*c)).collect();
        let tail: String = open
            .iter()
            .rev()
            .map(|c| if *c == '[' { ']' } else { '}' })
            .collect();
        let text = format!(
            r#"{{"name":"a","packages":[{{{closed}{tail}}},{{"registryType":"npm","identifier":"good"}}]}}"#
        );
        let manifest = read(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let problem = manifest.choices[0].problem.as_ref();
        assert!(
            problem.is_some_and(|problem| problem.to_string().contains(expected)),
            "{text}: {problem:?}"
        );
        assert!(matches!(
            fill_error(&manifest.choices[0], &[]),
            FillError::Problem(_)
        ));
        assert_eq!(command_line(&manifest.choices[1], &[]), "npx -y good");
    }
}

#[test]
fn an_identifier_may_begin_with_any_letter() {
    let manifest = read(
        r#"{"name": "a/b", "version": "1", "packages": [
            {"registryType": "npm", "identifier": "éclair", "version": "1.2.3"}]}"#,
    )
    .expect("a manifest");
    assert!(
        manifest.choices[0].preview().contains("éclair@1.2.3"),
        "{}",
        manifest.choices[0].preview()
    );
}
