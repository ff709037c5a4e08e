//! Servers that misbehave, and the effects on their own clients and on the clients of other
//! servers.

mod answers;
mod changes;
mod disconnects;
mod elicitations;
mod exits;
mod floods;
mod hangs;
mod memory;
mod non_jsonrpc_lines;
mod sizes;
mod unread_stdin;

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use drawbridge_tests::{FaultyServer, Home, Hub, McpClient, paths};
use serde_json::{Value, json};

/// The number of calls of the neighbour that have to be answered while another server misbehaves.
const NEIGHBOUR_CALLS: usize = 20;

/// Returns a timeout of calls that is longer than any test. If a call is answered nevertheless, the
/// hub has noticed the fault itself.
fn long_timeouts() -> Value {
    json!({"call_ms": 600_000})
}

/// Adds a healthy server and a client that calls it.
fn add_neighbour<'a>(hub: &'a Hub<'a>) -> (FaultyServer<'a>, McpClient) {
    let server = FaultyServer::add(hub, "neighbour", &json!({}), &[]).wait_until_synced();
    let client = hub.connect_client("neighbour");
    assert_eq!(client.call("neighbour__echo", "{}").text(), "{}");
    (server, client)
}

/// A file for which a fixture waits. The file appears at the latest when this value is dropped, so
/// that no fixture waits for a test that has failed.
struct ReleaseFile(PathBuf);

impl ReleaseFile {
    fn new(home: &Home) -> Self {
        let path = home.file("neighbour-answered");
        // The file of an earlier flood may be there.
        let _ = fs::remove_file(&path);
        Self(path)
    }

    fn create(&self) {
        fs::write(&self.0, "").expect("write the file");
    }
}

impl Drop for ReleaseFile {
    fn drop(&mut self) {
        let _ = fs::write(&self.0, "");
    }
}

/// Runs `act` while the neighbour is called. Fails unless the neighbour is answered
/// [`NEIGHBOUR_CALLS`] times before `act` ends. `act` gets the path of a file that appears after
/// these answers, so that a server can misbehave until the file exists. A server that delays its
/// neighbour for as long as it misbehaves never stops, and the test fails.
fn call_neighbour_during<T>(home: &Home, client: &McpClient, act: impl FnOnce(&str) -> T) -> T {
    let (is_over, release) = (AtomicBool::new(false), ReleaseFile::new(home));
    let path = paths::path_text(&release.0);
    let is_over = &is_over;
    thread::scope(|scope| {
        let calls = scope.spawn(move || {
            let mut answered = 0;
            loop {
                let answer = client.call("neighbour__echo", r#"{"still":"here"}"#);
                assert_eq!(answer.text(), r#"{"still":"here"}"#);
                if is_over.load(Ordering::Relaxed) {
                    return answered;
                }
                answered += 1;
                if answered == NEIGHBOUR_CALLS {
                    release.create();
                }
            }
        });
        let result = catch_unwind(AssertUnwindSafe(|| act(&path)));
        is_over.store(true, Ordering::Relaxed);
        let answered = calls.join().expect("the neighbour answers");
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        assert!(
            answered >= NEIGHBOUR_CALLS,
            "another server was answered only {answered} times meanwhile"
        );
        result
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
