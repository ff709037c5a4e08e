//! The faults, one after another, at random moments.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use drawbridge_tests::{DesktopSession, Hub, hub::send_verb, paths, process::signal_process};
use nix::sys::signal::Signal;
use rand::{Rng, seq::IndexedRandom};
use serde_json::json;

/// The longest pause between two faults.
const MAX_PAUSE_MS: u64 = 4_000;
/// The time for which servers are stopped, the disk is full, the clock is wrong, or the keyring is
/// locked.
const FAULT_LENGTH: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// A server is killed.
    Kill,
    /// Two servers are stopped for a time, as if they hung.
    Stop,
    DiskFull,
    /// The time of day jumps by up to ten days.
    Clock,
    /// The keyring is locked, and a server that needs a secret is restarted.
    LockedKeyring,
    /// A person restarts a server.
    Restart,
    /// All calls are paused for a moment.
    Pause,
}

const FAULTS: [Fault; 10] = [
    Fault::Kill,
    Fault::Kill,
    Fault::Kill,
    Fault::Stop,
    Fault::Stop,
    Fault::DiskFull,
    Fault::Clock,
    Fault::LockedKeyring,
    Fault::Restart,
    Fault::Pause,
];

pub(crate) struct Faults<'a> {
    desktop: &'a DesktopSession,
    url: String,
    hub_pid: u32,
    clock: PathBuf,
    counts: BTreeMap<Fault, usize>,
}

impl<'a> Faults<'a> {
    pub(crate) fn new(desktop: &'a DesktopSession, hub: &Hub<'_>, clock: PathBuf) -> Self {
        Self {
            desktop,
            url: hub.url.clone(),
            hub_pid: hub.pid(),
            clock,
            counts: BTreeMap::new(),
        }
    }

    /// Causes faults until `end`. The last fault may end later.
    pub(crate) fn cause_until(&mut self, end: Instant) {
        let mut random = rand::rng();
        while Instant::now() < end {
            let pause = Duration::from_millis(random.random_range(0..MAX_PAUSE_MS));
            thread::sleep(pause.min(end.saturating_duration_since(Instant::now())));
            let fault = *FAULTS.choose(&mut random).expect("there are faults");
            self.cause(fault, &mut random);
            *self.counts.entry(fault).or_default() += 1;
        }
    }

    fn cause(&self, fault: Fault, random: &mut impl Rng) {
        match fault {
            Fault::Kill => self.signal_servers(1, Signal::SIGKILL, random),
            Fault::Stop => {
                let stopped = self.choose_servers(2, random);
                for pid in &stopped {
                    signal_process(*pid, Signal::SIGSTOP);
                }
                thread::sleep(FAULT_LENGTH);
                for pid in stopped {
                    signal_process(pid, Signal::SIGCONT);
                }
            }
            Fault::DiskFull => {
                self.limit_file_size("0");
                thread::sleep(FAULT_LENGTH);
                self.limit_file_size("unlimited");
            }
            Fault::Clock => {
                let days = random.random_range(-10..=10);
                fs::write(&self.clock, format!("{days:+}d")).expect("write the time");
                thread::sleep(FAULT_LENGTH);
                fs::write(&self.clock, "+0").expect("write the time");
            }
            Fault::LockedKeyring => {
                self.desktop.keyring().lock();
                let server = format!("s{}", random.random_range(0..super::SERVERS_WITH_SECRETS));
                self.run_verb("servers.restart", &json!({ "id": server }));
                thread::sleep(FAULT_LENGTH);
                self.desktop.unlock_keyring();
            }
            Fault::Restart => {
                let server = format!("s{}", random.random_range(0..super::SERVERS));
                self.run_verb("servers.restart", &json!({ "id": server }));
            }
            Fault::Pause => {
                self.run_verb("drawbridge.pause", &json!({}));
                self.run_verb("drawbridge.resume", &json!({}));
            }
        }
    }

    fn run_verb(&self, name: &str, params: &serde_json::Value) {
        // The verb may fail because of this fault or an earlier fault.
        let _ = send_verb(&self.url, name, params);
    }

    /// Returns the pids of `count` running servers, or of all running servers if there are fewer.
    fn choose_servers(&self, count: usize, random: &mut impl Rng) -> Vec<u32> {
        let program = paths::path_text(paths::built_binary("upstream-faulty"));
        let processes = self.desktop.server_processes();
        let servers: Vec<u32> = processes
            .iter()
            .filter(|process| process.command.starts_with(&program))
            .map(|process| process.pid)
            .collect();
        servers.choose_multiple(random, count).copied().collect()
    }

    fn signal_servers(&self, count: usize, signal: Signal, random: &mut impl Rng) {
        for pid in self.choose_servers(count, random) {
            signal_process(pid, signal);
        }
    }

    fn limit_file_size(&self, bytes: &str) {
        let mut command = self.desktop.command(paths::find_program("prlimit"));
        let status = command
            .arg(format!("--pid={}", self.hub_pid))
            .arg(format!("--fsize={bytes}:"))
            .status();
        assert!(status.expect("prlimit").success(), "limit the hub's files");
    }

    pub(crate) fn count(&self) -> usize {
        self.counts.values().sum()
    }

    pub(crate) fn describe(&self) -> String {
        let counts: Vec<String> = self
            .counts
            .iter()
            .map(|(fault, count)| format!("{fault:?} {count}"))
            .collect();
        format!("Faults: {}.", counts.join(", "))
    }
}
