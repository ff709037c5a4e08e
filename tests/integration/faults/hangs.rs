//! Servers that hang at their start or in a call.

use std::path::Path;

use drawbridge_tests::{FaultyServer, Home, Hub, paths, wait::some_if, wait_until};
use serde_json::json;

use super::{add_neighbour, call_neighbour_during, long_timeouts, read_outcomes};

#[test]
fn a_server_that_hangs_at_its_start_fails_and_its_process_tree_is_killed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, client) = add_neighbour(&hub);
    call_neighbour_during(&home, &client, |neighbour_answered| {
        let mute_server = FaultyServer::add(
            &hub,
            "mute",
            &json!({"initialize_ms": 4000}),
            &["--mute", "--child"],
        );
        wait_until("the server is shown as starting", || {
            some_if(mute_server.show()["state"] == "initializing")
        });
        wait_until("the server and its child run", || {
            some_if(mute_server.count_processes() >= 2)
        });
        wait_until("the other server is answered", || {
            some_if(Path::new(neighbour_answered).exists())
        });
        assert_eq!(
            mute_server.show()["state"],
            "initializing",
            "the other server did not wait for the mute server"
        );
        let failed = wait_until("the server is shown as failed", || {
            Some(mute_server.show()).filter(|server| server["state"] == "error")
        });
        assert!(
            failed["reason"].to_string().contains("4 s"),
            "the reason names the timeout: {failed}"
        );
        wait_until("no process of the server is left", || {
            some_if(mute_server.count_processes() == 0)
        });
        assert_eq!(
            mute_server.count_starts(),
            1,
            "the server was started only once"
        );
    });
}

#[test]
fn a_server_that_hangs_at_its_start_and_ignores_termination_fails_on_time() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let starter = ["sh", "-c", "trap '' TERM INT HUP; exec \"$0\" \"$@\""];
    let options = ["--mute", "--stay", "--child"];
    let server = FaultyServer::add_with_starter(
        &hub,
        "stubborn",
        &json!({"initialize_ms": 1000}),
        &starter,
        &options,
    );
    wait_until("the server runs", || some_if(server.count_processes() >= 2));
    wait_until("the server is shown as failed", || {
        some_if(server.show()["state"] == "error")
    });
    wait_until("no process of the server is left", || {
        some_if(server.count_processes() == 0)
    });
}

#[test]
fn a_hanging_call_times_out_is_cancelled_once_and_its_late_answer_is_dropped() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty =
        FaultyServer::add(&hub, "faulty", &json!({"call_ms": 1000}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    let slow_answer = client.call("faulty__echo", r#"{"ms":200}"#);
    assert_eq!(
        slow_answer.text(),
        r#"{"ms":200}"#,
        "a slow answer before the timeout arrives"
    );
    let other_server =
        FaultyServer::add(&hub, "patient", &long_timeouts(), &[]).wait_until_synced();
    let other_call = client
        .begin_call("patient__echo", r#"{"ms":600000}"#)
        .expect("a connection");
    wait_until("the other server has received its call", || {
        some_if(other_server.received_calls("echo").len() == 1)
    });
    let answer = client.call("faulty__hang", "{}");
    assert!(
        answer.is_error() && answer.text().contains("did not answer in time"),
        "{}",
        answer.raw
    );
    assert!(
        answer.text().contains("unknown"),
        "the error says that the outcome is unknown: {}",
        answer.raw
    );
    assert!(
        !other_call.has_ended(),
        "the timeout of one server does not end the call of another server"
    );
    wait_until("the server's log reports the dropped late answer", || {
        let log = home.cli(&["logs", "--server", "faulty", "--json"]).stdout();
        some_if(log.contains("Dropped an answer to a request that is unknown or was cancelled"))
    });
    assert_eq!(
        client.call("faulty__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#,
        "the next call has its own answer"
    );
    let call = faulty.received_calls("hang");
    let cancelled = faulty.received_by_method("notifications/cancelled");
    assert_eq!((call.len(), cancelled.len()), (1, 1), "{cancelled:?}");
    assert_eq!(
        cancelled[0]["params"]["requestId"], call[0]["id"],
        "the cancellation names the id of the call"
    );
    assert_eq!(faulty.count_starts(), 1, "the server is not restarted");
    wait_until("the outcome is recorded", || {
        some_if(read_outcomes(&home, "hang") == ["timed_out"])
    });
}

#[test]
fn a_public_server_gets_the_cancellation_of_a_timed_out_call_and_answers_the_next() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let program = paths::path_text(paths::npm_file(
        "@modelcontextprotocol/server-everything/dist/index.js",
    ));
    let spec = json!({"name": "everything", "command": "node", "args": [program], "timeouts": {"call_ms": 1500}});
    hub.run_verb("servers.add", &json!({"spec": spec}));
    hub.wait_until_synced("everything");
    hub.set_policy("everything", "allow");
    let client = hub.connect_client("desk");
    let pid = hub.show_server("everything")["pid"].clone();
    // The server is at work for longer than the test.
    let arguments = r#"{"duration":600,"steps":1}"#;
    let answer = client.call("everything__trigger-long-running-operation", arguments);
    assert!(
        answer.is_error() && answer.text().contains("unknown"),
        "{}",
        answer.raw
    );
    assert_eq!(
        client.call("everything__echo", r#"{"message":"1"}"#).text(),
        "Echo: 1"
    );
    assert_eq!(
        hub.show_server("everything")["pid"],
        pid,
        "the server is not restarted"
    );
}
