//! Copies of clients' files as they were before a change, and the details of the change. Both may
//! contain secrets, so they are encrypted. The key is in the secret store or, if the secret store is
//! a keyring that does not run, in a file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use chacha20poly1305::{
    Key, KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use drawbridge_client_config::{BackupError, Backups};
use drawbridge_model::random;
use drawbridge_store::secrets::{BACKUP_KEY, Secret, SecretError, Secrets};

const NONCE_BYTES: usize = 24;

/// The reason why the key of the copies cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error(
        "cannot use the key for copies of files: {error}. Nothing was changed. {}",
        .error.remedy()
    )]
    Keyring { error: SecretError },
    #[error(
        "cannot use the key for copies of files: the secret '{BACKUP_KEY}' is not a key, although Drawbridge stored one. Nothing was changed. Restore this secret in the secret store, or delete it there. If you delete it, earlier changes can no longer be undone"
    )]
    Unreadable,
    #[error("cannot use the key for copies of files: {0}. Nothing was changed")]
    File(io::Error),
}

/// The folder with the copies, and the ciphers that encrypt and decrypt them.
pub(super) struct Vault {
    folder: PathBuf,
    /// The first cipher encrypts. All ciphers are tried to decrypt a copy, because the copy may
    /// have been made with the key file before the machine had a keyring.
    ciphers: Vec<XChaCha20Poly1305>,
}

impl Vault {
    /// Opens the folder, and creates the key if it does not exist yet. If the secret store is a
    /// keyring that does not run, the key is in a file in the folder.
    ///
    /// # Errors
    /// Returns an error if the key cannot be read or written, for example because the keyring is
    /// locked, or if the stored secret is not a key.
    pub(super) async fn open(folder: PathBuf, secrets: &Secrets) -> Result<Self, KeyError> {
        let key_file = folder.join("key");
        let keys = match read_key(secrets).await {
            Ok(key) if key_file.exists() => {
                vec![key, read_key_file(&key_file).map_err(KeyError::File)?]
            }
            Ok(key) => vec![key],
            Err(KeyError::Keyring {
                error: SecretError::Unavailable(_),
            }) => vec![read_key_file(&key_file).map_err(KeyError::File)?],
            Err(error) => return Err(error),
        };
        let ciphers = keys
            .into_iter()
            .map(|key| XChaCha20Poly1305::new(&Key::from(key)));
        Ok(Self {
            folder,
            ciphers: ciphers.collect(),
        })
    }

    /// Encrypts a copy, and writes it to a new file with this name.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), BackupError> {
        let nonce: [u8; NONCE_BYTES] = random::bytes();
        let payload = Payload {
            msg: bytes,
            aad: name.as_bytes(),
        };
        let sealed = self.ciphers[0]
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| BackupError("the copy of a file cannot be encrypted".to_owned()))?;
        let mut contents = nonce.to_vec();
        contents.extend(sealed);
        let path = self.folder.join(name);
        write_private(&path, &contents).map_err(|error| {
            BackupError(format!(
                "cannot write the copy {}: {error}. Nothing was changed",
                path.display()
            ))
        })
    }

    /// Removes a copy that is no longer needed.
    pub(super) fn remove(&self, name: &str) {
        let path = self.folder.join(name);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!("cannot remove the copy {}: {error}", path.display());
        }
    }
}

impl Backups for Vault {
    fn save(&self, file_name: &str, bytes: &[u8]) -> Result<String, BackupError> {
        let name = format!("{}-{file_name}", random::ordered_id());
        self.write(&name, bytes)?;
        Ok(name)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, BackupError> {
        let path = self.folder.join(name);
        let contents = fs::read(&path).map_err(|error| {
            BackupError(format!("cannot read the copy {}: {error}", path.display()))
        })?;
        let opened = contents
            .split_first_chunk::<NONCE_BYTES>()
            .and_then(|(nonce, sealed)| {
                self.ciphers.iter().find_map(|cipher| {
                    let payload = Payload {
                        msg: sealed,
                        aad: name.as_bytes(),
                    };
                    cipher.decrypt(&XNonce::from(*nonce), payload).ok()
                })
            });
        opened.ok_or_else(|| {
            BackupError(format!(
                "the copy {} cannot be decrypted: its key is no longer in the secret store, or the copy was changed",
                path.display()
            ))
        })
    }
}

/// Returns the key in the secret store, and creates it if there is none. A secret that is not a key
/// is not replaced, because all earlier copies would become unreadable.
async fn read_key(secrets: &Secrets) -> Result<[u8; 32], KeyError> {
    let keyring = |error| KeyError::Keyring { error };
    if let Some(stored) = secrets.get(BACKUP_KEY).await.map_err(keyring)? {
        return decode_key(stored.expose()).ok_or(KeyError::Unreadable);
    }
    let key: [u8; 32] = random::bytes();
    let value = Secret::new(hex::encode(key));
    secrets.set(BACKUP_KEY, value).await.map_err(keyring)?;
    Ok(key)
}

/// Returns the key in a file, and creates the file if it is missing.
fn read_key_file(path: &Path) -> io::Result<[u8; 32]> {
    match fs::read_to_string(path) {
        Ok(text) => decode_key(text.trim()).ok_or_else(|| {
            io::Error::other(format!(
                "{} does not contain a key; delete it",
                path.display()
            ))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key: [u8; 32] = random::bytes();
            write_private(path, hex::encode(key).as_bytes())?;
            Ok(key)
        }
        Err(error) => Err(error),
    }
}

fn decode_key(text: &str) -> Option<[u8; 32]> {
    hex::decode(text).ok()?.try_into().ok()
}

/// Writes a new file that only this user can read, and syncs it to the disk.
fn write_private(path: &Path, contents: &[u8]) -> io::Result<()> {
    use io::Write as _;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(contents)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use drawbridge_store::secrets::InMemory;

    use super::*;

    #[tokio::test]
    async fn a_stored_secret_that_is_not_a_key_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let secrets = Secrets::new(InMemory::default());
        secrets
            .set(BACKUP_KEY, Secret::new("0123".into()))
            .await
            .expect("stored");
        let opened = Vault::open(folder.path().to_owned(), &secrets).await;
        assert!(matches!(opened, Err(KeyError::Unreadable)));
        let stored = secrets.get(BACKUP_KEY).await.expect("read");
        assert_eq!(stored.expect("a secret").expose(), "0123");
    }

    #[tokio::test]
    async fn a_copy_can_be_read_after_the_vault_is_opened_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let secrets = Secrets::new(InMemory::default());
        let open = async || {
            Vault::open(folder.path().to_owned(), &secrets)
                .await
                .expect("a vault")
        };
        let name = open().await.save("a.json", b"{}").expect("saved");
        assert_eq!(open().await.read(&name).expect("read"), b"{}");
    }
}
