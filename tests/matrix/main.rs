//! Each client with each server, through one hub: every feature of the protocol works there, or cannot by the protocol.
//! `docs/compatibility.md` is the table of it.

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
    cells::{Cell, wrong},
    clients::Client,
    servers::{Server, Servers},
};

#[test]
fn every_client_does_everything_with_every_server_as_the_docs_say() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _servers = Servers::start(&hub);
    home.cli(&["policy", "default", "allow"]).ok();
    let wrong: Vec<String> = run(&hub).iter().filter_map(wrong).collect();
    assert!(
        wrong.is_empty(),
        "{} cells are not as they should be:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    docs::hold(Part::Matrix, &table::write());
}

/// All cells. Clients run side by side, but a server has one of them at a time: over stdio it asks whoever has a request
/// in flight, and where two have, nobody.
fn run(hub: &Hub<'_>) -> Vec<Cell> {
    let free = Server::ALL.map(Mutex::new);
    thread::scope(|scope| {
        let running = Client::ALL.map(|client| {
            let mut here = client.connect(hub);
            let mut left: Vec<&Mutex<Server>> = free.iter().collect();
            scope.spawn(move || {
                let mut cells = vec![];
                while let Some(server) = next(&mut left) {
                    cells.extend(here.run(*server));
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

/// Takes a server that is free, or else the first that a client has not been with.
fn next<'a>(left: &mut Vec<&'a Mutex<Server>>) -> Option<MutexGuard<'a, Server>> {
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
