//! The unpacked files of bundles: `bundles/SERVER/DIGEST` in the data folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use drawbridge_model::ids::ServerId;

use super::{Bundle, BundleError};

/// The folder in the data folder.
const BUNDLES: &str = "bundles";
/// How many hexadecimal digits of the digest name a folder.
const DIGEST_DIGITS: usize = 32;

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
    data_dir.join(BUNDLES).join(id.as_str())
}

/// Unpacks a bundle to `target`. The files appear there all together or not at all: they are
/// written to a temporary folder beside it, which is renamed.
///
/// # Errors
/// Returns an error if a file cannot be written, or is not as the bundle states. Nothing remains
/// then.
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
    // An interrupted run can have left files.
    remove_if_present(&staging)?;
    create_private_folder(&staging)?;
    let written = bundle
        .archive
        .unpack(&staging, executable)
        .and_then(|()| remove_if_present(target))
        .and_then(|()| fs::rename(&staging, target));
    if written.is_err() {
        let _ = fs::remove_dir_all(&staging);
        // Fails if the folder has other files, which then stay.
        let _ = fs::remove_dir(parent);
    }
    written
}

/// Removes the unpacked files of a server, if there are any.
///
/// # Errors
/// Returns an error if a file cannot be removed.
pub fn remove_folders(data_dir: &Path, id: &ServerId) -> Result<(), BundleError> {
    let folder = server_folder(data_dir, id);
    remove_if_present(&folder).map_err(|source| BundleError::Remove {
        path: folder.display().to_string(),
        source,
    })
}

fn remove_if_present(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
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
