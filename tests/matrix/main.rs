//! Each client with each server, through one hub: every feature of the protocol works there, or cannot by the protocol.
//! `docs/compatibility.md` is the table of it.

mod cells;
mod clients;
mod features;
mod servers;
mod table;

use std::{env, fs, iter, sync::Mutex, thread};

use drawbridge_tests::{Home, Hub, places};

use crate::{
    cells::{Cell, wrong},
    clients::Client,
    servers::{Server, Servers},
};

/// Set where the table is to be written, not compared.
const WRITE: &str = "DRAWBRIDGE_WRITE_COMPATIBILITY";

#[test]
fn every_client_does_everything_with_every_server_as_the_docs_say() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _servers = Servers::start(&hub);
    home.cli(&["policy", "default", "allow"]).ok();
    let wrong: Vec<String> = run(&hub).iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{} cells are not as they should be:\n{}", wrong.len(), wrong.join("\n"));
    let (file, table) = (places::root().join("docs/compatibility.md"), table::write());
    if env::var_os(WRITE).is_some() {
        fs::write(&file, table).unwrap_or_else(|e| panic!("write {}: {e}", file.display()));
        return;
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(written == table, "{} is stale: run `cargo xtask compatibility`", file.display());
}

/// All cells. Clients run side by side, but a server has one of them at a time: over stdio it asks whoever has a request
/// in flight, and where two have, nobody.
fn run(hub: &Hub<'_>) -> Vec<Cell> {
    let free = Server::ALL.map(|_| Mutex::new(()));
    thread::scope(|scope| {
        let running = iter::zip(Client::ALL, 0..).map(|(client, first)| {
            let free = &free;
            let here = client.connect(hub);
            scope.spawn(move || {
                let mut cells = vec![];
                for turn in 0..Server::ALL.len() {
                    let at = (first + turn) % Server::ALL.len();
                    let _mine = free[at].lock().expect("no client panics with a server");
                    cells.extend(here.run(Server::ALL[at]));
                }
                cells
            })
        });
        let running: Vec<_> = running.collect();
        running.into_iter().flat_map(|client| client.join().expect("a client ran")).collect()
    })
}
