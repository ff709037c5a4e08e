//! The tray: what it shows, what it opens, and what is left when the app goes.

use std::time::Duration;

use drawbridge_tests::{Desk, clients::Door, places, process, until, wait::yes, within};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::app::{self, App};

/// A desk with a server that may be called, its client, and the app, hidden in the tray.
fn hidden(desk: &Desk) -> (App<'_>, Door) {
    let token = app::provision(desk, "everything", &app::everything());
    let app = App::start(desk, &["--hidden"]);
    app.driver.look_at("the popup", |url| url.contains("#/popup"));
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
        assert!(labels.iter().any(|shown| shown == label), "the menu has '{label}': {labels:?}");
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
    app.driver.click("approve-always-confirm");
    assert_eq!(call.result().text, "Echo: knock");
    app.until_popup_hides();
    until("the tray shows that nothing waits", || {
        yes(!desk.tray.labels().iter().any(|label| label.contains("waits for you")))
    });
    assert_eq!(app.call_now(&door, "everything__echo", &json!({"message": "again"})).text, "Echo: again");

    assert_eq!(app.driver.windows().len(), 1, "only the popup is there");
    desk.tray.click("Open Drawbridge");
    app.look_at_main();
    until("the window is on the screen", || yes(app.driver.is_visible()));
    app.driver.picture("tray-opened");
}

#[test]
fn a_server_that_was_killed_is_started_anew_by_the_next_call() {
    let desk = Desk::new();
    let (app, door) = hidden(&desk);
    desk.cli(&["policy", "set", "everything", "allow"]).ok();
    assert_eq!(app.call_now(&door, "everything__echo", &json!({"message": "one"})).text, "Echo: one");
    let server = || desk.servers().into_iter().find(|process| process.command.contains("server-everything"));
    let first = server().expect("the server runs").pid;
    process::signal_to(first, Signal::SIGKILL);
    within(Duration::from_secs(5), "the server is gone", || yes(server().is_none_or(|process| process.pid != first)));
    assert_eq!(app.call_now(&door, "everything__echo", &json!({"message": "two"})).text, "Echo: two");
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
    command.arg("--data-dir").arg(desk.data_dir()).args(["--port", "0"]);
    let mut second = process::Process::start(&desk, "second", &mut command);
    let (status, _) = second.finish(Duration::from_secs(15));
    assert!(status.success(), "the second ends well: {status}\n{}", second.stderr());
    app.look_at_main();
    until("the window of the first is on the screen", || yes(app.driver.is_visible()));
}

fn runs(desk: &Desk) -> bool {
    let app = |process: &process::Running| {
        process.command.contains("drawbridge-desktop") && process.variable("DRAWBRIDGE_RUN").is_none()
    };
    desk.processes().iter().any(app)
}
