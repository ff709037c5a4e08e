//! The steps that a browser takes.

use drawbridge_tests::Desk;
use serde_json::{Value, json};

/// Returns the login link for a browser.
pub(crate) fn link(desk: &Desk) -> String {
    desk.cli(&["open", "--print"])
        .ok()
        .stdout()
        .trim()
        .to_owned()
}

/// Logs in and opens the main window.
pub(crate) fn enter() -> Vec<Value> {
    vec![json!({"do": "login"}), until("nav-servers")]
}

pub(crate) fn click(part: &str) -> Value {
    json!({"do": "click", "part": part})
}

pub(crate) fn until(part: &str) -> Value {
    json!({"do": "until", "part": part})
}

pub(crate) fn until_gone(part: &str) -> Value {
    json!({"do": "until_gone", "part": part})
}

/// Waits until a control can be used.
pub(crate) fn until_ready(part: &str) -> Value {
    json!({"do": "until_ready", "part": part})
}

pub(crate) fn until_says(part: &str, text: &str) -> Value {
    json!({"do": "until_says", "part": part, "text": text})
}

pub(crate) fn press(key: &str) -> Value {
    json!({"do": "press", "key": key})
}

/// Moves the focus to a part with Tab only, and checks that the focus is visible on the way.
pub(crate) fn tab_to(part: &str) -> Value {
    json!({"do": "tab_to", "part": part})
}

pub(crate) fn size(width: u32, height: u32) -> Value {
    json!({"do": "size", "width": width, "height": height})
}

pub(crate) fn theme(theme: &str) -> Value {
    json!({"do": "theme", "theme": theme})
}

/// Loads a screen by its route. The popup has no navigation of its own.
pub(crate) fn route(hash: &str) -> Value {
    json!({"do": "route", "hash": hash})
}

/// Takes a screenshot, and checks that the text fits and that the screen is accessible.
pub(crate) fn look(name: &str) -> Vec<Value> {
    vec![
        json!({"do": "settle"}),
        json!({"do": "fits", "where": name}),
        json!({"do": "picture", "name": name}),
        json!({"do": "axe", "where": name}),
    ]
}
