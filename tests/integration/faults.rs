//! Servers that misbehave, and the results for their clients and for those of other servers.

mod answers;
mod changes;
mod disconnects;
mod elicitations;
mod exits;
mod floods;
mod hangs;
mod non_jsonrpc_lines;
mod sizes;
mod unread_stdin;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use drawbridge_tests::{FaultyServer, Home, Hub, McpClient};

/// The longest time until a client learns something that the hub knows at once.
const IMMEDIATE: Duration = Duration::from_secs(1);

/// Runs `act` and returns its result with the elapsed time.
fn measure<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = act();
    (done, start.elapsed())
}

/// Adds a healthy server and a client of it.
fn add_neighbour<'a>(hub: &'a Hub<'a>) -> (FaultyServer<'a>, McpClient) {
    let server =
        FaultyServer::add(hub, "neighbour", &serde_json::json!({}), &[]).wait_until_synced();
    let client = hub.connect_client("neighbour");
    assert_eq!(client.call("neighbour__echo", "{}").text(), "{}");
    (server, client)
}

/// Runs `act` while the neighbour is called. Returns how long each of those calls took.
fn call_neighbour_during<T>(client: &McpClient, act: impl FnOnce() -> T) -> (T, Vec<Duration>) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let calls = scope.spawn(|| {
            let mut took = Vec::new();
            while !is_over.load(Ordering::Relaxed) || took.is_empty() {
                let (answer, elapsed) =
                    measure(|| client.call("neighbour__echo", r#"{"still":"here"}"#));
                assert_eq!(answer.text(), r#"{"still":"here"}"#);
                took.push(elapsed);
            }
            took
        });
        let done = catch_unwind(AssertUnwindSafe(act));
        is_over.store(true, Ordering::Relaxed);
        let took = calls.join().expect("the neighbour answers");
        (done.unwrap_or_else(|panic| resume_unwind(panic)), took)
    })
}

/// Returns the recorded outcomes of the calls of a tool.
fn read_outcomes(home: &Home, tool: &str) -> Vec<String> {
    let rows = drawbridge_tests::store::read_calls(&home.data_dir()).expect("read the store");
    rows.into_iter()
        .filter(|row| row.tool == tool)
        .map(|row| row.outcome)
        .collect()
}
