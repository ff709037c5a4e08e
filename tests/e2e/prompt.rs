//! The approval prompt in the real popup: each choice has the effect that its button names, and
//! nothing else decides.

use std::{thread, time::Duration};

use drawbridge_tests::{
    Desk, Home, Hub, McpClient, hub::calls_heard, mcp::Answer, store, until, wait::yes,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::app::App;

/// The app, hidden in the tray, with the server that records what it receives.
struct Scene<'a> {
    desk: &'a Desk,
    app: App<'a>,
}

impl<'a> Scene<'a> {
    /// Starts the app with an approval timeout of `seconds`.
    fn with_patience(desk: &'a Desk, seconds: u32) -> Self {
        let hub = Hub::serve(desk);
        hub.add_probe(&[]);
        hub.approval_timeout(seconds);
        hub.end(Signal::SIGTERM);
        let app = App::start(desk, &["--hidden"]);
        app.driver
            .look_at("the popup", |url| url.contains("#/popup"));
        app.driver.until("popup-empty");
        Self { desk, app }
    }

    /// Adds a new client. Returns its session and its token.
    fn client(&self, name: &str) -> (McpClient, String) {
        let added = self.desk.cli(&["clients", "add", name, "--json"]).json();
        let token = added["token"].as_str().expect("a token").to_owned();
        (McpClient::connect(&self.app.url, &token), token)
    }

    /// Begins a call and waits until the popup shows its approval.
    fn ask(&self, client: &McpClient, name: &str, arguments: &str) -> thread::JoinHandle<Answer> {
        let call = client.call_meanwhile("probe__echo", arguments);
        self.app.look_at_popup();
        self.app.driver.until_says("approval-card", name);
        call
    }

    /// Denies the approval.
    fn deny(&self) {
        self.app.driver.click("deny");
        self.app.driver.click("deny-confirm");
        self.app.until_popup_hides();
    }

    /// Checks that the call waits for a person, and denies it.
    fn is_asked(&self, client: &McpClient, name: &str, arguments: &str) {
        let call = self.ask(client, name, arguments);
        self.deny();
        assert!(
            call.join().expect("the call ends").is_error(),
            "{arguments} of {name} was denied"
        );
    }

    /// Returns the rules of a client.
    fn rules(&self, client: &str) -> Vec<Value> {
        let listed = self.desk.cli(&["policy", "list", "--json"]).json();
        let rules = listed["rules"].as_array().expect("rules").clone();
        rules
            .into_iter()
            .filter(|rule| rule["client"] == client)
            .collect()
    }

    fn waiting(&self) -> Vec<Value> {
        let waiting = self.desk.cli(&["approvals", "list", "--json"]).json();
        waiting.as_array().expect("a list").clone()
    }
}

#[track_caller]
fn ran(call: thread::JoinHandle<Answer>, arguments: &str) {
    let answer = call.join().expect("the call ends");
    assert_eq!(answer.text(), arguments, "{}", answer.raw);
}

