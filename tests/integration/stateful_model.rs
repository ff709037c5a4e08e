//! Random sequences of steps in the life of calls: clients send and abandon them, people decide
//! them or miss them, rules forbid them, their tool or server changes, and the hub is killed.
//! Prompts, resources, completions, subscriptions, tasks with held results, and changed
//! instructions come in between. No call reaches the server without a matching decision that was
//! recorded before. The server `guide` changes its texts, and no client sees a text before a person
//! has accepted it.
//!
//! `DRAWBRIDGE_MODEL_CASES` sets the number of random sequences. Without the variable, the test
//! tries the same [`CASES`] sequences each time.

mod model;

use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, Write},
    sync::Mutex,
    thread,
};

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient,
    hub::{received_lines, try_verb},
    mcp::{Answer, PendingCall},
    paths, store,
    wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use proptest::{
    strategy::Strategy,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use proptest_state_machine::ReferenceStateMachine;
use serde_json::{Value, json, value::RawValue};

use model::{
    APPROVED_CALLS, CLIENTS, ExpectedResponse, GUIDE_TEXTS, Guide, Kind, ModelCall, Outcome,
    Request, Step, Verdict, World,
};

/// The number of parallel runs. Most of their time is spent waiting for timeouts.
const THREADS: u32 = 4;
const CASES: u32 = 40;
/// The shortest timeout that the settings accept, in seconds.
const APPROVAL_TIMEOUT: u32 = 5;

/// A hub with its clients, its server and the calls in flight.
struct Harness<'a> {
    home: &'a Home,
    hub: Option<Hub<'a>>,
    tokens: Vec<String>,
    clients: Vec<McpClient>,
    /// The calls in flight, by their numbers in the model.
    calls: BTreeMap<usize, PendingCall>,
    /// The approvals of the pending calls, as a screen shows them.
    approvals: BTreeMap<usize, Value>,
    /// The arguments of the calls that ran, according to the answers to their clients.
    ran: Vec<String>,
}

impl<'a> Harness<'a> {
    fn new(home: &'a Home) -> Self {
        let hub = Hub::serve(home);
        fs::write(home.file("description"), tool_description(false))
            .expect("write the description of the tool");
        hub.run_verb("servers.add", &json!({"spec": server_spec(home, false)}));
        hub.wait_until_synced("probe");
        let script = write_guide(home, 0);
        FaultyServer::add(&hub, "guide", &json!({}), &["--script", &script]).wait_until_synced();
        hub.set_approval_timeout(APPROVAL_TIMEOUT);
        // This rule names no server, so that a change of the server does not suspend it.
        let task_rule = json!({"effect": "allow", "conditions": [{"pointer": "/starts_task", "is": {"equals": true}}]});
        hub.run_verb("policy.save", &json!({ "rule": task_rule }));
        let tokens: Vec<String> = (0..CLIENTS)
            .map(|number| hub.add_client(&client_name(number)))
            .collect();
        let mut harness = Self {
            home,
            hub: Some(hub),
            tokens,
            clients: Vec::new(),
            calls: BTreeMap::new(),
            approvals: BTreeMap::new(),
            ran: Vec::new(),
        };
        harness.connect();
        harness
    }

