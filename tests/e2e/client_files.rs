//! The files of clients in a browser: connecting, testing, drift, importing and undoing, in light
//! and dark, and by keyboard.

use std::{fs, io::BufReader, path::PathBuf};

use drawbridge_tests::{
    DesktopSession, Home, Hub, McpClient, browser,
    http::{Request, Response, Url},
};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, create_login_link, log_in, press_key, set_size, set_theme, tab_to,
    wait_for, wait_for_text, wait_until_enabled, wait_until_gone,
};

fn write_file(home: &Home, name: &str, text: &str) -> PathBuf {
    let path = home.file("home").join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("create the folder");
    fs::write(&path, text).expect("write the file");
    path
}

/// Returns the steps that connect Cursor, test the entry, and undo the change.
fn connect_and_undo(theme: &str) -> Vec<Value> {
    let mut steps = vec![
        set_theme(theme),
        click("nav-clients"),
        wait_for("known-client[data-kind=cursor]"),
    ];
    steps.extend(check_screen(&format!("clients-found-{theme}")));
    steps.extend([
        click("known-client[data-kind=cursor] client-connect"),
        wait_for("file-diff"),
        wait_until_enabled("connect-apply"),
    ]);
    steps.extend(check_screen(&format!("connect-diff-{theme}")));
    steps.extend([click("connect-apply"), wait_for("entry-test-ok")]);
    steps.extend(check_screen(&format!("connect-done-{theme}")));
    steps.extend([click("connect-undo"), wait_for("undone")]);
    steps.extend(check_screen(&format!("connect-undone-{theme}")));
    steps.extend([click("connect-done"), wait_until_gone("connect-dialog")]);
    steps
}

/// Returns the steps that connect Cursor with Tab, Space and Enter only.
fn connect_by_keyboard() -> Vec<Value> {
    vec![
        click("nav-clients"),
        wait_for("known-client[data-kind=cursor]"),
        tab_to("client-connect"),
        press_key("Enter"),
        wait_until_enabled("connect-apply"),
        tab_to("connect-restores"),
        press_key("Space"),
        tab_to("file-diff"),
        tab_to("connect-apply"),
        press_key("Enter"),
        wait_for("entry-test-ok"),
        tab_to("connect-done"),
        press_key("Enter"),
        wait_until_gone("connect-dialog"),
        wait_for_text("known-client[data-kind=cursor]", "Connected"),
    ]
}

#[test]
fn a_client_is_connected_tested_and_undone_in_light_and_dark_and_by_keyboard() {
    let desktop = DesktopSession::without_screen();
    let before = "{\n  \"mcpServers\": {}\n}\n";
    let file = write_file(&desktop, ".cursor/mcp.json", before);
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    let mut steps = log_in();
    steps.push(set_size(1280, 900));
    steps.extend(connect_and_undo("light"));
    steps.extend(connect_and_undo("dark"));
    browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps)).assert_no_problems();
    assert_eq!(fs::read_to_string(&file).expect("the file"), before);

    let mut steps = log_in();
    steps.extend(connect_by_keyboard());
    browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps)).assert_no_problems();
    let connected = fs::read_to_string(&file).expect("the file");
    assert!(connected.contains("\"drawbridge\""), "{connected}");
}

#[test]
fn a_removed_entry_is_noticed_and_repaired_and_a_broken_program_is_named() {
    let desktop = DesktopSession::without_screen();
    let empty = "{\"mcpServers\": {}}";
    let file = write_file(&desktop, ".cursor/mcp.json", empty);
    let _hub = Hub::serve(&desktop);
    desktop
        .cli(&["config", "connect", "cursor", "--yes"])
        .expect_success();
    fs::write(&file, empty).expect("wipe the file");
    let mut steps = log_in();
    for theme in ["light", "dark"] {
        steps.extend([
            set_theme(theme),
            click("nav-clients"),
            wait_for("files-need-attention"),
        ]);
        steps.extend(check_screen(&format!("clients-drift-{theme}")));
    }
    steps.extend([
        click("client-repair"),
        wait_until_enabled("connect-apply"),
        click("connect-apply"),
        wait_for("entry-test-ok"),
        click("connect-done"),
        wait_until_gone("files-need-attention"),
    ]);
    browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps)).assert_no_problems();

    let text = fs::read_to_string(&file).expect("the file");
    let mut config: Value = serde_json::from_str(&text).expect("JSON");
    config["mcpServers"]["drawbridge"]["command"] = json!("/nonexistent/drawbridge");
    fs::write(&file, config.to_string()).expect("write the file");
    let mut steps = log_in();
    steps.extend([
        click("nav-clients"),
        wait_for_text(
            "known-client[data-kind=cursor]",
            "Changed by another program",
        ),
        click("client-test"),
        wait_for_text("entry-test-failed", "/nonexistent/drawbridge"),
    ]);
    steps.extend(check_screen("clients-test-failed"));
    browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps)).assert_no_problems();
}

