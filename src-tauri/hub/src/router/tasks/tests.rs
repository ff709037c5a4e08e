//! Tests how many tasks are remembered, and for which clients.

use drawbridge_model::{event::Events, protocol::handshake};
use drawbridge_sessions::{ClientScope, ClientSessions};

use super::*;

fn client(sessions: &ClientSessions, name: &str) -> ClientHandle {
    let params = json::raw(r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#.into());
    let hello = handshake::read_initialize(Some(&params)).expect("a hello");
    ClientHandle::for_session(sessions.open(ClientName::new(name), hello, ClientScope::All))
}

fn note(tasks: &Tasks, server: &str, back: &ClientHandle, id: usize) -> Result<(), RpcError> {
    tasks.record(
        &ServerId::new(server),
        back,
        &Json::new(format!(r#"{{"task":{{"taskId":"{id}"}}}}"#)),
    )
}

#[test]
fn the_oldest_tasks_of_a_connected_client_are_evicted() {
    let sessions = ClientSessions::new(Events::new());
    let (tasks, back) = (Tasks::default(), client(&sessions, "c"));
    for id in 0..3 * MAX_TASKS {
        note(&tasks, "s", &back, id).expect("record the task");
        assert!(tasks.lock().tasks.len() <= MAX_TASKS);
    }
    let name = ClientName::new("c");
    assert_eq!(
        tasks.server_of(&name, &(3 * MAX_TASKS - 1).to_string()),
        Some(ServerId::new("s")),
        "the latest task is kept"
    );
    assert_eq!(tasks.server_of(&name, "0"), None);
}

#[test]
fn tasks_of_disconnected_clients_are_evicted_first() {
    let sessions = ClientSessions::new(Events::new());
    let (tasks, stays, leaves) = (
        Tasks::default(),
        client(&sessions, "stays"),
        client(&sessions, "leaves"),
    );
    note(&tasks, "s", &stays, 0).expect("record the task");
    for id in 1..MAX_TASKS {
        note(&tasks, "s", &leaves, id).expect("record the task");
    }
    sessions.close(&leaves.session().id);
    drop(leaves);
    note(&tasks, "s", &stays, MAX_TASKS).expect("record the task");
    assert_eq!(tasks.lock().tasks.len(), 2);
    assert!(tasks.server_of(&ClientName::new("stays"), "0").is_some());
}

#[test]
fn a_task_id_of_one_server_cannot_be_reused_by_another() {
    let sessions = ClientSessions::new(Events::new());
    let (tasks, back) = (Tasks::default(), client(&sessions, "c"));
    note(&tasks, "one", &back, 7).expect("record the task");
    assert!(note(&tasks, "other", &back, 7).is_err());
    note(&tasks, "other", &client(&sessions, "d"), 7)
        .expect("another client may have a task with the same id");
}
