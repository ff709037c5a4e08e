//! The keyring of the operating system: Secret Service, Keychain, Credential Manager.

use keyring::{Entry, Error};

use super::{Secret, SecretError, SecretStore};
use crate::model::secret::KeyringStatus;

const SERVICE: &str = "drawbridge";
const PROBE: &str = "drawbridge.probe";

/// The user's keyring.
pub struct Keyring;

impl SecretStore for Keyring {
    fn get(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        match entry(name)?.get_password() {
            Ok(value) => Ok(Some(Secret::new(value))),
            // A locked Secret Service finds nothing instead of saying that it is locked: only a write tells.
            Err(Error::NoEntry) => match self.status() {
                KeyringStatus::Ready => Ok(None),
                KeyringStatus::Locked | KeyringStatus::Absent => Err(SecretError::Locked),
            },
            Err(error) => Err(failed(&error)),
        }
    }

    fn set(&self, name: &str, value: &Secret) -> Result<(), SecretError> {
        entry(name)?.set_password(value.expose()).map_err(|e| failed(&e))
    }

    fn remove(&self, name: &str) -> Result<(), SecretError> {
        match entry(name)?.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(failed(&error)),
        }
    }

    fn status(&self) -> KeyringStatus {
        let probe = Secret::new("probe".into());
        match self.set(PROBE, &probe).and_then(|()| self.remove(PROBE)) {
            Ok(()) => KeyringStatus::Ready,
            Err(SecretError::Absent(_)) => KeyringStatus::Absent,
            Err(SecretError::Locked | SecretError::Missing(_)) => KeyringStatus::Locked,
        }
    }
}

fn entry(name: &str) -> Result<Entry, SecretError> {
    if let Err(error) = Entry::store_status() {
        return Err(SecretError::Absent(error.to_string()));
    }
    Entry::new(SERVICE, name).map_err(|e| failed(&e))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the enum grows; whatever else it says, the keyring cannot be used")]
fn failed(error: &Error) -> SecretError {
    match error {
        Error::NoStorageAccess(_) => SecretError::Locked,
        other => SecretError::Absent(other.to_string()),
    }
}
