//! Lists in a browser: the command palette, finding and disabling a rule, and searching and
//! exporting calls and log lines. The hub and its server are real.

use drawbridge_tests::{DesktopSession, Hub, browser};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, count, create_login_link, download, fill, log_in, press_key, wait_for,
    wait_for_text, wait_until_gone,
};

/// Starts a hub with a server whose calls are allowed, except the calls of one tool.
fn start_hub(desktop: &DesktopSession) -> Hub<'_> {
    let hub = Hub::serve(desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    hub.set_policy("probe/now", "deny");
    hub
}

#[test]
fn the_palette_opens_tools_and_clients_with_the_keyboard() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    hub.add_client("claude-code");
    let mut steps = log_in();
    steps.extend([press_key("Control+k"), wait_for("palette")]);
    steps.extend(check_screen("palette"));
    steps.extend([
        fill("palette-query", "echo"),
        wait_for_text("palette-option", "echo"),
        press_key("Enter"),
        wait_until_gone("palette"),
        wait_for("tool-row[data-tool=echo]"),
        press_key("Control+k"),
        fill("palette-query", "claude"),
        wait_for_text("palette-option", "claude-code"),
        press_key("Enter"),
        wait_for("client-row"),
        press_key("Control+k"),
        fill("palette-query", "zzzz"),
        wait_until_gone("palette-option"),
        press_key("Escape"),
        wait_until_gone("palette"),
    ]);
    browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps)).assert_no_problems();
}

#[test]
fn rules_are_found_and_disabled_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let client = hub.connect_client("claude-code");
    assert!(
        client.call("probe__now", "{}").is_error(),
        "a rule denies the call"
    );
    let mut steps = log_in();
    steps.extend([
        click("nav-policy"),
        fill("rules-search", "now"),
        wait_for_text("rules-found", "1 of 2"),
        count("rule-row"),
        click("rule-row[data-effect=deny] rule-enabled"),
        wait_for_text("rule-row[data-effect=deny]", "off"),
    ]);
    steps.extend(check_screen("rules-found"));
    let report = browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps));
    report.assert_no_problems();
    assert_eq!(report.0["counts"], json!([1]));
    assert!(
        !client.call("probe__now", "{}").is_error(),
        "the disabled rule denies nothing"
    );
}

#[test]
fn calls_are_filtered_and_exported_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let client = hub.connect_client("claude-code");
    for number in 0..60 {
        client.call("probe__echo", &json!({"number": number}).to_string());
    }
    client.call("probe__now", "{}");
    let mut steps = log_in();
    steps.extend([
        click("nav-calls"),
        wait_for_text("calls-count", "61"),
        fill("call-filter-text", "now"),
        wait_until_gone("call-row[data-decision=allowed]"),
        wait_for("call-row[data-decision=denied]"),
        download("calls-export-csv"),
        click("call-filters-clear"),
        wait_for_text("calls-count", "61"),
        download("calls-export-json"),
        click("call-row[data-decision=denied]"),
        wait_for("call-rule"),
    ]);
    steps.extend(check_screen("call-denied"));
    let report = browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps));
    report.assert_no_problems();
    let [csv, json] = [0, 1].map(|at| report.values()[at].as_str().expect("a file"));
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 2, "a head and the call that was found: {csv}");
    assert!(
        rows[1].contains("now") && rows[1].contains("denied"),
        "{csv}"
    );
    let calls: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(calls.as_array().map(Vec::len), Some(61));
}

#[test]
fn log_lines_are_searched_and_exported_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let client = hub.connect_client("claude-code");
    client.call("probe__echo", "{}");
    let mut steps = log_in();
    steps.extend([
        click("nav-logs"),
        wait_for("log-line"),
        fill("log-filter-text", "no line has this text"),
        wait_until_gone("log-line"),
        fill("log-filter-text", "probe"),
        wait_for_text("log-line", "probe"),
        download("log-export"),
        json!({"do": "select", "part": "log-filter-level", "value": "error"}),
        fill("log-filter-text", ""),
        wait_until_gone("log-line"),
    ]);
    steps.extend(check_screen("log-without-errors"));
    let report = browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps));
    report.assert_no_problems();
    let exported = report.values()[0].as_str().expect("a file");
    assert!(
        exported.lines().count() > 0 && exported.lines().all(|line| line.contains("probe")),
        "the lines that were found: {exported}"
    );
}
