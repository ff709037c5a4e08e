//! Backups: a ZIP archive of the database, the audit log's key and head file, the specs of servers
//! and the copies of clients' files.
//!
//! Secrets stay in the secret store, which no backup includes. Logs, models, the files of bundles
//! and the folders of sandboxed servers are not included either.

mod reset;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use drawbridge_model::{audit::AuditKind, clock, ids::Timestamp, reset::ResetPart};
use rusqlite::{Connection, OpenFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zip::{
    CompressionMethod, ZipArchive, ZipWriter, read::ZipFile, result::ZipError,
    write::SimpleFileOptions,
};

use crate::{
    JournalError, Store, StoreError, audit,
    data_dir::{
        self, CLIENT_BACKUPS, DATABASE, DataDir, ReplaceError, SERVERS, is_replacement_incomplete,
    },
};

const FORMAT: u32 = 1;
const MANIFEST: &str = "manifest.json";
/// The maximum length of a manifest, in bytes. Each file of the backup takes about 150 bytes.
const MAX_MANIFEST_BYTES: u64 = 4 * 1024 * 1024;
/// The prefix of the files that exist only while a backup is made or a reset is prepared. Leftover
/// files with this prefix are deleted, so the prefix has to be Drawbridge's own: the user may
/// choose any folder as the data folder.
const TEMPORARY_PREFIX: &str = ".drawbridge-backup-";
/// The file that is locked while a backup is made or a reset is prepared.
const LOCK: &str = ".drawbridge-backup.lock";
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The list of the files in a backup, which is itself in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupManifest {
    format: u32,
    /// The version of Drawbridge that made the backup.
    pub version: String,
    pub created_at: Timestamp,
    /// The files by their paths, which are the same in the archive and in the data folder.
    pub files: BTreeMap<String, BackedUpFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackedUpFile {
    pub bytes: u64,
    /// SHA-256 in hex.
    pub sha256: String,
}

/// The result of restoring a backup.
#[derive(Debug)]
pub struct RestoredBackup {
    pub manifest: BackupManifest,
    /// The folder with the files that were replaced, or `None` if there were none.
    pub previous: Option<PathBuf>,
    /// The fault of the audit log in the backup, or `None` if the log is intact.
    pub audit_fault: Option<String>,
}

/// Why a backup cannot be made or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("there is nothing to back up: {} does not exist", .0.display())]
    NoDatabase(PathBuf),
    #[error(
        "a restore or a reset is prepared; start Drawbridge again, which completes it, or cancel it with `drawbridge backup cancel`"
    )]
    RestoreIncomplete,
    #[error(
        "the data folder has too many servers and copies of clients' files: the list of {0} files is too long for a backup"
    )]
    TooManyFiles(usize),
    #[error("the parts that a reset keeps cannot be separated from the rest: {0}")]
    DeleteParts(#[source] rusqlite::Error),
    #[error("the database cannot be copied: {0}")]
    CopyDatabase(#[source] rusqlite::Error),
    #[error("cannot read or write {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the archive cannot be written: {0}")]
    WriteArchive(#[source] ZipError),
    #[error("this is not a backup of Drawbridge: {0}")]
    NotABackup(String),
    #[error("the backup is damaged: {0}. Nothing was changed.")]
    Damaged(String),
    #[error(
        "the backup was made by version {version} of Drawbridge, which this version cannot read; install that version or a later one"
    )]
    Newer { version: String },
    #[error(transparent)]
    Replace(#[from] ReplaceError),
    #[error("the backup cannot be used: {0}")]
    Store(#[from] StoreError),
    #[error("the audit log of the backup cannot be written: {0}")]
    Journal(#[from] JournalError),
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    move |source| BackupError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Writes a backup of the data folder. A hub may use the folder meanwhile: the backup contains the
/// data that was committed when the database was copied.
///
/// # Errors
/// Returns an error if there is no database, if a restore or a reset is not complete, if a file
/// cannot be read, if there are too many files, or if the archive cannot be written. The archive is
/// then incomplete.
pub fn create_backup(
    data_dir: &Path,
    version: &str,
    archive: impl Write + Seek,
) -> Result<BackupManifest, BackupError> {
    if is_replacement_incomplete(data_dir) {
        return Err(BackupError::RestoreIncomplete);
    }
    let database = data_dir.join(DATABASE);
    if !database.exists() {
        return Err(BackupError::NoDatabase(database));
    }
    let _one_at_a_time = lock(data_dir)?;
    remove_leftovers(data_dir)?;
    let mut zip = ZipWriter::new(archive);
    let mut manifest = BackupManifest {
        format: FORMAT,
        version: version.to_owned(),
        created_at: clock::now(),
        files: BTreeMap::new(),
    };
    // The head file may be older than the database, but not newer, so it is read first.
    for name in [audit::KEY_FILE, audit::head_file::FILE_NAME] {
        add_file(&mut zip, &mut manifest, name, &data_dir.join(name))?;
    }
    let copy = copy_database(&database)?;
    add_file(&mut zip, &mut manifest, DATABASE, copy.path())?;
    for folder in [SERVERS, CLIENT_BACKUPS] {
        for name in list_files(&data_dir.join(folder))? {
            let file = data_dir.join(folder).join(&name);
            add_file(&mut zip, &mut manifest, &format!("{folder}/{name}"), &file)?;
        }
    }
    let text = serde_json::to_vec_pretty(&manifest).expect("a manifest can be written as JSON");
    if text.len() as u64 > MAX_MANIFEST_BYTES {
        return Err(BackupError::TooManyFiles(manifest.files.len()));
    }
    zip.start_file(MANIFEST, zip_options())
        .map_err(BackupError::WriteArchive)?;
    zip.write_all(&text)
        .map_err(|e| BackupError::WriteArchive(ZipError::Io(e)))?;
    let mut archive = zip.finish().map_err(BackupError::WriteArchive)?;
    archive
        .flush()
        .map_err(|e| BackupError::WriteArchive(ZipError::Io(e)))?;
    Ok(manifest)
}

fn zip_options() -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .large_file(true)
        .unix_permissions(0o600)
}

/// Waits until no other process is making a backup of the data folder or preparing a reset, and
/// returns the lock.
fn lock(data_dir: &Path) -> Result<File, BackupError> {
    let path = data_dir.join(LOCK);
    let lock = data_dir::open_lock(&path).map_err(io_error(&path))?;
    lock.lock().map_err(io_error(&path))?;
    Ok(lock)
}

/// Deletes the copies of the database that a process left behind when it was killed.
fn remove_leftovers(data_dir: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(data_dir).map_err(io_error(data_dir))? {
        let entry = entry.map_err(io_error(data_dir))?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(TEMPORARY_PREFIX) {
            fs::remove_file(entry.path()).map_err(io_error(&entry.path()))?;
        }
    }
    Ok(())
}

/// Copies the database with everything that is committed, into a temporary file beside it.
fn copy_database(database: &Path) -> Result<tempfile::NamedTempFile, BackupError> {
    let folder = database.parent().unwrap_or(Path::new("."));
    // SQLite accepts an empty file as the target. Only this user can read the temporary file.
    let copy = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .tempfile_in(folder)
        .map_err(io_error(folder))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copied = Connection::open_with_flags(database, flags).and_then(|connection| {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let target = copy.path().to_string_lossy();
        connection.execute("VACUUM INTO ?1", [target.as_ref()])
    });
    copied.map_err(BackupError::CopyDatabase)?;
    Ok(copy)
}

/// Adds a file to the archive. A file that does not exist is left out.
fn add_file<W: Write + Seek>(
    zip: &mut ZipWriter<W>,
    manifest: &mut BackupManifest,
    name: &str,
    path: &Path,
) -> Result<(), BackupError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error(path)(error)),
    };
    zip.start_file(name, zip_options())
        .map_err(BackupError::WriteArchive)?;
    let mut hashed = HashWriter::new(zip);
    let bytes = io::copy(&mut file, &mut hashed).map_err(io_error(path))?;
    let sha256 = hashed.finish();
    manifest
        .files
        .insert(name.to_owned(), BackedUpFile { bytes, sha256 });
    Ok(())
}

