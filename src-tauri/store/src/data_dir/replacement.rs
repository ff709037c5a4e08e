//! Replaces the contents of the data folder in steps. If a process ends after step 2, the next
//! process completes the remaining steps.
//!
//! 1. The new contents are prepared in the folder `new` in [`STAGED`].
//! 2. [`STAGED`] is renamed to [`COMMITTED`]. From here on, the contents will be replaced.
//! 3. The current contents move to `old` in [`COMMITTED`], and `new` is renamed to `ready`. If a
//!    file cannot be moved, the contents move back, and [`COMMITTED`] is renamed to [`STAGED`].
//! 4. The contents of `ready` move to their places.
//! 5. `old` is renamed to `replaced-<time>` in the data folder, where it stays.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use drawbridge_model::clock;

use super::{CLIENT_BACKUPS, DATABASE, SERVERS, restrict_to_user};
use crate::audit;

// These names have to be Drawbridge's own, because the user may choose any folder as the data
// folder.
const STAGED: &str = ".drawbridge-restore.tmp";
const COMMITTED: &str = ".drawbridge-restore";

/// Why the contents of the data folder cannot be replaced.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    #[error("the restore or reset failed: {0}. The data folder is as it was before.")]
    RolledBack(#[source] io::Error),
    #[error(
        "the restore or reset is not complete: {0}. The next start of Drawbridge tries to complete it."
    )]
    Incomplete(#[source] io::Error),
}

/// Returns the names of the files and folders that are replaced.
fn replaced_names() -> [String; 7] {
    [
        DATABASE.to_owned(),
        format!("{DATABASE}-wal"),
        format!("{DATABASE}-shm"),
        audit::KEY_FILE.to_owned(),
        audit::head_file::FILE_NAME.to_owned(),
        SERVERS.to_owned(),
        CLIENT_BACKUPS.to_owned(),
    ]
}

/// The paths of the folders of a replacement after step 2.
struct CommittedFolders {
    folder: PathBuf,
    new: PathBuf,
    ready: PathBuf,
    old: PathBuf,
}

impl CommittedFolders {
    fn new(data_dir: &Path) -> Self {
        let folder = data_dir.join(COMMITTED);
        Self {
            new: folder.join("new"),
            ready: folder.join("ready"),
            old: folder.join("old"),
            folder,
        }
    }

    fn is_incomplete(&self) -> bool {
        [&self.new, &self.ready, &self.old]
            .iter()
            .any(|folder| folder.exists())
    }
}

/// Step 1: creates an empty folder for the new contents.
pub(super) fn create_staging_dir(data_dir: &Path) -> io::Result<PathBuf> {
    discard_staged(data_dir)?;
    let staging = data_dir.join(STAGED);
    fs::create_dir(&staging)?;
    restrict_to_user(&staging)?;
    let new = staging.join("new");
    fs::create_dir(&new)?;
    Ok(new)
}

