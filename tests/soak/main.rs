//! A hub under load for a long time, with random faults: `cargo xtask soak [SECONDS]`.
//!
//! Twenty clients call the tools of fifty servers. Meanwhile servers are killed, stopped and
//! restarted, servers crash and flood, calls hang or are paused, the disk is full, the clock jumps,
//! and the keyring is locked. At the end:
//!
//! - each call has had exactly one answer,
//! - each call that reached a server has a record of its decision, and reached the server once,
//! - each record has an outcome, and the audit log and the database are intact,
//! - no approval is pending, and the hub has left no child process,
//! - memory and descriptors of the hub have hardly grown from the second quarter to the last.
//!
//! Prints 60 samples over the run, and exits with an error if a statement of this list is not true.

#![allow(clippy::print_stdout, reason = "the program prints its measurements")]

mod checks;
mod faults;
mod load;
mod usage;

use std::{
    env, fs,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use drawbridge_tests::{DesktopSession, FaultyServer, Hub, paths};
use nix::sys::signal::Signal;
use serde_json::json;

use faults::Faults;
use load::{Load, Outcomes};
use usage::{Curve, Usage};

const DEFAULT_SECONDS: u64 = 3600;
const CLIENTS: usize = 20;
const SERVERS: usize = 50;
/// The number of servers that need a secret, and do not start while the keyring is locked.
const SERVERS_WITH_SECRETS: usize = 3;
/// The number of samples of memory and descriptors.
const SAMPLES: u32 = 60;
/// The timeout of a call. A call that hangs for longer fails.
const CALL_TIMEOUT_MS: u32 = 4_000;
/// Starts the hub with `SIGXFSZ` ignored. A limit on the size of files simulates a full disk, and
/// exceeding the limit is then an error and does not end the hub.
const STARTER: [&str; 3] = ["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""];

fn main() -> ExitCode {
    let seconds = env::args()
        .nth(1)
        .map_or(DEFAULT_SECONDS, |text| text.parse().expect("seconds"));
    let mut desktop = DesktopSession::without_screen();
    let clock = desktop.file("clock");
    fs::write(&clock, "+0").expect("write the file of the clock");
    fake_clock(&mut desktop, &paths::path_text(&clock));
    let hub = Hub::serve_with_starter(&desktop, &STARTER);
    let servers = add_servers(&hub);
    let tokens: Vec<String> = (0..CLIENTS)
        .map(|number| hub.add_client(&format!("client-{number}")))
        .collect();
    println!(
        "{CLIENTS} clients, {SERVERS} servers, {seconds} s\n\n| second | calls | errors | faults | RSS, MiB | descriptors | threads | processes of servers |\n|---|---|---|---|---|---|---|---|"
    );
    let (load, outcomes, mut curve) = (
        Load::new(&hub, SERVERS),
        Outcomes::default(),
        Curve::default(),
    );
    let mut faults = Faults::new(&desktop, &hub, clock);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for (number, token) in tokens.iter().enumerate() {
            let (load, outcomes, is_over) = (&load, &outcomes, &is_over);
            scope.spawn(move || load.run_client(number, token, outcomes, is_over));
        }
        let start = Instant::now();
        let interval = Duration::from_secs(seconds) / SAMPLES;
        for sample in 1..=SAMPLES {
            faults.cause_until(start + interval * sample);
            let usage = Usage::read(&hub);
            println!(
                "| {} | {} | {} | {} | {usage} |",
                start.elapsed().as_secs(),
                outcomes.count(),
                outcomes.count_errors(),
                faults.count(),
            );
            curve.push(usage);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    println!("\n{}", faults.describe());
    let mut violations = outcomes.find_violations();
    violations.extend(curve.find_violations());
    violations.extend(checks::find_violations(&hub, &servers, &outcomes));
    drop(servers);
    hub.stop(Signal::SIGTERM);
    violations.extend(checks::find_violations_after_stop(&desktop));
    report(&outcomes, &violations)
}

/// Makes all processes of this session read the time of day from a file.
fn fake_clock(desktop: &mut DesktopSession, file: &str) {
    let library = paths::find_library("faketime/libfaketime.so.1");
    desktop.set_variable("LD_PRELOAD", paths::path_text(&library));
    desktop.set_variable("FAKETIME_TIMESTAMP_FILE", file);
    desktop.set_variable("FAKETIME_CACHE_DURATION", "1");
    desktop.set_variable("FAKETIME_DONT_FAKE_MONOTONIC", "1");
}

fn add_servers<'a>(hub: &'a Hub<'a>) -> Vec<FaultyServer<'a>> {
    let data_dir = paths::path_text(hub.home.data_dir());
    let timeouts = json!({"call_ms": CALL_TIMEOUT_MS, "initialize_ms": 30_000});
    let servers: Vec<_> = (0..SERVERS)
        .map(|number| {
            let name = format!("s{number}");
            FaultyServer::add(hub, &name, &timeouts, &["--check-decisions-in", &data_dir])
                .wait_until_synced()
        })
        .collect();
    for server in &servers[..SERVERS_WITH_SECRETS] {
        let mut spec = server.show()["spec"].clone();
        let secret = format!("{}.KEY", server.name);
        hub.run_verb(
            "secrets.set",
            &json!({"name": secret, "value": "value-of-the-secret"}),
        );
        spec["env"] = json!({ "KEY": format!("${{keyring:{secret}}}") });
        hub.run_verb("servers.update", &json!({"id": server.name, "spec": spec}));
    }
    servers
}

fn report(outcomes: &Outcomes, violations: &[String]) -> ExitCode {
    println!("{}", outcomes.describe());
    if violations.is_empty() {
        println!("No call was lost, duplicated or undecided; memory and descriptors hardly grew.");
        return ExitCode::SUCCESS;
    }
    println!("\n{} violations:", violations.len());
    for violation in violations.iter().take(50) {
        println!("- {violation}");
    }
    ExitCode::FAILURE
}
