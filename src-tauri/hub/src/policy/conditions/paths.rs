//! Tests whether a path is inside a folder after `..` and symbolic links are resolved.

use std::{
    borrow::Cow,
    path::{Component, Path, PathBuf},
};

use url::Url;

use super::{ConditionFault, Folders};

/// The text that stands for the client's project folder at the beginning of a rule's folder.
const PROJECT: &str = "$project";

/// A folder that a rule names.
#[derive(Debug)]
pub(super) enum Folder {
    Absolute(PathBuf),
    /// The project folder of the client, or a folder below it.
    InProject(PathBuf),
}

impl Folder {
    /// Parses the folder of a rule.
    ///
    /// # Errors
    /// Returns an error if the path is neither absolute, nor in the home folder (`~`), nor in
    /// `$project`.
    pub(super) fn new(text: &str) -> Result<Self, ConditionFault> {
        let below_project = text
            .strip_prefix(PROJECT)
            .filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\']));
        if let Some(rest) = below_project {
            let rest = Path::new(rest.trim_start_matches(['/', '\\']));
            if rest.components().any(|part| part == Component::ParentDir) {
                return Err(ConditionFault::RelativePath(text.to_owned()));
            }
            return Ok(Self::InProject(rest.to_owned()));
        }
        let path = expand_home(text).unwrap_or_else(|| PathBuf::from(text));
        if !path.is_absolute() {
            return Err(ConditionFault::RelativePath(text.to_owned()));
        }
        Ok(Self::Absolute(normalize(&path)))
    }

    /// Returns whether the folder depends on the project of the client.
    pub(super) fn is_in_project(&self) -> bool {
        matches!(self, Self::InProject(_))
    }

    /// Returns the path, or `None` if the folder is in the project and the client works in no
    /// project.
    fn resolve(&self, project: Option<&Path>) -> Option<Cow<'_, Path>> {
        match self {
            Self::Absolute(path) => Some(Cow::Borrowed(path)),
            Self::InProject(rest) => Some(Cow::Owned(normalize(&project?.join(rest)))),
        }
    }

    /// Returns whether the path is inside the folder both lexically and on disk at this moment.
    /// Also returns `false` if the path cannot be resolved, or if servers differ in how they
    /// interpret it.
    pub(super) fn must_contain(&self, text: &str, folders: Folders<'_>) -> bool {
        // Servers differ in how they interpret `~` and control characters.
        if text.starts_with('~') || text.contains(char::is_control) {
            return false;
        }
        let (Some(path), Some(folder)) = (
            to_absolute(text, folders.cwd),
            self.resolve(folders.project),
        ) else {
            return false;
        };
        let is_inside = |path: &Path| {
            let resolved = || Some(resolve_links(path)?.starts_with(resolve_links(&folder)?));
            normalize(path).starts_with(&folder) && resolved().unwrap_or(false)
        };
        is_inside(&path)
            && literal_path_of_url(text).is_none_or(|path| {
                !path.to_string_lossy().starts_with('~')
                    && join_to(folders.cwd, &path).is_some_and(|path| is_inside(&path))
            })
    }

    /// Returns whether the path is inside the folder lexically or on disk at this moment. Also
    /// returns `true` if the path cannot be resolved. Returns `false` if the folder is in the
    /// project and the client works in no project.
    pub(super) fn may_contain(&self, text: &str, folders: Folders<'_>) -> bool {
        let Some(root) = self.resolve(folders.project) else {
            return false;
        };
        let Some(path) = expand_home(text).or_else(|| to_absolute(text, folders.cwd)) else {
            return true;
        };
        let is_in = |path: &Path, folder: &Path| fold_case(path).starts_with(fold_case(folder));
        let may_be_inside = |path: &Path| {
            is_in(&normalize(path), &root)
                || resolve_links(path).is_none_or(|path| {
                    is_in(
                        &path,
                        &resolve_links(&root).unwrap_or_else(|| root.to_path_buf()),
                    )
                })
        };
        may_be_inside(&path)
            || literal_path_of_url(text).is_some_and(|path| {
                join_to(folders.cwd, &path).is_none_or(|path| may_be_inside(&path))
            })
    }
}

/// Returns the path in the home folder if the text is `~` or begins with `~/`.
fn expand_home(text: &str) -> Option<PathBuf> {
    let rest = text
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))?;
    let dirs = directories::BaseDirs::new()?;
    Some(dirs.home_dir().join(rest.trim_start_matches(['/', '\\'])))
}

/// Returns the path that a server uses if it removes `file://` from a URL and decodes nothing:
/// `file:///a/?/../../b` is `/a/` for a URL parser, and `/b` for this server. The path of
/// `file:a` is relative.
fn literal_path_of_url(text: &str) -> Option<PathBuf> {
    let rest = text
        .get(..5)
        .filter(|scheme| scheme.eq_ignore_ascii_case("file:"))
        .and_then(|_| text.get(5..))?;
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    Some(PathBuf::from(
        rest.strip_prefix("localhost").unwrap_or(rest),
    ))
}

fn to_absolute(text: &str, cwd: Option<&Path>) -> Option<PathBuf> {
    if text
        .get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
    {
        return Url::parse(text).ok()?.to_file_path().ok();
    }
    join_to(cwd, Path::new(text))
}

/// Returns an absolute path as it is, and resolves a relative path against the working folder.
/// Returns `None` if that folder is not known.
fn join_to(cwd: Option<&Path>, path: &Path) -> Option<PathBuf> {
    if path.is_absolute() {
        Some(path.to_owned())
    } else {
        cwd.map(|folder| folder.join(path))
    }
}

/// Returns the path without `.` and `..`, resolved lexically.
pub(super) fn normalize(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                plain.push(component)
            }
        }
    }
    plain
}

/// Returns the path with links resolved. A path that does not exist yet is resolved from its
/// nearest existing parent. Returns `None` if the path cannot be resolved, for example because a
/// link is broken.
fn resolve_links(path: &Path) -> Option<PathBuf> {
    if let Ok(found) = path.canonicalize() {
        return Some(found);
    }
    if path.symlink_metadata().is_ok() {
        return None;
    }
    Some(resolve_links(path.parent()?)?.join(path.file_name()?))
}

/// Returns the path in lower case, because some file systems ignore case.
fn fold_case(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().to_lowercase())
}
