//! The keyring of the operating system: Secret Service, Keychain, Credential Manager.

use std::{thread::sleep, time::Duration};

use drawbridge_model::{cause::Cause, secret::SecretStoreStatus};
use keyring::{Entry, Error};

use super::{KeyringFailure, Secret, SecretError, SecretStore};

const SERVICE: &str = "drawbridge";

/// The pauses before the retries of a request that failed although the keyring is not locked.
/// Another program may have changed the item during the request, or the keyring may still be
/// starting.
const RETRY_PAUSES: [Duration; 5] = [
    Duration::from_millis(20),
    Duration::from_millis(60),
    Duration::from_millis(180),
    Duration::from_millis(500),
    Duration::from_millis(1000),
];

/// The user's keyring.
pub struct Keyring;

impl SecretStore for Keyring {
    fn get(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        Ok(with_entry(name, Entry::get_password)?.map(Secret::new))
    }

    fn set(&self, name: &str, value: &Secret) -> Result<(), SecretError> {
        let stored = with_entry(name, |entry| entry.set_password(value.expose()))?;
        stored.ok_or(SecretError::Unavailable(KeyringFailure::NotStored))
    }

    fn remove(&self, name: &str) -> Result<(), SecretError> {
        with_entry(name, Entry::delete_credential).map(|_| ())
    }

    fn check(&self) -> Result<(), SecretError> {
        match platform::status() {
            SecretStoreStatus::Ready => Ok(()),
            SecretStoreStatus::Locked => Err(SecretError::Locked),
            SecretStoreStatus::Absent | SecretStoreStatus::Unusable => {
                Err(SecretError::Unavailable(KeyringFailure::Absent))
            }
        }
    }
}

/// Runs a request about one item. Returns `None` if the item does not exist.
///
/// # Errors
/// Returns `Locked` only if the keyring reports that it is locked. Other failures are retried
/// first.
fn with_entry<T>(
    name: &str,
    operation: impl Fn(&Entry) -> Result<T, Error>,
) -> Result<Option<T>, SecretError> {
    if let Err(error) = Entry::store_status() {
        return Err(unavailable(error));
    }
    let mut pauses = RETRY_PAUSES.iter();
    loop {
        let error = match Entry::new(SERVICE, name).and_then(|entry| operation(&entry)) {
            Ok(answer) => return Ok(Some(answer)),
            // A locked Secret Service may report that an item is missing instead of an error.
            Err(Error::NoEntry) if !platform::may_hide_items() => return Ok(None),
            Err(error) => error,
        };
        if platform::is_locked_error(&error) {
            return Err(SecretError::Locked);
        }
        match pauses.next() {
            Some(pause) => sleep(*pause),
            None => return Err(unavailable(error)),
        }
    }
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> SecretError {
    SecretError::Unavailable(KeyringFailure::Failed {
        source: Cause::new(error),
    })
}

/// The Secret Service.
#[cfg(all(unix, not(target_os = "macos")))]
mod platform {
    use drawbridge_model::secret::SecretStoreStatus;
    use keyring::Error;
    use secret_service::{EncryptionType, blocking::SecretService};

    /// Returns the state of the collection for new items. The check writes nothing: if two
    /// programs wrote and removed an item of the same name at the same time, the requests of both
    /// could fail.
    pub(super) fn status() -> SecretStoreStatus {
        // The plain session is enough, because no secret passes over this connection.
        let is_locked = SecretService::connect(EncryptionType::Plain)
            .and_then(|service| service.get_default_collection()?.is_locked());
        match is_locked {
            Ok(true) => SecretStoreStatus::Locked,
            Ok(false) => SecretStoreStatus::Ready,
            Err(_) => SecretStoreStatus::Absent,
        }
    }

    /// Returns whether the keyring may report that an item is missing although it exists.
    pub(super) fn may_hide_items() -> bool {
        status() != SecretStoreStatus::Ready
    }

    /// Returns whether the keyring is locked, which the errors themselves do not reveal.
    pub(super) fn is_locked_error(_: &Error) -> bool {
        status() == SecretStoreStatus::Locked
    }
}

/// Keychain and Credential Manager, which report errors precisely.
#[cfg(not(all(unix, not(target_os = "macos"))))]
mod platform {
    use drawbridge_model::secret::SecretStoreStatus;
    use keyring::{Entry, Error};

    pub(super) fn status() -> SecretStoreStatus {
        let probed =
            Entry::new(super::SERVICE, "drawbridge.probe").and_then(|entry| entry.get_password());
        match probed {
            Ok(_) | Err(Error::NoEntry) => SecretStoreStatus::Ready,
            Err(error) if is_locked_error(&error) => SecretStoreStatus::Locked,
            Err(_) => SecretStoreStatus::Absent,
        }
    }

    pub(super) fn may_hide_items() -> bool {
        false
    }

    pub(super) fn is_locked_error(error: &Error) -> bool {
        matches!(error, Error::NoStorageAccess(_))
    }
}
