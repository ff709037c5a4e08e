//! The key of the encrypted file: an age identity, which is in a file or which a passphrase
//! protects.

use std::{
    env,
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
};

use age::{secrecy::ExposeSecret, x25519::Identity};
use drawbridge_model::cause::Cause;
use serde::{Deserialize, Serialize};

use super::{
    FileError, check_private,
    contents::{SealedFile, seal_identity},
    sync_folder, write_private,
};
use crate::secrets::{Secret, SecretError};

/// The environment variable that names a file with an age identity.
const KEY_FILE_VARIABLE: &str = "DRAWBRIDGE_SECRETS_KEY_FILE";
/// The environment variable that names a file with a passphrase.
const PASSPHRASE_FILE_VARIABLE: &str = "DRAWBRIDGE_SECRETS_PASSPHRASE_FILE";

/// The file from which Drawbridge reads the key or the passphrase at each start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    KeyFile(String),
    PassphraseFile(String),
}

impl KeySource {
    /// Returns the source that the environment names. An empty variable counts as absent.
    pub fn from_environment() -> Option<Self> {
        let named = |variable| env::var(variable).ok().filter(|path| !path.is_empty());
        named(KEY_FILE_VARIABLE)
            .map(Self::KeyFile)
            .or_else(|| named(PASSPHRASE_FILE_VARIABLE).map(Self::PassphraseFile))
    }

    fn path(&self) -> &Path {
        match self {
            Self::KeyFile(path) | Self::PassphraseFile(path) => Path::new(path),
        }
    }

    /// Returns the key of the encrypted file at `path`.
    ///
    /// # Errors
    /// Returns `FileLocked` if the source cannot be read. Returns another error if other users can
    /// read the source, if the source contains no key or passphrase, if the encrypted file needs
    /// the other kind of source, or if the passphrase is wrong. A wrong key in a key file is
    /// detected only when the secrets are decrypted.
    pub(super) fn unlock(&self, sealed: &SealedFile, path: &Path) -> Result<Identity, SecretError> {
        let text = self.read().map_err(|error| {
            if matches!(error, FileError::Io { .. }) {
                SecretError::FileLocked {
                    reason: Some(Cause::new(error)),
                }
            } else {
                error.into()
            }
        })?;
        match self {
            Self::PassphraseFile(_) => sealed.unlock_with_passphrase(&text, path),
            Self::KeyFile(_) if sealed.has_passphrase() => Err(FileError::WrongKey {
                path: path.to_owned(),
            }
            .into()),
            Self::KeyFile(_) => Ok(self.parse_identity(&text)?),
        }
    }

    /// Returns the text of the file, without the line break at its end.
    fn read(&self) -> Result<Secret, FileError> {
        let path = self.path();
        let mut file = File::open(path).map_err(FileError::io(path))?;
        check_private(path, &file, true)?;
        let mut text = String::new();
        file.read_to_string(&mut text)
            .map_err(FileError::io(path))?;
        let text = Secret::new(text);
        let line = text.expose().trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            let path = path.to_owned();
            return Err(match self {
                Self::KeyFile(_) => FileError::NoKey { path },
                Self::PassphraseFile(_) => FileError::NoPassphrase { path },
            });
        }
        Ok(Secret::new(line.to_owned()))
    }

    fn parse_identity(&self, text: &Secret) -> Result<Identity, FileError> {
        let mut lines = text.expose().lines().map(str::trim);
        lines
            .find(|line| !line.is_empty() && !line.starts_with('#'))
            .and_then(|line| line.parse().ok())
            .ok_or_else(|| FileError::NoKey {
                path: self.path().to_owned(),
            })
    }
}

/// The key for a new encrypted file.
pub enum NewKey {
    Source(KeySource),
    /// A person typed the passphrase, and will type it again after each start.
    Passphrase(Secret),
}

/// A key that can be used, with the members of the encrypted file that lead to this key.
pub(super) struct UnlockedKey {
    pub(super) identity: Identity,
    /// The key, encrypted with the passphrase, or `None` if there is no passphrase.
    pub(super) sealed_identity: Option<String>,
    pub(super) source: Option<KeySource>,
}

impl NewKey {
    /// Returns the key. Creates the key file if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used or is in the data folder, or if the passphrase
    /// is empty.
    pub(super) fn prepare(&self, data_dir: &Path) -> Result<UnlockedKey, SecretError> {
        if let Self::Source(source) = self {
            check_place(source.path(), data_dir)?;
        }
        let (passphrase, source) = match self {
            Self::Source(source @ KeySource::KeyFile(path)) => {
                let identity = match source.read() {
                    Ok(text) => source.parse_identity(&text)?,
                    Err(_) if !Path::new(path).exists() => create_key_file(Path::new(path))?,
                    Err(error) => return Err(error.into()),
                };
                return Ok(UnlockedKey {
                    identity,
                    sealed_identity: None,
                    source: Some(source.clone()),
                });
            }
            Self::Source(source) => (&source.read()?, Some(source.clone())),
            Self::Passphrase(passphrase) => (passphrase, None),
        };
        if passphrase.expose().is_empty() {
            return Err(FileError::EmptyPassphrase.into());
        }
        let identity = Identity::generate();
        let sealed_identity = Some(seal_identity(&identity, passphrase));
        Ok(UnlockedKey {
            identity,
            sealed_identity,
            source,
        })
    }
}

/// Rejects a relative path, and a path in the data folder.
fn check_place(path: &Path, data_dir: &Path) -> Result<(), FileError> {
    if !path.is_absolute() {
        return Err(FileError::Io {
            path: path.to_owned(),
            source: Cause::new(std::io::Error::new(
                ErrorKind::InvalidInput,
                "the path is not absolute",
            )),
        });
    }
    let resolved = |path: &Path| path.canonicalize().ok();
    let folder = path.parent().and_then(resolved);
    let is_inside = resolved(data_dir)
        .is_some_and(|data_dir| folder.is_some_and(|folder| folder.starts_with(data_dir)));
    if is_inside {
        return Err(FileError::KeyInDataFolder {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Creates a key file as `age-keygen` does, for this user only.
fn create_key_file(path: &Path) -> Result<Identity, FileError> {
    let identity = Identity::generate();
    let text = zeroize::Zeroizing::new(format!(
        "# The key of Drawbridge's secrets. Anyone who has this key and {} can read the secrets.\n# public key: {}\n{}\n",
        super::FILE_NAME,
        identity.to_public(),
        identity.to_string().expose_secret()
    ));
    write_private(path, text.as_bytes())
        .and_then(|()| sync_folder(path))
        .map_err(FileError::io(path))?;
    Ok(identity)
}

/// Names the file for people, with its kind and its path.
impl std::fmt::Display for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::KeyFile(path) => write!(f, "the key file {path}"),
            Self::PassphraseFile(path) => write!(f, "the passphrase file {path}"),
        }
    }
}
