//! The data folder: its location, its contents, and the lock that only one hub can hold.

mod replacement;

use std::{
    fs,
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
};

pub use replacement::ReplaceError;

pub(crate) const DATABASE: &str = "drawbridge.db";
pub(crate) const SERVERS: &str = "servers";
/// The folder with the unpacked files of MCP bundles.
pub const BUNDLES: &str = "bundles";
/// The folder with the encrypted copies of clients' files.
pub const CLIENT_BACKUPS: &str = "client-backups";

/// Why a data folder cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    #[error(
        "Drawbridge already runs with the data folder {folder} (process {pid}). Stop it, or choose another folder with --data-dir."
    )]
    InUse { folder: String, pid: String },
    #[error("the data folder {folder} cannot be used: {source}")]
    Io {
        folder: String,
        source: std::io::Error,
    },
    #[error("in the data folder {folder}, {source}")]
    Replace {
        folder: String,
        source: ReplaceError,
    },
}

/// Returns the platform's data folder for Drawbridge, or `.drawbridge` in the current folder if the
/// user has no home folder.
pub fn default_data_dir() -> PathBuf {
    directories::ProjectDirs::from("app", "", "drawbridge").map_or_else(
        || PathBuf::from(".drawbridge"),
        |dirs| dirs.data_local_dir().to_owned(),
    )
}

/// An open data folder. No other hub can open it until this value is dropped.
pub struct DataDir {
    path: PathBuf,
    _lock: fs::File,
}

impl DataDir {
    /// Creates the folder if it does not exist, for this user only, and locks it. Completes a
    /// replacement of its contents that an earlier process committed and did not complete.
    ///
    /// # Errors
    /// Returns an error if another hub has the folder open, if the folder cannot be used, or if the
    /// replacement cannot be completed.
    pub fn open(path: PathBuf) -> Result<Self, DataDirError> {
        let failed = |source| DataDirError::Io {
            folder: path.display().to_string(),
            source,
        };
        let is_new = !path.exists();
        fs::create_dir_all(path.join("logs")).map_err(failed)?;
        let path = path.canonicalize().map_err(failed)?;
        let failed = |source| DataDirError::Io {
            folder: path.display().to_string(),
            source,
        };
        // An existing folder may be any folder, even the user's home, so its mode stays unchanged.
        if is_new {
            restrict_to_user(&path).map_err(failed)?;
        }
        restrict_to_user(&path.join("logs")).map_err(failed)?;
        let mut lock = open_lock(&path.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(in_use_error(&path, &mut lock)),
            Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        lock.set_len(0)
            .and_then(|()| lock.rewind())
            .and_then(|()| write!(lock, "{}", std::process::id()))
            .map_err(failed)?;
        replacement::complete(&path).map_err(|source| DataDirError::Replace {
            folder: path.display().to_string(),
            source,
        })?;
        Ok(Self { path, _lock: lock })
    }

    /// Replaces the contents with the contents of the staging folder, and returns the folder with
    /// the old contents, or `None` if there were none. If the process ends before the replacement
    /// is committed, the old contents stay. If it ends later, the next [`DataDir::open`] completes
    /// the replacement.
    ///
    /// # Errors
    /// Returns [`ReplaceError::RolledBack`] if a step fails and the old contents are in place.
    /// Returns [`ReplaceError::Incomplete`] if the old contents are not in place, or if the data
    /// folder cannot be synced after the commit.
    pub(crate) fn replace_with_staged(&self) -> Result<Option<PathBuf>, ReplaceError> {
        replacement::commit(&self.path)?;
        replacement::complete(&self.path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn servers_dir(&self) -> PathBuf {
        self.path.join(SERVERS)
    }

    pub fn logs_dir(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// Returns the folder with the encrypted copies of clients' files, as they were before
    /// Drawbridge changed them.
    pub fn client_backups_dir(&self) -> PathBuf {
        self.path.join(CLIENT_BACKUPS)
    }

    /// Returns the folder for the documents that Docling converts, and for its models.
    pub fn docling_dir(&self) -> PathBuf {
        self.path.join("docling")
    }

    /// Returns the folder that contains the servers' own folders, each with the server's id as its
    /// name. Only a server whose sandbox lists the allowed files has such a folder, as its home.
    pub fn own_folders_dir(&self) -> PathBuf {
        self.path.join("server-folders")
    }

    /// Returns the folder that contains, for each server of a bundle, a folder with the server's id
    /// as its name.
    pub fn bundles_dir(&self) -> PathBuf {
        self.path.join(BUNDLES)
    }

    pub fn database_file(&self) -> PathBuf {
        self.path.join(DATABASE)
    }
}

/// Creates an empty folder for new contents of the data folder.
///
/// # Errors
/// Returns an error if the folder cannot be created, or if the remains of an earlier attempt cannot
/// be deleted.
pub(crate) fn create_staging_dir(data_dir: &Path) -> std::io::Result<PathBuf> {
    replacement::create_staging_dir(data_dir)
}

/// Deletes the staging folder.
pub(crate) fn discard_staged(data_dir: &Path) {
    if let Err(error) = replacement::discard_staged(data_dir) {
        tracing::warn!(
            "cannot delete the files that were prepared for a restore or a reset: {error}"
        );
    }
}

/// Commits to replacing the contents with the contents of the staging folder. The next
/// [`DataDir::open`] replaces them.
///
/// # Errors
/// Returns [`ReplaceError::RolledBack`] if the replacement cannot be committed. Returns
/// [`ReplaceError::Incomplete`] if the data folder cannot be synced after the commit.
pub(crate) fn replace_at_next_start(data_dir: &Path) -> Result<(), ReplaceError> {
    replacement::commit(data_dir)
}

/// Cancels the replacement that the next [`DataDir::open`] would make. Returns `false` if no
/// replacement can be cancelled.
///
/// # Errors
/// Returns an error if a folder of the replacement cannot be renamed, synced or deleted.
pub(crate) fn cancel_replacement(data_dir: &Path) -> std::io::Result<bool> {
    replacement::cancel(data_dir)
}

/// Returns whether a replacement of the contents was committed but not completed. The next
/// [`DataDir::open`] completes it.
pub(crate) fn is_replacement_incomplete(data_dir: &Path) -> bool {
    replacement::is_incomplete(data_dir)
}

fn in_use_error(path: &Path, lock: &mut fs::File) -> DataDirError {
    let mut pid = String::new();
    let _ = lock.read_to_string(&mut pid);
    DataDirError::InUse {
        folder: path.display().to_string(),
        pid,
    }
}

pub(crate) fn open_lock(file: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

/// Restricts a folder to this user. Does nothing on platforms other than Unix.
fn restrict_to_user(folder: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    let _ = folder;
    Ok(())
}
