//! The tray: its content, what it opens, and what remains after the app exits.

use std::{fs, path::Path, time::Duration};

use drawbridge_tests::{Desk, clients::Door, places, process, until, wait::yes, within};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::app::{self, App};

/// Starts the app hidden in the tray, with an accepted server and a client.
fn hidden(desk: &Desk) -> (App<'_>, Door) {
    let token = app::provision(desk, "everything", &app::everything());
    let app = App::start(desk, &["--hidden"]);
    app.driver
        .look_at("the popup", |url| url.contains("#/popup"));
    app.driver.until("popup-empty");
    desk.cli(&["servers", "sync", "everything"]).ok();
    let url = app.url.clone();
    (app, Door { url, token })
}

#[test]
fn the_tray_shows_what_waits_and_opens_the_window() {
    let desk = Desk::new();
    let (app, door) = hidden(&desk);
    let labels = desk.tray.labels();
    for label in ["Open Drawbridge", "Quit Drawbridge"] {
        assert!(
            labels.iter().any(|shown| shown == label),
            "the menu has '{label}': {labels:?}"
        );
    }
    assert!(!app.driver.is_visible(), "nothing is on the screen");

    let call = app.call(&door, "everything__echo", &json!({"message": "knock"}));
    desk.tray.until_shows("1 call waits for you");
    desk.tray.until_shows("typescript → everything · echo");
    app.look_at_popup();
    app.driver.until_says("popup-position", "1 of 1");
    app.driver.click("approve-more");
    app.driver.click("approve-always");
    app.driver.picture("tray-always");
    // The button is enabled once the past calls that the rule would have matched are shown.
    app.driver.until_ready("approve-always-confirm");
    app.driver.click("approve-always-confirm");
    assert_eq!(call.result().text, "Echo: knock");
    app.until_popup_hides();
    until("the tray shows that nothing waits", || {
        yes(!desk
            .tray
            .labels()
            .iter()
            .any(|label| label.contains("waits for you")))
    });
    assert_eq!(
        app.call_now(&door, "everything__echo", &json!({"message": "again"}))
            .text,
        "Echo: again"
    );

    assert_eq!(app.driver.windows().len(), 1, "only the popup is there");
    desk.tray.click("Open Drawbridge");
    app.look_at_main();
    until("the window is on the screen", || {
        yes(app.driver.is_visible())
    });
    app.driver.picture("tray-opened");
}

#[test]
fn a_short_call_is_approved_in_the_menu() {
    let desk = Desk::new();
    let (app, door) = hidden(&desk);
    let call = app.call(
        &door,
        "everything__echo",
        &json!({"message": "knock_knock & wait"}),
    );
    let menu = desk.tray.until_shows("typescript → everything · echo");
    assert_eq!(
        menu.lines(),
        [
            r#"{"message":"knock_knock & wait"}"#,
            "Show…",
            "Deny",
            "Approve once"
        ]
    );
    assert!(
        !menu.children[0].enabled,
        "the arguments are there to be read"
    );
    desk.tray.click("Approve once");
    assert_eq!(call.result().text, "Echo: knock_knock & wait");
    app.until_popup_hides();

    let again = app.call(
        &door,
        "everything__echo",
        &json!({"message": "knock_knock & wait"}),
    );
    desk.tray.until_shows("typescript → everything · echo");
    desk.tray.click("Deny");
    let result = again.result();
    assert!(
        result.is_error && result.text.contains("Denied"),
        "it was approved once: {result:?}"
    );
}