    fn hub(&self) -> &Hub<'a> {
        self.hub.as_ref().expect("a hub runs")
    }

    fn connect(&mut self) {
        self.clients = self
            .tokens
            .iter()
            .map(|token| McpClient::connect(&self.hub().url, token))
            .collect();
    }

    fn list_pending(&self) -> Vec<Value> {
        let listed = self.hub().run_verb("approvals.list", &json!({}));
        listed.as_array().expect("a list").clone()
    }

    /// Performs a step on the real hub. `world` is the model after this step.
    fn apply_step(&mut self, step: &Step, world: &World) {
        match step {
            Step::Call { client, arguments } => self.call(world, *client, *arguments),
            Step::Decide { call, verdict } => {
                let (status, answer) = self.decide(*call, *verdict);
                let expected = match verdict {
                    Verdict::Deny => 200,
                    Verdict::Edited if world.is_forbidden => 400,
                    _ if world.is_forbidden => 409,
                    Verdict::Once
                    | Verdict::Edited
                    | Verdict::SomeCalls
                    | Verdict::Session
                    | Verdict::Always => 200,
                };
                assert_eq!(status, expected, "{answer}");
            }
            Step::DecideWrongDigest { call } => {
                let id = &self.approvals[call]["id"];
                let decision =
                    json!({"id": id, "digest": "another", "verdict": {"kind": "approve_once"}});
                let (status, answer) = self.hub().try_verb("approvals.decide", &decision);
                assert_eq!(status, 409, "{answer}");
            }
            Step::DecideOppositely { call } => self.decide_oppositely(*call, world.is_forbidden),
            Step::Disconnect { call } => self.calls[call].disconnect(),
            // In the model, all pending calls have ended now. `assert_matches_model` waits for
            // their ends.
            Step::TimeOut => {}
            Step::AllowRetry { call } => {
                let (id, digest) = (&self.approvals[call]["id"], &self.approvals[call]["digest"]);
                self.hub().run_verb(
                    "approvals.allow_retry",
                    &json!({"id": id, "digest": digest}),
                );
            }
            Step::Forbid { forbidden } => {
                let scope = json!({"server": "probe", "tool": "echo"});
                let rule = json!({"server": "probe", "tool": "echo", "effect": "deny"});
                let (verb, params) = if *forbidden {
                    ("policy.set", rule)
                } else {
                    ("policy.remove", scope)
                };
                let (status, answer) = self.hub().try_verb(verb, &params);
                assert!(
                    status == 200 || !forbidden && status == 404,
                    "{status}: {answer}"
                );
            }
            Step::Pause => drop(self.hub().run_verb("drawbridge.pause", &json!({}))),
            Step::Resume => drop(self.hub().run_verb("drawbridge.resume", &json!({}))),
            Step::ChangeDefinition => {
                fs::write(
                    self.home.file("description"),
                    tool_description(world.current.is_definition_changed),
                )
                .expect("write the description of the tool");
                self.hub().run_verb("servers.sync", &json!({"id": "probe"}));
            }
            Step::ChangeServer => {
                let spec = server_spec(self.home, world.current.is_server_changed);
                self.hub()
                    .run_verb("servers.update", &json!({"id": "probe", "spec": spec}));
                self.hub().run_verb("servers.sync", &json!({"id": "probe"}));
            }
            Step::Kill => {
                // A crash may lose records that are not written yet. Listing the calls writes them.
                self.hub().run_verb("calls.list", &json!({}));
                self.hub.take().expect("a hub runs").stop(Signal::SIGKILL);
                self.home.assert_no_survivors();
                self.hub = Some(Hub::serve(self.home));
                self.connect();
            }
            Step::Request { client, request } => {
                let (method, params) = request_json(*request);
                let answer = self.clients[*client].request(method, params);
                assert_response(&answer, world.expected_response(*request), ANY_RESULT);
            }
            Step::ForbidKind { kind, forbidden } => {
                let kind = match kind {
                    Kind::Prompts => "prompts",
                    Kind::Resources => "resources",
                };
                let scope = json!({"server": "probe", "kind": kind});
                let rule = json!({"server": "probe", "kind": kind, "effect": "deny"});
                if *forbidden {
                    self.hub().run_verb("policy.set", &rule);
                } else {
                    self.hub().run_verb("policy.remove", &scope);
                }
            }
            Step::StartTask { client } => {
                let call = r#"{"name":"probe__now","arguments":{"starts_task":true},"task":{}}"#;
                let answer = self.clients[*client].request("tools/call", call);
                assert_response(&answer, world.task_start(), "task-1");
            }
            Step::FetchTask {
                client,
                is_released,
            } => self.fetch_task(*client, *is_released, world.task_result(*client)),
            Step::Hold { held } => {
                let scope = json!({"server": "probe", "tool": "now"});
                if *held {
                    let rule = json!({"server": "probe", "tool": "now", "result": "hold"});
                    self.hub().run_verb("policy.save", &json!({ "rule": rule }));
                } else {
                    self.hub().run_verb("policy.remove", &scope);
                }
            }
            Step::ChangeGuide { .. } => self.change_guide(world.guide),
            Step::AcceptGuide => {
                let unaccepted = &self.hub().show_server("guide")["unaccepted"];
                let definitions = json!({"id": "guide", "definitions": unaccepted});
                self.hub()
                    .run_verb("servers.accept_definitions", &definitions);
                self.wait_until_unaccepted(0);
            }
            Step::ForbidGuide { forbidden } => {
                let rule = json!({"server": "guide", "effect": "deny"});
                let (verb, params) = if *forbidden {
                    ("policy.set", rule)
                } else {
                    ("policy.remove", json!({"server": "guide"}))
                };
                let (status, answer) = self.hub().try_verb(verb, &params);
                assert!(
                    status == 200 || !forbidden && status == 404,
                    "{status}: {answer}"
                );
            }
            Step::ReadGuide { client } => self.read_guide(&self.tokens[*client], world.guide),
        }
    }

    /// Makes the server `guide` offer the text that the model has, and waits until the hub has read
    /// it.
    fn change_guide(&self, guide: Guide) {
        write_guide(self.home, guide.current);
        self.hub()
            .run_verb("servers.restart", &json!({"id": "guide"}));
        self.wait_until_unaccepted(if guide.is_accepted() { 0 } else { 2 });
    }

    /// Waits until this number of definitions of the server `guide`, which has instructions and a
    /// tool, wait for acceptance.
    fn wait_until_unaccepted(&self, count: usize) {
        wait_until("the hub has read the definitions of the server", || {
            let server = self.hub().show_server("guide");
            some_if(server["unaccepted"].as_array()?.len() == count)
        });
    }

    /// Checks which texts of the server `guide` a new session gets.
    fn read_guide(&self, token: &str, guide: Guide) {
        let client = McpClient::connect(&self.hub().url, token);
        let instructions = client.instructions().unwrap_or_default();
        let tools = client.request("tools/list", "{}").raw;
        let find_versions = |text: &str| {
            let versions = (0..GUIDE_TEXTS).filter(|version| text.contains(&guide_text(*version)));
            versions.collect::<Vec<_>>()
        };
        let expected = |is_visible: bool| Vec::from_iter(is_visible.then_some(guide.current));
        assert_eq!(
            (find_versions(instructions), find_versions(&tools)),
            (
                expected(guide.gives_instructions()),
                expected(guide.is_accepted())
            ),
            "{guide:?}: {instructions} {tools}"
        );
    }

    /// Fetches the result of a task, and decides about it if it is held.
    fn fetch_task(&self, client: usize, is_released: bool, expected: ExpectedResponse) {
        let calling_client = self.clients[client].second_handle();
        let request =
            thread::spawn(move || calling_client.request("tasks/result", r#"{"taskId":"task-1"}"#));
        if expected != ExpectedResponse::Held {
            let answer = request.join().expect("the request ends");
            return assert_response(&answer, expected, TASK_RESULT);
        }
        let approval = wait_until("the result is held", || {
            let mut pending = self.list_pending().into_iter();
            pending.find(|approval| approval["result"].is_string())
        });
        let verdict = if is_released {
            Verdict::Once
        } else {
            Verdict::Deny
        };
        let (status, text) = decide(&self.hub().url, &approval, verdict);
        assert_eq!(status, 200, "{text}");
        let answer = request.join().expect("the request ends");
        assert_eq!(
            (answer.raw.contains(TASK_RESULT), answer.is_error()),
            (is_released, !is_released),
            "{}",
            answer.raw
        );
    }

    fn call(&mut self, world: &World, client: usize, arguments: usize) {
        let number = world
            .pending
            .keys()
            .chain(world.ended.keys())
            .max()
            .copied()
            .expect("the model contains the call");
        let known_ids: Vec<Value> = self
            .list_pending()
            .into_iter()
            .map(|approval| approval["id"].clone())
            .collect();
        let call = self.clients[client]
            .begin_call("probe__echo", &call_arguments(client, arguments))
            .expect("the call is sent");
        let approval = wait_until("the call is pending or answered", || {
            let approval = self
                .list_pending()
                .into_iter()
                .find(|approval| !known_ids.contains(&approval["id"]));
            if approval.is_some() || call.has_ended() {
                Some(approval)
            } else {
                None
            }
        });
        self.calls.insert(number, call);
        self.approvals
            .extend(approval.map(|approval| (number, approval)));
    }

    fn decide(&self, call: usize, verdict: Verdict) -> (u16, String) {
        decide(&self.hub().url, &self.approvals[&call], verdict)
    }

    /// Sends two opposite decisions at once: one decision wins, and the other gets an error.
    fn decide_oppositely(&self, call: usize, is_forbidden: bool) {
        let (url, approval) = (&self.hub().url, &self.approvals[&call]);
        let statuses = thread::scope(|scope| {
            let verdicts = [Verdict::Once, Verdict::Deny];
            let threads =
                verdicts.map(|verdict| scope.spawn(move || decide(url, approval, verdict).0));
            threads.map(|thread| thread.join().expect("the decision is answered"))
        });
        let decided: Vec<bool> = statuses.iter().map(|status| *status == 200).collect();
        let one_decided = decided == [false, true] || decided == [true, false] && !is_forbidden;
        assert!(
            one_decided
                && statuses
                    .iter()
                    .all(|status| [200, 404, 409].contains(status)),
            "{statuses:?}"
        );
    }

    /// Checks that the observed state matches the model.
    fn assert_matches_model(&mut self, world: &World) {
        for (number, (model_call, outcome)) in &world.ended {
            if let Some(call) = self.calls.remove(number) {
                let answer = call.wait_for_answer().ok();
                self.ran
                    .extend(check_answer(model_call, *outcome, answer.as_ref()));
            }
        }
        let list_shown_approvals = || {
            let describe_approval = |approval: &Value| {
                (
                    approval["client"].to_string(),
                    approval["arguments"].as_str().map(str::to_owned),
                )
            };
            let mut pending: Vec<_> = self.list_pending().iter().map(describe_approval).collect();
            pending.sort();
            pending
        };
        let describe_model_call = |model_call: &ModelCall| {
            (
                json!(client_name(model_call.client)).to_string(),
                Some(call_arguments(model_call.client, model_call.arguments)),
            )
        };
        let mut expected: Vec<_> = world.pending.values().map(describe_model_call).collect();
        expected.sort();
        wait_until("the pending calls match the model", || {
            some_if(list_shown_approvals() == expected)
        });
        let mut received = received_arguments(self.home);
        let mut ran = self.ran.clone();
        received.sort();
        ran.sort();
        assert_eq!(
            received, ran,
            "exactly the calls whose clients got a result reached the server"
        );
    }

    /// Checks that each received call has its own matching decision, and that the audit log is
    /// intact.
    fn assert_recorded(&self) {
        let rows = store::read_calls(&self.home.data_dir()).expect("read the store");
        let mut decided: BTreeMap<(String, String), usize> = BTreeMap::new();
        for row in rows
            .into_iter()
            .filter(|row| row.decision == "allowed" && row.tool == "echo")
        {
            *decided
                .entry((row.client, row.arguments_digest))
                .or_default() += 1;
        }
        for arguments in received_arguments(self.home) {
            let parsed: Value = serde_json::from_str(&arguments).expect("JSON");
            let client = parsed["client"].as_str().expect("a client").to_owned();
            let remaining = decided.get_mut(&(client, store::digest(&arguments)));
            let remaining = remaining
                .filter(|remaining| **remaining > 0)
                .unwrap_or_else(|| panic!("{arguments} ran without a decision"));
            *remaining -= 1;
        }
        self.assert_other_requests_recorded();
        let report = self.hub().run_verb("audit.verify", &json!({}));
        assert_eq!(report["broken"], Value::Null, "{report}");
    }
}

impl Harness<'_> {
    /// Checks that each request other than a call has a record of its decision if it reached the
    /// server.
    fn assert_other_requests_recorded(&self) {
        let calls = self.hub().run_verb("calls.list", &json!({"limit": 1000}));
        let calls = calls.as_array().expect("a list");
        for method in [
            "prompts/get",
            "resources/read",
            "resources/subscribe",
            "completion/complete",
            "tasks/result",
        ] {
            let received = received_lines(self.home)
                .iter()
                .filter(|line| line.contains(&format!("\"{method}\"")))
                .count();
            let allowed = calls
                .iter()
                .filter(|call| call["method"] == method && call["decision"] == "allowed")
                .count();
            assert!(
                received <= allowed,
                "{received} requests {method} reached the server, {allowed} are recorded"
            );
        }
    }
}

