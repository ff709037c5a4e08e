//! The guide in a real browser: its steps can be shown and skipped, it can be closed and reopened,
//! it connects a client, and a call that it makes waits for a person. The hub, its server and the
//! entry of its client are real.

use std::fs;

use drawbridge_tests::{DesktopSession, Hub};

use crate::steps::{
    check_screen, click, fill, press_key, select, take_steps, wait_for, wait_for_text,
    wait_until_enabled, wait_until_gone,
};

/// Starts a session in which Cursor is set up without any server.
fn start_session() -> DesktopSession {
    let desktop = DesktopSession::without_screen();
    let folder = desktop.file("home/.cursor");
    fs::create_dir(&folder).expect("create the folder of Cursor");
    fs::write(folder.join("mcp.json"), "{}\n").expect("write the file of Cursor");
    desktop
}

#[test]
fn the_steps_of_the_guide_are_shown_skipped_closed_and_reopened_in_a_browser() {
    let desktop = start_session();
    let _hub = Hub::serve(&desktop);
    let mut steps = vec![wait_for("guide")];
    steps.extend(check_screen("guide-empty"));
    steps.extend([
        click("guide-add-server"),
        wait_for("server-form-tab"),
        press_key("Escape"),
        wait_until_gone("server-form-tab"),
        click("guide-step[data-step=clients] guide-show"),
        wait_for("guide-connect[data-kind=cursor]"),
        click("nav-servers"),
        wait_for_text("guide-link", "Add your servers"),
    ]);
    steps.extend(check_screen("guide-link"));
    steps.extend([
        click("nav-approvals"),
        click("guide-step[data-step=servers] guide-skip"),
        wait_for_text("guide-step[data-step=servers]", "Skipped"),
    ]);
    steps.extend(check_screen("guide-skipped"));
    steps.extend([
        click("guide-close"),
        wait_until_gone("guide"),
        click("nav-settings"),
        click("guide-open"),
        wait_for("guide"),
        click("guide-close"),
        wait_until_gone("guide"),
        press_key("Control+k"),
        fill("palette-query", "show the guide"),
        wait_for_text("palette-option", "Show the guide"),
        press_key("Enter"),
        wait_for("guide"),
    ]);
    take_steps(&desktop, steps);
}

#[test]
fn the_guide_connects_a_client_and_tries_a_tool_that_a_person_approves_and_denies_in_a_browser() {
    let desktop = start_session();
    let hub = Hub::serve(&desktop);
    hub.add_everything();
    hub.set_policy("everything", "ask");
    let mut steps = vec![
        click("nav-approvals"),
        wait_for("guide-step[data-step=servers][data-done=true]"),
        click("guide-connect[data-kind=cursor]"),
        wait_for("file-diff"),
        wait_until_enabled("connect-apply"),
        click("connect-apply"),
        wait_for("entry-test-ok"),
        click("connect-done"),
        wait_until_gone("connect-dialog"),
        select("try-tool", "everything__echo"),
        fill("try-arguments", "{"),
        wait_for("try-arguments[aria-invalid=true]"),
    ];
    steps.extend(check_screen("guide-faulty-arguments"));
    steps.extend([
        fill("try-arguments", r#"{"message": "from the guide"}"#),
        wait_until_enabled("try-call"),
        click("try-call"),
        wait_for("try-running"),
        wait_for_text("approval-card", "from the guide"),
    ]);
    steps.extend(check_screen("guide-call"));
    steps.extend([
        wait_until_enabled("approve-once"),
        click("approve-once"),
        wait_for_text("try-result", "from the guide"),
        wait_for("guide-step[data-step=call][data-done=true]"),
    ]);
    steps.extend(check_screen("guide-done"));
    steps.extend([
        select("try-tool", "everything__get-sum"),
        wait_until_enabled("try-call"),
        click("try-call"),
        wait_until_enabled("deny"),
        click("deny"),
        click("deny-confirm"),
        wait_for("try-failed"),
    ]);
    steps.extend(check_screen("guide-denied"));
    take_steps(&desktop, steps);
    let file = fs::read_to_string(desktop.file("home/.cursor/mcp.json")).expect("the file");
    assert!(file.contains("drawbridge"), "{file}");
}
