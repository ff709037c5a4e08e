//! Three faulty servers, and the clients that call them again and again. In every call, one server
//! hangs, one crashes, and one floods its stderr or stdout.

use std::{
    fmt,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    thread,
    time::Duration,
};

use drawbridge_tests::{FaultyServer, Home, Hub, McpClient};
use serde_json::json;

/// The number of hanging calls at a time. Each ends at the server's call timeout.
const HANGING: usize = 8;
const CALL_TIMEOUT_MS: u32 = 500;
/// The arguments of the calls that flood: seventy thousand lines on stderr, or twenty thousand
/// messages on stdout.
const FLOODS: [&str; 2] = [
    r#"{"kind":"stderr","bytes":8388608}"#,
    r#"{"kind":"message","count":20000}"#,
];
/// The pause between two calls of the crashing server, in which a client would read the error.
const PAUSE: Duration = Duration::from_millis(100);
/// The time until all three servers are busy.
const WARM_UP: Duration = Duration::from_millis(300);

pub(crate) struct FaultyServers<'a> {
    home: &'a Home,
    clients: Vec<McpClient>,
    hung: AtomicUsize,
    crashed: AtomicUsize,
    flooded: AtomicUsize,
}

impl<'a> FaultyServers<'a> {
    pub(crate) fn add(hub: &'a Hub<'a>) -> Self {
        let timeouts = json!({"call_ms": CALL_TIMEOUT_MS});
        let _hanging = FaultyServer::add(hub, "hanging", &timeouts, &[]).wait_until_synced();
        let _crashing = FaultyServer::add(hub, "crashing", &json!({}), &[]).wait_until_synced();
        let _flooding = FaultyServer::add(hub, "flooding", &json!({"call_ms": 60_000}), &[])
            .wait_until_synced();
        let clients = (0..HANGING + 2)
            .map(|number| hub.connect_client(&format!("stubborn-{number}")))
            .collect();
        let (hung, crashed, flooded) = Default::default();
        Self {
            home: hub.home,
            clients,
            hung,
            crashed,
            flooded,
        }
    }

    /// Runs `act` while all three servers are called.
    pub(crate) fn run_during<T>(&self, act: impl FnOnce() -> T) -> T {
        let is_over = AtomicBool::new(false);
        let (is_running, this) = (|| !is_over.load(Relaxed), self);
        let (hanging, others) = this.clients.split_at(HANGING);
        thread::scope(|scope| {
            for client in hanging {
                scope.spawn(move || {
                    while is_running() {
                        client.call("hanging__hang", "{}");
                        this.hung.fetch_add(1, Relaxed);
                    }
                });
            }
            scope.spawn(move || this.call_crashing(&others[0], is_running));
            scope.spawn(move || {
                for arguments in FLOODS.iter().cycle().take_while(|_| is_running()) {
                    others[1].call("flooding__flood", arguments);
                    this.flooded.fetch_add(1, Relaxed);
                }
            });
            thread::sleep(WARM_UP);
            let result = act();
            is_over.store(true, Relaxed);
            result
        })
    }

    /// Calls the crashing server, and restarts it whenever the hub no longer starts it.
    fn call_crashing(&self, client: &McpClient, is_running: impl Fn() -> bool) {
        while is_running() {
            // After a crash during the call, the error says that it is unknown whether the call was
            // run. If the hub no longer starts the server, the error says that the call was not
            // run.
            if client
                .call("crashing__die", "{}")
                .text()
                .contains("unknown")
            {
                self.crashed.fetch_add(1, Relaxed);
            } else {
                self.home.cli(&["servers", "restart", "crashing"]);
            }
            thread::sleep(PAUSE);
        }
    }
}

impl fmt::Display for FaultyServers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hung, crashed, flooded) = (
            self.hung.load(Relaxed),
            self.crashed.load(Relaxed),
            self.flooded.load(Relaxed),
        );
        write!(
            f,
            "{hung} calls hung, {crashed} ended with a crash, {flooded} with a flood"
        )
    }
}