/// A text that every answer with a result contains.
const ANY_RESULT: &str = "\"result\"";
/// The beginning of the text that the server `probe` gives as the result of each task.
const TASK_RESULT: &str = "the token is";

fn request_json(request: Request) -> (&'static str, &'static str) {
    match request {
        Request::Prompt => ("prompts/get", r#"{"name":"probe__greet"}"#),
        Request::PromptCompletion => (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"probe__greet"},"argument":{"name":"who","value":"x"}}"#,
        ),
        Request::Resource => ("resources/read", r#"{"uri":"probe://a"}"#),
        Request::Subscription => ("resources/subscribe", r#"{"uri":"probe://a"}"#),
    }
}

/// Checks the response to a request whose result is not held. If the model expects a result, the
/// response must contain `content`.
#[track_caller]
fn assert_response(answer: &Answer, expected: ExpectedResponse, content: &str) {
    let text = match expected {
        ExpectedResponse::Answered => content,
        ExpectedResponse::Refused(text) => text,
        ExpectedResponse::Held => unreachable!("a held result is decided first"),
    };
    assert!(
        answer.raw.contains(text),
        "expected {expected:?}: {}",
        answer.raw
    );
}

/// Decides a call exactly as it was shown. Returns the status and the body.
fn decide(url: &str, approval: &Value, verdict: Verdict) -> (u16, String) {
    let verdict = verdict_json(verdict, &approval["client"]);
    let decision = json!({"id": approval["id"], "digest": approval["digest"], "verdict": verdict});
    try_verb(url, "approvals.decide", &decision)
}

fn client_name(client: usize) -> String {
    format!("client-{client}")
}

/// Returns the arguments of a call. Numbers keep their lexemes: `1` and `1.0` are different
/// arguments.
fn call_arguments(client: usize, arguments: usize) -> String {
    format!(
        r#"{{"client":"{}","n":{}}}"#,
        client_name(client),
        ["1", "1.0"][arguments]
    )
}

fn edited_arguments(client: &str) -> String {
    format!(r#"{{"client":"{client}","n":2.50}}"#)
}

fn guide_text(version: usize) -> String {
    format!("Follow version {version} of the guide.")
}

/// Writes the script of the server `guide`, with this version of its text. Returns the path of the
/// script.
fn write_guide(home: &Home, version: usize) -> String {
    let text = guide_text(version);
    let file = home.file("guide.script");
    let script = json!({
        "initialize": {"result": {"protocolVersion": "2025-11-25", "instructions": text,
            "capabilities": {"tools": {}}, "serverInfo": {"name": "guide", "version": "1"}}},
        "tools/list": {"result": {"tools": [
            {"name": "read", "description": text, "inputSchema": {"type": "object"}}]}},
    });
    fs::write(&file, script.to_string()).expect("write the script");
    paths::path_text(&file)
}

fn tool_description(is_changed: bool) -> &'static str {
    if is_changed {
        "Echoes its arguments in capitals"
    } else {
        "Echoes its arguments"
    }
}

fn server_spec(home: &Home, is_changed: bool) -> Value {
    let [record_file, description_file, data_dir] = [
        home.file("record"),
        home.file("description"),
        home.data_dir(),
    ]
    .map(paths::path_text);
    // `--guarded` adds prompts, resources, completions and tasks. `--check-decisions-in` makes the
    // server record each call whose decision is not stored when the call arrives.
    let arguments = [
        "--guarded",
        "--record",
        &record_file,
        "--describe-from",
        &description_file,
        "--check-decisions-in",
        &data_dir,
    ];
    let command = paths::path_text(paths::built_binary("upstream-probe"));
    json!({"name": "probe", "command": command, "args": arguments, "definitions": "trust",
        "env": {"OTHER": is_changed.to_string()}})
}

fn verdict_json(verdict: Verdict, client: &Value) -> Value {
    match verdict {
        Verdict::Once => json!({"kind": "approve_once"}),
        Verdict::Edited => {
            json!({"kind": "approve_once", "arguments": edited_arguments(client.as_str().unwrap_or_default())})
        }
        Verdict::SomeCalls => json!({"kind": "approve_calls", "count": APPROVED_CALLS}),
        Verdict::Session => json!({"kind": "approve_session"}),
        Verdict::Always => json!({"kind": "approve_always"}),
        Verdict::Deny => json!({"kind": "deny"}),
    }
}

/// Returns the arguments of the calls that the server received, byte for byte, without the calls
/// that start tasks.
fn received_arguments(home: &Home) -> Vec<String> {
    let lines = received_lines(home);
    assert!(
        !lines.iter().any(|line| line.contains("\"undecided\"")),
        "a call ran without a recorded decision: {lines:?}"
    );
    let calls = lines
        .iter()
        .filter(|line| line.contains("\"tools/call\"") && !line.contains("starts_task"));
    let read_arguments = |line: &String| {
        let take_member = |text: &str, key: &str| {
            let mut members: BTreeMap<String, Box<RawValue>> =
                serde_json::from_str(text).expect("an object");
            members
                .remove(key)
                .expect("the member exists")
                .get()
                .to_owned()
        };
        take_member(&take_member(line, "params"), "arguments")
    };
    calls.map(read_arguments).collect()
}

/// Returns the arguments with which the call ran according to the response that the client got, or
/// `None` if it did not run. Fails if the response does not match the expected outcome.
fn check_answer(call: &ModelCall, outcome: Outcome, answer: Option<&Answer>) -> Option<String> {
    let text = answer.map(Answer::text);
    let sent_arguments = call_arguments(call.client, call.arguments);
    let echoes = |text: &Option<String>, arguments: &str| {
        let echoed = serde_json::from_str::<Value>(arguments)
            .expect("JSON")
            .to_string();
        text.as_ref() == Some(&echoed)
    };
    let is_expected = match outcome {
        Outcome::Ran => echoes(&text, &sent_arguments),
        Outcome::RanEdited => echoes(&text, &edited_arguments(&client_name(call.client))),
        Outcome::Refused(expected_text) => {
            text.as_deref()
                .is_some_and(|text| text.contains(expected_text))
                && answer.is_some_and(Answer::is_error)
        }
        Outcome::RanOrDenied => {
            echoes(&text, &sent_arguments)
                || text
                    .as_deref()
                    .is_some_and(|text| text.contains("The user denied this call"))
        }
        Outcome::Gone => text.is_none(),
    };
    assert!(
        is_expected,
        "{call:?} should have ended as {outcome:?}: {answer:?}"
    );
    match outcome {
        Outcome::Ran => Some(sent_arguments),
        Outcome::RanEdited => Some(edited_arguments(&client_name(call.client))),
        Outcome::RanOrDenied if echoes(&text, &sent_arguments) => Some(sent_arguments),
        Outcome::RanOrDenied | Outcome::Refused(_) | Outcome::Gone => None,
    }
}

/// Prints the steps up to the failed step if a step panics. The test framework cannot print these
/// steps: it prints a whole sequence, as the sequence was before the last attempt to shorten it.
struct FailureReport<'a> {
    done: &'a [Step],
}

