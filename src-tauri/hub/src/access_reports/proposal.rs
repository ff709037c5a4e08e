//! Proposes a sandbox from an access report.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use drawbridge_model::{
    access_report::{AccessReport, AccessSummary, AddressKind, FileAccess, RecordedAccess},
    sandbox::{Sandbox, SandboxFiles, SandboxNetwork},
    spec::{RegisteredServer, ServerSpec},
};
use drawbridge_upstream::transport::process::sandbox as enforcement;
use serde::{Deserialize, Serialize};
use url::Url;

/// A sandbox for a server, proposed from the paths and addresses that a recorded run used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SandboxProposal {
    pub sandbox: Sandbox,
    /// The paths that the server used and the sandbox does not allow. A person may add them.
    pub excluded: Vec<ExcludedPath>,
}

/// A path that is not proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ExcludedPath {
    pub path: String,
    pub access: FileAccess,
    pub reason: ExclusionReason,
}

/// The reason why a path is not proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ExclusionReason {
    /// The path holds keys, passwords, the profile of a browser, settings that start programs, or
    /// Drawbridge's own data.
    Private,
    /// The path contains much that the server did not use, as the whole home folder does.
    TooBroad,
    /// The path belongs to the system, or to the files of programs.
    System,
    /// The path is a cache or a folder for temporary files. In a sandbox, the server has these in
    /// its own folder.
    Own,
    /// The path no longer exists.
    Missing,
}

/// The kind of an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    File,
    Folder,
}

/// The facts about a computer on which a proposal depends.
pub(super) struct Machine<'a> {
    /// The home folder, with symbolic links resolved.
    pub(super) home: Option<PathBuf>,
    pub(super) temporary: Vec<PathBuf>,
    /// Drawbridge's own folder.
    pub(super) data_dir: PathBuf,
    pub(super) has_sandboxes: bool,
    /// Whether the system can limit TCP ports.
    pub(super) limits_ports: bool,
    pub(super) kind_of: &'a dyn Fn(&Path) -> Option<FileKind>,
}

/// Places in the home folder that hold secrets, or in which a file can make programs start.
const PRIVATE: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".password-store",
    ".vault-token",
    ".terraform.d",
    ".oci",
    ".boto",
    ".s3cfg",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/op",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/keepassxc",
    ".config/rclone",
    ".config/doctl",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".config/autostart",
    ".config/systemd",
    ".config/fish",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/applications",
    ".local/bin",
    ".mozilla",
    ".thunderbird",
    ".librewolf",
    ".var/app",
    "snap",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_history",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".xprofile",
    ".xsessionrc",
    ".electrum",
    ".bitcoin",
    ".ethereum",
    "Library/Keychains",
];
/// Names of files that hold secrets in any folder.
const PRIVATE_NAMES: &[&str] = &["id_rsa", "id_ed25519", "id_ecdsa", "credentials.json"];
/// Caches in the home folder. In a sandbox, a server has its caches in its own folder.
const CACHES: &[&str] = &[".cache", ".npm", ".bun", ".local/share/uv", ".local/state"];
/// Folders of the system.
const SYSTEM: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/proc",
    "/run", "/sbin", "/snap", "/sys", "/usr", "/nix", "/gnu", "/var/run",
];
/// Folders that hold the packages of a program.
const PACKAGE_FOLDERS: &[&str] = &[
    "node_modules",
    "site-packages",
    "dist-packages",
    "__pycache__",
];
/// Files and folders that mark the top of a project.
const PROJECT_MARKERS: &[&str] = &[
    ".git",
    "package.json",
    "pyproject.toml",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
];
/// If a server read more files of a folder directly below the home folder, the folder is proposed
/// in place of the single files.
const MAX_SINGLE_FILES: usize = 3;
/// The most ports that are proposed.
const MAX_PORTS: usize = 16;
const HTTPS: u16 = 443;

impl Machine<'_> {
    /// Returns the facts about this computer.
    pub(super) fn local(data_dir: &Path) -> Self {
        let resolve = |path: PathBuf| fs::canonicalize(&path).unwrap_or(path);
        Machine {
            home: directories::BaseDirs::new().map(|dirs| resolve(dirs.home_dir().to_owned())),
            temporary: vec![
                resolve(std::env::temp_dir()),
                PathBuf::from("/tmp"),
                PathBuf::from("/var/tmp"),
                PathBuf::from("/dev/shm"),
            ],
            data_dir: resolve(data_dir.to_owned()),
            has_sandboxes: enforcement::is_available(),
            limits_ports: enforcement::limits_ports(),
            kind_of: &|path| {
                let metadata = fs::metadata(path).ok()?;
                Some(if metadata.is_dir() {
                    FileKind::Folder
                } else {
                    FileKind::File
                })
            },
        }
    }
}

