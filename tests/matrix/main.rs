//! Each client with each server, through one hub: every feature of the protocol works there, unless
//! the protocol rules it out.
//! `docs/compatibility.md` contains the resulting table.

mod cells;
mod clients;
mod features;
mod servers;
mod table;

use std::{
    sync::{Mutex, MutexGuard},
    thread,
};

use drawbridge_tests::{
    Home, Hub,
    docs::{self, Part},
};

use crate::{
    cells::{Cell, find_problem},
    clients::Client,
    servers::{Server, Servers},
};

#[test]
fn every_feature_works_for_every_client_and_server_as_documented() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _servers = Servers::start(&hub);
    home.cli(&["policy", "default", "allow"]).expect_success();
    let wrong: Vec<String> = run_all(&hub).iter().filter_map(find_problem).collect();
    assert!(
        wrong.is_empty(),
        "{} cells are not as they should be:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    docs::check_or_write(Part::Matrix, &table::render());
}

/// Returns all cells. Clients run in parallel, but each server has one client at a time: a stdio
/// server's requests go to the client with a request in flight, and to none if two clients have
/// one.
fn run_all(hub: &Hub<'_>) -> Vec<Cell> {
    let free = Server::ALL.map(Mutex::new);
    thread::scope(|scope| {
        let running = Client::ALL.map(|client| {
            let mut here = client.connect(hub);
            let mut left: Vec<&Mutex<Server>> = free.iter().collect();
            scope.spawn(move || {
                let mut cells = vec![];
                while let Some(server) = take_free_server(&mut left) {
                    cells.extend(here.run_features(*server));
                }
                cells
            })
        });
        running
            .into_iter()
            .flat_map(|client| client.join().expect("a client ran"))
            .collect()
    })
}

/// Takes a free server, or else waits for the first that the client has not used yet.
fn take_free_server<'a>(left: &mut Vec<&'a Mutex<Server>>) -> Option<MutexGuard<'a, Server>> {
    let free = left
        .iter()
        .enumerate()
        .find_map(|(at, server)| Some((at, server.try_lock().ok()?)));
    match free {
        Some((at, server)) => {
            left.remove(at);
            Some(server)
        }
        None if left.is_empty() => None,
        None => Some(
            left.remove(0)
                .lock()
                .expect("no client panics with a server"),
        ),
    }
}
