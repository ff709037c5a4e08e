//! Servers that do not answer: not at their start, or not to a call.

use std::path::Path;

use drawbridge_tests::{FaultyServer, Home, Hub, paths, wait::some_if, wait_until};
use serde_json::json;

use super::{add_neighbour, call_neighbour_during, endless_timeouts, read_outcomes};

#[test]
fn a_server_that_hangs_at_its_start_fails_and_its_process_tree_is_killed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, client) = add_neighbour(&hub);
    call_neighbour_during(&home, &client, |neighbour_answered| {
        let mute = FaultyServer::add(
            &hub,
            "mute",
            &json!({"initialize_ms": 4000}),
            &["--mute", "--child"],
        );
        wait_until("it is shown as starting", || {
            some_if(mute.show()["state"] == "initializing")
        });
        wait_until("it runs, and what it started", || {
            some_if(mute.count_processes() >= 2)
        });
        wait_until("the other server is answered", || {
            some_if(Path::new(neighbour_answered).exists())
        });
        assert_eq!(
            mute.show()["state"],
            "initializing",
            "the other server did not wait for it"
        );
        let failed = wait_until("it is shown as failed", || {
            Some(mute.show()).filter(|seen| seen["state"] == "error")
        });
        assert!(
            failed["reason"].to_string().contains("4 s"),
            "it says how long it was waited for: {failed}"
        );
        wait_until("nothing of it is left", || {
            some_if(mute.count_processes() == 0)
        });
        assert_eq!(mute.count_starts(), 1, "it had its time");
    });
}

#[test]
fn a_server_that_hangs_at_its_start_and_ignores_termination_fails_on_time() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let starter = ["sh", "-c", "trap '' TERM INT HUP; exec \"$0\" \"$@\""];
    let options = ["--mute", "--stay", "--child"];
    let stubborn = FaultyServer::add_with_starter(
        &hub,
        "stubborn",
        &json!({"initialize_ms": 1000}),
        &starter,
        &options,
    );
    wait_until("it runs", || some_if(stubborn.count_processes() >= 2));
    wait_until("it is shown as failed", || {
        some_if(stubborn.show()["state"] == "error")
    });
    wait_until("nothing of it is left", || {
        some_if(stubborn.count_processes() == 0)
    });
}

#[test]
fn a_hanging_call_times_out_is_cancelled_once_and_its_late_answer_is_dropped() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty =
        FaultyServer::add(&hub, "faulty", &json!({"call_ms": 1000}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    let slow = client.call("faulty__echo", r#"{"ms":200}"#);
    assert_eq!(
        slow.text(),
        r#"{"ms":200}"#,
        "a slow answer before the timeout arrives"
    );
    let patient = FaultyServer::add(&hub, "patient", &endless_timeouts(), &[]).wait_until_synced();
    let waiting = client
        .begin_call("patient__echo", r#"{"ms":600000}"#)
        .expect("a connection");
    wait_until("the other server is at work", || {
        some_if(patient.received_calls("echo").len() == 1)
    });
    let answer = client.call("faulty__hang", "{}");
    assert!(
        answer.is_error() && answer.text().contains("did not answer in time"),
        "{}",
        answer.raw
    );
    assert!(
        answer.text().contains("unknown"),
        "nobody knows whether it ran: {}",
        answer.raw
    );
    assert!(
        !waiting.has_ended(),
        "each server has its own timeout, and that of the other has not passed"
    );
    wait_until(
        "the late answer is dropped, which the server's log says",
        || {
            let log = home.cli(&["logs", "--server", "faulty", "--json"]).stdout();
            some_if(log.contains("Dropped an answer to a request that is unknown or was cancelled"))
        },
    );
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
        "with the id that the server knows"
    );
    assert_eq!(faulty.count_starts(), 1, "it is not started anew");
    wait_until("it is written down", || {
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
        "it is the same process"
    );
}
