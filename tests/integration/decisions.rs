//! Decisions beyond approve and deny: edited arguments, rules for several calls or with conditions,
//! late approvals, paused calls, and results that are held or masked. Also rules that are imported,
//! suggested, questioned or disabled, and calls that nobody is asked about.

use std::thread;

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient, hub::received_calls, mcp::Events, paths, store,
    wait::some_if, wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// Waits for a pending approval and returns it with its id.
fn wait_for_approval(hub: &Hub<'_>) -> (Value, String) {
    let request = hub.wait_for_approval();
    let id = request["id"].as_str().expect("an id").to_owned();
    (request, id)
}

/// Denies the pending approval.
fn deny_pending(home: &Home, hub: &Hub<'_>) {
    let (_, id) = wait_for_approval(hub);
    home.cli(&["approvals", "deny", &id]).expect_success();
}

/// Checks that the call waits for a person, and denies it.
#[track_caller]
fn assert_needs_approval(
    home: &Home,
    hub: &Hub<'_>,
    client: &McpClient,
    tool: &str,
    arguments: &str,
) {
    let call = client.spawn_call(tool, arguments);
    deny_pending(home, hub);
    assert!(
        call.join().expect("the call ends").is_error(),
        "{tool} {arguments} ran without an approval"
    );
}

fn read_last_decision(home: &Home) -> (String, String) {
    let rows = store::read_calls(&home.data_dir()).expect("read the store");
    let row = rows.last().expect("a call");
    (row.decision.clone(), row.outcome.clone())
}

#[test]
fn without_a_screen_the_denial_states_that_nobody_could_be_asked() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_approval_timeout(5);
    let answer = hub.connect_client("desk").call("probe__echo", "{}");
    assert!(
        answer.is_error() && answer.text().starts_with("No screen"),
        "{}",
        answer.raw
    );
    assert_eq!(
        read_last_decision(&home),
        ("no_screen".into(), "not_sent".into())
    );
    assert_eq!(
        received_calls(&home),
        Vec::<String>::new(),
        "nothing reached the server"
    );
}

