//! Headless use: set up from the shell, used by real clients, with decisions from the shell or in a
//! browser. Also cancelling a call, calls by hand and the login link, in a browser.

use drawbridge_tests::{
    DesktopSession, Hub, browser,
    clients::{Client, Endpoint, Sdk},
};
use serde_json::json;

use crate::{app, steps::create_login_link};

/// Starts a hub with the server `everything`, and adds a client.
fn start_hub(desktop: &DesktopSession) -> (Hub<'_>, Endpoint) {
    let token = app::provision(desktop, "everything", &app::everything_command());
    let hub = Hub::serve(desktop);
    let endpoint = Endpoint {
        url: hub.url.clone(),
        token,
    };
    (hub, endpoint)
}

#[test]
fn calls_of_both_sdks_are_decided_on_the_command_line() {
    let desktop = DesktopSession::without_screen();
    let (hub, endpoint) = start_hub(&desktop);
    for sdk in [Sdk::Python, Sdk::TypeScript] {
        let tools = Client::list_tools(&desktop, sdk, &endpoint);
        assert!(
            tools.contains(&"everything__get-sum".to_owned()),
            "{sdk:?} lists {tools:?}"
        );
        let call = Client::begin_call(
            &desktop,
            sdk,
            &endpoint,
            "everything__get-sum",
            &json!({"a": 2, "b": 40}),
        );
        let approval = hub.wait_for_approval();
        assert_eq!(
            (&approval["client"], &approval["tool"]),
            (&json!("typescript"), &json!("get-sum"))
        );
        desktop
            .cli(&[
                "approvals",
                "approve",
                approval["id"].as_str().expect("an id"),
            ])
            .expect_success();
        let result = call.wait_for_result();
        assert!(
            !result.is_error && result.text.contains("42"),
            "{sdk:?} gets {result:?}"
        );

        let call = Client::begin_call(
            &desktop,
            sdk,
            &endpoint,
            "everything__get-sum",
            &json!({"a": 1, "b": 1}),
        );
        let approval = hub.wait_for_approval();
        let id = approval["id"].as_str().expect("an id");
        desktop
            .cli(&["approvals", "deny", id, "--reason", "not today"])
            .expect_success();
        let result = call.wait_for_result();
        assert!(
            result.is_error && result.text.contains("not today"),
            "{sdk:?} gets {result:?}"
        );
    }
}

#[test]
fn a_call_is_approved_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let (_hub, endpoint) = start_hub(&desktop);
    desktop
        .cli(&["servers", "sync", "everything"])
        .expect_success();
    let call = Client::begin_call(
        &desktop,
        Sdk::Python,
        &endpoint,
        "everything__echo",
        &json!({"message": "from afar"}),
    );
    let steps = json!([
        {"do": "log_in"},
        {"do": "click", "part": "nav-approvals"},
        {"do": "wait_for_text", "part": "approval-card", "text": "from afar"},
        {"do": "take_screenshot", "name": "browser-approval"},
        {"do": "click", "part": "approve-once"},
        {"do": "wait_until_gone", "part": "approval-card"},
        {"do": "click", "part": "nav-calls"},
        {"do": "wait_for", "part": "call-row[data-decision=allowed]"},
    ]);
    browser::take_steps(&desktop, &create_login_link(&desktop), &steps).assert_no_problems();
    assert_eq!(call.wait_for_result().text, "Echo: from afar");
}

