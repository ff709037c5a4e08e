//! The program at the other end of a connection, if the system reveals it: so far only Linux does,
//! for programs of the same user.

use std::time::{Duration, Instant};

use drawbridge_model::pairing::PairingProgram;
use tokio::{task::spawn_blocking, time::timeout};

use super::Peer;

/// How long the search for a program may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the program behind a connection, or `None` if the system does not reveal it in time.
pub(super) async fn find_program(peer: Peer) -> Option<PairingProgram> {
    let deadline = Instant::now() + TIMEOUT;
    // The search reads the tables of the system, which takes a few milliseconds.
    let search = spawn_blocking(move || system::find_program(peer, deadline));
    timeout(TIMEOUT, search).await.ok()?.ok()?
}

#[cfg(target_os = "linux")]
mod system {
    use std::time::Instant;

    use drawbridge_model::pairing::PairingProgram;
    use procfs::{
        net::{TcpState, tcp, tcp6},
        process::{FDTarget, Process, all_processes},
    };

    use super::Peer;

    pub(super) fn find_program(peer: Peer, deadline: Instant) -> Option<PairingProgram> {
        let inode = find_socket(peer)?;
        all_processes()
            .ok()?
            .flatten()
            .take_while(|_| Instant::now() < deadline)
            .find(|process| holds_socket(process, inode))
            .and_then(|process| describe(&process))
    }

    /// Returns the inode of the socket from which the program connected. Returns `None` if several
    /// sockets fit.
    fn find_socket(peer: Peer) -> Option<u64> {
        let tables = [tcp().ok(), tcp6().ok()];
        let mut sockets = tables.into_iter().flatten().flatten().filter(|entry| {
            entry.state == TcpState::Established
                && entry.inode != 0
                && peer.matches_socket(entry.local_address, entry.remote_address)
        });
        match (sockets.next(), sockets.next()) {
            (Some(entry), None) => Some(entry.inode),
            _ => None,
        }
    }

    fn holds_socket(process: &Process, inode: u64) -> bool {
        let Ok(files) = process.fd() else {
            return false;
        };
        files
            .flatten()
            .any(|file| matches!(file.target, FDTarget::Socket(socket) if socket == inode))
    }

    fn describe(process: &Process) -> Option<PairingProgram> {
        let folder = process.cwd().ok();
        Some(PairingProgram {
            pid: u32::try_from(process.pid()).ok()?,
            executable: process.exe().ok()?.display().to_string(),
            folder: folder.map(|folder| folder.display().to_string()),
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::time::Instant;

    use drawbridge_model::pairing::PairingProgram;

    use super::Peer;

    pub(super) fn find_program(_: Peer, _: Instant) -> Option<PairingProgram> {
        None
    }
}
