//! The main window of the real app: from an empty setup to calls that a person decided. Also a port
//! in use, the start at login, and the hint if there is no tray.

use std::{fs, net::TcpListener};

use drawbridge_tests::{
    DesktopSession,
    canary::Canary,
    clients::{Client, Endpoint, Sdk},
    paths,
    ports::find_free_port,
    wait::some_if,
    wait_until,
};
use serde_json::json;

use crate::app::{self, App};

#[test]
fn a_person_adds_servers_connects_a_client_and_decides_its_calls() {
    let desktop = DesktopSession::new();
    let folder = app::create_served_folder(&desktop);
    let app = App::open(&desktop);
    app.driver.save_screenshot("01-first-start");
    let canary = Canary::new("form");
    add_server_by_form(&app, &canary);
    add_server_by_paste(&app, &folder);
    let endpoint = app.add_client("typescript");
    let tools = Client::list_tools(&desktop, Sdk::TypeScript, &endpoint);
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
    approve_once(&app, &endpoint, &folder);
    deny_with_a_reason(&app, &endpoint, &folder);
    let_a_call_time_out(&app, &endpoint);
    check_calls_screen(&app);
    assert_secret_only_in_keyring(&app, &endpoint, &canary);
}

#[test]
fn the_window_names_the_program_that_has_the_port_until_a_person_chooses_another_port() {
    let desktop = DesktopSession::new();
    let other_program = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = other_program.local_addr().expect("an address").port();
    let app = App::open_on_port_of_settings(&desktop, port);
    let owner = format!("(process {}) uses port {port}", std::process::id());
    app.driver.wait_for_text("not-listening-banner", &owner);
    app.driver.save_screenshot("port-in-use");
    let free_port = find_free_port().to_string();
    app.driver.fill("banner-port", &free_port);
    // The port is saved when its field loses the focus.
    app.driver.click("nav-settings");
    app.driver.wait_until_gone("not-listening-banner");
    app.driver.wait_for_text("setting-url", &free_port);
    let client = desktop
        .cli(&["clients", "add", "desk", "--json"])
        .expect_json();
    assert_eq!(client["url"], format!("http://127.0.0.1:{free_port}/mcp"));
}

#[test]
fn a_person_chooses_a_start_at_login_and_no_shortcut() {
    let desktop = DesktopSession::new();
    let app = App::open(&desktop);
    app.driver.click("nav-settings");
    app.driver.tick_checkbox("setting-autostart");
    let entry = desktop.file("config/autostart/app.drawbridge.desktop.desktop");
    let text = wait_until("the autostart entry exists", || {
        fs::read_to_string(&entry).ok()
    });
    let program = paths::path_text(paths::built_binary("drawbridge-desktop"));
    assert!(
        text.contains(&format!("Exec=\"{program}\" \"--hidden\"")),
        "the entry starts this program in the tray: {text}"
    );
    app.driver.click("shortcut-off");
    app.driver.wait_for_text("shortcut-record", "Off");
    drop(app);
    let app = App::open(&desktop);
    app.driver.click("nav-settings");
    app.driver.wait_for_text("shortcut-record", "Off");
    app.driver.click("setting-autostart");
    wait_until("the autostart entry is gone", || some_if(!entry.exists()));
}

#[test]
fn a_person_confirms_once_how_to_reopen_the_app_without_a_tray() {
    let desktop = DesktopSession::without_tray();
    let app = App::open(&desktop);
    desktop
        .notifications
        .wait_for_summary("Your desktop shows no tray icons");
    // Every screen has the hint.
    app.driver.click("nav-calls");
    app.driver
        .wait_for_text("reopen-hint-banner", "drawbridge open");
    app.driver.click("reopen-hint-confirm");
    app.driver.wait_until_gone("reopen-hint-banner");
    desktop.notifications.wait_until_none();
    drop(app);

    let app = App::open(&desktop);
    desktop.close_window("Drawbridge");
    desktop
        .notifications
        .wait_for_summary("Drawbridge keeps running");
    wait_until("the window is closed without a question", || {
        some_if(app.driver.windows().len() == 1)
    });
}

/// Adds a server with a secret variable through the form.
fn add_server_by_form(app: &App<'_>, canary: &Canary) {
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
        driver.wait_until_visible(field);
    }
    driver.fill("server-name", "everything");
    driver.fill("server-command", &app::everything_command().join(" "));
    driver.click("env-add");
    driver.fill("env-key", "API_TOKEN");
    driver.tick_checkbox("env-secret");
    driver.fill("env-value", canary.value());
    driver.click("server-verify");
    driver.wait_for_text("verify-result", "echo");
    driver.wait_until_visible("verify-result");
    driver.save_screenshot("02-verified");
    driver.click("server-save");
    driver.wait_for("server-row[data-server=everything]");
    driver.wait_until_gone("server-save");
    driver.save_screenshot("03-server-added");
}

