//! MCP bundles: a bundle is opened, added, accepted, used and removed; a bundle that is refused or
//! cannot be added leaves nothing.

use std::{
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
};

use drawbridge_tests::{DesktopSession, Home, Hub, paths};
use serde_json::{Value, json};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

const SECRET: &str = "correct-horse-battery-staple";

/// Writes a bundle with the fixture server `upstream-probe` and these further entries.
fn write_bundle(home: &Home, entries: &[&str]) -> String {
    let manifest = json!({
        "manifest_version": "0.3",
        "name": "desk-probe",
        "display_name": "Desk probe",
        "version": "1.2.3",
        "description": "Says what it was told",
        "author": {"name": "Ada"},
        "server": {
            "type": "binary",
            "entry_point": "server/probe",
            "mcp_config": {
                "command": "${__dirname}/server/probe",
                "args": ["--describe", "${user_config.words}"],
                "env": {"PROBE_KEY": "${user_config.key}"},
            },
        },
        "tools": [{"name": "variable", "description": "Shows a variable"}],
        "user_config": {
            "key": {
                "type": "string", "title": "Key", "description": "of your account",
                "required": true, "sensitive": true,
            },
            "words": {
                "type": "string", "title": "Words", "description": "", "default": "From a bundle",
            },
        },
    });
    let file = home.file("probe.mcpb");
    let mut zip = ZipWriter::new(File::create(&file).expect("create the bundle"));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut add = |name: &str, content: &[u8]| {
        zip.start_file(name, stored).expect("an entry");
        zip.write_all(content).expect("its content");
    };
    let program = fs::read(paths::built_binary("upstream-probe")).expect("read the server");
    add("manifest.json", manifest.to_string().as_bytes());
    add("server/probe", &program);
    for name in entries {
        add(name, b"x");
    }
    zip.finish().expect("an archive");
    paths::path_text(&file)
}

/// Returns the folder with the unpacked files of the server.
fn unpacked(home: &Home) -> PathBuf {
    home.data_dir().join("bundles/desk-probe")
}

#[track_caller]
fn assert_nothing_added(home: &Home) {
    assert!(!unpacked(home).exists(), "unpacked files remain");
    let servers = home.cli(&["servers", "list", "--json"]).expect_json();
    let added = servers["servers"].as_array().expect("a list");
    assert!(
        added.iter().all(|server| server["id"] != "desk-probe"),
        "{servers}"
    );
}

#[test]
fn a_bundle_is_added_accepted_used_and_removed_with_its_files() {
    let desktop = DesktopSession::new();
    let hub = Hub::serve(&desktop);
    let bundle = write_bundle(&desktop, &[]);
    let source = json!({"path": bundle});

    let opened = hub.run_verb("bundles.open", &json!({"source": source}));
    assert_eq!(
        (&opened["title"], &opened["version"], &opened["author"]),
        (&json!("Desk probe"), &json!("1.2.3"), &json!("Ada"))
    );
    assert_eq!(opened["tools"][0]["name"], "variable");
    assert_eq!(
        opened["choice"]["preview"],
        "<__dirname>/server/probe --describe <words>"
    );
    let inputs = opened["choice"]["inputs"].as_array().expect("a list");
    let shown: Vec<_> = inputs
        .iter()
        .map(|input| (&input["name"], &input["secret"], &input["default"]))
        .collect();
    assert_eq!(
        shown,
        [
            (&json!("key"), &json!(true), &Value::Null),
            (&json!("words"), &json!(false), &json!("From a bundle")),
        ]
    );

    let (status, refused) = hub.try_verb("bundles.add", &json!({"source": source}));
    assert!(
        status == 400 && refused.contains("Key (key)"),
        "a required value is missing: {status} {refused}"
    );
    assert_nothing_added(&desktop);

    let secret = format!("key={SECRET}");
    let options = ["servers", "add", "--bundle", &bundle, "--secret", &secret];
    let added = desktop
        .cli(&[options.as_slice(), &["--json"]].concat())
        .expect_json();
    assert_eq!(
        (&added["id"], &added["acceptance"]),
        (&json!("desk-probe"), &json!("new")),
        "{added}"
    );
    assert_eq!(
        added["spec"]["env"]["PROBE_KEY"],
        "${keyring:desk-probe.PROBE_KEY}"
    );
    assert!(!added.to_string().contains(SECRET), "{added}");
    let command = added["spec"]["command"].as_str().expect("a command");
    assert!(fs::canonicalize(command).is_ok_and(|path| {
        path.starts_with(fs::canonicalize(unpacked(&desktop)).expect("the folder"))
    }));
    let recorded = hub.run_verb("audit.list", &json!({"kind": "server_added"}));
    assert_eq!(recorded["entries"][0]["body"]["server"], "desk-probe");

    desktop.accept_server("desk-probe");
    hub.wait_until_synced("desk-probe");
    hub.set_policy("desk-probe", "allow");
    let client = hub.connect_client("desk");
    let answer = client.call("desk-probe__variable", r#"{"name":"PROBE_KEY"}"#);
    assert_eq!(answer.text(), SECRET);

    desktop
        .cli(&["servers", "remove", "desk-probe"])
        .expect_success();
    assert_nothing_added(&desktop);
}

#[test]
fn a_missing_secret_is_asked_for_at_a_terminal() {
    let desktop = DesktopSession::new();
    let hub = Hub::serve(&desktop);
    let bundle = write_bundle(&desktop, &[]);
    let typed = format!("{SECRET}\n");
    let added = desktop.cli_at_terminal(&["servers", "add", "--bundle", &bundle], &typed);
    let shown = added.expect_success().stdout();
    assert!(
        shown.contains("Value of key") && shown.contains("Server 'desk-probe' added."),
        "{shown}"
    );
    let server = hub.show_server("desk-probe");
    assert_eq!(server["state"], "needs_acceptance");
    assert_eq!(
        server["spec"]["env"]["PROBE_KEY"],
        "${keyring:desk-probe.PROBE_KEY}"
    );
}

#[test]
fn a_bundle_that_would_leave_its_folder_changes_nothing() {
    let home = Home::new();
    let _hub = Hub::serve(&home);
    let bundle = write_bundle(&home, &["../../../escaped"]);
    let secret = format!("key={SECRET}");
    let refused = home.cli(&["servers", "add", "--bundle", &bundle, "--secret", &secret]);
    assert_eq!(refused.exit_code(), 1);
    assert!(
        refused.stderr().contains("leaves the folder of the bundle"),
        "{}",
        refused.stderr()
    );
    assert_nothing_added(&home);
    assert!(!home.data_dir().join("bundles").exists());
    assert!(!home.file("escaped").exists() && !home.data_dir().join("escaped").exists());
}

#[test]
fn a_bundle_whose_secret_cannot_be_stored_leaves_no_files() {
    // This home has no keyring.
    let home = Home::new();
    let hub = Hub::serve(&home);
    let bundle = write_bundle(&home, &[]);
    let (status, refused) = hub.try_verb(
        "bundles.add",
        &json!({"source": {"path": bundle}, "values": {"key": SECRET}}),
    );
    assert!(
        status == 503 && refused.contains("keyring"),
        "{status} {refused}"
    );
    assert!(!refused.contains(SECRET), "{refused}");
    assert_nothing_added(&home);
}
