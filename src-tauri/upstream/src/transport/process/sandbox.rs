//! The sandbox of a server: which files, ports and sockets its processes may use. [`resolve`] turns
//! the sandbox of a spec into rules, and `enforce` applies them to the server, on Linux.

#[cfg(target_os = "linux")]
pub(super) mod allowed;
#[cfg(target_os = "linux")]
pub(super) mod enforce;
mod folders;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use drawbridge_model::sandbox::{Sandbox, SandboxFiles, SandboxNetwork};
use serde::{Deserialize, Serialize};

use super::{home_dir, program};
use folders::{list_folders, own_environment};

/// The name of the folder for temporary files, which is in a server's own folder.
const TEMPORARY_FOLDER: &str = "tmp";

/// Devices that hold no data. Programs expect to read and write them.
#[cfg(target_os = "linux")]
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];
#[cfg(target_os = "linux")]
const RANDOM_DEVICES: &[&str] = &["/dev/random", "/dev/urandom"];

/// Variables that make `uvx` and `npx` use the packages that they have downloaded, instead of
/// asking a registry.
const OFFLINE_VARIABLES: &[(&str, &str)] = &[("UV_OFFLINE", "1"), ("npm_config_offline", "true")];

/// The sandbox in which a server is started.
pub struct LaunchSandbox {
    pub sandbox: Sandbox,
    /// The server's own folder. If the server may use only listed files, the start creates this
    /// folder.
    pub own_folder: PathBuf,
    /// The folder with the unpacked files of the server's bundle, which the server may read. The
    /// folder need not exist.
    pub bundle_folder: PathBuf,
}

impl LaunchSandbox {
    /// Returns the server's own folder if it is the home folder of the program.
    pub(super) fn home_folder(&self) -> Option<&Path> {
        (self.sandbox.files == SandboxFiles::Listed).then_some(self.own_folder.as_path())
    }
}

/// Why a sandbox cannot be enforced. The server is not started then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum SandboxFailure {
    #[error("sandboxes need Linux")]
    NotLinux,
    #[error("the guard process of Drawbridge does not run")]
    NoGuard,
    #[error("this kernel has no Landlock; a sandbox needs Linux 6.2 or newer, built with Landlock")]
    NoLandlock,
    #[error("Landlock is turned off; the kernel parameter 'lsm' must include landlock")]
    LandlockOff,
    #[error(
        "this kernel has version {version} of Landlock, which cannot protect files from truncation; version 3 is \
         needed (Linux 6.2 or newer)"
    )]
    OldLandlock { version: u32 },
    #[error("{feature} needs Linux {version} or newer")]
    MissingFeature { feature: String, version: String },
    #[error("the path '{path}' in the server's sandbox cannot be opened: {error}")]
    Path { path: String, error: String },
    #[error("the server's own folder '{folder}' cannot be created: {error}")]
    OwnFolder { folder: String, error: String },
    #[error("the system refuses a restriction: {0}")]
    Refused(String),
}

impl SandboxFailure {
    /// Returns whether the same start may succeed if it is tried again at once. A guard that has
    /// ended is started again with the next server.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::NoGuard | Self::Refused(_) => true,
            Self::NotLinux
            | Self::NoLandlock
            | Self::LandlockOff
            | Self::OldLandlock { .. }
            | Self::MissingFeature { .. }
            | Self::Path { .. }
            | Self::OwnFolder { .. } => false,
        }
    }
}

/// The rules of a sandbox: what the processes of a server may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Confinement {
    /// Absent if the server may use all files.
    pub(super) files: Option<FileRules>,
    pub(super) network: SandboxNetwork,
    /// The TCP ports to which the server may connect, if `network` is [`SandboxNetwork::Listed`].
    pub(super) connect: Vec<u16>,
    /// The TCP ports on which the server may listen, if `network` is [`SandboxNetwork::Listed`].
    pub(super) bind: Vec<u16>,
    /// Whether the server may use local sockets (Unix domain sockets).
    pub(super) local_sockets: bool,
}

/// The files that the processes of a server may use. A folder stands for everything in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRules {
    /// The files that programs need to run, and the files of the server's bundle. Files that do not
    /// exist are ignored.
    pub(super) system: Vec<PathBuf>,
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
}

/// Returns whether this system can enforce sandboxes at all.
pub fn is_available() -> bool {
    #[cfg(target_os = "linux")]
    return enforce::is_available();
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// Returns whether this system can limit TCP ports.
pub fn limits_ports() -> bool {
    #[cfg(target_os = "linux")]
    return enforce::limits_ports();
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// Returns the rules of a sandbox for a program that runs in `folder`. If the server may use only
/// listed files, creates the server's own folder, makes it the home folder in `env`, and removes
/// the `XDG_*` variables that name other folders. If the server may not use the network, adds the
/// [`OFFLINE_VARIABLES`] to `env`. Variables of the spec are not changed.
pub(super) fn resolve(
    launch: &LaunchSandbox,
    spec_env: &BTreeMap<String, String>,
    program: &Path,
    args: &[String],
    folder: &Path,
    env: &mut BTreeMap<String, String>,
) -> Result<Confinement, SandboxFailure> {
    let sandbox = &launch.sandbox;
    let files = match sandbox.files {
        SandboxFiles::All => None,
        SandboxFiles::Listed => {
            let own_folder = &launch.own_folder;
            create_own_folder(own_folder).map_err(|error| SandboxFailure::OwnFolder {
                folder: own_folder.display().to_string(),
                error: error.to_string(),
            })?;
            let expand = |paths: &[String]| paths.iter().map(|path| expand_home(path)).collect();
            let mut write: Vec<PathBuf> = expand(&sandbox.write);
            write.push(own_folder.clone());
            let scripts = program::list_files(program, args, folder);
            let mut system = list_folders(program, &scripts, env);
            system.push(launch.bundle_folder.clone());
            let rules = FileRules {
                system,
                read: expand(&sandbox.read),
                write,
            };
            for (name, value) in own_environment(own_folder) {
                if spec_env.contains_key(name) {
                    continue;
                }
                match value {
                    Some(folder) => env.insert(name.to_owned(), folder),
                    None => env.remove(name),
                };
            }
            Some(rules)
        }
    };
    if sandbox.network == SandboxNetwork::None {
        for (name, value) in OFFLINE_VARIABLES {
            env.entry((*name).to_owned())
                .or_insert_with(|| (*value).to_owned());
        }
    }
    Ok(Confinement {
        files,
        network: sandbox.network,
        connect: sandbox.connect.clone(),
        bind: sandbox.bind.clone(),
        local_sockets: sandbox.local_sockets,
    })
}

/// Returns the files that every sandbox lets this program read, besides the server's own folder and
/// the files of its bundle.
pub(super) fn list_included_files(
    program: &Path,
    args: &[String],
    folder: &Path,
    env: &BTreeMap<String, String>,
) -> Vec<PathBuf> {
    let scripts = program::list_files(program, args, folder);
    list_folders(program, &scripts, env)
}

fn create_own_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder.join(TEMPORARY_FOLDER))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Replaces a leading `~/` by the user's home folder.
fn expand_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}
