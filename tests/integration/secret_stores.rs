//! Secrets without a keyring: the encrypted file, to which secrets move from the keyring and back,
//! and references to variables and commands.

use std::fs;

use drawbridge_tests::{
    DesktopSession, Home, Hub, McpClient, canary::Canary, hub::write_spec, paths, wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const KEY_VARIABLE: &str = "DRAWBRIDGE_SECRETS_KEY_FILE";

fn probe_program() -> String {
    paths::path_text(paths::built_binary("upstream-probe"))
}

/// Adds a server that needs a secret. Its tool `variable` returns the secret.
#[track_caller]
fn add_sealed(hub: &Hub, canary: &Canary) {
    let secret = format!("API_TOKEN={}", canary.value());
    hub.add_server(
        "sealed",
        &["--secret", &secret],
        &[&probe_program(), "--noisy"],
    );
    hub.wait_until_synced("sealed");
    hub.set_policy("sealed", "allow");
}

#[track_caller]
fn read_variable(client: &McpClient, server: &str, name: &str) -> String {
    let arguments = json!({ "name": name }).to_string();
    client
        .call(&format!("{server}__variable"), &arguments)
        .text()
}

#[track_caller]
fn show_store(home: &Home) -> Value {
    home.cli(&["secrets", "store", "--json"]).expect_json()
}

#[test]
fn an_encrypted_file_serves_a_machine_without_a_keyring_and_is_locked_without_its_key() {
    let home = Home::new();
    let canary = Canary::new("file");
    let key = home.file("secrets.key");
    let moved_key = home.file("moved.key");
    let hub = Hub::serve(&home);
    assert_eq!(show_store(&home)["status"], "absent");
    let refused = home.cli(&["secrets", "use", "file"]);
    assert!(
        refused.stderr().contains("no key is given"),
        "{}",
        refused.stderr()
    );
    home.cli(&[
        "secrets",
        "use",
        "file",
        "--key-file",
        &paths::path_text(&key),
    ])
    .expect_success();
    assert_eq!(show_store(&home)["status"], "ready");
    add_sealed(&hub, &canary);
    let client = hub.connect_client("desk");
    assert_eq!(
        read_variable(&client, "sealed", "API_TOKEN"),
        canary.value()
    );
    let doctor = home.cli(&["doctor"]).stdout();
    assert!(doctor.contains("secrets.json"), "{doctor}");
    hub.stop(Signal::SIGKILL);
    canary.assert_absent_below(home.path());

    // A command without a running hub uses the same file.
    let listed = home.cli(&["secrets", "list", "--json"]).expect_json();
    assert_eq!(listed[0]["present"], true, "{listed}");
    let hub = Hub::serve(&home);
    let client = McpClient::connect(&hub.url, &hub.add_client("again"));
    assert_eq!(
        read_variable(&client, "sealed", "API_TOKEN"),
        canary.value()
    );
    hub.stop(Signal::SIGTERM);

    fs::rename(&key, &moved_key).expect("move the key away");
    let hub = Hub::serve(&home);
    let store = show_store(&home);
    assert_eq!(store["status"], "locked", "{store}");
    let remedy = store["remedy"].as_str().unwrap_or_default();
    assert!(remedy.contains(KEY_VARIABLE), "{remedy}");
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let client = McpClient::connect(&hub.url, &hub.add_client("locked"));
    assert_eq!(
        client.call("probe__echo", r#"{"a":1}"#).text(),
        r#"{"a":1}"#,
        "a server without secrets works"
    );
    let answer = read_variable(&client, "sealed", "API_TOKEN");
    assert!(answer.contains("locked"), "{answer}");
    assert_eq!(hub.show_server("sealed")["state"], "needs_secret");
    hub.stop(Signal::SIGTERM);

    let moved_key = paths::path_text(&moved_key);
    let hub = Hub::serve_with_env(&home, &[(KEY_VARIABLE, &moved_key)]);
    let client = McpClient::connect(&hub.url, &hub.add_client("unlocked"));
    assert_eq!(
        read_variable(&client, "sealed", "API_TOKEN"),
        canary.value()
    );
    hub.stop(Signal::SIGTERM);
    canary.assert_absent_below(home.path());
}

#[test]
fn removing_a_server_keeps_a_secret_to_which_another_server_refers() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.run_verb(
        "secrets.use_store",
        &json!({"kind": "file", "passphrase": "several words that nobody guesses"}),
    );
    let add = |spec: Value, granted: &[&str]| {
        hub.run_verb(
            "servers.add",
            &json!({ "spec": spec, "grant_secrets": granted }),
        )
    };
    let url = "http://127.0.0.1:9/mcp";
    add(
        json!({"name": "first", "url": url, "enabled": false,
        "headers": {"X-Own": "${keyring:first.own}", "X-Shared": "${keyring:first.shared}"}}),
        &[],
    );
    add(
        json!({"name": "second", "url": url, "enabled": false,
        "headers": {"X-Shared": "${keyring:first.shared}"}}),
        &["first.shared"],
    );
    for name in ["first.own", "first.shared"] {
        hub.run_verb("secrets.set", &json!({"name": name, "value": "a value"}));
    }

    home.cli(&["servers", "remove", "first"]).expect_success();
    let read = |name: &str| {
        hub.run_verb("secrets.list", &json!({}))
            .as_array()
            .and_then(|secrets| {
                secrets
                    .iter()
                    .find(|secret| secret["name"] == *name)
                    .cloned()
            })
    };
    assert_eq!(read("first.shared").expect("in use")["present"], true);

    // No server refers to the name, so its value was deleted. A new reference finds no value.
    add(
        json!({"name": "third", "url": url, "enabled": false,
        "headers": {"X-Own": "${keyring:first.own}"}}),
        &["first.own"],
    );
    assert_eq!(read("first.own").expect("in use")["present"], false);
}

#[test]
fn a_typed_passphrase_unlocks_the_file_after_each_start() {
    let home = Home::new();
    let (canary, passphrase) = (Canary::new("typed"), Canary::new("passphrase"));
    let hub = Hub::serve(&home);
    let file = json!({"kind": "file", "passphrase": passphrase.value()});
    hub.run_verb("secrets.use_store", &file);
    add_sealed(&hub, &canary);
    hub.stop(Signal::SIGTERM);

    let hub = Hub::serve(&home);
    let store = show_store(&home);
    assert_eq!(store["needs_passphrase"], true, "{store}");
    let unlock =
        |passphrase: &str| hub.try_verb("secrets.unlock", &json!({ "passphrase": passphrase }));
    let (status, refused) = unlock("another one");
    assert_eq!(status, 503, "{refused}");
    assert!(refused.contains("key does not fit"), "{refused}");
    let (status, unlocked) = unlock(passphrase.value());
    assert_eq!(status, 200, "{unlocked}");
    let client = McpClient::connect(&hub.url, &hub.add_client("desk"));
    assert_eq!(
        read_variable(&client, "sealed", "API_TOKEN"),
        canary.value()
    );
    hub.stop(Signal::SIGTERM);
    canary.assert_absent_below(home.path());
    passphrase.assert_absent_below(home.path());
}

#[test]
fn secrets_move_from_the_keyring_to_the_file_and_back() {
    let desktop = DesktopSession::without_screen();
    let canary = Canary::new("moving");
    let hub = Hub::serve(&desktop);
    add_sealed(&hub, &canary);
    let is_in_keyring = || {
        let items = desktop.keyring().items();
        items.iter().any(|item| item.value == canary.value())
    };
    assert!(is_in_keyring());
    let key = paths::path_text(desktop.file("secrets.key"));
    let change = desktop
        .cli(&["secrets", "use", "file", "--key-file", &key, "--json"])
        .expect_json();
    assert_eq!(change["moved"], json!(["sealed.API_TOKEN"]), "{change}");
    assert!(!is_in_keyring(), "the secret is no longer in the keyring");
    let entries = desktop.cli(&["audit", "list", "--kind", "secret_store_changed"]);
    let entries = entries.expect_success().stdout();
    assert!(entries.contains("sealed.API_TOKEN"), "{entries}");
    let client = hub.connect_client("desk");
    assert_eq!(
        read_variable(&client, "sealed", "API_TOKEN"),
        canary.value()
    );

    desktop.cli(&["secrets", "use", "keyring"]).expect_success();
    assert!(is_in_keyring(), "the secret is in the keyring again");
    assert!(!desktop.data_dir().join("secrets.json").exists());
    hub.stop(Signal::SIGTERM);
    let hub = Hub::serve(&desktop);
    let client = McpClient::connect(&hub.url, &hub.add_client("again"));
    assert_eq!(
        read_variable(&client, "sealed", "API_TOKEN"),
        canary.value()
    );

    desktop
        .cli(&["secrets", "use", "file", "--key-file", &key])
        .expect_success();
    desktop.keyring().lock();
    let refused = desktop.cli(&["secrets", "use", "keyring"]);
    assert!(
        refused.stderr().contains("Nothing was changed"),
        "{}",
        refused.stderr()
    );
    assert_eq!(show_store(&desktop)["kind"], "file");
    assert_eq!(show_store(&desktop)["status"], "ready");
    hub.stop(Signal::SIGTERM);
    canary.assert_absent_below(&desktop.data_dir());
}

#[test]
fn variables_and_commands_give_secrets_to_accepted_servers_only() {
    let home = Home::new();
    let (variable, printed) = (Canary::new("variable"), Canary::new("printed"));
    let vault = tempfile::tempdir().expect("a folder outside the home");
    let (item, runs) = (vault.path().join("item"), vault.path().join("runs"));
    fs::write(&item, format!("{}\n", printed.value())).expect("write the item");
    let command = format!(
        "${{command:sh -c 'echo run >> {}; cat {}'}}",
        runs.display(),
        item.display()
    );
    let hub = Hub::serve_with_env(&home, &[("VAULT_TOKEN", variable.value())]);
    let spec = json!({
        "command": probe_program(),
        "args": ["--noisy"],
        "env": {"A": "Bearer ${env:VAULT_TOKEN}", "B": command, "C": command},
    });
    write_spec(&home, "vault", &spec.to_string());
    wait_until("the hub has read the spec", || {
        some_if(home.cli(&["servers", "show", "vault"]).exit_code() == 0)
    });
    let shown = home.cli(&["servers", "show", "vault"]).stdout();
    assert!(shown.contains("${command:sh -c"), "{shown}");
    assert!(
        !runs.exists(),
        "no command runs before a person accepts the server"
    );
    home.accept_server("vault");
    hub.wait_until_synced("vault");
    hub.set_policy("vault", "allow");
    let client = hub.connect_client("desk");
    let expected = format!("Bearer {}", variable.value());
    assert_eq!(read_variable(&client, "vault", "A"), expected);
    for name in ["B", "C"] {
        assert_eq!(read_variable(&client, "vault", name), printed.value());
    }
    let count = fs::read_to_string(&runs).expect("the command ran");
    assert_eq!(count, "run\n", "one start runs a command once");

    let mut changed = spec;
    changed["env"]["D"] = json!("${command:cat /etc/hostname}");
    write_spec(&home, "vault", &changed.to_string());
    wait_until("the change waits for a person", || {
        some_if(hub.show_server("vault")["acceptance"] == "changed")
    });
    changed["env"] = json!({"D": "${command:false}"});
    write_spec(&home, "vault", &changed.to_string());
    wait_until("the hub has read the change", || {
        let shown = hub.show_server("vault");
        some_if(shown["spec"]["env"]["D"] == "${command:false}")
    });
    home.accept_server("vault");
    wait_until("the server says which command failed", || {
        let shown = hub.show_server("vault");
        let reason = shown["reason"].as_str()?;
        some_if(shown["state"] == "needs_secret" && reason.contains("'false' did not print"))
    });
    hub.stop(Signal::SIGTERM);
    variable.assert_absent_below(home.path());
    printed.assert_absent_below(home.path());
}

#[test]
fn a_spec_never_gets_the_admin_token_of_the_hub() {
    let home = Home::new();
    let canary = Canary::new("administrator");
    let hub = Hub::serve_with_env(&home, &[("DRAWBRIDGE_ADMIN_TOKEN", canary.value())]);
    let program = probe_program();
    for (id, value) in [
        ("by-name", "${env:DRAWBRIDGE_ADMIN_TOKEN}"),
        ("by-command", "${command:printenv DRAWBRIDGE_ADMIN_TOKEN}"),
    ] {
        let variable = format!("TOKEN={value}");
        let added = home.cli(&["servers", "add", id, "--env", &variable, "--", &program]);
        wait_until("the server has tried to start", || {
            some_if(hub.show_server(id)["state"] == "needs_secret")
        });
        assert_eq!(canary.find_in(&added.output.stdout), None);
    }
    hub.stop(Signal::SIGTERM);
}
