//! The steps of an import from clients, in a real browser: searching again, choosing servers, the
//! folders of projects, servers that Drawbridge already has, files that change meanwhile, missing
//! values, going back, importing without connecting, undoing, and beginning again. The hub, the
//! servers and the files of the clients are real.

use std::fs;

use drawbridge_tests::{DesktopSession, Hub, browser::Action, paths};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, count, evaluate, expect_failed_verb, fill, press_key, run_next_action,
    select, set_size, take_steps, take_steps_with_actions, wait_for, wait_for_text,
    wait_until_enabled, wait_until_focused, wait_until_gone,
};

/// A script that returns whether the whole error message of an import is visible.
const IS_FAILURE_VISIBLE: &str = "(() => {
    const failure = document.querySelector('[data-testid=import-error]');
    const { left, width, bottom } = failure.getBoundingClientRect();
    return failure.contains(document.elementFromPoint(left + width / 2, bottom - 2));
})()";

/// A script that returns the text of the list of searched files.
const SEARCHED_FILES: &str =
    "document.querySelector('[data-testid=import-searched-panel]').innerText";

/// A script that returns the text of all changes of files that a preview shows.
const CHANGES: &str = "[...document.querySelectorAll('[data-testid=preview-file]')]
    .map((file) => file.innerText).join('\\n')";

/// Writes a file of Cursor with a server for each of the names. Returns the text of the file.
fn write_servers(desktop: &DesktopSession, folder: &str, names: &[&str]) -> String {
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    let servers: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| {
            let server = json!({"command": program, "args": ["--record", name]});
            ((*name).to_owned(), server)
        })
        .collect();
    let text = format!("{:#}\n", json!({"mcpServers": servers}));
    let folder = desktop.file(folder).join(".cursor");
    fs::create_dir_all(&folder).expect("create the folder");
    fs::write(folder.join("mcp.json"), &text).expect("write the file");
    text
}

