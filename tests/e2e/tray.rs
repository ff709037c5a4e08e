//! The app outside its windows: the tray, notifications, the shortcut, second starts, links and
//! bundles that are opened with the app, a server that is killed, the exit.

use std::{fs, io::Write as _, path::Path, time::Duration};

use drawbridge_tests::{
    DesktopSession, Hub, clients::Endpoint, paths, portal::Portal, process, wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::app::{self, App};

/// Starts the app hidden in the tray, with an accepted server and a client.
fn start_hidden(desktop: &DesktopSession) -> (App<'_>, Endpoint) {
    let token = app::provision(desktop, "everything", &app::everything_command());
    let app = App::start(desktop, &["--hidden"]);
    app.driver
        .switch_to_window("the popup", |url| url.contains("#/popup"));
    app.driver.wait_for("popup-empty");
    desktop
        .cli(&["servers", "sync", "everything"])
        .expect_success();
    let url = app.url.clone();
    (app, Endpoint { url, token })
}

#[test]
fn the_tray_shows_pending_calls_and_opens_the_window() {
    let desktop = DesktopSession::new();
    let (app, endpoint) = start_hidden(&desktop);
    let labels = desktop.tray.all_labels();
    for label in ["Open Drawbridge", "Quit Drawbridge"] {
        assert!(
            labels.iter().any(|item| item == label),
            "the menu has '{label}': {labels:?}"
        );
    }
    assert!(!app.driver.is_visible(), "no window is visible");

    let call = app.begin_call(&endpoint, "everything__echo", &json!({"message": "knock"}));
    desktop.tray.wait_for_item("1 call waits for you");
    desktop.tray.wait_for_item("typescript → everything · echo");
    app.switch_to_popup();
    app.driver.wait_for_text("popup-position", "1 of 1");
    app.driver.click("approve-more");
    app.driver.click("approve-always");
    app.driver.save_screenshot("tray-always");
    // The button is enabled once the past calls that the rule would have matched are shown.
    app.driver.wait_until_enabled("approve-always-confirm");
    app.driver.click("approve-always-confirm");
    assert_eq!(call.wait_for_result().text, "Echo: knock");
    app.wait_until_popup_hides();
    wait_until("the tray shows no pending call", || {
        some_if(
            !desktop
                .tray
                .all_labels()
                .iter()
                .any(|label| label.contains("waits for you")),
        )
    });
    assert_eq!(
        app.call_and_wait(&endpoint, "everything__echo", &json!({"message": "again"}))
            .text,
        "Echo: again"
    );

    assert_eq!(app.driver.windows().len(), 1, "only the popup exists");
    desktop.tray.click("Open Drawbridge");
    app.switch_to_main();
    wait_until("the window is on the screen", || {
        some_if(app.driver.is_visible())
    });
    app.driver.save_screenshot("tray-opened");
}

#[test]
fn a_short_call_is_approved_in_the_menu() {
    let desktop = DesktopSession::new();
    let (app, endpoint) = start_hidden(&desktop);
    let call = app.begin_call(
        &endpoint,
        "everything__echo",
        &json!({"message": "knock_knock & wait"}),
    );
    let menu = desktop.tray.wait_for_item("typescript → everything · echo");
    assert_eq!(
        menu.child_labels(),
        [
            r#"{"message":"knock_knock & wait"}"#,
            "Show…",
            "Deny",
            "Approve once"
        ]
    );
    assert!(!menu.children[0].enabled, "the arguments cannot be clicked");
    desktop.tray.click("Approve once");
    assert_eq!(call.wait_for_result().text, "Echo: knock_knock & wait");
    app.wait_until_popup_hides();

    let second_call = app.begin_call(
        &endpoint,
        "everything__echo",
        &json!({"message": "knock_knock & wait"}),
    );
    desktop.tray.wait_for_item("typescript → everything · echo");
    desktop.tray.click("Deny");
    let result = second_call.wait_for_result();
    assert!(
        result.is_error && result.text.contains("The user denied this call"),
        "the approval covers only one call: {result:?}"
    );
}

#[test]
fn a_call_too_long_for_the_menu_is_not_approved_there() {
    let desktop = DesktopSession::new();
    let (app, endpoint) = start_hidden(&desktop);
    let call = app.begin_call(
        &endpoint,
        "everything__echo",
        &json!({"message": "x".repeat(300)}),
    );
    let menu = desktop.tray.wait_for_item("typescript → everything · echo");
    assert_eq!(
        menu.child_labels(),
        ["314 characters of arguments", "Show…", "Deny"]
    );
    let notification = desktop
        .notifications
        .wait_for_summary("typescript wants to call echo of everything");
    assert_eq!(notification.body, "Open to see the arguments");
    assert!(
        !notification
            .actions
            .iter()
            .any(|action| action == "approve"),
        "{notification:?}"
    );
    desktop.tray.click("Deny");
    assert!(call.wait_for_result().is_error);

    let bidi_call = app.begin_call(
        &endpoint,
        "everything__echo",
        &json!({"message": "a\u{202e}b"}),
    );
    let menu = desktop.tray.wait_for_item("typescript → everything · echo");
    assert_eq!(
        menu.child_labels(),
        [r#"{"message":"a⟨U+202E⟩b"}"#, "Show…", "Deny"]
    );
    desktop.tray.click("Show…");
    app.switch_to_popup();
    desktop.tray.click("Deny");
    assert!(bidi_call.wait_for_result().is_error);
}

#[test]
fn no_call_runs_while_calls_are_paused() {
    let desktop = DesktopSession::new();
    let (app, endpoint) = start_hidden(&desktop);
    let call = app.begin_call(&endpoint, "everything__echo", &json!({"message": "knock"}));
    desktop.tray.wait_for_item("typescript → everything · echo");
    desktop.tray.click("Until you resume calls");
    let result = call.wait_for_result();
    assert!(
        result.is_error && result.text.contains("All calls are paused"),
        "a pending call is denied: {result:?}"
    );
    desktop.tray.wait_for_item("All calls are paused");
    app.wait_until_popup_hides();
    desktop
        .cli(&["policy", "set", "everything", "allow"])
        .expect_success();
    assert!(
        app.call_and_wait(&endpoint, "everything__echo", &json!({"message": "x"}))
            .is_error,
        "no rule allows a call during a pause"
    );
    desktop.tray.click("Resume calls");
    desktop.tray.wait_for_item("Pause all calls");
    assert_eq!(
        app.call_and_wait(&endpoint, "everything__echo", &json!({"message": "x"}))
            .text,
        "Echo: x"
    );
}

#[test]
fn a_call_is_decided_in_its_notification() {
    let desktop = DesktopSession::new();
    let (app, endpoint) = start_hidden(&desktop);
    let title = "typescript wants to call echo of everything";
    let denied = app.begin_call(&endpoint, "everything__echo", &json!({"message": "one"}));
    let notification = desktop.notifications.wait_for_summary(title);
    assert_eq!(notification.body, r#"{"message":"one"}"#);
    assert_eq!(notification.actions, ["show", "deny", "approve", "default"]);
    desktop.notifications.click(notification.id, "deny");
    let result = denied.wait_for_result();
    assert!(
        result.is_error && result.text.contains("The user denied this call"),
        "{result:?}"
    );
    app.wait_until_popup_hides();

    let approved = app.begin_call(&endpoint, "everything__echo", &json!({"message": "two"}));
    let notification = desktop.notifications.wait_for_summary(title);
    desktop.notifications.click(notification.id, "approve");
    assert_eq!(approved.wait_for_result().text, "Echo: two");
}

#[test]
fn a_late_click_decides_nothing() {
    let desktop = DesktopSession::new();
    let (app, endpoint) = start_hidden(&desktop);
    let call = app.begin_call(&endpoint, "everything__echo", &json!({"message": "one"}));
    let notification = desktop
        .notifications
        .wait_for_summary("typescript wants to call echo of everything");
    desktop.tray.click("Deny");
    assert!(call.wait_for_result().is_error);
    let second_call = app.begin_call(&endpoint, "everything__echo", &json!({"message": "one"}));
    desktop.tray.wait_for_item("Approve once");
    desktop.notifications.click(notification.id, "approve");
    wait_until("the log reports the late click", || {
        some_if(is_logged(
            &desktop.data_dir(),
            "too late for approvals.decide",
        ))
    });
    desktop.tray.click("Deny");
    assert!(
        second_call.wait_for_result().is_error,
        "the click on the notification of the first call does not approve the second call"
    );
}

#[test]
fn pending_calls_share_one_notification() {
    let desktop = DesktopSession::new();
    let (app, endpoint) = start_hidden(&desktop);
    let calls: Vec<_> = (0..3)
        .map(|number| {
            app.begin_call(
                &endpoint,
                "everything__echo",
                &json!({"message": format!("call {number}")}),
            )
        })
        .collect();
    let notification = desktop
        .notifications
        .wait_for_summary("3 calls wait for you");
    assert_eq!(notification.actions, ["show", "default"]);
    desktop.tray.click("Until you resume calls");
    for call in calls {
        assert!(call.wait_for_result().is_error);
    }
    desktop.notifications.wait_until_none();
    assert!(
        desktop.notifications.shown().len() <= 3,
        "{:?}",
        desktop.notifications.shown()
    );
}

#[test]
fn a_missed_call_leaves_a_notification_that_opens_the_missed_calls() {
    let desktop = DesktopSession::new();
    let (app, endpoint) = start_hidden(&desktop);
    desktop
        .cli(&["settings", "set", "approval-timeout", "5s"])
        .expect_success();
    let miss = |message: &str| {
        let result = app.call_and_wait(&endpoint, "everything__echo", &json!({"message": message}));
        assert!(result.is_error, "{result:?}");
    };
    miss("one");
    let notification = desktop
        .notifications
        .wait_for_summary("Nobody decided in time");
    assert_eq!(
        notification.body,
        "typescript wanted to call echo of everything. You can allow a retry within two minutes."
    );
    assert_eq!(notification.actions, ["show", "default"]);
    miss("two");
    let notification = desktop
        .notifications
        .wait_for_summary("2 calls were missed");
    desktop.notifications.click(notification.id, "show");
    app.switch_to_main();
    app.driver.wait_for("missed-row");
    assert_eq!(app.driver.count_parts("missed-row"), 2);

    app.driver.click("nav-servers");
    miss("three");
    // The third missed call in a row mutes the client. The notification of the mute is more urgent
    // than the notification of the missed calls.
    let notification = desktop
        .notifications
        .wait_for_summary("typescript is muted");
    desktop.notifications.click(notification.id, "show");
    app.driver.wait_for("missed-row");
    desktop.notifications.wait_until_none();
}

#[test]
fn a_failed_server_and_changed_tools_leave_notifications_that_open_the_server() {
    let desktop = DesktopSession::new();
    let program = paths::path_text(paths::built_binary("upstream-faulty"));
    let file = desktop.file("tools.json");
    let write_tool = |description: &str| {
        let tools =
            json!([{"name": "pay", "description": description, "inputSchema": {"type": "object"}}]);
        fs::write(&file, tools.to_string()).expect("write the tools");
    };
    write_tool("Pays a bill");
    let hub = Hub::serve(&desktop);
    let tools = paths::path_text(&file);
    let shop = json!({"name": "shop", "command": program, "args": ["--tools", tools]});
    hub.run_verb("servers.add", &json!({"spec": shop}));
    hub.wait_until_synced("shop");
    hub.stop(Signal::SIGTERM);

    let app = App::start(&desktop, &["--hidden"]);
    desktop.cli(&["servers", "sync", "shop"]).expect_success();
    write_tool("Pays a bill, and takes a fee");
    for verb in ["restart", "sync"] {
        desktop.cli(&["servers", verb, "shop"]).expect_success();
    }
    let notification = desktop
        .notifications
        .wait_for_summary("shop changed its definitions");
    assert_eq!(
        notification.body,
        "1 new or changed definition waits for your acceptance."
    );
    desktop.notifications.click(notification.id, "show");
    app.switch_to_main();
    app.driver
        .wait_for_text("unaccepted-definitions", "takes a fee");

    let crashing = json!({"name": "crashing", "command": program, "args": ["--crash"]});
    app.run_verb("servers_add", &json!({"spec": crashing}));
    let notification = desktop.notifications.wait_for_summary("crashing failed");
    desktop.notifications.click(notification.id, "show");
    app.driver
        .wait_for_text("server-detail server-reason", "exit code 7");
    desktop.notifications.wait_until_none();
}

#[test]
fn the_shortcut_opens_the_pending_calls_or_else_the_window() {
    let desktop = DesktopSession::new();
    let (app, endpoint) = start_hidden(&desktop);
    desktop.press("ctrl+alt+d");
    app.switch_to_main();
    wait_until("the window is on the screen", || {
        some_if(app.driver.is_visible())
    });

    let call = app.begin_call(&endpoint, "everything__echo", &json!({"message": "knock"}));
    app.switch_to_popup();
    desktop
        .notifications
        .wait_for_summary("typescript wants to call echo of everything");
    desktop.press("ctrl+alt+d");
    desktop.notifications.wait_until_none();
    wait_until("the popup has the focus", || {
        some_if(app.driver.run_script("return document.hasFocus()") == true)
    });
    desktop.tray.click("Approve once");
    assert_eq!(call.wait_for_result().text, "Echo: knock");
}

#[test]
fn if_the_shortcut_is_unavailable_the_app_logs_it_and_continues() {
    let desktop = DesktopSession::new();
    let (_app, _) = start_hidden(&desktop);
    let assert_runs_and_logs = |name: &str, message: &str, variables: &[(&str, &str)]| {
        let mut command = desktop.command(paths::built_binary("drawbridge-desktop"));
        command
            .arg("--data-dir")
            .arg(desktop.file(name))
            .args(["--port", "0", "--hidden"]);
        command.envs(variables.iter().copied());
        let mut app = process::Process::start(&desktop, name, &mut command);
        wait_until(format!("the log contains '{message}'"), || {
            some_if(is_logged(&desktop.file(name), message))
        });
        assert!(app.exit_status().is_none(), "{}", app.stderr());
    };
    assert_runs_and_logs(
        "taken",
        "no global shortcut: the desktop refused Ctrl+Alt+D",
        &[],
    );
    assert_runs_and_logs(
        "wayland",
        "no global shortcut: the desktop's portal does not bind the shortcut",
        &[("WAYLAND_DISPLAY", "wayland-0")],
    );
}

#[test]
fn on_wayland_the_shortcut_is_bound_by_the_portal() {
    let mut desktop = DesktopSession::new();
    // The windows still use X11.
    desktop.set_variable("WAYLAND_DISPLAY", "wayland-0");
    let portal = Portal::start(&desktop);
    let app = App::start(&desktop, &["--hidden"]);
    let shortcut = portal.wait_for_shortcut();
    assert_eq!(shortcut.preferred_keys, "CTRL+ALT+d");
    assert_eq!(
        shortcut.description,
        "Show the calls that wait for you in Drawbridge"
    );
    portal.press(&shortcut);
    app.switch_to_main();
    wait_until("the window is on the screen", || {
        some_if(app.driver.is_visible())
    });
}

#[test]
fn on_wayland_the_app_runs_without_a_shortcut_that_the_person_refused() {
    let mut desktop = DesktopSession::new();
    desktop.set_variable("WAYLAND_DISPLAY", "wayland-0");
    let portal = Portal::start_and_refuse(&desktop);
    let _app = App::start(&desktop, &["--hidden"]);
    portal.wait_for_shortcut();
    wait_until("the log says that there is no shortcut", || {
        some_if(is_logged(
            &desktop.data_dir(),
            "no global shortcut: the desktop's portal does not bind the shortcut",
        ))
    });
    assert!(is_app_running(&desktop));
}

/// Returns whether the log in a data folder contains `text`.
fn is_logged(data_dir: &Path, text: &str) -> bool {
    let files = fs::read_dir(data_dir.join("logs"))
        .into_iter()
        .flatten()
        .flatten();
    files
        .into_iter()
        .any(|file| fs::read_to_string(file.path()).is_ok_and(|log| log.contains(text)))
}

#[test]
fn the_next_call_restarts_a_killed_server() {
    let desktop = DesktopSession::new();
    let (app, endpoint) = start_hidden(&desktop);
    desktop
        .cli(&["policy", "set", "everything", "allow"])
        .expect_success();
    assert_eq!(
        app.call_and_wait(&endpoint, "everything__echo", &json!({"message": "one"}))
            .text,
        "Echo: one"
    );
    let server = || {
        desktop
            .server_processes()
            .into_iter()
            .find(|process| process.command.contains("server-everything"))
    };
    let first_pid = server().expect("the server runs").pid;
    process::signal_process(first_pid, Signal::SIGKILL);
    wait_until("the server is gone", || {
        some_if(server().is_none_or(|process| process.pid != first_pid))
    });
    assert_eq!(
        app.call_and_wait(&endpoint, "everything__echo", &json!({"message": "two"}))
            .text,
        "Echo: two"
    );
    assert_ne!(server().expect("the server runs again").pid, first_pid);
}

#[test]
fn no_process_is_left_after_the_app_quits() {
    let desktop = DesktopSession::new();
    let (app, endpoint) = start_hidden(&desktop);
    desktop
        .cli(&["policy", "set", "everything", "allow"])
        .expect_success();
    app.call_and_wait(&endpoint, "everything__echo", &json!({"message": "x"}));
    assert!(!desktop.server_processes().is_empty(), "the server runs");
    desktop.tray.click("Quit Drawbridge");
    wait_until("the app has exited", || some_if(!is_app_running(&desktop)));
    desktop.assert_no_survivors();
}

#[test]
fn no_process_is_left_after_the_app_is_killed() {
    let desktop = DesktopSession::new();
    let (app, endpoint) = start_hidden(&desktop);
    desktop
        .cli(&["policy", "set", "everything", "allow"])
        .expect_success();
    app.call_and_wait(&endpoint, "everything__echo", &json!({"message": "x"}));
    assert!(!desktop.server_processes().is_empty(), "the server runs");
    process::signal_process(app.find_process().pid, Signal::SIGKILL);
    desktop.assert_no_survivors();
    wait_until("the app has exited", || some_if(!is_app_running(&desktop)));
}

#[test]
fn a_second_start_shows_the_window_of_the_first() {
    let desktop = DesktopSession::new();
    let (app, _) = start_hidden(&desktop);
    let mut command = desktop.command(paths::built_binary("drawbridge-desktop"));
    command
        .arg("--data-dir")
        .arg(desktop.data_dir())
        .args(["--port", "0"]);
    let mut second_app = process::Process::start(&desktop, "second", &mut command);
    let (status, _) = second_app.wait_until_exit(Duration::from_secs(15));
    assert!(
        status.success(),
        "the second app exits without an error: {status}\n{}",
        second_app.stderr()
    );
    app.switch_to_main();
    wait_until("the window of the first app is on the screen", || {
        some_if(app.driver.is_visible())
    });
}

#[test]
fn a_start_while_the_app_quits_starts_it_again() {
    let desktop = DesktopSession::new();
    // This server stops slowly: its shell waits after the program has ended, and ignores SIGTERM.
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    let script = format!("trap '' TERM; '{program}'; sleep 60");
    app::provision(
        &desktop,
        "probe",
        &["sh".to_owned(), "-c".to_owned(), script],
    );
    let start = |name| {
        let mut command = desktop.command(paths::built_binary("drawbridge-desktop"));
        command.arg("--data-dir").arg(desktop.data_dir());
        command.args(["--port", "0", "--skip-config-gen"]);
        process::Process::start(&desktop, name, &mut command)
    };
    let wait_for_windows = |count| {
        wait_until(format!("{count} windows are on the screen"), || {
            some_if(desktop.count_visible_windows("Drawbridge") == count)
        });
    };
    let mut first_app = start("first");
    wait_for_windows(1);
    desktop.tray.wait_for_item("Quit Drawbridge");
    desktop.cli(&["servers", "sync", "probe"]).expect_success();
    desktop.tray.click("Quit Drawbridge");
    wait_for_windows(0);
    let mut second_app = start("second");
    let (status, _) = second_app.wait_until_exit(Duration::from_secs(15));
    assert!(
        status.success(),
        "the second app exits without an error: {status}\n{}",
        second_app.stderr()
    );
    let (status, _) = first_app.wait_until_exit(Duration::from_secs(30));
    assert!(status.success(), "{status}\n{}", first_app.stderr());
    wait_for_windows(1);
    desktop.tray.click("Quit Drawbridge");
    wait_until("the app has exited", || some_if(!is_app_running(&desktop)));
    desktop.assert_no_survivors();
}

#[test]
fn a_link_fills_in_the_form_of_a_new_server_and_adds_nothing() {
    let desktop = DesktopSession::new();
    let link = "drawbridge://add?name=Notes&command=npx&arg=-y&arg=notes-mcp&env=NOTES_KEY";
    let app = App::start(&desktop, &["--hidden", link]);
    app.switch_to_main();
    app.driver.wait_for_text("server-link", "npx -y notes-mcp");
    app.driver.save_screenshot("tray-link");

    let mut command = desktop.command(paths::built_binary("drawbridge-desktop"));
    command.arg("--data-dir").arg(desktop.data_dir());
    command.arg("drawbridge://add?name=Docs&url=https://docs.example.com/mcp");
    let mut second_app = process::Process::start(&desktop, "second", &mut command);
    let (status, _) = second_app.wait_until_exit(Duration::from_secs(15));
    assert!(status.success(), "{status}\n{}", second_app.stderr());
    app.driver
        .wait_for_text("server-link", "https://docs.example.com/mcp");

    let servers = desktop.cli(&["servers", "list", "--json"]).expect_json();
    for name in ["Notes", "Docs"] {
        assert!(!servers.to_string().contains(name), "{servers}");
    }
}

#[test]
fn without_a_tray_the_app_says_how_to_reopen_it_and_keeps_running() {
    let desktop = DesktopSession::without_tray();
    let app = App::open(&desktop);
    app.driver
        .wait_for_text("reopen-hint-banner", "Ctrl+Alt+D shows the pending calls.");
    app.driver.save_screenshot("tray-none");
    let notification = desktop
        .notifications
        .wait_for_summary("Your desktop shows no tray icons");
    assert!(
        notification.body.contains("start Drawbridge again"),
        "{notification:?}"
    );
    let close = || {
        desktop.close_window("Drawbridge");
        app.driver.wait_for("close-dialog");
    };
    close();
    for part in ["close-cancel", "close-quit", "close-keep-running"] {
        app.driver.wait_until_visible(part);
    }
    app.driver.save_screenshot("tray-none-close");
    app.driver.click("close-cancel");
    app.driver.wait_until_gone("close-dialog");
    close();
    app.driver.click_to_quit("close-keep-running");
    let wait_until_closed = || {
        wait_until("only the popup exists", || {
            some_if(app.driver.windows().len() == 1)
        });
        assert!(is_app_running(&desktop));
        desktop
            .notifications
            .wait_for_summary("Drawbridge keeps running")
    };
    let notification = wait_until_closed();
    desktop.notifications.click(notification.id, "show");
    app.switch_to_main();
    app.driver.wait_for("nav-servers");
    assert_eq!(
        app.driver.count_parts("reopen-hint-banner"),
        0,
        "the person has read the hint"
    );

    desktop.close_window("Drawbridge");
    let notification = wait_until_closed();
    desktop.notifications.click(notification.id, "quit");
    wait_until("the app has exited", || some_if(!is_app_running(&desktop)));
    desktop.assert_no_survivors();
}

#[test]
fn with_a_tray_the_window_closes_and_opens_again() {
    let desktop = DesktopSession::new();
    let app = App::open(&desktop);
    desktop.tray.wait_for_item("Open Drawbridge");
    desktop.close_window("Drawbridge");
    wait_until("only the popup exists", || {
        some_if(app.driver.windows().len() == 1)
    });
    assert!(is_app_running(&desktop));
    desktop.tray.click("Open Drawbridge");
    app.switch_to_main();
}

fn is_app_running(desktop: &DesktopSession) -> bool {
    // Only the processes that a hub starts, such as servers, have this variable.
    let is_app = |process: &process::RunningProcess| {
        process.command.contains("drawbridge-desktop")
            && process.variable("DRAWBRIDGE_RUN").is_none()
    };
    desktop.processes().iter().any(is_app)
}

#[test]
fn a_bundle_opens_its_form_in_the_running_app_and_adds_nothing() {
    let desktop = DesktopSession::new();
    let manifest = json!({
        "manifest_version": "0.3", "name": "notes", "version": "1.2.0", "display_name": "Notes",
        "description": "Finds notes", "author": {"name": "Ada"},
        "server": {
            "type": "node", "entry_point": "index.js",
            "mcp_config": {"command": "node", "args": ["${__dirname}/index.js"]},
        },
    });
    let bundle = paths::path_text(desktop.file("home/my notes.mcpb"));
    let mut zip = zip::ZipWriter::new(fs::File::create(&bundle).expect("create the bundle"));
    for (name, content) in [
        ("manifest.json", manifest.to_string()),
        ("index.js", String::new()),
    ] {
        zip.start_file(name, zip::write::SimpleFileOptions::default())
            .expect("an entry");
        zip.write_all(content.as_bytes()).expect("its content");
    }
    zip.finish().expect("an archive");
    let app = App::start(&desktop, &["--hidden", &bundle]);
    app.switch_to_main();
    app.driver.wait_for_text("bundle", "Finds notes");
    app.driver.save_screenshot("bundle-opened");

    let text = desktop.file("home/notes.txt");
    fs::write(&text, "no archive").expect("write a file");
    let huge = desktop.file("home/huge.mcpb");
    let file = fs::File::create(&huge).expect("create a file");
    file.set_len(300 * 1024 * 1024).expect("a sparse file");
    let text_url = format!("file://{}", text.display());
    let start_again = |argument: &str| {
        let mut command = desktop.command(paths::built_binary("drawbridge-desktop"));
        command.current_dir(desktop.file("home"));
        command.arg("--data-dir").arg(desktop.data_dir());
        command.arg(argument);
        let mut second_app = process::Process::start(&desktop, "second", &mut command);
        let (status, _) = second_app.wait_until_exit(Duration::from_secs(15));
        assert!(status.success(), "{status}\n{}", second_app.stderr());
    };
    for (argument, reason) in [
        (text_url.as_str(), "not an MCP bundle"),
        ("missing.mcpb", "home/missing.mcpb"),
        (".", "it is a folder"),
        ("huge.mcpb", "larger than 256 MiB"),
    ] {
        start_again(argument);
        app.driver.wait_for_text("bundle-error", reason);
    }
    app.driver.save_screenshot("bundle-refused");

    // A second start with a good bundle shows its form instead of the error.
    start_again(&bundle);
    app.driver.wait_for_text("bundle", "Finds notes");

    // A bundle that was missing is opened once it exists.
    start_again("late.mcpb");
    app.driver.wait_for_text("bundle-error", "home/late.mcpb");
    fs::copy(&bundle, desktop.file("home/late.mcpb")).expect("copy the bundle");
    app.driver.click("bundle-retry");
    app.driver.wait_for_text("bundle", "Finds notes");
    assert!(app.driver.text("bundle-path").contains("home/late.mcpb"));
    assert_eq!(app.driver.count_parts("bundle-error"), 0);

    let servers = desktop.cli(&["servers", "list", "--json"]).expect_json();
    assert!(!servers.to_string().contains("Notes"), "{servers}");
    assert!(!desktop.data_dir().join("bundles").exists());
}
