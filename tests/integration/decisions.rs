//! Decisions beyond approve and deny: edited arguments, rules for several calls or with conditions,
//! late approvals, paused calls, and results that are held or masked.

use std::{
    thread,
    time::{Duration, Instant},
};

use drawbridge_tests::{
    Faulty, Home, Hub, McpClient, hub::calls_heard, places, store, until, wait::yes,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// Waits for a pending approval and returns it with its id.
fn asked(hub: &Hub<'_>) -> (Value, String) {
    let request = hub.approval();
    let id = request["id"].as_str().expect("an id").to_owned();
    (request, id)
}

/// Denies the pending approval.
fn deny(home: &Home, hub: &Hub<'_>) {
    let (_, id) = asked(hub);
    home.cli(&["approvals", "deny", &id]).ok();
}

/// Checks that the call waits for a person, and denies it.
#[track_caller]
fn is_asked(home: &Home, hub: &Hub<'_>, client: &McpClient, tool: &str, arguments: &str) {
    let call = client.call_meanwhile(tool, arguments);
    deny(home, hub);
    assert!(
        call.join().expect("the call ends").is_error(),
        "{tool} {arguments} was not asked about"
    );
}

fn decision_of_last(home: &Home) -> (String, String) {
    let rows = store::calls(&home.data_dir()).expect("read the store");
    let last = rows.last().expect("a call");
    (last.decision.clone(), last.outcome.clone())
}

#[test]
fn without_a_screen_a_denial_says_that_nobody_could_be_asked() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.approval_timeout(5);
    let answer = hub.client("desk").call("probe__echo", "{}");
    assert!(
        answer.is_error() && answer.text().starts_with("No screen"),
        "{}",
        answer.raw
    );
    assert_eq!(
        decision_of_last(&home),
        ("no_screen".into(), "not_sent".into())
    );
    assert_eq!(
        calls_heard(&home),
        Vec::<String>::new(),
        "nothing reached the server"
    );
}

