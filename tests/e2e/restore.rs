//! A prepared restore and a prepared reset take effect when the hub starts again: the screens in a
//! real browser show the restored data, and no deleted data.

use drawbridge_tests::{DesktopSession, Hub, paths};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::steps::{
    check_screen, click, count, evaluate, fill, select, take_steps, wait_for, wait_for_text,
    wait_for_value, wait_until_gone,
};

/// Starts a session whose hub has the memory server.
fn start_session() -> DesktopSession {
    let mut desktop = DesktopSession::without_screen();
    desktop.set_variable("DRAWBRIDGE_DISABLED_BUILT_INS", "");
    desktop
}

/// Starts a hub with a server, a rule, a client with a call, and an entry of the memory.
fn start_hub(desktop: &DesktopSession) -> Hub<'_> {
    let hub = Hub::serve(desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    hub.connect_client("claude-code").call("probe__echo", "{}");
    hub.run_verb(
        "memory.add",
        &json!({"content": "Staging restarts on Mondays."}),
    );
    hub
}

/// Stops the hub and starts it again on the same data folder.
fn restart<'a>(hub: Hub<'a>, desktop: &'a DesktopSession) -> Hub<'a> {
    hub.stop(Signal::SIGTERM);
    Hub::serve(desktop)
}

#[test]
fn a_restored_backup_is_shown_on_the_screens_after_a_restart() {
    let desktop = start_session();
    let hub = start_hub(&desktop);
    let report = take_steps(
        &desktop,
        vec![
            click("nav-settings"),
            click("backup-create"),
            wait_for("backup-created"),
            evaluate("document.querySelector('[data-testid=backup-created] code').textContent"),
        ],
    );
    let file = report.values()[0].as_str().expect("the shown path");
    hub.set_policy("probe", "deny");
    hub.add_client("cursor");
    hub.run_verb("memory.add", &json!({"content": "A later fact."}));
    take_steps(
        &desktop,
        vec![
            click("nav-settings"),
            fill("backup-file", file),
            click("backup-restore"),
            click("confirm"),
            wait_until_gone("confirm-dialog"),
            wait_for("replacement-prepared"),
        ],
    );
    let _hub = restart(hub, &desktop);
    let mut steps = vec![
        click("nav-policy"),
        wait_for("rule-row[data-effect=allow]"),
        count("rule-row[data-effect=deny]"),
        click("nav-clients"),
        wait_for_text("client-row", "claude-code"),
        count("client-row"),
        click("nav-memory"),
        wait_for("memory-row[data-id=1]"),
        count("memory-row"),
        click("nav-calls"),
        wait_for_text("calls-count", "1"),
        click("nav-audit"),
        select("audit-kind", "backup_restored"),
        wait_for_text("audit-row", "restored"),
    ];
    steps.extend(check_screen("restored-audit"));
    steps.extend([
        click("nav-settings"),
        wait_for("backup-create"),
        wait_until_gone("replacement-prepared"),
    ]);
    let report = take_steps(&desktop, steps);
    assert_eq!(
        report.0["counts"],
        json!([0, 1, 1]),
        "later rules, clients and entries of the memory are gone"
    );
}

#[test]
fn a_reset_deletes_the_chosen_parts_and_then_everything_after_a_restart() {
    let desktop = start_session();
    let hub = start_hub(&desktop);
    let mut steps = vec![
        click("nav-settings"),
        click("backup-reset"),
        click("reset-part-rules"),
        click("reset-part-memory"),
        fill("reset-word", "reset"),
    ];
    steps.extend(check_screen("reset-of-parts"));
    steps.extend([
        click("confirm"),
        wait_until_gone("confirm-dialog"),
        wait_for("replacement-prepared"),
    ]);
    take_steps(&desktop, steps);
    let hub = restart(hub, &desktop);
    let policy = hub.run_verb("policy.list", &json!({}));
    assert_eq!(policy["rules"], json!([]));
    let mut steps = vec![click("nav-memory"), wait_for("memory-empty")];
    steps.extend(check_screen("memory-after-reset"));
    steps.extend([
        click("nav-clients"),
        wait_for_text("client-row", "claude-code"),
        click("nav-servers"),
        wait_for("server-row[data-server=probe]"),
        click("nav-calls"),
        wait_for_text("calls-count", "1"),
        click("nav-settings"),
        click("backup-reset"),
        click("reset-everything"),
        wait_for("reset-part-rules:checked"),
        fill("reset-word", "RESET"),
        click("confirm"),
        wait_until_gone("confirm-dialog"),
        wait_for("replacement-prepared"),
    ]);
    take_steps(&desktop, steps);
    let _hub = restart(hub, &desktop);
    let mut steps = vec![
        click("nav-servers"),
        wait_for("servers-empty"),
        click("nav-calls"),
        wait_for("calls-empty"),
        click("nav-memory"),
        wait_for("memory-empty"),
        click("nav-clients"),
        wait_for("clients-empty"),
        count("client-row"),
    ];
    steps.extend(check_screen("clients-after-reset"));
    let report = take_steps(&desktop, steps);
    assert_eq!(report.0["counts"], json!([0]), "no client is left");
}

#[test]
fn a_reset_of_all_other_parts_keeps_the_rules_and_the_memory() {
    let desktop = start_session();
    let hub = start_hub(&desktop);
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    hub.add_server("notes", &["--secret", "API_KEY=not in a file"], &[&program]);
    hub.run_verb("settings.change", &json!({"approval_timeout_s": 90}));
    let is_in_keyring = || {
        let items = desktop.keyring().items();
        items.iter().any(|item| item.value == "not in a file")
    };
    assert!(is_in_keyring());
    let mut steps = vec![click("nav-settings"), click("backup-reset")];
    steps.extend(
        ["records", "settings", "clients", "servers", "secrets"]
            .map(|part| click(&format!("reset-part-{part}"))),
    );
    steps.extend([
        wait_for("reset-everything:not(:checked)"),
        fill("reset-word", "reset"),
        click("confirm"),
        wait_until_gone("confirm-dialog"),
        wait_for("replacement-prepared"),
        wait_for_text("secret-row[data-secret=notes.API_KEY]", "Missing"),
    ]);
    take_steps(&desktop, steps);
    assert!(!is_in_keyring(), "secrets are deleted at once");

    let hub = restart(hub, &desktop);
    let mut steps = vec![
        click("nav-servers"),
        wait_for("servers-empty"),
        click("nav-clients"),
        wait_for("clients-empty"),
        click("nav-calls"),
        wait_for("calls-empty"),
        click("nav-memory"),
        wait_for("memory-row[data-id=1]"),
        click("nav-policy"),
        wait_for("rule-row[data-effect=allow]"),
        click("nav-settings"),
        wait_for_value("setting-timeout", "50"),
    ];
    steps.extend(check_screen("settings-after-reset"));
    take_steps(&desktop, steps);
    let policy = hub.run_verb("policy.list", &json!({}));
    assert_eq!(policy["rules"][0]["text"], "allow all tools of probe");
}