/// Returns the proposal for a server, or `None` if this system has no sandboxes or could not record
/// the run, or if the proposed sandbox is invalid.
pub(super) fn propose_for(
    server: &RegisteredServer,
    report: &AccessReport,
    machine: &Machine<'_>,
) -> Option<SandboxProposal> {
    let RecordedAccess::Summary(summary) = &report.access else {
        return None;
    };
    if !machine.has_sandboxes {
        return None;
    }
    let proposal = propose(&server.spec, report.sandbox.as_ref(), summary, machine);
    proposal.sandbox.check().is_ok().then_some(proposal)
}

/// Returns the smallest sensible sandbox for the used paths and addresses, and the used paths that
/// the sandbox excludes. The sandbox keeps everything that `current`, the sandbox of the run,
/// lists, because a person chose it. A use that `current` refused adds nothing to the sandbox.
fn propose(
    spec: &ServerSpec,
    current: Option<&Sandbox>,
    used: &AccessSummary,
    machine: &Machine<'_>,
) -> SandboxProposal {
    let arguments = named_folders(spec.args.iter().chain(&spec.cwd), machine);
    let variables = named_folders(spec.env.values(), machine);
    let mut folding = Folding {
        roots: arguments.iter().cloned().chain(variables).collect(),
        machine,
        chosen: BTreeMap::new(),
        excluded: BTreeMap::new(),
    };
    // The person told the server to use these folders, even if it has not used them yet.
    for folder in arguments {
        folding.choose_or_exclude(&folder, FileAccess::Read);
    }
    let files = used.files.iter().filter(|file| !file.refused);
    let mut singles: BTreeMap<(PathBuf, FileAccess), Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        let path = PathBuf::from(&file.path);
        if let Some(folder) = folding.choose_or_exclude(&path, file.access) {
            let key = (folder, file.access);
            singles.entry(key).or_default().push(path);
        }
    }
    folding.choose_single_files(singles);
    let Folding {
        chosen, excluded, ..
    } = folding;
    let [mut read, mut write] = [FileAccess::Read, FileAccess::Write].map(|kind| {
        let of_kind = chosen.iter().filter(|(_, access)| **access == kind);
        of_kind
            .map(|(path, _)| to_spec_path(path, machine))
            .collect::<BTreeSet<_>>()
    });
    if let Some(current) = current.filter(|current| current.files == SandboxFiles::Listed) {
        write.extend(current.write.iter().cloned());
        read.extend(current.read.iter().cloned());
        read.retain(|path| !write.contains(path));
    }
    let network = propose_network(spec, current, used, machine);
    let uses_local = used
        .addresses
        .iter()
        .any(|address| address.kind == AddressKind::LocalSocket && !address.refused);
    SandboxProposal {
        sandbox: Sandbox {
            files: SandboxFiles::Listed,
            read: read.into_iter().collect(),
            write: write.into_iter().collect(),
            network: network.network,
            connect: network.connect.into_iter().collect(),
            bind: network.bind.into_iter().collect(),
            local_sockets: uses_local || current.is_some_and(|current| current.local_sockets),
        },
        excluded: excluded
            .into_iter()
            .map(|((path, access), reason)| ExcludedPath {
                path: to_spec_path(&path, machine),
                access,
                reason,
            })
            .collect(),
    }
}

/// The part of a proposal about the network.
struct ProposedNetwork {
    network: SandboxNetwork,
    connect: BTreeSet<u16>,
    bind: BTreeSet<u16>,
}