/// Adds a server by pasting another client's settings.
fn add_server_by_paste(app: &App<'_>, folder: &str) {
    let driver = &app.driver;
    let command = app::filesystem_command(folder);
    let pasted =
        json!({"mcpServers": {"filesystem": {"command": command[0], "args": command[1..]}}});
    driver.click("add-server");
    driver.click("server-paste-tab");
    driver.fill("paste-text", &pasted.to_string());
    driver.click("paste-read");
    driver.wait_for_text("paste-entry", "filesystem");
    driver.click("server-verify");
    driver.wait_for_text("verify-result", "read_text_file");
    driver.save_screenshot("04-pasted");
    driver.click("server-save");
    driver.wait_for("server-row[data-server=filesystem]");
    driver.click("server-row[data-server=filesystem]");
    driver.wait_for("server-detail tool-row[data-tool=read_text_file]");
    driver.save_screenshot("05-server-detail");
}

fn approve_once(app: &App<'_>, endpoint: &Endpoint, folder: &str) {
    let path = format!("{folder}/note.txt");
    let call = app.begin_call(
        endpoint,
        "filesystem__read_text_file",
        &json!({"path": path}),
    );
    app.switch_to_popup();
    for shown_text in ["typescript", "filesystem", "read_text_file", &path] {
        app.driver.wait_for_text("approval-card", shown_text);
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
        app.driver.wait_until_visible(part);
    }
    app.driver.wait_until_enabled("approve-once");
    app.driver.save_screenshot("07-popup");
    app.driver.click("approve-once");
    let result = call.wait_for_result();
    assert!(
        !result.is_error && result.text.contains("the drawbridge is down"),
        "{result:?}"
    );
    app.wait_until_popup_hides();
}

fn deny_with_a_reason(app: &App<'_>, endpoint: &Endpoint, folder: &str) {
    let call = app.begin_call(
        endpoint,
        "filesystem__list_directory",
        &json!({"path": folder}),
    );
    app.switch_to_popup();
    app.driver.wait_for_text("approval-card", "list_directory");
    app.driver.click("deny");
    app.driver.fill("deny-reason", "not today");
    app.driver.save_screenshot("08-deny");
    app.driver.click("deny-confirm");
    let result = call.wait_for_result();
    assert!(
        result.is_error && result.text.contains("not today"),
        "the reason reaches the client: {result:?}"
    );
    app.wait_until_popup_hides();
}

fn let_a_call_time_out(app: &App<'_>, endpoint: &Endpoint) {
    app.switch_to_main();
    app.run_verb("settings_change", &json!({"approval_timeout_s": 5}));
    let result = app.call_and_wait(
        endpoint,
        "everything__echo",
        &json!({"message": "anybody there?"}),
    );
    assert!(
        result.is_error && result.text.to_lowercase().contains("timed out"),
        "{result:?}"
    );
    app.wait_until_popup_hides();
    app.switch_to_main();
    app.run_verb("settings_change", &json!({"approval_timeout_s": 50}));
}

fn check_calls_screen(app: &App<'_>) {
    app.driver.click("nav-calls");
    for decision in ["allowed", "denied", "timed_out"] {
        app.driver
            .wait_for(&format!("call-row[data-decision={decision}]"));
    }
    app.driver
        .wait_for("call-row[data-decision=allowed][data-outcome=ok]");
    app.driver.save_screenshot("09-calls");
    app.driver.click("nav-logs");
    app.driver.wait_for("log-line");
    app.driver.save_screenshot("10-logs");
}

/// Checks that the server gets the secret, that the keyring stores it, and that neither the page
/// nor a file contains it.
fn assert_secret_only_in_keyring(app: &App<'_>, endpoint: &Endpoint, canary: &Canary) {
    app.driver.click("nav-servers");
    app.driver.click("server-row[data-server=everything]");
    app.driver.select_option(
        "server-detail tool-row[data-tool=get-env] tool-policy",
        "allow",
    );
    wait_until("the tool is allowed", || {
        let rules = app.desktop.cli(&["policy", "list", "--json"]).expect_json();
        some_if(rules.to_string().contains("get-env"))
    });
    let result = app.call_and_wait(endpoint, "everything__get-env", &json!({}));
    let environment: serde_json::Value =
        serde_json::from_str(&result.text).expect("the environment as JSON");
    assert_eq!(
        environment["API_TOKEN"],
        canary.value(),
        "the server got the secret"
    );
    assert!(
        app.desktop
            .keyring()
            .items()
            .iter()
            .any(|item| item.value == canary.value()),
        "the keyring contains the secret"
    );
    assert!(
        !app.driver
            .run_script("return document.documentElement.outerHTML")
            .to_string()
            .contains("canary/"),
        "the page does not contain the secret"
    );
    canary.assert_absent_below(&app.desktop.data_dir());
    canary.assert_absent_below(&app.desktop.file("."));
}