#[test]
fn a_program_that_asks_to_be_paired_is_shown_and_approved() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let url = Url::parse(&hub.url).with_path("/pair");
    let request = Request {
        method: "POST",
        url: &url,
        headers: &[("Content-Type", "application/json")],
        body: br#"{"name": "notes"}"#,
    };
    let asking = request.begin().expect("the hub listens");
    let mut steps = log_in();
    steps.extend([click("nav-calls"), wait_for("pairing-banner")]);
    for theme in ["light", "dark"] {
        steps.push(set_theme(theme));
        steps.extend(check_screen(&format!("pairing-banner-{theme}")));
    }
    steps.extend([
        tab_to("pairing-look"),
        press_key("Enter"),
        wait_until_enabled("pairing-approve"),
    ]);
    for theme in ["light", "dark"] {
        steps.push(set_theme(theme));
        steps.extend(check_screen(&format!("pairing-card-{theme}")));
    }
    steps.extend([
        tab_to("pairing-approve"),
        press_key("Enter"),
        wait_until_gone("pairing-card"),
        wait_for("client-row[data-client=notes]"),
    ]);
    browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps)).assert_no_problems();
    let answer = Response::read(BufReader::new(asking)).expect("an answer");
    let answer: Value = serde_json::from_str(&answer.text().expect("a body")).expect("JSON");
    let token = answer["token"].as_str().expect("a token");
    McpClient::connect(&hub.url, token).list_tools();
}

#[test]
fn servers_move_in_and_back_out_in_light_and_dark_and_by_keyboard() {
    let desktop = DesktopSession::without_screen();
    let server = json!({"command": "mcp-server-everything", "args": ["stdio"],
        "env": {"API_TOKEN": "ghp_0123456789abcdefghijklmnopqrstuvwxyz"}});
    let text = json!({"mcpServers": {"everything": server}}).to_string();
    let file = write_file(&desktop, ".cursor/mcp.json", &text);
    write_file(&desktop, ".gemini/settings.json", &text);
    let _hub = Hub::serve(&desktop);
    let mut steps = log_in();
    for theme in ["light", "dark"] {
        steps.push(set_theme(theme));
        steps.extend([click("nav-approvals"), wait_for("guide-import")]);
        steps.extend(check_screen(&format!("guide-{theme}")));
        steps.extend([
            click("guide-import"),
            wait_for("found-server"),
            wait_until_enabled("import-preview"),
        ]);
        steps.extend(check_screen(&format!("import-found-{theme}")));
        steps.extend([click("import-preview"), wait_for("preview-file")]);
        steps.extend(check_screen(&format!("import-preview-{theme}")));
        steps.extend([click("import-confirm"), wait_for("import-done")]);
        steps.extend(check_screen(&format!("import-done-{theme}")));
        steps.extend([click("import-undo"), wait_for("import-undone")]);
        steps.extend(check_screen(&format!("import-undone-{theme}")));
        steps.extend([click("import-close"), wait_until_gone("import-panel")]);
    }
    browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps)).assert_no_problems();
    assert_eq!(fs::read_to_string(&file).expect("the file"), text);

    let mut steps = log_in();
    steps.extend([
        click("nav-approvals"),
        wait_for("guide-import"),
        tab_to("guide-import"),
        press_key("Enter"),
        wait_until_enabled("import-preview"),
        tab_to("import-preview"),
        press_key("Enter"),
        wait_until_enabled("import-confirm"),
        tab_to("import-confirm"),
        press_key("Enter"),
        wait_for("import-done"),
        tab_to("import-close"),
        press_key("Enter"),
        wait_until_gone("import-panel"),
        wait_for("guide-step[data-step=servers][data-done=true]"),
    ]);
    browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps)).assert_no_problems();
    let connected = fs::read_to_string(&file).expect("the file");
    assert!(connected.contains("\"drawbridge\""), "{connected}");
}
