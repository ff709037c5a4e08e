//! The Overview screen in a real browser: the problems, today's calls, and the charts. The hub, its
//! servers and its clients are real.

use drawbridge_tests::{DesktopSession, Hub};
use serde_json::json;

use crate::steps::{
    check_screen, click, count, evaluate, select, take_steps, wait_for, wait_for_text,
    wait_for_value, wait_until_gone,
};

#[test]
fn the_overview_leads_to_problems_and_calls_and_compares_clients_and_servers() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    hub.set_policy("probe/now", "deny");
    hub.add_server("broken", &[], &["/opt/tools/no-such-server"]);
    desktop.cli(&["servers", "verify", "broken"]);
    for name in ["claude-code", "cursor"] {
        let client = hub.connect_client(name);
        client.call("probe__echo", "{}");
        client.call("probe__now", "{}");
    }
    let mut steps = vec![
        click("nav-overview"),
        wait_for_text("overview-problem", "no-such-server"),
        wait_for_text("today-calls", "4"),
        wait_for_text("today-failed", "0"),
        wait_for_text("today-not-allowed", "2"),
        wait_for_text("overview-chart-calls", "Not allowed"),
    ];
    steps.extend(check_screen("overview-calls"));
    steps.extend([
        select("overview-by", "client"),
        wait_for_text("overview-chart-calls", "cursor"),
        select("overview-period", "week"),
        select("overview-by", "server"),
        wait_for_text("overview-chart-calls", "probe"),
    ]);
    steps.extend(check_screen("overview-by-server"));
    steps.extend([
        evaluate("location.hash"),
        click("problem-log"),
        wait_for_value("log-filter-source", "broken"),
        click("nav-overview"),
        click("today-not-allowed"),
        wait_for("call-row[data-decision=denied]"),
    ]);
    let report = take_steps(&desktop, steps);
    assert_eq!(
        report.values(),
        [json!("#/overview?period=week&by=server")],
        "the address keeps the choices"
    );
}

#[test]
fn the_overview_lists_more_than_six_problems_on_request_and_reports_if_none_is_left() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let names: Vec<String> = (0..8).map(|number| format!("broken-{number}")).collect();
    for name in &names {
        hub.add_server(name, &[], &["/opt/tools/no-such-server"]);
        desktop.cli(&["servers", "verify", name]);
    }
    let steps = vec![
        click("nav-overview"),
        wait_for_text("overview-more", "2"),
        count("overview-problem"),
        click("overview-more"),
        wait_until_gone("overview-more"),
        count("overview-problem"),
    ];
    let report = take_steps(&desktop, steps);
    assert_eq!(report.0["counts"], json!([6, 8]));
    for name in &names {
        desktop.cli(&["servers", "remove", name]).expect_success();
    }
    let mut steps = vec![
        click("nav-overview"),
        wait_for("overview-nothing"),
        wait_for("overview-no-calls"),
    ];
    steps.extend(check_screen("overview-without-problems"));
    take_steps(&desktop, steps);
}
