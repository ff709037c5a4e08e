//! The approval prompt in the real popup: each choice has the effect that its button names, and
//! nothing else decides.

use std::{thread, time::Duration};

use drawbridge_tests::{
    DesktopSession, Home, Hub, McpClient,
    hub::received_calls,
    mcp::Answer,
    store,
    wait::{shift_moment, some_if},
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::app::App;

/// The app, hidden in the tray, and a server (`probe`) that records the messages that it receives.
struct PromptFixture<'a> {
    desktop: &'a DesktopSession,
    app: App<'a>,
}

impl<'a> PromptFixture<'a> {
    /// Starts the app with an approval timeout of `seconds`.
    fn with_approval_timeout(desktop: &'a DesktopSession, seconds: u32) -> Self {
        let hub = Hub::serve(desktop);
        hub.add_probe(&[]);
        hub.set_approval_timeout(seconds);
        hub.stop(Signal::SIGTERM);
        let app = App::start(desktop, &["--hidden"]);
        app.driver
            .switch_to_window("the popup", |url| url.contains("#/popup"));
        app.driver.wait_for("popup-empty");
        Self { desktop, app }
    }

    /// Adds a client and connects it. Returns its connection and its token.
    fn add_client(&self, name: &str) -> (McpClient, String) {
        let added = self
            .desktop
            .cli(&["clients", "add", name, "--json"])
            .expect_json();
        let token = added["token"].as_str().expect("a token").to_owned();
        (McpClient::connect(&self.app.url, &token), token)
    }

    /// Begins a call and waits until the popup shows the approval. `name` is that of the client.
    fn begin_call(
        &self,
        client: &McpClient,
        name: &str,
        arguments: &str,
    ) -> thread::JoinHandle<Answer> {
        let call = client.spawn_call("probe__echo", arguments);
        self.app.switch_to_popup();
        self.app.driver.wait_for_text("approval-card", name);
        call
    }

    /// Denies the approval that the popup shows.
    fn deny_call(&self) {
        self.app.driver.click("deny");
        self.app.driver.click("deny-confirm");
        self.app.wait_until_popup_hides();
    }

    /// Checks that a call with these arguments waits for a person, and denies it.
    fn assert_asks(&self, client: &McpClient, name: &str, arguments: &str) {
        let call = self.begin_call(client, name, arguments);
        self.deny_call();
        assert!(
            call.join().expect("the call ends").is_error(),
            "{arguments} of {name} was denied"
        );
    }

    /// Returns the rules of a client.
    fn list_rules(&self, client: &str) -> Vec<Value> {
        let listed = self
            .desktop
            .cli(&["policy", "list", "--json"])
            .expect_json();
        let rules = listed["rules"].as_array().expect("rules").clone();
        rules
            .into_iter()
            .filter(|rule| rule["client"] == client)
            .collect()
    }

    fn list_pending(&self) -> Vec<Value> {
        let waiting = self
            .desktop
            .cli(&["approvals", "list", "--json"])
            .expect_json();
        waiting.as_array().expect("a list").clone()
    }
}

#[track_caller]
fn assert_ran(call: thread::JoinHandle<Answer>, arguments: &str) {
    let answer = call.join().expect("the call ends");
    assert_eq!(answer.text(), arguments, "{}", answer.raw);
}

