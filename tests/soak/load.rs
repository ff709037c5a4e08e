//! The clients and their calls.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use drawbridge_tests::{Hub, McpClient};
use rand::Rng;
use serde_json::json;

/// The longest pause of a client between two calls.
const MAX_PAUSE_MS: u64 = 700;
/// A call whose answer takes longer than this time counts as wrong. Most calls end within a few
/// seconds; a server that starts again and again delays its calls.
const LOST_AFTER: Duration = Duration::from_secs(90);

/// The endpoint that the clients use, and the number of servers that they call.
pub(crate) struct Load {
    url: String,
    servers: usize,
}

/// The outcome of a call for its client.
#[derive(Clone, PartialEq)]
enum Outcome {
    /// The call succeeded. If the tool was `echo`, the result had the arguments of the call.
    Answered,
    /// The answer was an error, or a result with `isError`. The text is the raw answer.
    Failed(String),
    /// The answer was wrong or late, or there was no answer.
    Wrong(String),
}

/// The outcomes of all calls, by their arguments.
#[derive(Default)]
pub(crate) struct Outcomes {
    by_arguments: Mutex<BTreeMap<String, Outcome>>,
    /// The number of outcomes other than [`Outcome::Answered`].
    errors: AtomicUsize,
}

impl Load {
    pub(crate) fn new(hub: &Hub<'_>, servers: usize) -> Self {
        Self {
            url: hub.url.clone(),
            servers,
        }
    }

    /// Calls tools as one client until `is_over` is set.
    pub(crate) fn run_client(
        &self,
        client: usize,
        token: &str,
        outcomes: &Outcomes,
        is_over: &AtomicBool,
    ) {
        let mut random = rand::rng();
        let mut connection = McpClient::connect(&self.url, token);
        for number in 0.. {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            // Before every 500th call, a client ends its session and begins another session.
            if number % 500 == 499 {
                connection.end_session();
                connection = McpClient::connect(&self.url, token);
            }
            let server = random.random_range(0..self.servers);
            // The tools of `tests/upstreams/faulty`.
            let tool = match random.random_range(0..1000) {
                0..2 => "hang",
                2..5 => "die",
                5..7 => "flood",
                _ => "echo",
            };
            let mut arguments =
                json!({"nonce": format!("{client}-{number}"), "ms": random.random_range(0..20)});
            if tool == "flood" {
                let kinds = ["message", "progress", "list_changed", "stray"];
                arguments["kind"] = kinds[number % kinds.len()].into();
                arguments["count"] = 5_000.into();
            }
            let arguments = arguments.to_string();
            let start = Instant::now();
            let params = format!(r#"{{"name":"s{server}__{tool}","arguments":{arguments}}}"#);
            let answer = connection.try_request("tools/call", &params);
            let outcome = match answer {
                _ if start.elapsed() > LOST_AFTER => Outcome::Wrong("late".into()),
                Err(error) => Outcome::Wrong(format!("no answer: {error}")),
                Ok(answer) if answer.error_code().is_some() || answer.is_error() => {
                    Outcome::Failed(answer.raw)
                }
                Ok(answer) if tool == "echo" && answer.text() != arguments => {
                    Outcome::Wrong(format!("the answer of another call: {}", answer.raw))
                }
                Ok(_) => Outcome::Answered,
            };
            outcomes.add(arguments, outcome);
            thread::sleep(Duration::from_millis(random.random_range(0..MAX_PAUSE_MS)));
        }
    }
}

impl Outcomes {
    fn add(&self, arguments: String, outcome: Outcome) {
        if outcome != Outcome::Answered {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        self.lock().insert(arguments, outcome);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Outcome>> {
        self.by_arguments
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn count_errors(&self) -> usize {
        self.errors.load(Ordering::Relaxed)
    }

    /// Returns the arguments of the calls that succeeded.
    pub(crate) fn answered(&self) -> Vec<String> {
        let outcomes = self.lock();
        let answered = outcomes
            .iter()
            .filter(|(_, outcome)| **outcome == Outcome::Answered);
        answered.map(|(arguments, _)| arguments.clone()).collect()
    }

    /// Returns a description of each wrong outcome.
    pub(crate) fn find_violations(&self) -> Vec<String> {
        let outcomes = self.lock();
        let wrong = outcomes
            .iter()
            .filter_map(|(arguments, outcome)| match outcome {
                Outcome::Wrong(reason) => Some(format!("the call {arguments}: {reason}")),
                Outcome::Answered | Outcome::Failed(_) => None,
            });
        wrong.collect()
    }

    /// Returns a table of the 20 most frequent outcomes with their numbers of calls. Errors with
    /// similar texts are counted together.
    pub(crate) fn describe(&self) -> String {
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for outcome in self.lock().values() {
            let kind = match outcome {
                Outcome::Answered => "answered".to_owned(),
                Outcome::Wrong(_) => "wrong".to_owned(),
                Outcome::Failed(raw) => without_details(raw),
            };
            *kinds.entry(kind).or_default() += 1;
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut text = "\n| calls | outcome |\n|---|---|\n".to_owned();
        for (kind, count) in kinds.iter().take(20) {
            let _ = writeln!(text, "| {count} | {kind} |");
        }
        text
    }
}

/// Returns the first words of an error, without the words that contain digits, so that similar
/// errors have equal texts.
fn without_details(raw: &str) -> String {
    let text = raw.split("\"text\":\"").nth(1).unwrap_or(raw);
    let text = text.split(['"', '\n']).next().unwrap_or(text);
    let words = text
        .split_whitespace()
        .filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    words
        .take(16)
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "/")
}
