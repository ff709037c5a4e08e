//! The parts that all screens share, in a real browser: the keyboard shortcuts, the command
//! palette, the switch that pauses calls, and signing in with a code. The hub is real.

use drawbridge_tests::{DesktopSession, Hub, browser};
use serde_json::json;

use crate::steps::{
    check_screen, click, create_login_link, evaluate, expect_failed_request, fill, open_route,
    press_key, take_steps, wait_for, wait_for_any_text, wait_for_text, wait_until_enabled,
    wait_until_focused, wait_until_gone,
};

/// The screens, each with the key that opens it together with Ctrl.
const PAGE_KEYS: [(&str, &str); 11] = [
    ("1", "overview"),
    ("2", "approvals"),
    ("3", "servers"),
    ("4", "clients"),
    ("5", "policy"),
    ("6", "hooks"),
    ("7", "calls"),
    ("8", "memory"),
    ("9", "audit"),
    ("0", "logs"),
    (",", "settings"),
];

/// Screens with a search field, which the key `/` focuses, each with this field.
const SEARCHES: [(&str, &str); 6] = [
    ("servers", "server-search"),
    ("policy", "rules-search"),
    ("calls", "call-filter-text"),
    ("memory", "memory-query"),
    ("audit", "audit-text"),
    ("logs", "log-filter-text"),
];

/// The screens with a dialog that adds an entry, each with a part of that dialog.
const DIALOGS: [(&str, &str); 5] = [
    ("servers", "server-form-tab"),
    ("clients", "client-name"),
    ("policy", "rule-save"),
    ("hooks", "hook-save"),
    ("memory", "memory-content"),
];

