//! The contents of the encrypted file: JSON with the secrets as an armored age text, and with the
//! source of their key. If a passphrase protects the key, the encrypted key is in the file too, as
//! a second age text.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use age::{
    DecryptError, Decryptor, Encryptor,
    armor::{ArmoredReader, ArmoredWriter, Format},
    secrecy::{ExposeSecret, SecretString},
    x25519::Identity,
};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use super::{FileError, KeySource, check_private};
use crate::secrets::{Secret, SecretError};

const FORMAT: u32 = 1;

/// The base-2 logarithm of scrypt's cost: 128 MiB of memory, and about half a second.
const WORK_FACTOR: u8 = 17;
/// The highest work factor that is accepted, so that a damaged file cannot ask for more.
const MAX_WORK_FACTOR: u8 = 20;

#[derive(Deserialize)]
struct FormatVersion {
    format: u32,
}

/// The encrypted file.
#[derive(Serialize, Deserialize)]
pub(super) struct SealedFile {
    format: u32,
    /// The source of the key or the passphrase, or `None` if a person types the passphrase.
    key: Option<KeySource>,
    /// The key, encrypted with the passphrase, or `None` if there is no passphrase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
    /// The encrypted [`Values`].
    secrets: String,
}

impl SealedFile {
    /// Reads the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, if others can read or change it, or if it is
    /// damaged.
    pub(super) fn read(path: &Path) -> Result<Self, SecretError> {
        let mut file = File::open(path).map_err(FileError::io(path))?;
        check_private(path, &file, false)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(FileError::io(path))?;
        // A newer format may have other fields.
        let version: FormatVersion = serde_json::from_slice(&bytes).map_err(|_| damaged(path))?;
        if version.format > FORMAT {
            return Err(FileError::Newer {
                path: path.to_owned(),
            }
            .into());
        }
        serde_json::from_slice(&bytes).map_err(|_| damaged(path))
    }

    pub(super) fn seal(
        values: &Values,
        key: &Identity,
        identity: Option<String>,
        source: Option<KeySource>,
    ) -> Self {
        let mut sealed = Self {
            format: FORMAT,
            key: source,
            identity,
            secrets: String::new(),
        };
        sealed.set_values(values, key);
        sealed
    }

    pub(super) fn set_values(&mut self, values: &Values, key: &Identity) {
        let recipient = key.to_public();
        let encryptor = Encryptor::with_recipients([&recipient as _].into_iter())
            .expect("one recipient is enough");
        self.secrets = encrypt(encryptor, |writer| {
            serde_json::to_writer(writer, &values.0).map_err(io::Error::from)
        });
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("the sources of keys are text")
    }

    pub(super) fn key_source(&self) -> Option<&KeySource> {
        self.key.as_ref()
    }

    /// Decrypts the secrets.
    ///
    /// # Errors
    /// Returns an error if the key does not fit, or if the file is damaged.
    pub(super) fn open(&self, key: &Identity, path: &Path) -> Result<Values, SecretError> {
        let plain = decrypt(&self.secrets, key).map_err(|error| decrypt_error(&error, path))?;
        let values = serde_json::from_slice(&plain).map_err(|_| damaged(path))?;
        Ok(Values(values))
    }

    /// Returns whether a passphrase protects the key.
    pub(super) fn has_passphrase(&self) -> bool {
        self.identity.is_some()
    }

    /// Returns the key that the passphrase protects.
    ///
    /// # Errors
    /// Returns an error if the passphrase does not fit, or if the file is damaged.
    pub(super) fn unlock_with_passphrase(
        &self,
        passphrase: &Secret,
        path: &Path,
    ) -> Result<Identity, SecretError> {
        let Some(identity) = &self.identity else {
            return Err(FileError::WrongKey {
                path: path.to_owned(),
            }
            .into());
        };
        let passphrase = SecretString::from(passphrase.expose().to_owned());
        let mut opener = age::scrypt::Identity::new(passphrase);
        opener.set_max_work_factor(MAX_WORK_FACTOR);
        let plain = decrypt(identity, &opener).map_err(|error| decrypt_error(&error, path))?;
        let text = std::str::from_utf8(&plain).map_err(|_| damaged(path))?;
        text.parse().map_err(|_| damaged(path))
    }
}

/// Encrypts a key with a passphrase.
pub(super) fn seal_identity(key: &Identity, passphrase: &Secret) -> String {
    let passphrase = SecretString::from(passphrase.expose().to_owned());
    let mut recipient = age::scrypt::Recipient::new(passphrase);
    recipient.set_work_factor(WORK_FACTOR);
    let encryptor =
        Encryptor::with_recipients([&recipient as _].into_iter()).expect("one recipient is enough");
    encrypt(encryptor, |writer| {
        writer.write_all(key.to_string().expose_secret().as_bytes())
    })
}

fn encrypt(encryptor: Encryptor, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let sealed = || -> io::Result<Vec<u8>> {
        let armored = ArmoredWriter::wrap_output(Vec::new(), Format::AsciiArmor)?;
        let mut writer = encryptor.wrap_output(armored)?;
        write(&mut writer)?;
        writer.finish()?.finish()
    };
    let bytes = sealed().expect("writing to memory succeeds");
    String::from_utf8(bytes).expect("an armored text is ASCII")
}

fn decrypt(text: &str, key: &dyn age::Identity) -> Result<Zeroizing<Vec<u8>>, DecryptError> {
    let decryptor = Decryptor::new_buffered(ArmoredReader::new(text.as_bytes()))?;
    let mut reader = decryptor.decrypt(std::iter::once(key))?;
    // The plain text is shorter, so the buffer does not grow, which would leave copies behind.
    let mut plain = Zeroizing::new(Vec::with_capacity(text.len()));
    reader.read_to_end(&mut plain)?;
    Ok(plain)
}

fn decrypt_error(error: &DecryptError, path: &Path) -> SecretError {
    if matches!(
        error,
        DecryptError::NoMatchingKeys
            | DecryptError::DecryptionFailed
            | DecryptError::KeyDecryptionFailed
    ) {
        let path = path.to_owned();
        FileError::WrongKey { path }.into()
    } else {
        damaged(path)
    }
}

fn damaged(path: &Path) -> SecretError {
    FileError::Damaged {
        path: path.to_owned(),
    }
    .into()
}

/// The secrets by their names. Zeroes its memory on drop.
#[derive(PartialEq, Eq)]
pub(super) struct Values(BTreeMap<String, String>);

impl Values {
    pub(super) fn from_pairs(pairs: Vec<(String, Secret)>) -> Self {
        let pairs = pairs
            .into_iter()
            .map(|(name, value)| (name, value.expose().to_owned()));
        Self(pairs.collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<Secret> {
        self.0.get(name).cloned().map(Secret::new)
    }

    pub(super) fn set(&mut self, name: &str, value: &Secret) {
        let replaced = self.0.insert(name.to_owned(), value.expose().to_owned());
        drop(replaced.map(Secret::new));
    }

    pub(super) fn remove(&mut self, name: &str) {
        drop(self.0.remove(name).map(Secret::new));
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

impl Drop for Values {
    fn drop(&mut self) {
        self.0.values_mut().for_each(Zeroize::zeroize);
    }
}
