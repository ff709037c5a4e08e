//! The Memory screen in a real browser, on the entries of a real hub.

use drawbridge_tests::{DesktopSession, Hub, browser};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, create_login_link, download, fill, log_in, press_key, select, take_steps,
    wait_for, wait_for_text, wait_until_gone,
};

/// Starts a session whose hub has the memory server.
fn start_session() -> DesktopSession {
    let mut desktop = DesktopSession::without_screen();
    desktop.set_variable("DRAWBRIDGE_DISABLED_BUILT_INS", "");
    desktop
}

#[test]
fn entries_are_found_edited_and_deleted_in_a_browser() {
    let desktop = start_session();
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

#[test]
fn entries_are_added_filtered_and_exported_in_a_browser() {
    let desktop = start_session();
    let _hub = Hub::serve(&desktop);
    desktop
        .cli(&[
            "memory",
            "add",
            "Meets on Tuesdays",
            "--user",
            "grace",
            "--category",
            "work",
        ])
        .expect_success();
    let mut steps = vec![
        click("nav-memory"),
        wait_for("memory-row[data-id=1]"),
        click("memory-add"),
        fill("memory-content", "Likes green tea"),
        fill("memory-category", "taste"),
        fill("memory-tags", "drink, tea"),
        fill("memory-user", "ada"),
    ];
    steps.extend(check_screen("memory-add"));
    steps.extend([
        click("memory-save"),
        wait_until_gone("memory-dialog"),
        wait_for_text("memory-row[data-id=2]", "green tea"),
        select("memory-filter-user", "ada"),
        wait_until_gone("memory-row[data-id=1]"),
        wait_for("memory-row[data-id=2]"),
    ]);
    steps.extend(check_screen("memory-of-a-user"));
    steps.extend([
        select("memory-filter-user", ""),
        wait_for("memory-row[data-id=1]"),
        select("memory-filter-category", "work"),
        wait_until_gone("memory-row[data-id=2]"),
        select("memory-filter-category", ""),
        wait_for("memory-row[data-id=2]"),
        download("memory-export"),
        click("memory-row[data-id=2] memory-edit"),
        fill("memory-tags", "drink"),
        fill("memory-category", "habits"),
        click("memory-save"),
        wait_until_gone("memory-dialog"),
        wait_for_text("memory-row[data-id=2]", "habits"),
        press_key("n"),
        wait_for("memory-dialog"),
        press_key("Escape"),
        wait_until_gone("memory-dialog"),
    ]);
    let report = take_steps(&desktop, steps);
    let file = report.values()[0].as_str().expect("a file");
    let exported: Value = serde_json::from_str(file).expect("JSON");
    assert_eq!(
        (&exported[0]["user"], &exported[0]["tags"]),
        (&json!("ada"), &json!(["drink", "tea"]))
    );
    assert_eq!(exported.as_array().map(Vec::len), Some(2));
    let stored = desktop.cli(&["memory", "list", "--json"]).expect_json();
    assert_eq!(
        (
            &stored["entries"][0]["category"],
            &stored["entries"][0]["tags"]
        ),
        (&json!("habits"), &json!(["drink"]))
    );

    desktop
        .cli(&["servers", "disable", "memory"])
        .expect_success();
    let mut steps = vec![click("nav-memory"), wait_for("memory-off")];
    steps.extend(check_screen("memory-off"));
    take_steps(&desktop, steps);
}

#[test]
fn more_than_fifty_entries_are_read_page_by_page_in_a_browser() {
    let desktop = start_session();
    let hub = Hub::serve(&desktop);
    for number in 1..=60 {
        hub.run_verb("memory.add", &json!({"content": format!("Fact {number}")}));
    }
    let mut steps = vec![
        click("nav-memory"),
        wait_for("memory-row[data-id=60]"),
        wait_for("memory-more"),
        click("memory-more"),
        wait_until_gone("memory-more"),
    ];
    steps.extend(check_screen("memory-all-pages"));
    steps.extend([
        fill("memory-query", "Fact 1"),
        wait_for("memory-row[data-id=1]"),
    ]);
    take_steps(&desktop, steps);
}