#[test]
fn a_late_approval_runs_nothing_and_covers_one_identical_retry() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_approval_timeout(5);
    let client = hub.connect_client("desk");
    let call = client.spawn_call("probe__echo", r#"{"n":1.0}"#);
    let (_, id) = wait_for_approval(&hub);
    assert!(
        call.join()
            .expect("the call ends")
            .text()
            .starts_with("Timed out")
    );
    let output = home
        .cli(&["approvals", "approve", &id])
        .expect_success()
        .stdout();
    assert!(output.contains("identical retry"), "{output}");
    assert_eq!(
        received_calls(&home),
        Vec::<String>::new(),
        "a late approval does not run the call"
    );
    assert_needs_approval(&home, &hub, &client, "probe__echo", r#"{"n":1}"#);
    assert_eq!(
        client.call("probe__echo", r#"{"n":1.0}"#).text(),
        r#"{"n":1.0}"#,
        "the identical retry is forwarded"
    );
    let rows = store::read_calls(&home.data_dir()).expect("read the store");
    let last_row = rows.last().expect("a call");
    assert_eq!(
        (last_row.decision.as_str(), last_row.decided_by.as_str()),
        ("allowed", "person")
    );
    assert_needs_approval(&home, &hub, &client, "probe__echo", r#"{"n":1.0}"#);
}

#[test]
fn edited_arguments_are_run_and_recorded() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&["--check-decisions-in", &paths::path_text(home.data_dir())]);
    let client = hub.connect_client("desk");
    let call = client.spawn_call("probe__echo", r#"{"path":"/etc/passwd"}"#);
    let (_, id) = wait_for_approval(&hub);
    for (arguments, expected_text) in [
        ("[1]", "object"),
        ("{", "JSON"),
        (r#"{"a":1,"a":2}"#, "twice"),
    ] {
        let rejected = home.cli(&["approvals", "approve", &id, "--arguments", arguments]);
        assert!(
            rejected.exit_code() == 1 && rejected.stderr().contains(expected_text),
            "{arguments}: {}",
            rejected.stderr()
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
    .expect_success();
    let rejected = home.cli(&[
        "approvals",
        "approve",
        &id,
        "--arguments",
        r#"{"path":"/root/x"}"#,
    ]);
    assert!(
        rejected.exit_code() == 1
            && rejected
                .stderr()
                .contains("denied by the rule: deny echo of probe"),
        "{}",
        rejected.stderr()
    );
    assert_eq!(wait_for_approval(&hub).1, id, "the call is still pending");
    home.cli(&[
        "approvals",
        "approve",
        &id,
        "--arguments",
        r#"{"path":"/tmp/notes","n":1.0}"#,
    ])
    .expect_success();
    assert_eq!(
        call.join().expect("the call ends").text(),
        r#"{"n":1.0,"path":"/tmp/notes"}"#
    );
    let received = received_calls(&home);
    assert!(
        received.len() == 1 && received[0].contains(r#"{"path":"/tmp/notes","n":1.0}"#),
        "{received:?}"
    );
    let calls = home.cli(&["calls", "list", "--json"]).expect_json();
    assert_eq!(calls[0]["is_edited"], true, "{calls}");
}

#[test]
fn a_rule_tests_arguments_and_a_deny_takes_precedence() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = hub.connect_client("desk");
    let folder = paths::path_text(home.file("notes"));
    std::fs::create_dir(&folder).expect("create the folder");
    let condition = format!("/path in {folder}");
    home.cli(&[
        "policy",
        "add",
        "probe/echo",
        "allow",
        "--when",
        &condition,
        "--when",
        "/n between 1 10",
    ])
    .expect_success();
    let arguments = |path: &str, n: &str| format!(r#"{{"path":"{path}","n":{n}}}"#);
    let inside_path = format!("{folder}/a.md");
    assert!(
        !client
            .call("probe__echo", &arguments(&inside_path, "10.0"))
            .is_error(),
        "arguments that match the conditions are allowed"
    );
    assert_needs_approval(
        &home,
        &hub,
        &client,
        "probe__echo",
        &arguments(&inside_path, "11"),
    );
    assert_needs_approval(
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
    .expect_success();
    let denied = client.call(
        "probe__echo",
        &arguments(&format!("{folder}/secret.md"), "1"),
    );
    assert!(
        denied.is_error() && denied.text().contains("if /path matches"),
        "the error names the rule: {}",
        denied.raw
    );
    let call = &home.cli(&["calls", "list", "--json"]).expect_json()[0];
    let rules = home.cli(&["policy", "list", "--json"]).expect_json();
    assert_eq!(
        call["rule"], rules["rules"][1]["id"],
        "the record names the rule that decided the call"
    );
}

#[test]
fn a_counted_approval_keeps_its_remaining_calls_across_a_restart() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = hub.connect_client("desk");
    let call = client.spawn_call("probe__echo", r#"{"n":0}"#);
    let (_, id) = wait_for_approval(&hub);
    home.cli(&["approvals", "approve", &id, "--calls", "2"])
        .expect_success();
    assert!(!call.join().expect("the call ends").is_error());
    assert!(
        !client.call("probe__echo", r#"{"n":1}"#).is_error(),
        "the first of the two further calls is allowed"
    );
    hub.stop(Signal::SIGKILL);
    let hub = Hub::serve(&home);
    let client = hub.connect_client("desk again");
    assert_needs_approval(&home, &hub, &client, "probe__echo", r#"{"n":2}"#);
    let rules = home.cli(&["policy", "list", "--json"]).expect_json();
    assert_eq!(
        rules["rules"][0]["remaining"], 1,
        "one approved call remains, for the client of the approved call: {rules}"
    );
}

#[test]
fn a_pause_denies_pending_calls_aborts_calls_in_flight_and_survives_a_restart() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe/slow", "allow");
    let client = hub.connect_client("desk");
    let running = hub
        .connect_client("other")
        .spawn_call("probe__slow", r#"{"ms":600000}"#);
    wait_until("the call has reached the server", || {
        some_if(!received_calls(&home).is_empty())
    });
    let pending = client.spawn_call("probe__echo", "{}");
    let _ = hub.wait_for_approval();
    // Neither the person nor the server ever answers.
    home.cli(&["pause"]).expect_success();
    for call in [pending, running] {
        let answer = call.join().expect("the call ends");
        assert!(
            answer.is_error() && answer.text().contains("All calls are paused"),
            "{}",
            answer.raw
        );
    }
    hub.set_policy("probe", "allow");
    assert!(
        client
            .call("probe__echo", "{}")
            .text()
            .contains("All calls are paused"),
        "no rule allows a call during a pause"
    );
    assert!(
        client.list_tools().contains(&"probe__echo".to_owned()),
        "the catalog is available during a pause"
    );
    hub.stop(Signal::SIGTERM);
    let hub = Hub::serve(&home);
    let client = hub.connect_client("desk again");
    assert!(
        client.call("probe__echo", "{}").is_error(),
        "the pause survives a restart"
    );
    let rows = store::read_calls(&home.data_dir()).expect("read the store");
    let decisions: Vec<_> = rows.iter().map(|row| row.decision.as_str()).collect();
    assert_eq!(decisions, ["allowed", "paused", "paused", "paused"]);
    assert_eq!(
        (rows[0].outcome.as_str(), rows[0].error.as_str()),
        ("cancelled", "all calls were paused"),
        "the record of the call in flight names the pause, not its client"
    );
    home.cli(&["resume"]).expect_success();
    assert_eq!(
        client.call("probe__echo", r#"{"a":1}"#).text(),
        r#"{"a":1}"#
    );
}

#[test]
fn a_result_is_held_for_a_person_or_masked() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    home.cli(&["policy", "add", "probe/echo", "--result", "hold"])
        .expect_success();
    let client = hub.connect_client("desk");
    let held_call = client.spawn_call("probe__echo", r#"{"n":1}"#);
    let (request, id) = wait_for_approval(&hub);
    assert!(
        request["result"]
            .as_str()
            .is_some_and(|result| result.contains(r#"{\"n\":1}"#)),
        "{request}"
    );
    home.cli(&["approvals", "approve", &id]).expect_success();
    assert_eq!(
        held_call.join().expect("the call ends").text(),
        r#"{"n":1}"#
    );
    let withheld_call = client.spawn_call("probe__echo", r#"{"n":2}"#);
    let (_, id) = wait_for_approval(&hub);
    assert_eq!(
        home.cli(&["approvals", "approve", &id, "--always"])
            .exit_code(),
        1,
        "a result can only be approved once"
    );
    home.cli(&["approvals", "deny", &id, "--reason", "private"])
        .expect_success();
    let answer = withheld_call.join().expect("the call ends");
    assert!(
        answer.is_error() && answer.text().contains("private"),
        "{}",
        answer.raw
    );
    assert!(
        !answer.raw.contains(r#"{\"n\":2}"#),
        "a withheld result does not reach the client: {}",
        answer.raw
    );
    wait_until("the decision is recorded", || {
        some_if(read_last_decision(&home) == ("allowed".into(), "withheld".into()))
    });
    home.cli(&["policy", "add", "probe/variable", "--result", "mask"])
        .expect_success();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let text = format!(r#"{{"name":"{secret}"}}"#);
    assert!(!client.call("probe__variable", &text).raw.contains(secret));
}

#[test]
fn a_client_gets_progress_while_its_call_waits_for_a_person() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = hub.connect_client("desk");
    let params =
        json!({"name": "probe__echo", "arguments": {}, "_meta": {"progressToken": "mine"}});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut events = Events::new(client.post(&request).expect("an answer"));
    let progress = events.next().expect("progress before the answer").message();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["progressToken"], "mine", "{progress}");
    let (_, id) = wait_for_approval(&hub);
    home.cli(&["approvals", "approve", &id]).expect_success();
    let answer = events.last().expect("an answer").message();
    assert!(
        answer["id"] == 1 && answer["result"]["content"].is_array(),
        "{answer}"
    );
    assert_ne!(answer["result"]["isError"], json!(true), "{answer}");
}

#[test]
fn rules_are_exported_and_imported_all_or_none() {
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
    .expect_success();
    home.cli(&["policy", "set", "probe", "deny", "--client", "stranger"])
        .expect_success();
    let file = home.file("rules.json");
    std::fs::write(
        &file,
        home.cli(&["policy", "export"]).expect_success().stdout(),
    )
    .expect("write the rules");
    let text = std::fs::read_to_string(&file).expect("read the rules");
    assert!(text.contains("1.50") && text.contains("halves"), "{text}");
    let path = paths::path_text(&file);
    home.cli(&["policy", "import", "--replace", &path])
        .expect_success();
    assert_eq!(
        home.cli(&["policy", "export"]).expect_success().stdout(),
        text,
        "an import preserves the exported rules"
    );
    std::fs::write(&file, text.replace("allow", "allways")).expect("write the rules");
    let rejected = home.cli(&["policy", "import", "--replace", &path]);
    assert!(
        rejected.exit_code() == 1 && rejected.stderr().contains("line"),
        "{}",
        rejected.stderr()
    );
    assert_eq!(
        home.cli(&["policy", "export"]).expect_success().stdout(),
        text,
        "a broken file changes nothing"
    );
    drop(hub);
}

#[test]
fn repeated_approvals_suggest_a_rule_with_its_dry_run() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = hub.connect_client("desk");
    for number in 0..4 {
        let call = client.spawn_call(
            "probe__echo",
            &format!(r#"{{"path":"/home/me/notes/{number}.md","mode":"r"}}"#),
        );
        let (_, id) = wait_for_approval(&hub);
        home.cli(&["approvals", "approve", &id]).expect_success();
        assert!(!call.join().expect("the call ends").is_error());
    }
    let stats = home.cli(&["policy", "stats", "--json"]).expect_json();
    let today = stats["days"]
        .as_array()
        .and_then(|days| days.last())
        .expect("a day");
    assert_eq!(
        (&today["approved"], &today["denied"]),
        (&json!(4), &json!(0)),
        "{stats}"
    );
    let suggestion = &stats["suggestions"][0];
    assert_eq!(
        suggestion["text"],
        r#"allow echo of probe for desk if /mode is "r" and /path is in /home/me/notes"#,
        "{stats}"
    );
    assert_eq!(
        (&suggestion["approved"], &suggestion["matched"]),
        (&json!(4), &json!(4)),
        "{stats}"
    );
    let saved = hub.run_verb("policy.save", &json!({"rule": suggestion["rule"]}));
    assert!(saved["id"].is_string(), "{saved}");
    assert!(
        !client
            .call(
                "probe__echo",
                r#"{"path":"/home/me/notes/5.md","mode":"r"}"#
            )
            .is_error(),
        "the saved rule allows the call"
    );
    assert_needs_approval(
        &home,
        &hub,
        &client,
        "probe__echo",
        r#"{"path":"/home/me/.ssh/id","mode":"r"}"#,
    );
}

#[test]
fn a_retry_with_other_answers_is_another_call() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_approval_timeout(5);
    let client = hub.connect_client("desk");
    let params = |answer: &str| {
        let answers = json!({"question": {"action": answer}});
        json!({"name": "probe__echo", "arguments": {}, "inputResponses": answers}).to_string()
    };
    thread::scope(|scope| {
        let spawn_call = |answer| {
            let (client, params) = (client.second_handle(), params(answer));
            scope.spawn(move || client.request("tools/call", &params))
        };
        let first_call = spawn_call("decline");
        let (request, id) = wait_for_approval(&hub);
        assert!(
            request["extra"]
                .as_str()
                .is_some_and(|extra| extra.contains("decline")),
            "the approval shows the answers: {request}"
        );
        assert!(
            first_call
                .join()
                .expect("the call ends")
                .text()
                .starts_with("Timed out")
        );
        home.cli(&["approvals", "approve", &id]).expect_success();
        let other_call = spawn_call("accept");
        deny_pending(&home, &hub);
        assert!(
            other_call.join().expect("the call ends").is_error(),
            "the approval does not cover other answers"
        );
        assert!(
            !spawn_call("decline")
                .join()
                .expect("the call ends")
                .is_error(),
            "the approval covers the same answers"
        );
    });
    assert_eq!(received_calls(&home).len(), 1);
}

#[test]
fn the_read_only_hint_of_a_server_is_trusted_only_if_the_user_says_so() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let schema = json!({"type": "object"});
    let wipe_tool =
        json!({"name": "wipe", "inputSchema": schema, "annotations": {"readOnlyHint": true}});
    let tools_file = paths::path_text(home.file("tools.json"));
    std::fs::write(&tools_file, json!([wipe_tool]).to_string()).expect("write the tools");
    let faulty =
        FaultyServer::add(&hub, "sly", &json!({}), &["--tools", &tools_file]).wait_until_synced();
    hub.run_verb("policy.remove", &json!({"server": "sly"}));
    let client = hub.connect_client("desk");
    assert_needs_approval(&home, &hub, &client, "sly__wipe", "{}");
    hub.add_probe(&[]);
    home.cli(&["policy", "preset", "ask-writes", "--server", "probe"])
        .expect_success();
    assert_needs_approval(&home, &hub, &client, "sly__wipe", "{}");
    assert_eq!(faulty.received_calls("wipe").len(), 0);
    home.cli(&["policy", "preset", "ask-writes", "--server", "sly"])
        .expect_success();
    assert!(
        !client.call("sly__wipe", "{}").is_error(),
        "the hint is trusted"
    );
}

#[test]
fn of_many_denied_calls_in_a_minute_the_first_ten_keep_their_arguments() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "deny");
    let client = hub.connect_client("desk");
    for number in 0..15 {
        let answer = client.call("probe__echo", &json!({ "n": number }).to_string());
        assert!(answer.is_error(), "{}", answer.raw);
    }
    home.cli(&["pause"]).expect_success();
    assert!(
        client
            .call("probe__echo", r#"{"n":"of a paused call"}"#)
            .is_error()
    );
    home.cli(&["resume"]).expect_success();
    let other_client = hub.connect_client("other");
    assert!(
        other_client
            .call("probe__echo", r#"{"n":"of another client"}"#)
            .is_error()
    );
    let calls = home.cli(&["calls", "list", "--json"]).expect_json();
    let stored = calls.as_array().expect("calls").iter().filter_map(|call| {
        let id = call["id"].as_str().expect("an id");
        let call = home.cli(&["calls", "show", id, "--json"]).expect_json();
        call["arguments"].as_str().map(str::to_owned)
    });
    let stored: Vec<_> = stored.collect();
    assert_eq!(stored.len(), 11, "{stored:?}");
    assert!(stored[0].contains("of another client"), "{stored:?}");
}

#[test]
fn a_rule_that_allows_everything_or_names_no_known_server_is_saved_only_after_a_question() {
    let home = Home::new();
    home.cli(&["servers", "add", "everything", "--", "true"])
        .expect_success();
    let questioned: [(&[&str], &str); 3] = [
        (
            &["policy", "set", "*", "allow"],
            "all tools of all servers run without asking",
        ),
        (
            &["policy", "set", "everthing/echo", "allow"],
            "Did you mean 'everything'?",
        ),
        (
            &["policy", "default", "allow"],
            "all tools of all servers run without asking",
        ),
    ];
    let list_policy = || home.cli(&["policy", "list", "--json"]).expect_json();
    let before = list_policy();
    for (arguments, warning) in questioned {
        let refused = home.cli(arguments);
        assert_eq!(refused.exit_code(), 1, "{arguments:?}: no terminal");
        let stderr = refused.stderr();
        assert!(stderr.contains(warning), "{arguments:?}: {stderr}");
        assert!(stderr.contains("--yes"), "{arguments:?}: {stderr}");
        let declined = home.cli_at_terminal(arguments, "n\n");
        assert_eq!(declined.exit_code(), 1, "{arguments:?}: the answer is no");
        assert!(declined.stdout().contains(warning), "{arguments:?}");
        assert_eq!(list_policy(), before, "{arguments:?}: nothing was saved");
    }
    home.cli_at_terminal(&["policy", "set", "*", "allow"], "y\n")
        .expect_success();
    home.cli(&["policy", "set", "everything", "allow"])
        .expect_success();
    home.cli(&["policy", "default", "allow", "--yes"])
        .expect_success();
    let after = list_policy();
    assert_eq!(after["rules"].as_array().map(Vec::len), Some(2), "{after}");
    assert_eq!(after["defaults"]["tools"], "allow");
}

#[test]
fn a_disabled_rule_decides_no_call_until_it_is_enabled() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    home.cli(&["policy", "default", "allow", "--yes"])
        .expect_success();
    home.cli(&["policy", "set", "probe", "deny"])
        .expect_success();
    let rules = home.cli(&["policy", "list", "--json"]).expect_json();
    let id = rules["rules"][0]["id"].as_str().expect("an id");
    let client = hub.connect_client("desk");
    for (command, is_denied) in [
        (None, true),
        (Some("disable"), false),
        (Some("enable"), true),
    ] {
        if let Some(command) = command {
            home.cli(&["policy", command, id]).expect_success();
        }
        let answer = client.call("probe__echo", "{}");
        assert_eq!(answer.is_error(), is_denied, "{command:?}: {}", answer.raw);
    }
}
