//! The Overview screen in a real browser: the problems, today's calls, and the charts. The hub, its
//! servers and its clients are real.

use drawbridge_tests::{DesktopSession, Hub, paths};
use serde_json::json;

use crate::steps::{
    check_screen, click, count, evaluate, select, take_steps, wait_for, wait_for_text,
    wait_for_value, wait_until_gone,
};

/// Calls a tool whose calls need an approval, and approves the call.
fn approve_call(hub: &Hub<'_>, tool: &str) {
    let call = hub.connect_client("codex").spawn_call(tool, "{}");
    let approval = hub.wait_for_approval();
    let id = approval["id"].as_str().expect("an id");
    hub.home.cli(&["approvals", "approve", id]).expect_success();
    assert!(!call.join().expect("the call ends").is_error());
}

#[test]
fn the_overview_leads_to_problems_and_calls_and_compares_clients_and_servers() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    hub.set_policy("probe/now", "deny");
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    hub.add_server("guarded", &[], &[&program]);
    hub.wait_until_synced("guarded");
    hub.add_server("broken", &[], &["/opt/tools/no-such-server"]);
    desktop.cli(&["servers", "verify", "broken"]);
    for name in ["claude-code", "cursor"] {
        let client = hub.connect_client(name);
        client.call("probe__echo", "{}");
        client.call("probe__now", "{}");
    }
    approve_call(&hub, "guarded__echo");
    let mut steps = vec![
        click("nav-overview"),
        wait_for_text("overview-problem", "no-such-server"),
        wait_for_text("today-calls", "5"),
        wait_for_text("today-failed", "0"),
        wait_for_text("today-not-allowed", "2"),
        wait_for_text("today-asked", "1"),
        evaluate("document.querySelector('[data-testid=today-wait] b').textContent"),
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
    for (stat, screen) in [
        ("calls", "calls"),
        ("failed", "calls"),
        ("asked", "approvals"),
        ("wait", "approvals"),
    ] {
        steps.extend([
            click("nav-overview"),
            click(&format!("today-{stat}")),
            wait_for(&format!("nav-{screen}[aria-current=page]")),
        ]);
    }
    let report = take_steps(&desktop, steps);
    let [wait, address] = report.values() else {
        panic!("two values: {:?}", report.values());
    };
    let wait = wait.as_str().expect("a text");
    assert!(
        wait.starts_with(|first: char| first.is_ascii_digit()) && wait.ends_with('s'),
        "a duration: {wait}"
    );
    assert_eq!(
        address, "#/overview?period=week&by=server",
        "the address keeps the choices"
    );
}

#[test]
fn the_overview_lists_more_than_six_problems_on_request_and_says_when_none_is_left() {
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
