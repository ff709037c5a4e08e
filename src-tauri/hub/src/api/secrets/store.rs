//! The secret store, which is the keyring or an encrypted file: shows the store, moves the secrets
//! from one kind of store to the other, changes the key of the file, unlocks the file, and removes
//! all secrets for a reset.

use std::fs;

use drawbridge_model::{
    audit::AuditKind,
    event::Event,
    secret::{SecretStoreKind, SecretStoreStatus},
};
use drawbridge_store::{
    secrets::{
        self, BACKUP_KEY, KeySource, MoveError, MovedSecrets, NewKey, Secret, SecretError,
        StoredName,
    },
    settings::SettingsChange,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{list_uses, remove_secret};
use crate::{
    api::{ApiError, ErrorCode, Verb},
    hub::Hub,
    sampling,
};

/// The secret store, and whether secrets can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SecretStoreView {
    pub kind: SecretStoreKind,
    pub status: SecretStoreStatus,
    /// The path of the encrypted file, if it is in use.
    pub file: Option<String>,
    /// Why no secret can be read; empty if secrets can be read.
    pub problem: String,
    /// How to solve the problem; empty if there is none.
    pub remedy: String,
    /// Whether the file is locked until a person types its passphrase.
    pub needs_passphrase: bool,
}

/// `secrets.show_store`: where secrets are stored, and whether they can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowSecretStore {}

/// `secrets.use_store`: moves the secrets to the keyring, or to an encrypted file with this key. If
/// the secrets are in the file already, gives the file another key. The paths are paths on the
/// hub's computer. If no key for the file is given, the environment of the hub has to name one.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct UseSecretStore {
    pub kind: SecretStoreKind,
    /// An absolute path of an age identity, which is created if it does not exist.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub key_file: Option<String>,
    /// An absolute path of a file with a passphrase.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub passphrase_file: Option<String>,
    /// A passphrase that a person has to type again after each start of the hub.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub passphrase: Option<String>,
}

/// The result of changing the store of the secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SecretStoreChange {
    pub store: SecretStoreView,
    /// The names of the secrets that were moved, or that are in the file that got another key.
    pub moved: Vec<String>,
    /// The names under which the keyring may have secrets that were not moved, because no keyring
    /// runs.
    pub unread: Vec<String>,
    /// The names of the secrets that were moved but could not be removed from the keyring.
    pub not_removed: Vec<String>,
    /// The spec files that cannot be read. The names of their secrets are not known, so these
    /// secrets were not moved.
    pub broken_files: Vec<String>,
}

/// `secrets.unlock`: unlocks the encrypted file with its passphrase, until the hub ends.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct UnlockSecrets {
    pub passphrase: String,
}

impl Verb for ShowSecretStore {
    type Answer = SecretStoreView;

    async fn run(self, hub: &Hub) -> Result<SecretStoreView, ApiError> {
        Ok(show_store(hub).await)
    }
}

impl Verb for UseSecretStore {
    type Answer = SecretStoreChange;

    async fn run(self, hub: &Hub) -> Result<SecretStoreChange, ApiError> {
        let is_from_keyring = hub.secrets.kind() == SecretStoreKind::Keyring;
        let key = self.new_key(hub)?;
        let moved = match self.kind {
            SecretStoreKind::Keyring if key.is_some() => {
                return Err(ApiError::invalid(
                    "the keyring takes no key and no passphrase",
                ));
            }
            SecretStoreKind::Keyring => hub.secrets.use_keyring().await?,
            SecretStoreKind::File => hub.secrets.use_file(key, &stored_names(hub)).await?,
        };
        let MovedSecrets {
            moved,
            unread,
            not_removed,
        } = moved;
        let note = json!({ "store": self.kind, "moved": moved, "not_removed": not_removed });
        hub.store.append_audit(AuditKind::SecretStoreChanged, &note);
        hub.events.publish(Event::SettingsChanged);
        let specs = hub.registry.specs();
        let broken = specs.broken.iter().filter(|_| is_from_keyring);
        Ok(SecretStoreChange {
            store: show_store(hub).await,
            moved,
            unread,
            not_removed,
            broken_files: broken.map(|spec| spec.file.display().to_string()).collect(),
        })
    }
}

