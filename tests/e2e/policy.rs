//! The Policy screen in a browser: a person adds, edits, disables and deletes rules, changes a
//! default, applies presets, imports rules and adds a suggested rule. The hub, its servers and its
//! client are real.

use drawbridge_tests::{DesktopSession, Hub, paths};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, count, fill, open_route, press_key, select, take_steps, wait_for,
    wait_for_text, wait_for_value, wait_until_gone,
};

/// Returns the defaults and the rules.
fn list_policy(hub: &Hub<'_>) -> Value {
    hub.run_verb("policy.list", &json!({}))
}

/// Returns the rules.
fn list_rules(hub: &Hub<'_>) -> Vec<Value> {
    let policy = list_policy(hub);
    policy["rules"].as_array().expect("a list of rules").clone()
}

/// Starts a hub with the probe server, whose calls a person has to approve.
fn start_hub(desktop: &DesktopSession) -> Hub<'_> {
    let hub = Hub::serve(desktop);
    hub.add_probe(&[]);
    hub
}

#[test]
fn a_rule_is_added_edited_disabled_and_deleted_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let client = hub.connect_client("claude-code");

    let mut steps = vec![
        click("nav-policy"),
        click("rule-add"),
        select("rule-server", "probe"),
        select("rule-tool", "echo"),
        click("rule-save"),
        wait_for_text("rule-dialog", "Choose an effect on the call"),
    ];
    steps.extend(check_screen("rule-form-without-effect"));
    steps.extend([
        select("rule-effect", "deny"),
        fill("rule-note", "no echo today"),
        click("rule-save"),
        wait_until_gone("rule-dialog"),
        wait_for_text("rule-row[data-effect=deny]", "no echo today"),
    ]);
    take_steps(&desktop, steps);
    let rules = list_rules(&hub);
    assert_eq!(rules.len(), 1, "{rules:?}");
    assert_eq!(
        (&rules[0]["server"], &rules[0]["tool"], &rules[0]["effect"]),
        (&json!("probe"), &json!("echo"), &json!("deny"))
    );
    assert!(
        client.call("probe__echo", "{}").is_error(),
        "the new rule denies the call"
    );

    take_steps(
        &desktop,
        vec![
            click("nav-policy"),
            click("rule-edit"),
            wait_for("rule-dialog"),
            select("rule-effect", "allow"),
            fill("rule-note", "echo is harmless"),
            click("rule-save"),
            wait_until_gone("rule-dialog"),
            wait_for_text("rule-row[data-effect=allow]", "echo is harmless"),
        ],
    );
    assert_eq!(list_rules(&hub).len(), 1, "the rule was replaced");
    assert!(
        !client.call("probe__echo", "{}").is_error(),
        "the edited rule allows the call"
    );

    take_steps(
        &desktop,
        vec![
            click("nav-policy"),
            click("rule-enabled"),
            wait_for_text("rule-row", "Off: this rule matches nothing"),
        ],
    );
    assert_eq!(list_rules(&hub)[0]["disabled"], true);

    take_steps(
        &desktop,
        vec![
            click("nav-policy"),
            click("rule-enabled"),
            wait_for("rule-row rule-enabled:checked"),
            click("rule-delete"),
            wait_until_gone("rule-row"),
            click("removal-undo"),
            wait_for_text("rule-row", "echo is harmless"),
            wait_until_gone("removal-pending"),
        ],
    );
    let rules = list_rules(&hub);
    assert_eq!(rules.len(), 1, "the deletion was undone: {rules:?}");
    assert_eq!(rules[0]["disabled"], false);

    take_steps(
        &desktop,
        vec![
            click("nav-policy"),
            click("rule-delete"),
            click("removal-now"),
            wait_until_gone("removal-pending"),
            wait_until_gone("rule-row"),
        ],
    );
    assert!(list_rules(&hub).is_empty(), "the rule is deleted");
}

