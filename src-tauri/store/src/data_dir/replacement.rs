//! Replaces the contents of the data folder in steps, of which any process can do those that
//! another one left undone.
//!
//! 1. The new contents are prepared in `new` in the folder [`STAGED`]. Until they are complete,
//!    nothing else happens.
//! 2. The folder gets the name [`COMMITTED`]. From here on, the contents will be replaced.
//! 3. The current contents move to `old` in this folder, and `new` gets the name `ready`. If a file
//!    cannot be moved, the contents move back, and the folder gets its first name again.
//! 4. The contents of `ready` move to their places.
//! 5. `old` becomes a folder with a name of its own, which stays.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use drawbridge_model::clock;

use super::{CLIENT_BACKUPS, DATABASE, SERVERS, restrict_to_user};
use crate::audit;

/// The data folder may be any folder, so these names must not be those of anything else.
const STAGED: &str = ".drawbridge-restore.tmp";
const COMMITTED: &str = ".drawbridge-restore";

/// Why the contents of the data folder cannot be replaced.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    #[error("a backup cannot be restored: {0}. The data folder is as it was before.")]
    RolledBack(#[source] io::Error),
    #[error(
        "the restore of a backup is not complete: {0}. The next start of Drawbridge tries to complete it."
    )]
    Incomplete(#[source] io::Error),
}

/// The files and folders that are replaced.
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

/// The folders of a replacement after step 2.
struct Work {
    folder: PathBuf,
    new: PathBuf,
    ready: PathBuf,
    old: PathBuf,
}

impl Work {
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

/// Deletes what step 1 made.
pub(super) fn discard_staged(data_dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(data_dir.join(STAGED)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Step 2.
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

/// Returns whether steps of a replacement are left after step 2.
pub(super) fn is_incomplete(data_dir: &Path) -> bool {
    Work::new(data_dir).is_incomplete()
}

/// Steps 3 to 5, or those that are left. Returns the folder with what was replaced.
pub(super) fn complete(data_dir: &Path) -> Result<Option<PathBuf>, ReplaceError> {
    let work = Work::new(data_dir);
    if !work.is_incomplete() {
        // A process may have ended just before it removed the folder, which is empty then.
        let _ = fs::remove_dir(&work.folder);
        return Ok(None);
    }
    if work.new.exists()
        && let Err(error) = move_away(data_dir, &work)
    {
        return Err(match roll_back(data_dir, &work) {
            Ok(()) => ReplaceError::RolledBack(error),
            Err(_) => ReplaceError::Incomplete(error),
        });
    }
    put_in_place(data_dir, &work).map_err(ReplaceError::Incomplete)
}

/// Step 3.
fn move_away(data_dir: &Path, work: &Work) -> io::Result<()> {
    fs::create_dir_all(&work.old)?;
    move_contents(data_dir, &work.old)?;
    sync_dir(&work.old)?;
    sync_dir(data_dir)?;
    fs::rename(&work.new, &work.ready)?;
    sync_dir(&work.folder)
}

/// Undoes step 3 and step 2, unless the new contents are ready.
fn roll_back(data_dir: &Path, work: &Work) -> io::Result<()> {
    if !work.new.exists() {
        return Err(io::Error::other("the new contents are ready"));
    }
    for name in replaced_names() {
        let (source, target) = (work.old.join(&name), data_dir.join(&name));
        // The files that could not be moved away are still there.
        if source.exists() && !target.exists() {
            fs::rename(source, target)?;
        }
    }
    keep_old(data_dir, work)?;
    sync_dir(data_dir)?;
    fs::rename(&work.folder, data_dir.join(STAGED))?;
    sync_dir(data_dir)
}

/// Steps 4 and 5.
fn put_in_place(data_dir: &Path, work: &Work) -> io::Result<Option<PathBuf>> {
    if work.ready.exists() {
        move_contents(&work.ready, data_dir)?;
        sync_dir(data_dir)?;
        fs::remove_dir(&work.ready)?;
    }
    let kept = keep_old(data_dir, work)?;
    fs::remove_dir(&work.folder)?;
    sync_dir(data_dir)?;
    Ok(kept)
}

/// Gives `old` a name of its own, or removes it if it is empty.
fn keep_old(data_dir: &Path, work: &Work) -> io::Result<Option<PathBuf>> {
    if !work.old.exists() {
        return Ok(None);
    }
    if fs::read_dir(&work.old)?.next().is_none() {
        fs::remove_dir(&work.old)?;
        return Ok(None);
    }
    let kept = data_dir.join(format!("before-restore-{}", clock::now().0));
    fs::rename(&work.old, &kept)?;
    Ok(Some(kept))
}

/// Moves those of the contents that are in one folder to another one, where they do not exist.
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

/// Makes the renames in a folder durable, if there is one. Does nothing on platforms other than
/// Unix.
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
