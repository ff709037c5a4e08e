//! The secrets in an encrypted file of the data folder, for machines without a keyring. The file
//! exists only if a person chose it.
//!
//! The file is encrypted with age. It is replaced as a whole under a lock, so that two processes do
//! not lose each other's changes.

mod contents;
mod key;

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use age::x25519::Identity;
use drawbridge_model::{cause::Cause, secret::SecretStoreKind};

use super::{Secret, SecretError, SecretStore};
use contents::{SealedFile, Values};
use key::UnlockedKey;
pub use key::{KeySource, NewKey};

/// The name of the file in the data folder.
const FILE_NAME: &str = "secrets.json";

/// Why the encrypted file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("Other users can read or change {}", path.display())]
    Exposed { path: PathBuf },
    #[error("The encrypted file of the secrets, {}, is damaged", path.display())]
    Damaged { path: PathBuf },
    #[error("The encrypted file of the secrets, {}, was written by a later version of Drawbridge", path.display())]
    Newer { path: PathBuf },
    #[error("The key does not fit the encrypted file of the secrets, {}", path.display())]
    WrongKey { path: PathBuf },
    #[error("There is an encrypted file of secrets already: {}", path.display())]
    Exists { path: PathBuf },
    #[error("{} contains no key", path.display())]
    NoKey { path: PathBuf },
    #[error("{} contains no passphrase", path.display())]
    NoPassphrase { path: PathBuf },
    #[error("The passphrase is empty")]
    EmptyPassphrase,
    #[error("{} is in the data folder, beside the secrets that it protects", path.display())]
    KeyInDataFolder { path: PathBuf },
    #[error("Drawbridge cannot read or write {}: {source}", path.display())]
    Io { path: PathBuf, source: Cause },
}

impl FileError {
    /// Returns advice for the user.
    pub(super) fn remedy(&self) -> String {
        match self {
            Self::Exposed { path } => format!(
                "Make the file private: `chmod 600 {}`. If others may have read it, replace the secrets.",
                path.display()
            ),
            Self::Damaged { path } => format!(
                "Restore the file from a copy. If there is no copy, move {} away, restart Drawbridge, run \
                 `drawbridge secrets use file` and set the secrets again.",
                path.display()
            ),
            Self::Newer { .. } => "Install that version or a later one.".into(),
            Self::WrongKey { path } => format!(
                "Give the key or the passphrase with which the file was made. If it is lost, move {} away, \
                 restart Drawbridge, run `drawbridge secrets use file` and set the secrets again.",
                path.display()
            ),
            Self::Exists { .. } => "Restart Drawbridge to use the file, or move the file away.".into(),
            Self::NoKey { .. } => {
                "Name a file with an age identity (AGE-SECRET-KEY-1…), or a file that does not exist yet.".into()
            }
            Self::NoPassphrase { .. } => "Write the passphrase in the file.".into(),
            Self::EmptyPassphrase => "Choose a passphrase.".into(),
            Self::KeyInDataFolder { .. } => {
                "Choose a place outside the data folder, so that a copy of the folder does not contain the key."
                    .into()
            }
            Self::Io { .. } => "Check that the file exists and that Drawbridge may use it.".into(),
        }
    }

    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            path: path.to_owned(),
            source: Cause::new(source),
        }
    }
}

/// The encrypted file of a data folder.
pub struct EncryptedFile {
    path: PathBuf,
    /// The source of the key, if the environment names it. Otherwise, the encrypted file may name
    /// the source.
    source: Option<KeySource>,
    /// The key, once it is known.
    key: Mutex<Option<Identity>>,
}

impl EncryptedFile {
    /// Returns the path of the file in a data folder.
    pub fn path_in(data_dir: &Path) -> PathBuf {
        data_dir.join(FILE_NAME)
    }

    /// Returns the store of an existing file. The file is read when a secret is needed.
    pub fn new(path: PathBuf, source: Option<KeySource>) -> Self {
        Self {
            path,
            source,
            key: Mutex::default(),
        }
    }

    /// Returns the store of an existing file, whose passphrase a person gave.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if the passphrase does not fit it.
    pub fn unlock(path: PathBuf, passphrase: &Secret) -> Result<Self, SecretError> {
        let sealed = SealedFile::read(&path)?;
        let key = sealed.unlock_with_passphrase(passphrase, &path)?;
        sealed.open(&key, &path)?;
        Ok(Self {
            path,
            source: None,
            key: Mutex::new(Some(key)),
        })
    }

