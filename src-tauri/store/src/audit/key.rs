//! The key of the audit log, in a file beside the database, for this user only. The key is not in
//! the database, so that the database alone is not enough to forge entries.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use drawbridge_model::random;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::Hash;

pub(crate) const FILE_NAME: &str = "audit.key";

/// The key of the audit log. The file of a new key has a temporary name until the first entry with
/// this key is written. If the file has its final name and the audit log has no entries, the
/// entries were therefore deleted.
pub(crate) struct AuditKey {
    mac: Hmac<Sha256>,
    folder: PathBuf,
    is_new: AtomicBool,
}

impl AuditKey {
    /// Loads the key from `folder`, or creates one.
    ///
    /// # Errors
    /// Returns an error if the file of the key cannot be read or has no valid key, or if a new key
    /// cannot be written.
    pub(crate) fn load(folder: &Path) -> io::Result<Self> {
        let (file, new_file) = (folder.join(FILE_NAME), temporary_file(folder));
        let (hex, is_new) = match (fs::read_to_string(&file), fs::read_to_string(&new_file)) {
            (Ok(hex), _) => (hex, false),
            (Err(error), _) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            // A process that ended while it wrote the new file leaves no valid key.
            (_, Ok(hex)) if decode_key(&hex).is_some() => (hex, true),
            _ => (create_key(&new_file)?, true),
        };
        let key = decode_key(&hex).ok_or_else(|| {
            let message = format!(
                "{} is not a valid key: restore the file, or move it away to start a new audit log",
                file.display()
            );
            io::Error::new(io::ErrorKind::InvalidData, message)
        })?;
        let mac = Hmac::new_from_slice(&key).expect("HMAC takes a key of any length");
        Ok(Self {
            mac,
            folder: folder.to_owned(),
            is_new: AtomicBool::new(is_new),
        })
    }

    pub(super) fn is_new(&self) -> bool {
        self.is_new.load(Ordering::Relaxed)
    }

    /// Gives the file of a new key its final name. Call this after entries with the key were
    /// committed.
    pub(crate) fn persist_if_new(&self) {
        if !self.is_new() {
            return;
        }
        match fs::rename(temporary_file(&self.folder), self.folder.join(FILE_NAME)) {
            Ok(()) => self.is_new.store(false, Ordering::Relaxed),
            Err(error) => tracing::warn!("cannot rename the key of the audit log: {error}"),
        }
    }

    /// Starts an HMAC. The label keeps HMACs for different purposes apart.
    pub(super) fn start_mac(&self, label: &str) -> MacBuilder {
        let mut parts = MacBuilder {
            mac: self.mac.clone(),
            message: Vec::with_capacity(1_024),
        };
        parts.bytes(label.as_bytes());
        parts
    }
}

fn temporary_file(folder: &Path) -> PathBuf {
    folder.join(format!("{FILE_NAME}.new"))
}

fn decode_key(hex: &str) -> Option<Vec<u8>> {
    hex::decode(hex.trim()).ok().filter(|key| key.len() == 32)
}

fn create_key(file: &Path) -> io::Result<String> {
    let key = random::token();
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(file)?;
    file.write_all(key.as_bytes())?;
    file.sync_all()?;
    Ok(key)
}

/// The message of an HMAC, part by part. The parts are hashed together at the end, which is cheaper
/// than hashing each of them.
pub(super) struct MacBuilder {
    mac: Hmac<Sha256>,
    message: Vec<u8>,
}

impl MacBuilder {
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.message
            .extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        self.message.extend_from_slice(bytes);
        self
    }

    pub(super) fn number(&mut self, number: i64) -> &mut Self {
        self.bytes(&number.to_be_bytes())
    }

    /// Adds optional bytes. `None` differs from an empty text, because it is written as a length
    /// that no text can have.
    pub(super) fn maybe_bytes(&mut self, bytes: Option<&[u8]>) -> &mut Self {
        match bytes {
            Some(bytes) => return self.bytes(bytes),
            None => self.message.extend_from_slice(&u64::MAX.to_be_bytes()),
        }
        self
    }

    pub(super) fn maybe_number(&mut self, number: Option<i64>) -> &mut Self {
        self.maybe_bytes(
            number
                .map(i64::to_be_bytes)
                .as_ref()
                .map(<[u8; 8]>::as_slice),
        )
    }

    pub(super) fn hash(mut self) -> Hash {
        self.mac.update(&self.message);
        self.mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_that_was_not_written_completely_is_replaced() {
        for unfinished in ["", "0a", &"x".repeat(64)] {
            let folder = tempfile::tempdir().expect("a folder");
            fs::write(temporary_file(folder.path()), unfinished).expect("write the file");
            let key = AuditKey::load(folder.path()).expect("a new key");
            assert!(key.is_new(), "{unfinished:?}");
            key.persist_if_new();
            let kept = AuditKey::load(folder.path()).expect("the same key");
            assert!(!kept.is_new(), "{unfinished:?}");
        }
    }
}
