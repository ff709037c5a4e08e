//! Tests how many tasks are remembered, and for which clients, and that two servers cannot give a
//! client the same task id.

use std::path::PathBuf;

use drawbridge_model::{
    call::{Call, DecidedBy, Decision, Outcome},
    event::Events,
    ids::{CallId, Timestamp},
    policy::RequestKind,
    protocol::handshake,
    spec::{RegisteredServer, ServerSpec},
};
use drawbridge_sessions::{ClientScope, ClientSessions};

use super::*;
use crate::policy::GuardedRequest;

fn client(sessions: &ClientSessions, name: &str) -> ClientHandle {
    let params = json::raw(r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#.into());
    let hello = handshake::read_initialize(Some(&params)).expect("a hello");
    let session = sessions.open(ClientName::new(name), hello, ClientScope::ALL);
    ClientHandle::for_session(session.expect("a session"))
}

fn record_task(
    tasks: &Tasks,
    server: &str,
    handle: &ClientHandle,
    id: usize,
) -> Result<(), RpcError> {
    record_task_with(tasks, server, handle, id, "{}")
}

fn record_task_with(
    tasks: &Tasks,
    server: &str,
    handle: &ClientHandle,
    id: usize,
    arguments: &str,
) -> Result<(), RpcError> {
    let session = handle.session();
    let server = RegisteredServer::new(
        ServerId::new(server),
        ServerSpec::default(),
        PathBuf::default(),
    );
    let request = GuardedRequest {
        method: GuardedMethod::CallTool,
        kind: RequestKind::Tools,
        client: session.client.clone(),
        session: session.id.clone(),
        project: None,
        server: Arc::new(server),
        entry: None,
        name: "t".into(),
        exposed_name: "s__t".into(),
        arguments: json::raw(arguments.into()),
        extra: None,
        params: json::raw("{}".into()),
        progress_token: None,
        hooked: None,
        stand_in: None,
        trace: None,
    };
    let call = Call {
        id: CallId::new(id.to_string()),
        at: Timestamp(0),
        method: request.method,
        client: request.client.clone(),
        session: None,
        server: request.server.id.clone(),
        tool: request.name.clone(),
        exposed_name: request.exposed_name.clone(),
        decision: Decision::Allowed,
        decided_by: DecidedBy::Rule,
        rule: None,
        is_edited: false,
        reason: String::new(),
        outcome: Outcome::Running,
        error: String::new(),
        waited_ms: 0,
        duration_ms: None,
        arguments: None,
        extra: None,
        original_arguments: None,
        request_hooks: Vec::new(),
        result_hooks: Vec::new(),
        flags: Vec::new(),
        result: None,
    };
    let started_by = PermittedRequest {
        request: Arc::new(request),
        call,
    };
    tasks.record(started_by, id.to_string(), handle)
}

#[test]
fn the_calls_that_started_tasks_take_a_limited_number_of_bytes() {
    let sessions = ClientSessions::new(Events::new());
    let (tasks, handle) = (Tasks::default(), client(&sessions, "c"));
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_SIZE / 8));
    for id in 0..40 {
        record_task_with(&tasks, "s", &handle, id, &long).expect("record the task");
        assert!(tasks.lock().size <= MAX_SIZE + long.len() + 2);
    }
    assert!(tasks.started_by(&ClientName::new("c"), "39").is_some());
}

#[test]
fn the_oldest_tasks_of_a_connected_client_are_evicted() {
    let sessions = ClientSessions::new(Events::new());
    let (tasks, handle) = (Tasks::default(), client(&sessions, "c"));
    for id in 0..3 * MAX_TASKS {
        record_task(&tasks, "s", &handle, id).expect("record the task");
        assert!(tasks.lock().tasks.len() <= MAX_TASKS);
    }
    let name = ClientName::new("c");
    let latest = (3 * MAX_TASKS - 1).to_string();
    assert!(
        tasks.started_by(&name, &latest).is_some(),
        "the latest task is kept"
    );
    assert!(tasks.started_by(&name, "0").is_none());
}

#[test]
fn tasks_of_disconnected_clients_are_evicted_first() {
    let sessions = ClientSessions::new(Events::new());
    let (tasks, stays, leaves) = (
        Tasks::default(),
        client(&sessions, "stays"),
        client(&sessions, "leaves"),
    );
    record_task(&tasks, "s", &stays, 0).expect("record the task");
    for id in 1..MAX_TASKS {
        record_task(&tasks, "s", &leaves, id).expect("record the task");
    }
    sessions.close(&leaves.session().id);
    drop(leaves);
    record_task(&tasks, "s", &stays, MAX_TASKS).expect("record the task");
    assert_eq!(tasks.lock().tasks.len(), 2);
    assert!(tasks.started_by(&ClientName::new("stays"), "0").is_some());
}

#[test]
fn a_task_id_of_one_server_cannot_be_reused_by_another_server() {
    let sessions = ClientSessions::new(Events::new());
    let (tasks, handle) = (Tasks::default(), client(&sessions, "c"));
    record_task(&tasks, "one", &handle, 7).expect("record the task");
    assert!(record_task(&tasks, "other", &handle, 7).is_err());
    record_task(&tasks, "other", &client(&sessions, "d"), 7)
        .expect("another client may have a task with the same id");
}
