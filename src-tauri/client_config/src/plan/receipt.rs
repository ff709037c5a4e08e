//! The changes that a plan has made, and how they are undone.

use std::{fs, path::PathBuf};

use drawbridge_model::digest;
use serde::{Deserialize, Serialize};

use super::{PlanError, PlannedFile};
use crate::{
    edit::Edit,
    file::{self, FileError},
    format::{EditError, Format, Source},
    kill_point::reach_kill_point,
};

/// Stores copies of files from before a change. The copies may contain secrets.
pub trait Backups {
    /// Stores a copy, and returns its name.
    ///
    /// # Errors
    /// Returns an error if the copy cannot be stored. The file is not changed then.
    fn save(&self, file_name: &str, bytes: &[u8]) -> Result<String, BackupError>;

    /// Returns the bytes of a copy.
    ///
    /// # Errors
    /// Returns an error if the copy is missing or cannot be read.
    fn read(&self, name: &str) -> Result<Vec<u8>, BackupError>;
}

/// The reason why a copy cannot be stored or read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BackupError(pub String);

/// The files that a plan has changed. The receipt is stored, so that the changes can be undone
/// later.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    pub files: Vec<ChangedFile>,
}

/// A file that a plan has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// The path as the client knows it.
    pub path: PathBuf,
    /// The file that was written.
    pub target: PathBuf,
    pub format: Format,
    /// The name of the copy from before the change; `None` if the plan created the file.
    pub backup: Option<String>,
    /// The SHA-256 of the bytes that were written, in hex.
    #[serde(alias = "written")]
    pub written_digest: String,
    /// The folders that the plan created, outermost first.
    pub created_folders: Vec<PathBuf>,
    /// The edits that undo only Drawbridge's changes, if another program has changed the file
    /// since.
    pub(crate) reverse: Vec<Edit>,
}

/// How the change of a file was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoOutcome {
    /// The file has the bytes that it had before.
    Restored,
    /// The file did not exist before, and is removed.
    Removed,
    /// Another program has changed the file since, so only Drawbridge's changes were undone.
    OwnChangesUndone,
    /// The file no longer exists.
    Gone,
}

/// The reason why the change of a file was not undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} has changed since, and is not text in UTF-8", .0.display())]
    NotText(PathBuf),
    #[error("{} has changed since, and cannot be edited: {source}", .path.display())]
    Edit { path: PathBuf, source: EditError },
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// The result of undoing the change of one file.
#[derive(Debug)]
pub struct UndoneFile {
    pub path: PathBuf,
    pub result: Result<UndoOutcome, UndoError>,
}

impl Receipt {
    /// Undoes the changes of all files, the last file first. If a file cannot be restored, the
    /// other files still are.
    pub fn undo(&self, backups: &dyn Backups) -> Vec<UndoneFile> {
        self.files
            .iter()
            .rev()
            .map(|file| UndoneFile {
                path: file.path.clone(),
                result: file.undo(backups),
            })
            .collect()
    }
}

impl PlannedFile {
    pub(super) fn apply(&self, backups: &dyn Backups) -> Result<ChangedFile, PlanError> {
        let name = self.target.file_name().unwrap_or_default();
        let backup = match &self.before {
            Some(bytes) => Some(backups.save(&name.to_string_lossy(), bytes)?),
            None => None,
        };
        reach_kill_point("backed up");
        let created_folders = file::missing_folders(&self.target);
        let created = file::create_folders(&created_folders);
        let written =
            created.and_then(|()| file::replace(&self.target, self.before.as_deref(), &self.after));
        if let Err(error) = written {
            remove_folders(&created_folders);
            return Err(error.into());
        }
        Ok(ChangedFile {
            path: self.path.clone(),
            target: self.target.clone(),
            format: self.format,
            backup,
            written_digest: digest::sha256(&self.after),
            created_folders,
            reverse: self.reverse.clone(),
        })
    }
}

impl ChangedFile {
    fn undo(&self, backups: &dyn Backups) -> Result<UndoOutcome, UndoError> {
        let Some(present) = file::read(&self.target)? else {
            return Ok(UndoOutcome::Gone);
        };
        if digest::sha256(&present) != self.written_digest {
            return self.undo_own_changes(&present);
        }
        let Some(backup) = &self.backup else {
            file::remove(&self.target, &present)?;
            remove_folders(&self.created_folders);
            return Ok(UndoOutcome::Removed);
        };
        let before = backups.read(backup)?;
        file::replace(&self.target, Some(&present), &before)?;
        Ok(UndoOutcome::Restored)
    }

    fn undo_own_changes(&self, present: &[u8]) -> Result<UndoOutcome, UndoError> {
        let source =
            Source::decode(present).ok_or_else(|| UndoError::NotText(self.path.clone()))?;
        let edited = self
            .format
            .edit(&source.text, &self.reverse)
            .map_err(|source| UndoError::Edit {
                path: self.path.clone(),
                source,
            })?;
        file::replace(&self.target, Some(present), &source.encode(&edited))?;
        Ok(UndoOutcome::OwnChangesUndone)
    }
}

/// Removes the folders that a plan created, if they are empty.
fn remove_folders(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
