//! The steps of a browser test, as JSON for the script that controls the browser.

use drawbridge_tests::DesktopSession;
use serde_json::{Value, json};

/// Returns the login link for a browser.
pub(crate) fn create_login_link(desktop: &DesktopSession) -> String {
    desktop
        .cli(&["open", "--print"])
        .expect_success()
        .stdout()
        .trim()
        .to_owned()
}

/// Logs in and waits for the main window.
pub(crate) fn log_in() -> Vec<Value> {
    vec![json!({"do": "log_in"}), wait_for("nav-servers")]
}

pub(crate) fn click(part: &str) -> Value {
    json!({"do": "click", "part": part})
}

pub(crate) fn wait_for(part: &str) -> Value {
    json!({"do": "wait_for", "part": part})
}

pub(crate) fn wait_until_gone(part: &str) -> Value {
    json!({"do": "wait_until_gone", "part": part})
}

/// Waits until a control is no longer disabled.
pub(crate) fn wait_until_enabled(part: &str) -> Value {
    json!({"do": "wait_until_enabled", "part": part})
}

pub(crate) fn wait_for_text(part: &str, text: &str) -> Value {
    json!({"do": "wait_for_text", "part": part, "text": text})
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

/// Loads a screen by its route. Tests of the popup need this, because the popup has no navigation.
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
