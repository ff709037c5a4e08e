//! The unpacked files of bundles: `bundles/SERVER/DIGEST` in the data folder.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use drawbridge_model::{ids::ServerId, spec::ServerSpec};
use drawbridge_store::data_dir;

use super::{Bundle, BundleError};

/// The number of hexadecimal digits of the digest in the name of a folder.
const DIGEST_DIGITS: usize = 32;
/// The extension of the folder with the old files, while new files take their place.
const REPLACED: &str = "old";

/// Returns the folder for the files of a server's bundle.
pub fn bundle_folder(data_dir: &Path, id: &ServerId, digest: &str) -> PathBuf {
    let name: String = digest
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(DIGEST_DIGITS)
        .collect();
    server_folder(data_dir, id).join(name)
}

fn server_folder(data_dir: &Path, id: &ServerId) -> PathBuf {
    data_dir.join(data_dir::BUNDLES).join(id.as_str())
}

/// Unpacks a bundle to `target`. The files appear there all together or not at all: they are
/// written to a temporary folder, and this folder is then renamed to `target`. Files that are
/// already in `target` are replaced, and stay if the bundle cannot be unpacked.
///
/// # Errors
/// Returns an error if a file cannot be written, or does not have the size that the bundle states.
/// In this case, no file of the bundle remains.
pub fn unpack(bundle: &mut Bundle, target: &Path) -> Result<(), BundleError> {
    let executable = bundle.manifest.executable_files();
    write_files(bundle, target, &executable).map_err(|source| BundleError::Unpack {
        path: target.display().to_string(),
        source,
    })
}

fn write_files(bundle: &mut Bundle, target: &Path, executable: &[String]) -> io::Result<()> {
    let parent = target
        .parent()
        .expect("the folder of a bundle has a parent");
    create_private_folder(parent)?;
    let staging = target.with_extension("part");
    // An interrupted run may have left files.
    complete_replacement(target)?;
    delete_if_present(&staging)?;
    create_private_folder(&staging)?;
    let written = bundle
        .archive
        .unpack(&staging, executable)
        .and_then(|()| replace(target, &staging));
    if written.is_err() {
        let _ = fs::remove_dir_all(&staging);
        // This call fails if the folder has other files, which then stay.
        let _ = fs::remove_dir(parent);
    }
    written
}

/// Renames `staging` to `target`. The old files of `target` are deleted last, so that `target` or
/// the folder with the old files is complete at any moment.
fn replace(target: &Path, staging: &Path) -> io::Result<()> {
    let replaced = target.with_extension(REPLACED);
    rename_if_present(target, &replaced)?;
    if let Err(error) = fs::rename(staging, target) {
        let _ = rename_if_present(&replaced, target);
        return Err(error);
    }
    if let Err(error) = delete_if_present(&replaced) {
        tracing::warn!(folder = %replaced.display(), %error, "the old files of a bundle remain until the next start");
    }
    Ok(())
}

/// Deletes the old files of an interrupted replacement if the new files are in `target`, and
/// otherwise puts the old files back.
fn complete_replacement(target: &Path) -> io::Result<()> {
    let replaced = target.with_extension(REPLACED);
    if target.try_exists()? {
        delete_if_present(&replaced)
    } else {
        rename_if_present(&replaced, target)
    }
}

/// Completes the replacements of unpacked files that were interrupted: the old files are put back
/// if the new files are not in place, and deleted otherwise. No bundle may be added meanwhile.
///
/// # Errors
/// Returns an error if a folder cannot be read, renamed or deleted.
pub fn complete_replacements(data_dir: &Path) -> Result<(), BundleError> {
    for server in list_folders(&data_dir.join(data_dir::BUNDLES))? {
        for folder in list_folders(&server)? {
            if digest_of(&folder).is_some() && folder.extension() == Some(OsStr::new(REPLACED)) {
                complete_replacement(&folder.with_extension("")).map_err(|source| {
                    BundleError::Restore {
                        path: folder.display().to_string(),
                        source,
                    }
                })?;
            }
        }
    }
    Ok(())
}

/// Returns the digest in the name of a folder, or `None` if the folder is not for a bundle.
fn digest_of(folder: &Path) -> Option<&str> {
    let digest = folder.file_stem()?.to_str()?;
    let is_digest =
        digest.len() == DIGEST_DIGITS && digest.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_digest.then_some(digest)
}

/// Deletes the unpacked files to which none of `specs` refers: the files of a server whose spec is
/// gone, and the files of an interrupted addition. No bundle may be added meanwhile. Returns the
/// deleted folders.
///
/// # Errors
/// Returns an error if a folder cannot be read or deleted.
pub fn delete_unused_bundles<'a>(
    data_dir: &Path,
    specs: impl Iterator<Item = &'a ServerSpec>,
) -> Result<Vec<PathBuf>, BundleError> {
    let servers = list_folders(&data_dir.join(data_dir::BUNDLES))?;
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    let texts: Vec<String> = specs
        .map(|spec| serde_json::to_string(spec).expect("a spec can be written as JSON"))
        .collect();
    let is_unused = |folder: &Path| {
        let Some(digest) = digest_of(folder) else {
            return false;
        };
        let server = folder
            .parent()
            .and_then(Path::file_stem)
            .unwrap_or_default();
        let server = server.to_string_lossy();
        // Only the last two names are compared, because the data folder may have several paths.
        // JSON escapes the separator of Windows.
        let paths = ["/", r"\\"].map(|separator| format!("{server}{separator}{digest}"));
        let is_used = texts
            .iter()
            .any(|text| paths.iter().any(|path| text.contains(path)));
        // Only a temporary folder, which an interrupted addition has left, has an extension.
        folder.extension().is_some() || !is_used
    };
    let mut removed = Vec::new();
    for server in servers {
        for folder in list_folders(&server)? {
            if is_unused(&folder) {
                delete_if_present(&folder).map_err(|source| cannot_delete(&folder, source))?;
                removed.push(folder);
            }
        }
        // This call fails if the folder has other files, which then stay.
        let _ = fs::remove_dir(server);
    }
    Ok(removed)
}

/// Returns the folders in a folder, or none if the folder does not exist.
fn list_folders(folder: &Path) -> Result<Vec<PathBuf>, BundleError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries,
    };
    let folders = entries.and_then(|entries| {
        let mut folders = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
        Ok(folders)
    });
    folders.map_err(|source| cannot_delete(folder, source))
}

fn cannot_delete(folder: &Path, source: io::Error) -> BundleError {
    BundleError::Delete {
        path: folder.display().to_string(),
        source,
    }
}

/// Deletes the unpacked files of a server, if there are any.
///
/// # Errors
/// Returns an error if a file cannot be deleted.
pub fn delete_bundles(data_dir: &Path, id: &ServerId) -> Result<(), BundleError> {
    let folder = server_folder(data_dir, id);
    delete_if_present(&folder).map_err(|source| cannot_delete(&folder, source))
}

fn delete_if_present(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn rename_if_present(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
