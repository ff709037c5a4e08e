//! Finds processes by descent. A process can leave its group and session and clear its environment,
//! but it stays below its nearest living ancestor that is a child subreaper.

use std::{collections::BTreeMap, ffi::OsStr};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// Sends a signal to every descendant of a process except for those in `except` and their
/// descendants. Returns the number of processes that were signalled. Zombies do not count: they
/// only wait to be reaped.
pub(super) fn signal_descendants(root: Pid, signal: Signal, except: &[Pid]) -> usize {
    let descendants = find_descendants(root, except);
    for pid in &descendants {
        let _ = kill(*pid, signal);
    }
    descendants.len()
}

/// Returns the descendants of a process, parents before their children, without zombies and without
/// those in `except` and their descendants.
fn find_descendants(root: Pid, except: &[Pid]) -> Vec<Pid> {
    let Ok(processes) = procfs::process::all_processes() else {
        return Vec::new();
    };
    let mut children: BTreeMap<i32, Vec<(i32, bool)>> = BTreeMap::new();
    // A process that ends meanwhile cannot be read.
    for stat in processes
        .flatten()
        .filter_map(|process| process.stat().ok())
    {
        let is_zombie = matches!(stat.state, 'Z' | 'X');
        children
            .entry(stat.ppid)
            .or_default()
            .push((stat.pid, is_zombie));
    }
    let mut descendants = Vec::new();
    let mut waiting = vec![root.as_raw()];
    while let Some(parent) = waiting.pop() {
        for (pid, is_zombie) in children.remove(&parent).unwrap_or_default() {
            if except.contains(&Pid::from_raw(pid)) {
                continue;
            }
            // A process counts as a zombie if its first thread has ended, but other threads may
            // still run, and its children are still below it.
            waiting.push(pid);
            if !is_zombie {
                descendants.push(Pid::from_raw(pid));
            }
        }
    }
    descendants
}

/// Returns the processes whose environment holds a variable with this value.
pub(super) fn find_by_variable(name: &str, value: &str) -> Vec<Pid> {
    let Ok(processes) = procfs::process::all_processes() else {
        return Vec::new();
    };
    let has_variable = |process: &procfs::process::Process| {
        let environment = process.environ();
        environment.is_ok_and(|variables| {
            variables
                .get(OsStr::new(name))
                .is_some_and(|variable| variable == value)
        })
    };
    processes
        .flatten()
        .filter(has_variable)
        .map(|process| Pid::from_raw(process.pid))
        .collect()
}
