//! The moments at which a test kills the process, to examine the files that remain.

/// Marks a moment between two changes on the disk. Only a test kills the process.
#[cfg(not(test))]
pub(crate) fn reach_kill_point(_name: &str) {}

/// Kills the process at the moment whose number is in the environment.
#[cfg(test)]
pub(crate) fn reach_kill_point(name: &str) {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static REACHED: AtomicUsize = AtomicUsize::new(0);
    let number = REACHED.fetch_add(1, Ordering::Relaxed);
    let chosen = std::env::var(KILL_AT)
        .ok()
        .and_then(|text| text.parse().ok());
    if chosen == Some(number) {
        println!("killed at {name}");
        #[cfg(unix)]
        nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::SIGKILL)
            .expect("kill this process");
        std::process::abort();
    }
}

/// The environment variable with the number of the moment.
#[cfg(test)]
pub(crate) const KILL_AT: &str = "DRAWBRIDGE_TEST_KILL_AT";
