//! Manifests: what a server's author says of how it is started and what it needs to know. One file a kind in
//! [`manifest/`](self); all become the same [`Choice`]s, which are filled with a person's values into a spec.
//!
//! Nothing is started or downloaded here. A manifest is a stranger's text: what it would start is shown, and started
//! only once the user has accepted it.

mod ask;
mod choice;
mod declared;
mod fill;
mod plugin_json;
mod server_json;
mod template;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use choice::Choice;
pub use fill::{FillError, Filled};

/// The longest manifest, in bytes.
const MAX_MANIFEST: u64 = 1024 * 1024;
/// The files of a folder that can be its manifest, the first that is there.
const FILES: [&str; 2] = ["plugin.json", "server.json"];

/// A server as its author describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// As `io.github.owner/server`.
    pub name: String,
    /// For people; empty where there is none.
    pub title: String,
    pub description: String,
    pub version: String,
    /// The ways to run or to reach it, in the manifest's order. At least one.
    pub choices: Vec<Choice>,
}

impl Manifest {
    /// What the server is called here where the person calls it nothing else.
    pub fn server_name(&self) -> &str {
        let last = self.name.rsplit('/').next().unwrap_or(&self.name);
        if self.title.is_empty() {
            last
        } else {
            &self.title
        }
    }
}

/// Why a text or a file is no manifest.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("this is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("this is no manifest: it has neither 'packages' nor 'remotes'")]
    Neither,
    #[error("{field}: {message}")]
    Field { field: String, message: String },
    #[error("{0} has neither plugin.json nor server.json")]
    EmptyFolder(String),
    #[error("a manifest has at most {MAX_MANIFEST} bytes")]
    TooLong,
    #[error("cannot read {file}: {source}")]
    Io { file: String, source: io::Error },
    #[error("{file}: {source}")]
    In { file: String, source: Box<Self> },
}

/// Reads a manifest's text.
///
/// # Errors
/// Where it is none; the error names the field.
pub fn read(text: &str) -> Result<Manifest, ManifestError> {
    read_in(text, None)
}

/// Reads the manifest at a path: a file, or a folder that has one.
///
/// # Errors
/// Where there is none, or it cannot be read; the error names the file and the field.
pub fn read_path(path: &Path) -> Result<Manifest, ManifestError> {
    let file = find(path)?;
    let name = || file.display().to_string();
    let failed = |source| ManifestError::Io {
        file: name(),
        source,
    };
    let within = |source| ManifestError::In {
        file: name(),
        source: Box::new(source),
    };
    let metadata = fs::metadata(&file).map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::other("it is not a file")));
    }
    if metadata.len() > MAX_MANIFEST {
        return Err(within(ManifestError::TooLong));
    }
    let text = fs::read_to_string(&file).map_err(failed)?;
    read_in(&text, file.parent()).map_err(within)
}

fn find(path: &Path) -> Result<PathBuf, ManifestError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let file = FILES
        .iter()
        .map(|name| path.join(name))
        .find(|file| file.is_file());
    file.ok_or_else(|| ManifestError::EmptyFolder(path.display().to_string()))
}

/// `folder` is where the manifest lies, for what it says of files beside it.
fn read_in(text: &str, folder: Option<&Path>) -> Result<Manifest, ManifestError> {
    if text.len() as u64 > MAX_MANIFEST {
        return Err(ManifestError::TooLong);
    }
    let mut value: Map<String, Value> = serde_json::from_str(text.trim_start_matches('\u{feff}'))?;
    // As the registry's API hands it out.
    if let Some(Value::Object(server)) = value.remove("server") {
        value = server;
    }
    let manifest = if plugin_json::is_one(&value) {
        plugin_json::read(value, folder)?
    } else {
        server_json::read(value)?
    };
    if manifest.choices.is_empty() {
        Err(ManifestError::Neither)
    } else {
        Ok(manifest)
    }
}

/// Reads a `server.json` that is there already.
pub(super) fn server_json(value: Map<String, Value>) -> Result<Manifest, ManifestError> {
    server_json::read(value)
}

/// The typed form of a manifest's JSON.
fn typed<T: DeserializeOwned>(value: Map<String, Value>) -> Result<T, ManifestError> {
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

#[cfg(test)]
mod tests;