/// Returns the sorted names of the files in a folder, without names that [`is_file_name`] rejects.
/// Follows symbolic links, as the registry does. Returns no names if the folder does not exist.
fn list_files(folder: &Path) -> Result<Vec<String>, BackupError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_error(folder)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(io_error(folder))?;
        let path = entry.path();
        let is_file = match fs::metadata(&path) {
            Ok(metadata) => metadata.is_file(),
            // The file was deleted meanwhile, or is a dangling link.
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(io_error(&path)(error)),
        };
        let name = entry.file_name().into_string();
        names.extend(name.ok().filter(|name| is_file && is_file_name(name)));
    }
    names.sort();
    Ok(names)
}

/// Returns whether a name is not hidden, and cannot lead to another folder on any platform.
fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0', ':'])
}

/// Returns whether a backup may contain a file with this path.
fn is_known_path(path: &str) -> bool {
    if [DATABASE, audit::KEY_FILE, audit::head_file::FILE_NAME].contains(&path) {
        return true;
    }
    let in_folder = |folder: &str| {
        path.strip_prefix(folder)
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(is_file_name)
    };
    in_folder(SERVERS) || in_folder(CLIENT_BACKUPS)
}

/// Reads the manifest of an archive.
///
/// # Errors
/// Returns an error if the file is not a backup that this version can restore.
pub fn read_manifest(archive: impl Read + Seek) -> Result<BackupManifest, BackupError> {
    let mut zip = open_archive(archive)?;
    read_manifest_from(&mut zip)
}

