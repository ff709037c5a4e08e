//! The Audit screen in a real browser: kinds, an opened entry, new entries, pages and the text
//! filter. The hub is real.

use drawbridge_tests::{DesktopSession, Hub};
use serde_json::json;

use crate::steps::{
    check_screen, click, count, fill, press_key, select, take_steps, wait_for, wait_for_any_text,
    wait_for_text, wait_until_gone,
};

/// The number of entries on the first page.
const PAGE_SIZE: u32 = 500;

#[test]
fn audit_entries_are_filtered_by_kind_opened_and_refreshed_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_client("claude-code");
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    hub.set_policy("probe", "deny");
    let mut steps = vec![
        click("nav-audit"),
        wait_for_any_text("audit-row", "claude-code"),
        select("audit-kind", "policy_changed"),
        wait_for_text("audit-row", "Policy"),
        count("audit-row"),
    ];
    steps.extend(check_screen("audit-of-a-kind"));
    steps.extend([
        select("audit-kind", ""),
        wait_for_any_text("audit-row", "claude-code"),
        click("audit-row"),
        wait_for("audit-detail"),
    ]);
    steps.extend(check_screen("audit-entry"));
    steps.extend([
        press_key("Escape"),
        wait_until_gone("audit-detail"),
        click("pause-calls"),
        wait_for("paused-banner"),
        click("audit-refresh"),
        wait_for_text("audit-row", "paused"),
        click("resume-calls"),
    ]);
    let report = take_steps(&desktop, steps);
    assert_eq!(report.0["counts"], json!([2]), "two changes of the policy");
}

#[test]
fn older_audit_entries_are_read_page_by_page_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_client("claude-code");
    for number in 0..PAGE_SIZE + 10 {
        hub.run_verb("settings.change", &json!({"cache_ttl_s": 100 + number}));
    }
    let mut steps = vec![
        click("nav-audit"),
        wait_for("audit-older"),
        fill("audit-text", "claude-code"),
        wait_until_gone("audit-row"),
    ];
    steps.extend(check_screen("audit-newest"));
    steps.extend([
        click("audit-older"),
        wait_for_text("audit-row", "claude-code"),
        wait_until_gone("audit-older"),
    ]);
    take_steps(&desktop, steps);
}
