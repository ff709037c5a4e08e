//! The processes of one server, as the hub holds them: below a supervisor, which only Linux has, or
//! as a process group or a Job Object.

use std::io;

use process_wrap::tokio::ChildWrapper;

#[cfg(target_os = "linux")]
use super::supervised::SupervisedTree;
use super::{ProcessExit, platform};

pub(super) enum Tree {
    #[cfg(target_os = "linux")]
    Supervised(SupervisedTree),
    /// The server is a child of the hub.
    Direct {
        pid: u32,
        child: Box<dyn ChildWrapper>,
    },
}

impl Tree {
    /// Waits for the server's own process, which other processes of the server may outlive.
    /// Cancel-safe.
    pub(super) async fn wait_for_leader(&mut self) -> ProcessExit {
        match self {
            #[cfg(target_os = "linux")]
            Self::Supervised(tree) => tree.wait_for_leader().await,
            Self::Direct { child, .. } => {
                platform::exit_from(platform::leader(child.as_mut()).wait().await)
            }
        }
    }

    /// Waits until no process is left. Cancel-safe.
    pub(super) async fn wait_until_gone(&mut self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Supervised(tree) => tree.wait_until_gone().await,
            Self::Direct { child, .. } => {
                let _: io::Result<_> = child.wait().await;
            }
        }
    }

    /// Asks all processes to end.
    pub(super) fn ask_to_end(&mut self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Supervised(tree) => tree.ask_to_end(),
            Self::Direct { pid, .. } => platform::ask_to_end(*pid),
        }
    }

    /// Kills all processes.
    pub(super) fn kill(&mut self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Supervised(tree) => tree.kill(),
            Self::Direct { pid, child } => platform::kill_tree(*pid, child.as_mut()),
        }
    }

    /// Kills the supervisor, because it does not answer. The guard kills the processes that are
    /// left.
    pub(super) fn abandon(&mut self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Supervised(tree) => tree.abandon(),
            Self::Direct { .. } => {}
        }
    }
}