impl Drop for FailureReport<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = writeln!(
                io::stderr(),
                "the last of these steps failed: {:?}",
                self.done
            );
        }
    }
}

/// Runs a sequence of steps with a new hub, and compares the hub with the model after each step.
/// Counts how the calls ended.
fn run_sequence(steps: &[Step], outcome_counts: &Mutex<BTreeMap<String, usize>>) {
    let home = Home::new();
    let mut harness = Harness::new(&home);
    let mut world = World::default();
    let mut report = FailureReport { done: &[] };
    for (number, step) in steps.iter().enumerate() {
        report.done = &steps[..=number];
        world = World::apply(world, step);
        harness.apply_step(step, &world);
        harness.assert_matches_model(&world);
    }
    harness.assert_recorded();
    let mut outcome_counts = outcome_counts.lock().expect("no thread failed");
    for (_, outcome) in world.ended.values() {
        *outcome_counts.entry(format!("{outcome:?}")).or_default() += 1;
    }
}

#[test]
fn no_sequence_of_steps_runs_a_call_without_a_matching_decision() {
    let requested_cases = env::var("DRAWBRIDGE_MODEL_CASES")
        .ok()
        .map(|text| text.parse::<u32>().expect("a number of cases"));
    let cases = requested_cases.unwrap_or(CASES).div_ceil(THREADS);
    let outcome_counts = Mutex::default();
    thread::scope(|scope| {
        for thread_number in 0..THREADS {
            let outcome_counts = &outcome_counts;
            scope.spawn(move || {
                let config = Config {
                    cases,
                    max_shrink_iters: 60,
                    failure_persistence: None,
                    ..Config::default()
                };
                let seed = [u8::try_from(thread_number)
                    .expect("the number of threads fits in a byte"); 32];
                let mut runner = match requested_cases {
                    Some(_) => TestRunner::new(config),
                    None => TestRunner::new_with_rng(
                        config,
                        TestRng::from_seed(RngAlgorithm::ChaCha, &seed),
                    ),
                };
                let sequences = World::sequential_strategy(8..40).prop_map(|(_, steps, _)| steps);
                runner
                    .run(&sequences, |steps| {
                        run_sequence(&steps, outcome_counts);
                        Ok(())
                    })
                    .unwrap_or_else(|failure| panic!("{failure}"));
            });
        }
    });
    let outcome_counts = outcome_counts.into_inner().expect("no thread failed");
    println!("outcomes of the calls: {outcome_counts:?}");
    for outcome in [
        "Ran",
        "RanEdited",
        "RanOrDenied",
        "Gone",
        "Refused(\"The user denied this call\")",
        "Refused(\"The policy denied this call\")",
        "Refused(\"Timed out\")",
        "Refused(\"Muted\")",
        "Refused(\"All calls are paused\")",
        "Refused(\"has changed since the request was permitted\")",
    ] {
        assert!(
            outcome_counts.contains_key(outcome),
            "no sequence led to {outcome}: {outcome_counts:?}"
        );
    }
}
