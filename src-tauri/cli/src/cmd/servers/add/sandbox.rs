//! The options for the sandbox of a new server: presets of sandboxes, lists of paths and ports, and
//! access to local sockets.

use std::path::PathBuf;

use clap::ValueEnum;
use drawbridge_model::sandbox::{Sandbox, SandboxFiles, SandboxNetwork};

use crate::exit::Failure;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SandboxPreset {
    /// Of your files, the server may use only its own folder, which Drawbridge makes for the server
    OwnFolder,
    /// The server may read the paths given with --sandbox-read, and write only to its own folder and the paths given with --sandbox-write
    ReadProject,
    /// The server may not use the network. This preset alone does not restrict files.
    NoNetwork,
    /// No sandbox, even if the server preset (--preset) has one
    Off,
}

/// The limits of the server's sandbox. Without these options, the server has the sandbox of the
/// server preset (`--preset`), if that preset has a sandbox.
#[derive(clap::Args)]
pub(super) struct SandboxArgs {
    /// Restrict what a local server may use (Linux). May be repeated.
    #[arg(long, value_enum, value_name = "PRESET", conflicts_with = "url")]
    sandbox: Vec<SandboxPreset>,
    /// A file or folder that the server may read in its sandbox. May be repeated.
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    sandbox_read: Vec<PathBuf>,
    /// A file or folder that the server may read and write in its sandbox. May be repeated.
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    sandbox_write: Vec<PathBuf>,
    /// A TCP port to which the server may connect. If ports are listed, the server may use no other
    /// ports. May be repeated.
    #[arg(long, value_name = "PORT", conflicts_with = "url")]
    sandbox_connect: Vec<u16>,
    /// A TCP port on which the server may listen. If ports are listed, the server may use no other
    /// ports. May be repeated.
    #[arg(long, value_name = "PORT", conflicts_with = "url")]
    sandbox_bind: Vec<u16>,
    /// Let the server connect to the local sockets of other programs, such as Docker
    #[arg(long, conflicts_with = "url")]
    sandbox_local_sockets: bool,
}

impl SandboxArgs {
    /// Returns the sandbox that the options describe, `None` for `--sandbox off`, or `default` if
    /// no option is given.
    ///
    /// # Errors
    /// Returns an error if the options contradict each other, if `read-project` is chosen without a
    /// path to read, or if a path cannot be made absolute.
    pub(super) fn into_sandbox(self, default: Option<Sandbox>) -> Result<Option<Sandbox>, Failure> {
        let has = |preset| self.sandbox.contains(&preset);
        let lists_files = !self.sandbox_read.is_empty() || !self.sandbox_write.is_empty();
        let lists_ports = !self.sandbox_connect.is_empty() || !self.sandbox_bind.is_empty();
        let has_other_options = lists_files || lists_ports || self.sandbox_local_sockets;
        if has(SandboxPreset::Off) {
            return if has_other_options || self.sandbox.iter().any(|p| *p != SandboxPreset::Off) {
                Err(Failure::SandboxOffWithOthers)
            } else {
                Ok(None)
            };
        }
        if self.sandbox.is_empty() && !has_other_options {
            return Ok(default);
        }
        if has(SandboxPreset::ReadProject) && self.sandbox_read.is_empty() {
            return Err(Failure::SandboxWithoutProject);
        }
        if has(SandboxPreset::NoNetwork) && lists_ports {
            return Err(Failure::SandboxPortsWithoutNetwork);
        }
        let absolute = |paths: Vec<PathBuf>| -> Result<Vec<String>, Failure> {
            let absolute = paths.into_iter().map(std::path::absolute);
            let paths: Vec<PathBuf> = absolute.collect::<Result<_, _>>()?;
            Ok(paths
                .iter()
                .map(|path| path.display().to_string())
                .collect())
        };
        let confines_files =
            lists_files || has(SandboxPreset::OwnFolder) || has(SandboxPreset::ReadProject);
        Ok(Some(Sandbox {
            files: if confines_files {
                SandboxFiles::Listed
            } else {
                SandboxFiles::All
            },
            read: absolute(self.sandbox_read)?,
            write: absolute(self.sandbox_write)?,
            network: if has(SandboxPreset::NoNetwork) {
                SandboxNetwork::None
            } else if lists_ports {
                SandboxNetwork::Listed
            } else {
                SandboxNetwork::All
            },
            connect: self.sandbox_connect,
            bind: self.sandbox_bind,
            local_sockets: self.sandbox_local_sockets,
        }))
    }
}
