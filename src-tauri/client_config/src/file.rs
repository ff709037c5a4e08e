//! Reads, replaces and removes files of other programs. A process that is killed at any step leaves
//! the old file or the new file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::kill_point::reach_kill_point;

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The most symbolic links that are followed, as on Linux.
const MAX_LINKS: usize = 40;

/// The reason why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        path: PathBuf,
        action: &'static str,
        source: io::Error,
    },
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    #[error("{} is larger than 64 MiB", .0.display())]
    TooLarge(PathBuf),
    #[error("{} is read-only; allow writing it, and try again", .0.display())]
    ReadOnly(PathBuf),
    #[error("{} was changed by another program in the meantime; review the changes again", .0.display())]
    Changed(PathBuf),
}

impl FileError {
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            path,
            action,
            source,
        }
    }
}

/// Returns the bytes of a file, or `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(FileError::io(path, "read"))?,
    };
    if !metadata.is_file() {
        return Err(FileError::NotAFile(path.to_owned()));
    }
    if metadata.len() > MAX_FILE {
        return Err(FileError::TooLarge(path.to_owned()));
    }
    fs::read(path)
        .map(Some)
        .map_err(FileError::io(path, "read"))
}

/// Returns the file to which a path leads through symbolic links. The file may not exist. The links
/// have to stay, because dotfile managers place them.
pub(crate) fn follow_links(path: &Path) -> Result<PathBuf, FileError> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(FileError::NotAFile(path.to_owned()))
}

/// Rejects a read-only file, which a rename would replace nevertheless.
pub(crate) fn check_writable(target: &Path) -> Result<(), FileError> {
    match fs::metadata(target) {
        Ok(metadata) if metadata.permissions().readonly() => {
            Err(FileError::ReadOnly(target.to_owned()))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::io(target, "read")(error))
        }
        _ => Ok(()),
    }
}

/// Creates folders, in this order. A folder may exist already.
pub(crate) fn create_folders(folders: &[PathBuf]) -> Result<(), FileError> {
    for folder in folders {
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(FileError::io(folder, "create")(error));
            }
            _ => reach_kill_point("folder"),
        }
    }
    Ok(())
}

/// Returns the folders above a path that do not exist, outermost first.
pub(crate) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
}

/// Returns the path of the temporary file, beside the file that it will replace.
pub(crate) fn temporary_file(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.drawbridge-new"))
}

/// Checks that a file still has the bytes `before`, or, if `before` is `None`, that there is still
/// no file.
///
/// # Errors
/// Returns an error if the file cannot be read or has changed.
pub(crate) fn check_unchanged(target: &Path, before: Option<&[u8]>) -> Result<(), FileError> {
    if read(target)?.as_deref() == before {
        Ok(())
    } else {
        Err(FileError::Changed(target.to_owned()))
    }
}

/// Replaces a file if it still has the bytes `before`, or creates it if `before` is `None` and
/// there is still no file. The mode and the owner stay.
pub(crate) fn replace(target: &Path, before: Option<&[u8]>, after: &[u8]) -> Result<(), FileError> {
    check_writable(target)?;
    let temporary = temporary_file(target);
    let written = write_temporary(target, &temporary, after).and_then(|()| {
        check_unchanged(target, before)?;
        reach_kill_point("compared");
        rename(&temporary, target).map_err(FileError::io(target, "write"))
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    reach_kill_point("renamed");
    sync_folder(target)?;
    check_unchanged(target, Some(after))
}

/// Removes a file if it still has the bytes `before`.
pub(crate) fn remove(target: &Path, before: &[u8]) -> Result<(), FileError> {
    check_unchanged(target, Some(before))?;
    fs::remove_file(target).map_err(FileError::io(target, "remove"))?;
    reach_kill_point("removed");
    sync_folder(target)
}

/// Writes the temporary file, with the mode and the owner of the target.
fn write_temporary(target: &Path, temporary: &Path, bytes: &[u8]) -> Result<(), FileError> {
    match fs::remove_file(temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(FileError::io(temporary, "remove")(error));
        }
        _ => {}
    }
    write_new(temporary, bytes)?;
    reach_kill_point("written");
    if let Ok(metadata) = fs::metadata(target) {
        copy_owner(temporary, &metadata).map_err(FileError::io(target, "keep the owner of"))?;
        fs::set_permissions(temporary, metadata.permissions())
            .map_err(FileError::io(target, "keep the mode of"))?;
    }
    Ok(())
}

/// Writes a new file that only its owner can read, and syncs it to the disk.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    use io::Write as _;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(FileError::io(path, "create"))?;
    reach_kill_point("created");
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(FileError::io(path, "write"))
}

#[cfg(unix)]
fn copy_owner(path: &Path, metadata: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let current = fs::metadata(path)?;
    let user = (current.uid() != metadata.uid()).then_some(metadata.uid());
    let group = (current.gid() != metadata.gid()).then_some(metadata.gid());
    if user.is_none() && group.is_none() {
        return Ok(());
    }
    chown(path, user, group)
}

#[cfg(not(unix))]
fn copy_owner(_path: &Path, _metadata: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Retries for a second, because virus scanners and the client itself hold files open for a moment.
#[cfg(not(unix))]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    use std::{thread, time::Duration};
    for _ in 0..20 {
        match fs::rename(from, to) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                thread::sleep(Duration::from_millis(50));
            }
            other => return other,
        }
    }
    fs::rename(from, to)
}

/// Makes the rename or removal of a file durable, by syncing its folder. Does nothing on Windows.
pub(crate) fn sync_folder(path: &Path) -> Result<(), FileError> {
    #[cfg(unix)]
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(FileError::io(path, "write"))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
