//! The files of one shared folder.
//!
//! Links in a path are resolved first, within the shared folder. Then the file is opened one name
//! at a time, each relative to the descriptor of its parent folder, and no name may be a link. So
//! even if another program replaces files or folders in the meantime, no file outside of the shared
//! folder is opened.

use std::{
    ffi::OsString,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::{
    ambient_authority,
    fs::{Dir, File, OpenOptions},
};
use drawbridge_model::shared_folder::SharedFolder;

use super::private_names::is_private;

/// The size of the largest file that is read, in bytes. As base64, or as text with a usual number
/// of escapes, the file fits into a message.
pub(super) const MAX_FILE: u64 = 5 * 1024 * 1024;
/// The maximum number of nested folders above a listed file, without the shared folder itself.
pub(super) const MAX_DEPTH: usize = 16;
/// The maximum number of entries that are visited to list the files of a folder.
const MAX_VISITED: usize = 200_000;
/// The maximum number of entries that reading a folder returns.
const MAX_FOLDER_ENTRIES: usize = 1_000;

/// The files of a shared folder.
pub(super) struct Tree<'a> {
    folder: &'a SharedFolder,
    /// Folders that are not shared as a part of this folder: Drawbridge's own data folder, and
    /// folders that are shared on their own.
    excluded: Vec<&'a Path>,
}

/// A file in a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListedFile {
    /// The path relative to the shared folder.
    pub(super) path: PathBuf,
    pub(super) size: u64,
}

/// The contents at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Contents {
    File(Vec<u8>),
    /// The names in a folder, sorted; the names of folders end with a slash.
    Folder {
        names: Vec<String>,
        is_complete: bool,
    },
}

/// The reason why a path cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("there is no such file")]
    Missing,
    #[error("hidden files, and files whose names suggest that they hold secrets, are not shared")]
    Private,
    #[error("this part of the folder is not shared")]
    Excluded,
    #[error("the path leads out of the shared folder")]
    Outside,
    #[error("it is neither a file nor a folder")]
    Special,
    #[error("it has {size} bytes, and at most {MAX_FILE} can be read")]
    TooLarge { size: u64 },
    #[error("it was replaced while it was read; try again")]
    Replaced,
    #[error("the shared folder cannot be opened: {0}")]
    Folder(io::Error),
    #[error("{0}")]
    Io(io::Error),
}

impl<'a> Tree<'a> {
    pub(super) fn new(folder: &'a SharedFolder, excluded: Vec<&'a Path>) -> Self {
        Self { folder, excluded }
    }

    /// Returns the contents of a file or a folder. `path` is relative to the shared folder.
    pub(super) fn read(&self, path: &Path) -> Result<Contents, ReadError> {
        check_names(path)?;
        if !self.folder.all_files && is_private(path) {
            return Err(ReadError::Private);
        }
        let root = open_root(&self.folder.path).map_err(ReadError::Folder)?;
        let resolved = self.resolve(&root, path)?;
        let (parent, name) = open_parent(&root, &resolved)?;
        let Some(name) = name else {
            return self.read_folder(&parent, &resolved);
        };
        // Check the type before opening, because opening a device may have effects.
        let metadata = parent.symlink_metadata(&name).map_err(from_io)?;
        if metadata.is_dir() {
            let folder = parent.open_dir_nofollow(&name).map_err(from_swap)?;
            return self.read_folder(&folder, &resolved);
        }
        if !metadata.is_file() {
            return Err(ReadError::Special);
        }
        read_file(&parent, &name)
    }

    /// Adds the files of the folder to a list, sorted, until the list has `limit` entries. Omits
    /// files that are more than [`MAX_DEPTH`] folders deep. Returns false if the limit of listed or
    /// visited entries was reached.
    pub(super) fn list(
        &self,
        limit: usize,
        files: &mut Vec<ListedFile>,
    ) -> Result<bool, ReadError> {
        let root = open_root(&self.folder.path).map_err(ReadError::Folder)?;
        let start = files.len();
        let mut walk = Walk {
            tree: self,
            root: &root,
            visited: 0,
            limit,
            files,
        };
        let is_complete = walk.add_folder(&root, Path::new(""), 0);
        files[start..].sort_unstable();
        Ok(is_complete)
    }

