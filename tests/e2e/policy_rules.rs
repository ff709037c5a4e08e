//! The form of a rule on the Policy screen in a browser: a rule with conditions, a limit and a
//! treatment of its results, rules and defaults for requests other than calls, the export of all
//! rules, and the import from a file. The hub, its server and its clients are real.

use std::fs;

use drawbridge_tests::{DesktopSession, Hub, McpClient, paths};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, choose_file, click, expect_failed_verb, fill, open_route, press_key, select,
    take_steps, wait_for, wait_for_text, wait_for_value, wait_until_enabled, wait_until_gone,
};

/// A value that looks like a secret.
const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

/// Returns the rules.
fn list_rules(hub: &Hub<'_>) -> Vec<Value> {
    let policy = hub.run_verb("policy.list", &json!({}));
    policy["rules"].as_array().expect("a list of rules").clone()
}

/// Returns the steps that open the form of a new rule of the probe server.
fn open_form() -> [Value; 3] {
    [
        click("nav-policy"),
        click("rule-add"),
        select("rule-server", "probe"),
    ]
}

#[test]
fn a_rule_with_conditions_and_a_number_of_calls_is_added_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    let client = hub.connect_client("claude-code");
    let other_client = hub.connect_client("cursor");
    hub.set_policy("probe/echo", "allow");
    for arguments in [r#"{"n":3}"#, r#"{"n":30}"#] {
        assert!(!client.call("probe__echo", arguments).is_error());
    }
    desktop
        .cli(&["policy", "remove", "probe/echo"])
        .expect_success();
    desktop.cli(&["policy", "default", "deny"]).expect_success();

    let mut steps = open_form().to_vec();
    steps.extend([
        select("rule-client", "claude-code"),
        select("rule-tool", "echo"),
        select("rule-effect", "allow"),
        click("condition-add"),
        fill("condition-pointer", "/n"),
        select("condition-kind", "between"),
        fill("condition-value", "5"),
        fill("condition-maximum", "1"),
        select("rule-lifetime", "calls"),
        fill("rule-calls", "0"),
        click("rule-save"),
        wait_for("condition-value[aria-invalid=true]"),
    ]);
    steps.extend(check_screen("rule-conditions-invalid"));
    steps.extend([
        fill("condition-value", "1"),
        fill("condition-maximum", "5"),
        fill("rule-calls", "2"),
        select("rule-result", "mask"),
        wait_for_text("dry-run-matched", "1 of 2 past calls"),
        click("condition-add"),
        wait_for("condition:nth-child(2)"),
        click("condition:nth-child(2) [aria-label^=Remove]"),
        wait_until_gone("condition:nth-child(2)"),
    ]);
    steps.extend(check_screen("rule-conditions"));
    steps.extend([
        click("rule-save"),
        wait_until_gone("rule-dialog"),
        wait_for_text("rule-row[data-effect=allow]", "/n"),
    ]);
    take_steps(&desktop, steps);
    assert!(client.call("probe__echo", r#"{"n":30}"#).is_error());
    assert!(other_client.call("probe__echo", r#"{"n":3}"#).is_error());
    let arguments = json!({"n": 3, "key": SECRET}).to_string();
    let answer = client.call("probe__echo", &arguments);
    assert!(
        !answer.is_error() && !answer.raw.contains(SECRET),
        "the result is masked: {}",
        answer.raw
    );
    assert!(!client.call("probe__echo", r#"{"n":4}"#).is_error());
    assert!(
        client.call("probe__echo", r#"{"n":4}"#).is_error(),
        "the rule allowed two calls"
    );
}

/// Returns the steps that add a rule for prompts and a rule for read-only tools, change a default,
/// sort the rules, and export them.
fn add_and_export_rules() -> Vec<Value> {
    let save = [click("rule-save"), wait_until_gone("rule-dialog")];
    let mut steps = open_form().to_vec();
    steps.extend([
        select("rule-covers", "prompts"),
        select("rule-user", "default"),
        select("rule-effect", "deny"),
        select("rule-lifetime", "until"),
        fill("rule-minutes", "30"),
    ]);
    steps.extend(check_screen("rule-for-prompts"));
    steps.extend(save.clone());
    steps.extend([
        wait_for_text("rule-kind", "Prompts"),
        wait_for_text("rule-row", "min left"),
    ]);
    steps.extend(open_form());
    steps.extend([click("rule-read-only"), select("rule-effect", "allow")]);
    steps.extend(save);
    steps.extend([
        wait_for_text("rule-row[data-effect=allow]", "read-only"),
        select("default-resources", "deny"),
        wait_for("default-resources:enabled"),
        fill("rules-search", "nothing like this"),
        wait_for("rules-none-found"),
        fill("rules-search", ""),
        wait_for_text("rule-row", "deny prompts"),
        select("rules-sort", "newest"),
        wait_for_text("rule-row", "read-only"),
    ]);
    steps.extend(check_screen("rules-sorted"));
    steps.extend([
        click("rules-export"),
        wait_for_text("export-text", "prompts"),
        json!({"do": "download", "part": "export-download"}),
        press_key("Escape"),
        wait_until_gone("export-dialog"),
    ]);
    steps
}

#[test]
fn rules_for_other_requests_are_added_exported_and_imported_from_a_file_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    // With this option, the probe also has a prompt and resources.
    hub.add_probe(&["--guarded"]);
    let client = hub.connect_client("claude-code");
    let report = take_steps(&desktop, add_and_export_rules());
    for (method, params) in [
        ("prompts/get", r#"{"name":"probe__greet"}"#),
        ("resources/read", r#"{"uri":"probe://a"}"#),
    ] {
        let answer = client.request(method, params);
        assert!(
            answer.raw.contains("The policy denied this request"),
            "{method}: {}",
            answer.raw
        );
    }

    let exported = report.values()[0].as_str().expect("the saved file");
    let file = paths::path_text(desktop.file("rules.json"));
    fs::write(&file, exported).expect("write the file");
    for rule in list_rules(&hub) {
        hub.run_verb("policy.delete_rule", &json!({"id": rule["id"]}));
    }
    let mut steps = vec![
        click("nav-policy"),
        wait_until_gone("rule-row"),
        click("rules-import"),
        fill("import-text", "{"),
        click("import-submit"),
        wait_for_text("dialog-error", "not a valid policy file"),
        expect_failed_verb("policy.import"),
    ];
    steps.extend(check_screen("rules-import-refused"));
    steps.extend([
        choose_file("import-file", &file),
        wait_for_value("import-text", "prompts"),
        click("import-submit"),
        wait_until_gone("import-dialog"),
        wait_for("rule-row[data-effect=allow]"),
        wait_for("rule-row[data-effect=deny]"),
    ]);
    take_steps(&desktop, steps);
    let rules = list_rules(&hub);
    assert_eq!(rules.len(), 2, "{rules:?}");
    assert!(
        rules.iter().any(|rule| rule["kind"] == "prompts"
            && rule["user"] == "default"
            && rule["effect"] == "deny"),
        "{rules:?}"
    );
}

#[test]
fn the_defaults_for_requests_other_than_calls_are_changed_in_a_browser() {
    const KINDS: [&str; 4] = ["prompts", "sampling", "elicitation", "roots"];
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    // With this option, the probe also has a prompt, and a tool `ask` that sends a request to its
    // client.
    hub.add_probe(&["--guarded"]);
    hub.set_policy("probe", "allow");
    let capabilities = json!({"sampling": {}, "elicitation": {}, "roots": {}});
    let client = McpClient::connect_with(&hub.url, &hub.add_client("claude-code"), &capabilities);
    let mut steps = vec![click("nav-policy")];
    for kind in KINDS {
        let default = format!("default-{kind}");
        steps.extend([select(&default, "deny"), wait_until_enabled(&default)]);
    }
    steps.push(open_route("#/policy"));
    steps.extend(KINDS.map(|kind| wait_for_value(&format!("default-{kind}"), "deny")));
    take_steps(&desktop, steps);

    let shown = desktop.cli(&["policy", "list"]).expect_success().stdout();
    for kind in KINDS {
        assert!(shown.contains(&format!("{kind} deny")), "{shown}");
    }
    let denied = "The policy denied this request (default policy";
    let prompt = client.request("prompts/get", r#"{"name":"probe__greet"}"#);
    assert!(prompt.raw.contains(denied), "{}", prompt.raw);
    let message = json!({"role": "user", "content": {"type": "text", "text": "Hello"}});
    for (method, params) in [
        (
            "sampling/createMessage",
            json!({"messages": [message], "maxTokens": 5}),
        ),
        (
            "elicitation/create",
            json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}),
        ),
        ("roots/list", json!({})),
    ] {
        let arguments = json!({"method": method, "params": params});
        let answer = client.call("probe__ask", &arguments.to_string());
        assert!(answer.text().contains(denied), "{method}: {}", answer.raw);
    }
}
