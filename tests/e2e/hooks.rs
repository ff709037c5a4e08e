//! The Hooks screen in a real browser, on a real hub: a hook is added, tried, run by a call, shown
//! with its failures, and removed.

use drawbridge_tests::{DesktopSession, Hub, browser, mcp::join_text_blocks};
use serde_json::json;

use crate::steps::{self, check_screen, click, create_login_link, fill, wait_for, wait_for_text};

#[test]
fn a_hook_is_added_tried_and_removed_on_the_screen() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let answer = r#"{"action":"deny","reason":"not on weekdays"}"#;
    let mut visit = steps::log_in();
    visit.extend([click("nav-hooks"), wait_for("hooks-empty")]);
    visit.extend(check_screen("hooks-empty"));
    visit.extend([
        click("hook-new"),
        fill("hook-name", "guard"),
        click("hook-event-tool_requested"),
        click("hook-event-tool_executed"),
        click("hook-blocking"),
        fill("hook-command", &format!("printf %s '{answer}'")),
        click("hook-trial"),
        wait_for("hook-trial-payload"),
        click("hook-trial-run"),
        wait_for_text("hook-trial-outcome", "Denied the call"),
    ]);
    visit.extend(check_screen("hook-dialog"));
    visit.extend([
        steps::set_theme("dark"),
        click("hook-save"),
        wait_for("hook-row[data-hook=guard]"),
    ]);
    visit.extend(check_screen("hooks-dark"));
    let link = create_login_link(&desktop);
    browser::take_steps(&desktop, &link, &json!(visit)).assert_no_problems();

    let client = hub.connect_client("desk");
    let denied = client.call("probe__echo", "{}");
    assert!(denied.is_error(), "{}", denied.raw);
    assert!(
        join_text_blocks(&denied.result()).contains("not on weekdays"),
        "{}",
        denied.raw
    );
    let mut visit = steps::log_in();
    visit.extend([
        click("nav-hooks"),
        wait_for_text("hook-last", "not on weekdays"),
        click("hook-log"),
        wait_for("hook-run"),
    ]);
    visit.extend(check_screen("hook-runs"));
    visit.extend([
        steps::press_key("Escape"),
        click("hook-enabled"),
        click("hook-remove"),
        wait_for("removal-now"),
        click("removal-now"),
        wait_for("hooks-empty"),
    ]);
    let link = create_login_link(&desktop);
    browser::take_steps(&desktop, &link, &json!(visit)).assert_no_problems();
    assert_eq!(hub.run_verb("hooks.list", &json!({})), json!([]));
    assert!(!client.call("probe__echo", "{}").is_error());
}
