//! The Hooks screen in a real browser, on a real hub: hooks are added, tried, ordered, run by
//! calls and by connections of servers, shown with their failures, edited, and removed.

use std::fs;

use drawbridge_tests::{
    DesktopSession, Hub, browser, mcp::join_text_blocks, paths, wait::some_if, wait_until,
};
use serde_json::{Value, json};

use crate::steps::{
    self, check_screen, click, create_login_link, expect_failed_verb, fill, open_route, select,
    take_steps, wait_for, wait_for_any_text, wait_for_text, wait_for_value, wait_until_gone,
};

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

/// Returns the steps that first try to save an incomplete form, and then add a hook that runs
/// `command` after each call of the probe server's tool `echo`.
fn add_observer(command: &str) -> Vec<Value> {
    let mut steps = vec![
        click("nav-hooks"),
        click("hook-new"),
        click("hook-save"),
        wait_for("hook-name[aria-invalid=true]"),
        wait_for("hook-command[aria-invalid=true]"),
    ];
    steps.extend(check_screen("hook-form-invalid"));
    steps.extend([
        fill("hook-name", "recorder"),
        fill("hook-command", command),
        // `!` marks a variable whose value is stored as a secret.
        fill("hook-parts", "!KEY=not a secret"),
        select("hook-server", "probe"),
        fill("hook-tool", "echo"),
        fill("hook-timeout", "soon"),
        click("hook-with-result"),
        click("hook-save"),
        wait_for("hook-timeout[aria-invalid=true]"),
        fill("hook-timeout", "20000"),
        click("hook-save"),
        wait_until_gone("hook-dialog"),
        wait_for("hook-row[data-hook=recorder]"),
    ]);
    steps
}

/// Returns the steps that try and add a webhook with a URL at which nothing listens, and make it
/// the first hook.
fn add_webhook() -> Vec<Value> {
    let mut steps = vec![
        click("hook-new"),
        fill("hook-name", "gate"),
        click("hook-event-tool_requested"),
        click("hook-event-server_connected"),
        click("hook-webhook"),
        fill("hook-url", "http://127.0.0.1:9/hook"),
        fill("hook-parts", "X-Team=north"),
        click("hook-blocking"),
        select("hook-on-failure", "deny"),
        click("hook-save"),
        wait_for_text("hook-dialog", "never waits for a hook on events of servers"),
        click("hook-event-server_connected"),
        click("hook-trial"),
        select("hook-trial-event", "tool_requested"),
        fill("hook-trial-payload", "{"),
        click("hook-trial-run"),
        wait_for_text("hook-trial-error", "payload"),
        expect_failed_verb("hooks.try"),
        fill("hook-trial-payload", "{}"),
        click("hook-trial-run"),
        wait_for_text("hook-trial-outcome", "Failed"),
    ];
    steps.extend(check_screen("hook-trial-failed"));
    steps.extend([
        click("hook-save"),
        wait_until_gone("hook-dialog"),
        wait_for("hook-row[data-hook=recorder] hook-up[aria-disabled=true]"),
        click("hook-row[data-hook=gate] hook-up"),
        wait_for("hook-row[data-hook=gate] hook-up[aria-disabled=true]"),
        click("hook-row[data-hook=gate] hook-down"),
        wait_for("hook-row[data-hook=gate] hook-down[aria-disabled=true]"),
        click("hook-row[data-hook=gate] hook-up"),
        wait_for("hook-row[data-hook=gate] hook-up[aria-disabled=true]"),
    ]);
    steps.extend(check_screen("hooks-ordered"));
    steps
}

#[test]
fn hooks_are_ordered_edited_and_their_removal_undone_on_the_screen() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("claude-code");
    let record = desktop.file("record-of-hook");
    let list_names = || {
        let hooks = hub.run_verb("hooks.list", &json!({}));
        let hooks = hooks.as_array().expect("a list of hooks").clone();
        hooks
            .iter()
            .map(|hook| hook["name"].clone())
            .collect::<Vec<_>>()
    };

    let command = format!(
        "sh -c 'cat >> {0}; echo \"key: $KEY\" >> {0}'",
        paths::path_text(&record)
    );
    let mut steps = add_observer(&command);
    steps.extend(add_webhook());
    take_steps(&desktop, steps);
    assert_eq!(list_names(), ["gate", "recorder"]);
    let denied = client.call("probe__echo", r#"{"n":1}"#);
    assert!(
        denied.text().contains("the hook 'gate' failed"),
        "{}",
        denied.raw
    );

    let mut steps = vec![
        click("nav-hooks"),
        wait_for("hook-row[data-hook=gate] hook-failures"),
    ];
    steps.extend(check_screen("hook-failures"));
    steps.extend([
        click("hook-row[data-hook=gate] hook-edit"),
        wait_for_value("hook-url", "http://127.0.0.1:9/hook"),
        select("hook-on-failure", "allow"),
        click("hook-save"),
        wait_until_gone("hook-dialog"),
        click("hook-row[data-hook=gate] hook-remove"),
        wait_until_gone("hook-row[data-hook=gate]"),
        click("removal-undo"),
        wait_for("hook-row[data-hook=gate]"),
        wait_until_gone("removal-pending"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(list_names(), ["gate", "recorder"], "the removal was undone");
    let answer = client.call("probe__echo", r#"{"n":2}"#);
    assert_eq!(
        answer.text(),
        r#"{"n":2}"#,
        "the failed hook changes nothing"
    );
    wait_until("the other hook has run", || {
        let text = fs::read_to_string(&record).unwrap_or_default();
        some_if(text.contains("mcp_result") && text.contains("key: not a secret"))
    });
}

#[test]
fn a_hook_on_the_connections_of_servers_is_added_and_its_runs_are_listed_on_the_screen() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    let record = desktop.file("record-of-hook");
    take_steps(
        &desktop,
        vec![
            click("nav-hooks"),
            click("hook-new"),
            fill("hook-name", "watch"),
            // A new hook has this event, so the click removes the event.
            click("hook-event-tool_executed"),
            click("hook-event-server_connected"),
            click("hook-event-server_disconnected"),
            fill(
                "hook-command",
                &format!("sh -c 'cat >> {}'", paths::path_text(&record)),
            ),
            click("hook-save"),
            wait_until_gone("hook-dialog"),
            open_route("#/hooks"),
            wait_for_text("hook-row[data-hook=watch]", "Server disconnected"),
            click("hook-edit"),
            wait_for("hook-event-server_connected:checked"),
            wait_for("hook-event-server_disconnected:checked"),
            wait_for("hook-event-tool_executed:not(:checked)"),
        ],
    );
    desktop
        .cli(&["servers", "restart", "probe"])
        .expect_success();
    wait_until("the hook has run for both events", || {
        let text = fs::read_to_string(&record).unwrap_or_default();
        some_if(
            text.contains(r#""event":"server_disconnected""#)
                && text.contains(r#""event":"server_connected""#),
        )
    });
    let mut steps = vec![
        click("nav-hooks"),
        click("hook-log"),
        wait_for_any_text("hook-run", "Server disconnected"),
        wait_for_any_text("hook-run", "Server connected"),
    ];
    steps.extend(check_screen("hook-runs-of-connections"));
    take_steps(&desktop, steps);
}
