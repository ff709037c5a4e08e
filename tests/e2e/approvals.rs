//! The Approvals screen in a browser: a person decides several calls at once, looks at past
//! decisions, allows a missed call to be retried, and fills in, declines or dismisses a server's
//! form. The hub, its server and its client are real.

use drawbridge_tests::{DesktopSession, Hub, wait::some_if, wait_until};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, count, fill, select, take_steps, wait_for, wait_for_text,
    wait_until_enabled, wait_until_gone,
};

/// Waits until this number of calls is pending.
#[track_caller]
fn wait_for_pending(hub: &Hub<'_>, expected: usize) {
    wait_until(format!("{expected} calls are pending"), || {
        let list = hub.run_verb("approvals.list", &json!({}));
        some_if(list.as_array().map(Vec::len) == Some(expected))
    });
}

#[test]
fn selected_calls_are_denied_and_approved_together_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_approval_timeout(120);
    let client = hub.connect_client("claude-code");
    let mut calls = Vec::new();
    for number in 0..4 {
        calls.push(client.spawn_call("probe__echo", &json!({"n": number}).to_string()));
        // The queue has the order of the calls.
        wait_for_pending(&hub, calls.len());
    }
    calls.push(client.spawn_call("probe__now", "{}"));
    wait_for_pending(&hub, calls.len());

    let mut steps = vec![
        click("nav-approvals"),
        wait_for("queue-row[data-position=5]"),
        click("queue-list :nth-child(1) queue-check"),
        click("queue-list :nth-child(2) queue-check"),
        wait_for_text("batch-list", "1 of 2"),
    ];
    steps.extend(check_screen("two-calls-selected"));
    steps.extend([
        wait_until_enabled("batch-deny"),
        click("batch-deny"),
        fill("deny-reason", "not these"),
        click("deny-confirm"),
        wait_until_gone("queue-row[data-position=4]"),
        wait_for_text("approvals-status", "2 calls denied"),
        click("queue-select-all"),
        wait_for_text("batch-list", "now"),
        wait_until_enabled("batch-approve"),
        click("batch-approve"),
        wait_until_gone("queue-row"),
        wait_for_text("approvals-status", "3 calls approved"),
    ]);
    steps.extend(check_screen("calls-approved"));
    steps.extend([
        click("approvals-tab-decided"),
        wait_for_text("decided", "not these"),
        count("decided-call"),
    ]);
    steps.extend(check_screen("decided-calls"));
    steps.extend([click("decided-call"), wait_for("call-detail")]);
    let report = take_steps(&desktop, steps);
    assert_eq!(report.0["counts"], json!([5]), "all calls were decided");
    for (position, call) in calls.into_iter().enumerate() {
        let answer = call.join().expect("the call ends");
        let was_denied = position < 2;
        assert_eq!(answer.is_error(), was_denied, "{}", answer.raw);
        assert_eq!(answer.text().contains("not these"), was_denied);
    }
}

#[test]
fn a_missed_call_may_be_retried_once_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_approval_timeout(5);
    let client = hub.connect_client("claude-code");
    let arguments = r#"{"n":1}"#;
    let older = client.spawn_call("probe__echo", arguments);
    wait_for_pending(&hub, 1);
    let newer = client.spawn_call("probe__now", "{}");
    for call in [older, newer] {
        let answer = call.join().expect("the call ends");
        assert!(answer.is_error(), "nobody decides: {}", answer.raw);
    }
    let mut steps = vec![
        click("nav-approvals"),
        wait_for_text("nav-missed", "2"),
        click("approvals-tab-missed"),
        // The newest call is listed first.
        wait_for_text("missed-row", "now"),
        wait_for_text("missed-row:last-child", "echo"),
    ];
    steps.extend(check_screen("missed-calls"));
    steps.extend([
        click("missed-row:last-child allow-retry"),
        wait_until_gone("missed-row:nth-child(2)"),
        wait_for_text("missed", "claude-code"),
    ]);
    steps.extend(check_screen("missed-call-allowed"));
    take_steps(&desktop, steps);
    assert_eq!(client.call("probe__echo", arguments).text(), arguments);
    assert!(
        client.call("probe__echo", arguments).is_error(),
        "only one retry is allowed"
    );
}

/// Returns the answer of a person to a form, as the server received it.
fn parse_answer(text: &str) -> Value {
    let answer: Value = serde_json::from_str(text).expect("the message of the client as JSON");
    answer["result"].clone()
}

#[test]
fn a_form_of_a_server_is_filled_in_declined_and_dismissed_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    // With this option, the probe has the tool `ask`, which sends a request to its client.
    hub.add_probe(&["--guarded"]);
    hub.set_policy("probe", "allow");
    hub.set_approval_timeout(120);
    let client = hub.connect_client("claude-code");
    let schema = json!({
        "type": "object", "required": ["name", "age"],
        "properties": {
            "name": {"type": "string", "title": "Name"}, "age": {"type": "integer", "minimum": 18},
            "color": {"type": "string", "enum": ["red", "blue"]}, "news": {"type": "boolean"},
        },
    });
    let params = json!({"message": "Who are you?", "requestedSchema": schema});
    let arguments = json!({"method": "elicitation/create", "params": params}).to_string();
    // Without an open screen, the hub refuses the request at once.
    let _screen = hub.open_screen();

    let call = client.spawn_call("probe__ask", &arguments);
    let mut steps = vec![
        click("nav-approvals"),
        wait_until_enabled("form-submit"),
        click("form-submit"),
        wait_for("form-field-name[aria-invalid=true]"),
        fill("form-field-name", "Ada"),
        fill("form-field-age", "17"),
        click("form-submit"),
        wait_for("form-field-age[aria-invalid=true]"),
    ];
    steps.extend(check_screen("form-invalid"));
    steps.extend([
        fill("form-field-age", "36"),
        select("form-field-color", "blue"),
        click("form-field-news"),
        click("form-submit"),
        wait_until_gone("form-fields"),
    ]);
    take_steps(&desktop, steps);
    let answer = call.join().expect("the call ends");
    assert_eq!(
        parse_answer(&answer.text()),
        json!({"action": "accept",
            "content": {"name": "Ada", "age": 36, "color": "blue", "news": true}})
    );

    for (button, action) in [("form-decline", "decline"), ("form-dismiss", "cancel")] {
        let call = client.spawn_call("probe__ask", &arguments);
        take_steps(
            &desktop,
            vec![
                click("nav-approvals"),
                wait_until_enabled(button),
                click(button),
                wait_until_gone("form-fields"),
            ],
        );
        let answer = call.join().expect("the call ends");
        assert_eq!(parse_answer(&answer.text())["action"], action);
    }
}
