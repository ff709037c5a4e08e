use std::{collections::BTreeMap, fs};

use drawbridge_model::spec::TransportKind;

use super::*;
use crate::{
    clients::{CLIENTS, find_client},
    machine::Os,
};

const ENDPOINT: &str = "http://127.0.0.1:8765/mcp";

fn machine(home: &Path, env: &[(&str, &str)]) -> Machine {
    Machine {
        os: Os::Linux,
        home: home.to_owned(),
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

fn try_paste(text: &str) -> Result<FoundServers, ImportError> {
    let machine = machine(
        Path::new("/home/ada"),
        &[("GITHUB_TOKEN", "from the environment")],
    );
    let importer = Importer {
        machine: &machine,
        endpoint_url: ENDPOINT,
        registered: &BTreeMap::new(),
    };
    importer.read_text(text)
}

fn paste(text: &str) -> FoundServers {
    try_paste(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn paste_one(text: &str) -> FoundServer {
    let mut found = paste(text).servers;
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Returns the name, and the command line or the URL.
fn summarize(server: &FoundServer) -> (String, String) {
    let spec = server
        .spec
        .as_ref()
        .unwrap_or_else(|error| panic!("{}: {error}", server.name));
    let words = spec.command.iter().chain(&spec.args).chain(&spec.url);
    let words: Vec<&str> = words.map(String::as_str).collect();
    (server.name.clone(), words.join(" "))
}

#[track_caller]
fn assert_paste(text: &str, name: &str, words: &str) -> ServerSpec {
    let server = paste_one(text);
    assert_eq!(
        summarize(&server),
        (name.to_owned(), words.to_owned()),
        "{text}"
    );
    server.spec.expect("a spec")
}

fn texts<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[track_caller]
fn assert_error(text: &str, part: &str) {
    let error = try_paste(text).expect_err(text).to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn json_with_comments_and_trailing_commas_can_be_pasted() {
    let spec = assert_paste(
        "\u{feff}{\r\n  // my servers\r\n  \"mcpServers\": {\r\n    \"fs\": {\"command\": \"npx\", \"args\": [\"-y\", \"x\",], /* on */ \"env\": {\"PORT\": 80},},\r\n  },\r\n}",
        "fs",
        "npx -y x",
    );
    assert_eq!(spec.env, texts([("PORT", "80")]));
}

#[test]
fn a_part_of_a_json_file_can_be_pasted() {
    assert_paste(r#""fs": {"command": "x"},"#, "fs", "x");
    assert_paste(r#""mcpServers": {"fs": {"command": "x"}}"#, "fs", "x");
    assert_paste(r#"{"fs": {"command": "x"}}"#, "fs", "x");
    assert_paste(
        r#"{"command": "npx", "args": ["-y", "@acme/mcp-server-notes"]}"#,
        "notes",
        "npx -y @acme/mcp-server-notes",
    );
    assert_paste(r#"[{"name": "fs", "command": "x"}]"#, "fs", "x");
    assert_paste("```json\n{\"fs\": {\"command\": \"x\"}}\n```", "fs", "x");
}

#[test]
fn the_servers_of_vs_code_can_be_pasted() {
    let server = paste_one(
        r#"{
            "inputs": [{"id": "key", "type": "promptString", "description": "Your key", "password": true},
                       {"id": "region", "type": "pickString", "options": ["eu", "us"], "default": "eu"}],
            "servers": {"maps": {"type": "stdio", "command": "maps", "args": ["--region", "${input:region}"],
                                 "env": {"MAPS_KEY": "${input:key}"}, "envFile": ".env"}}
        }"#,
    );
    assert_eq!(
        summarize(&server),
        ("maps".to_owned(), "maps --region eu".to_owned())
    );
    let spec = server.spec.as_ref().expect("a spec");
    assert_eq!(spec.env, texts([("MAPS_KEY", "${keyring:maps.MAPS_KEY}")]));
    assert_eq!(
        server.inputs,
        [RequiredInput {
            id: "key".to_owned(),
            description: "Your key".to_owned(),
            choices: Vec::new(),
            is_secret: true,
            secret_name: "maps.MAPS_KEY".to_owned(),
            places: vec![Place::Env("MAPS_KEY".to_owned())],
        }]
    );
    assert!(server.notes[0].contains("envFile"), "{:?}", server.notes);
}

#[test]
fn the_user_settings_of_vs_code_can_be_pasted() {
    let server = paste_one(
        r#"{"editor.fontSize": 12, "terminal.integrated.profiles.linux": {"bash": {"path": "bash"}},
            "mcp": {"inputs": [], "servers": {"web": {"url": "https://web.test/mcp", "headers": {"Authorization": "Bearer ${input:token}"}}}}}"#,
    );
    assert_eq!(
        summarize(&server),
        ("web".to_owned(), "https://web.test/mcp".to_owned())
    );
    let spec = server.spec.expect("a spec");
    assert_eq!(spec.headers["Authorization"], "Bearer ${keyring:web.token}");
    assert_eq!(
        server.inputs[0].places,
        [Place::Header("Authorization".to_owned())]
    );
}

#[test]
fn an_input_in_an_argument_is_filled_in_later() {
    let mut server = paste_one(r#"{"db": {"command": "db", "args": ["--user=${input:user}"]}}"#);
    assert_eq!(server.inputs[0].places, [Place::Arg(0)]);
    server.fill_input("user", "ada");
    assert_eq!(summarize(&server).1, "db --user=ada");
    let remote = paste_one(r#"{"db": {"url": "https://${input:host}/mcp"}}"#);
    assert_eq!(remote.inputs[0].places, [Place::Url]);
    assert!(remote.spec.is_ok());
}

#[test]
fn the_settings_of_zed_can_be_pasted() {
    let found = paste(
        r#"{"theme": "One", // mine
            "context_servers": {
                "old": {"command": {"path": "old", "args": ["a"], "env": {"A": "1"}}, "settings": {}},
                "new": {"source": "custom", "command": "new", "args": ["b"], "env": {}},
                "ext": {"source": "extension", "settings": {}},
            }}"#,
    );
    let servers: Vec<_> = found.servers.iter().map(summarize).collect();
    assert_eq!(
        servers,
        [
            ("new".to_owned(), "new b".to_owned()),
            ("old".to_owned(), "old a".to_owned())
        ]
    );
    assert_eq!(
        found.servers[1].spec.as_ref().expect("a spec").env,
        texts([("A", "1")])
    );
    assert_eq!(
        (found.skipped[0].name.as_str(), found.skipped[0].reason),
        ("ext", SkipReason::BuiltIn)
    );
}

#[test]
fn the_configuration_of_opencode_can_be_pasted() {
    let found = paste(
        r#"{"$schema": "https://opencode.ai/config.json", "mcp": {
            "local": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"API_KEY": "{env:MY_KEY}"}, "enabled": false},
            "far": {"type": "remote", "url": "https://far.test/mcp", "enabled": true}}}"#,
    );
    let [far, local] = found.servers.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(summarize(local).1, "npx -y x");
    let spec = local.spec.as_ref().expect("a spec");
    assert!(!spec.enabled);
    assert_eq!(spec.env["API_KEY"], "${keyring:local.API_KEY}");
    assert_eq!(local.inputs[0].id, "MY_KEY");
    assert_eq!(summarize(far).1, "https://far.test/mcp");
}

#[test]
fn the_toml_of_codex_can_be_pasted() {
    let found = paste(
        "# servers\n[mcp_servers.fs]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nstartup_timeout_sec = 90\ntool_timeout_sec = 60\n\n[mcp_servers.fs.env]\nA = \"1\"\n\n[mcp_servers.web]\nurl = \"https://web.test/mcp\"\nbearer_token_env_var = \"WEB_TOKEN\"\nenabled = false\n",
    );
    let [fs, web] = found.servers.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(summarize(fs), ("fs".to_owned(), "npx -y x".to_owned()));
    let spec = fs.spec.as_ref().expect("a spec");
    assert_eq!(spec.env, texts([("A", "1")]));
    assert_eq!(
        (spec.timeouts.initialize_ms, spec.timeouts.call_ms),
        (90_000, 60_000)
    );
    let spec = web.spec.as_ref().expect("a spec");
    assert_eq!(
        spec.headers["Authorization"],
        "Bearer ${keyring:web.WEB_TOKEN}"
    );
    assert!(!spec.enabled);
    assert_paste("command = \"npx\"\nargs = [\"-y\", \"x\"]", "x", "npx -y x");
    assert_paste(
        "[[mcp_servers]]\nname = \"v\"\ntransport = \"stdio\"\ncommand = \"v\"",
        "v",
        "v",
    );
}

#[test]
fn the_yaml_of_goose_can_be_pasted() {
    let found = paste(
        "GOOSE_MODEL: x\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n  notes:\n    type: stdio\n    cmd: npx\n    args: [-y, notes]\n    envs: {MODE: fast}\n    env_keys: [NOTES_KEY]\n    timeout: 300\n    enabled: true\n  web:\n    type: streamable_http\n    uri: https://web.test/mcp\n    enabled: false\n",
    );
    let servers: Vec<_> = found.servers.iter().map(summarize).collect();
    assert_eq!(
        servers,
        [
            ("notes".to_owned(), "npx -y notes".to_owned()),
            ("web".to_owned(), "https://web.test/mcp".to_owned())
        ]
    );
    let spec = found.servers[0].spec.as_ref().expect("a spec");
    assert_eq!(
        spec.env,
        texts([
            ("MODE", "fast"),
            ("NOTES_KEY", "${keyring:notes.NOTES_KEY}")
        ])
    );
    assert_eq!(spec.timeouts.call_ms, 300_000);
    assert_eq!(found.skipped[0].name, "developer");
}

#[test]
fn the_yaml_of_continue_can_be_pasted() {
    let found = paste(
        "name: My config\nmcpServers:\n  - name: Notes\n    command: npx\n    args:\n      - \"-y\"\n      - notes\n  - name: Web\n    type: streamable-http\n    url: https://web.test/mcp\n    requestOptions:\n      headers:\n        X-Mode: fast\n",
    );
    let servers: Vec<_> = found.servers.iter().map(summarize).collect();
    assert_eq!(
        servers,
        [
            ("Notes".to_owned(), "npx -y notes".to_owned()),
            ("Web".to_owned(), "https://web.test/mcp".to_owned())
        ]
    );
    let spec = found.servers[1].spec.as_ref().expect("a spec");
    assert_eq!(spec.headers, texts([("X-Mode", "fast")]));
    assert_paste("- name: one\n  command: x\n", "one", "x");
}

#[test]
fn the_settings_of_amp_crush_copilot_windsurf_and_gemini_can_be_pasted() {
    assert_paste(r#"{"amp.mcpServers": {"a": {"command": "a"}}}"#, "a", "a");
    assert_paste(
        r#"{"mcp": {"a": {"type": "http", "url": "https://a.test/mcp"}}}"#,
        "a",
        "https://a.test/mcp",
    );
    let spec = assert_paste(
        r#"{"mcpServers": {"a": {"type": "local", "command": "a", "tools": ["*"]}}}"#,
        "a",
        "a",
    );
    assert_eq!(spec.allowed_tools, None);
    assert_paste(
        r#"{"mcpServers": {"a": {"serverUrl": "https://a.test"}}}"#,
        "a",
        "https://a.test",
    );
    assert_paste(
        r#"{"mcpServers": {"a": {"httpUrl": "https://a.test"}}}"#,
        "a",
        "https://a.test",
    );
}

#[test]
fn claude_mcp_add_can_be_pasted() {
    let spec = assert_paste(
        "claude mcp add github --scope user -e GITHUB_TOKEN=ghp_0123456789abcdefghij -e MODE=fast -- npx -y @modelcontextprotocol/server-github --verbose",
        "github",
        "npx -y @modelcontextprotocol/server-github --verbose",
    );
    assert_eq!(
        spec.env,
        texts([
            ("GITHUB_TOKEN", "ghp_0123456789abcdefghij"),
            ("MODE", "fast")
        ])
    );
    let spec = assert_paste(
        "$ claude mcp add --transport sse asana \\\n    https://mcp.asana.test/sse \\\n    --header \"X-Mode: fast\"",
        "asana",
        "https://mcp.asana.test/sse",
    );
    assert_eq!(spec.transport, Some(TransportKind::Sse));
    assert_eq!(spec.headers, texts([("X-Mode", "fast")]));
    assert_paste("claude mcp add notes npx -y notes", "notes", "npx -y notes");
    assert_paste(
        r#"claude mcp add-json web '{"type":"http","url":"https://web.test/mcp"}'"#,
        "web",
        "https://web.test/mcp",
    );
    assert_paste("claude mcp serve", "claude", "claude mcp serve");
}

#[test]
fn codex_and_gemini_mcp_add_can_be_pasted() {
    let spec = assert_paste("codex mcp add fs --env A=1 -- npx -y x", "fs", "npx -y x");
    assert_eq!(spec.env, texts([("A", "1")]));
    let server =
        paste_one("codex mcp add web --url https://web.test/mcp --bearer-token-env-var WEB_TOKEN");
    assert_eq!(summarize(&server).1, "https://web.test/mcp");
    assert_eq!(server.inputs[0].id, "WEB_TOKEN");
    let server = paste_one(
        "gemini mcp add -s user -t http --header 'X-Mode: fast' --trust --include-tools=a,b web https://web.test/mcp",
    );
    assert_eq!(
        summarize(&server),
        ("web".to_owned(), "https://web.test/mcp".to_owned())
    );
    let spec = server.spec.expect("a spec");
    assert_eq!(
        spec.allowed_tools,
        Some(vec!["a".to_owned(), "b".to_owned()])
    );
    assert!(server.notes[0].contains("'trust'"), "{:?}", server.notes);
}

#[test]
fn code_add_mcp_can_be_pasted() {
    assert_paste(
        r#"code --add-mcp "{\"name\":\"fs\",\"command\":\"npx\",\"args\":[\"-y\",\"x\"]}""#,
        "fs",
        "npx -y x",
    );
    assert_paste(
        r#"code-insiders --add-mcp='{"name":"web","type":"http","url":"https://web.test/mcp"}'"#,
        "web",
        "https://web.test/mcp",
    );
}

#[test]
fn command_lines_can_be_pasted() {
    for (line, name, words) in [
        (
            "npx -y @modelcontextprotocol/server-filesystem '/my files'",
            "filesystem",
            "npx -y @modelcontextprotocol/server-filesystem /my files",
        ),
        ("uvx mcp-server-fetch", "fetch", "uvx mcp-server-fetch"),
        (
            "uvx --from git+https://x.test/y serena start",
            "serena",
            "uvx --from git+https://x.test/y serena start",
        ),
        (
            "docker run -i --rm mcp/time:latest",
            "time",
            "docker run -i --rm mcp/time:latest",
        ),
        (
            "docker run -i --rm -v /a:/b ghcr.io/acme/github-mcp-server stdio",
            "github",
            "docker run -i --rm -v /a:/b ghcr.io/acme/github-mcp-server stdio",
        ),
        (
            "node /home/ada/notes/dist/index.js",
            "notes",
            "node /home/ada/notes/dist/index.js",
        ),
        (
            "python -m weather_server",
            "weather_server",
            "python -m weather_server",
        ),
        (
            r"C:\Tools\notes.exe --port 1",
            "notes",
            r"C:\Tools\notes.exe --port 1",
        ),
    ] {
        assert_paste(line, name, words);
    }
    let spec = assert_paste("MODE=fast npx -y notes@1.2", "notes", "npx -y notes@1.2");
    assert_eq!(spec.env, texts([("MODE", "fast")]));
    let found = paste("\n# it's two servers\nuvx mcp-server-fetch\n\nnpx -y notes\n");
    let lines: Vec<_> = found
        .servers
        .iter()
        .map(|server| server.found_at[0].line)
        .collect();
    assert_eq!(lines, [Some(3), Some(5)], "{found:?}");
}

#[test]
fn a_url_can_be_pasted() {
    assert_paste(
        "https://mcp.notion.com/mcp",
        "notion",
        "https://mcp.notion.com/mcp",
    );
    assert_paste(
        "  http://127.0.0.1:3845/mcp\n",
        "remote",
        "http://127.0.0.1:3845/mcp",
    );
}

#[test]
fn a_secret_of_a_container_moves_to_its_variables() {
    let mut server = paste_one(
        "docker run -i --rm -e GITHUB_TOKEN=ghp_0123456789abcdefghij -e MODE=fast mcp/github",
    );
    assert_eq!(
        summarize(&server).1,
        "docker run -i --rm -e GITHUB_TOKEN -e MODE=fast mcp/github"
    );
    assert_eq!(
        server.move_secrets(),
        [(
            "github.GITHUB_TOKEN".to_owned(),
            "ghp_0123456789abcdefghij".to_owned()
        )]
    );
    assert_eq!(
        server.spec.expect("a spec").env,
        texts([("GITHUB_TOKEN", "${keyring:github.GITHUB_TOKEN}")])
    );
    let without_value = paste_one("docker run -i --rm -e GITHUB_TOKEN mcp/github");
    assert_eq!(without_value.inputs[0].secret_name, "github.GITHUB_TOKEN");
}

#[test]
fn literal_secrets_are_reported_and_moved() {
    let mut server = paste_one(
        r#"{"mcpServers": {"My Server": {"command": "x", "args": ["--api-key", "hunter22", "--token=abc"],
            "env": {"API_KEY": "hunter2", "OPAQUE": "ghp_0123456789abcdefghij", "MAX_PAGES": "5", "AUTHOR": "Ada", "KEY": "/etc/key.pem"}}}}"#,
    );
    let names: Vec<_> = server.secrets.iter().map(|secret| &secret.place).collect();
    assert_eq!(
        names,
        [
            &Place::Env("API_KEY".to_owned()),
            &Place::Env("OPAQUE".to_owned()),
            &Place::Arg(1),
            &Place::Arg(2)
        ]
    );
    assert!(
        server.notes.iter().any(|note| note.contains("Argument 2")),
        "{:?}",
        server.notes
    );
    assert!(
        server.notes.iter().all(|note| !note.contains("hunter")),
        "{:?}",
        server.notes
    );
    let moved = server.move_secrets();
    assert_eq!(
        moved,
        [
            ("my-server.API_KEY".to_owned(), "hunter2".to_owned()),
            (
                "my-server.OPAQUE".to_owned(),
                "ghp_0123456789abcdefghij".to_owned()
            ),
            ("my-server.api-key".to_owned(), "hunter22".to_owned()),
            ("my-server.token".to_owned(), "abc".to_owned()),
        ]
    );
    let spec = server.spec.expect("a spec");
    assert_eq!(spec.env["API_KEY"], "${keyring:my-server.API_KEY}");
    assert_eq!(spec.env["KEY"], "/etc/key.pem");
    let remote = paste_one(
        r#"{"a": {"url": "https://a.test/mcp?api_key=hunter2", "headers": {"Authorization": "Bearer abcdefgh"}}}"#,
    );
    let places: Vec<_> = remote.secrets.iter().map(|secret| &secret.place).collect();
    assert_eq!(
        places,
        [&Place::Header("Authorization".to_owned()), &Place::Url]
    );
}

#[test]
fn a_placeholder_becomes_an_input_and_each_input_and_secret_has_a_name_of_its_own() {
    for value in [
        "<YOUR_TOKEN>",
        "YOUR_TOKEN_HERE",
        "your-token",
        "xxxxxxxx",
        "...",
    ] {
        let text =
            format!(r#"{{"github": {{"command": "x", "env": {{"GITHUB_TOKEN": "{value}"}}}}}}"#);
        let server = paste_one(&text);
        assert_eq!(server.inputs.len(), 1, "{value}");
        assert_eq!(
            server.spec.expect("a spec").env["GITHUB_TOKEN"],
            "${keyring:github.GITHUB_TOKEN}"
        );
    }
    let both = paste_one(
        r#"{"a": {"command": "x", "env": {"URL": "https://${input:KEY}", "KEY": "hunter2", "B": "${input:a b}", "C": "-${input:a_b}"}}}"#,
    );
    let mut names: Vec<_> = both
        .inputs
        .iter()
        .map(|input| input.secret_name.as_str())
        .collect();
    names.extend(
        both.secrets
            .iter()
            .map(|secret| secret.secret_name.as_str()),
    );
    assert_eq!(names, ["a.KEY_2", "a.B", "a.a_b", "a.KEY"]);
    let header = paste_one(
        r#"{"a": {"url": "https://a.test", "headers": {"Authorization": "Bearer <token>"}}}"#,
    );
    assert_eq!(
        header.spec.expect("a spec").headers["Authorization"],
        "Bearer ${keyring:a.Authorization}"
    );
}

#[test]
fn a_pasted_text_gets_no_variable_of_the_environment() {
    let server = paste_one(
        r#"{"evil": {"url": "https://evil.test", "headers": {"A": "${GITHUB_TOKEN}", "B": "$GITHUB_TOKEN", "C": "{env:GITHUB_TOKEN}"}}}"#,
    );
    let spec = server.spec.expect("a spec");
    assert!(
        spec.headers
            .values()
            .all(|value| value == "${keyring:evil.A}"),
        "{:?}",
        spec.headers
    );
    assert_eq!(server.inputs[0].id, "GITHUB_TOKEN");
}

#[test]
fn an_argument_keeps_a_variable_that_the_entry_sets() {
    let server = paste_one(
        r#"{"a": {"command": "npx", "args": ["mcp-remote", "https://a.test", "--header", "X-Mode:${MODE}", "${PORT:-80}"], "env": {"MODE": "fast"}}}"#,
    );
    assert_eq!(
        summarize(&server).1,
        "npx mcp-remote https://a.test --header X-Mode:${MODE} 80"
    );
    assert_eq!(server.inputs, []);
}

#[test]
fn members_that_are_not_taken_over_are_named() {
    let server = paste_one(
        r#"{"a": {"command": "x", "autoApprove": ["read"], "alwaysAllow": [], "watch": true, "disabled": true, "disabledTools": ["rm"]}}"#,
    );
    let notes = server.notes.join("\n");
    assert!(notes.contains("'autoApprove'"), "{notes}");
    assert!(notes.contains("'watch'"), "{notes}");
    assert!(notes.contains("rm"), "{notes}");
    assert!(!notes.contains("alwaysAllow"), "{notes}");
    assert!(!server.spec.expect("a spec").enabled);
}

#[test]
fn drawbridge_itself_is_skipped() {
    let found = paste(
        r#"{"mcpServers": {
            "drawbridge": {"command": "/opt/drawbridge", "args": ["stdio", "--client", "cursor"]},
            "gateway": {"url": "http://localhost:8765/mcp"},
            "bridged": {"command": "npx", "args": ["mcp-remote", "http://127.0.0.1:8765/mcp"]},
            "figma": {"url": "http://127.0.0.1:3845/mcp"}}}"#,
    );
    let servers: Vec<_> = found
        .servers
        .iter()
        .map(|server| server.name.as_str())
        .collect();
    assert_eq!(servers, ["figma"]);
    let mut skipped: Vec<_> = found
        .skipped
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    skipped.sort_unstable();
    assert_eq!(skipped, ["bridged", "drawbridge", "gateway"]);
}

#[test]
fn a_bad_entry_does_not_affect_the_others() {
    let found = paste(
        r#"{"mcpServers": {"good": {"command": "x"}, "both": {"command": "x", "url": "http://y"},
            "number": {"command": 1}, "list": [], "odd": {"type": "pigeon", "command": "x"}, "args": {"command": "x", "args": "y"}}}"#,
    );
    let problem = |name: &str| {
        let server = found.servers.iter().find(|server| server.name == name);
        let spec = &server.unwrap_or_else(|| panic!("{name}")).spec;
        spec.as_ref()
            .err()
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    assert_eq!(problem("good"), "");
    assert!(problem("both").contains("both"));
    assert_eq!(
        problem("number"),
        "'command' must be a text or a list of texts, not a number"
    );
    assert!(problem("list").contains("not a list"));
    assert!(problem("odd").contains("pigeon"));
    assert_eq!(
        problem("args"),
        "'args' must be a list of texts, not a text"
    );
}

#[test]
fn bad_input_is_explained() {
    assert_error("", "nothing to read");
    assert_error(" \n ", "nothing to read");
    assert_error("# only a comment", "nothing to read");
    assert_error(
        "{\n  \"mcpServers\": {\n    bad\n",
        "not valid JSON: line 3, column 5",
    );
    assert_error(
        "\"fs\": {\"command\": }",
        "not valid JSON: line 1, column 19",
    );
    for (ends_early, place) in [
        ("{\"fs\":", "line 1, column 7"),
        ("{\n  \"fs\": {\n    \"command\":\n", "line 3, column 15"),
        ("{\n  \"fs\": {\n    \"args\": [\"x\"", "line 3, column 17"),
        (
            "{\n  \"fs\": {\n    \"command\": \"x\"\n",
            "line 3, column 19",
        ),
        ("\"fs\": {\"command\": \"x\"", "line 1, column 22"),
        ("\"fs\": {\n  \"command\": \"x\"\n", "line 2, column 17"),
    ] {
        assert_error(ends_early, &format!("not valid JSON: {place}: "));
    }
    assert_error("[mcp_servers.x]\ncommand = npx\n", "not valid TOML: line 2");
    assert_error("```json\n{\n bad}\n```", "line 3, column 2");
    assert_error("mcpServers:\n  - name: 'x\n", "not valid YAML: line");
    assert_error("{}", "no server");
    assert_error(r#"{"editor.fontSize": 12}"#, "no server");
    assert_error("name: x\n", "this YAML contains no server");
    assert_error("npx 'x", "line 1 is not a valid command line");
    assert_error("cd /x && npm start", "'&&'");
    assert_error("<html>", "not a program");
    assert_error("command = npx", "not a program");
    assert_error(&format!("a = {}", "[".repeat(100_000)), "not a program");
    assert_error(
        "cursor://anysphere.cursor-deeplink/mcp/install?name=x",
        "not a program",
    );
    assert_error("claude mcp list", "'claude mcp list' adds no server");
    assert_error("claude mcp add", "the name of the server is missing");
    assert_error(
        "claude mcp add x",
        "the command or URL of the server is missing",
    );
    assert_error("claude mcp add --fast x y", "'--fast' is unknown");
    assert_error("claude mcp add x y\nclaude mcp add z -e", "line 2");
    assert_error("claude mcp add-json x '{'", "not valid JSON: line 1");
    assert_error("code --add-mcp '{}'", "no server");
    assert_error(&format!("a: {}", "[".repeat(200)), "YAML");
    assert_error(
        &format!("a:\n  {}x", "- ".repeat(100_000)),
        "nested too deeply",
    );
    assert_error(&"[".repeat(100_000), "not valid JSON");
    let levels: String = (1..30)
        .map(|n| format!("l{n}: &l{n} [*l{0}, *l{0}]\n", n - 1))
        .collect();
    assert_error(&format!("l0: &l0 x\n{levels}"), "aliases");
}

#[test]
fn equal_servers_are_merged_equal_names_get_numbers_and_unreadable_files_are_reported() {
    let home = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("create");
        fs::write(&path, text).expect("write");
    };
    write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "x"], "env": {"K": "${env:FS_KEY}"}}, "web": {"url": "https://web.test/mcp/"}}}"#,
    );
    write(
        ".codex/config.toml",
        "[mcp_servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nenv = {K = \"secret-value\"}\n[mcp_servers.web]\nurl = \"https://web.test/mcp\"\n",
    );
    write(
        ".claude.json",
        r#"{"mcpServers": {"fs": {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"K": "another"}}},
            "projects": {"/home/ada/app": {"mcpServers": {"local": {"command": "./run", "args": []}}}}}"#,
    );
    write(
        ".gemini/settings.json",
        r#"{"mcpServers": {"old": {"url": "https://old.test/sse"}}}"#,
    );
    write(".kiro/settings/mcp.json", "{");
    let machine = machine(home.path(), &[("FS_KEY", "secret-value")]);
    let importer = Importer {
        machine: &machine,
        endpoint_url: ENDPOINT,
        registered: &BTreeMap::new(),
    };
    let found = importer.find_servers(CLIENTS, &[]);

    let by_name: BTreeMap<&str, &FoundServer> = found
        .servers
        .iter()
        .map(|server| (server.name.as_str(), server))
        .collect();
    let names: Vec<_> = by_name.keys().copied().collect();
    assert_eq!(names, ["fs", "fs-2", "local", "old", "web"]);
    let clients = |name: &str| -> Vec<&str> {
        let places = by_name[name].found_at.iter();
        places.filter_map(|place| place.client.as_deref()).collect()
    };
    assert_eq!(clients("fs"), ["claude-code"]);
    assert_eq!(clients("fs-2"), ["cursor", "codex"]);
    assert_eq!(clients("web"), ["cursor", "codex"]);
    assert_eq!(by_name["web"].found_at[1].keys, ["mcp_servers", "web"]);
    assert!(
        by_name["fs-2"]
            .notes
            .iter()
            .any(|note| note.contains("'fs'")),
        "{:?}",
        by_name["fs-2"].notes
    );
    let spec = |name: &str| by_name[name].spec.as_ref().expect("a spec");
    assert_eq!(spec("fs-2").env["K"], "secret-value");
    assert_eq!(spec("fs-2").name, "fs-2");
    assert_eq!(spec("local").cwd.as_deref(), Some("/home/ada/app"));
    assert_eq!(spec("old").transport, Some(TransportKind::Sse));
    assert_eq!(found.unreadable.len(), 1);
    assert!(
        found.unreadable[0]
            .file
            .ends_with(".kiro/settings/mcp.json")
    );
    assert!(
        found.unreadable[0]
            .error
            .to_string()
            .contains("not valid JSON: line 1")
    );
}

