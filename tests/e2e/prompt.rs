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

    /// Begins a call and waits until the popup shows the approval. `name` is the client's name.
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
    fn deny_shown_call(&self) {
        self.app.driver.click("deny");
        self.app.driver.click("deny-confirm");
        self.app.wait_until_popup_hides();
    }

    /// Checks that a call with these arguments waits for a person, and denies it.
    fn assert_needs_approval(&self, client: &McpClient, name: &str, arguments: &str) {
        let call = self.begin_call(client, name, arguments);
        self.deny_shown_call();
        assert!(
            call.join().expect("the call ends").is_error(),
            "the denied call of {name} with {arguments} returned no error"
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
        let pending = self
            .desktop
            .cli(&["approvals", "list", "--json"])
            .expect_json();
        pending.as_array().expect("a list").clone()
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
    let prompt = PromptFixture::with_approval_timeout(&desktop, 50);
    let driver = &prompt.app.driver;

    let (client, _) = prompt.add_client("once");
    let call = prompt.begin_call(&client, "once", r#"{"n":1.0}"#);
    driver.click("approve-once");
    assert_ran(call, r#"{"n":1.0}"#);
    assert!(
        received_calls(&desktop)
            .last()
            .is_some_and(|line| line.contains(r#""arguments":{"n":1.0}"#)),
        "the server receives the arguments byte for byte"
    );
    prompt.assert_needs_approval(&client, "once", r#"{"n":1.0}"#);
    assert_eq!(prompt.list_rules("once"), Vec::<Value>::new());

    for (choice, name, lifetime_kind) in [
        ("approve-15m", "quarter", "until"),
        ("approve-1h", "hour", "until"),
        ("approve-10-calls", "ten", "calls"),
        ("approve-session", "session", "session"),
    ] {
        let (client, token) = prompt.add_client(name);
        let call = prompt.begin_call(&client, name, r#"{"n":1}"#);
        driver.click("approve-more");
        driver.click(choice);
        assert_ran(call, r#"{"n":1}"#);
        assert_eq!(
            client.call("probe__echo", r#"{"n":2}"#).text(),
            r#"{"n":2}"#,
            "{choice}: the next call needs no approval"
        );
        let rules = prompt.list_rules(name);
        assert_eq!(rules.len(), 1, "{choice}: {rules:?}");
        assert_eq!(
            rules[0]["lifetime"]["kind"], lifetime_kind,
            "{choice}: {rules:?}"
        );
        if lifetime_kind == "calls" {
            assert_eq!(
                rules[0]["remaining"], 9,
                "the second call counts as one of the ten: {rules:?}"
            );
        }
        if lifetime_kind == "session" {
            prompt.assert_needs_approval(
                &McpClient::connect(&prompt.app.url, &token),
                name,
                r#"{"n":3}"#,
            );
        }
    }
}

#[test]
fn an_approval_can_be_limited_to_arguments() {
    let desktop = DesktopSession::new();
    let prompt = PromptFixture::with_approval_timeout(&desktop, 50);
    let driver = &prompt.app.driver;
    let (client, _) = prompt.add_client("careful");
    let arguments = |path: &str, mode: &str| format!(r#"{{"mode":"{mode}","path":"{path}"}}"#);
    let call = prompt.begin_call(&client, "careful", &arguments("/srv/notes/a.md", "r"));
    driver.click("approve-more");
    driver.tick_checkbox("condition-argument[data-key=mode]");
    driver.tick_checkbox("condition-argument[data-key=path]");
    // The second choice is the folder of the file.
    driver.select_option("condition-choice[data-key=path]", "1");
    driver.save_screenshot("prompt-only-where");
    driver.click("approve-1h");
    assert_ran(call, &arguments("/srv/notes/a.md", "r"));
    let other_file = arguments("/srv/notes/b/c.md", "r");
    assert_eq!(
        client.call("probe__echo", &other_file).text(),
        other_file,
        "another file of the folder is allowed without an approval"
    );
    prompt.assert_needs_approval(&client, "careful", &arguments("/srv/notes/a.md", "w"));
    prompt.assert_needs_approval(&client, "careful", &arguments("/srv/notes/../a.md", "r"));
}

#[test]
fn the_choice_to_always_approve_shows_its_rule_and_a_dry_run() {
    let desktop = DesktopSession::new();
    let prompt = PromptFixture::with_approval_timeout(&desktop, 50);
    let driver = &prompt.app.driver;
    let (client, _) = prompt.add_client("keen");
    for n in [1, 2] {
        let call = prompt.begin_call(&client, "keen", &format!(r#"{{"n":{n}}}"#));
        driver.click("approve-once");
        assert_ran(call, &format!(r#"{{"n":{n}}}"#));
        prompt.app.wait_until_popup_hides();
    }
    let call = prompt.begin_call(&client, "keen", r#"{"n":2}"#);
    driver.click("approve-more");
    assert_eq!(
        driver.count_parts("approve-always-confirm"),
        0,
        "the confirm button appears only after a click on \"Always\""
    );
    driver.click("approve-always");
    driver.wait_for_text("dry-run-rule", "allow echo of probe for keen");
    driver.wait_for_text("dry-run-matched", "matched 2 of 2 past calls");
    driver.tick_checkbox("condition-argument[data-key=n]");
    driver.wait_for_text("dry-run-rule", "if /n is 2");
    driver.wait_for_text("dry-run-matched", "matched 1 of 2 past calls");
    driver.save_screenshot("prompt-always");
    assert_eq!(
        prompt.list_rules("keen"),
        Vec::<Value>::new(),
        "a preview creates no rule"
    );
    driver.click("approve-always-confirm");
    assert_ran(call, r#"{"n":2}"#);
    let rules = prompt.list_rules("keen");
    assert!(
        rules.len() == 1 && rules[0]["lifetime"]["kind"] == "until_deleted",
        "{rules:?}"
    );
    assert_eq!(
        client.call("probe__echo", r#"{"n":2}"#).text(),
        r#"{"n":2}"#
    );
    prompt.assert_needs_approval(&client, "keen", r#"{"n":1}"#);
}

#[test]
fn a_call_runs_with_the_edited_arguments() {
    let desktop = DesktopSession::new();
    let prompt = PromptFixture::with_approval_timeout(&desktop, 50);
    let driver = &prompt.app.driver;
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
    let (client, _) = prompt.add_client("hasty");
    let call = prompt.begin_call(&client, "hasty", r#"{"path":"/etc/passwd","n":1.50}"#);
    driver.click("edit");
    assert!(
        driver.text("edit-text").contains("1.50"),
        "the editor starts with the client's arguments"
    );
    driver.fill("edit-text", "{\"path\": \"/tmp/notes\",\n \"n\": }");
    driver.wait_for_text("edit-error", "Line 2");
    assert!(
        !driver.is_enabled("approve-edited"),
        "invalid JSON cannot be approved"
    );
    driver.fill("edit-text", r#"{"path": "/root/x", "n": 1.50}"#);
    driver.click("approve-edited");
    driver.wait_for_text("approval-error", "denied by the rule: deny echo of probe");
    assert_eq!(prompt.list_pending().len(), 1, "the call is still pending");
    driver.fill("edit-text", "{\"path\": \"/tmp/notes\",\n \"n\": 2.50}");
    driver.wait_until_gone("approval-error");
    driver.wait_for_text("edit-diff", "/etc/passwd");
    driver.wait_for_text("edit-diff", "/tmp/notes");
    driver.save_screenshot("prompt-edit");
    driver.click("approve-edited");
    assert_ran(call, r#"{"n":2.5,"path":"/tmp/notes"}"#);
    let received = received_calls(&desktop);
    assert!(
        received.len() == 1 && received[0].contains("2.50") && received[0].contains("/tmp/notes"),
        "{received:?}"
    );
    assert!(!received[0].contains("/etc/passwd"), "{received:?}");
    let calls = desktop.cli(&["calls", "list", "--json"]).expect_json();
    assert_eq!(calls[0]["is_edited"], true, "{calls}");
}

#[test]
fn a_call_times_out_with_a_countdown_and_a_late_approval_covers_one_identical_retry() {
    let desktop = DesktopSession::new();
    let prompt = PromptFixture::with_approval_timeout(&desktop, 6);
    let driver = &prompt.app.driver;
    let (client, _) = prompt.add_client("patient");
    let call = prompt.begin_call(&client, "patient", r#"{"n":1}"#);
    let remaining_seconds = || {
        driver
            .text("countdown")
            .trim_end_matches(" s")
            .parse::<u32>()
            .expect("a number of seconds")
    };
    let first_seconds = remaining_seconds();
    assert!(
        (1..=6).contains(&first_seconds),
        "the countdown starts at {first_seconds} s"
    );
    wait_until("the countdown decreases", || {
        some_if(driver.count_parts("countdown") == 0 || remaining_seconds() < first_seconds)
    });
    let answer = call.join().expect("the call ends");
    assert!(
        answer.is_error() && answer.text().starts_with("Timed out"),
        "{}",
        answer.raw
    );
    prompt.app.wait_until_popup_hides();
    assert_eq!(received_calls(&desktop), Vec::<String>::new());

    desktop.tray.click("Open Drawbridge");
    prompt.app.switch_to_main();
    driver.click("nav-approvals");
    driver.click("approvals-tab-missed");
    driver.wait_for_text("missed-row", "patient");
    driver.save_screenshot("prompt-missed");
    driver.click("allow-retry");
    driver.wait_until_gone("missed-row");
    assert_eq!(
        received_calls(&desktop),
        Vec::<String>::new(),
        "allowing a retry does not run the call"
    );
    assert_eq!(
        client.call("probe__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#,
        "the identical retry is forwarded"
    );
    let second_retry = client.call("probe__echo", r#"{"n":1}"#);
    assert!(
        second_retry.text().starts_with("Timed out"),
        "a second retry needs a new approval: {}",
        second_retry.raw
    );
}

#[test]
fn a_held_enter_key_decides_nothing_and_the_keyboard_can_decide() {
    let desktop = DesktopSession::new();
    let prompt = PromptFixture::with_approval_timeout(&desktop, 600);
    let driver = &prompt.app.driver;
    let (client, _) = prompt.add_client("typist");
    let count_keys_script = "window.keys = {Enter: 0, Tab: 0}; \
        window.addEventListener('keydown', event => { window.keys[event.key] = (window.keys[event.key] ?? 0) + 1 }, true)";
    driver.run_script(count_keys_script);
    let count_presses = |key: &str| {
        driver
            .run_script(&format!("return window.keys['{key}']"))
            .as_u64()
            .unwrap_or(0)
    };

    // The worst case: the key is already held down when the popup opens, and the popup has the
    // focus.
    let held_key = desktop.hold("Return");
    let call = prompt.begin_call(&client, "typist", r#"{"n":1}"#);
    desktop.press("ctrl+alt+d");
    wait_until("the popup has the focus", || {
        some_if(driver.run_script("return document.hasFocus()") == true)
    });
    driver.wait_until_enabled("approve-once");
    let presses_before = count_presses("Enter");
    wait_until("the held Enter key repeats", || {
        some_if(count_presses("Enter") > presses_before + 10)
    });
    // The same holds if a pointer click has left the focus on a button.
    driver.run_script("document.querySelector('[data-testid=approve-once]').focus()");
    let presses_before = count_presses("Enter");
    wait_until("the held Enter key repeats", || {
        some_if(count_presses("Enter") > presses_before + 10)
    });
    drop(held_key);
    assert_eq!(
        prompt.list_pending().len(),
        1,
        "the held key decided nothing"
    );
    assert_eq!(received_calls(&desktop), Vec::<String>::new());

    // Moving the focus to the button with Tab is deliberate, so Enter works then.
    let focused_part_script = "return document.activeElement?.dataset.testid ?? ''";
    driver.run_script("document.activeElement?.blur()");
    wait_until("Tab moves the focus to the button", || {
        desktop.press("Tab");
        some_if(driver.run_script(focused_part_script) == "approve-once")
    });
    desktop.press("Return");
    assert_ran(call, r#"{"n":1}"#);
    prompt.app.wait_until_popup_hides();
}

#[test]
fn the_popup_is_as_high_as_its_content_and_stays_hidden_while_the_approvals_screen_shows_the_calls()
{
    let desktop = DesktopSession::new();
    let prompt = PromptFixture::with_approval_timeout(&desktop, 600);
    let (app, driver) = (&prompt.app, &prompt.app.driver);
    let (client, _) = prompt.add_client("fitter");
    // The popup keeps its height while the pointer is over it. A click by a script does not move
    // the pointer.
    let click = |part: &str| {
        driver.wait_until_enabled(part);
        driver.run_script(&format!(
            "document.querySelector('[data-testid={part}]').click()"
        ));
    };
    let heights = || {
        let script = "const main = document.querySelector('main'); main.style.height = 'auto'; \
            const content = Math.ceil(main.getBoundingClientRect().height); main.style.height = ''; \
            return [window.innerHeight, content]";
        let heights = driver.run_script(script);
        (heights[0].as_u64(), heights[1].as_u64())
    };
    let members = |count: usize| {
        let members: Vec<_> = (0..count).map(|n| format!(r#""member{n}":{n}"#)).collect();
        format!("{{{}}}", members.join(","))
    };
    let mut shown = Vec::new();
    for count in [1, 10] {
        let arguments = members(count);
        let call = prompt.begin_call(&client, "fitter", &arguments);
        driver.wait_for_text("arguments", &format!("member{}", count - 1));
        let height = wait_until("the popup fits its content", || {
            let (window, content) = heights();
            some_if(window == content).and(window)
        });
        shown.push(height);
        click("approve-once");
        assert_ran(call, &arguments);
        app.wait_until_popup_hides();
    }
    assert!(
        shown[0] < shown[1] && shown[1] < 700,
        "the height follows the content: {shown:?}"
    );
    let call = prompt.begin_call(&client, "fitter", &members(200));
    driver.wait_for_text("arguments", "member199");
    wait_until("the popup has its largest height", || {
        let (window, content) = heights();
        some_if(window > Some(shown[1]) && window <= Some(700) && window < content)
    });
    click("deny");
    click("deny-confirm");
    assert!(call.join().expect("the call ends").is_error());
    app.wait_until_popup_hides();

    desktop.tray.click("Open Drawbridge");
    app.switch_to_main();
    driver.click("nav-approvals");
    wait_until("the main window has the focus", || {
        some_if(driver.run_script("return document.hasFocus()") == true)
    });
    let calls = ["first", "second"].map(|name| {
        let call = client.spawn_call("probe__echo", &format!(r#"{{"{name}":1}}"#));
        app.switch_to_main();
        driver.wait_for_text("approval-card", name);
        driver.switch_to_window("the popup", |url| url.contains("#/popup"));
        driver.wait_for("approval-card");
        assert!(!driver.is_visible(), "the popup stays hidden");
        app.switch_to_main();
        driver.click("nav-servers");
        app.switch_to_popup();
        app.switch_to_main();
        driver.click("nav-approvals");
        app.wait_until_popup_hides();
        app.switch_to_main();
        driver.click("deny");
        driver.click("deny-confirm");
        call
    });
    for call in calls {
        assert!(call.join().expect("the call ends").is_error());
    }
}

#[test]
fn a_hundred_calls_share_one_window_and_are_decided_in_batches() {
    let desktop = DesktopSession::new();
    let prompt = PromptFixture::with_approval_timeout(&desktop, 600);
    let driver = &prompt.app.driver;
    let names = ["ant", "bee", "cat", "dog", "eel"];
    let clients: Vec<McpClient> = names.iter().map(|name| prompt.add_client(name).0).collect();
    let calls: Vec<Vec<_>> = (clients.iter().enumerate())
        .map(|(client_index, client)| {
            // All calls of the last client are identical.
            let arguments = |n: usize| {
                if client_index == 4 {
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
    wait_until("all 100 calls are pending", || {
        some_if(prompt.list_pending().len() == 100)
    });
    prompt.app.switch_to_popup();
    driver.wait_for_text("popup-position", "1 of 5");
    driver.wait_for_text("popup-more", "80 more wait");
    driver.wait_for_text("batch-open", "Decide all 20");
    desktop.tray.wait_for_item("100 calls wait for you");
    assert_eq!(
        desktop.count_visible_windows("Drawbridge"),
        1,
        "only one window is visible"
    );
    driver.save_screenshot("prompt-hundred");
    let rejected = clients[0].call("probe__echo", r#"{"n":21}"#);
    assert!(rejected.text().contains("Queue full"), "{}", rejected.raw);

    for remaining_batches in (0..5_usize).rev() {
        driver.wait_for_text("popup-position", &format!("1 of {}", remaining_batches + 1));
        driver.click("batch-open");
        driver.wait_for("batch-list");
        if remaining_batches % 2 == 0 {
            driver.run_script(
                "const list = document.querySelector('[data-testid=batch-list]'); list.scrollTop = list.scrollHeight",
            );
            driver.click("batch-approve");
        } else {
            driver.click("batch-deny");
            driver.fill("deny-reason", "too many");
            driver.click("deny-confirm");
        }
        wait_until("the calls of the batch are decided", || {
            some_if(prompt.list_pending().len() == remaining_batches * 20)
        });
    }
    prompt.app.wait_until_popup_hides();
    let mut denied_total = 0;
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
            "a batch decides all calls of one client, but {denied} were denied"
        );
        denied_total += denied;
    }
    assert_eq!((denied_total, received_calls(&desktop).len()), (40, 60));
}

#[test]
fn of_two_opposite_decisions_one_wins_and_the_other_screen_shows_it() {
    let desktop = DesktopSession::new();
    let prompt = PromptFixture::with_approval_timeout(&desktop, 50);
    let driver = &prompt.app.driver;
    let (client, _) = prompt.add_client("torn");
    let home: &Home = &desktop;
    // The command line decides first, so the popup closes and decides nothing.
    let call = prompt.begin_call(&client, "torn", r#"{"n":0}"#);
    let id = prompt.list_pending()[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    driver.click("deny");
    driver.wait_until_enabled("deny-confirm");
    desktop.cli(&["approvals", "approve", &id]).expect_success();
    assert_ran(call, r#"{"n":0}"#);
    driver.wait_until_gone("approval-card");
    prompt.app.wait_until_popup_hides();

    let (mut by_popup, mut by_cli) = (0, 0);
    for n in 1..=12 {
        let arguments = format!(r#"{{"n":{n}}}"#);
        let call = prompt.begin_call(&client, "torn", &arguments);
        let id = prompt.list_pending()[0]["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        driver.wait_until_enabled("approve-once");
        let cli_output = thread::scope(|scope| {
            let cli_decision = scope.spawn(|| {
                // A command takes a while to start. The delays vary, so that either side may win.
                shift_moment(Duration::from_millis(6 * (n % 4)));
                home.cli(&["approvals", "deny", &id, "--reason", "by the command line"])
            });
            shift_moment(Duration::from_millis(4 * (12 - n)));
            driver.run_script("document.querySelector('[data-testid=approve-once]')?.click()");
            cli_decision.join().expect("the command ends")
        });
        let answer = call.join().expect("the call ends");
        if cli_output.exit_code() == 0 {
            by_cli += 1;
            assert!(
                answer.is_error() && answer.text().contains("by the command line"),
                "{}",
                answer.raw
            );
        } else {
            by_popup += 1;
            assert!(
                cli_output.stderr().contains("it may have been decided"),
                "the rejected decision names the reason: {}",
                cli_output.stderr()
            );
            assert_eq!(answer.text(), arguments);
        }
        prompt.app.wait_until_popup_hides();
    }
    println!("the popup won {by_popup} times, the command line {by_cli} times");
    let rows = store::read_calls(&desktop.data_dir()).expect("read the store");
    assert_eq!(rows.len(), 13, "each call has one decision");
    assert_eq!(
        rows.iter().filter(|row| row.decision == "allowed").count(),
        by_popup + 1
    );
    assert_eq!(
        received_calls(&desktop).len(),
        by_popup + 1,
        "only approved calls reached the server"
    );
}

#[test]
fn approval_is_locked_until_all_content_was_visible() {
    let desktop = DesktopSession::new();
    let prompt = PromptFixture::with_approval_timeout(&desktop, 600);
    let driver = &prompt.app.driver;
    let (client, _) = prompt.add_client("sly");
    let arguments = json!({"note": "\n".repeat(10_000), "command": "rm -rf ~"}).to_string();
    let call = prompt.begin_call(&client, "sly", &arguments);
    driver.wait_until_enabled("deny");
    for choice in ["approve-once", "approve-more", "edit"] {
        assert!(!driver.is_enabled(choice), "{choice} is locked");
    }
    driver.save_screenshot("prompt-padded");
    driver.run_script("const area = document.querySelector('[data-testid=arguments]'); area.scrollTop = area.scrollHeight");
    driver.wait_until_enabled("approve-once");
    assert!(driver.text("arguments").contains("rm -rf ~"));
    prompt.deny_shown_call();
    assert!(call.join().expect("the call ends").is_error());
    assert_eq!(received_calls(&desktop), Vec::<String>::new());
}

#[test]
fn a_person_releases_or_withholds_a_held_result() {
    let desktop = DesktopSession::new();
    let prompt = PromptFixture::with_approval_timeout(&desktop, 50);
    let driver = &prompt.app.driver;
    desktop
        .cli(&["policy", "set", "probe", "allow"])
        .expect_success();
    desktop
        .cli(&["policy", "add", "probe/echo", "--result", "hold"])
        .expect_success();
    let (client, _) = prompt.add_client("curious");
    let call = prompt.begin_call(&client, "curious", r#"{"n":1}"#);
    driver.wait_for_text("result", r#"{"n":1}"#);
    driver.save_screenshot("prompt-held");
    driver.click("result-show");
    assert_ran(call, r#"{"n":1}"#);
    prompt.app.wait_until_popup_hides();
    let call = prompt.begin_call(&client, "curious", r#"{"n":2}"#);
    driver.click("result-withhold");
    driver.fill("deny-reason", "private");
    driver.click("deny-confirm");
    let answer = call.join().expect("the call ends");
    assert!(
        answer.is_error()
            && answer.text().contains("private")
            && !answer.raw.contains(r#"\"n\":2"#),
        "{}",
        answer.raw
    );
    prompt.app.wait_until_popup_hides();
}

#[test]
fn an_approval_disappears_if_its_client_disconnects() {
    let desktop = DesktopSession::new();
    let prompt = PromptFixture::with_approval_timeout(&desktop, 50);
    let (client, _) = prompt.add_client("fickle");
    let params = json!({"name": "probe__echo", "arguments": {"n": 1}});
    let connection = client
        .begin_post(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}));
    prompt.app.switch_to_popup();
    prompt.app.driver.wait_for_text("approval-card", "fickle");
    drop(connection.expect("the call is sent"));
    prompt.app.wait_until_popup_hides();
    wait_until("the decision is recorded", || {
        let rows = store::read_calls(&desktop.data_dir()).expect("read the store");
        some_if(rows.len() == 1 && rows[0].decision == "abandoned")
    });
    assert_eq!(received_calls(&desktop), Vec::<String>::new());
}
