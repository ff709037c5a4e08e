//! Manifests: an author's description of how to start a server and which values it needs. Each
//! format has its own file in [`manifest/`](self). Manifests of all formats become [`Choice`]s. A
//! choice and a person's values make a spec.
//!
//! This module starts and downloads nothing. A manifest is untrusted text: its command is shown
//! first, and started only after the user has accepted it.

mod choice;
mod declaration;
mod fill;
mod inputs;
mod plugin_json;
mod registration;
mod server_json;
mod template;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use choice::{Choice, Problem};
pub use fill::{FillError, FilledSpec};

/// The maximum length of a manifest, in bytes.
const MAX_MANIFEST: u64 = 1024 * 1024;
/// The names of manifests in a folder. The first file that exists is read.
const MANIFEST_FILES: [&str; 2] = ["plugin.json", "server.json"];

/// A server as its author describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The full name, such as `io.github.owner/server`.
    pub name: String,
    /// The name for people. Empty if there is none.
    pub title: String,
    pub description: String,
    pub version: String,
    /// The ways to start or to reach the server, at least one, in the manifest's order.
    pub choices: Vec<Choice>,
}

impl Manifest {
    /// Returns the first choice that can be used, or the first choice if none can be used.
    pub fn first_usable(&self) -> &Choice {
        let usable = self.choices.iter().find(|choice| choice.problem.is_none());
        usable.unwrap_or_else(|| &self.choices[0])
    }

    /// Returns the default name of the server in Drawbridge.
    pub fn server_name(&self) -> &str {
        let last = self.name.rsplit('/').next().unwrap_or(&self.name);
        if self.title.is_empty() {
            last
        } else {
            &self.title
        }
    }
}

/// The reason why a text or a file cannot be read as a manifest.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("this is not valid JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("this is not a manifest: it has neither 'packages' nor 'remotes'")]
    NoServers,
    #[error("{field}: {message}")]
    Field { field: String, message: String },
    #[error("{0} contains neither plugin.json nor server.json")]
    NoManifestIn(String),
    #[error("a manifest can have at most {MAX_MANIFEST} bytes")]
    TooLong,
    #[error("cannot read {file}: {source}")]
    Io { file: String, source: io::Error },
    #[error("{file}: {source}")]
    InFile { file: String, source: Box<Self> },
}

/// Reads the text of a manifest.
///
/// # Errors
/// Returns an error if the text is not a manifest. If the fault is in a field, the error names the
/// field.
pub fn read(text: &str) -> Result<Manifest, ManifestError> {
    parse(text, None)
}

/// Reads the manifest at a path: a file, or a folder that contains a manifest.
///
/// # Errors
/// Returns an error if there is no manifest, or if it cannot be read. The error names the file and,
/// if the fault is in a field, the field.
pub fn read_path(path: &Path) -> Result<Manifest, ManifestError> {
    let (text, file) = read_file(path)?;
    parse(&text, file.parent()).map_err(|source| ManifestError::InFile {
        file: file.display().to_string(),
        source: Box::new(source),
    })
}

/// Returns the text of the manifest at a path, and its file.
fn read_file(path: &Path) -> Result<(String, PathBuf), ManifestError> {
    let file = find_file(path)?;
    let name = || file.display().to_string();
    let failed = |source| ManifestError::Io {
        file: name(),
        source,
    };
    let metadata = fs::metadata(&file).map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::other("it is not a file")));
    }
    if metadata.len() > MAX_MANIFEST {
        return Err(ManifestError::InFile {
            file: name(),
            source: Box::new(ManifestError::TooLong),
        });
    }
    let text = fs::read_to_string(&file).map_err(failed)?;
    Ok((text, file))
}

fn find_file(path: &Path) -> Result<PathBuf, ManifestError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let file = MANIFEST_FILES
        .iter()
        .map(|name| path.join(name))
        .find(|file| file.is_file());
    file.ok_or_else(|| ManifestError::NoManifestIn(path.display().to_string()))
}

/// Reads the text of a manifest. `folder` contains the manifest and the files to which it refers.
fn parse(text: &str, folder: Option<&Path>) -> Result<Manifest, ManifestError> {
    let value = read_members(text)?;
    let manifest = if registration::is_registration(&value) {
        registration::read(value)?
    } else if plugin_json::is_plugin_json(&value) {
        plugin_json::read(value, folder)?
    } else {
        server_json::read(value)?
    };
    if manifest.choices.is_empty() {
        Err(ManifestError::NoServers)
    } else {
        Ok(manifest)
    }
}

/// Returns the members of a manifest.
fn read_members(text: &str) -> Result<Map<String, Value>, ManifestError> {
    if text.len() as u64 > MAX_MANIFEST {
        return Err(ManifestError::TooLong);
    }
    let mut value: Map<String, Value> = serde_json::from_str(text.trim_start_matches('\u{feff}'))?;
    // The official registry's API wraps the manifest in a `server` member.
    if let Some(Value::Object(server)) = value.remove("server") {
        value = server;
    }
    Ok(value)
}

/// Returns whether a text is the registration of a source at a tools provider.
pub fn is_registration(text: &str) -> bool {
    read_members(text).is_ok_and(|value| registration::is_registration(&value))
}

/// Reads a `server.json` that the official registry published. Rejects all other formats, because
/// they may name files of this computer.
///
/// # Errors
/// Returns an error if the text is not a `server.json`, or has neither packages nor remotes.
pub fn read_published(document: &str) -> Result<Manifest, ManifestError> {
    let manifest = server_json::read(serde_json::from_str(document)?)?;
    if manifest.choices.is_empty() {
        Err(ManifestError::NoServers)
    } else {
        Ok(manifest)
    }
}

/// Reads a `server.json` that is already parsed. In contrast to the results of the other functions,
/// the manifest may have no choice.
pub(super) fn read_server_json(value: Map<String, Value>) -> Result<Manifest, ManifestError> {
    server_json::read(value)
}

/// Returns the typed form of a manifest's JSON.
fn from_json<T: DeserializeOwned>(value: Map<String, Value>) -> Result<T, ManifestError> {
    serde_path_to_error::deserialize(Value::Object(value)).map_err(|error| {
        let field = error.path().to_string();
        let field = if field == "." {
            "the manifest".to_owned()
        } else {
            field
        };
        ManifestError::Field {
            field,
            message: error.into_inner().to_string(),
        }
    })
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
