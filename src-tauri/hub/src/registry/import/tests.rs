use drawbridge_model::spec::TransportKind;

use super::{read_specs as read_specs_of, *};

const ENDPOINT: &str = "http://127.0.0.1:9000/mcp";

fn read_specs(text: &str) -> Result<ImportedServers, ImportError> {
    read_specs_of(text, ENDPOINT)
}

fn read_one(text: &str) -> ImportedServer {
    let mut read = read_specs(text).expect("read").servers;
    assert_eq!(read.len(), 1, "{read:?}");
    read.remove(0)
}

#[test]
fn the_common_format_is_read() {
    let read = read_one(
        r#"{"mcpServers":{"fs":{"command":"npx","args":["-y","x"],"env":{"API_KEY":"k","PORT":80}}}}"#,
    );
    let spec = read.spec.expect("a spec");
    assert_eq!(
        (read.name.as_str(), spec.command.as_deref(), spec.args.len()),
        ("fs", Some("npx"), 2)
    );
    assert_eq!(spec.env["PORT"], "80");
    assert_eq!(read.likely_secrets, ["API_KEY"]);
}

#[test]
fn formats_of_other_clients_are_read() {
    let url = |text| read_one(text).spec.expect("a spec").url;
    assert_eq!(
        url(r#"{"servers":{"a":{"type":"http","url":"https://x.test/mcp"}}}"#).as_deref(),
        Some("https://x.test/mcp")
    );
    assert_eq!(
        url(r#"{"mcpServers":{"a":{"serverUrl":"https://x.test/mcp"}}}"#).as_deref(),
        Some("https://x.test/mcp")
    );
    assert_eq!(
        url(r#""a": {"httpUrl":"https://x.test/mcp"},"#).as_deref(),
        Some("https://x.test/mcp")
    );
    let local = read_one(
        r#"{"mcp":{"a":{"type":"local","command":["npx","-y","x"],"environment":{"A":"1"}}}}"#,
    )
    .spec
    .expect("a spec");
    assert_eq!(
        (
            local.command.as_deref(),
            local.args.as_slice(),
            local.env.len()
        ),
        (Some("npx"), &["-y".to_owned(), "x".to_owned()][..], 1)
    );
}

#[test]
fn an_sse_server_keeps_its_transport() {
    for text in [
        r#"{"mcpServers":{"a":{"type":"sse","url":"http://x.test/sse"}}}"#,
        r#"{"servers":{"a":{"transport":"sse","url":"http://x.test/sse"}}}"#,
    ] {
        assert_eq!(
            read_one(text).spec.expect("a spec").transport,
            Some(TransportKind::Sse),
            "{text}"
        );
    }
    assert!(
        read_one(r#"{"type":"sse","command":"x"}"#)
            .spec
            .is_err_and(|e| e.to_string().contains("needs a 'url'"))
    );
}

#[test]
fn a_bare_entry_and_a_command_line_are_servers() {
    assert!(read_one(r#"{"command":"x"}"#).spec.is_ok());
    let line = read_one("npx -y @modelcontextprotocol/server-filesystem '/my files'");
    assert_eq!(line.name, "filesystem");
    assert_eq!(
        line.spec.expect("a spec").args,
        ["-y", "@modelcontextprotocol/server-filesystem", "/my files"]
    );
}

#[test]
fn a_bad_entry_does_not_affect_other_entries() {
    let read = read_specs(
        r#"{"mcpServers":{"bad":{"command":"x","url":"http://y"},"good":{"command":"x"}}}"#,
    )
    .expect("read")
    .servers;
    assert!(
        read[0]
            .spec
            .as_ref()
            .is_err_and(|e| e.to_string().contains("both"))
    );
    assert!(read[1].spec.is_ok());
}

#[test]
fn invalid_text_is_reported_with_a_reason() {
    for (text, expected) in [
        ("", "nothing"),
        ("{", "not valid JSON"),
        ("{}", "no server"),
        ("npx 'x", "command line"),
    ] {
        assert!(
            read_specs(text)
                .expect_err("an error")
                .to_string()
                .contains(expected),
            "{text}"
        );
    }
}

#[test]
fn a_value_that_the_text_lacks_has_to_be_entered() {
    let read = read_one(
        r#"{"inputs":[{"id":"key","type":"promptString","password":true}],
            "servers":{"a":{"command":"x","env":{"MODE":"${input:key}"}}}}"#,
    );
    assert_eq!(read.spec.expect("a spec").env["MODE"], "");
    assert_eq!(read.likely_secrets, ["MODE"]);
    for (text, expected) in [
        (
            r#"{"a":{"url":"https://x.test","headers":{"Authorization":"Bearer ${input:token}"}}}"#,
            "the header Authorization needs a value that the text does not have: 'token'",
        ),
        (
            r#"{"a":{"command":"x","args":["${DATABASE}"]}}"#,
            "argument 1 needs a value that the text does not have: 'DATABASE'",
        ),
    ] {
        let problem = read_one(text).spec.expect_err("a problem").to_string();
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn ignored_members_and_skipped_entries_are_reported() {
    let read = read_specs(
        r#"{"mcpServers":{
            "files":{"command":"x","autoApprove":["read"]},
            "drawbridge":{"command":"drawbridge","args":["stdio"]}}}"#,
    )
    .expect("read");
    assert_eq!(read.servers.len(), 1);
    assert!(
        read.servers[0]
            .notes
            .iter()
            .any(|note| note.contains("autoApprove")),
        "{:?}",
        read.servers[0].notes
    );
    assert_eq!(read.skipped[0].name, "drawbridge");
}

#[test]
fn drawbridge_itself_cannot_be_added_as_a_server() {
    for text in [
        r#"{"mcpServers":{"drawbridge":{"command":"drawbridge","args":["stdio"]}}}"#,
        r#"{"mcpServers":{"hub":{"url":"http://127.0.0.1:9000/mcp"}}}"#,
    ] {
        let error = read_specs(text).expect_err("an error").to_string();
        assert!(
            error.contains("connects the client to Drawbridge"),
            "{error}"
        );
    }
}

#[test]
fn a_line_that_adds_a_server_to_a_client_does_not_start_the_client() {
    let spec = read_one("claude mcp add github -- npx -y server-github");
    assert_eq!(spec.name, "github");
    assert_eq!(spec.spec.expect("a spec").command.as_deref(), Some("npx"));
}