#[test]
fn allowing_all_calls_needs_a_second_confirmation_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let client = hub.connect_client("claude-code");
    let open_form = [
        click("nav-policy"),
        click("rule-add"),
        select("rule-effect", "allow"),
        click("rule-save"),
        wait_for_text(
            "rule-warnings",
            "all tools of all servers run without asking",
        ),
        wait_for_text("rule-save", "Save rule anyway"),
    ];

    let mut steps = open_form.to_vec();
    steps.extend(check_screen("rule-allows-all"));
    steps.extend([
        // The form has changes, so closing it asks first.
        press_key("Escape"),
        wait_for("confirm-dialog"),
        click("confirm"),
        wait_until_gone("rule-dialog"),
        select("default-tools", "allow"),
        wait_for("confirm-dialog"),
        press_key("Escape"),
        wait_until_gone("confirm-dialog"),
    ]);
    take_steps(&desktop, steps);
    assert!(list_rules(&hub).is_empty(), "nothing was confirmed");
    assert_eq!(list_policy(&hub)["defaults"]["tools"], "ask");

    let mut steps = open_form.to_vec();
    steps.extend([
        click("rule-save"),
        wait_until_gone("rule-dialog"),
        wait_for("rule-row[data-effect=allow]"),
        select("default-tools", "allow"),
        wait_for("confirm-dialog"),
        click("confirm"),
        wait_until_gone("confirm-dialog"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(list_rules(&hub).len(), 1);
    assert_eq!(list_policy(&hub)["defaults"]["tools"], "allow");
    assert!(!client.call("probe__echo", "{}").is_error());
}

#[test]
fn a_preset_is_applied_after_a_confirmation_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    hub.set_policy("probe", "allow");
    let choose_preset = [
        click("nav-policy"),
        click("preset-ask_writes"),
        click("preset-server[value=probe]"),
        click("preset-apply"),
        wait_for_text("confirm-dialog", "probe"),
    ];

    let mut steps = choose_preset.to_vec();
    steps.extend(check_screen("preset-confirmation"));
    steps.extend([press_key("Escape"), wait_until_gone("confirm-dialog")]);
    take_steps(&desktop, steps);
    assert_eq!(list_rules(&hub)[0]["read_only"], false, "nothing changed");

    let mut steps = choose_preset.to_vec();
    steps.extend([
        click("confirm"),
        wait_until_gone("confirm-dialog"),
        wait_for_text("rule-row[data-effect=allow]", "read-only"),
        count("rule-row"),
    ]);
    let report = take_steps(&desktop, steps);
    assert_eq!(
        report.0["counts"],
        json!([1]),
        "the rule for the whole server was replaced"
    );
    let rules = list_rules(&hub);
    assert_eq!(rules.len(), 1, "{rules:?}");
    assert_eq!(
        (&rules[0]["server"], &rules[0]["read_only"]),
        (&json!("probe"), &json!(true))
    );
}

/// Returns the steps that apply the chosen preset.
fn confirm_preset() -> [Value; 3] {
    [
        click("preset-apply"),
        click("confirm"),
        wait_until_gone("confirm-dialog"),
    ]
}

#[test]
fn presets_that_ask_about_one_server_and_then_about_all_are_applied_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    hub.add_server("second", &[], &[&program]);
    hub.wait_until_synced("second");
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("claude-code");
    let assert_asks = |tool: &str| {
        let call = client.spawn_call(tool, "{}");
        let approval = hub.wait_for_approval();
        let id = approval["id"].as_str().expect("an id");
        desktop.cli(&["approvals", "deny", id]).expect_success();
        assert!(call.join().expect("the call ends").is_error(), "{tool}");
    };

    let mut steps = vec![
        click("nav-policy"),
        click("preset-ask_listed"),
        wait_for("preset-apply:disabled"),
        click("preset-server[value=probe]"),
    ];
    steps.extend(check_screen("preset-ask-listed"));
    steps.extend(confirm_preset());
    steps.extend([
        open_route("#/policy"),
        wait_for_value("default-tools", "allow"),
        wait_for_text("rule-row[data-effect=ask]", "probe"),
        count("rule-row"),
    ]);
    let report = take_steps(&desktop, steps);
    assert_eq!(report.0["counts"], json!([1]), "one rule is left");
    assert!(!client.call("second__echo", "{}").is_error());
    assert_asks("probe__echo");

    let mut steps = vec![click("nav-policy"), click("preset-ask_all")];
    steps.extend(confirm_preset());
    steps.extend([
        open_route("#/policy"),
        wait_for_value("default-tools", "ask"),
        count("rule-row"),
    ]);
    let report = take_steps(&desktop, steps);
    assert_eq!(report.0["counts"], json!([0]), "no rule is left");
    assert_asks("second__echo");
}

#[test]
fn exported_rules_are_imported_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    hub.set_policy("probe/now", "deny");
    let exported = desktop.cli(&["policy", "export"]).expect_success().stdout();
    desktop
        .cli(&["policy", "remove", "probe/now"])
        .expect_success();
    hub.set_policy("probe/echo", "allow");

    let mut steps = vec![
        click("nav-policy"),
        click("rules-import"),
        wait_for("import-submit[aria-disabled=true]"),
    ];
    steps.extend(check_screen("import-rules"));
    steps.extend([
        fill("import-text", &exported),
        click("import-replace"),
        // Adding rules replaces none, so no confirmation is needed.
        click("import-add"),
        click("import-submit"),
        wait_until_gone("import-dialog"),
        wait_for("rule-row[data-effect=deny]"),
        wait_for("rule-row[data-effect=allow]"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(list_rules(&hub).len(), 2, "the rule was added");

    take_steps(
        &desktop,
        vec![
            click("nav-policy"),
            click("rules-import"),
            fill("import-text", &exported),
            click("import-replace"),
            click("import-submit"),
            wait_for_text("import-confirm", "2 current rules"),
            click("import-submit"),
            wait_until_gone("import-dialog"),
            wait_until_gone("rule-row[data-effect=allow]"),
            wait_for("rule-row[data-effect=deny]"),
        ],
    );
    let rules = list_rules(&hub);
    assert_eq!(rules.len(), 1, "the rules were replaced: {rules:?}");
    assert_eq!(rules[0]["tool"], "now");
}

#[test]
fn a_suggested_rule_is_added_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let client = hub.connect_client("claude-code");
    for number in 0..4 {
        let arguments = json!({"path": format!("/home/me/notes/{number}.md"), "mode": "r"});
        let call = client.spawn_call("probe__echo", &arguments.to_string());
        let approval = hub.wait_for_approval();
        let id = approval["id"].as_str().expect("an id");
        desktop.cli(&["approvals", "approve", id]).expect_success();
        assert!(!call.join().expect("the call ends").is_error());
    }
    let mut steps = vec![
        click("nav-policy"),
        wait_for_text("suggestion", "/path is in /home/me/notes"),
    ];
    steps.extend(check_screen("suggested-rule"));
    steps.extend([
        // A dismissed suggestion comes back when the page is loaded again.
        click("suggestion-dismiss"),
        wait_until_gone("suggestion"),
        open_route("#/policy"),
        click("suggestion-add"),
        wait_for_text("rule-row[data-effect=allow]", "/path is in /home/me/notes"),
        wait_until_gone("suggestion"),
    ]);
    take_steps(&desktop, steps);
    let arguments = json!({"path": "/home/me/notes/5.md", "mode": "r"});
    assert!(
        !client
            .call("probe__echo", &arguments.to_string())
            .is_error(),
        "the suggested rule allows the call without asking"
    );
}
