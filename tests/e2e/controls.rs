//! The other controls of the web UI in a browser: running a recorded call again, making a rule of a
//! call, pausing calls, filtering and verifying the audit log, backups and resets. The hub and its
//! server are real.

use std::path::Path;

use drawbridge_tests::{DesktopSession, Hub, hub::received_calls};
use serde_json::json;

use crate::steps::{
    check_screen, click, count, fill, select, take_steps, wait_for, wait_for_text, wait_until_gone,
};

/// Starts a hub with the probe server, whose calls are allowed.
fn start_hub(desktop: &DesktopSession) -> Hub<'_> {
    let hub = Hub::serve(desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    hub
}

#[test]
fn a_recorded_call_is_run_again_under_the_policy_and_made_a_rule_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let client = hub.connect_client("claude-code");
    client.call("probe__echo", r#"{"message": "once more"}"#);
    let mut steps = vec![
        click("nav-calls"),
        click("call-row"),
        click("call-run-again"),
        wait_for("call-run-confirm"),
    ];
    steps.extend(check_screen("call-run-again"));
    steps.extend([
        click("call-run"),
        wait_for_text("call-run-result", "once more"),
        click("call-make-rule"),
        wait_for("rule-dialog"),
        wait_for("rule-server"),
        select("rule-effect", "deny"),
        click("rule-save"),
        wait_until_gone("rule-dialog"),
        wait_for_text("rule-row[data-effect=deny]", "echo"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(received_calls(&desktop).len(), 2, "the call ran twice");
    let policy = hub.run_verb("policy.list", &json!({}));
    let rule = &policy["rules"][1];
    assert_eq!(
        (
            &rule["client"],
            &rule["server"],
            &rule["tool"],
            &rule["effect"]
        ),
        (
            &json!("claude-code"),
            &json!("probe"),
            &json!("echo"),
            &json!("deny")
        )
    );
    assert!(client.call("probe__echo", "{}").is_error());

    // A call that a person runs again is subject to the policy, too.
    hub.set_policy("probe/echo", "deny");
    take_steps(
        &desktop,
        vec![
            click("nav-calls"),
            click("call-row[data-decision=allowed]"),
            click("call-run-again"),
            click("call-run"),
            wait_for_text("call-detail", "Denied"),
        ],
    );
    assert_eq!(received_calls(&desktop).len(), 2, "the call was denied");
}

#[test]
fn all_calls_are_paused_and_resumed_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let client = hub.connect_client("claude-code");
    let mut steps = vec![
        click("pause-calls"),
        wait_for("paused-banner"),
        click("pause-hour"),
        wait_for("pause-no-end"),
    ];
    steps.extend(check_screen("paused"));
    take_steps(&desktop, steps);
    let shown = hub.run_verb("drawbridge.show", &json!({}));
    assert!(shown["resumes_at"].is_i64(), "{shown}");
    assert!(client.call("probe__echo", "{}").is_error());
    take_steps(
        &desktop,
        vec![click("resume-calls"), wait_until_gone("paused-banner")],
    );
    assert!(!client.call("probe__echo", "{}").is_error());
}

#[test]
fn the_audit_log_is_filtered_and_verified_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    hub.add_client("claude-code");
    hub.add_client("cursor");
    let mut steps = vec![
        click("nav-audit"),
        fill("audit-text", "claude-code"),
        wait_for_text("audit-row", "claude-code"),
        count("audit-row"),
        fill("audit-text", "no entry has this text"),
        wait_until_gone("audit-row"),
        fill("audit-text", ""),
        wait_for("audit-row"),
        click("audit-verify"),
        wait_for("audit-report"),
    ];
    steps.extend(check_screen("audit-verified"));
    steps.extend([click("audit-row"), wait_for("audit-detail")]);
    let report = take_steps(&desktop, steps);
    assert_eq!(report.0["counts"], json!([1]), "one entry names the client");
}

#[test]
fn a_backup_is_made_and_a_restore_and_a_reset_are_prepared_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let is_prepared = || hub.run_verb("backup.list", &json!({}))["is_replacement_prepared"].clone();
    let mut steps = vec![
        click("nav-settings"),
        click("backup-create"),
        wait_for("backup-created"),
        json!({"do": "evaluate", "script":
            "document.querySelector('[data-testid=backup-created] code').textContent"}),
    ];
    steps.extend(check_screen("backup-created"));
    let report = take_steps(&desktop, steps);
    let file = report.values()[0].as_str().expect("the shown path");
    assert!(Path::new(file).is_file(), "{file} exists");

    let mut steps = vec![
        click("nav-settings"),
        fill("backup-file", file),
        click("backup-restore"),
        wait_for("confirm-dialog"),
    ];
    steps.extend(check_screen("restore-confirmation"));
    steps.extend([
        click("confirm"),
        wait_until_gone("confirm-dialog"),
        wait_for("replacement-prepared"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(is_prepared(), true);

    let mut steps = vec![
        click("nav-settings"),
        click("replacement-cancel"),
        wait_until_gone("replacement-prepared"),
        click("backup-reset"),
        click("reset-part-rules"),
        click("confirm"),
        wait_for("confirm-dialog dialog-error"),
    ];
    steps.extend(check_screen("reset-without-word"));
    take_steps(&desktop, steps);
    assert_eq!(is_prepared(), false, "the word was not typed");

    take_steps(
        &desktop,
        vec![
            click("nav-settings"),
            click("backup-reset"),
            click("reset-part-rules"),
            fill("reset-word", "reset"),
            click("confirm"),
            wait_until_gone("confirm-dialog"),
            wait_for("replacement-prepared"),
        ],
    );
    assert_eq!(is_prepared(), true);
}