    /// Returns the full path, with all links resolved, of a path in the shared folder.
    pub(super) fn find(&self, path: &Path) -> Result<PathBuf, ReadError> {
        check_names(path)?;
        if !self.folder.all_files && is_private(path) {
            return Err(ReadError::Private);
        }
        let root = open_root(&self.folder.path).map_err(ReadError::Folder)?;
        Ok(self.folder.path.join(self.resolve(&root, path)?))
    }

    /// Resolves the links in a path. The links may not lead out of the folder, or to a private or
    /// excluded file.
    fn resolve(&self, root: &Dir, path: &Path) -> Result<PathBuf, ReadError> {
        if path.as_os_str().is_empty() {
            return Ok(PathBuf::new());
        }
        let resolved = root.canonicalize(path).map_err(from_io)?;
        let resolved: PathBuf = resolved
            .components()
            .filter(|part| *part != Component::CurDir)
            .collect();
        check_names(&resolved)?;
        if !self.folder.all_files && is_private(&resolved) {
            return Err(ReadError::Private);
        }
        if self.excludes(&resolved) {
            return Err(ReadError::Excluded);
        }
        Ok(resolved)
    }

    fn read_folder(&self, folder: &Dir, path: &Path) -> Result<Contents, ReadError> {
        let (mut names, mut is_complete) = (Vec::new(), true);
        for entry in folder.entries().map_err(ReadError::Io)? {
            let entry = entry.map_err(ReadError::Io)?;
            let (name, kind) = (entry.file_name(), entry.file_type());
            if !self.shares(&path.join(&name)) {
                continue;
            }
            if names.len() == MAX_FOLDER_ENTRIES {
                is_complete = false;
                break;
            }
            let slash = if kind.is_ok_and(|kind| kind.is_dir()) {
                "/"
            } else {
                ""
            };
            names.push(format!("{}{slash}", name.to_string_lossy()));
        }
        names.sort_unstable();
        Ok(Contents::Folder { names, is_complete })
    }

    /// Returns whether an entry of a shared folder is shared too. `path` has no links.
    fn shares(&self, path: &Path) -> bool {
        let name = path.file_name().map_or(path, Path::new);
        (self.folder.all_files || !is_private(name)) && !self.excludes(path)
    }

    fn excludes(&self, path: &Path) -> bool {
        let path = self.folder.path.join(path);
        self.excluded
            .iter()
            .any(|excluded| path.starts_with(excluded))
    }
}

/// The state of a walk that lists the files of a tree.
struct Walk<'a, 'b> {
    tree: &'a Tree<'a>,
    root: &'a Dir,
    visited: usize,
    limit: usize,
    files: &'b mut Vec<ListedFile>,
}

impl Walk<'_, '_> {
    /// Adds the files below a folder. A folder that cannot be read counts as empty. Returns false
    /// if the limit of visited or of listed entries was reached.
    fn add_folder(&mut self, folder: &Dir, path: &Path, depth: usize) -> bool {
        let Ok(entries) = folder.entries() else {
            return true;
        };
        for entry in entries.flatten() {
            self.visited += 1;
            if self.visited > MAX_VISITED || self.files.len() >= self.limit {
                return false;
            }
            let path = path.join(entry.file_name());
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if !self.tree.shares(&path) {
                continue;
            }
            if kind.is_dir() {
                let inner = folder.open_dir_nofollow(entry.file_name());
                if depth == MAX_DEPTH
                    || !inner.is_ok_and(|dir| self.add_folder(&dir, &path, depth + 1))
                {
                    // A folder that is too deep, or cannot be opened, does not end the list.
                    if self.visited > MAX_VISITED || self.files.len() >= self.limit {
                        return false;
                    }
                }
            } else if kind.is_file() {
                if let Some(metadata) = entry.metadata().ok().filter(|metadata| metadata.is_file())
                {
                    let size = metadata.len();
                    self.files.push(ListedFile { path, size });
                }
            } else if kind.is_symlink() {
                self.add_link(path);
            }
        }
        true
    }