fn open_archive<R: Read + Seek>(archive: R) -> Result<ZipArchive<R>, BackupError> {
    ZipArchive::new(archive).map_err(|e| BackupError::NotABackup(e.to_string()))
}

fn read_manifest_from<R: Read + Seek>(
    zip: &mut ZipArchive<R>,
) -> Result<BackupManifest, BackupError> {
    #[derive(Deserialize)]
    struct Versions {
        format: u32,
        version: String,
    }
    let not_a_backup = |e: &dyn std::fmt::Display| BackupError::NotABackup(e.to_string());
    let file = zip.by_name(MANIFEST).map_err(|e| not_a_backup(&e))?;
    let mut text = String::new();
    // One byte more than allowed shows that the manifest is too long.
    file.take(MAX_MANIFEST_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|e| not_a_backup(&e))?;
    if text.len() as u64 > MAX_MANIFEST_BYTES {
        return Err(not_a_backup(&"its manifest is too long"));
    }
    let versions: Versions = serde_json::from_str(&text).map_err(|e| not_a_backup(&e))?;
    if versions.format > FORMAT {
        return Err(BackupError::Newer {
            version: versions.version,
        });
    }
    let manifest: BackupManifest = serde_json::from_str(&text).map_err(|e| not_a_backup(&e))?;
    if let Some(path) = manifest.files.keys().find(|path| !is_known_path(path)) {
        let path = path.escape_debug();
        return Err(BackupError::NotABackup(format!(
            "it has the unknown file '{path}'"
        )));
    }
    if !manifest.files.contains_key(DATABASE) {
        return Err(BackupError::NotABackup("it has no database".into()));
    }
    Ok(manifest)
}

/// Replaces the contents of the data folder with the contents of a backup. Checks the whole backup
/// first, and moves the old contents into a folder of their own. Records the restore in the audit
/// log. If the process ends while the files are replaced, the next process that opens the data
/// folder completes the replacement.
///
/// # Errors
/// Returns an error if the backup is damaged or too new, or if a file cannot be moved. Nothing is
/// changed then, unless the error is [`ReplaceError::Incomplete`].
pub async fn restore_backup(
    data_dir: &DataDir,
    archive: impl Read + Seek,
) -> Result<RestoredBackup, BackupError> {
    let (manifest, audit_fault) = stage_backup(data_dir.path(), archive).await?;
    let previous = data_dir
        .replace_with_staged()
        .inspect_err(|_| data_dir::discard_staged(data_dir.path()))?;
    Ok(RestoredBackup {
        manifest,
        previous,
        audit_fault,
    })
}

/// Checks a whole backup, and prepares its restore, which the next start of a hub completes. A
/// running hub is not affected.
///
/// # Errors
/// Returns an error if the backup is damaged or too new, if it cannot be unpacked, or if a restore
/// or a reset is prepared already. Nothing is prepared then.
pub async fn prepare_restore(
    data_dir: &Path,
    archive: impl Read + Seek,
) -> Result<BackupManifest, BackupError> {
    check_nothing_is_prepared(data_dir)?;
    let (manifest, _) = stage_backup(data_dir, archive).await?;
    data_dir::replace_at_next_start(data_dir)
        .inspect_err(|_| data_dir::discard_staged(data_dir))?;
    Ok(manifest)
}

/// Prepares a reset, which the next start of a hub completes: the data folder is then without the
/// given parts, and the replaced contents move to a folder `replaced-…`. A running hub is not
/// affected. [`ResetPart::Secrets`] is ignored.
///
/// # Errors
/// Returns an error if a restore or a reset is prepared already, or if the parts that stay cannot
/// be copied. Nothing is prepared then.
pub async fn prepare_reset(
    data_dir: &Path,
    parts: &BTreeSet<ResetPart>,
) -> Result<(), BackupError> {
    check_nothing_is_prepared(data_dir)?;
    let staging = data_dir::create_staging_dir(data_dir).map_err(io_error(data_dir))?;
    let is_all = ResetPart::ALL
        .iter()
        .all(|part| parts.contains(part) || !part.is_in_data_folder());
    let staged = async {
        if !is_all {
            reset::stage_other_parts(data_dir, &staging, parts).await?;
        }
        Ok(data_dir::replace_at_next_start(data_dir)?)
    };
    staged
        .await
        .inspect_err(|_: &BackupError| data_dir::discard_staged(data_dir))
}

/// Returns whether the next start of a hub completes a restore or a reset.
pub fn is_replacement_prepared(data_dir: &Path) -> bool {
    is_replacement_incomplete(data_dir)
}

