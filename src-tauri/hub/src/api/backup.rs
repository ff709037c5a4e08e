//! Makes backups of the data folder, restores them, and resets the folder. A restore or a reset is
//! only prepared here, and the next start of Drawbridge performs it. Only the secrets are deleted
//! at once by a reset.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use drawbridge_model::{audit::AuditKind, ids::Timestamp, reset::ResetPart};
use drawbridge_store::backup::{
    BackupError, cancel_prepared, create_backup, is_replacement_prepared, prepare_reset,
    prepare_restore, read_manifest,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ApiError, Done, Verb, on_blocking_thread, secrets::store::remove_all_secrets};
use crate::hub::Hub;

/// The folder in the data folder for the backups that this module makes.
const FOLDER: &str = "backups";

/// The backups in the data folder, and whether a replacement is prepared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BackupsView {
    /// The backups, newest first.
    pub backups: Vec<BackupFile>,
    /// Whether the next start restores a backup, or deletes parts of the data folder.
    pub is_replacement_prepared: bool,
}

/// A backup in the data folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BackupFile {
    /// The path of the archive.
    pub file: String,
    /// The size of the archive.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
}

/// An archive, as its manifest describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BackupView {
    /// The path of the archive.
    pub file: String,
    /// The version of Drawbridge that made the backup.
    pub version: String,
    pub created_at: Timestamp,
    /// How many files the backup has.
    pub files: u32,
}

/// `backup.list`: the backups in the data folder, and whether a replacement is prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListBackups {}

/// `backup.create`: saves the data folder, without secrets, in an archive in its folder `backups`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CreateBackup {}

/// `backup.check`: reads the manifest of an archive. Nothing is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckBackup {
    /// The path of the archive on the computer of the hub.
    pub file: String,
}

/// `backup.restore`: checks a whole archive, and prepares its restore, which the next start
/// performs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RestoreBackup {
    /// The path of the archive on the computer of the hub.
    pub file: String,
}

/// `backup.reset`: deletes secrets at once, and prepares the deletion of the other parts for the
/// next start, which keeps the replaced contents in a folder `replaced-…`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ResetDataFolder {
    /// The parts to delete; at least one.
    pub parts: Vec<ResetPart>,
}

/// `backup.cancel`: cancels a prepared restore or reset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CancelReplacement {}

impl Verb for ListBackups {
    type Answer = BackupsView;

    async fn run(self, hub: &Hub) -> Result<BackupsView, ApiError> {
        let data_dir = hub.data_dir().to_owned();
        on_blocking_thread(move || {
            Ok(BackupsView {
                backups: list_backups(&data_dir.join(FOLDER)),
                is_replacement_prepared: is_replacement_prepared(&data_dir),
            })
        })
        .await
    }
}

impl Verb for CreateBackup {
    type Answer = BackupView;

    async fn run(self, hub: &Hub) -> Result<BackupView, ApiError> {
        let data_dir = hub.data_dir().to_owned();
        on_blocking_thread(move || {
            let folder = data_dir.join(FOLDER);
            let time = jiff::Zoned::now().strftime("%Y-%m-%d-%H%M%S");
            let name = format!("drawbridge-{time}.zip");
            let file = folder.join(name);
            let archive = create_private_file(&file).map_err(|error| {
                ApiError::unavailable(format!("{} cannot be written: {error}", file.display()))
            })?;
            let manifest = create_backup(&data_dir, env!("CARGO_PKG_VERSION"), &archive)
                .inspect_err(|_| {
                    // The incomplete archive would look like a backup.
                    let _ = fs::remove_file(&file);
                })?;
            Ok(backup_view(
                &file,
                manifest.version,
                manifest.created_at,
                manifest.files.len(),
            ))
        })
        .await
    }
}

impl Verb for CheckBackup {
    type Answer = BackupView;

    async fn run(self, _hub: &Hub) -> Result<BackupView, ApiError> {
        on_blocking_thread(move || {
            let (path, archive) = open_archive(&self.file)?;
            let manifest = read_manifest(archive)?;
            Ok(backup_view(
                &path,
                manifest.version,
                manifest.created_at,
                manifest.files.len(),
            ))
        })
        .await
    }
}

