//! The configuration files of clients in a browser: connecting, testing, repairing, disconnecting,
//! importing and undoing, and also the pairing of clients. The main steps run in light and dark,
//! and by keyboard.

use std::{
    fs,
    io::BufReader,
    net::TcpStream,
    path::{Path, PathBuf},
};

use drawbridge_tests::{
    DesktopSession, Home, Hub, McpClient, browser,
    http::{Request, Response, Url},
    paths,
    wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, create_login_link, expect_failed_verb, fill, log_in, press_key, select,
    set_size, set_theme, tab_to, take_steps, wait_for, wait_for_text, wait_until_enabled,
    wait_until_gone,
};

/// Writes a file. `name` is its path in the home folder of the user.
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

/// Returns whether Drawbridge restores the entry in this file of Cursor without asking a person.
fn restores_entry(hub: &Hub<'_>, file: &Path) -> bool {
    let list = hub.run_verb("config.list", &json!({}));
    let kinds = list["kinds"].as_array().expect("a list of clients");
    let cursor = kinds.iter().find(|kind| kind["id"] == "cursor");
    let files = cursor.and_then(|kind| kind["files"].as_array());
    let mut files = files.expect("the files of Cursor").iter();
    let listed = files.find(|listed| listed["path"] == paths::path_text(file));
    listed.expect("the file")["managed"]["restores"] == true
}

