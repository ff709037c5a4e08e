//! Runs each client with each server through one hub: every feature of the protocol has to work,
//! unless the protocol makes it impossible.
//! `docs/compatibility.md` contains the resulting tables.

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
    home.cli(&["policy", "default", "allow", "--yes"])
        .expect_success();
    let problems: Vec<String> = run_all_clients(&hub)
        .iter()
        .filter_map(find_problem)
        .collect();
    assert!(
        problems.is_empty(),
        "{} cells have an unexpected result:\n{}",
        problems.len(),
        problems.join("\n")
    );
    docs::check_or_write(Part::Matrix, &table::render());
}

/// Returns all cells. Clients run in parallel, but each server has one client at a time: if two
/// clients have requests in flight at a server with sessions over stdio or HTTP+SSE, the server's
/// own requests go to neither.
fn run_all_clients(hub: &Hub<'_>) -> Vec<Cell> {
    let servers = Server::ALL.map(Mutex::new);
    thread::scope(|scope| {
        let threads = Client::ALL.map(|client| {
            let mut running_client = client.connect(hub);
            let mut remaining: Vec<&Mutex<Server>> = servers.iter().collect();
            scope.spawn(move || {
                let mut cells = vec![];
                while let Some(server) = take_free_server(&mut remaining) {
                    cells.extend(running_client.run_features(*server));
                }
                cells
            })
        });
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no client panics"))
            .collect()
    })
}

/// Takes a free server. If no remaining server is free, waits for the first one. Returns `None` if
/// no server remains.
fn take_free_server<'a>(remaining: &mut Vec<&'a Mutex<Server>>) -> Option<MutexGuard<'a, Server>> {
    let free_server = remaining
        .iter()
        .enumerate()
        .find_map(|(index, server)| Some((index, server.try_lock().ok()?)));
    match free_server {
        Some((index, server)) => {
            remaining.remove(index);
            Some(server)
        }
        None if remaining.is_empty() => None,
        None => Some(
            remaining
                .remove(0)
                .lock()
                .expect("no client panics with a server"),
        ),
    }
}
