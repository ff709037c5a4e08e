//! Moves the secrets from the keyring to the encrypted file or from the file to the keyring, or
//! gives the file another key. Nothing is removed until every value has been checked and written.

use std::{path::PathBuf, sync::Arc};

use drawbridge_model::secret::SecretStoreKind;

use super::{
    EncryptedFile, KeySource, Keyring, KeyringFailure, NewKey, Secret, SecretError, SecretStore,
    Secrets, StoreThreads,
    long_values::{parse_first_part, part_name},
};

/// The name of a secret that may exist in the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredName {
    pub name: String,
    /// Whether [`Secrets::set_long`] stores the secret.
    pub is_long: bool,
}

/// The result of moving the secrets.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MovedSecrets {
    pub moved: Vec<String>,
    /// The secrets that may have been left behind, because no keyring is running.
    pub unread: Vec<String>,
    /// The secrets that were moved but could not be removed from their former store.
    pub not_removed: Vec<String>,
}

/// Why the secrets were not moved, or why the encrypted file was not unlocked. The former store
/// stays in use.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("the store of these secrets cannot be changed")]
    Fixed,
    #[error("the secrets are in the keyring already")]
    AlreadyInKeyring,
    #[error("no key is given: name a key file or a passphrase")]
    NoKey,
    #[error("cannot read the secret '{name}': {source}")]
    Unreadable { name: String, source: SecretError },
    #[error("these secrets cannot be moved: {}", format_failures(.0))]
    NotWritten(Vec<(String, SecretError)>),
    #[error(transparent)]
    Store(#[from] SecretError),
}

fn format_failures(failures: &[(String, SecretError)]) -> String {
    let texts: Vec<_> = failures
        .iter()
        .map(|(name, error)| format!("'{name}' ({error})"))
        .collect();
    texts.join(", ")
}

impl MoveError {
    /// Returns advice for the user.
    pub fn remedy(&self) -> String {
        match self {
            Self::Fixed | Self::AlreadyInKeyring | Self::NoKey => String::new(),
            Self::Unreadable { source, .. } | Self::Store(source) => source.remedy(),
            Self::NotWritten(failures) => failures
                .first()
                .map(|(_, error)| error.remedy())
                .unwrap_or_default(),
        }
    }
}

impl Secrets {
    /// Moves the secrets to the encrypted file, or gives the file another key. If `key` is `None`,
    /// uses the key that the environment names. `names` are the secrets that may be in the keyring,
    /// which cannot list its secrets.
    ///
    /// # Errors
    /// Returns an error if there is no key, if a secret cannot be read, or if the file cannot be
    /// written. If no keyring is running, this is no error, and no secret is moved.
    pub async fn use_file(
        &self,
        key: Option<NewKey>,
        names: &[StoredName],
    ) -> Result<MovedSecrets, MoveError> {
        let path = self.file_path()?;
        let key = key
            .or_else(|| KeySource::from_environment().map(NewKey::Source))
            .ok_or(MoveError::NoKey)?;
        let _moving = self.moving.write().await;
        let replaces = self.kind() == SecretStoreKind::File;
        let mut outcome = MovedSecrets::default();
        let values = if replaces {
            self.read_all().await?
        } else if self.check().await == Err(SecretError::Unavailable(KeyringFailure::Absent)) {
            outcome.unread = names.iter().map(|name| name.name.clone()).collect();
            Vec::new()
        } else {
            self.read_named(names).await?
        };
        outcome.moved = values.iter().map(|(name, _)| name.clone()).collect();
        // Deriving a key from a passphrase takes a while.
        let create = move || EncryptedFile::create(path, &key, values, replaces);
        let file = tokio::task::spawn_blocking(create)
            .await
            .map_err(|_| SecretError::ThreadEnded)??;
        let old = self.store.swap(Arc::new(StoreThreads::new(file)));
        if !replaces {
            for name in outcome.moved.clone() {
                let secret_name = name.clone();
                let result = old.run_with_deadline(move |store| store.remove(&secret_name));
                if result.await.is_err() {
                    outcome.not_removed.push(name);
                }
            }
        }
        Ok(outcome)
    }

