//! The keyboard focus around dialogs, in a real browser: when a dialog is closed, the element that
//! opened it has the focus again, or the heading of the page if that element is not on the page.
//! The hub, its server and its client are real.

use drawbridge_tests::{DesktopSession, Hub};
use serde_json::{Value, json};

use crate::steps::{
    click, evaluate, open_route, press_key, take_steps, wait_for, wait_for_text,
    wait_until_focused, wait_until_gone,
};

/// For each screen, the buttons that open dialogs, each with its dialog.
const OPENERS: [(&str, &[(&str, &str)]); 6] = [
    (
        "nav-servers",
        &[
            ("add-server", "server-dialog"),
            ("import-servers", "client-import-dialog"),
            ("server-edit", "server-dialog"),
        ],
    ),
    (
        "nav-clients",
        &[
            ("add-client", "client-dialog"),
            ("client-change-user", "user-dialog"),
            ("client-limit", "limit-dialog"),
            ("client-rotate", "rotate-dialog"),
            ("client-revoke", "confirm-dialog"),
        ],
    ),
    (
        "nav-policy",
        &[
            ("rule-add", "rule-dialog"),
            ("rule-edit", "rule-dialog"),
            ("rules-import", "import-dialog"),
            ("rules-export", "export-dialog"),
        ],
    ),
    ("nav-hooks", &[("hook-new", "hook-dialog")]),
    (
        "nav-memory",
        &[
            ("memory-add", "memory-dialog"),
            ("memory-edit", "memory-dialog"),
        ],
    ),
    (
        "nav-settings",
        &[
            ("secret-store-change", "secret-store-dialog"),
            ("doctor-bundle", "bundle-dialog"),
            ("backup-reset", "confirm-dialog"),
        ],
    ),
];

/// Starts a session whose hub has the memory server.
fn start_session() -> DesktopSession {
    let mut desktop = DesktopSession::without_screen();
    desktop.set_variable("DRAWBRIDGE_DISABLED_BUILT_INS", "");
    desktop
}

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

/// Returns the steps that open a dialog with the mouse and with the keyboard, and close it with
/// Escape and with its button.
fn open_and_close(opener: &str, dialog: &str) -> Vec<Value> {
    let ways = [
        (click(opener), press_key("Escape")),
        (press_key("Enter"), press_key("Escape")),
        (press_key("Enter"), click(&format!("{dialog} dialog-close"))),
    ];
    let steps = ways.into_iter().map(|(open, close)| {
        [
            open,
            wait_for(dialog),
            close,
            wait_until_gone(dialog),
            wait_until_focused(opener),
        ]
    });
    steps.flatten().collect()
}

#[test]
fn the_button_that_opened_a_dialog_has_the_focus_after_the_dialog() {
    let desktop = start_session();
    let _hub = start_hub(&desktop);
    let mut steps = Vec::new();
    for (page, dialogs) in OPENERS {
        steps.push(click(page));
        for (opener, dialog) in dialogs {
            steps.extend(open_and_close(opener, dialog));
        }
    }
    take_steps(&desktop, steps);
}

#[test]
fn a_row_or_a_field_has_the_focus_after_a_dialog_and_a_heading_if_its_page_was_left() {
    let desktop = start_session();
    let _hub = start_hub(&desktop);
    let focused_row = || {
        evaluate(
            "document.activeElement.closest('[data-testid=call-row], [data-testid=audit-row]') !== null",
        )
    };
    let focused_id = || evaluate("document.activeElement.id");
    let report = take_steps(
        &desktop,
        vec![
            click("nav-calls"),
            click("call-row"),
            wait_for("call-detail"),
            press_key("Escape"),
            wait_until_gone("call-detail"),
            focused_row(),
            press_key("Enter"),
            wait_for("call-detail"),
            click("call-detail dialog-close"),
            wait_until_gone("call-detail"),
            focused_row(),
            click("nav-audit"),
            click("audit-row"),
            wait_for("audit-detail"),
            press_key("Escape"),
            wait_until_gone("audit-detail"),
            focused_row(),
            click("nav-settings"),
            click("settings-search"),
            press_key("Control+k"),
            wait_for("palette"),
            press_key("Escape"),
            wait_until_gone("palette"),
            wait_until_focused("settings-search"),
            // The link is on the Logs screen, and its dialog on the Calls screen.
            click("nav-logs"),
            click("log-call"),
            wait_for_text("call-detail", "echo"),
            press_key("Escape"),
            wait_until_gone("call-detail"),
            focused_id(),
            // A page that opens with a dialog has no opener.
            open_route("#/clients/+add"),
            wait_for("client-dialog"),
            press_key("Escape"),
            wait_until_gone("client-dialog"),
            focused_id(),
        ],
    );
    let heading = json!("page-title");
    assert_eq!(
        report.values(),
        [
            json!(true),
            json!(true),
            json!(true),
            heading.clone(),
            heading
        ]
    );
}