fn propose_network(
    spec: &ServerSpec,
    current: Option<&Sandbox>,
    used: &AccessSummary,
    machine: &Machine<'_>,
) -> ProposedNetwork {
    let current_network = current.map(|current| current.network);
    let ports = |kind: AddressKind| -> BTreeSet<u16> {
        let of_kind = used
            .addresses
            .iter()
            .filter(|address| address.kind == kind && !address.refused);
        of_kind.map(|address| address.port).collect()
    };
    let (mut connect, mut bind) = (ports(AddressKind::Connect), ports(AddressKind::Bind));
    let uses_udp = !ports(AddressKind::Udp).is_empty();
    // In a sandbox, the cache is in the server's own folder. That folder is empty at first, so the
    // runtime has to download the program again.
    if spec.runtime().is_some_and(|runtime| runtime.may_download())
        && current_network != Some(SandboxNetwork::None)
    {
        connect.insert(HTTPS);
    }
    let url = spec.url.as_ref().and_then(|url| Url::parse(url).ok());
    bind.extend(url.and_then(|url| url.port_or_known_default()));
    if let Some(current) = current {
        connect.extend(&current.connect);
        bind.extend(&current.bind);
    }
    let network = match current_network {
        Some(SandboxNetwork::None) => SandboxNetwork::None,
        _ if connect.is_empty() && bind.is_empty() && !uses_udp => SandboxNetwork::None,
        _ if !machine.limits_ports || connect.len() + bind.len() > MAX_PORTS => SandboxNetwork::All,
        _ => SandboxNetwork::Listed,
    };
    if network != SandboxNetwork::Listed {
        (connect, bind) = Default::default();
    }
    ProposedNetwork {
        network,
        connect,
        bind,
    }
}

/// Returns the folders among these values of a spec. Each folder stands for all files that are used
/// inside it.
fn named_folders<'a>(
    values: impl Iterator<Item = &'a String>,
    machine: &Machine<'_>,
) -> Vec<PathBuf> {
    let values = values.map(|value| match value.split_once('=') {
        Some((option, path)) if option.starts_with('-') => path,
        _ => value.as_str(),
    });
    let expand = |value: &str| match (value.strip_prefix("~/"), &machine.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(value),
    };
    values
        .map(expand)
        .filter(|path| path.is_absolute() && (machine.kind_of)(path) == Some(FileKind::Folder))
        .filter(|path| !is_too_broad(path, machine))
        .collect()
}

/// Replaces each used file by the folder to which the file belongs.
struct Folding<'a> {
    machine: &'a Machine<'a>,
    /// The folders that the spec names.
    roots: Vec<PathBuf>,
    chosen: BTreeMap<PathBuf, FileAccess>,
    excluded: BTreeMap<(PathBuf, FileAccess), ExclusionReason>,
}

impl Folding<'_> {
    /// Chooses or excludes a path. Returns the path's folder instead if the choice between file and
    /// folder depends on how many files of the folder are used.
    fn choose_or_exclude(&mut self, path: &Path, access: FileAccess) -> Option<PathBuf> {
        if let Some((path, reason)) = find_exclusion(path, access, self.machine) {
            self.excluded.insert((path, access), reason);
            return None;
        }
        let kind = (self.machine.kind_of)(path);
        if let Some(folder) = self.find_top(path, kind) {
            self.choose(folder, access);
            return None;
        }
        let folder = match kind {
            Some(FileKind::Folder) => path,
            _ => path.parent().unwrap_or(path),
        };
        if is_too_broad(folder, self.machine) {
            // Only the file itself could be allowed.
            match kind {
                Some(FileKind::File) => self.choose(path.to_owned(), access),
                Some(FileKind::Folder) => self.exclude(path, access, ExclusionReason::TooBroad),
                None => self.exclude(path, access, ExclusionReason::Missing),
            }
            return None;
        }
        let is_directly_below_home = self.machine.home.as_deref() == folder.parent();
        if kind == Some(FileKind::File) && is_directly_below_home && access == FileAccess::Read {
            return Some(folder.to_owned());
        }
        self.choose(folder.to_owned(), access);
        None
    }

    /// Chooses the single files of each folder, or the folder if there are many.
    fn choose_single_files(&mut self, singles: BTreeMap<(PathBuf, FileAccess), Vec<PathBuf>>) {
        for ((folder, access), files) in singles {
            if files.len() > MAX_SINGLE_FILES {
                self.choose(folder, access);
            } else {
                for file in files {
                    self.choose(file, access);
                }
            }
        }
    }

    /// Returns the folder to which a path belongs: a folder that the spec names, the folder of a
    /// program's settings or data, or the folder of a project. Returns `None` if the path belongs
    /// to none of these.
    fn find_top(&self, path: &Path, kind: Option<FileKind>) -> Option<PathBuf> {
        let is_usable = |folder: &&Path| !is_too_broad(folder, self.machine);
        let named = self.roots.iter().find(|root| path.starts_with(root));
        if let Some(named) = named {
            return Some(named.clone());
        }
        let home = self.machine.home.as_deref();
        if let Some(below) = home.and_then(|home| path.strip_prefix(home).ok()) {
            let mut parts = below.components();
            let first = parts.next()?.as_os_str().to_str()?;
            // The folder of a program's settings or data.
            let depth = match first {
                ".config" => 2,
                ".local" => 3,
                _ if first.starts_with('.') => 1,
                _ => 0,
            };
            let count = below.components().count();
            if depth > 0 && (count > depth || count == depth && kind == Some(FileKind::Folder)) {
                let top: PathBuf = below.components().take(depth).collect();
                return Some(home?.join(top));
            }
        }
        let is_project = |folder: &&Path| {
            PROJECT_MARKERS
                .iter()
                .any(|marker| (self.machine.kind_of)(&folder.join(marker)).is_some())
        };
        let mut ancestors = path.ancestors().take_while(is_usable);
        ancestors.find(is_project).map(Path::to_owned)
    }

    fn choose(&mut self, path: PathBuf, access: FileAccess) {
        if (self.machine.kind_of)(&path).is_none() {
            return self.exclude(&path, access, ExclusionReason::Missing);
        }
        let covers =
            |(folder, given): (&PathBuf, &FileAccess)| path.starts_with(folder) && *given >= access;
        if self.chosen.iter().any(covers) {
            return;
        }
        self.chosen
            .retain(|other, given| !(other.starts_with(&path) && *given <= access));
        self.chosen.insert(path, access);
    }

    fn exclude(&mut self, path: &Path, access: FileAccess, reason: ExclusionReason) {
        self.excluded.insert((path.to_owned(), access), reason);
    }
}

