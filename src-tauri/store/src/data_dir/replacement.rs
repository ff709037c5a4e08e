//! Replaces the contents of the data folder in steps, of which any process can do those that another
//! one left undone.
//!
//! 1. The new contents are prepared in `restore.tmp/new`. Until they are complete, nothing else
//!    happens.
//! 2. `restore.tmp` gets the name `restore`. From here on, the contents will be replaced.
//! 3. The current contents move to `restore/old`, and `restore/new` gets the name `restore/ready`.
//! 4. The contents of `restore/ready` move to their places.
//! 5. `restore/old` becomes a folder with a name of its own, which stays.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use drawbridge_model::clock;

use super::{CLIENT_BACKUPS, DATABASE, SERVERS, restrict_to_user};
use crate::audit;

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

/// Step 1: creates an empty folder for the new contents.
pub(super) fn create_staging_dir(data_dir: &Path) -> io::Result<PathBuf> {
    discard_staged(data_dir)?;
    let staging = data_dir.join("restore.tmp");
    fs::create_dir(&staging)?;
    restrict_to_user(&staging)?;
    let new = staging.join("new");
    fs::create_dir(&new)?;
    Ok(new)
}

/// Deletes what step 1 made.
pub(super) fn discard_staged(data_dir: &Path) -> io::Result<()> {
    remove_dir_if_exists(&data_dir.join("restore.tmp"))
}

/// Step 2.
pub(super) fn commit(data_dir: &Path) -> io::Result<()> {
    fs::rename(data_dir.join("restore.tmp"), data_dir.join("restore"))?;
    sync_dir(data_dir)
}

/// Steps 3 to 5, or those that are left. Returns the folder with what was replaced.
pub(super) fn complete(data_dir: &Path) -> io::Result<Option<PathBuf>> {
    let work = data_dir.join("restore");
    if !work.exists() {
        return Ok(None);
    }
    let (new, ready, old) = (work.join("new"), work.join("ready"), work.join("old"));
    if new.exists() {
        fs::create_dir_all(&old)?;
        move_contents(data_dir, &old)?;
        fs::rename(&new, &ready)?;
        sync_dir(&work)?;
    }
    if ready.exists() {
        move_contents(&ready, data_dir)?;
        sync_dir(data_dir)?;
        remove_dir_if_exists(&ready)?;
    }
    let has_old = old.exists() && fs::read_dir(&old)?.next().is_some();
    let kept = data_dir.join(format!("before-restore-{}", clock::now().0));
    if has_old {
        fs::rename(&old, &kept)?;
    }
    remove_dir_if_exists(&work)?;
    sync_dir(data_dir)?;
    Ok(has_old.then_some(kept))
}

/// Moves those of the contents that are in one folder to another one, where they do not exist.
fn move_contents(from: &Path, to: &Path) -> io::Result<()> {
    for name in replaced_names() {
        match fs::rename(from.join(&name), to.join(&name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn remove_dir_if_exists(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes the renames in a folder durable. Does nothing on platforms other than Unix.
fn sync_dir(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::File::open(folder)?.sync_all()?;
    let _ = folder;
    Ok(())
}

#[cfg(test)]
mod tests;
