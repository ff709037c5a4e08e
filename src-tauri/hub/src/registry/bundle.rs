//! MCP bundles (`.mcpb`): a zip archive with a server's files and a `manifest.json` that says how
//! to start the server and which values it needs. The format is described at
//! <https://github.com/modelcontextprotocol/mcpb>.
//!
//! A bundle is untrusted: [`archive`] checks every entry before anything is written, and
//! [`manifest`] reads the manifest strictly. [`spec`] makes a spec from the manifest and a person's
//! values, and [`folder`] keeps the unpacked files below the data folder.

mod archive;
mod folder;
mod manifest;
mod spec;

use std::{
    fs,
    io::{self, Read as _},
    path::Path,
};

use drawbridge_model::{digest, spec::SpecError};

pub use folder::{
    bundle_folder, complete_replacements, delete_bundles, delete_unused_bundles, unpack,
};
pub use manifest::{
    BundleManifest, BundleServerType, Tool, UserConfig, UserConfigType, UserConfigValue,
};
pub use spec::BundleValues;

use archive::Archive;

/// The maximum size of a bundle, in bytes.
pub const MAX_BUNDLE_BYTES: u64 = 256 * 1024 * 1024;
/// The name of the manifest inside a bundle.
const MANIFEST_FILE: &str = "manifest.json";

/// The reason why a bundle cannot be opened or added.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("cannot read {file}: {source}. Check the path and its permissions")]
    Read { file: String, source: io::Error },
    #[error(
        "the bundle is larger than {} MiB, which is the limit; ask its author for a smaller bundle",
        MAX_BUNDLE_BYTES / 1024 / 1024
    )]
    TooLarge,
    #[error(
        "this is not an MCP bundle: it cannot be read as a zip archive ({0}). Download it again, or ask its author"
    )]
    NotZip(String),
    #[error("the bundle is refused: {0}. Ask its author for a bundle without this fault")]
    Refused(String),
    #[error(
        "the bundle is refused: its entry '{entry}' {fault}. Ask its author for a bundle without this fault"
    )]
    Entry { entry: String, fault: String },
    #[error("manifest.json, {field}: {message}. Ask the bundle's author for a valid manifest")]
    Manifest { field: String, message: String },
    #[error(
        "this bundle is for {supported}, and this computer runs {here}; look for another build of the bundle"
    )]
    Platform {
        supported: String,
        here: &'static str,
    },
    #[error("these values are missing: {0}. Enter them, then add the server again")]
    Missing(String),
    #[error("there is no value '{name}' in this bundle; its values are: {known}")]
    UnknownValue { name: String, known: String },
    #[error("'{name}' must be {rule}")]
    InvalidValue { name: String, rule: String },
    #[error(
        "the bundle puts the secret '{0}' on its command line, which every program on this computer can read; leave \
         it empty if it is optional, or ask the bundle's author to pass it as an environment variable"
    )]
    ExposedSecret(String),
    #[error(
        "the bundle refers to a secret, a variable or a command of yours, which a bundle may not do; ask its author \
         to ask for the value in user_config"
    )]
    SecretReference,
    #[error("the spec that the bundle describes is invalid: {0}")]
    Spec(#[from] SpecError),
    #[error(
        "cannot unpack the bundle to {path}: {source}. Check the free space and the permissions of that folder"
    )]
    Unpack { path: String, source: io::Error },
    #[error(
        "cannot delete the unpacked bundle in {path}: {source}. Check the permissions of that folder, then delete it"
    )]
    Delete { path: String, source: io::Error },
    #[error(
        "cannot put the files of a bundle back from {path}: {source}. Check the permissions of that folder, then start Drawbridge again"
    )]
    Restore { path: String, source: io::Error },
}

/// A bundle that was read and checked. Nothing is unpacked yet.
pub struct Bundle {
    pub manifest: BundleManifest,
    /// The SHA-256 digest of the whole bundle. The digest names the folder of the unpacked files,
    /// so that a changed bundle has another spec, which waits for acceptance.
    pub digest: String,
    archive: Archive,
}

impl Bundle {
    /// Reads and checks the bundle in a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or in the cases of [`Bundle::read`].
    pub fn read_path(path: &Path) -> Result<Self, BundleError> {
        Self::read(read_file(path)?)
    }

    /// Reads and checks a bundle.
    ///
    /// # Errors
    /// Returns an error if the bundle is too large or is not a zip archive, if its entries exceed a
    /// limit, or if an entry could leave the folder of the bundle or is neither a file nor a
    /// folder. Also returns an error if the manifest is missing or invalid, or if the bundle lacks
    /// a file without which the server cannot start.
    pub fn read(bytes: Vec<u8>) -> Result<Self, BundleError> {
        if bytes.len() as u64 > MAX_BUNDLE_BYTES {
            return Err(BundleError::TooLarge);
        }
        let digest = digest::sha256(&bytes);
        let mut archive = Archive::open(bytes)?;
        let manifest = BundleManifest::parse(&archive.read_manifest()?)?;
        for path in manifest.needed_files() {
            if !archive.has_file(&path) {
                return Err(BundleError::Manifest {
                    field: "server".to_owned(),
                    message: format!("the bundle has no file '{}'", path.escape_debug()),
                });
            }
        }
        Ok(Self {
            manifest,
            digest,
            archive,
        })
    }
}

/// Reads a file that may be a bundle. Its content is not checked.
///
/// # Errors
/// Returns an error if the file cannot be read, or is larger than a bundle may be.
pub fn read_file(path: &Path) -> Result<Vec<u8>, BundleError> {
    let failed = |source| BundleError::Read {
        file: path.display().to_string(),
        source,
    };
    // Opening a pipe could block forever.
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::Error::other("it is a folder")));
    }
    if !metadata.is_file() {
        return Err(failed(io::Error::other("it is not a file")));
    }
    if metadata.len() > MAX_BUNDLE_BYTES {
        return Err(BundleError::TooLarge);
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .map_err(failed)?
        .take(MAX_BUNDLE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
