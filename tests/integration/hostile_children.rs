//! Processes that hide from Drawbridge: they leave their group, session and parent, clear their
//! environment, and ignore SIGTERM. None outlives its server.
//!
//! `DRAWBRIDGE_HOSTILE_ROUNDS` sets the number of times that the hub is killed; the default is 10.

use std::{env, time::Duration};

use drawbridge_tests::{
    FaultyServer, Home, Hub, paths,
    process::{find_by_command, find_parent, signal_process},
    wait::{some_if, wait_until_within},
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::json;

const HOSTILE: [&str; 2] = ["--hidden-child", "--hopping-child"];
/// The longest time until the processes of a server have ended, after the server, its supervisor or
/// the hub has ended.
const KILL_TIMEOUT: Duration = Duration::from_secs(15);

/// Adds a server whose children hide. Also returns a text that is in the command lines of the
/// server and of its children.
fn add_hostile_server<'a>(hub: &'a Hub<'a>, name: &str) -> (FaultyServer<'a>, String) {
    let server = FaultyServer::add(hub, name, &json!({}), &HOSTILE).wait_until_synced();
    let mark = paths::path_text(hub.home.file(&format!("{name}.record")));
    wait_until("the server and its two hidden children run", || {
        some_if(find_by_command(&mark).len() >= 3)
    });
    (server, mark)
}

fn wait_until_gone(mark: &str) {
    wait_until_within(KILL_TIMEOUT, "no process of the server is left", || {
        // While a hopping child replaces itself, a single search may miss it.
        some_if((0..20).all(|_| find_by_command(mark).is_empty()))
    });
}

#[test]
fn no_hidden_process_outlives_its_server_while_the_hub_runs() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_other, other_mark) = add_hostile_server(&hub, "other");
    for stop in ["disable", "remove"] {
        let (_server, mark) = add_hostile_server(&hub, "faulty");
        home.cli(&["servers", stop, "faulty"]).expect_success();
        wait_until_gone(&mark);
        if stop == "disable" {
            home.cli(&["servers", "remove", "faulty"]).expect_success();
        }
    }
    assert!(
        find_by_command(&other_mark).len() >= 2,
        "another server keeps its processes"
    );
    drop(hub);
}

#[test]
fn no_hidden_process_outlives_a_server_that_crashes() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (server, mark) = add_hostile_server(&hub, "faulty");
    let leader = find_leader(&home);
    signal_process(leader, Signal::SIGKILL);
    wait_until_gone(&mark);
    drop(server);
}

#[test]
fn no_hidden_process_outlives_its_killed_supervisor() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (server, mark) = add_hostile_server(&hub, "faulty");
    let supervisor = find_parent(find_leader(&home)).expect("the server runs");
    assert_ne!(supervisor, hub.pid(), "the server has a supervisor");
    signal_process(supervisor, Signal::SIGKILL);
    wait_until_gone(&mark);
    let state = wait_until("the hub notices the end", || {
        let state = server.show()["state"].to_string();
        some_if(!state.contains("active")).map(|()| state)
    });
    assert!(!state.is_empty());
}

#[test]
fn the_next_server_starts_after_the_guard_was_killed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_server, mark) = add_hostile_server(&hub, "faulty");
    let supervisor = find_parent(find_leader(&home)).expect("the server runs");
    let guard = find_parent(supervisor).expect("the supervisor runs");
    assert_ne!(guard, hub.pid(), "the supervisor is a child of the guard");
    signal_process(guard, Signal::SIGKILL);
    let (_other, other_mark) = add_hostile_server(&hub, "other");
    hub.stop(Signal::SIGKILL);
    wait_until_gone(&mark);
    wait_until_gone(&other_mark);
}

#[test]
fn no_hidden_process_outlives_a_hub_that_is_asked_to_stop() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (server, mark) = add_hostile_server(&hub, "faulty");
    drop(server);
    hub.stop(Signal::SIGTERM);
    wait_until_gone(&mark);
}

#[test]
fn no_hidden_process_outlives_a_killed_hub() {
    let rounds = env::var("DRAWBRIDGE_HOSTILE_ROUNDS").map_or(10, |rounds| {
        rounds
            .parse()
            .expect("DRAWBRIDGE_HOSTILE_ROUNDS is a number")
    });
    for _ in 0..rounds {
        let home = Home::new();
        let hub = Hub::serve(&home);
        let (server, mark) = add_hostile_server(&hub, "faulty");
        drop(server);
        hub.stop(Signal::SIGKILL);
        wait_until_gone(&mark);
    }
}

/// Returns the pid of the only faulty server's own process.
fn find_leader(home: &Home) -> u32 {
    let processes = home.server_processes();
    let leader = processes
        .iter()
        .find(|process| process.command.contains("upstream-faulty"));
    leader.expect("the server runs").pid
}
