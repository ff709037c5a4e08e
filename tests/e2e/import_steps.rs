//! The steps of an import from clients, in a real browser: choosing servers, the folders of
//! projects, going back, importing without connecting, and beginning again. The hub, the servers
//! and the files of the clients are real.

use std::fs;

use drawbridge_tests::{DesktopSession, Hub, paths};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, count, expect_failed_verb, fill, set_size, take_steps, wait_for,
    wait_for_text, wait_until_enabled, wait_until_gone,
};

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
    let text = json!({"mcpServers": servers}).to_string();
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
        "the file of the client stays"
    );
}
