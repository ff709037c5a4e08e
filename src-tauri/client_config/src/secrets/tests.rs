use super::*;

#[test]
fn a_name_suggests_a_secret_by_its_parts() {
    for name in [
        "API_KEY",
        "apiKey",
        "GITHUB_TOKEN",
        "X-Api-Key",
        "githubPat",
        "DB_PASSWORD",
    ] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in ["PATH", "KEYBOARD", "PORT", "monkey", "command"] {
        assert!(!is_secret_name(name), "{name}");
    }
}

#[test]
fn a_value_suggests_a_secret_by_its_shape() {
    for value in [
        "ghp_0123456789abcdefghij",
        "Bearer abcdefgh1234",
        "eyJhbGciOi.eyJzdWIi.c2ln",
        "https://ada:hunter2@example.com/mcp",
        "https://example.com/mcp?api_key=hunter2",
        "0123456789abcdef0123456789abcdef",
        "Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RFRkdISUpLTE1O",
    ] {
        assert!(looks_like_secret(value), "{value}");
    }
    for value in [
        "",
        "${env:TOKEN}",
        "Bearer ${TOKEN}",
        "@modelcontextprotocol/server-filesystem",
        "https://example.com/mcp?profile=work",
        "/home/ada/projects/a-very-long-folder-name/with/more",
        "sk-short",
        "00000000000000000000000000000000000",
    ] {
        assert!(!looks_like_secret(value), "{value}");
    }
}

#[test]
fn an_argument_can_be_a_secret_because_of_its_option_or_its_name() {
    for (argument, previous) in [
        ("hunter2", Some("--api-key")),
        ("--api-key=hunter2", None),
        ("API_KEY=hunter2", Some("-e")),
        ("Authorization: Bearer abcdefgh1234", Some("--header")),
        ("X-Api-Key: hunter2", Some("-H")),
    ] {
        assert!(is_secret_argument(argument, previous), "{argument}");
    }
    for (argument, previous) in [
        ("--verbose", Some("--api-key")),
        ("${input:key}", Some("--api-key")),
        ("--port=80", None),
        ("https://example.com/token", None),
        ("-y", None),
    ] {
        assert!(!is_secret_argument(argument, previous), "{argument}");
    }
}
