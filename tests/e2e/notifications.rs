//! The switches for notifications on the Settings screen of the real app, and their effect.

use std::fs;

use drawbridge_tests::{DesktopSession, Hub, clients::Endpoint, paths, wait::some_if, wait_until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::app::App;

const MISSED: &str = "Nobody decided in time";

/// Clicks the switches of these kinds of notifications, one right after the other.
fn click_switches(app: &App<'_>, kinds: [&str; 3]) {
    app.driver.click("nav-settings");
    for kind in kinds {
        app.driver.click(&format!("setting-notify-{kind}"));
    }
}

/// Returns whether each switch is on.
fn read_switches(app: &App<'_>) -> Value {
    app.driver.click("nav-settings");
    app.driver.wait_for("setting-notify-changed_definitions");
    app.driver.run_script(
        "const prefix = 'setting-notify-'; \
         const switches = [...document.querySelectorAll(`input[data-testid^=${prefix}]`)]; \
         return Object.fromEntries(switches.map((each) => \
             [each.dataset.testid.slice(prefix.length), each.checked]))",
    )
}

/// Waits until the app has stored these choices.
fn wait_until_stored(desktop: &DesktopSession, choices: &Value) {
    let file = desktop.data_dir().join("desktop.json");
    wait_until(format!("the app has stored {choices}"), || {
        let stored: Value = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
        some_if(stored["notifications"] == *choices)
    });
}

/// Adds a server that ends when it starts.
fn add_crashing(desktop: &DesktopSession, name: &str) {
    let program = paths::path_text(paths::built_binary("upstream-faulty"));
    desktop
        .cli(&["servers", "add", name, "--", &program, "--crash"])
        .expect_success();
    let sync = desktop.cli(&["servers", "sync", name]);
    assert_ne!(sync.exit_code(), 0, "{}", sync.stdout());
}

/// Returns how many notifications were about missed calls, and the summaries of all notifications.
fn read_summaries(desktop: &DesktopSession) -> (usize, Vec<String>) {
    let shown = desktop.notifications.shown().into_iter();
    let summaries: Vec<String> = shown.map(|notification| notification.summary).collect();
    let missed = summaries.iter().filter(|summary| *summary == MISSED);
    (missed.count(), summaries)
}

/// Makes a call that nobody decides.
fn miss_call(app: &App<'_>, endpoint: &Endpoint) {
    let result = app.call_and_wait(endpoint, "probe__echo", &json!({"message": "knock"}));
    assert!(
        result.is_error && result.text.contains("Timed out"),
        "{result:?}"
    );
}

#[test]
fn a_person_chooses_the_events_that_show_notifications() {
    let desktop = DesktopSession::new();
    let file = desktop.file("tools.json");
    let write_tool = |description: &str| {
        let tools =
            json!([{"name": "pay", "description": description, "inputSchema": {"type": "object"}}]);
        fs::write(&file, tools.to_string()).expect("write the tools");
    };
    write_tool("Pays a bill");
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    let program = paths::path_text(paths::built_binary("upstream-faulty"));
    hub.add_server(
        "shop",
        &[],
        &[&program, "--tools", &paths::path_text(&file)],
    );
    hub.wait_until_synced("shop");
    let token = hub.add_client("typescript");
    hub.set_approval_timeout(5);
    hub.stop(Signal::SIGTERM);

    let app = App::open(&desktop);
    click_switches(&app, ["approvals", "failed_servers", "changed_definitions"]);
    let only_missed = json!({"approvals": false, "missed": true, "failed_servers": false,
        "changed_definitions": false});
    wait_until_stored(&desktop, &only_missed);
    app.driver.save_screenshot("notifications-only-missed");
    drop(app);

    let app = App::start(&desktop, &["--hidden"]);
    app.driver
        .switch_to_window("the popup", |url| url.contains("#/popup"));
    app.driver.wait_for("popup-empty");
    let url = app.url.clone();
    let endpoint = Endpoint { url, token };
    desktop.cli(&["servers", "sync", "shop"]).expect_success();
    write_tool("Pays a bill, and takes a fee");
    for verb in ["restart", "sync"] {
        desktop.cli(&["servers", verb, "shop"]).expect_success();
    }
    add_crashing(&desktop, "crashing");
    miss_call(&app, &endpoint);
    desktop.notifications.wait_for_summary(MISSED);
    let (missed, summaries) = read_summaries(&desktop);
    assert_eq!(missed, summaries.len(), "nothing else: {summaries:?}");

    app.wait_until_popup_hides();
    desktop.tray.click("Open Drawbridge");
    app.switch_to_main();
    desktop.notifications.wait_until_none();
    assert_eq!(read_switches(&app), only_missed);
    click_switches(&app, ["approvals", "failed_servers", "missed"]);
    let all_but_missed = json!({"approvals": true, "missed": false, "failed_servers": true,
        "changed_definitions": false});
    wait_until_stored(&desktop, &all_but_missed);
    assert_eq!(read_switches(&app), all_but_missed);
    desktop.close_window("Drawbridge");
    wait_until("only the popup exists", || {
        some_if(app.driver.windows().len() == 1)
    });
    miss_call(&app, &endpoint);
    add_crashing(&desktop, "late");
    // A notification of the missed call would be shown instead, because it is more urgent.
    desktop.notifications.wait_for_summary("late failed");
    let (missed_later, summaries) = read_summaries(&desktop);
    assert_eq!(missed_later, missed, "{summaries:?}");
    let asked = "typescript wants to call echo of probe";
    assert!(
        summaries.iter().any(|summary| summary == asked),
        "{summaries:?}"
    );
}