    /// Moves the secrets from the encrypted file to the keyring, and deletes the file.
    ///
    /// # Errors
    /// Returns an error if a secret cannot be read or written, or if the file cannot be deleted.
    /// The former secrets of the keyring are then restored, unless the keyring fails again.
    pub async fn use_keyring(&self) -> Result<MovedSecrets, MoveError> {
        let path = self.file_path()?;
        if self.kind() == SecretStoreKind::Keyring {
            return Err(MoveError::AlreadyInKeyring);
        }
        let _moving = self.moving.write().await;
        let values = self.read_all().await?;
        let keyring = StoreThreads::new(Keyring);
        keyring.check().await?;
        let moved: Vec<_> = values.iter().map(|(name, _)| name.clone()).collect();
        let mut replaced = Vec::new();
        for name in &moved {
            let secret_name = name.clone();
            let before = keyring.run_with_deadline(move |store| store.get(&secret_name));
            replaced.push((name.clone(), before.await?));
        }
        let mut failures = Vec::new();
        for (name, value) in values {
            let secret_name = name.clone();
            let result =
                keyring.run_with_deadline(move |store| store_checked(store, &secret_name, &value));
            if let Err(error) = result.await {
                failures.push((name, error));
            }
        }
        let deleted = if failures.is_empty() {
            EncryptedFile::delete(&path).map_err(MoveError::Store)
        } else {
            Err(MoveError::NotWritten(failures))
        };
        if let Err(error) = deleted {
            for (name, before) in replaced {
                let restored = keyring.run_with_deadline(move |store| match before {
                    Some(before) => store.set(&name, &before),
                    None => store.remove(&name),
                });
                let _ = restored.await;
            }
            return Err(error);
        }
        self.store.store(Arc::new(keyring));
        Ok(MovedSecrets {
            moved,
            ..MovedSecrets::default()
        })
    }

    /// Unlocks the encrypted file with its passphrase.
    ///
    /// # Errors
    /// Returns an error if the passphrase does not fit, or if the file cannot be read.
    pub async fn unlock(&self, passphrase: Secret) -> Result<(), MoveError> {
        let path = self.file_path()?;
        if self.kind() == SecretStoreKind::Keyring {
            return Err(MoveError::AlreadyInKeyring);
        }
        let unlock = move || EncryptedFile::unlock(path, &passphrase);
        let file = tokio::task::spawn_blocking(unlock)
            .await
            .map_err(|_| SecretError::ThreadEnded)??;
        self.store.store(Arc::new(StoreThreads::new(file)));
        Ok(())
    }

    fn file_path(&self) -> Result<PathBuf, MoveError> {
        self.file.as_deref().map(Into::into).ok_or(MoveError::Fixed)
    }

    /// Returns all secrets of a store that lists them.
    async fn read_all(&self) -> Result<Vec<(String, Secret)>, MoveError> {
        let names = self.read(|store| store.list_names()).await?;
        let names = names.unwrap_or_default().into_iter();
        let names: Vec<_> = names
            .map(|name| StoredName {
                name,
                is_long: false,
            })
            .collect();
        self.read_named(&names).await
    }

    /// Returns the secrets with these names that exist, with all parts of the long secrets.
    async fn read_named(&self, names: &[StoredName]) -> Result<Vec<(String, Secret)>, MoveError> {
        let mut values = Vec::new();
        for StoredName { name, is_long } in names {
            let Some(value) = self.read_for_move(name).await? else {
                continue;
            };
            let parts = if *is_long {
                parse_first_part(&value)
            } else {
                None
            };
            let count = parts.map_or(1, |(count, _)| count);
            values.push((name.clone(), value));
            for index in 1..count {
                let part = part_name(name, index);
                if let Some(value) = self.read_for_move(&part).await? {
                    values.push((part, value));
                }
            }
        }
        Ok(values)
    }

    async fn read_for_move(&self, name: &str) -> Result<Option<Secret>, MoveError> {
        self.get(name)
            .await
            .map_err(|source| MoveError::Unreadable {
                name: name.to_owned(),
                source,
            })
    }
}

/// Stores a value, and checks that it can be read back.
fn store_checked(store: &dyn SecretStore, name: &str, value: &Secret) -> Result<(), SecretError> {
    store.set(name, value)?;
    let stored = store.get(name)?;
    if stored.is_some_and(|stored| stored.expose() == value.expose()) {
        return Ok(());
    }
    Err(SecretError::Unavailable(KeyringFailure::NotStored))
}
