//! The Logs screen in a real browser: following the newest line, the filters in the address, the
//! link from a line to its call, and loading older lines. The hub, its server and its client are
//! real.

use std::fs;

use drawbridge_tests::{DesktopSession, Hub, wait::unix_micros};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, evaluate, fill, open_route, press_key, select, take_steps, wait_for,
    wait_for_any_text, wait_for_text, wait_for_value, wait_until_gone,
};

/// The non-JSON-RPC line that the server prints to its stdout before each answer.
const STDOUT_LINE: &str = "DEBUG about to answer";

/// Starts a hub with a server that prints [`STDOUT_LINE`], and with a client that has made 60
/// calls.
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

/// Returns the step that reads whether the page shows [`STDOUT_LINE`].
fn evaluate_stdout_line() -> Value {
    evaluate(&format!(
        "[...document.querySelectorAll('[data-testid=log-line]')].some((line) => line.innerText.includes('{STDOUT_LINE}'))"
    ))
}

#[test]
fn the_log_follows_its_newest_line_until_a_person_scrolls_and_links_lines_to_calls() {
    let desktop = DesktopSession::without_screen();
    let _hub = start_hub(&desktop);
    let mut steps = vec![
        click("nav-logs"),
        wait_for_any_text("log-line", STDOUT_LINE),
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
        evaluate_stdout_line(),
        select("log-filter-kind", "stdout"),
        wait_for_any_text("log-line", STDOUT_LINE),
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
        evaluate_stdout_line(),
        click("log-stdout"),
        wait_for_any_text("log-line", STDOUT_LINE),
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

/// Writes a file of the hub's log, in the hub's format, with 9,000 old lines and a newer line.
fn write_long_log(desktop: &DesktopSession) {
    let folder = desktop.data_dir().join("logs");
    fs::create_dir_all(&folder).expect("create the folder");
    let now = i64::try_from(unix_micros() / 1000).expect("a time of this century");
    let lines = (0..=9000).map(|number| {
        let age = if number == 9000 { "new" } else { "old" };
        let line = json!({
            "seq": number, "at": now - 9000 + number, "level": "info", "server": null,
            "area": "hub", "text": format!("{age} line {number}"),
        });
        format!("{line}\n")
    });
    let file = folder.join("drawbridge.2026-01-01.log");
    fs::write(file, lines.collect::<String>()).expect("write the log file");
}

/// Returns the step that scrolls the log to a position in pixels.
fn scroll_to(top: u32) -> Value {
    evaluate(&format!(
        "document.querySelector('[role=log]').scrollTop = {top}"
    ))
}

/// Returns the steps that tell which line is at the top of the view.
fn read_top_line() -> [Value; 2] {
    [
        json!({"do": "wait_until_settled"}),
        evaluate(
            "(() => { const { left, top } = document.querySelector('[role=log]').getBoundingClientRect(); \
             const line = document.elementFromPoint(left + 300, top + 9).closest('[data-testid=log-line]'); \
             return line.querySelector('.text').innerText; })()",
        ),
    ]
}

#[test]
fn older_lines_of_a_long_log_are_loaded_and_the_line_in_view_stays() {
    let desktop = DesktopSession::without_screen();
    write_long_log(&desktop);
    let _hub = Hub::serve(&desktop);
    let mut steps = vec![
        click("nav-logs"),
        wait_for_any_text("log-line", "new line"),
        fill("log-filter-text", "old line"),
        wait_for_text("log-line:last-child", "old line 8999"),
        wait_for_text("log-count", "5000 lines"),
        click("log-older"),
        wait_for_text("log-count", "7000 lines"),
    ];
    steps.extend(check_screen("log-with-older-lines"));
    // If the view is near the oldest loaded line, older lines are loaded.
    steps.push(scroll_to(200));
    steps.extend(read_top_line());
    steps.push(wait_for_text("log-count", "9000 lines"));
    steps.extend(read_top_line());
    steps.extend([wait_until_gone("log-older"), scroll_to(0)]);
    steps.extend(read_top_line());
    let report = take_steps(&desktop, steps);
    let [_, before, after, _, oldest] = report.values() else {
        panic!("five values: {:?}", report.values());
    };
    assert_eq!(before, after, "the line in view stays");
    assert_ne!(before, oldest);
    assert_eq!(oldest, "old line 0");
}
