//! The dialog that connects a client, in a real browser: a file that changes meanwhile, a file that
//! cannot be read, the choice of the file, and letting only Drawbridge ask. The hub and the files
//! are real.

use std::fs;

use drawbridge_tests::{DesktopSession, Hub};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, count, expect_failed_verb, fill, run_next_action, select,
    take_steps_with_actions, wait_for, wait_for_text, wait_until_enabled, wait_until_gone,
};

#[test]
fn a_change_of_the_file_is_reviewed_again_and_a_project_is_connected_without_ask_once() {
    let desktop = DesktopSession::without_screen();
    let empty = "{\"mcpServers\": {}}";
    let folder = desktop.file("home/.cursor");
    let file = folder.join("mcp.json");
    let project = desktop.file("home/project");
    for folder in [&folder, &project] {
        fs::create_dir(folder).expect("create a folder");
    }
    let write = |text: &str| fs::write(&file, text).expect("write the file");
    write(empty);
    let _hub = Hub::serve(&desktop);
    let second_file = "changed-file:nth-of-type(2)";
    let mut steps = vec![
        click("nav-clients"),
        click("known-client[data-kind=cursor] client-connect"),
        wait_until_enabled("connect-apply"),
        run_next_action(),
        click("connect-apply"),
        wait_for_text("dialog-error", "was changed by another program"),
        expect_failed_verb("config.apply"),
        wait_for_text("file-diff", "other"),
    ];
    steps.extend(check_screen("connect-changed-meanwhile"));
    steps.extend([
        run_next_action(),
        click("connect-preview-again"),
        wait_for_text("dialog-error", "JSON"),
        expect_failed_verb("config.preview"),
        run_next_action(),
        click("connect-preview-again"),
        wait_until_gone("dialog-error"),
        wait_until_enabled("connect-apply"),
        // The list of calls that Cursor allows is in a file of its own.
        wait_for(second_file),
        click("connect-ask-once"),
        wait_until_gone(second_file),
        select("connect-where", "In one project…"),
        fill("connect-project", project.to_str().expect("UTF-8")),
        wait_for_text("changed-file", "project/.cursor/mcp.json"),
        wait_until_enabled("connect-apply"),
        count("changed-file"),
    ]);
    steps.extend(check_screen("connect-one-project"));
    steps.extend([
        click("connect-apply"),
        wait_for("connect-result"),
        click("connect-done"),
        wait_until_gone("connect-dialog"),
    ]);
    let report = take_steps_with_actions(
        &desktop,
        steps,
        vec![
            Box::new(|| write(r#"{"mcpServers": {"other": {"command": "true"}}}"#)),
            Box::new(|| write("{\"mcpServers\": ")),
            Box::new(|| write(empty)),
        ],
    );
    assert_eq!(report.0["counts"], json!([1]));
    assert_eq!(
        fs::read_to_string(&file).expect("the file"),
        empty,
        "the file of all projects is unchanged"
    );
    let text = fs::read_to_string(project.join(".cursor/mcp.json")).expect("the project's file");
    let config: Value = serde_json::from_str(&text).expect("JSON");
    assert!(config["mcpServers"]["drawbridge"].is_object(), "{text}");
}