    /// Checks that these values can be decrypted with a new key, and writes them to the file.
    /// `replaces` says whether an existing file may be replaced.
    ///
    /// # Errors
    /// Returns an error if the key cannot be used or the file cannot be written. An existing file
    /// then stays as it is.
    pub(super) fn create(
        path: PathBuf,
        new_key: &NewKey,
        values: Vec<(String, Secret)>,
        replaces: bool,
    ) -> Result<Self, SecretError> {
        let key = new_key.prepare(path.parent().unwrap_or(Path::new(".")))?;
        let values = Values::from_pairs(values);
        let file = Self {
            path,
            source: None,
            key: Mutex::default(),
        };
        let _lock = file.lock()?;
        if !replaces && file.path.exists() {
            return Err(FileError::Exists { path: file.path }.into());
        }
        let UnlockedKey {
            identity,
            sealed_identity,
            source,
        } = key;
        let sealed = SealedFile::seal(&values, &identity, sealed_identity, source);
        // Values that cannot be decrypted would be lost.
        if sealed.open(&identity, &file.path)? != values {
            return Err(FileError::Damaged { path: file.path }.into());
        }
        file.replace(&sealed)?;
        *file.key() = Some(identity);
        Ok(file)
    }

    /// Deletes the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be deleted.
    pub(super) fn delete(path: &Path) -> Result<(), SecretError> {
        let file = Self::new(path.to_owned(), None);
        let _lock = file.lock()?;
        fs::remove_file(path).map_err(FileError::io(path))?;
        // At worst, the file exists again after a power failure.
        if let Err(error) = sync_folder(path) {
            tracing::warn!(
                "cannot sync the deletion of {} to the disk: {error}",
                path.display()
            );
        }
        Ok(())
    }

    fn read(&self) -> Result<(SealedFile, Values), SecretError> {
        let sealed = SealedFile::read(&self.path)?;
        let mut cached_key = self.key();
        if let Some(key) = &*cached_key {
            match sealed.open(key, &self.path) {
                // Another process may have given the file another key.
                Err(SecretError::File(FileError::WrongKey { .. })) => {}
                opened => return Ok((sealed, opened?)),
            }
        }
        let source = self.source.as_ref().or(sealed.key_source());
        let key = match source {
            Some(source) => source.unlock(&sealed, &self.path)?,
            None => return Err(SecretError::FileLocked { reason: None }),
        };
        let values = sealed.open(&key, &self.path)?;
        *cached_key = Some(key);
        drop(cached_key);
        Ok((sealed, values))
    }

    /// Changes the values. Waits while another process changes them.
    fn change(&self, change: impl FnOnce(&mut Values)) -> Result<(), SecretError> {
        let _lock = self.lock()?;
        let (mut sealed, mut values) = self.read()?;
        change(&mut values);
        let key = self.key();
        sealed.set_values(&values, key.as_ref().expect("reading has found the key"));
        drop(key);
        Ok(self.replace(&sealed)?)
    }

    /// Locks the file until the returned value is dropped.
    fn lock(&self) -> Result<File, FileError> {
        let path = self.path.with_extension("lock");
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let lock = with_private_mode(&mut options)
            .open(&path)
            .map_err(FileError::io(&path))?;
        lock.lock().map_err(FileError::io(&path))?;
        Ok(lock)
    }

    /// Replaces the file. The lock must be held.
    fn replace(&self, sealed: &SealedFile) -> Result<(), FileError> {
        let new_file = self.path.with_extension("json.new");
        let written = remove_if_exists(&new_file)
            .and_then(|()| write_private(&new_file, sealed.to_json().as_bytes()))
            .and_then(|()| fs::rename(&new_file, &self.path))
            .and_then(|()| sync_folder(&self.path));
        written.map_err(FileError::io(&self.path))
    }

    fn key(&self) -> std::sync::MutexGuard<'_, Option<Identity>> {
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SecretStore for EncryptedFile {
    fn get(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        let (_, values) = self.read()?;
        Ok(values.get(name))
    }

    fn set(&self, name: &str, value: &Secret) -> Result<(), SecretError> {
        self.change(|values| values.set(name, value))
    }

    fn remove(&self, name: &str) -> Result<(), SecretError> {
        self.change(|values| values.remove(name))
    }

    fn check(&self) -> Result<(), SecretError> {
        self.read().map(drop)
    }

    fn kind(&self) -> SecretStoreKind {
        SecretStoreKind::File
    }

    fn list_names(&self) -> Result<Option<Vec<String>>, SecretError> {
        let (_, values) = self.read()?;
        Ok(Some(values.names()))
    }
}

/// Checks that no other user can read or change a file. If `root_group_may_read` is set, the group
/// of a file that belongs to root may read the file: containers and services get their secrets this
/// way.
fn check_private(path: &Path, opened: &File, root_group_may_read: bool) -> Result<(), FileError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let metadata = opened.metadata().map_err(FileError::io(path))?;
        let allowed = if root_group_may_read && metadata.uid() == 0 {
            0o740
        } else {
            0o700
        };
        if metadata.mode() & 0o777 & !allowed != 0 {
            return Err(FileError::Exposed {
                path: path.to_owned(),
            });
        }
    }
    let _ = (path, opened, root_group_may_read);
    Ok(())
}

/// Writes a new file that only its owner can read, and syncs it to the disk.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = with_private_mode(&mut options).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn with_private_mode(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a rename or a removal in the folder of the file durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    let _ = path;
    Ok(())
}

#[cfg(test)]
mod tests;