#[test]
fn a_call_that_cannot_be_read_there_is_not_approved_in_the_menu() {
    let desk = Desk::new();
    let (app, door) = hidden(&desk);
    let call = app.call(
        &door,
        "everything__echo",
        &json!({"message": "x".repeat(300)}),
    );
    let menu = desk.tray.until_shows("typescript → everything · echo");
    assert_eq!(
        menu.lines(),
        ["314 characters of arguments", "Show…", "Deny"]
    );
    let shown = desk
        .notifications
        .until_says("typescript wants to call echo of everything");
    assert_eq!(shown.body, "Open to see the arguments");
    assert!(
        !shown.actions.iter().any(|action| action == "approve"),
        "{shown:?}"
    );
    desk.tray.click("Deny");
    assert!(call.result().is_error);

    let hiding = app.call(&door, "everything__echo", &json!({"message": "a\u{202e}b"}));
    let menu = desk.tray.until_shows("typescript → everything · echo");
    assert_eq!(
        menu.lines(),
        [r#"{"message":"a⟨U+202E⟩b"}"#, "Show…", "Deny"]
    );
    desk.tray.click("Show…");
    app.look_at_popup();
    desk.tray.click("Deny");
    assert!(hiding.result().is_error);
}

#[test]
fn a_raised_drawbridge_lets_no_call_cross_until_it_is_lowered() {
    let desk = Desk::new();
    let (app, door) = hidden(&desk);
    let call = app.call(&door, "everything__echo", &json!({"message": "knock"}));
    desk.tray.until_shows("typescript → everything · echo");
    desk.tray.click("Pause all calls");
    let result = call.result();
    assert!(
        result.is_error && result.text.contains("raised"),
        "what waits is denied: {result:?}"
    );
    desk.tray.until_shows("All calls are paused");
    app.until_popup_hides();
    desk.cli(&["policy", "set", "everything", "allow"]).ok();
    assert!(
        app.call_now(&door, "everything__echo", &json!({"message": "x"}))
            .is_error,
        "no rule lets it cross"
    );
    desk.tray.click("Resume calls");
    desk.tray.until_shows("Pause all calls");
    assert_eq!(
        app.call_now(&door, "everything__echo", &json!({"message": "x"}))
            .text,
        "Echo: x"
    );
}

#[test]
fn a_call_is_decided_in_its_notification() {
    let desk = Desk::new();
    let (app, door) = hidden(&desk);
    let title = "typescript wants to call echo of everything";
    let denied = app.call(&door, "everything__echo", &json!({"message": "one"}));
    let shown = desk.notifications.until_says(title);
    assert_eq!(shown.body, r#"{"message":"one"}"#);
    assert_eq!(shown.actions, ["show", "deny", "approve", "default"]);
    desk.notifications.click(shown.id, "deny");
    let result = denied.result();
    assert!(
        result.is_error && result.text.contains("Denied"),
        "{result:?}"
    );
    app.until_popup_hides();

    let approved = app.call(&door, "everything__echo", &json!({"message": "two"}));
    let shown = desk.notifications.until_says(title);
    desk.notifications.click(shown.id, "approve");
    assert_eq!(approved.result().text, "Echo: two");
}

#[test]
fn a_click_that_comes_too_late_decides_nothing() {
    let desk = Desk::new();
    let (app, door) = hidden(&desk);
    let call = app.call(&door, "everything__echo", &json!({"message": "one"}));
    let shown = desk
        .notifications
        .until_says("typescript wants to call echo of everything");
    desk.tray.click("Deny");
    assert!(call.result().is_error);
    let next = app.call(&door, "everything__echo", &json!({"message": "one"}));
    desk.tray.until_shows("Approve once");
    desk.notifications.click(shown.id, "approve");
    until("the log says so", || {
        yes(logged(&desk.data_dir(), "too late for approvals.decide"))
    });
    desk.tray.click("Deny");
    assert!(
        next.result().is_error,
        "the click on the first did not approve the second"
    );
}

#[test]
fn calls_that_wait_together_are_one_notification() {
    let desk = Desk::new();
    let (app, door) = hidden(&desk);
    let calls: Vec<_> = (0..3)
        .map(|i| {
            app.call(
                &door,
                "everything__echo",
                &json!({"message": format!("call {i}")}),
            )
        })
        .collect();
    let shown = desk.notifications.until_says("3 calls wait for you");
    assert_eq!(shown.actions, ["show", "default"]);
    desk.tray.click("Pause all calls");
    for call in calls {
        assert!(call.result().is_error);
    }
    desk.notifications.until_none();
    assert!(
        desk.notifications.shown().len() <= 3,
        "{:?}",
        desk.notifications.shown()
    );
}

#[test]
fn the_shortcut_opens_what_waits_and_else_the_window() {
    let desk = Desk::new();
    let (app, door) = hidden(&desk);
    desk.press("ctrl+alt+d");
    app.look_at_main();
    until("the window is on the screen", || {
        yes(app.driver.is_visible())
    });

    let call = app.call(&door, "everything__echo", &json!({"message": "knock"}));
    app.look_at_popup();
    desk.notifications
        .until_says("typescript wants to call echo of everything");
    desk.press("ctrl+alt+d");
    desk.notifications.until_none();
    until("the popup has the keyboard", || {
        yes(app.driver.run("return document.hasFocus()") == true)
    });
    desk.tray.click("Approve once");
    assert_eq!(call.result().text, "Echo: knock");
}

#[test]
fn where_the_shortcut_cannot_be_had_the_log_says_so_and_the_app_goes_on() {
    let desk = Desk::new();
    let (_app, _) = hidden(&desk);
    let other = |name: &str, why: &str, variables: &[(&str, &str)]| {
        let mut command = desk.command(places::built("drawbridge-desktop"));
        command
            .arg("--data-dir")
            .arg(desk.file(name))
            .args(["--port", "0", "--hidden"]);
        command.envs(variables.iter().copied());
        let mut other = process::Process::start(&desk, name, &mut command);
        until(format!("the log says '{why}'"), || {
            yes(logged(&desk.file(name), why))
        });
        assert!(other.ended().is_none(), "{}", other.stderr());
    };
    other("taken", "no Ctrl+Alt+D: the shortcut cannot be had", &[]);
    other(
        "wayland",
        "no Ctrl+Alt+D: Wayland gives no program a shortcut",
        &[("WAYLAND_DISPLAY", "wayland-0")],
    );
}

/// Returns whether the log in a data folder contains `text`.
fn logged(data_dir: &Path, text: &str) -> bool {
    let files = fs::read_dir(data_dir.join("logs"))
        .into_iter()
        .flatten()
        .flatten();
    files
        .into_iter()
        .any(|file| fs::read_to_string(file.path()).is_ok_and(|log| log.contains(text)))
}

#[test]
fn a_server_that_was_killed_is_started_anew_by_the_next_call() {
    let desk = Desk::new();
    let (app, door) = hidden(&desk);
    desk.cli(&["policy", "set", "everything", "allow"]).ok();
    assert_eq!(
        app.call_now(&door, "everything__echo", &json!({"message": "one"}))
            .text,
        "Echo: one"
    );
    let server = || {
        desk.servers()
            .into_iter()
            .find(|process| process.command.contains("server-everything"))
    };
    let first = server().expect("the server runs").pid;
    process::signal_to(first, Signal::SIGKILL);
    within(Duration::from_secs(5), "the server is gone", || {
        yes(server().is_none_or(|process| process.pid != first))
    });
    assert_eq!(
        app.call_now(&door, "everything__echo", &json!({"message": "two"}))
            .text,
        "Echo: two"
    );
    assert_ne!(server().expect("the server runs again").pid, first);
}

#[test]
fn nothing_is_left_when_the_app_quits() {
    let desk = Desk::new();
    let (app, door) = hidden(&desk);
    desk.cli(&["policy", "set", "everything", "allow"]).ok();
    app.call_now(&door, "everything__echo", &json!({"message": "x"}));
    assert!(!desk.servers().is_empty(), "the server runs");
    desk.tray.click("Quit Drawbridge");
    until("the app is gone", || yes(!runs(&desk)));
    desk.nothing_outlives_the_hub();
}

#[test]
fn nothing_is_left_when_the_app_is_killed() {
    let desk = Desk::new();
    let (app, door) = hidden(&desk);
    desk.cli(&["policy", "set", "everything", "allow"]).ok();
    app.call_now(&door, "everything__echo", &json!({"message": "x"}));
    assert!(!desk.servers().is_empty(), "the server runs");
    process::signal_to(app.process().pid, Signal::SIGKILL);
    desk.nothing_outlives_the_hub();
    until("the app is gone", || yes(!runs(&desk)));
}

#[test]
fn a_second_start_raises_the_first() {
    let desk = Desk::new();
    let (app, _) = hidden(&desk);
    let mut command = desk.command(places::built("drawbridge-desktop"));
    command
        .arg("--data-dir")
        .arg(desk.data_dir())
        .args(["--port", "0"]);
    let mut second = process::Process::start(&desk, "second", &mut command);
    let (status, _) = second.finish(Duration::from_secs(15));
    assert!(
        status.success(),
        "the second ends well: {status}\n{}",
        second.stderr()
    );
    app.look_at_main();
    until("the window of the first is on the screen", || {
        yes(app.driver.is_visible())
    });
}

fn runs(desk: &Desk) -> bool {
    let app = |process: &process::Running| {
        process.command.contains("drawbridge-desktop")
            && process.variable("DRAWBRIDGE_RUN").is_none()
    };
    desk.processes().iter().any(app)
}