#[test]
fn a_server_that_drawbridge_has_keeps_its_name_and_another_one_gets_a_number() {
    let entry = |command: &str| {
        serde_json::json!({"mcpServers": {"shop": {"command": command}}}).to_string()
    };
    let known = paste_one(&entry("shop")).spec.expect("a spec");
    let machine = machine(Path::new("/home/ada"), &[]);
    let importer = Importer {
        machine: &machine,
        endpoint_url: ENDPOINT,
        registered: &BTreeMap::from([("shop".to_owned(), known)]),
    };
    for (command, name) in [("shop", "shop"), ("other", "shop-2")] {
        let found = importer.read_text(&entry(command)).expect("read").servers;
        assert_eq!(found[0].name, name);
        let is_renamed = found[0].notes.iter().any(|note| note.contains("Another"));
        assert_eq!(is_renamed, name != "shop", "{:?}", found[0].notes);
    }
}

#[test]
fn relative_paths_and_variables_of_a_project_refer_to_its_folder() {
    let project = tempfile::tempdir().expect("a folder");
    fs::create_dir(project.path().join(".vscode")).expect("create");
    let file = project.path().join(".vscode/mcp.json");
    fs::write(
        &file,
        r#"{"servers": {"a": {"command": "node", "args": ["./a.js"]}, "b": {"command": "b", "args": ["${workspaceFolder}/x"]}}}"#,
    )
    .expect("write");
    let machine = machine(project.path(), &[]);
    let importer = Importer {
        machine: &machine,
        endpoint_url: ENDPOINT,
        registered: &BTreeMap::new(),
    };
    let client = find_client("vscode").expect("a client");
    let found = importer
        .read_file(client, &file, Some(project.path()))
        .expect("read");
    let folder = project.path().to_str().expect("a path");
    let spec = |index: usize| found.servers[index].spec.as_ref().expect("a spec");
    assert_eq!(spec(0).cwd.as_deref(), Some(folder));
    assert_eq!(spec(1).cwd, None);
    assert_eq!(spec(1).args, [format!("{folder}/x")]);
}

/// The import reads every entry that Drawbridge writes for a client.
#[test]
fn the_entry_for_each_client_is_read() {
    use crate::connection::{Connection, Transport};
    for client in CLIENTS {
        for transport in [Transport::Bridge, Transport::Http { token: None }] {
            let connection = Connection {
                command: "/opt/notes".to_owned(),
                url: "https://notes.test/mcp".to_owned(),
                client: client.id.to_owned(),
                data_dir: None,
                transport: transport.clone(),
            };
            let Some(text) = client.snippet(&connection) else {
                continue;
            };
            let words = match transport {
                Transport::Bridge => format!("/opt/notes stdio --client {}", client.id),
                Transport::Http { .. } => "https://notes.test/mcp".to_owned(),
            };
            let server = paste_one(&text);
            assert_eq!(
                summarize(&server),
                ("drawbridge".to_owned(), words),
                "{text}"
            );
            assert!(server.notes.is_empty(), "{}: {:?}", client.id, server.notes);
        }
    }
}