#[test]
fn a_client_is_connected_by_url_and_in_a_project_and_disconnected() {
    let desktop = DesktopSession::without_screen();
    let empty = "{\"mcpServers\": {}}";
    let file = write_file(&desktop, ".cursor/mcp.json", empty);
    let project = desktop.file("home/project");
    fs::create_dir(&project).expect("create the project's folder");
    let hub = Hub::serve(&desktop);
    let cursor = |part: &str| format!("known-client[data-kind=cursor] {part}");
    let read_entry = |file: &Path| -> Value {
        let text = fs::read_to_string(file).expect("read the file");
        let config: Value = serde_json::from_str(&text).expect("JSON");
        config["mcpServers"]["drawbridge"].clone()
    };

    let mut steps = vec![
        click("nav-clients"),
        click(&cursor("client-configuration")),
        wait_for_text("snippet", "drawbridge"),
        wait_for("install-link"),
    ];
    steps.extend(check_screen("client-configuration"));
    steps.extend([
        press_key("Escape"),
        wait_until_gone("snippet-dialog"),
        click("other-clients"),
        wait_for("other-clients-panel known-client"),
        click("other-clients"),
        click(&cursor("client-connect")),
        select("connect-transport", "http"),
        wait_for_text("changed-file", &hub.url),
        wait_until_enabled("connect-apply"),
    ]);
    steps.extend(check_screen("connect-by-url"));
    steps.extend([
        click("connect-apply"),
        wait_for("connect-result"),
        click("connect-done"),
        wait_for(&cursor("client-unused")),
        wait_for(&cursor("client-restore-impossible")),
        click(&cursor("client-connect-project")),
        fill("connect-project", "src/project"),
        wait_for_text("dialog-error", "'src/project' is not an absolute path"),
        expect_failed_verb("config.preview"),
        fill("connect-project", &paths::path_text(&project)),
        wait_until_enabled("connect-apply"),
    ]);
    steps.extend(check_screen("connect-project"));
    steps.extend([
        click("connect-apply"),
        wait_for("connect-result"),
        click("connect-done"),
        wait_until_gone("connect-dialog"),
        // Only the entry in the project contains no token.
        click(&cursor("client-restores")),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(read_entry(&file)["url"], hub.url);
    let project_file = project.join(".cursor/mcp.json");
    assert!(read_entry(&project_file).is_object());
    wait_until("the choice is stored", || {
        some_if(restores_entry(&hub, &project_file))
    });

    let mut steps = vec![
        click("nav-clients"),
        click(&cursor("client-disconnect")),
        wait_until_enabled("connect-apply"),
    ];
    steps.extend(check_screen("disconnect"));
    steps.extend([
        click("connect-apply"),
        wait_for("connect-result"),
        click("connect-done"),
        wait_for(&cursor("client-connect")),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(read_entry(&file), Value::Null);

    let mut steps = vec![
        click("nav-clients"),
        // The newest change.
        click("client-change-undo"),
        wait_for("confirm-dialog"),
        click("confirm"),
        wait_for_text("undone", "the same content as before"),
    ];
    steps.extend(check_screen("client-changes"));
    take_steps(&desktop, steps);
    assert_eq!(read_entry(&file)["url"], hub.url);
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
    let connection = request.begin().expect("the hub listens");
    let mut steps = log_in();
    steps.extend([click("nav-calls"), wait_for("pairing-banner")]);
    for theme in ["light", "dark"] {
        steps.push(set_theme(theme));
        steps.extend(check_screen(&format!("pairing-banner-{theme}")));
    }
    steps.extend([
        tab_to("pairing-show"),
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
    let answer = Response::read(BufReader::new(connection)).expect("an answer");
    let answer: Value = serde_json::from_str(&answer.text().expect("a body")).expect("JSON");
    let token = answer["token"].as_str().expect("a token");
    McpClient::connect(&hub.url, token).list_tools();
}

/// Asks to be paired, as a program with this name and token does.
fn ask_to_be_paired(hub: &Hub<'_>, name: &str, token: Option<&str>) -> TcpStream {
    let url = Url::parse(&hub.url).with_path("/pair");
    let authorization = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("Content-Type", "application/json")];
    headers.extend(
        authorization
            .as_deref()
            .map(|value| ("Authorization", value)),
    );
    let body = json!({"name": name}).to_string();
    let request = Request {
        method: "POST",
        url: &url,
        headers: &headers,
        body: body.as_bytes(),
    };
    request.begin().expect("the hub listens")
}

#[test]
fn a_program_is_paired_with_a_profile_and_denied_after_it_was_revoked() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    let profile = json!({"name": "narrow", "servers": {"probe": ["echo"]}});
    hub.run_verb("profiles.put", &json!({"profile": profile}));
    let connection = ask_to_be_paired(&hub, "letters", None);
    let mut steps = vec![
        click("nav-clients"),
        wait_until_enabled("pairing-approve"),
        fill("pairing-name", ""),
        wait_for("pairing-approve[aria-disabled=true]"),
    ];
    steps.extend(check_screen("pairing-without-name"));
    steps.extend([
        fill("pairing-name", "desk-letters"),
        select("pairing-profile", "=narrow"),
        click("pairing-approve"),
        wait_until_gone("pairing-card"),
        wait_for("client-row[data-client=desk-letters]"),
    ]);
    take_steps(&desktop, steps);
    let answer = Response::read(BufReader::new(connection)).expect("an answer");
    let answer: Value = serde_json::from_str(&answer.text().expect("a body")).expect("JSON");
    let token = answer["token"].as_str().expect("a token");
    let client = McpClient::connect(&hub.url, token);
    assert_eq!(client.list_tools(), ["probe__echo"]);

    hub.run_verb("clients.revoke", &json!({"name": "desk-letters"}));
    let connection = ask_to_be_paired(&hub, "letters", Some(token));
    let mut steps = vec![
        click("nav-clients"),
        wait_for_text("pairing-revoked", "desk-letters"),
        wait_until_enabled("pairing-deny"),
    ];
    steps.extend(check_screen("pairing-revoked"));
    steps.extend([click("pairing-deny"), wait_until_gone("pairing-card")]);
    take_steps(&desktop, steps);
    let answer = Response::read(BufReader::new(connection)).expect("an answer");
    assert_eq!(answer.status, 403, "the program was denied");
}

#[test]
fn servers_are_imported_and_put_back_in_light_and_dark_and_imported_by_keyboard() {
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
