//! Backups and resets, with the command line and with the verbs of the screens.

use std::{fs, os::unix::fs::PermissionsExt};

use drawbridge_tests::{FaultyServer, Home, Hub, McpClient, paths};
use nix::sys::signal::Signal;
use serde_json::json;

#[test]
fn a_backup_brings_back_rules_clients_and_specs() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    hub.set_policy("faulty", "deny");
    let token = hub.add_client("desk");
    let archive = home.file("backup.zip");
    let archive_text = paths::path_text(archive.clone());

    let created = home
        .cli(&["backup", "create", &archive_text, "--json"])
        .expect_json();
    assert!(
        created["files"]["servers/faulty.json"]["bytes"].is_u64(),
        "{created}"
    );
    let mode = fs::metadata(&archive)
        .expect("read the mode")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600, "only this user can read a backup");
    let second_output = home.cli(&["backup", "create", &archive_text]);
    assert_eq!(
        second_output.exit_code(),
        1,
        "the archive is not overwritten"
    );

    let running = home.cli(&["backup", "restore", &archive_text, "--yes"]);
    let error = running.stderr();
    assert!(
        running.exit_code() == 1 && error.contains("already runs"),
        "{error}"
    );

    // Restoring the backup undoes the following changes.
    hub.set_policy("faulty", "allow");
    hub.run_verb(
        "servers.add",
        &json!({"spec": {"name": "Later", "command": "true"}, "pending": true}),
    );
    hub.run_verb("clients.revoke", &json!({"name": "desk"}));
    drop(faulty);
    hub.stop(Signal::SIGTERM);
    let unasked = home.cli(&["backup", "restore", &archive_text]);
    assert!(unasked.stderr().contains("--yes"), "there is no terminal");
    let restored = home
        .cli(&["backup", "restore", &archive_text, "--yes"])
        .expect_success()
        .stdout();
    assert!(restored.contains("replaced-"), "{restored}");

    let hub = Hub::serve(&home);
    assert!(!home.data_dir().join("servers/later.json").exists());
    let client = McpClient::connect(&hub.url, &token);
    let answer = client.call("faulty__echo", r#"{"n":1}"#);
    assert!(
        answer.is_error() && answer.text().contains("denied"),
        "the rule of the backup holds: {}",
        answer.raw
    );
    home.cli(&["audit", "verify"]).expect_success();
    let entries = home
        .cli(&["audit", "list", "--kind", "backup_restored", "--json"])
        .expect_json();
    assert!(entries.to_string().contains("created_at"), "{entries}");
}

#[test]
fn the_screens_prepare_a_restore_and_a_reset_for_the_next_start() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let token = hub.add_client("desk");
    let backup = hub.run_verb("backup.create", &json!({}));
    let file = backup["file"].as_str().expect("a path").to_owned();
    hub.run_verb("clients.revoke", &json!({"name": "desk"}));
    let (status, error) = hub.try_verb("backup.restore", &json!({"file": "backup.zip"}));
    assert!(
        status == 400 && error.contains("absolute path"),
        "{status} {error}"
    );
    hub.run_verb("backup.restore", &json!({"file": file}));
    let listed = hub.run_verb("backup.list", &json!({}));
    assert_eq!(listed["is_replacement_prepared"], true);
    let (status, error) = hub.try_verb("backup.reset", &json!({"parts": ["rules"]}));
    assert!(
        status == 409 && error.contains("is prepared"),
        "{status} {error}"
    );
    assert!(
        hub.run_verb("clients.list", &json!({}))[0]["revoked_at"].is_number(),
        "nothing changes before the next start"
    );
    let entries = home
        .cli(&["audit", "list", "--kind", "replacement_prepared", "--json"])
        .expect_json();
    assert!(entries.to_string().contains("restores"), "{entries}");
    hub.stop(Signal::SIGTERM);

    let hub = Hub::serve(&home);
    McpClient::connect(&hub.url, &token);
    home.cli(&["audit", "verify"]).expect_success();
    let everything = json!({
        "parts": ["records", "settings", "rules", "clients", "servers", "memory"],
    });
    hub.run_verb("backup.reset", &everything);
    hub.run_verb("backup.cancel", &json!({}));
    hub.run_verb("backup.reset", &everything);
    hub.stop(Signal::SIGTERM);

    let hub = Hub::serve(&home);
    assert_eq!(hub.run_verb("clients.list", &json!({})), json!([]));
    home.cli(&["audit", "verify"]).expect_success();
    let listed = hub.run_verb("backup.list", &json!({}));
    assert_eq!(listed["is_replacement_prepared"], false);
    assert_eq!(
        listed["backups"][0]["file"], file,
        "backups outlive a reset"
    );
}

#[test]
fn a_reset_deletes_the_named_parts_at_the_next_start() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let token = hub.add_client("desk");
    hub.run_verb("settings.change", &json!({"approval_timeout_s": 7}));
    hub.run_verb(
        "servers.add",
        &json!({"spec": {"name": "Files", "command": "true"}, "pending": true}),
    );
    let unasked = home.cli(&["backup", "reset", "settings", "servers"]);
    assert!(unasked.stderr().contains("--yes"), "there is no terminal");
    home.cli(&["backup", "reset", "settings", "servers", "--yes"])
        .expect_success();
    let settings = hub.run_verb("settings.show", &json!({}));
    assert_eq!(
        settings["approval_timeout_s"], 7,
        "nothing changes before the next start"
    );
    hub.stop(Signal::SIGTERM);

    let hub = Hub::serve(&home);
    let settings = hub.run_verb("settings.show", &json!({}));
    assert_eq!(settings["approval_timeout_s"], 50, "the default");
    assert!(!home.data_dir().join("servers/files.json").exists());
    McpClient::connect(&hub.url, &token);
    home.cli(&["audit", "verify"]).expect_success();
    let entries = home
        .cli(&["audit", "list", "--kind", "replacement_prepared", "--json"])
        .expect_json();
    assert!(entries.to_string().contains("servers"), "{entries}");

    home.cli(&["backup", "reset", "records", "--yes"])
        .expect_success();
    home.cli(&["backup", "cancel"]).expect_success();
    home.cli(&["backup", "reset", "records", "--yes"])
        .expect_success();
    hub.stop(Signal::SIGTERM);
    let hub = Hub::serve(&home);
    home.cli(&["audit", "verify"]).expect_success();
    McpClient::connect(&hub.url, &token);
    drop(hub);
}

#[test]
fn a_remote_hub_is_backed_up_only_on_its_own_computer() {
    let home = Home::new();
    let archive = paths::path_text(home.file("backup.zip"));
    let token = "x".repeat(40);
    let arguments = ["backup", "create", &archive];
    let output = home.remote_cli("http://127.0.0.1:9/mcp", Some(&token), &arguments);
    let error = output.stderr();
    assert!(error.contains("the hub's own computer"), "{error}");
}