    /// Adds a link if it leads to a shared file. Links to folders are not followed, because they
    /// may form a cycle.
    fn add_link(&mut self, path: PathBuf) {
        let Ok(target) = self.tree.resolve(self.root, &path) else {
            return;
        };
        let Ok(metadata) = self.root.symlink_metadata(target) else {
            return;
        };
        if metadata.is_file() {
            let size = metadata.len();
            self.files.push(ListedFile { path, size });
        }
    }
}

/// Checks that a path consists of plain names, and that no name is an alias of another name on
/// Windows.
fn check_names(path: &Path) -> Result<(), ReadError> {
    let is_name = |part: Component<'_>| match part {
        // On Windows, `:` begins the name of a stream, and trailing dots and spaces are dropped.
        Component::Normal(name) if cfg!(windows) => {
            let name = name.to_string_lossy();
            !name.contains(':') && !name.ends_with(['.', ' '])
        }
        Component::Normal(_) => true,
        Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
            false
        }
    };
    path.components()
        .all(is_name)
        .then_some(())
        .ok_or(ReadError::Outside)
}

/// Opens a shared folder. The path had no links when the folder was shared; a link that was put
/// there later is not followed.
fn open_root(path: &Path) -> io::Result<Dir> {
    let mut parts = path.components();
    let mut top = PathBuf::new();
    let mut names = Vec::new();
    for part in parts.by_ref() {
        match part {
            Component::Prefix(_) | Component::RootDir => top.push(part),
            Component::Normal(name) => names.push(name.to_owned()),
            Component::CurDir | Component::ParentDir => {
                return Err(io::Error::from(io::ErrorKind::InvalidInput));
            }
        }
    }
    let top = Dir::open_ambient_dir(top, ambient_authority())?;
    names
        .iter()
        .try_fold(top, |folder, name| folder.open_dir_nofollow(name))
}

/// Opens the folder that contains a path without links. Returns this folder, and the last name of
/// the path. If the path is empty, returns the shared folder itself and no name.
fn open_parent(root: &Dir, path: &Path) -> Result<(Dir, Option<OsString>), ReadError> {
    let mut names: Vec<_> = path.components().map(Component::as_os_str).collect();
    let last = names.pop().map(ToOwned::to_owned);
    let root = root.try_clone().map_err(ReadError::Io)?;
    let parent = names
        .iter()
        .try_fold(root, |folder, name| folder.open_dir_nofollow(name))
        .map_err(from_swap)?;
    Ok((parent, last))
}

fn read_file(parent: &Dir, name: &OsString) -> Result<Contents, ReadError> {
    let mut options = OpenOptions::new();
    // Without `nonblock`, a pipe that was put in the file's place would hold the thread forever.
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file: File = parent.open_with(name, &options).map_err(from_swap)?;
    let metadata = file.metadata().map_err(ReadError::Io)?;
    if !metadata.is_file() {
        return Err(ReadError::Special);
    }
    let too_large = |size| ReadError::TooLarge { size };
    if metadata.len() > MAX_FILE {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(ReadError::Io)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(Contents::File(bytes))
}

fn from_io(error: io::Error) -> ReadError {
    let kind = error.kind();
    if matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
        ReadError::Missing
    } else if kind == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        // `cap-std` reports a path that leads out of the folder in this way.
        ReadError::Outside
    } else {
        ReadError::Io(error)
    }
}

/// Returns the error for a name that was no link when the path was resolved, but cannot be opened
/// now: usually, another program has replaced the file.
fn from_swap(error: io::Error) -> ReadError {
    let kind = error.kind();
    if kind == io::ErrorKind::NotFound {
        ReadError::Missing
    } else if kind == io::ErrorKind::PermissionDenied && error.raw_os_error().is_some() {
        ReadError::Io(error)
    } else {
        ReadError::Replaced
    }
}

#[cfg(all(test, unix))]
mod tests;