impl Verb for RestoreBackup {
    type Answer = BackupView;

    async fn run(self, hub: &Hub) -> Result<BackupView, ApiError> {
        let data_dir = hub.data_dir().to_owned();
        let runtime = tokio::runtime::Handle::current();
        let view = on_blocking_thread(move || {
            let (path, archive) = open_archive(&self.file)?;
            let manifest = runtime.block_on(prepare_restore(&data_dir, archive))?;
            Ok(backup_view(
                &path,
                manifest.version,
                manifest.created_at,
                manifest.files.len(),
            ))
        })
        .await?;
        let note = json!({"restores": view.file, "created_at": view.created_at});
        hub.store
            .append_audit(AuditKind::ReplacementPrepared, &note);
        Ok(view)
    }
}

impl Verb for ResetDataFolder {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let parts: BTreeSet<ResetPart> = self.parts.into_iter().collect();
        if parts.is_empty() {
            return Err(ApiError::invalid(
                "'parts' must name at least one part to delete",
            ));
        }
        let data_dir = hub.data_dir().to_owned();
        if is_replacement_prepared(&data_dir) {
            return Err(BackupError::RestoreIncomplete.into());
        }
        if parts.contains(&ResetPart::Secrets) {
            remove_all_secrets(hub).await?;
        }
        let note = json!({ "resets": parts });
        if parts.iter().any(|part| part.is_in_data_folder()) {
            let runtime = tokio::runtime::Handle::current();
            on_blocking_thread(move || Ok(runtime.block_on(prepare_reset(&data_dir, &parts))?))
                .await?;
            hub.store
                .append_audit(AuditKind::ReplacementPrepared, &note);
        }
        Ok(Done {})
    }
}

impl Verb for CancelReplacement {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let data_dir = hub.data_dir().to_owned();
        if !on_blocking_thread(move || Ok(cancel_prepared(&data_dir)?)).await? {
            return Err(ApiError::conflict("no restore and no reset is prepared"));
        }
        hub.store
            .append_audit(AuditKind::ReplacementPrepared, &json!({"cancelled": true}));
        Ok(Done {})
    }
}

fn backup_view(file: &Path, version: String, created_at: Timestamp, files: usize) -> BackupView {
    BackupView {
        file: file.display().to_string(),
        version,
        created_at,
        files: u32::try_from(files).unwrap_or(u32::MAX),
    }
}

fn open_archive(file: &str) -> Result<(PathBuf, File), ApiError> {
    let path = PathBuf::from(file.trim());
    if !path.is_absolute() {
        return Err(ApiError::invalid(format!(
            "'{file}' is not an absolute path of a file on the computer of the hub"
        )));
    }
    match File::open(&path) {
        Ok(archive) => Ok((path, archive)),
        Err(error) => Err(ApiError::invalid(format!(
            "'{file}' cannot be read: {error}"
        ))),
    }
}

/// Lists the archives in a folder, newest first. The folder need not exist.
fn list_backups(folder: &Path) -> Vec<BackupFile> {
    let mut files: Vec<BackupFile> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "zip")
        })
        .filter_map(|entry| {
            Some(BackupFile {
                file: entry.path().display().to_string(),
                bytes: entry.metadata().ok()?.len(),
            })
        })
        .collect();
    files.sort_by(|a, b| b.file.cmp(&a.file));
    files
}

/// Creates a file that only this user can read. Creates the file's folder if it is missing.
fn create_private_file(file: &Path) -> io::Result<File> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

impl From<BackupError> for ApiError {
    fn from(error: BackupError) -> Self {
        let text = error.to_string();
        match error {
            BackupError::NotABackup(_) | BackupError::Damaged(_) | BackupError::Newer { .. } => {
                Self::invalid(text)
            }
            BackupError::RestoreIncomplete => Self::conflict(text),
            BackupError::NoDatabase(_)
            | BackupError::TooManyFiles(_)
            | BackupError::DeleteParts(_)
            | BackupError::CopyDatabase(_)
            | BackupError::Io { .. }
            | BackupError::WriteArchive(_)
            | BackupError::Replace(_)
            | BackupError::Store(_)
            | BackupError::Journal(_) => Self::unavailable(text),
        }
    }
}
