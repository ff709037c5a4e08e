//! The Logs screen in a real browser: following the newest line, the filters in the address, and
//! the links between a line and its call. The hub, its server and its client are real.

use drawbridge_tests::{DesktopSession, Hub};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, evaluate, open_route, press_key, select, take_steps, wait_for,
    wait_for_any_text, wait_for_text, wait_for_value, wait_until_gone,
};

/// The line that a noisy server prints to its stdout before each answer.
const NOISE: &str = "DEBUG about to answer";

/// Starts a hub with a noisy server and a client that has made 60 calls.
fn start_hub(desktop: &DesktopSession) -> Hub<'_> {
    let hub = Hub::serve(desktop);
    hub.add_probe(&["--noisy"]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("claude-code");
    for number in 0..60 {
        client.call("probe__echo", &json!({"n": number}).to_string());
    }
    hub
}

/// Returns the step that reads whether the log follows its newest line.
fn evaluate_following() -> Value {
    evaluate("document.querySelector('[data-testid=log-follow]').checked")
}

/// Returns the step that reads whether a line in the page has the noise of the server.
fn evaluate_noise() -> Value {
    evaluate(&format!(
        "[...document.querySelectorAll('[data-testid=log-line]')].some((line) => line.innerText.includes('{NOISE}'))"
    ))
}

#[test]
fn the_log_follows_its_newest_line_until_a_person_scrolls_and_links_lines_to_calls() {
    let desktop = DesktopSession::without_screen();
    let _hub = start_hub(&desktop);
    let mut steps = vec![
        click("nav-logs"),
        wait_for_any_text("log-line", NOISE),
        evaluate("document.querySelector('[role=log]').scrollTop = 0"),
        wait_for("log-newest"),
        evaluate_following(),
    ];
    steps.extend(check_screen("log-not-following"));
    steps.extend([
        click("log-newest"),
        wait_until_gone("log-newest"),
        evaluate_following(),
        click("log-follow"),
        wait_for("log-newest"),
        evaluate_following(),
        click("log-follow"),
        wait_until_gone("log-newest"),
        click("log-call"),
        wait_for_text("call-detail", "echo"),
        press_key("Escape"),
        wait_until_gone("call-detail"),
    ]);
    let report = take_steps(&desktop, steps);
    assert_eq!(
        report.values()[1..],
        [json!(false), json!(true), json!(false)]
    );
}

#[test]
fn the_log_is_filtered_by_server_kind_and_time_in_its_address_and_a_server_shows_its_stdout() {
    let desktop = DesktopSession::without_screen();
    let _hub = start_hub(&desktop);
    let mut steps = vec![
        open_route("#/logs?source=probe&kind=hub&range=hour"),
        wait_for_value("log-filter-source", "probe"),
        wait_for_value("log-filter-kind", "hub"),
        wait_for_any_text("log-line", "session"),
        evaluate_noise(),
        select("log-filter-kind", "stdout"),
        wait_for_any_text("log-line", NOISE),
        evaluate("location.hash"),
    ];
    steps.extend(check_screen("log-stdout"));
    steps.extend([
        select("log-filter-range", "all"),
        select("log-filter-kind", "all"),
        select("log-filter-source", ":hub"),
        wait_for_any_text("log-line", "was allowed"),
        open_route("#/servers/probe"),
        wait_for("server-tab-log"),
        click("server-tab-log"),
        wait_for_any_text("log-line", "Connected with"),
        evaluate_noise(),
        click("log-stdout"),
        wait_for_any_text("log-line", NOISE),
    ]);
    steps.extend(check_screen("server-log-stdout"));
    let report = take_steps(&desktop, steps);
    assert_eq!(
        report.values(),
        [
            json!(false),
            json!("#/logs?source=probe&range=hour&kind=stdout"),
            json!(false)
        ]
    );
}