/// Returns the path to exclude, which may be a folder around `path`, and the reason. Returns `None`
/// if the place and the name of `path` are no reason to exclude it.
fn find_exclusion(
    path: &Path,
    access: FileAccess,
    machine: &Machine<'_>,
) -> Option<(PathBuf, ExclusionReason)> {
    let excluded = |folder: &Path, reason| Some((folder.to_owned(), reason));
    if path.starts_with(&machine.data_dir) {
        return excluded(&machine.data_dir, ExclusionReason::Private);
    }
    if let Some(home) = &machine.home
        && let Ok(below) = path.strip_prefix(home)
    {
        let find = |places: &[&str]| {
            let found = places.iter().find(|place| below.starts_with(place));
            found.map(|place| home.join(place))
        };
        if let Some(place) = find(PRIVATE) {
            return excluded(&place, ExclusionReason::Private);
        }
        if let Some(place) = find(CACHES) {
            return excluded(&place, ExclusionReason::Own);
        }
    }
    let name = path.file_name().and_then(|name| name.to_str());
    if name.is_some_and(|name| PRIVATE_NAMES.contains(&name) || name.starts_with(".env")) {
        return excluded(path, ExclusionReason::Private);
    }
    let is_packages = path.components().any(|part| {
        let name = part.as_os_str().to_str();
        name.is_some_and(|name| PACKAGE_FOLDERS.contains(&name))
    });
    if is_packages && access == FileAccess::Write {
        return excluded(path, ExclusionReason::System);
    }
    // A path in the home folder is not excluded only because the home folder is in `folder`.
    let home_is_below = |folder: &Path| {
        machine
            .home
            .as_ref()
            .is_some_and(|home| home.starts_with(folder) && path.starts_with(home))
    };
    let mut temporary = machine.temporary.iter();
    if let Some(folder) =
        temporary.find(|folder| path.starts_with(folder) && !home_is_below(folder))
    {
        return excluded(folder, ExclusionReason::Own);
    }
    if SYSTEM
        .iter()
        .any(|folder| path.starts_with(folder) && !home_is_below(Path::new(folder)))
    {
        return excluded(path, ExclusionReason::System);
    }
    None
}

/// Returns whether a folder is too broad: the root, a folder directly below it, the home folder, a
/// private place or Drawbridge's own folder, or a folder around one of the last three.
fn is_too_broad(folder: &Path, machine: &Machine<'_>) -> bool {
    let is_around = |inner: &Path| inner.starts_with(folder);
    folder.components().count() <= 2
        || is_around(&machine.data_dir)
        || machine.home.as_ref().is_some_and(|home| {
            is_around(home) || PRIVATE.iter().any(|place| is_around(&home.join(place)))
        })
}

/// Returns a path as a spec writes it, with `~/` for the home folder.
fn to_spec_path(path: &Path, machine: &Machine<'_>) -> String {
    let below = machine
        .home
        .as_ref()
        .and_then(|home| path.strip_prefix(home).ok())
        .filter(|below| below.components().next().is_some());
    match below {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests;
