//! AI clients: how each reaches Drawbridge, the entries in their configuration files, and how long
//! the names of their tools may be.

pub mod configs;
pub mod tool_names;
mod vault;

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use drawbridge_client_config::{Connection, Machine, Transport};
use drawbridge_model::ids::ClientName;
use drawbridge_store::data_dir::default_data_dir;

/// Returns how a client reaches the hub with this endpoint and data folder: by the bridge, or over
/// HTTP if there is a token.
pub fn connection(
    url: String,
    data_dir: &Path,
    client: &ClientName,
    token: Option<&str>,
) -> Connection {
    let is_default = data_dir == default_data_dir();
    Connection {
        command: bridge_command(),
        url,
        client: client.as_str().to_owned(),
        data_dir: (!is_default).then(|| data_dir.display().to_string()),
        transport: match token {
            Some(token) => Transport::Http {
                token: Some(token.to_owned()),
            },
            None => Transport::Bridge,
        },
    }
}

/// Returns this computer, with the caller's environment variables that say where clients keep their
/// files. Returns `None` if the user has no home folder.
pub fn machine(environment: &BTreeMap<String, String>) -> Option<Machine> {
    let mut machine = Machine::this()?;
    machine.set_variables(environment);
    Some(machine)
}

/// The file name of the `drawbridge` command.
const COMMAND: &str = if cfg!(windows) {
    "drawbridge.exe"
} else {
    "drawbridge"
};

/// Returns the path of the `drawbridge` command in this program's folder, or `None` if it is not
/// there.
pub fn command_file() -> Option<PathBuf> {
    let file = env::current_exe().ok()?.parent()?.join(COMMAND);
    file.is_file().then_some(file)
}

/// Returns whether a terminal with this `PATH` starts this file if a person types its name.
pub fn is_found_in(path: Option<&OsStr>, file: &Path) -> bool {
    let (Some(path), Some(name), Ok(file)) = (path, file.file_name(), file.canonicalize()) else {
        return false;
    };
    env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
        .is_some_and(|found| found.canonicalize().is_ok_and(|found| found == file))
}

/// Returns the path of the `drawbridge` command in this program's folder, or the command's bare
/// name if it is not there.
fn bridge_command() -> String {
    command_file().map_or_else(|| COMMAND.to_owned(), |file| file.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_command_is_found_unless_an_earlier_folder_has_a_command_of_the_same_name() {
        let (own, other) = (tempfile::tempdir(), tempfile::tempdir());
        let (own, other) = (own.expect("a folder"), other.expect("a folder"));
        let file = own.path().join(COMMAND);
        fs::write(&file, "").expect("write a file");
        let both = env::join_paths([other.path(), own.path()]).expect("a path");
        assert!(is_found_in(Some(&both), &file));
        assert!(!is_found_in(Some(other.path().as_os_str()), &file));
        assert!(!is_found_in(None, &file));
        fs::write(other.path().join(COMMAND), "").expect("write a file");
        assert!(!is_found_in(Some(&both), &file));
    }
}
