//! The Calls screen in a real browser: filters, sessions, the export, an opened call, and the
//! charts. The hub, its servers and its clients are real.

use drawbridge_tests::{DesktopSession, Hub, McpClient};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, copy, count, download, evaluate, fill, open_route, press_key, select,
    set_size, take_steps, wait_for, wait_for_text, wait_for_value, wait_until_gone,
};

#[test]
fn calls_are_filtered_grouped_by_session_and_exported_as_filtered() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.add_everything();
    hub.set_policy("probe", "allow");
    hub.set_policy("probe/now", "deny");
    let first_client = hub.connect_client("claude-code");
    let second_client = hub.connect_client("cursor");
    for number in 0..3 {
        first_client.call("probe__echo", &json!({"n": number}).to_string());
    }
    second_client.call("everything__echo", r#"{"message": "hi"}"#);
    second_client.call("probe__now", "{}");
    let mut steps = vec![
        click("nav-calls"),
        wait_for_text("calls-count", "5"),
        select("call-filter-client", "cursor"),
        wait_for_text("calls-count", "2"),
        select("call-filter-server", "everything"),
        wait_for_text("calls-count", "1"),
        evaluate("location.hash"),
    ];
    steps.extend(clear_filters());
    steps.extend([
        select("call-filter-decision", "denied"),
        wait_for_text("calls-count", "1"),
        wait_for_text("call-row", "now"),
    ]);
    steps.extend(clear_filters());
    steps.extend([
        select("call-filter-outcome", "ok"),
        wait_for_text("calls-count", "4"),
        fill("call-filter-to", "2020-01-01"),
        wait_for_text("calls-count", "0"),
    ]);
    steps.extend(check_screen("calls-none-found"));
    steps.extend([
        fill("call-filter-to", ""),
        fill("call-filter-from", "2020-01-01"),
        wait_for_text("calls-count", "4"),
    ]);
    steps.extend(clear_filters());
    steps.extend([
        select("call-filter-tool", "now"),
        wait_for_text("calls-count", "1"),
    ]);
    steps.extend(clear_filters());
    steps.extend([click("call-group"), count("call-session")]);
    steps.extend(check_screen("calls-by-session"));
    steps.extend([
        click("call-session-link"),
        wait_for_text("calls-count", "2"),
        wait_until_gone("call-session"),
        download("calls-export-csv"),
    ]);
    let report = take_steps(&desktop, steps);
    assert_eq!(report.0["counts"], json!([2]), "a group for each session");
    assert_eq!(
        report.values()[0],
        "#/calls?client=cursor&server=everything",
        "the address keeps the filters"
    );
    let csv = report.values()[1].as_str().expect("a file");
    let rows: Vec<&str> = csv.lines().skip(1).collect();
    assert!(
        rows.len() == 2 && rows.iter().all(|row| row.contains("cursor")),
        "only the calls of the session: {csv}"
    );
}

/// Returns the steps that remove all filters and wait for all five calls.
fn clear_filters() -> [Value; 2] {
    [
        click("call-filters-clear"),
        wait_for_text("calls-count", "5"),
    ]
}

