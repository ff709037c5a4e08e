//! Reads spec files, reporting the position of any fault, and writes them atomically.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use drawbridge_model::{
    builtin::BuiltIn,
    ids::ServerId,
    names, protocol,
    spec::{RegisteredServer, ServerSpec},
};

use super::{RegistryError, Specs};

/// The size of the largest spec file that is read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// A spec file that cannot be used, and the position of its fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenFile {
    pub file: PathBuf,
    /// The line of the fault, counted from 1, or 0 if the fault has no position.
    pub line: usize,
    /// The column of the fault, counted like the line.
    pub column: usize,
    pub message: String,
}

impl BrokenFile {
    fn new(file: &Path, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: 0,
            column: 0,
            message: message.into(),
        }
    }

    /// Returns the id in the file's name.
    pub(crate) fn id(&self) -> Option<ServerId> {
        self.file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .map(ServerId::new)
    }
}

pub(super) fn create_folder(folder: &Path) -> Result<(), RegistryError> {
    fs::create_dir_all(folder).map_err(|e| io_error(folder, e))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
            .map_err(|e| io_error(folder, e))?;
    }
    Ok(())
}

/// Reads all specs of a folder. A file that cannot be used affects no other file, and its server
/// keeps the spec that it has in `old`.
pub(super) fn read_folder(folder: &Path, old: &Specs) -> Specs {
    let mut specs = Specs::default();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            specs.servers.clone_from(&old.servers);
            specs.broken.push(BrokenFile::new(
                folder,
                format!("cannot read the folder: {error}"),
            ));
            return specs;
        }
    };
    let mut files: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|file| is_spec_file(file))
        .collect();
    files.sort();
    for file in files {
        match read(&file) {
            Ok(server) => drop(specs.servers.insert(server.id.clone(), Arc::new(server))),
            Err(broken) => {
                let previous = broken.id().and_then(|id| old.servers.get_key_value(&id));
                specs
                    .servers
                    .extend(previous.map(|(id, server)| (id.clone(), server.clone())));
                specs.broken.push(broken);
            }
        }
    }
    specs
}

/// Returns whether a file has the name of a spec file. The names of temporary files of Drawbridge
/// and of many editors begin with a dot.
fn is_spec_file(file: &Path) -> bool {
    let hidden = file
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with('.'));
    !hidden
        && file
            .extension()
            .is_some_and(|extension| extension == "json")
}

fn read(file: &Path) -> Result<RegisteredServer, BrokenFile> {
    let broken = |message: String| BrokenFile::new(file, message);
    let stem = file
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default();
    if !names::is_server_id(stem) {
        return Err(broken(
            "before .json, the file's name must have at most 40 characters: words of a-z and 0-9, \
             with a single - or _ between two words, as in my-server.json"
                .into(),
        ));
    }
    if BuiltIn::from_id(&ServerId::new(stem)).is_some() {
        return Err(broken(format!(
            "'{stem}' is the id of a server that is built into Drawbridge, so this file has no effect; rename \
             the file to use its server under another id"
        )));
    }
    let metadata = fs::metadata(file).map_err(|e| broken(e.to_string()))?;
    if !metadata.is_file() {
        return Err(broken("this is not a file".into()));
    }
    let size = metadata.len();
    if size > MAX_FILE {
        return Err(broken(format!(
            "the file has {size} bytes; at most {MAX_FILE} are allowed"
        )));
    }
    let text = fs::read_to_string(file).map_err(|e| broken(e.to_string()))?;
    let spec: ServerSpec =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|e| {
            let message = e.to_string();
            // Serde ends its message with the position, which has its own fields here.
            let message = message
                .rsplit_once(" at line ")
                .map_or(message.as_str(), |(reason, _)| reason)
                .to_owned();
            BrokenFile {
                file: file.to_owned(),
                line: e.line(),
                column: e.column(),
                message,
            }
        })?;
    protocol::check_spec(&spec).map_err(|e| broken(e.to_string()))?;
    Ok(RegisteredServer::new(
        ServerId::new(stem),
        spec,
        file.to_owned(),
    ))
}

pub(super) fn write(file: &Path, spec: &ServerSpec) -> Result<(), RegistryError> {
    let mut text = serde_json::to_string_pretty(spec).map_err(|e| io_error(file, e.into()))?;
    text.push('\n');
    let temp_file = file.with_file_name(format!(
        ".{}.new",
        file.file_name()
            .expect("a spec file has a name")
            .to_string_lossy()
    ));
    let written =
        write_private(&temp_file, text.as_bytes()).and_then(|()| fs::rename(&temp_file, file));
    written.map_err(|e| io_error(file, e))
}

pub(super) fn remove(file: &Path) -> Result<(), RegistryError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(file, error)),
        _ => Ok(()),
    }
}

fn write_private(file: &Path, bytes: &[u8]) -> io::Result<()> {
    use io::Write;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut opened = options.open(file)?;
    opened.write_all(bytes)?;
    opened.sync_all()
}

fn io_error(file: &Path, source: io::Error) -> RegistryError {
    RegistryError::Io {
        file: file.display().to_string(),
        source,
    }
}