#[test]
fn each_approval_holds_for_just_as_much_as_its_button_says() {
    let desk = Desk::new();
    let scene = Scene::with_patience(&desk, 50);
    let driver = &scene.app.driver;

    let (client, _) = scene.client("once");
    let call = scene.ask(&client, "once", r#"{"n":1.0}"#);
    driver.click("approve-once");
    ran(call, r#"{"n":1.0}"#);
    assert!(
        calls_heard(&desk)
            .last()
            .is_some_and(|line| line.contains(r#""arguments":{"n":1.0}"#)),
        "byte for byte"
    );
    scene.is_asked(&client, "once", r#"{"n":1.0}"#);
    assert_eq!(scene.rules("once"), Vec::<Value>::new());

    for (choice, name, life) in [
        ("approve-15m", "quarter", "until"),
        ("approve-1h", "hour", "until"),
        ("approve-10-calls", "ten", "calls"),
        ("approve-session", "session", "session"),
    ] {
        let (client, token) = scene.client(name);
        let call = scene.ask(&client, name, r#"{"n":1}"#);
        driver.click("approve-more");
        driver.click(choice);
        ran(call, r#"{"n":1}"#);
        assert_eq!(
            client.call("probe__echo", r#"{"n":2}"#).text(),
            r#"{"n":2}"#,
            "{choice}: it is not asked again"
        );
        let rules = scene.rules(name);
        assert_eq!(rules.len(), 1, "{choice}: {rules:?}");
        assert_eq!(rules[0]["lifetime"]["kind"], life, "{choice}: {rules:?}");
        if life == "calls" {
            assert_eq!(
                rules[0]["remaining"], 9,
                "the later call is one of the ten: {rules:?}"
            );
        }
        if life == "session" {
            scene.is_asked(
                &McpClient::connect(&scene.app.url, &token),
                name,
                r#"{"n":3}"#,
            );
        }
    }
}

#[test]
fn an_approval_can_be_held_to_arguments() {
    let desk = Desk::new();
    let scene = Scene::with_patience(&desk, 50);
    let driver = &scene.app.driver;
    let (client, _) = scene.client("careful");
    let arguments = |path: &str, mode: &str| format!(r#"{{"mode":"{mode}","path":"{path}"}}"#);
    let call = scene.ask(&client, "careful", &arguments("/srv/notes/a.md", "r"));
    driver.click("approve-more");
    driver.tick("condition-argument[data-key=mode]");
    driver.tick("condition-argument[data-key=path]");
    driver.choose("condition-choice[data-key=path]", "1");
    driver.picture("prompt-only-where");
    driver.click("approve-1h");
    ran(call, &arguments("/srv/notes/a.md", "r"));
    let other = arguments("/srv/notes/b/c.md", "r");
    assert_eq!(
        client.call("probe__echo", &other).text(),
        other,
        "another file of the folder"
    );
    scene.is_asked(&client, "careful", &arguments("/srv/notes/a.md", "w"));
    scene.is_asked(&client, "careful", &arguments("/srv/notes/../a.md", "r"));
}

#[test]
fn always_shows_its_rule_and_the_past_calls_that_it_would_have_matched() {
    let desk = Desk::new();
    let scene = Scene::with_patience(&desk, 50);
    let driver = &scene.app.driver;
    let (client, _) = scene.client("keen");
    for n in [1, 2] {
        let call = scene.ask(&client, "keen", &format!(r#"{{"n":{n}}}"#));
        driver.click("approve-once");
        ran(call, &format!(r#"{{"n":{n}}}"#));
        scene.app.until_popup_hides();
    }
    let call = scene.ask(&client, "keen", r#"{"n":2}"#);
    driver.click("approve-more");
    assert_eq!(
        driver.count("approve-always-confirm"),
        0,
        "it is a second step"
    );
    driver.click("approve-always");
    driver.until_says("preview-rule", "allow echo of probe for keen");
    driver.until_says("preview-matched", "matched 2 of 2 past calls");
    driver.tick("condition-argument[data-key=n]");
    driver.until_says("preview-rule", "where /n is 2");
    driver.until_says("preview-matched", "matched 1 of 2 past calls");
    driver.picture("prompt-always");
    assert_eq!(
        scene.rules("keen"),
        Vec::<Value>::new(),
        "a look makes no rule"
    );
    driver.click("approve-always-confirm");
    ran(call, r#"{"n":2}"#);
    let rules = scene.rules("keen");
    assert!(
        rules.len() == 1 && rules[0]["lifetime"]["kind"] == "until_revoked",
        "{rules:?}"
    );
    assert_eq!(
        client.call("probe__echo", r#"{"n":2}"#).text(),
        r#"{"n":2}"#
    );
    scene.is_asked(&client, "keen", r#"{"n":1}"#);
}

#[test]
fn what_a_person_edits_is_what_runs() {
    let desk = Desk::new();
    let scene = Scene::with_patience(&desk, 50);
    let driver = &scene.app.driver;
    desk.cli(&[
        "policy",
        "add",
        "probe/echo",
        "deny",
        "--when",
        "/path in /root",
    ])
    .ok();
    let (client, _) = scene.client("hasty");
    let call = scene.ask(&client, "hasty", r#"{"path":"/etc/passwd","n":1.50}"#);
    driver.click("edit");
    assert!(
        driver.text("edit-text").contains("1.50"),
        "it begins with what the client sent"
    );
    driver.fill("edit-text", "{\"path\": \"/tmp/notes\",\n \"n\": }");
    driver.until_says("edit-fault", "Line 2");
    assert!(
        !driver.is_ready("approve-edited"),
        "what is no JSON cannot be approved"
    );
    driver.fill("edit-text", r#"{"path": "/root/x", "n": 1.50}"#);
    driver.click("approve-edited");
    driver.until_says("approval-error", "denied by the rule: deny echo of probe");
    assert_eq!(scene.waiting().len(), 1, "it goes on waiting");
    driver.fill("edit-text", "{\"path\": \"/tmp/notes\",\n \"n\": 2.50}");
    driver.until_gone("approval-error");
    driver.until_says("edit-diff", "/etc/passwd");
    driver.until_says("edit-diff", "/tmp/notes");
    driver.picture("prompt-edit");
    driver.click("approve-edited");
    ran(call, r#"{"n":2.5,"path":"/tmp/notes"}"#);
    let heard = calls_heard(&desk);
    assert!(
        heard.len() == 1 && heard[0].contains("2.50") && heard[0].contains("/tmp/notes"),
        "{heard:?}"
    );
    assert!(!heard[0].contains("/etc/passwd"), "{heard:?}");
    let calls = desk.cli(&["calls", "list", "--json"]).json();
    assert_eq!(calls[0]["is_edited"], true, "{calls}");
}

#[test]
fn time_runs_out_with_its_countdown_and_a_late_yes_is_for_an_identical_retry() {
    let desk = Desk::new();
    let scene = Scene::with_patience(&desk, 6);
    let driver = &scene.app.driver;
    let (client, _) = scene.client("patient");
    let call = scene.ask(&client, "patient", r#"{"n":1}"#);
    let left = || {
        driver
            .text("countdown")
            .trim_end_matches(" s")
            .parse::<u32>()
            .expect("a number of seconds")
    };
    let first = left();
    assert!((1..=6).contains(&first), "{first} s are left");
    until("the countdown goes on", || {
        yes(driver.count("countdown") == 0 || left() < first)
    });
    let answer = call.join().expect("the call ends");
    assert!(
        answer.is_error() && answer.text().starts_with("Timed out"),
        "{}",
        answer.raw
    );
    scene.app.until_popup_hides();
    assert_eq!(calls_heard(&desk), Vec::<String>::new());

    desk.tray.click("Open Drawbridge");
    scene.app.look_at_main();
    driver.click("nav-approvals");
    driver.until_says("missed-row", "patient");
    driver.picture("prompt-missed");
    driver.click("allow-retry");
    driver.until_gone("missed-row");
    assert_eq!(
        calls_heard(&desk),
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
fn enter_held_while_the_popup_opens_decides_nothing_and_the_keyboard_can_decide() {
    let desk = Desk::new();
    let scene = Scene::with_patience(&desk, 600);
    let driver = &scene.app.driver;
    let (client, _) = scene.client("typist");
    let keys = "window.keys = {Enter: 0, Tab: 0}; \
        window.addEventListener('keydown', event => { window.keys[event.key] = (window.keys[event.key] ?? 0) + 1 }, true)";
    driver.run(keys);
    let pressed = |key: &str| {
        driver
            .run(&format!("return window.keys['{key}']"))
            .as_u64()
            .unwrap_or(0)
    };

    // The worst case: the key is held down from before the popup opens, and the popup has the
    // focus.
    let held = desk.hold("Return");
    let call = scene.ask(&client, "typist", r#"{"n":1}"#);
    desk.press("ctrl+alt+d");
    until("the popup has the keyboard", || {
        yes(driver.run("return document.hasFocus()") == true)
    });
    driver.until_ready("approve-once");
    let before = pressed("Enter");
    until("Enter goes on arriving", || {
        yes(pressed("Enter") > before + 10)
    });
    // The same holds if a pointer click has left the focus on a button.
    driver.run("document.querySelector('[data-testid=approve-once]').focus()");
    let before = pressed("Enter");
    until("Enter goes on arriving", || {
        yes(pressed("Enter") > before + 10)
    });
    drop(held);
    assert_eq!(scene.waiting().len(), 1, "it decided nothing");
    assert_eq!(calls_heard(&desk), Vec::<String>::new());

    // Moving the focus to the button with Tab is deliberate, so Enter works then.
    let focused = "return document.activeElement?.dataset.testid ?? ''";
    driver.run("document.activeElement?.blur()");
    until("Tab leads to the button", || {
        desk.press("Tab");
        yes(driver.run(focused) == "approve-once")
    });
    desk.press("Return");
    ran(call, r#"{"n":1}"#);
    scene.app.until_popup_hides();
}

#[test]
fn a_hundred_calls_at_once_are_one_window_with_a_counter_and_decided_together() {
    let desk = Desk::new();
    let scene = Scene::with_patience(&desk, 600);
    let driver = &scene.app.driver;
    let names = ["ant", "bee", "cat", "dog", "eel"];
    let clients: Vec<McpClient> = names.iter().map(|name| scene.client(name).0).collect();
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
                .map(|n| client.call_meanwhile("probe__echo", &arguments(n)))
                .collect()
        })
        .collect();
    until("all of them wait", || yes(scene.waiting().len() == 100));
    scene.app.look_at_popup();
    driver.until_says("popup-position", "1 of 5");
    driver.until_says("popup-more", "80 more wait");
    driver.until_says("batch-open", "Decide all 20");
    desk.tray.until_shows("100 calls wait for you");
    assert_eq!(
        desk.windows_on_screen("Drawbridge"),
        1,
        "there is one window"
    );
    driver.picture("prompt-hundred");
    let refused = clients[0].call("probe__echo", r#"{"n":21}"#);
    assert!(refused.text().contains("Queue full"), "{}", refused.raw);

    for left in (0..5_usize).rev() {
        driver.until_says("popup-position", &format!("1 of {}", left + 1));
        driver.click("batch-open");
        driver.until("batch-list");
        if left % 2 == 0 {
            driver.run(
                "const list = document.querySelector('[data-testid=batch-list]'); list.scrollTop = list.scrollHeight",
            );
            driver.click("batch-approve");
        } else {
            driver.click("batch-deny");
            driver.fill("deny-reason", "too many");
            driver.click("deny-confirm");
        }
        until("they are decided", || {
            yes(scene.waiting().len() == left * 20)
        });
    }
    scene.app.until_popup_hides();
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
    assert_eq!((refused, calls_heard(&desk).len()), (40, 60));
}

#[test]
fn two_screens_that_decide_opposite_come_to_one_decision_and_the_other_is_told() {
    let desk = Desk::new();
    let scene = Scene::with_patience(&desk, 50);
    let driver = &scene.app.driver;
    let (client, _) = scene.client("torn");
    let home: &Home = &desk;
    // The shell decides first, so the popup closes and decides nothing.
    let call = scene.ask(&client, "torn", r#"{"n":0}"#);
    let id = scene.waiting()[0]["id"].as_str().expect("an id").to_owned();
    driver.click("deny");
    driver.until_ready("deny-confirm");
    desk.cli(&["approvals", "approve", &id]).ok();
    ran(call, r#"{"n":0}"#);
    driver.until_gone("approval-card");
    scene.app.until_popup_hides();

    let (mut by_popup, mut by_shell) = (0, 0);
    for n in 1..=12 {
        let arguments = format!(r#"{{"n":{n}}}"#);
        let call = scene.ask(&client, "torn", &arguments);
        let id = scene.waiting()[0]["id"].as_str().expect("an id").to_owned();
        driver.until_ready("approve-once");
        let other = thread::scope(|scope| {
            let other = scope.spawn(|| {
                // A command takes a while to start, so either side may win.
                thread::sleep(Duration::from_millis(6 * (n % 4)));
                home.cli(&["approvals", "deny", &id, "--reason", "by the shell"])
            });
            thread::sleep(Duration::from_millis(4 * (12 - n)));
            driver.run("document.querySelector('[data-testid=approve-once]')?.click()");
            other.join().expect("the command ends")
        });
        let answer = call.join().expect("the call ends");
        if other.code() == 0 {
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
        scene.app.until_popup_hides();
    }
    println!("first was the popup {by_popup} times, the shell {by_shell} times");
    let rows = store::calls(&desk.data_dir()).expect("read the store");
    assert_eq!(rows.len(), 13, "one decision for each");
    assert_eq!(
        rows.iter().filter(|row| row.decision == "allowed").count(),
        by_popup + 1
    );
    assert_eq!(
        calls_heard(&desk).len(),
        by_popup + 1,
        "what was denied did not run"
    );
}

#[test]
fn what_is_out_of_sight_locks_the_approval_until_it_was_seen() {
    let desk = Desk::new();
    let scene = Scene::with_patience(&desk, 600);
    let driver = &scene.app.driver;
    let (client, _) = scene.client("sly");
    let arguments = json!({"note": "\n".repeat(10_000), "command": "rm -rf ~"}).to_string();
    let call = scene.ask(&client, "sly", &arguments);
    driver.until_ready("deny");
    for choice in ["approve-once", "approve-more", "edit"] {
        assert!(!driver.is_ready(choice), "{choice} is locked");
    }
    driver.picture("prompt-padded");
    driver.run("const area = document.querySelector('[data-testid=arguments]'); area.scrollTop = area.scrollHeight");
    driver.until_ready("approve-once");
    assert!(driver.text("arguments").contains("rm -rf ~"));
    scene.deny();
    assert!(call.join().expect("the call ends").is_error());
    assert_eq!(calls_heard(&desk), Vec::<String>::new());
}

#[test]
fn a_held_result_is_passed_on_or_withheld_by_a_person() {
    let desk = Desk::new();
    let scene = Scene::with_patience(&desk, 50);
    let driver = &scene.app.driver;
    desk.cli(&["policy", "set", "probe", "allow"]).ok();
    desk.cli(&["policy", "add", "probe/echo", "--result", "hold"])
        .ok();
    let (client, _) = scene.client("curious");
    let call = scene.ask(&client, "curious", r#"{"n":1}"#);
    driver.until_says("result", r#"{"n":1}"#);
    driver.picture("prompt-held");
    driver.click("result-pass");
    ran(call, r#"{"n":1}"#);
    scene.app.until_popup_hides();
    let call = scene.ask(&client, "curious", r#"{"n":2}"#);
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
    scene.app.until_popup_hides();
}

#[test]
fn a_client_that_leaves_takes_its_question_along() {
    let desk = Desk::new();
    let scene = Scene::with_patience(&desk, 50);
    let (client, _) = scene.client("fickle");
    let params = json!({"name": "probe__echo", "arguments": {"n": 1}});
    let connection =
        client.begin(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}));
    scene.app.look_at_popup();
    scene.app.driver.until_says("approval-card", "fickle");
    drop(connection.expect("the call is sent"));
    scene.app.until_popup_hides();
    until("it is written", || {
        let rows = store::calls(&desk.data_dir()).expect("read the store");
        yes(rows.len() == 1 && rows[0].decision == "abandoned")
    });
    assert_eq!(calls_heard(&desk), Vec::<String>::new());
}
