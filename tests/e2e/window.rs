//! The main window of the real app: from an empty setup to calls that a person decided.

use drawbridge_tests::{
    Desk,
    canary::Canary,
    clients::{Client, Door, Sdk},
    until,
    wait::yes,
};
use serde_json::json;

use crate::app::{self, App};

#[test]
fn a_person_adds_servers_connects_a_client_and_decides_its_calls() {
    let desk = Desk::new();
    let folder = app::folder(&desk);
    let app = App::open(&desk);
    app.driver.picture("01-first-start");
    let canary = Canary::new("form");
    add_by_form(&app, &canary);
    add_by_paste(&app, &folder);
    let door = app.add_client("typescript");
    let tools = Client::tools(&desk, Sdk::TypeScript, &door);
    for tool in [
        "everything__echo",
        "filesystem__read_text_file",
        "filesystem__list_directory",
    ] {
        assert!(
            tools.iter().any(|name| name == tool),
            "the client sees {tool}: {tools:?}"
        );
    }
    approve_once(&app, &door, &folder);
    deny_with_a_reason(&app, &door, &folder);
    let_the_time_run_out(&app, &door);
    see_what_happened(&app);
    is_in_the_keyring_alone(&app, &door, &canary);
}

/// Adds a server with a secret variable through the form.
fn add_by_form(app: &App<'_>, canary: &Canary) {
    let driver = &app.driver;
    driver.click("nav-servers");
    driver.click("add-server");
    driver.click("server-form-tab");
    driver.click("server-kind-local");
    for field in [
        "server-kind-local",
        "server-name",
        "server-command",
        "env-add",
        "server-verify",
        "server-save",
    ] {
        driver.until_seen(field);
    }
    driver.fill("server-name", "everything");
    driver.fill("server-command", &app::everything().join(" "));
    driver.click("env-add");
    driver.fill("env-key", "API_TOKEN");
    driver.tick("env-secret");
    driver.fill("env-value", canary.value());
    driver.click("server-verify");
    driver.until_says("verify-result", "echo");
    driver.until_seen("verify-result");
    driver.picture("02-verified");
    driver.click("server-save");
    driver.until("server-row[data-server=everything]");
    driver.until_gone("server-save");
    driver.picture("03-server-added");
}

/// Adds a server by pasting another client's settings.
fn add_by_paste(app: &App<'_>, folder: &str) {
    let driver = &app.driver;
    let command = app::filesystem(folder);
    let pasted =
        json!({"mcpServers": {"filesystem": {"command": command[0], "args": command[1..]}}});
    driver.click("add-server");
    driver.click("server-paste-tab");
    driver.fill("paste-text", &pasted.to_string());
    driver.click("paste-read");
    driver.until_says("paste-entry", "filesystem");
    driver.click("server-verify");
    driver.until_says("verify-result", "read_text_file");
    driver.picture("04-pasted");
    driver.click("server-save");
    driver.until("server-row[data-server=filesystem]");
    driver.click("server-row[data-server=filesystem]");
    driver.until("server-detail tool-row[data-tool=read_text_file]");
    driver.picture("05-server-detail");
}

fn approve_once(app: &App<'_>, door: &Door, folder: &str) {
    let path = format!("{folder}/note.txt");
    let call = app.call(door, "filesystem__read_text_file", &json!({"path": path}));
    app.look_at_popup();
    for told in ["typescript", "filesystem", "read_text_file", &path] {
        app.driver.until_says("approval-card", told);
    }
    assert!(
        app.driver.text("arguments").contains(&path),
        "the arguments are shown"
    );
    for part in [
        "countdown",
        "arguments",
        "approve-once",
        "approve-more",
        "deny",
    ] {
        app.driver.until_seen(part);
    }
    app.driver.until_ready("approve-once");
    app.driver.picture("07-popup");
    app.driver.click("approve-once");
    let result = call.result();
    assert!(
        !result.is_error && result.text.contains("the drawbridge is down"),
        "{result:?}"
    );
    app.until_popup_hides();
}

fn deny_with_a_reason(app: &App<'_>, door: &Door, folder: &str) {
    let call = app.call(door, "filesystem__list_directory", &json!({"path": folder}));
    app.look_at_popup();
    app.driver.until_says("approval-card", "list_directory");
    app.driver.click("deny");
    app.driver.fill("deny-reason", "not today");
    app.driver.picture("08-deny");
    app.driver.click("deny-confirm");
    let result = call.result();
    assert!(
        result.is_error && result.text.contains("not today"),
        "the reason reaches the client: {result:?}"
    );
    app.until_popup_hides();
}

fn let_the_time_run_out(app: &App<'_>, door: &Door) {
    app.look_at_main();
    app.verb("settings_change", &json!({"approval_timeout_s": 5}));
    let result = app.call_now(
        door,
        "everything__echo",
        &json!({"message": "anybody there?"}),
    );
    assert!(
        result.is_error && result.text.to_lowercase().contains("timed out"),
        "{result:?}"
    );
    app.until_popup_hides();
    app.look_at_main();
    app.verb("settings_change", &json!({"approval_timeout_s": 50}));
}

fn see_what_happened(app: &App<'_>) {
    app.driver.click("nav-calls");
    for decided in ["allowed", "denied", "timed_out"] {
        app.driver
            .until(&format!("call-row[data-decision={decided}]"));
    }
    app.driver
        .until("call-row[data-decision=allowed][data-outcome=ok]");
    app.driver.picture("09-activity");
    app.driver.click("nav-logs");
    app.driver.until("log-line");
    app.driver.picture("10-logs");
}

/// Checks that the server gets the secret, that the keyring stores it, and that no file contains
/// it.
fn is_in_the_keyring_alone(app: &App<'_>, door: &Door, canary: &Canary) {
    app.driver.click("nav-servers");
    app.driver.click("server-row[data-server=everything]");
    app.driver.choose(
        "server-detail tool-row[data-tool=get-env] tool-policy",
        "allow",
    );
    until("the tool may be called", || {
        let rules = app.desk.cli(&["policy", "list", "--json"]).json();
        yes(rules.to_string().contains("get-env"))
    });
    let result = app.call_now(door, "everything__get-env", &json!({}));
    let environment: serde_json::Value =
        serde_json::from_str(&result.text).expect("the environment as JSON");
    assert_eq!(
        environment["API_TOKEN"],
        canary.value(),
        "the server got the secret"
    );
    assert!(
        app.desk
            .keyring()
            .items()
            .iter()
            .any(|item| item.value == canary.value()),
        "the keyring keeps it"
    );
    assert!(
        !app.driver
            .run("return document.documentElement.outerHTML")
            .to_string()
            .contains("canary/"),
        "no screen shows it"
    );
    canary.is_in_no_file_of(&app.desk.data_dir());
    canary.is_in_no_file_of(&app.desk.file("."));
}
