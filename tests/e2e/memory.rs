//! The Memory screen in a real browser, on the entries of a real hub.

use drawbridge_tests::{DesktopSession, Hub, browser};
use serde_json::json;

use crate::steps::{
    check_screen, click, create_login_link, log_in, wait_for, wait_for_text, wait_until_gone,
};

#[test]
fn entries_are_found_edited_and_deleted_in_a_browser() {
    let mut desktop = DesktopSession::without_screen();
    desktop.set_variable("DRAWBRIDGE_DISABLED_BUILT_INS", "");
    let desktop = desktop;
    let _hub = Hub::serve(&desktop);
    for arguments in [
        ["memory", "add", "Likes green tea", "--tag", "drink"].as_slice(),
        &["memory", "add", "Meets on Tuesdays", "--user", "grace"],
    ] {
        desktop.cli(arguments).expect_success();
    }
    let mut steps = log_in();
    steps.extend([
        click("nav-memory"),
        wait_for("memory-row[data-id=1]"),
        wait_for("memory-row[data-id=2]"),
    ]);
    steps.extend(check_screen("memory"));
    steps.extend([
        json!({"do": "fill", "part": "memory-query", "text": "tea"}),
        wait_until_gone("memory-row[data-id=2]"),
        click("memory-row[data-id=1] memory-edit"),
        wait_for("memory-dialog"),
    ]);
    steps.extend(check_screen("memory-dialog"));
    steps.extend([
        json!({"do": "fill", "part": "memory-content", "text": "Likes black tea"}),
        click("memory-save"),
        wait_until_gone("memory-dialog"),
        wait_for_text("memory-row[data-id=1]", "Likes black tea"),
        click("memory-row[data-id=1] memory-delete"),
        wait_for("removal-undo"),
        wait_until_gone("memory-row[data-id=1]"),
    ]);
    steps.extend(check_screen("memory-delete"));
    steps.extend([
        click("removal-undo"),
        wait_for("memory-row[data-id=1]"),
        click("memory-row[data-id=1] memory-delete"),
        click("removal-now"),
        wait_until_gone("removal-pending"),
        json!({"do": "fill", "part": "memory-query", "text": ""}),
        wait_for_text("memory-row[data-id=2]", "Meets on Tuesdays"),
    ]);
    browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps)).assert_no_problems();
    let remaining = desktop.cli(&["memory", "list", "--json"]).expect_json();
    assert_eq!(remaining["entries"].as_array().map(Vec::len), Some(1));
    assert_eq!(remaining["entries"][0]["user"], "grace");
}