#[test]
fn each_approval_covers_exactly_what_its_button_says() {
    let desktop = DesktopSession::new();
    let scene = PromptFixture::with_approval_timeout(&desktop, 50);
    let driver = &scene.app.driver;

    let (client, _) = scene.add_client("once");
    let call = scene.begin_call(&client, "once", r#"{"n":1.0}"#);
    driver.click("approve-once");
    assert_ran(call, r#"{"n":1.0}"#);
    assert!(
        received_calls(&desktop)
            .last()
            .is_some_and(|line| line.contains(r#""arguments":{"n":1.0}"#)),
        "byte for byte"
    );
    scene.assert_asks(&client, "once", r#"{"n":1.0}"#);
    assert_eq!(scene.list_rules("once"), Vec::<Value>::new());

    for (choice, name, life) in [
        ("approve-15m", "quarter", "until"),
        ("approve-1h", "hour", "until"),
        ("approve-10-calls", "ten", "calls"),
        ("approve-session", "session", "session"),
    ] {
        let (client, token) = scene.add_client(name);
        let call = scene.begin_call(&client, name, r#"{"n":1}"#);
        driver.click("approve-more");
        driver.click(choice);
        assert_ran(call, r#"{"n":1}"#);
        assert_eq!(
            client.call("probe__echo", r#"{"n":2}"#).text(),
            r#"{"n":2}"#,
            "{choice}: it is not asked again"
        );
        let rules = scene.list_rules(name);
        assert_eq!(rules.len(), 1, "{choice}: {rules:?}");
        assert_eq!(rules[0]["lifetime"]["kind"], life, "{choice}: {rules:?}");
        if life == "calls" {
            assert_eq!(
                rules[0]["remaining"], 9,
                "the later call is one of the ten: {rules:?}"
            );
        }
        if life == "session" {
            scene.assert_asks(
                &McpClient::connect(&scene.app.url, &token),
                name,
                r#"{"n":3}"#,
            );
        }
    }
}

#[test]
fn an_approval_can_be_limited_to_arguments() {
    let desktop = DesktopSession::new();
    let scene = PromptFixture::with_approval_timeout(&desktop, 50);
    let driver = &scene.app.driver;
    let (client, _) = scene.add_client("careful");
    let arguments = |path: &str, mode: &str| format!(r#"{{"mode":"{mode}","path":"{path}"}}"#);
    let call = scene.begin_call(&client, "careful", &arguments("/srv/notes/a.md", "r"));
    driver.click("approve-more");
    driver.tick_checkbox("condition-argument[data-key=mode]");
    driver.tick_checkbox("condition-argument[data-key=path]");
    driver.select_option("condition-choice[data-key=path]", "1");
    driver.save_screenshot("prompt-only-where");
    driver.click("approve-1h");
    assert_ran(call, &arguments("/srv/notes/a.md", "r"));
    let other = arguments("/srv/notes/b/c.md", "r");
    assert_eq!(
        client.call("probe__echo", &other).text(),
        other,
        "another file of the folder"
    );
    scene.assert_asks(&client, "careful", &arguments("/srv/notes/a.md", "w"));
    scene.assert_asks(&client, "careful", &arguments("/srv/notes/../a.md", "r"));
}

#[test]
fn always_shows_its_rule_and_a_dry_run() {
    let desktop = DesktopSession::new();
    let scene = PromptFixture::with_approval_timeout(&desktop, 50);
    let driver = &scene.app.driver;
    let (client, _) = scene.add_client("keen");
    for n in [1, 2] {
        let call = scene.begin_call(&client, "keen", &format!(r#"{{"n":{n}}}"#));
        driver.click("approve-once");
        assert_ran(call, &format!(r#"{{"n":{n}}}"#));
        scene.app.wait_until_popup_hides();
    }
    let call = scene.begin_call(&client, "keen", r#"{"n":2}"#);
    driver.click("approve-more");
    assert_eq!(
        driver.count_parts("approve-always-confirm"),
        0,
        "it is a second step"
    );
    driver.click("approve-always");
    driver.wait_for_text("preview-rule", "allow echo of probe for keen");
    driver.wait_for_text("preview-matched", "matched 2 of 2 past calls");
    driver.tick_checkbox("condition-argument[data-key=n]");
    driver.wait_for_text("preview-rule", "if /n is 2");
    driver.wait_for_text("preview-matched", "matched 1 of 2 past calls");
    driver.save_screenshot("prompt-always");
    assert_eq!(
        scene.list_rules("keen"),
        Vec::<Value>::new(),
        "a look makes no rule"
    );
    driver.click("approve-always-confirm");
    assert_ran(call, r#"{"n":2}"#);
    let rules = scene.list_rules("keen");
    assert!(
        rules.len() == 1 && rules[0]["lifetime"]["kind"] == "until_revoked",
        "{rules:?}"
    );
    assert_eq!(
        client.call("probe__echo", r#"{"n":2}"#).text(),
        r#"{"n":2}"#
    );
    scene.assert_asks(&client, "keen", r#"{"n":1}"#);
}

#[test]
fn a_call_runs_with_the_edited_arguments() {
    let desktop = DesktopSession::new();
    let scene = PromptFixture::with_approval_timeout(&desktop, 50);
    let driver = &scene.app.driver;
    desktop
        .cli(&[
            "policy",
            "add",
            "probe/echo",
            "deny",
            "--when",
            "/path in /root",
        ])
        .expect_success();
    let (client, _) = scene.add_client("hasty");
    let call = scene.begin_call(&client, "hasty", r#"{"path":"/etc/passwd","n":1.50}"#);
    driver.click("edit");
    assert!(
        driver.text("edit-text").contains("1.50"),
        "it begins with what the client sent"
    );
    driver.fill("edit-text", "{\"path\": \"/tmp/notes\",\n \"n\": }");
    driver.wait_for_text("edit-fault", "Line 2");
    assert!(
        !driver.is_enabled("approve-edited"),
        "what is no JSON cannot be approved"
    );
    driver.fill("edit-text", r#"{"path": "/root/x", "n": 1.50}"#);
    driver.click("approve-edited");
    driver.wait_for_text("approval-error", "denied by the rule: deny echo of probe");
    assert_eq!(scene.list_pending().len(), 1, "it goes on waiting");
    driver.fill("edit-text", "{\"path\": \"/tmp/notes\",\n \"n\": 2.50}");
    driver.wait_until_gone("approval-error");
    driver.wait_for_text("edit-diff", "/etc/passwd");
    driver.wait_for_text("edit-diff", "/tmp/notes");
    driver.save_screenshot("prompt-edit");
    driver.click("approve-edited");
    assert_ran(call, r#"{"n":2.5,"path":"/tmp/notes"}"#);
    let heard = received_calls(&desktop);
    assert!(
        heard.len() == 1 && heard[0].contains("2.50") && heard[0].contains("/tmp/notes"),
        "{heard:?}"
    );
    assert!(!heard[0].contains("/etc/passwd"), "{heard:?}");
    let calls = desktop.cli(&["calls", "list", "--json"]).expect_json();
    assert_eq!(calls[0]["is_edited"], true, "{calls}");
}

#[test]
fn a_call_times_out_with_a_countdown_and_a_late_approval_covers_one_identical_retry() {
    let desktop = DesktopSession::new();
    let scene = PromptFixture::with_approval_timeout(&desktop, 6);
    let driver = &scene.app.driver;
    let (client, _) = scene.add_client("patient");
    let call = scene.begin_call(&client, "patient", r#"{"n":1}"#);
    let left = || {
        driver
            .text("countdown")
            .trim_end_matches(" s")
            .parse::<u32>()
            .expect("a number of seconds")
    };
    let first = left();
    assert!((1..=6).contains(&first), "{first} s are left");
    wait_until("the countdown goes on", || {
        some_if(driver.count_parts("countdown") == 0 || left() < first)
    });
    let answer = call.join().expect("the call ends");
    assert!(
        answer.is_error() && answer.text().starts_with("Timed out"),
        "{}",
        answer.raw
    );
    scene.app.wait_until_popup_hides();
    assert_eq!(received_calls(&desktop), Vec::<String>::new());

    desktop.tray.click("Open Drawbridge");
    scene.app.switch_to_main();
    driver.click("nav-approvals");
    driver.wait_for_text("missed-row", "patient");
    driver.save_screenshot("prompt-missed");
    driver.click("allow-retry");
    driver.wait_until_gone("missed-row");
    assert_eq!(
        received_calls(&desktop),
        Vec::<String>::new(),
        "nothing runs by itself"
    );
    assert_eq!(
        client.call("probe__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#,
        "the identical retry crosses"
    );
    let again = client.call("probe__echo", r#"{"n":1}"#);
    assert!(again.text().starts_with("Timed out"), "once: {}", again.raw);
}

#[test]
fn a_held_enter_key_decides_nothing_and_the_keyboard_can_decide() {
    let desktop = DesktopSession::new();
    let scene = PromptFixture::with_approval_timeout(&desktop, 600);
    let driver = &scene.app.driver;
    let (client, _) = scene.add_client("typist");
    let keys = "window.keys = {Enter: 0, Tab: 0}; \
        window.addEventListener('keydown', event => { window.keys[event.key] = (window.keys[event.key] ?? 0) + 1 }, true)";
    driver.run_script(keys);
    let pressed = |key: &str| {
        driver
            .run_script(&format!("return window.keys['{key}']"))
            .as_u64()
            .unwrap_or(0)
    };

    // The worst case: the key is already held down when the popup opens, and the popup has the
    // focus.
    let held = desktop.hold("Return");
    let call = scene.begin_call(&client, "typist", r#"{"n":1}"#);
    desktop.press("ctrl+alt+d");
    wait_until("the popup has the keyboard", || {
        some_if(driver.run_script("return document.hasFocus()") == true)
    });
    driver.wait_until_enabled("approve-once");
    let before = pressed("Enter");
    wait_until("Enter goes on arriving", || {
        some_if(pressed("Enter") > before + 10)
    });
    // The same holds if a pointer click has left the focus on a button.
    driver.run_script("document.querySelector('[data-testid=approve-once]').focus()");
    let before = pressed("Enter");
    wait_until("Enter goes on arriving", || {
        some_if(pressed("Enter") > before + 10)
    });
    drop(held);
    assert_eq!(scene.list_pending().len(), 1, "it decided nothing");
    assert_eq!(received_calls(&desktop), Vec::<String>::new());

    // Moving the focus to the button with Tab is deliberate, so Enter works then.
    let focused = "return document.activeElement?.dataset.testid ?? ''";
    driver.run_script("document.activeElement?.blur()");
    wait_until("Tab leads to the button", || {
        desktop.press("Tab");
        some_if(driver.run_script(focused) == "approve-once")
    });
    desktop.press("Return");
    assert_ran(call, r#"{"n":1}"#);
    scene.app.wait_until_popup_hides();
}

#[test]
fn a_hundred_calls_share_one_window_and_are_decided_together() {
    let desktop = DesktopSession::new();
    let scene = PromptFixture::with_approval_timeout(&desktop, 600);
    let driver = &scene.app.driver;
    let names = ["ant", "bee", "cat", "dog", "eel"];
    let clients: Vec<McpClient> = names.iter().map(|name| scene.add_client(name).0).collect();
    let calls: Vec<Vec<_>> = (clients.iter().enumerate())
        .map(|(at, client)| {
            // All calls of the last client are identical.
            let arguments = |n: usize| {
                if at == 4 {
                    r#"{"n":0}"#.to_owned()
                } else {
                    format!(r#"{{"n":{n}}}"#)
                }
            };
            (0..20)
                .map(|n| client.spawn_call("probe__echo", &arguments(n)))
                .collect()
        })
        .collect();
    wait_until("all of them wait", || {
        some_if(scene.list_pending().len() == 100)
    });
    scene.app.switch_to_popup();
    driver.wait_for_text("popup-position", "1 of 5");
    driver.wait_for_text("popup-more", "80 more wait");
    driver.wait_for_text("batch-open", "Decide all 20");
    desktop.tray.wait_for_item("100 calls wait for you");
    assert_eq!(
        desktop.count_visible_windows("Drawbridge"),
        1,
        "there is one window"
    );
    driver.save_screenshot("prompt-hundred");
    let refused = clients[0].call("probe__echo", r#"{"n":21}"#);
    assert!(refused.text().contains("Queue full"), "{}", refused.raw);

    for left in (0..5_usize).rev() {
        driver.wait_for_text("popup-position", &format!("1 of {}", left + 1));
        driver.click("batch-open");
        driver.wait_for("batch-list");
        if left % 2 == 0 {
            driver.run_script(
                "const list = document.querySelector('[data-testid=batch-list]'); list.scrollTop = list.scrollHeight",
            );
            driver.click("batch-approve");
        } else {
            driver.click("batch-deny");
            driver.fill("deny-reason", "too many");
            driver.click("deny-confirm");
        }
        wait_until("they are decided", || {
            some_if(scene.list_pending().len() == left * 20)
        });
    }
    scene.app.wait_until_popup_hides();
    let mut refused = 0;
    for answers in calls {
        let answers: Vec<Answer> = answers
            .into_iter()
            .map(|call| call.join().expect("the call ends"))
            .collect();
        let denied = answers
            .iter()
            .filter(|answer| answer.is_error() && answer.text().contains("too many"))
            .count();
        assert!(
            denied == 0 || denied == 20,
            "a batch is of one client: {denied} were denied"
        );
        refused += denied;
    }
    assert_eq!((refused, received_calls(&desktop).len()), (40, 60));
}

#[test]
fn of_two_opposite_decisions_one_wins_and_the_other_screen_shows_it() {
    let desktop = DesktopSession::new();
    let scene = PromptFixture::with_approval_timeout(&desktop, 50);
    let driver = &scene.app.driver;
    let (client, _) = scene.add_client("torn");
    let home: &Home = &desktop;
    // The command line decides first, so the popup closes and decides nothing.
    let call = scene.begin_call(&client, "torn", r#"{"n":0}"#);
    let id = scene.list_pending()[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    driver.click("deny");
    driver.wait_until_enabled("deny-confirm");
    desktop.cli(&["approvals", "approve", &id]).expect_success();
    assert_ran(call, r#"{"n":0}"#);
    driver.wait_until_gone("approval-card");
    scene.app.wait_until_popup_hides();

    let (mut by_popup, mut by_shell) = (0, 0);
    for n in 1..=12 {
        let arguments = format!(r#"{{"n":{n}}}"#);
        let call = scene.begin_call(&client, "torn", &arguments);
        let id = scene.list_pending()[0]["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        driver.wait_until_enabled("approve-once");
        let other = thread::scope(|scope| {
            let other = scope.spawn(|| {
                // A command takes a while to start. The delays vary, so that either side may win.
                shift_moment(Duration::from_millis(6 * (n % 4)));
                home.cli(&["approvals", "deny", &id, "--reason", "by the shell"])
            });
            shift_moment(Duration::from_millis(4 * (12 - n)));
            driver.run_script("document.querySelector('[data-testid=approve-once]')?.click()");
            other.join().expect("the command ends")
        });
        let answer = call.join().expect("the call ends");
        if other.exit_code() == 0 {
            by_shell += 1;
            assert!(
                answer.is_error() && answer.text().contains("by the shell"),
                "{}",
                answer.raw
            );
        } else {
            by_popup += 1;
            assert!(
                other.stderr().contains("it was decided"),
                "the other is told: {}",
                other.stderr()
            );
            assert_eq!(answer.text(), arguments);
        }
        scene.app.wait_until_popup_hides();
    }
    println!("first was the popup {by_popup} times, the shell {by_shell} times");
    let rows = store::read_calls(&desktop.data_dir()).expect("read the store");
    assert_eq!(rows.len(), 13, "one decision for each");
    assert_eq!(
        rows.iter().filter(|row| row.decision == "allowed").count(),
        by_popup + 1
    );
    assert_eq!(
        received_calls(&desktop).len(),
        by_popup + 1,
        "what was denied did not run"
    );
}

#[test]
fn approval_is_locked_until_all_content_was_visible() {
    let desktop = DesktopSession::new();
    let scene = PromptFixture::with_approval_timeout(&desktop, 600);
    let driver = &scene.app.driver;
    let (client, _) = scene.add_client("sly");
    let arguments = json!({"note": "\n".repeat(10_000), "command": "rm -rf ~"}).to_string();
    let call = scene.begin_call(&client, "sly", &arguments);
    driver.wait_until_enabled("deny");
    for choice in ["approve-once", "approve-more", "edit"] {
        assert!(!driver.is_enabled(choice), "{choice} is locked");
    }
    driver.save_screenshot("prompt-padded");
    driver.run_script("const area = document.querySelector('[data-testid=arguments]'); area.scrollTop = area.scrollHeight");
    driver.wait_until_enabled("approve-once");
    assert!(driver.text("arguments").contains("rm -rf ~"));
    scene.deny_call();
    assert!(call.join().expect("the call ends").is_error());
    assert_eq!(received_calls(&desktop), Vec::<String>::new());
}

#[test]
fn a_person_releases_or_withholds_a_held_result() {
    let desktop = DesktopSession::new();
    let scene = PromptFixture::with_approval_timeout(&desktop, 50);
    let driver = &scene.app.driver;
    desktop
        .cli(&["policy", "set", "probe", "allow"])
        .expect_success();
    desktop
        .cli(&["policy", "add", "probe/echo", "--result", "hold"])
        .expect_success();
    let (client, _) = scene.add_client("curious");
    let call = scene.begin_call(&client, "curious", r#"{"n":1}"#);
    driver.wait_for_text("result", r#"{"n":1}"#);
    driver.save_screenshot("prompt-held");
    driver.click("result-pass");
    assert_ran(call, r#"{"n":1}"#);
    scene.app.wait_until_popup_hides();
    let call = scene.begin_call(&client, "curious", r#"{"n":2}"#);
    driver.click("result-withhold");
    driver.fill("deny-reason", "private");
    driver.click("deny-confirm");
    let answer = call.join().expect("the call ends");
    assert!(
        answer.is_error()
            && answer.text().contains("private")
            && !answer.raw.contains("content\":[{\"n"),
        "{}",
        answer.raw
    );
    scene.app.wait_until_popup_hides();
}

#[test]
fn an_approval_disappears_if_its_client_disconnects() {
    let desktop = DesktopSession::new();
    let scene = PromptFixture::with_approval_timeout(&desktop, 50);
    let (client, _) = scene.add_client("fickle");
    let params = json!({"name": "probe__echo", "arguments": {"n": 1}});
    let connection = client
        .begin_post(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}));
    scene.app.switch_to_popup();
    scene.app.driver.wait_for_text("approval-card", "fickle");
    drop(connection.expect("the call is sent"));
    scene.app.wait_until_popup_hides();
    wait_until("it is written", || {
        let rows = store::read_calls(&desktop.data_dir()).expect("read the store");
        some_if(rows.len() == 1 && rows[0].decision == "abandoned")
    });
    assert_eq!(received_calls(&desktop), Vec::<String>::new());
}
