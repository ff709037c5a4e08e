//! The guard on Unix systems other than Linux: the hub writes the process groups that run to the
//! guard's stdin, and the guard ends the groups that are left when the hub ends. On Windows, no
//! guard is started.

use std::{
    io::{self, BufRead},
    process::{Child, Command, Stdio},
};

use super::GuardLink;

pub(super) fn spawn_linked(mut command: Command) -> io::Result<(Child, GuardLink)> {
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    let stdin = child.stdin.take().expect("stdin is piped");
    Ok((child, stdin))
}

/// Waits for the hub's end, then ends the server processes that are left.
pub(super) fn run_guard(_run_id: &str) {
    let mut groups: Vec<i32> = Vec::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match line
            .split_at_checked(1)
            .map(|(sign, pid)| (sign, pid.parse::<i32>()))
        {
            Some(("+", Ok(pid))) => groups.push(pid),
            Some(("-", Ok(pid))) => groups.retain(|group| *group != pid),
            _ => {}
        }
    }
    #[cfg(unix)]
    end_groups(&groups);
    #[cfg(not(unix))]
    let _ = groups;
}

#[cfg(unix)]
fn end_groups(groups: &[i32]) {
    use std::time::Duration;

    use nix::{
        sys::signal::{
            Signal::{SIGKILL, SIGTERM},
            killpg,
        },
        unistd::Pid,
    };

    for (signal, pause) in [(SIGTERM, 300), (SIGKILL, 100), (SIGKILL, 100), (SIGKILL, 0)] {
        let alive = groups
            .iter()
            .filter(|pid| **pid > 1 && killpg(Pid::from_raw(**pid), signal).is_ok())
            .count();
        if alive == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(pause));
    }
}
