//! Tells a recorder which accesses a sandbox allows, by the rules that `enforce` applies.

use std::{
    fs,
    path::{Path, PathBuf},
};

use drawbridge_model::sandbox::SandboxNetwork;

use super::{Confinement, DEVICES, FileRules, RANDOM_DEVICES};

/// How a system call uses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in super::super) enum FileNeed {
    /// The call reads, lists or executes the file.
    Read,
    /// The call writes to the file.
    Write,
    /// The call creates, removes or renames the file, which changes the folder that holds the
    /// file.
    Change,
}

/// The rules of a sandbox, with resolved paths.
pub(in super::super) struct AllowedAccess {
    files: Option<FileRules>,
    network: SandboxNetwork,
    connect: Vec<u16>,
    bind: Vec<u16>,
    local_sockets: bool,
}

impl AllowedAccess {
    pub(in super::super) fn new(rules: &Confinement) -> Self {
        let files = rules.files.as_ref().map(|files| FileRules {
            system: resolve_all(&files.system),
            read: resolve_all(&files.read),
            write: resolve_all(&files.write),
        });
        Self {
            files,
            network: rules.network,
            connect: rules.connect.clone(),
            bind: rules.bind.clone(),
            local_sockets: rules.local_sockets,
        }
    }

    /// Returns whether a file may be used in this way. The path must not contain links.
    pub(in super::super) fn allows_file(&self, path: &Path, need: FileNeed) -> bool {
        let Some(files) = &self.files else {
            return true;
        };
        match need {
            FileNeed::Read => {
                is_ordinary_device(path, need)
                    || [&files.system, &files.read, &files.write]
                        .iter()
                        .any(|rules| is_below_any(path, rules))
            }
            FileNeed::Write => is_ordinary_device(path, need) || is_below_any(path, &files.write),
            FileNeed::Change => path
                .parent()
                .is_some_and(|folder| is_below_any(folder, &files.write)),
        }
    }

    /// Returns whether a connection to a port is allowed. A sandbox without a network refuses the
    /// sockets, and has no limits on ports.
    pub(in super::super) fn allows_connect(&self, port: u16) -> bool {
        self.network != SandboxNetwork::Listed || self.connect.contains(&port)
    }

    /// Returns whether a port may be bound, as [`Self::allows_connect`] does for connections.
    pub(in super::super) fn allows_bind(&self, port: u16) -> bool {
        self.network != SandboxNetwork::Listed || self.bind.contains(&port)
    }

    pub(in super::super) fn allows_local_sockets(&self) -> bool {
        self.local_sockets
    }
}

/// Returns whether a path is a device that every sandbox lets a server use in this way.
pub(in super::super) fn is_ordinary_device(path: &Path, need: FileNeed) -> bool {
    match need {
        FileNeed::Read => is_device(path, DEVICES) || is_device(path, RANDOM_DEVICES),
        FileNeed::Write => is_device(path, DEVICES),
        FileNeed::Change => false,
    }
}

fn is_device(path: &Path, devices: &[&str]) -> bool {
    devices.iter().any(|device| path == Path::new(device))
}

pub(in super::super) fn is_below_any(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Resolves the links in paths, and leaves out paths that do not exist.
pub(in super::super) fn resolve_all(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths
        .iter()
        .filter_map(|path| fs::canonicalize(path).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_a_sandbox_decide_which_files_and_ports_are_allowed() {
        let allowed = AllowedAccess {
            files: Some(FileRules {
                system: vec!["/usr".into()],
                read: vec!["/home/me/project".into(), "/home/me/notes".into()],
                write: vec!["/own".into(), "/home/me/output".into()],
            }),
            network: SandboxNetwork::Listed,
            connect: vec![443],
            bind: vec![8080],
            local_sockets: false,
        };
        let [read, write, change] = [FileNeed::Read, FileNeed::Write, FileNeed::Change];
        for (path, need, expected) in [
            ("/usr/bin/env", read, true),
            ("/usr/bin/env", write, false),
            ("/home/me/project/src/a", read, true),
            ("/home/me/project/src/a", write, false),
            ("/home/me/project-2/a", read, false),
            ("/home/me/.ssh/id", read, false),
            ("/own/a/b", write, true),
            ("/own/a", change, true),
            // To remove or rename a folder changes the folder that holds it.
            ("/own", change, false),
            ("/home/me/output", write, true),
            ("/dev/null", write, true),
            ("/dev/urandom", read, true),
            ("/dev/urandom", write, false),
            ("/dev/sda", read, false),
        ] {
            assert_eq!(
                allowed.allows_file(Path::new(path), need),
                expected,
                "{path} {need:?}"
            );
        }
        assert!(allowed.allows_connect(443) && !allowed.allows_connect(22));
        assert!(allowed.allows_bind(8080) && !allowed.allows_bind(443));
    }
}
