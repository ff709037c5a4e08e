//! What a browser is told to do, a step each.

use drawbridge_tests::Desk;
use serde_json::{Value, json};

/// The link that signs a browser in.
pub(crate) fn link(desk: &Desk) -> String {
    desk.cli(&["open", "--print"])
        .ok()
        .stdout()
        .trim()
        .to_owned()
}

/// Signed in, and in the main window.
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

/// Once it can be used.
pub(crate) fn until_ready(part: &str) -> Value {
    json!({"do": "until_ready", "part": part})
}

pub(crate) fn until_says(part: &str, text: &str) -> Value {
    json!({"do": "until_says", "part": part, "text": text})
}

pub(crate) fn press(key: &str) -> Value {
    json!({"do": "press", "key": key})
}

/// By Tab alone, which has to come there, and to show on its way where it is.
pub(crate) fn tab_to(part: &str) -> Value {
    json!({"do": "tab_to", "part": part})
}

pub(crate) fn size(width: u32, height: u32) -> Value {
    json!({"do": "size", "width": width, "height": height})
}

pub(crate) fn theme(theme: &str) -> Value {
    json!({"do": "theme", "theme": theme})
}

/// Loads a screen anew; the popup has none of the main window's ways in.
pub(crate) fn route(hash: &str) -> Value {
    json!({"do": "route", "hash": hash})
}

/// A picture of what is there now, which has to fit and to shut nobody out.
pub(crate) fn look(name: &str) -> Vec<Value> {
    vec![
        json!({"do": "settle"}),
        json!({"do": "fits", "where": name}),
        json!({"do": "picture", "name": name}),
        json!({"do": "axe", "where": name}),
    ]
}
