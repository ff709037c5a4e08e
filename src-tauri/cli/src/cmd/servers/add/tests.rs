//! The verbs into which command lines are parsed, and the command lines that are refused.

use clap::Parser;
use drawbridge_hub::api::servers::AddServer;
use drawbridge_model::{
    sandbox::Sandbox,
    spec::{Isolation, TransportKind, Validate},
};

use crate::{
    args::{Args, Command},
    cmd::servers::Servers,
};

fn parse(line: &str) -> Result<AddServer, clap::error::ErrorKind> {
    let words = ["drawbridge", "servers", "add"]
        .into_iter()
        .chain(line.split(' '));
    let args = Args::try_parse_from(words).map_err(|e| e.kind())?;
    match args.command {
        Some(Command::Servers(Servers::Add(add))) => {
            Ok(add.into_verb().expect("options that fit together"))
        }
        _ => panic!("another command"),
    }
}

#[test]
fn everything_after_two_dashes_is_the_command() {
    let add =
        parse("files --env A=b=c --secret KEY=x --cwd /tmp --pending -- npx -y --json server")
            .expect("parsed");
    assert_eq!(add.spec.name, "files");
    assert_eq!(add.spec.command.as_deref(), Some("npx"));
    assert_eq!(add.spec.args, ["-y", "--json", "server"]);
    assert_eq!(add.spec.env["A"], "b=c");
    assert_eq!(add.secrets.env["KEY"], "x");
    assert!(add.pending && add.spec.enabled);
}

#[test]
fn the_name_of_an_input_may_begin_with_hyphens() {
    for line in [
        "--preset sqlite --set --db-path=/x --secret --key=y",
        "--preset sqlite --set=--db-path=/x --secret=--key=y",
    ] {
        assert!(parse(line).is_ok(), "{line}");
    }
}

#[test]
fn a_remote_server_is_added_with_headers() {
    let add = parse(
        "api --url https://x.example/mcp --transport http --header A=1 --secret-header Authorization=B",
    );
    let add = add.expect("parsed");
    assert_eq!(add.spec.url.as_deref(), Some("https://x.example/mcp"));
    assert_eq!(add.spec.transport, Some(TransportKind::Http));
    assert_eq!(
        (
            add.spec.headers["A"].as_str(),
            add.secrets.headers["Authorization"].as_str()
        ),
        ("1", "B")
    );
    assert!(add.spec.command.is_none() && !add.pending);
}

#[test]
fn a_remote_server_is_added_with_a_registered_oauth_client() {
    let line = "api --url https://x.example/mcp --oauth-client-id me --oauth-client-secret hush --oauth-callback-port 8123";
    let add = parse(line).expect("parsed");
    let client = add.spec.oauth.expect("a client");
    assert_eq!(
        (
            client.client_id.as_str(),
            client.client_secret,
            client.callback_port
        ),
        ("me", None, Some(8123))
    );
    assert_eq!(
        add.secrets.oauth_client.as_deref(),
        Some("hush"),
        "the secret is for the secret store"
    );
    assert_eq!(
        parse("api --url https://x.example/mcp")
            .expect("parsed")
            .spec
            .oauth,
        None
    );
}

#[test]
fn an_older_server_is_added_with_its_transport() {
    let add = parse("old --url http://localhost:3001/sse --transport sse").expect("parsed");
    assert_eq!(add.spec.transport, Some(TransportKind::Sse));
    assert_eq!(
        parse("new --url http://localhost:3001/mcp")
            .expect("parsed")
            .spec
            .transport,
        None
    );
}

#[test]
fn per_client_gives_each_client_its_own_session() {
    assert_eq!(
        parse("x --per-client -- run")
            .expect("parsed")
            .spec
            .isolation,
        Isolation::PerClient
    );
    assert_eq!(
        parse("x -- run --per-client")
            .expect("parsed")
            .spec
            .isolation,
        Isolation::Shared
    );
}