#[test]
fn an_opened_call_shows_its_result_log_and_audit_entries_and_is_copied() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    hub.run_verb(
        "settings.change",
        &json!({"keep_results": true, "kept_result_kib": 1}),
    );
    let message = format!("kept {}", "x".repeat(3000));
    let client = hub.connect_client("claude-code");
    client.call("probe__echo", &json!({"message": message}).to_string());
    let mut steps = vec![
        click("nav-calls"),
        click("call-row"),
        wait_for("call-timing"),
        wait_for_text("call-result", "kept"),
        wait_for("call-result-cut"),
        wait_for("call-audit-entry"),
        wait_for("call-line"),
        copy("call-copy-json"),
        copy("call-copy-curl"),
    ];
    steps.extend(check_screen("call-with-result"));
    steps.push(set_size(640, 400));
    steps.extend(check_screen("call-with-result-small"));
    steps.extend([
        set_size(1280, 800),
        click("call-logs"),
        wait_for("log-filter-call"),
        wait_for("log-line"),
    ]);
    steps.extend(check_screen("log-of-a-call"));
    steps.extend([
        click("log-all-calls"),
        wait_until_gone("log-filter-call"),
        click("log-call"),
        wait_for_text("call-detail", "echo"),
        press_key("Escape"),
        wait_until_gone("call-detail"),
    ]);
    let report = take_steps(&desktop, steps);
    let [call, command] = [0, 1].map(|at| report.values()[at].as_str().expect("a copied text"));
    let call: Value = serde_json::from_str(call).expect("JSON");
    assert_eq!(
        (&call["client"], &call["exposed_name"], &call["outcome"]),
        (&json!("claude-code"), &json!("probe__echo"), &json!("ok"))
    );
    assert!(
        command.starts_with("curl ") && command.contains(&message),
        "{command}"
    );
}

#[test]
fn the_charts_of_calls_are_chosen_by_period_group_client_and_server() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    for (name, calls) in [("claude-code", 3), ("cursor", 1)] {
        let client = hub.connect_client(name);
        for _ in 0..calls {
            client.call("probe__echo", "{}");
        }
    }
    let mut steps = vec![
        click("nav-calls"),
        click("calls-tab-charts"),
        wait_for_text("stats-group", "probe"),
        select("stats-by", "client"),
        wait_for_text("stats-group", "claude-code"),
        count("stats-group"),
        select("stats-period", "hour"),
        select("stats-client", "cursor"),
        wait_for_text("stats-group", "cursor"),
        count("stats-group"),
        select("stats-by", "tool"),
        wait_for_text("stats-group", "echo"),
    ];
    steps.extend(check_screen("charts-by-tool"));
    steps.extend([select("stats-server", "memory"), wait_for("stats-empty")]);
    steps.extend(check_screen("charts-without-calls"));
    steps.extend([click("calls-tab-list"), wait_for("call-row")]);
    let report = take_steps(&desktop, steps);
    assert_eq!(report.0["counts"], json!([2, 1]));
}

#[test]
fn calls_of_one_session_are_chosen_in_a_filter_that_names_its_client() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    // Two sessions of the same client.
    let token = hub.add_client("claude-code");
    for calls in [3, 1] {
        let session = McpClient::connect(&hub.url, &token);
        for number in 0..calls {
            session.call("probe__echo", &json!({"n": number}).to_string());
        }
    }
    let calls = desktop.cli(&["calls", "list", "--json"]).expect_json();
    let newest = calls[0]["session"].as_str().expect("a session");
    let oldest = calls[3]["session"].as_str().expect("a session");
    let chosen_label = || {
        evaluate(
            "document.querySelector('[data-testid=call-filter-session]').selectedOptions[0].text",
        )
    };
    let mut steps = vec![
        click("nav-calls"),
        wait_for_text("calls-count", "4"),
        select("call-filter-session", newest),
        wait_for_text("calls-count", "1"),
        chosen_label(),
        evaluate("location.hash"),
    ];
    steps.extend(check_screen("calls-of-a-session"));
    steps.extend([
        // The filter lists the sessions in the list of calls, and the chosen session.
        click("call-filters-clear"),
        wait_for_text("calls-count", "4"),
        select("call-filter-session", oldest),
        wait_for_text("calls-count", "3"),
        select("call-filter-session", ""),
        wait_for_text("calls-count", "4"),
        open_route(&format!("#/calls?session={oldest}")),
        wait_for_text("calls-count", "3"),
        wait_for_value("call-filter-session", oldest),
    ]);
    let report = take_steps(&desktop, steps);
    let label = report.values()[0].as_str().expect("a label");
    assert!(
        label.contains("claude-code") && label.contains(&newest[..8]),
        "{label}"
    );
    assert_eq!(report.values()[1], format!("#/calls?session={newest}"));
}