/// Cancels a prepared restore or reset. Returns `false` if nothing is prepared.
///
/// # Errors
/// Returns an error if the prepared files cannot be deleted.
pub fn cancel_prepared(data_dir: &Path) -> Result<bool, BackupError> {
    data_dir::cancel_replacement(data_dir).map_err(io_error(data_dir))
}

fn check_nothing_is_prepared(data_dir: &Path) -> Result<(), BackupError> {
    if is_replacement_incomplete(data_dir) {
        return Err(BackupError::RestoreIncomplete);
    }
    Ok(())
}

/// Unpacks a backup into the staging folder, and checks it. Returns its manifest, and the fault of
/// its audit log.
async fn stage_backup(
    data_dir: &Path,
    archive: impl Read + Seek,
) -> Result<(BackupManifest, Option<String>), BackupError> {
    let mut zip = open_archive(archive)?;
    let manifest = read_manifest_from(&mut zip)?;
    let staging = data_dir::create_staging_dir(data_dir).map_err(io_error(data_dir))?;
    let unpacked = async {
        for (path, expected) in &manifest.files {
            extract(&mut zip, path, expected, &staging)?;
        }
        open_restored(&staging, &manifest).await
    };
    match unpacked.await {
        Ok(audit_fault) => Ok((manifest, audit_fault)),
        Err(error) => {
            data_dir::discard_staged(data_dir);
            Err(error)
        }
    }
}

fn extract<R: Read + Seek>(
    zip: &mut ZipArchive<R>,
    path: &str,
    expected: &BackedUpFile,
    staging: &Path,
) -> Result<(), BackupError> {
    let damaged = |fault: &str| BackupError::Damaged(format!("{path} {fault}"));
    let packed: ZipFile<'_, R> = zip
        .by_name(path)
        .map_err(|e| damaged(&format!("cannot be read ({e})")))?;
    let target = staging.join(path);
    let folder = target.parent().unwrap_or(staging);
    fs::create_dir_all(folder).map_err(io_error(folder))?;
    let file = create_private_file(&target).map_err(io_error(&target))?;
    let mut hashed = HashWriter::new(file);
    // One more byte than expected shows that the file is too long, without writing all of it.
    let bytes = io::copy(
        &mut packed.take(expected.bytes.saturating_add(1)),
        &mut hashed,
    )
    .map_err(|e| damaged(&format!("cannot be unpacked ({e})")))?;
    hashed.inner.sync_all().map_err(io_error(&target))?;
    if bytes != expected.bytes || hashed.finish() != expected.sha256 {
        return Err(damaged("differs from the backup's list of files"));
    }
    Ok(())
}

fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Opens the unpacked database, which migrates it, and records the restore in its audit log.
/// Returns the fault of the audit log, or `None` if the log is intact.
async fn open_restored(
    staging: &Path,
    manifest: &BackupManifest,
) -> Result<Option<String>, BackupError> {
    let database = staging.join(DATABASE);
    let check = Connection::open(&database).and_then(|connection| {
        connection.query_row("PRAGMA integrity_check(1)", [], |row| {
            row.get::<_, String>(0)
        })
    });
    match check {
        Ok(answer) if answer == "ok" => {}
        Ok(fault) => return Err(BackupError::Damaged(format!("{DATABASE}: {fault}"))),
        Err(error) => return Err(BackupError::Damaged(format!("{DATABASE}: {error}"))),
    }
    let note = serde_json::json!({"created_at": manifest.created_at, "version": manifest.version});
    record_in_staged(&database, AuditKind::BackupRestored, &note).await
}

/// Opens a staged database, which migrates it, and appends an entry to its audit log. Returns the
/// fault of the audit log, or `None` if the log is intact.
async fn record_in_staged(
    database: &Path,
    kind: AuditKind,
    note: &serde_json::Value,
) -> Result<Option<String>, BackupError> {
    let (store, moved) = Store::open(database).await?;
    if moved.is_some() {
        store.close().await;
        return Err(BackupError::Damaged(format!("{DATABASE} cannot be read")));
    }
    let journal = store.journal();
    journal.recover().await?;
    let report = journal.verify().await?;
    store.append_audit(kind, note);
    journal.close().await;
    store.close().await;
    Ok(report
        .broken
        .map(|fault| format!("from entry {} on: {}", fault.seq, fault.reason)))
}

/// A writer that hashes the bytes that it passes on.
struct HashWriter<W> {
    inner: W,
    hash: Sha256,
}

impl<W> HashWriter<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
        }
    }

    /// Returns the SHA-256 in hex.
    fn finish(self) -> String {
        hex::encode(self.hash.finalize())
    }
}

impl<W: Write> Write for HashWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests;