#[test]
fn a_late_approval_runs_nothing_by_itself_and_holds_for_one_identical_retry() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.approval_timeout(5);
    let client = hub.client("desk");
    let call = client.call_meanwhile("probe__echo", r#"{"n":1.0}"#);
    let (_, id) = asked(&hub);
    assert!(
        call.join()
            .expect("the call ends")
            .text()
            .starts_with("Timed out")
    );
    let said = home.cli(&["approvals", "approve", &id]).ok().stdout();
    assert!(said.contains("identical retry"), "{said}");
    assert_eq!(
        calls_heard(&home),
        Vec::<String>::new(),
        "it runs nothing by itself"
    );
    is_asked(&home, &hub, &client, "probe__echo", r#"{"n":1}"#);
    assert_eq!(
        client.call("probe__echo", r#"{"n":1.0}"#).text(),
        r#"{"n":1.0}"#,
        "the identical one crosses"
    );
    let rows = store::calls(&home.data_dir()).expect("read the store");
    let last = rows.last().expect("a call");
    assert_eq!(
        (last.decision.as_str(), last.decided_by.as_str()),
        ("allowed", "person")
    );
    is_asked(&home, &hub, &client, "probe__echo", r#"{"n":1.0}"#);
}

#[test]
fn what_a_person_changed_is_what_runs_and_what_is_written() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&["--store", &places::text(home.data_dir())]);
    let client = hub.client("desk");
    let call = client.call_meanwhile("probe__echo", r#"{"path":"/etc/passwd"}"#);
    let (_, id) = asked(&hub);
    for (wrong, why) in [
        ("[1]", "object"),
        ("{", "JSON"),
        (r#"{"a":1,"a":2}"#, "twice"),
    ] {
        let refused = home.cli(&["approvals", "approve", &id, "--arguments", wrong]);
        assert!(
            refused.code() == 1 && refused.stderr().contains(why),
            "{wrong}: {}",
            refused.stderr()
        );
    }
    home.cli(&[
        "policy",
        "add",
        "probe/echo",
        "deny",
        "--when",
        "/path in /root",
    ])
    .ok();
    let refused = home.cli(&[
        "approvals",
        "approve",
        &id,
        "--arguments",
        r#"{"path":"/root/x"}"#,
    ]);
    assert!(
        refused.code() == 1
            && refused
                .stderr()
                .contains("denied by the rule: deny echo of probe"),
        "{}",
        refused.stderr()
    );
    assert_eq!(asked(&hub).1, id, "it goes on waiting");
    home.cli(&[
        "approvals",
        "approve",
        &id,
        "--arguments",
        r#"{"path":"/tmp/notes","n":1.0}"#,
    ])
    .ok();
    assert_eq!(
        call.join().expect("the call ends").text(),
        r#"{"n":1.0,"path":"/tmp/notes"}"#
    );
    let heard = calls_heard(&home);
    assert!(
        heard.len() == 1 && heard[0].contains(r#"{"path":"/tmp/notes","n":1.0}"#),
        "{heard:?}"
    );
    let shown = home.cli(&["calls", "list", "--json"]).json();
    assert_eq!(shown[0]["is_edited"], true, "{shown}");
}

#[test]
fn a_rule_looks_at_the_arguments_and_a_deny_beats_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = hub.client("desk");
    let folder = places::text(home.file("notes"));
    std::fs::create_dir(&folder).expect("a folder");
    let within = format!("/path in {folder}");
    home.cli(&[
        "policy",
        "add",
        "probe/echo",
        "allow",
        "--when",
        &within,
        "--when",
        "/n between 1 10",
    ])
    .ok();
    let arguments = |path: &str, n: &str| format!(r#"{{"path":"{path}","n":{n}}}"#);
    let inside = format!("{folder}/a.md");
    assert!(
        !client
            .call("probe__echo", &arguments(&inside, "10.0"))
            .is_error(),
        "it fits"
    );
    is_asked(
        &home,
        &hub,
        &client,
        "probe__echo",
        &arguments(&inside, "11"),
    );
    is_asked(
        &home,
        &hub,
        &client,
        "probe__echo",
        &arguments(&format!("{folder}/../a.md"), "1"),
    );
    home.cli(&[
        "policy",
        "add",
        "*",
        "deny",
        "--when",
        "/path matches .*secret.*",
    ])
    .ok();
    let denied = client.call(
        "probe__echo",
        &arguments(&format!("{folder}/secret.md"), "1"),
    );
    assert!(
        denied.is_error() && denied.text().contains("where /path fits"),
        "it names the rule: {}",
        denied.raw
    );
    let call = &home.cli(&["calls", "list", "--json"]).json()[0];
    let rules = home.cli(&["policy", "list", "--json"]).json();
    assert_eq!(
        call["rule"], rules["rules"][1]["id"],
        "each call says which rule decided it"
    );
}

#[test]
fn an_approval_for_a_number_of_calls_is_used_up_over_a_restart() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = hub.client("desk");
    let call = client.call_meanwhile("probe__echo", r#"{"n":0}"#);
    let (_, id) = asked(&hub);
    home.cli(&["approvals", "approve", &id, "--calls", "2"])
        .ok();
    assert!(!call.join().expect("the call ends").is_error());
    assert!(
        !client.call("probe__echo", r#"{"n":1}"#).is_error(),
        "the first of two"
    );
    hub.end(Signal::SIGKILL);
    let hub = Hub::serve(&home);
    let client = hub.client("desk again");
    is_asked(&home, &hub, &client, "probe__echo", r#"{"n":2}"#);
    let rules = home.cli(&["policy", "list", "--json"]).json();
    assert_eq!(
        rules["rules"][0]["remaining"], 1,
        "one is left, for the client it was given to: {rules}"
    );
}

#[test]
fn a_raised_drawbridge_denies_what_waits_calls_back_what_runs_and_stays_raised() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.policy("probe/slow", "allow");
    let client = hub.client("desk");
    let running = hub
        .client("other")
        .call_meanwhile("probe__slow", r#"{"ms":20000}"#);
    until("it runs", || yes(!calls_heard(&home).is_empty()));
    let waiting = client.call_meanwhile("probe__echo", "{}");
    let _ = hub.approval();
    let start = Instant::now();
    home.cli(&["pause"]).ok();
    for call in [waiting, running] {
        let answer = call.join().expect("the call ends");
        assert!(
            answer.is_error() && answer.text().contains("raised the drawbridge"),
            "{}",
            answer.raw
        );
    }
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "at once, and not after {:?}",
        start.elapsed()
    );
    hub.policy("probe", "allow");
    assert!(
        client
            .call("probe__echo", "{}")
            .text()
            .contains("raised the drawbridge"),
        "no rule lets it through"
    );
    assert!(
        client.tools().contains(&"probe__echo".to_owned()),
        "the catalog answers all the same"
    );
    hub.end(Signal::SIGTERM);
    let hub = Hub::serve(&home);
    let client = hub.client("desk again");
    assert!(
        client.call("probe__echo", "{}").is_error(),
        "raised over a restart"
    );
    let decisions: Vec<_> = store::calls(&home.data_dir())
        .expect("read the store")
        .into_iter()
        .map(|row| row.decision)
        .collect();
    assert_eq!(decisions, ["allowed", "paused", "paused", "paused"]);
    home.cli(&["resume"]).ok();
    assert_eq!(
        client.call("probe__echo", r#"{"a":1}"#).text(),
        r#"{"a":1}"#
    );
}

#[test]
fn a_result_is_held_until_a_person_has_seen_it_or_masked() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.policy("probe", "allow");
    home.cli(&["policy", "add", "probe/echo", "--result", "hold"])
        .ok();
    let client = hub.client("desk");
    let held = client.call_meanwhile("probe__echo", r#"{"n":1}"#);
    let (request, id) = asked(&hub);
    assert!(
        request["result"]
            .as_str()
            .is_some_and(|result| result.contains(r#"{\"n\":1}"#)),
        "{request}"
    );
    home.cli(&["approvals", "approve", &id]).ok();
    assert_eq!(held.join().expect("the call ends").text(), r#"{"n":1}"#);
    let withheld = client.call_meanwhile("probe__echo", r#"{"n":2}"#);
    let (_, id) = asked(&hub);
    assert_eq!(
        home.cli(&["approvals", "approve", &id, "--always"]).code(),
        1,
        "a result is let through once"
    );
    home.cli(&["approvals", "deny", &id, "--reason", "private"])
        .ok();
    let answer = withheld.join().expect("the call ends");
    assert!(
        answer.is_error() && answer.text().contains("private"),
        "{}",
        answer.raw
    );
    assert!(
        !answer.raw.contains(r#"{\"n\":2}"#),
        "nothing of the result goes along: {}",
        answer.raw
    );
    until("it is written", || {
        yes(decision_of_last(&home) == ("allowed".into(), "withheld".into()))
    });
    home.cli(&["policy", "add", "probe/variable", "--result", "mask"])
        .ok();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let text = format!(r#"{{"name":"{secret}"}}"#);
    assert!(!client.call("probe__variable", &text).raw.contains(secret));
}

#[test]
fn a_client_that_waits_for_a_person_hears_that_it_still_does() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = hub.client("desk");
    thread::scope(|scope| {
        let told = scope.spawn(|| {
            client.stream(
                "tools/call",
                r#"{"name":"probe__echo","arguments":{},"_meta":{"progressToken":"mine"}}"#,
            )
        });
        let (_, id) = asked(&hub);
        // The keepalive is sent every ten seconds.
        thread::sleep(Duration::from_secs(11));
        home.cli(&["approvals", "approve", &id]).ok();
        let told = told.join().expect("the call ends");
        assert_eq!(told[0]["method"], "notifications/progress", "{told:?}");
        assert_eq!(told[0]["params"]["progressToken"], "mine", "{told:?}");
        assert!(
            told.last()
                .is_some_and(|answer| answer["result"]["isError"] != json!(true)),
            "{told:?}"
        );
    });
}

#[test]
fn rules_go_into_a_file_and_come_back_all_or_none() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    home.cli(&[
        "policy",
        "add",
        "probe/echo",
        "allow",
        "--when",
        "/n is 1.50",
        "--note",
        "halves",
    ])
    .ok();
    home.cli(&["policy", "set", "probe", "deny", "--client", "stranger"])
        .ok();
    let file = home.file("rules.json");
    std::fs::write(&file, home.cli(&["policy", "export"]).ok().stdout()).expect("write it");
    let text = std::fs::read_to_string(&file).expect("read it");
    assert!(text.contains("1.50") && text.contains("halves"), "{text}");
    let path = places::text(&file);
    home.cli(&["policy", "import", "--replace", &path]).ok();
    assert_eq!(
        home.cli(&["policy", "export"]).ok().stdout(),
        text,
        "the same comes out again"
    );
    std::fs::write(&file, text.replace("allow", "allways")).expect("write it");
    let refused = home.cli(&["policy", "import", "--replace", &path]);
    assert!(
        refused.code() == 1 && refused.stderr().contains("line"),
        "{}",
        refused.stderr()
    );
    assert_eq!(
        home.cli(&["policy", "export"]).ok().stdout(),
        text,
        "a broken file changes nothing"
    );
    drop(hub);
}

#[test]
fn what_was_approved_again_and_again_suggests_a_rule_with_its_dry_run() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = hub.client("desk");
    for n in 0..4 {
        let call = client.call_meanwhile(
            "probe__echo",
            &format!(r#"{{"path":"/home/me/notes/{n}.md","mode":"r"}}"#),
        );
        let (_, id) = asked(&hub);
        home.cli(&["approvals", "approve", &id]).ok();
        assert!(!call.join().expect("the call ends").is_error());
    }
    let figures = home.cli(&["policy", "stats", "--json"]).json();
    let today = figures["days"]
        .as_array()
        .and_then(|days| days.last())
        .expect("a day");
    assert_eq!(
        (&today["approved"], &today["denied"]),
        (&json!(4), &json!(0)),
        "{figures}"
    );
    let suggestion = &figures["suggestions"][0];
    assert_eq!(
        suggestion["words"],
        r#"allow echo of probe for desk where /mode is "r" and /path is in /home/me/notes"#,
        "{figures}"
    );
    assert_eq!(
        (&suggestion["approved"], &suggestion["matched"]),
        (&json!(4), &json!(4)),
        "{figures}"
    );
    let saved = hub.verb("policy.save", &json!({"rule": suggestion["rule"]}));
    assert!(saved["id"].is_string(), "{saved}");
    assert!(
        !client
            .call(
                "probe__echo",
                r#"{"path":"/home/me/notes/5.md","mode":"r"}"#
            )
            .is_error(),
        "not asked"
    );
    is_asked(
        &home,
        &hub,
        &client,
        "probe__echo",
        r#"{"path":"/home/me/.ssh/id","mode":"r"}"#,
    );
}

#[test]
fn other_answers_of_a_retry_are_another_call() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.approval_timeout(5);
    let client = hub.client("desk");
    let params = |answer: &str| {
        let answers = json!({"question": {"action": answer}});
        json!({"name": "probe__echo", "arguments": {}, "inputResponses": answers}).to_string()
    };
    thread::scope(|scope| {
        let call = |answer| {
            let (client, params) = (client.again(), params(answer));
            scope.spawn(move || client.request("tools/call", &params))
        };
        let first = call("decline");
        let (request, id) = asked(&hub);
        assert!(
            request["extra"]
                .as_str()
                .is_some_and(|extra| extra.contains("decline")),
            "the prompt shows it: {request}"
        );
        assert!(
            first
                .join()
                .expect("the call ends")
                .text()
                .starts_with("Timed out")
        );
        home.cli(&["approvals", "approve", &id]).ok();
        let other = call("accept");
        deny(&home, &hub);
        assert!(
            other.join().expect("the call ends").is_error(),
            "what was approved had other answers"
        );
        assert!(
            !call("decline").join().expect("the call ends").is_error(),
            "it was approved with these"
        );
    });
    assert_eq!(calls_heard(&home).len(), 1);
}

#[test]
fn a_server_s_word_that_its_tool_only_reads_is_believed_where_the_user_says_so_alone() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let schema = json!({"type": "object"});
    let wipe =
        json!({"name": "wipe", "inputSchema": schema, "annotations": {"readOnlyHint": true}});
    let offered = places::text(home.file("tools.json"));
    std::fs::write(&offered, json!([wipe]).to_string()).expect("write the tools");
    let faulty = Faulty::add(&hub, "sly", &json!({}), &["--tools", &offered]).synced();
    hub.verb("policy.remove", &json!({"server": "sly"}));
    let client = hub.client("desk");
    is_asked(&home, &hub, &client, "sly__wipe", "{}");
    hub.add_probe(&[]);
    home.cli(&["policy", "preset", "ask-writes", "--server", "probe"])
        .ok();
    is_asked(&home, &hub, &client, "sly__wipe", "{}");
    assert_eq!(faulty.calls("wipe").len(), 0);
    home.cli(&["policy", "preset", "ask-writes", "--server", "sly"])
        .ok();
    assert!(
        !client.call("sly__wipe", "{}").is_error(),
        "now it is believed"
    );
}
