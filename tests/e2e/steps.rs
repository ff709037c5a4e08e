//! The steps of a browser test, as JSON for the script that controls the browser.
//!
//! A `part` is a path of test ids (`data-testid`), separated by spaces. A test id can be followed
//! by attributes and pseudo-classes of CSS: `server-row[data-server=files] server-sync`. For an
//! element without a test id, these stand alone: `paste-entry :is(button)`. If several elements
//! match, most steps concern the first.

use drawbridge_tests::{
    DesktopSession,
    browser::{self, Action, BrowserReport},
};
use serde_json::{Value, json};

/// Returns the one-time login link for a browser.
#[track_caller]
pub(crate) fn create_login_link(desktop: &DesktopSession) -> String {
    let output = desktop.cli(&["open", "--print"]).expect_success().stdout();
    let link = output.trim().to_owned();
    assert!(
        link.starts_with("http://") && link.contains("#login="),
        "a login link: {link}"
    );
    link
}

/// Logs in with a new browser session, takes the steps, and fails if the browser reports a problem.
#[track_caller]
pub(crate) fn take_steps(desktop: &DesktopSession, steps: Vec<Value>) -> BrowserReport {
    let steps = [log_in(), steps].concat();
    let report = browser::take_steps(desktop, &create_login_link(desktop), &json!(steps));
    report.assert_no_problems();
    report
}

/// Like [`take_steps`]. At each step of [`run_next_action`], the browser waits while the next
/// action runs.
#[track_caller]
pub(crate) fn take_steps_with_actions(
    desktop: &DesktopSession,
    steps: Vec<Value>,
    actions: Vec<Action<'_>>,
) -> BrowserReport {
    let steps = [log_in(), steps].concat();
    let link = create_login_link(desktop);
    let report = browser::take_steps_with_actions(desktop, &link, &json!(steps), actions);
    report.assert_no_problems();
    report
}

/// Logs in, and waits until the page shows its navigation.
pub(crate) fn log_in() -> Vec<Value> {
    vec![json!({"do": "log_in"}), wait_for("nav-servers")]
}

pub(crate) fn click(part: &str) -> Value {
    json!({"do": "click", "part": part})
}

pub(crate) fn fill(part: &str, text: &str) -> Value {
    json!({"do": "fill", "part": part, "text": text})
}

/// Chooses a file on this machine in a file input.
pub(crate) fn choose_file(part: &str, path: &str) -> Value {
    json!({"do": "choose_file", "part": part, "path": path})
}

/// Selects the option with this value or this label.
pub(crate) fn select(part: &str, value: &str) -> Value {
    json!({"do": "select", "part": part, "value": value})
}

/// Counts the elements that match. The number is then in the report, under `counts`.
pub(crate) fn count(part: &str) -> Value {
    json!({"do": "count", "part": part})
}

pub(crate) fn wait_for(part: &str) -> Value {
    json!({"do": "wait_for", "part": part})
}

pub(crate) fn wait_until_gone(part: &str) -> Value {
    json!({"do": "wait_until_gone", "part": part})
}

/// Waits until a control is enabled.
pub(crate) fn wait_until_enabled(part: &str) -> Value {
    json!({"do": "wait_until_enabled", "part": part})
}

pub(crate) fn wait_for_text(part: &str, text: &str) -> Value {
    json!({"do": "wait_for_text", "part": part, "text": text})
}

/// Waits until one of the matching parts has the text.
pub(crate) fn wait_for_any_text(part: &str, text: &str) -> Value {
    json!({"do": "wait_for_any_text", "part": part, "text": text})
}

/// Waits until a field has a value that contains the text.
pub(crate) fn wait_for_value(part: &str, text: &str) -> Value {
    json!({"do": "wait_for_value", "part": part, "text": text})
}

/// Clicks a part that downloads a file, whose text is then in the report.
pub(crate) fn download(part: &str) -> Value {
    json!({"do": "download", "part": part})
}

/// Clicks a part that copies a text, which is then in the report.
pub(crate) fn copy(part: &str) -> Value {
    json!({"do": "copy", "part": part})
}

pub(crate) fn wait_until_focused(part: &str) -> Value {
    json!({"do": "wait_until_focused", "part": part})
}

/// Evaluates a script in the page. Its value is then in the report.
pub(crate) fn evaluate(script: &str) -> Value {
    json!({"do": "evaluate", "script": script})
}

pub(crate) fn press_key(key: &str) -> Value {
    json!({"do": "press_key", "key": key})
}

/// Moves the focus to a part with Tab only, and checks that the focus is visible on the way.
pub(crate) fn tab_to(part: &str) -> Value {
    json!({"do": "tab_to", "part": part})
}

pub(crate) fn set_size(width: u32, height: u32) -> Value {
    json!({"do": "set_size", "width": width, "height": height})
}

pub(crate) fn set_theme(theme: &str) -> Value {
    json!({"do": "set_theme", "theme": theme})
}

/// Expects that the hub has refused this verb. The browser reports any other refused request as a
/// problem.
pub(crate) fn expect_failed_verb(verb: &str) -> Value {
    expect_failed_request(&format!("/api/verbs/{verb}"))
}

/// Expects that the hub has refused a request with this path.
pub(crate) fn expect_failed_request(path: &str) -> Value {
    json!({"do": "expect_failed_request", "path": path})
}

/// Expects that requests have found no hub.
pub(crate) fn expect_outage() -> Value {
    json!({"do": "expect_outage"})
}

/// Lets the test run its next action, and waits until the action has ended (see
/// [`take_steps_with_actions`]).
pub(crate) fn run_next_action() -> Value {
    json!({"do": "hand_over"})
}

/// Waits until the address of the page contains the text.
pub(crate) fn wait_for_address(text: &str) -> Value {
    json!({"do": "wait_for_address", "text": text})
}

/// Loads the page at a route: to read a screen again, to open a screen with filters, or to open the
/// popup, to which no navigation leads.
pub(crate) fn open_route(hash: &str) -> Value {
    json!({"do": "open_route", "hash": hash})
}

/// Checks that the text of a screen fits, takes a screenshot, and checks the accessibility.
pub(crate) fn check_screen(name: &str) -> Vec<Value> {
    vec![
        json!({"do": "wait_until_settled"}),
        json!({"do": "check_layout", "where": name}),
        json!({"do": "take_screenshot", "name": name}),
        json!({"do": "check_accessibility", "where": name}),
    ]
}
