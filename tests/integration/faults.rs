//! Servers that misbehave, and the results for their clients and for those of other servers.

mod answers;
mod changes;
mod deaf;
mod ends;
mod floods;
mod hangs;
mod leaving;
mod noise;
mod questions;
mod sizes;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use drawbridge_tests::{Faulty, Home, Hub, McpClient};

/// The longest time until a client learns something that the hub knows at once.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Runs `act` and returns its result with the elapsed time.
fn timed<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = act();
    (done, start.elapsed())
}

/// Adds a healthy server and a client of it.
fn neighbour<'a>(hub: &'a Hub<'a>) -> (Faulty<'a>, McpClient) {
    let server = Faulty::add(hub, "neighbour", &serde_json::json!({}), &[]).synced();
    let client = hub.client("neighbour");
    assert_eq!(client.call("neighbour__echo", "{}").text(), "{}");
    (server, client)
}

/// Runs `act` while the neighbour is called. Returns how long each of those calls took.
fn meanwhile<T>(client: &McpClient, act: impl FnOnce() -> T) -> (T, Vec<Duration>) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let calls = scope.spawn(|| {
            let mut took = Vec::new();
            while !is_over.load(Ordering::Relaxed) || took.is_empty() {
                let (answer, elapsed) =
                    timed(|| client.call("neighbour__echo", r#"{"still":"here"}"#));
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
fn outcomes(home: &Home, tool: &str) -> Vec<String> {
    let rows = drawbridge_tests::store::calls(&home.data_dir()).expect("read the store");
    rows.into_iter()
        .filter(|row| row.tool == tool)
        .map(|row| row.outcome)
        .collect()
}
