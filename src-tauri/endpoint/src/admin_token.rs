//! The admin token, as the environment gives it to the hub and to its clients.

use std::{env, fs, io, path::PathBuf};

/// The variable with the token itself.
const TOKEN_VARIABLE: &str = "DRAWBRIDGE_ADMIN_TOKEN";
/// The variable with the path of a file that holds the token, such as a secret of a container or a
/// credential of a systemd unit. Other programs can read such a file less easily than a process's
/// environment.
const FILE_VARIABLE: &str = "DRAWBRIDGE_ADMIN_TOKEN_FILE";

/// The error if the file with the token cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the admin token from '{}', which {FILE_VARIABLE} names: {source}", file.display())]
pub struct AdminTokenError {
    file: PathBuf,
    source: io::Error,
}

/// Returns the token in `DRAWBRIDGE_ADMIN_TOKEN`, or else the trimmed content of the file that
/// `DRAWBRIDGE_ADMIN_TOKEN_FILE` names. An empty variable or file counts as absent.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn read_from_environment() -> Result<Option<String>, AdminTokenError> {
    let token = env::var(TOKEN_VARIABLE)
        .ok()
        .filter(|token| !token.is_empty());
    let file = env::var_os(FILE_VARIABLE).filter(|file| !file.is_empty());
    let (None, Some(file)) = (&token, file.map(PathBuf::from)) else {
        return Ok(token);
    };
    match fs::read_to_string(&file) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|token| !token.is_empty())),
        Err(source) => Err(AdminTokenError { file, source }),
    }
}
