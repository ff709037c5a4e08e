//! Servers that do not answer: not at their start, or not to a call.

use std::time::Duration;

use drawbridge_tests::{
    FaultyServer, Home, Hub, paths, wait::some_if, wait_until, wait_until_within,
};
use serde_json::json;

use super::{add_neighbour, call_neighbour_during, measure, read_outcomes};

/// The extra time that a loaded machine gets beyond a timeout.
const SLACK: Duration = Duration::from_secs(2);

#[test]
fn a_server_that_hangs_at_its_start_fails_and_its_process_tree_is_killed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, client) = add_neighbour(&hub);
    let patience = Duration::from_millis(4000);
    let ((), took) = call_neighbour_during(&client, || {
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
        let failed = wait_until_within(patience + SLACK, "it is shown as failed", || {
            Some(mute.show()).filter(|seen| seen["state"] == "error")
        });
        assert!(
            failed["reason"].to_string().contains("4 s"),
            "it says how long it was waited for: {failed}"
        );
        wait_until_within(SLACK, "nothing of it is left", || {
            some_if(mute.count_processes() == 0)
        });
        assert_eq!(mute.count_starts(), 1, "it had its time");
    });
    let slowest = took.iter().max().expect("some calls");
    assert!(
        *slowest < Duration::from_secs(2),
        "the other server was called {} times, once for {slowest:?}",
        took.len()
    );
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
    let bound = Duration::from_millis(1000) + SLACK;
    wait_until_within(bound, "it is shown as failed", || {
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
    let (answer, took) = measure(|| client.call("faulty__hang", "{}"));
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
        took >= Duration::from_secs(1) && took < Duration::from_secs(1) + SLACK,
        "it took {took:?}"
    );
    wait_until(
        "the late answer is dropped, which the server's log says",
        || {
            let log = home.cli(&["logs", "--server", "faulty", "--json"]).stdout();
            some_if(log.contains("an answer that nobody waits for was dropped"))
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
    let arguments = r#"{"duration":3,"steps":1}"#;
    let (answer, took) =
        measure(|| client.call("everything__trigger-long-running-operation", arguments));
    assert!(
        answer.is_error() && answer.text().contains("unknown"),
        "{}",
        answer.raw
    );
    assert!(
        took >= Duration::from_millis(1500) && took < Duration::from_millis(1500) + SLACK,
        "it took {took:?}"
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
