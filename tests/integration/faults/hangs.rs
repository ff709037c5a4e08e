//! Servers that do not answer: not at their start, or not to a call.

use std::time::Duration;

use drawbridge_tests::{Faulty, Home, Hub, places, until, wait::yes, within};
use serde_json::json;

use super::{meanwhile, neighbour, outcomes, timed};

/// The extra time that a loaded machine gets beyond a timeout.
const SLACK: Duration = Duration::from_secs(2);

#[test]
fn a_server_that_hangs_at_its_start_is_shown_as_starting_then_as_failed_and_its_whole_tree_is_ended()
 {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, client) = neighbour(&hub);
    let patience = Duration::from_millis(4000);
    let ((), took) = meanwhile(&client, || {
        let mute = Faulty::add(
            &hub,
            "mute",
            &json!({"initialize_ms": 4000}),
            &["--mute", "--child"],
        );
        until("it is shown as starting", || {
            yes(mute.seen()["state"] == "initializing")
        });
        until(
            "it runs, and what it started",
            || yes(mute.processes() >= 2),
        );
        let failed = within(patience + SLACK, "it is shown as failed", || {
            Some(mute.seen()).filter(|seen| seen["state"] == "error")
        });
        assert!(
            failed["reason"].to_string().contains("4 s"),
            "it says how long it was waited for: {failed}"
        );
        within(
            SLACK,
            "nothing of it is left",
            || yes(mute.processes() == 0),
        );
        assert_eq!(mute.starts(), 1, "it had its time");
    });
    let slowest = took.iter().max().expect("some calls");
    assert!(
        *slowest < Duration::from_secs(2),
        "the other server was called {} times, once for {slowest:?}",
        took.len()
    );
}

#[test]
fn a_server_that_hangs_at_its_start_and_will_not_end_is_shown_as_failed_at_its_time_all_the_same() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let starter = ["sh", "-c", "trap '' TERM INT HUP; exec \"$0\" \"$@\""];
    let options = ["--mute", "--stay", "--child"];
    let stubborn = Faulty::add_behind(
        &hub,
        "stubborn",
        &json!({"initialize_ms": 1000}),
        &starter,
        &options,
    );
    until("it runs", || yes(stubborn.processes() >= 2));
    let bound = Duration::from_millis(1000) + SLACK;
    within(bound, "it is shown as failed", || {
        yes(stubborn.seen()["state"] == "error")
    });
    until("nothing of it is left", || yes(stubborn.processes() == 0));
}

#[test]
fn a_call_that_hangs_ends_at_the_servers_own_time_is_cancelled_there_once_and_its_late_answer_is_dropped()
 {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({"call_ms": 1000}), &[]).synced();
    let client = hub.client("desk");
    let (answer, took) = timed(|| client.call("faulty__hang", "{}"));
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
    until(
        "the late answer is dropped, which the server's log says",
        || {
            let log = home.cli(&["logs", "--server", "faulty", "--json"]).stdout();
            yes(log.contains("an answer that nobody waits for was dropped"))
        },
    );
    assert_eq!(
        client.call("faulty__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#,
        "the next call has its own answer"
    );
    let call = faulty.calls("hang");
    let cancelled = faulty.heard_of("notifications/cancelled");
    assert_eq!((call.len(), cancelled.len()), (1, 1), "{cancelled:?}");
    assert_eq!(
        cancelled[0]["params"]["requestId"], call[0]["id"],
        "with the id that the server knows"
    );
    assert_eq!(faulty.starts(), 1, "it is not started anew");
    until("it is written down", || {
        yes(outcomes(&home, "hang") == ["timed_out"])
    });
}

#[test]
fn a_public_server_whose_call_takes_too_long_is_told_so_and_answers_the_next_one() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let program = places::text(places::npm(
        "@modelcontextprotocol/server-everything/dist/index.js",
    ));
    let spec = json!({"name": "everything", "command": "node", "args": [program], "timeouts": {"call_ms": 1500}});
    hub.verb("servers.add", &json!({"spec": spec}));
    hub.until_synced("everything");
    hub.policy("everything", "allow");
    let client = hub.client("desk");
    let pid = hub.server("everything")["pid"].clone();
    let arguments = r#"{"duration":3,"steps":1}"#;
    let (answer, took) =
        timed(|| client.call("everything__trigger-long-running-operation", arguments));
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
        hub.server("everything")["pid"],
        pid,
        "it is the same process"
    );
}