/// Starts a hub with a server, a rule, a memory entry and a client that has made a call.
fn start_hub(desktop: &DesktopSession) -> Hub<'_> {
    let hub = Hub::serve(desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    hub.run_verb("memory.add", &json!({"content": "A fact."}));
    let client = hub.connect_client("claude-code");
    client.call("probe__echo", r#"{"message": "findme"}"#);
    hub
}

/// Starts a session whose hub has the memory server.
fn start_session() -> DesktopSession {
    let mut desktop = DesktopSession::without_screen();
    desktop.set_variable("DRAWBRIDGE_DISABLED_BUILT_INS", "");
    desktop
}

#[test]
fn keys_open_screens_searches_and_dialogs_in_a_browser() {
    let desktop = start_session();
    let _hub = start_hub(&desktop);
    let mut steps = Vec::new();
    for (key, page) in PAGE_KEYS {
        steps.extend([
            press_key(&format!("Control+{key}")),
            wait_for(&format!("nav-{page}[aria-current=page]")),
        ]);
    }
    for (page, field) in SEARCHES {
        steps.extend([
            click(&format!("nav-{page}")),
            wait_for(field),
            press_key("/"),
            wait_until_focused(field),
        ]);
    }
    for (page, part) in DIALOGS {
        steps.extend([
            click(&format!("nav-{page}")),
            wait_for(&format!("nav-{page}[aria-current=page]")),
            json!({"do": "wait_until_settled"}),
            press_key("n"),
            wait_for(part),
            press_key("Escape"),
            wait_until_gone(part),
        ]);
    }
    steps.extend([
        click("open-shortcuts"),
        wait_for("shortcuts"),
        press_key("Escape"),
        wait_until_gone("shortcuts"),
        press_key("?"),
        wait_for("shortcuts"),
    ]);
    steps.extend(check_screen("shortcuts"));
    steps.extend([
        // No shortcut works while a dialog is open.
        press_key("Control+9"),
        wait_for("nav-memory[aria-current=page]"),
        press_key("Escape"),
        wait_until_gone("shortcuts"),
        open_route("#/policy"),
        wait_for("rules-search"),
        press_key("Tab"),
        evaluate("document.activeElement.textContent"),
        press_key("Enter"),
        evaluate("document.activeElement.id"),
    ]);
    let report = take_steps(&desktop, steps);
    assert_eq!(
        report.values(),
        [json!("Skip to content"), json!("page-title")]
    );
}

#[test]
fn the_palette_runs_actions_and_finds_calls_and_settings_in_a_browser() {
    let desktop = start_session();
    let hub = start_hub(&desktop);
    let is_paused = || hub.run_verb("drawbridge.show", &json!({}))["resumes_at"].is_i64();
    take_steps(
        &desktop,
        vec![
            click("open-palette"),
            fill("palette-query", "15 minutes"),
            wait_for_text("palette-option", "15 minutes"),
            press_key("Enter"),
            wait_for("paused-banner"),
        ],
    );
    assert!(is_paused());
    let mut steps = vec![
        press_key("Control+k"),
        fill("palette-query", "resume"),
        wait_for_text("palette-option", "Resume calls"),
        press_key("Enter"),
        wait_until_gone("paused-banner"),
        // The event of the hub may arrive before the answer, which closes the palette.
        wait_until_gone("palette"),
        press_key("Control+k"),
        fill("palette-query", "dark"),
        wait_for_text("palette-option", "Use the dark theme"),
        press_key("Enter"),
        wait_until_gone("palette"),
        evaluate("document.documentElement.dataset.theme"),
        press_key("Control+k"),
        fill("palette-query", "findme"),
        wait_for_any_text("palette-option", "echo"),
    ];
    steps.extend(check_screen("palette-calls"));
    steps.extend([
        press_key("Enter"),
        wait_for("call-detail"),
        press_key("Escape"),
        wait_until_gone("call-detail"),
        press_key("Control+k"),
        wait_for_text("palette-option", "Use the dark theme"),
        fill("palette-query", "backup and reset"),
        wait_for_text("palette-option", "Backup and reset"),
        press_key("Enter"),
        wait_for("nav-settings[aria-current=page]"),
        evaluate("location.hash"),
        press_key("Control+k"),
        fill("palette-query", "add rule"),
        wait_for_text("palette-option", "Add rule"),
        press_key("Enter"),
        wait_for("rule-dialog"),
    ]);
    let report = take_steps(&desktop, steps);
    assert_eq!(
        report.values(),
        [json!("dark"), json!("#/settings/backups")]
    );
    assert!(!is_paused());
}

#[test]
fn a_pause_gets_an_end_and_loses_it_in_a_browser() {
    let desktop = start_session();
    let hub = start_hub(&desktop);
    take_steps(
        &desktop,
        vec![
            click("pause-calls"),
            click("pause-quarter-hour"),
            wait_for("pause-no-end"),
        ],
    );
    let resumes_at = || hub.run_verb("drawbridge.show", &json!({}))["resumes_at"].clone();
    assert!(resumes_at().is_i64());
    take_steps(
        &desktop,
        vec![click("pause-no-end"), wait_for("pause-quarter-hour")],
    );
    assert_eq!(resumes_at(), json!(null));
}

#[test]
fn a_person_signs_in_with_the_code_of_a_link_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let _hub = Hub::serve(&desktop);
    let link = create_login_link(&desktop);
    let (_, code) = link.split_once("#login=").expect("a link with a code");
    let mut steps = vec![
        open_route(""),
        fill("sign-in-code", "a-wrong-code"),
        click("sign-in"),
        wait_until_enabled("sign-in"),
        // A page that is not signed in sends nothing else.
        expect_failed_request("/api/login"),
    ];
    steps.extend(check_screen("sign-in-with-wrong-code"));
    steps.extend([
        evaluate("document.querySelector('form').innerText"),
        fill("sign-in-code", code),
        click("sign-in"),
        wait_for("nav-servers"),
    ]);
    let report = browser::take_steps(&desktop, &link, &json!(steps));
    report.assert_no_problems();
    let refusal = report.values()[0].as_str().expect("the text of the form");
    assert!(refusal.contains("is wrong"), "{refusal}");
}