#[test]
fn a_long_call_is_cancelled_in_a_browser_and_counted_in_the_charts() {
    let desktop = DesktopSession::without_screen();
    let (_hub, endpoint) = start_hub(&desktop);
    desktop
        .cli(&["policy", "set", "everything", "allow"])
        .expect_success();
    let call = Client::begin_call(
        &desktop,
        Sdk::TypeScript,
        &endpoint,
        "everything__trigger-long-running-operation",
        &json!({"duration": 50, "steps": 100}),
    );
    let steps = json!([
        {"do": "log_in"},
        {"do": "click", "part": "nav-calls"},
        {"do": "wait_for", "part": "running-call"},
        {"do": "take_screenshot", "name": "running-call"},
        {"do": "check_accessibility", "where": "a running call"},
        {"do": "click", "part": "call-cancel"},
        {"do": "wait_until_gone", "part": "running-call"},
        {"do": "wait_for", "part": "call-row[data-outcome=cancelled]"},
        {"do": "click", "part": "calls-tab-charts"},
        {"do": "wait_for", "part": "stats-group"},
        {"do": "take_screenshot", "name": "charts"},
        {"do": "check_accessibility", "where": "the charts"},
    ]);
    browser::take_steps(&desktop, &create_login_link(&desktop), &steps).assert_no_problems();
    let result = call.wait_for_result();
    assert!(
        result.is_error && result.text.contains("The user cancelled this call"),
        "{result:?}"
    );
}

#[test]
fn a_person_calls_a_tool_and_gets_a_prompt_on_the_page_of_its_server() {
    let desktop = DesktopSession::without_screen();
    let (_hub, _) = start_hub(&desktop);
    desktop
        .cli(&["servers", "sync", "everything"])
        .expect_success();
    let steps = json!([
        {"do": "log_in"},
        {"do": "click", "part": "nav-servers"},
        {"do": "fill", "part": "server-search", "text": "echo"},
        {"do": "click", "part": "found-tool"},
        {"do": "wait_for", "part": "tool-row[data-tool=echo] tool-call"},
        {"do": "select", "part": "server-policy", "value": "allow"},
        {"do": "wait_for_text", "part": "server-rule", "text": "allow"},
        {"do": "click", "part": "tool-row[data-tool=echo] tool-call"},
        {"do": "focus", "part": "tool-row[data-tool=echo] call-form call-send"},
        {"do": "click", "part": "tool-row[data-tool=echo] call-switch"},
        {"do": "fill", "part": "tool-row[data-tool=echo] call-json", "text": "{\"message\": \"by hand\"}"},
        {"do": "click", "part": "tool-row[data-tool=echo] call-send"},
        {"do": "wait_for_text", "part": "call-result", "text": "Echo: by hand"},
        {"do": "take_screenshot", "name": "server-call"},
        {"do": "check_accessibility", "where": "a call by hand"},
        {"do": "check_layout", "where": "a call by hand"},
        {"do": "click", "part": "server-tab-prompts"},
        {"do": "click", "part": "capability-row[data-name=simple-prompt] capability-toggle"},
        {"do": "click", "part": "capability-row[data-name=simple-prompt] call-send"},
        {"do": "wait_for", "part": "capability-row[data-name=simple-prompt] call-result"},
        {"do": "click", "part": "server-tab-checks"},
        {"do": "wait_for", "part": "preflight-check[data-topic=program][data-status=ok]"},
        {"do": "check_accessibility", "where": "the preflight check"},
        {"do": "click", "part": "server-tab-spec"},
        {"do": "fill", "part": "spec-text", "text": "{\n  \"command\" 1\n}"},
        {"do": "wait_for_text", "part": "spec-fault", "text": "Line 2"},
        {"do": "check_accessibility", "where": "the spec as JSON"},
    ]);
    browser::take_steps(&desktop, &create_login_link(&desktop), &steps).assert_no_problems();
}

#[test]
fn a_login_link_works_once() {
    let desktop = DesktopSession::without_screen();
    let (_hub, _) = start_hub(&desktop);
    let link = create_login_link(&desktop);
    browser::take_steps(
        &desktop,
        &link,
        &json!([{"do": "log_in"}, {"do": "wait_for", "part": "nav-servers"}]),
    )
    .assert_no_problems();
    // The second browser does not have the storage of the first browser.
    std::fs::remove_dir_all(desktop.file("chromium")).expect("remove the first browser's profile");
    let steps = json!([{"do": "log_in"}, {"do": "wait_for", "part": "sign-in-code"}, {"do": "count", "part": "nav-servers"}]);
    let report = browser::take_steps(&desktop, &link, &steps);
    assert_eq!(
        report.0["counts"],
        json!([0]),
        "a login link works only once"
    );
}
