//! The head file: a copy of the head of the chain outside the database. The file reveals that the
//! database was replaced by an older copy, or lost the commits that were only in its write-ahead
//! log.
//!
//! The file may lag behind the database and is never ahead of it: it is written only after the
//! commits that it names are on the disk.

use std::{fs, io, io::Write, path::Path};

use rusqlite::{Connection, OptionalExtension, params};

use super::{AuditFault, AuditKey, Hash, Tip, rows};

pub(crate) const FILE_NAME: &str = "audit.head";

/// The setting that records that the head file has been written. If a database has this setting but
/// no head file, its audit log counts as broken.
pub(crate) const WRITTEN: &str = "audit_head_file";

/// The content of the head file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadFile {
    Missing,
    /// The file is malformed, or was not written with this key.
    Invalid,
    /// The tip of the chain when the file was written.
    Tip(Tip),
}

/// Reads the head file in `folder`.
///
/// # Errors
/// Returns an error if the file exists and cannot be read.
pub(crate) fn read(folder: &Path, key: &AuditKey) -> io::Result<HeadFile> {
    let text = match fs::read_to_string(folder.join(FILE_NAME)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HeadFile::Missing),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(HeadFile::Invalid),
        Err(error) => return Err(error),
    };
    Ok(parse(&text)
        .filter(|(tip, mac)| *mac == file_mac(*tip, key))
        .map_or(HeadFile::Invalid, |(tip, _)| HeadFile::Tip(tip)))
}

/// Parses a number, the hash of the entry with that number, and the HMAC of both.
fn parse(text: &str) -> Option<(Tip, Hash)> {
    let mut words = text.split_ascii_whitespace();
    let seq = words.next()?.parse().ok()?;
    let mut hash = || -> Option<Hash> { hex::decode(words.next()?).ok()?.try_into().ok() };
    let (hash, mac) = (hash()?, hash()?);
    words.next().is_none().then_some((Tip { seq, hash }, mac))
}

/// Replaces the head file in `folder`. The entry that `tip` names must already be on the disk.
///
/// # Errors
/// Returns an error if the file cannot be written. The previous file then stays.
pub(crate) fn write(folder: &Path, tip: Tip, key: &AuditKey) -> io::Result<()> {
    let text = format!(
        "{} {} {}\n",
        tip.seq,
        hex::encode(tip.hash),
        hex::encode(file_mac(tip, key))
    );
    let new_file = folder.join(format!("{FILE_NAME}.new"));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut opened = options.open(&new_file)?;
    opened.write_all(text.as_bytes())?;
    opened.sync_all()?;
    fs::rename(new_file, folder.join(FILE_NAME))
}

/// Returns the HMAC of the head file. It differs from the HMAC in `audit_head`, so that no program
/// can make a head file from an older database.
fn file_mac(tip: Tip, key: &AuditKey) -> Hash {
    let mut parts = key.start_mac("head file");
    parts.number(tip.seq).bytes(&tip.hash);
    parts.hash()
}

/// Records in the database that the head file has been written.
pub(crate) fn record_written(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection
        .execute(
            "INSERT OR IGNORE INTO setting (name, value) VALUES (?, '1')",
            [WRITTEN],
        )
        .map(drop)
}

/// Checks that the chain that ends with `last` continues the chain whose tip is in the file. If
/// not, returns the number of the first affected entry, and the fault.
pub(super) fn find_replacement(
    connection: &Connection,
    last: Tip,
    file: HeadFile,
) -> Result<Option<(i64, AuditFault)>, rusqlite::Error> {
    let saved = match file {
        HeadFile::Tip(saved) => saved,
        HeadFile::Invalid => return Ok(Some((last.seq + 1, AuditFault::HeadFileInvalid))),
        HeadFile::Missing => {
            const IS_WRITTEN: &str = "SELECT EXISTS (SELECT 1 FROM setting WHERE name = ?)";
            let is_written: bool =
                connection.query_row(IS_WRITTEN, params![WRITTEN], |row| row.get(0))?;
            return Ok(is_written.then_some((last.seq + 1, AuditFault::HeadFileMissing)));
        }
    };
    if saved.seq > last.seq {
        let (first, last) = (last.seq + 1, saved.seq);
        return Ok(Some((first, AuditFault::Older { first, last })));
    }
    let stored = rows::read_tip_at(saved.seq, connection).optional()?;
    // A missing entry was pruned since, or else the walk along the chain finds the gap.
    let differs = stored.is_some_and(|stored| stored.hash != saved.hash);
    Ok(differs.then_some((saved.seq, AuditFault::OtherBranch(saved.seq))))
}