impl UseSecretStore {
    /// Returns the key that the request names, if any.
    ///
    /// # Errors
    /// Returns an error if the request names several keys.
    fn new_key(&self, hub: &Hub) -> Result<Option<NewKey>, ApiError> {
        match (&self.key_file, &self.passphrase_file, &self.passphrase) {
            (None, None, None) => Ok(None),
            (Some(path), None, None) => Ok(Some(NewKey::Source(KeySource::KeyFile(path.clone())))),
            (None, Some(path), None) => Ok(Some(NewKey::Source(KeySource::PassphraseFile(
                path.clone(),
            )))),
            (None, None, Some(passphrase)) => {
                let passphrase = Secret::new(passphrase.clone());
                hub.logs.add_secret(&passphrase);
                Ok(Some(NewKey::Passphrase(passphrase)))
            }
            _ => Err(ApiError::invalid(
                "name either a key file, a passphrase file or a passphrase",
            )),
        }
    }
}

impl Verb for UnlockSecrets {
    type Answer = SecretStoreView;

    async fn run(self, hub: &Hub) -> Result<SecretStoreView, ApiError> {
        let passphrase = Secret::new(self.passphrase);
        hub.logs.add_secret(&passphrase);
        hub.secrets.unlock(passphrase).await?;
        hub.events.publish(Event::SettingsChanged);
        Ok(show_store(hub).await)
    }
}

/// Returns the place and the state of the secret store.
pub(in crate::api) async fn show_store(hub: &Hub) -> SecretStoreView {
    let error = hub.secrets.check().await.err();
    SecretStoreView {
        kind: hub.secrets.kind(),
        status: error
            .as_ref()
            .map_or(SecretStoreStatus::Ready, SecretError::status),
        file: hub.secrets.file().map(|file| file.display().to_string()),
        needs_passphrase: error == Some(SecretError::FileLocked { reason: None }),
        remedy: error.as_ref().map(SecretError::remedy).unwrap_or_default(),
        problem: error.map(|error| error.to_string()).unwrap_or_default(),
    }
}

/// Returns the names of all secrets that the secret store may have for this hub: the secrets to
/// which something refers, and Drawbridge's own.
fn stored_names(hub: &Hub) -> Vec<StoredName> {
    // Only sign-ins store long secrets.
    let short = |name: String| StoredName {
        name,
        is_long: false,
    };
    let referenced = list_uses(hub)
        .into_keys()
        .filter(|name| !secrets::is_reserved(name));
    let mut names: Vec<_> = referenced.map(short).collect();
    if hub.settings.get().sampling_has_key {
        names.push(short(sampling::KEY_NAME.to_owned()));
    }
    if has_client_backups(hub) {
        names.push(short(BACKUP_KEY.to_owned()));
    }
    names.extend(hub.authorizer.stored_names());
    names
}

/// Removes all secrets that this hub may have stored, with the sign-ins to servers. The key of the
/// copies of clients' files stays, because the copies stay.
///
/// # Errors
/// Returns an error if the secret store cannot be used. Some secrets may already be removed.
pub(in crate::api) async fn remove_all_secrets(hub: &Hub) -> Result<(), ApiError> {
    for stored in stored_names(hub) {
        if stored.name == BACKUP_KEY {
            continue;
        }
        if stored.is_long {
            hub.secrets.remove_long(&stored.name).await?;
            hub.store
                .append_audit(AuditKind::SecretRemoved, &json!({ "secret": stored.name }));
        } else {
            remove_secret(hub, &stored.name).await?;
        }
    }
    let change = SettingsChange {
        sampling_has_key: Some(false),
        ..SettingsChange::default()
    };
    hub.settings.change(change).await?;
    hub.events.publish(Event::SettingsChanged);
    Ok(())
}

/// Returns whether there are encrypted copies of clients' files.
fn has_client_backups(hub: &Hub) -> bool {
    let folder = hub
        .data_dir()
        .join(drawbridge_store::data_dir::CLIENT_BACKUPS);
    fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some())
}

impl From<MoveError> for ApiError {
    fn from(error: MoveError) -> Self {
        let code = match error {
            MoveError::Fixed | MoveError::AlreadyInKeyring => ErrorCode::Conflict,
            MoveError::NoKey => ErrorCode::Invalid,
            MoveError::Unreadable { .. } | MoveError::NotWritten(_) | MoveError::Store(_) => {
                ErrorCode::Unavailable
            }
        };
        let remedy = error.remedy();
        let text = format!("{error}. Nothing was changed. {remedy}");
        Self::new(code, text.trim_end().to_owned())
    }
}