#[test]
fn servers_of_a_project_are_found_chosen_and_imported_without_connecting_the_client() {
    let desktop = DesktopSession::without_screen();
    write_servers(&desktop, "home", &["notes", "shop"]);
    let project = desktop.file("home/work");
    let project_text = write_servers(&desktop, "home/work", &["tools"]);
    let hub = Hub::serve(&desktop);
    let found_tools = "found-server[data-server=tools]";
    let mut steps = vec![
        click("nav-approvals"),
        click("guide-import"),
        wait_for("found-server"),
        count("found-server"),
        click("import-select-none"),
        wait_for("import-preview[aria-disabled=true]"),
        click("import-select-all"),
        wait_until_enabled("import-preview"),
        click("import-projects"),
        fill("import-project-folders", "work"),
        click("import-search"),
        wait_for_text("import-error", "'work' is not an absolute path"),
        expect_failed_verb("config.find_servers"),
        fill("import-project-folders", &paths::path_text(&project)),
        click("import-search"),
        wait_for(found_tools),
        wait_until_gone("import-error"),
        // In a low window, the actions below the list cover a part of it.
        set_size(1280, 1200),
    ];
    steps.extend(check_screen("import-projects"));
    steps.extend([
        set_size(1280, 800),
        click("import-select-none"),
        click(&format!("{found_tools} :is(input)")),
        wait_for_text("import-selected", "1 of 3"),
        click("import-preview"),
        wait_for_text("preview-servers", "tools"),
        wait_for("preview-file"),
        click("import-back"),
        wait_for(&format!("{found_tools}[data-selected=true]")),
        click("import-connect"),
        wait_until_gone("import-restores"),
        click("import-preview"),
        wait_for("import-confirm"),
        wait_until_gone("preview-file"),
    ]);
    steps.extend(check_screen("import-without-connecting"));
    steps.extend([
        click("import-confirm"),
        wait_for("import-done"),
        click("import-undo"),
        wait_for("import-undone"),
        click("import-again"),
        wait_for("found-server"),
        click("import-cancel"),
        wait_until_gone("import-panel"),
    ]);
    let report = take_steps(&desktop, steps);
    assert_eq!(report.0["counts"], json!([2]), "without the project");
    let (status, _) = hub.try_verb("servers.show", &json!({"id": "tools"}));
    assert_eq!(status, 404, "the import was undone");

    let mut steps = vec![
        click("nav-servers"),
        click("servers-empty-import"),
        wait_for("found-server"),
        click("import-projects"),
        fill("import-project-folders", &paths::path_text(&project)),
        click("import-search"),
        wait_for(found_tools),
        click("import-select-none"),
        click(&format!("{found_tools} :is(input)")),
        click("import-connect"),
        wait_until_gone("import-restores"),
        click("import-preview"),
        click("import-confirm"),
        wait_for("import-done"),
    ];
    steps.extend(check_screen("import-of-a-project"));
    steps.extend([
        click("import-close"),
        wait_until_gone("client-import-dialog"),
        wait_for("server-row[data-server=tools]"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(
        hub.show_server("tools")["spec"]["args"],
        json!(["--record", "tools"])
    );
    let file = project.join(".cursor/mcp.json");
    assert_eq!(
        fs::read_to_string(file).expect("the file"),
        project_text,
        "the file of the client is unchanged"
    );
}

#[test]
fn a_search_without_a_result_names_the_searched_files_and_is_repeated() {
    let desktop = DesktopSession::without_screen();
    let _hub = Hub::serve(&desktop);
    write_servers(&desktop, "home", &[]);
    let cursor = paths::path_text(desktop.file("home/.cursor/mcp.json"));
    let project = desktop.file("home/work");
    let project_file = paths::path_text(project.join(".cursor/mcp.json"));
    let mut steps = vec![
        click("nav-servers"),
        click("servers-empty-import"),
        wait_for("import-nothing"),
        click("import-help"),
        wait_for_text("import-help-panel", "You can undo the whole import later."),
    ];
    steps.extend(check_screen("import-help"));
    steps.extend([
        click("import-help"),
        wait_until_gone("import-help-panel"),
        click("import-searched"),
        wait_for_text("import-searched-panel", &cursor),
        evaluate(SEARCHED_FILES),
        fill("import-project-folders", "work"),
        click("import-search"),
        wait_for_text("import-error", "'work' is not an absolute path"),
        expect_failed_verb("config.find_servers"),
    ]);
    steps.extend(check_screen("import-search-failed"));
    steps.extend([
        evaluate(IS_FAILURE_VISIBLE),
        fill("import-project-folders", &paths::path_text(&project)),
        click("import-retry"),
        wait_until_gone("import-error"),
        wait_for_text("import-searched-panel", &project_file),
        run_next_action(),
        click("import-search"),
        wait_for("found-server[data-server=tools]"),
        wait_until_gone("import-nothing"),
        wait_until_enabled("import-preview"),
    ]);
    let write_tools = || {
        write_servers(&desktop, "home/work", &["tools"]);
    };
    let report = take_steps_with_actions(&desktop, steps, vec![Box::new(write_tools)]);
    let [searched, is_visible] = report.values() else {
        panic!("two values: {:?}", report.values());
    };
    let searched: Vec<&str> = searched.as_str().expect("a text").lines().collect();
    let existing = format!("Cursor {cursor}");
    assert!(searched.contains(&existing.as_str()), "{searched:#?}");
    let missing = searched.iter().filter(|line| line.ends_with("(not found)"));
    assert_eq!(
        missing.count(),
        searched.len() - 1,
        "only this file exists: {searched:#?}"
    );
    assert_eq!(*is_visible, true, "the failure is above the buttons");
}

#[test]
fn known_servers_stay_in_the_files_clients_keep_asking_and_changed_files_are_shown_again() {
    let desktop = DesktopSession::without_screen();
    write_servers(&desktop, "home", &["notes", "shop"]);
    let cursor = desktop.file("home/.cursor/mcp.json");
    let text = fs::read_to_string(&cursor).expect("the file");
    let gemini = desktop.file("home/.gemini/settings.json");
    fs::create_dir(desktop.file("home/.gemini")).expect("create the folder");
    fs::copy(&cursor, &gemini).expect("write the file");
    let hub = Hub::serve(&desktop);
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    hub.add_server("shop", &[], &[program.as_str(), "--record", "shop"]);
    let files = "found-server[data-server=notes] found-files";
    let mut steps = vec![
        click("nav-servers"),
        click("import-servers"),
        wait_for_text("found-server[data-server=shop]", "in Drawbridge as shop"),
        click(files),
        wait_for_text(&format!("{files}-panel"), &paths::path_text(&cursor)),
        wait_for_text(&format!("{files}-panel"), &paths::path_text(&gemini)),
        // In a low window, the actions below the list cover a part of it.
        set_size(1280, 1200),
    ];
    steps.extend(check_screen("import-known"));
    steps.extend([
        set_size(1280, 800),
        click("import-preview"),
        wait_for("preview-file"),
        evaluate(CHANGES),
        click("import-back"),
        click("import-removes-known"),
        wait_for("import-removes-known:not(:checked)"),
        click("import-ask-once"),
        wait_for("import-ask-once:not(:checked)"),
        click("import-preview"),
        wait_for("preview-file"),
        evaluate(CHANGES),
        run_next_action(),
        click("import-confirm"),
        wait_for_text("import-error", "was changed by another program"),
        wait_for_text("import-error", "Nothing was imported"),
        expect_failed_verb("config.import"),
    ]);
    steps.extend(check_screen("import-outdated"));
    steps.extend([
        evaluate(IS_FAILURE_VISIBLE),
        run_next_action(),
        click("import-retry"),
        wait_until_gone("import-error"),
        wait_for_text("preview-file", "\"theme\": \"dark\""),
        click("import-confirm"),
        wait_for_text("import-done", "notes"),
        wait_for("server-row[data-server=notes]"),
    ]);
    let changed = text.replacen("{\n", "{\n  \"theme\": \"dark\",\n", 1);
    let change_file = || fs::write(&cursor, &changed).expect("change the file");
    let expect_no_import = || {
        let (status, _) = hub.try_verb("servers.show", &json!({"id": "notes"}));
        assert_eq!(status, 404, "nothing was imported");
    };
    let actions: Vec<Action<'_>> = vec![Box::new(change_file), Box::new(expect_no_import)];
    let report = take_steps_with_actions(&desktop, steps, actions);
    let [all, fewer, is_visible] = report.values() else {
        panic!("three values: {:?}", report.values());
    };
    let (all, fewer) = (
        all.as_str().expect("a text"),
        fewer.as_str().expect("a text"),
    );
    for change in ["-    \"shop\"", "\"trust\": true", "\"mcpAllowlist\""] {
        assert!(all.contains(change), "{change} is missing: {all}");
        assert!(!fewer.contains(change), "{change} is too much: {fewer}");
    }
    assert_eq!(*is_visible, true, "the failure is above the buttons");
    let cursor = fs::read_to_string(&cursor).expect("the file");
    let gemini = fs::read_to_string(&gemini).expect("the file");
    for kept in ["\"shop\"", "\"drawbridge\""] {
        assert!(cursor.contains(kept), "{kept} is missing: {cursor}");
        assert!(gemini.contains(kept), "{kept} is missing: {gemini}");
    }
    assert!(cursor.contains("\"dark\""), "the change stays: {cursor}");
    assert!(!gemini.contains("\"trust\""), "the client asks: {gemini}");
}

#[test]
fn values_that_no_file_has_are_asked_for_kept_as_secrets_and_given_to_the_server() {
    let desktop = DesktopSession::without_screen();
    let key = "key-of-the-shop-0815";
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    let text = json!({
        "inputs": [
            {"id": "key", "description": "Key of the shop", "type": "promptString",
                "password": true},
            {"id": "region", "type": "pickString", "options": ["north", "south"]},
        ],
        "servers": {"shop": {
            "command": program, "args": ["--record", "shop"],
            "env": {"SHOP_KEY": "${input:key}", "SHOP_REGION": "${input:region}"},
        }},
    });
    let folder = desktop.file("config/Code/User");
    fs::create_dir_all(&folder).expect("create the folder");
    fs::write(folder.join("mcp.json"), text.to_string()).expect("write the file");
    let hub = Hub::serve(&desktop);
    let server = "found-server[data-server=shop]";
    let mut steps = vec![
        click("nav-servers"),
        click("servers-empty-import"),
        wait_for_text(server, "Key of the shop"),
        click("import-preview"),
        wait_until_focused("import-input[type=password]"),
        wait_for_text(server, "Enter a value, or deselect the server."),
        // In a low window, the actions below the list cover a part of it.
        set_size(1280, 1200),
    ];
    steps.extend(check_screen("import-values-missing"));
    steps.extend([
        set_size(1280, 800),
        fill("import-input[type=password]", key),
        select("import-input:is(select)", "south"),
        click("import-cancel"),
        wait_for_text("confirm-dialog", "the values that you entered are lost"),
        press_key("Escape"),
        wait_until_gone("confirm-dialog"),
        click("import-preview"),
        wait_for_text("preview-secrets", "shop.SHOP_KEY"),
        wait_for_text("preview-secrets", "shop.SHOP_REGION"),
    ]);
    steps.extend(check_screen("import-values"));
    steps.extend([
        evaluate("document.body.innerText"),
        click("import-confirm"),
        wait_for_text("import-done", "shop"),
    ]);
    let report = take_steps(&desktop, steps);
    let shown = report.values()[0].as_str().expect("a text");
    assert!(!shown.contains(key), "the key is shown: {shown}");
    hub.wait_until_synced("shop");
    hub.set_policy("shop", "allow");
    let client = hub.connect_client("writer");
    for (name, value) in [("SHOP_KEY", key), ("SHOP_REGION", "south")] {
        let arguments = json!({"name": name}).to_string();
        let answer = client.call("shop__variable", &arguments);
        assert_eq!(answer.text(), value, "the server gets {name}");
    }
    let details = desktop.cli(&["servers", "show", "shop", "--json"]).stdout();
    assert!(details.contains("${keyring:shop.SHOP_KEY}"), "{details}");
    assert!(!details.contains(key), "{details}");
}
