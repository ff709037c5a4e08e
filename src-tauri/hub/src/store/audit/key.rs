//! The key of the audit, in a file beside the database, for this user only. It is not in the database: who has that
//! alone can forge nothing.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::Hash;
use crate::random;

pub(in crate::store) const NAME: &str = "audit.key";

/// The key. A new one is kept under another name until the first entry is written with it: an old key without entries
/// means that they were taken away.
pub(in crate::store) struct Key {
    mac: Hmac<Sha256>,
    folder: PathBuf,
    is_new: AtomicBool,
}

impl Key {
    /// Reads the key in that folder, or makes one.
    ///
    /// # Errors
    /// Where it can be neither read nor made.
    pub(in crate::store) fn load(folder: &Path) -> io::Result<Self> {
        let (kept, new) = (folder.join(NAME), new_name(folder));
        let (hex, is_new) = match (fs::read_to_string(&kept), fs::read_to_string(&new)) {
            (Ok(hex), _) => (hex, false),
            (Err(error), _) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            (_, Ok(hex)) if hex.len() == 64 => (hex, true),
            _ => (make(&new)?, true),
        };
        let key = hex::decode(hex.trim()).ok().filter(|key| key.len() == 32);
        let key = key.ok_or_else(|| {
            let said = format!(
                "{} is no key: put it back, or move it away to begin the audit anew",
                kept.display()
            );
            io::Error::new(io::ErrorKind::InvalidData, said)
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

    /// Entries were committed with it.
    pub(in crate::store) fn settle(&self) {
        if !self.is_new() {
            return;
        }
        match fs::rename(new_name(&self.folder), self.folder.join(NAME)) {
            Ok(()) => self.is_new.store(false, Ordering::Relaxed),
            Err(error) => tracing::warn!("the key of the audit cannot be renamed: {error}"),
        }
    }

    pub(super) fn begin(&self, what: &str) -> Parts {
        let mut parts = Parts(self.mac.clone());
        parts.bytes(what.as_bytes());
        parts
    }
}

fn new_name(folder: &Path) -> PathBuf {
    folder.join(format!("{NAME}.new"))
}

fn make(file: &Path) -> io::Result<String> {
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

/// An HMAC in the making.
pub(super) struct Parts(Hmac<Sha256>);

impl Parts {
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(&(bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    pub(super) fn number(&mut self, number: i64) -> &mut Self {
        self.bytes(&number.to_be_bytes())
    }

    /// Nothing is told from an empty text by a length that no text has.
    pub(super) fn maybe_bytes(&mut self, bytes: Option<&[u8]>) -> &mut Self {
        match bytes {
            Some(bytes) => return self.bytes(bytes),
            None => self.0.update(&u64::MAX.to_be_bytes()),
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

    pub(super) fn hash(self) -> Hash {
        self.0.finalize().into_bytes().into()
    }
}