/// Undoes step 1: deletes the staging folder.
pub(super) fn discard_staged(data_dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(data_dir.join(STAGED)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Step 2: commits to the replacement.
pub(super) fn commit(data_dir: &Path) -> Result<(), ReplaceError> {
    let staging = data_dir.join(STAGED);
    let new = staging.join("new");
    sync_dir(&new)
        .and_then(|()| sync_dir(&new.join(SERVERS)))
        .and_then(|()| sync_dir(&new.join(CLIENT_BACKUPS)))
        .and_then(|()| sync_dir(&staging))
        .and_then(|()| fs::rename(&staging, data_dir.join(COMMITTED)))
        .map_err(ReplaceError::RolledBack)?;
    sync_dir(data_dir).map_err(ReplaceError::Incomplete)
}

/// Returns whether step 2 of a replacement is done, and a later step is not.
pub(super) fn is_incomplete(data_dir: &Path) -> bool {
    CommittedFolders::new(data_dir).is_incomplete()
}

/// Undoes step 2: cancels a replacement whose step 3 has not begun, and deletes its new contents.
/// Returns `false` if no replacement can be cancelled.
pub(super) fn cancel(data_dir: &Path) -> io::Result<bool> {
    let committed = CommittedFolders::new(data_dir);
    if !committed.new.exists() || committed.old.exists() {
        return Ok(false);
    }
    discard_staged(data_dir)?;
    fs::rename(&committed.folder, data_dir.join(STAGED))?;
    sync_dir(data_dir)?;
    discard_staged(data_dir)?;
    Ok(true)
}

/// Performs the steps that remain after step 2. Returns the folder with the old contents, or `None`
/// if there is none.
pub(super) fn complete(data_dir: &Path) -> Result<Option<PathBuf>, ReplaceError> {
    let committed = CommittedFolders::new(data_dir);
    if !committed.is_incomplete() {
        // A process may have ended just before it removed the folder, which was empty by then.
        let _ = fs::remove_dir(&committed.folder);
        return Ok(None);
    }
    if committed.new.exists()
        && let Err(error) = move_away(data_dir, &committed)
    {
        return Err(match roll_back(data_dir, &committed) {
            Ok(()) => ReplaceError::RolledBack(error),
            Err(_) => ReplaceError::Incomplete(error),
        });
    }
    put_in_place(data_dir, &committed).map_err(ReplaceError::Incomplete)
}

/// Step 3: moves the old contents away.
fn move_away(data_dir: &Path, committed: &CommittedFolders) -> io::Result<()> {
    fs::create_dir_all(&committed.old)?;
    move_contents(data_dir, &committed.old)?;
    sync_dir(&committed.old)?;
    sync_dir(data_dir)?;
    fs::rename(&committed.new, &committed.ready)?;
    sync_dir(&committed.folder)
}

/// Undoes steps 3 and 2. Returns an error if `new` was already renamed to `ready`.
fn roll_back(data_dir: &Path, committed: &CommittedFolders) -> io::Result<()> {
    if !committed.new.exists() {
        return Err(io::Error::other("the new contents are ready"));
    }
    for name in replaced_names() {
        let (source, target) = (committed.old.join(&name), data_dir.join(&name));
        // The files that could not be moved away are still in the data folder.
        if source.exists() && !target.exists() {
            fs::rename(source, target)?;
        }
    }
    keep_old(data_dir, committed)?;
    sync_dir(data_dir)?;
    fs::rename(&committed.folder, data_dir.join(STAGED))?;
    sync_dir(data_dir)
}

/// Steps 4 and 5: moves the new contents to their places, and keeps the old contents.
fn put_in_place(data_dir: &Path, committed: &CommittedFolders) -> io::Result<Option<PathBuf>> {
    if committed.ready.exists() {
        move_contents(&committed.ready, data_dir)?;
        sync_dir(data_dir)?;
        fs::remove_dir(&committed.ready)?;
    }
    let kept = keep_old(data_dir, committed)?;
    fs::remove_dir(&committed.folder)?;
    sync_dir(data_dir)?;
    Ok(kept)
}

/// Renames `old` to a lasting name and returns the new path, or removes `old` if it is empty.
fn keep_old(data_dir: &Path, committed: &CommittedFolders) -> io::Result<Option<PathBuf>> {
    if !committed.old.exists() {
        return Ok(None);
    }
    if fs::read_dir(&committed.old)?.next().is_none() {
        fs::remove_dir(&committed.old)?;
        return Ok(None);
    }
    let kept = data_dir.join(format!("replaced-{}", clock::now().0));
    fs::rename(&committed.old, &kept)?;
    Ok(Some(kept))
}

/// Moves the files and folders of [`replaced_names`] that exist in `from` to `to`. Returns an error
/// if a moved folder exists in `to` and is not empty.
fn move_contents(from: &Path, to: &Path) -> io::Result<()> {
    for name in replaced_names() {
        let source = from.join(&name);
        match fs::rename(&source, to.join(&name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let source = source.display();
                return Err(io::Error::new(
                    error.kind(),
                    format!("{source} cannot be moved: {error}"),
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes the renames in a folder durable. Does nothing if the folder does not exist, or on
/// platforms other than Unix.
fn sync_dir(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    match fs::File::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => opened?.sync_all()?,
    }
    let _ = folder;
    Ok(())
}

#[cfg(test)]
mod tests;