#[test]
fn validation_of_arguments_is_set_when_a_server_is_added() {
    for (line, validate) in [
        ("x -- run", Validate::Coercible),
        ("x --validate strict -- run", Validate::Strict),
        ("x --validate off --url http://a", Validate::Off),
    ] {
        assert_eq!(
            parse(line).expect("parsed").spec.validate,
            validate,
            "{line}"
        );
    }
    assert!(parse("x --validate loose -- run").is_err());
}

#[test]
fn a_server_from_a_preset_or_a_manifest_needs_no_name() {
    for line in [
        "--preset git",
        "mine --preset git --set a=b --secret c=d --pending",
        "--manifest /p --package 2",
    ] {
        assert!(parse(line).is_ok(), "{line}");
    }
}

#[test]
fn wrong_usage_is_refused() {
    for line in [
        "x",
        "x --url http://a -- npx",
        "x --header A=1 -- npx",
        "x --env A=1 --url http://a",
        "x --env A -- npx",
        "x --env =1 -- npx",
        "x --transport sse -- npx",
        "x npx",
        "--url https://a",
        "--preset git --set repository",
        "--preset git --manifest a.json",
        "--preset git -- npx",
        "--preset git --env A=1",
        "--preset git --package 1",
        "--manifest a.json --package 0",
        "x --set A=1 -- npx",
        "x --oauth-client-id me -- npx",
        "x --url http://a --oauth-client-secret hush",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn the_presets_and_lists_of_a_sandbox_are_combined() {
    for (line, expected) in [
        ("a --sandbox own-folder -- x", r#"{}"#),
        (
            "a --sandbox no-network -- x",
            r#"{"files": "all", "network": "none"}"#,
        ),
        (
            "a --sandbox own-folder --sandbox no-network -- x",
            r#"{"network": "none"}"#,
        ),
        (
            "a --sandbox read-project --sandbox-read /p -- x",
            r#"{"read": ["/p"]}"#,
        ),
        (
            "a --sandbox-write /p --sandbox-connect 443 --sandbox-local-sockets -- x",
            r#"{"write": ["/p"], "network": "listed", "connect": [443], "local_sockets": true}"#,
        ),
    ] {
        let expected: Sandbox = serde_json::from_str(expected).expect("a sandbox");
        let add = parse(line).expect(line);
        assert_eq!(add.spec.sandbox, Some(expected), "{line}");
    }
    for line in ["a -- x", "a --sandbox off -- x"] {
        assert_eq!(parse(line).expect(line).spec.sandbox, None, "{line}");
    }
}

#[test]
fn options_of_a_sandbox_that_contradict_each_other_are_refused() {
    for line in [
        "a --sandbox off --sandbox own-folder -- x",
        "a --sandbox off --sandbox-read /p -- x",
        "a --sandbox read-project -- x",
        "a --sandbox no-network --sandbox-connect 443 -- x",
    ] {
        let words = ["drawbridge", "servers", "add"];
        let words = words.into_iter().chain(line.split(' '));
        let Some(Command::Servers(Servers::Add(add))) =
            Args::try_parse_from(words).expect(line).command
        else {
            panic!("another command")
        };
        assert!(add.into_verb().is_err(), "{line}");
    }
    assert!(parse("a --url http://x --sandbox own-folder").is_err());
}

#[test]
fn a_bundle_has_no_options_that_it_would_ignore() {
    assert!(parse("--bundle files.mcpb --set folder=/x --secret KEY=v").is_ok());
    for option in [
        "--pending",
        "--per-client",
        "--validate off",
        "--sandbox own-folder",
        "--package 1",
        "--url https://x.example",
    ] {
        let line = format!("--bundle files.mcpb {option}");
        assert_eq!(
            parse(&line).err(),
            Some(clap::error::ErrorKind::ArgumentConflict),
            "{line}"
        );
    }
}
