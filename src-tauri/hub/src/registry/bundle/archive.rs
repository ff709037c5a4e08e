//! The zip archive of a bundle: checks all entries before any file is written.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Cursor, Read},
    path::Path,
};

use zip::ZipArchive;

use super::{BundleError, MANIFEST_FILE};

/// The most files and folders of a bundle.
const MAX_ENTRIES: usize = 50_000;
/// The most bytes of all unpacked files.
const MAX_UNPACKED_BYTES: u64 = 1024 * 1024 * 1024;
/// The most bytes of the manifest.
const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;
/// The maximum length of a path in a bundle, in bytes.
const MAX_PATH_BYTES: usize = 512;
/// How many times larger than its packed form a file may be. A file of at most
/// [`MIN_BYTES_FOR_RATIO`] bytes may exceed this factor, because it does no harm.
const MAX_RATIO: u64 = 200;
const MIN_BYTES_FOR_RATIO: u64 = 1024 * 1024;

/// The bits of a Unix mode for the file type, and their values for a regular file and a folder.
const TYPE_BITS: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// An archive whose entries are all files and folders with safe, distinct paths.
pub(super) struct Archive {
    zip: ZipArchive<Cursor<Vec<u8>>>,
    /// The index of each file, by its path with `/` between the names.
    files: BTreeMap<String, usize>,
    folders: BTreeSet<String>,
}

impl Archive {
    /// Reads the directory of the archive, and checks every entry.
    pub(super) fn open(bytes: Vec<u8>) -> Result<Self, BundleError> {
        let mut zip = ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| BundleError::NotZip(error.to_string()))?;
        if zip.len() > MAX_ENTRIES {
            return Err(BundleError::Refused(format!(
                "it has {} entries, and at most {MAX_ENTRIES} are allowed",
                zip.len()
            )));
        }
        if zip.has_duplicate_names() {
            return Err(BundleError::Refused(
                "two of its entries have the same name".into(),
            ));
        }
        let (mut files, mut folders) = (BTreeMap::new(), BTreeSet::new());
        // Some systems do not distinguish upper and lower case in the names of files.
        let mut folded = BTreeSet::new();
        let mut unpacked: u64 = 0;
        for index in 0..zip.len() {
            let entry = zip
                .by_index_raw(index)
                .map_err(|error| BundleError::NotZip(error.to_string()))?;
            let shown = String::from_utf8_lossy(entry.name_raw())
                .escape_debug()
                .to_string();
            let refuse = |fault: &str| BundleError::Entry {
                entry: shown.clone(),
                fault: fault.to_owned(),
            };
            let name = std::str::from_utf8(entry.name_raw())
                .map_err(|_| refuse("has a name that is not UTF-8"))?;
            let is_folder = name.ends_with('/');
            let path = name.strip_suffix('/').unwrap_or(name);
            check_path(path).map_err(refuse)?;
            if entry.encrypted() {
                return Err(refuse("is encrypted"));
            }
            let expected = if is_folder { FOLDER } else { REGULAR };
            let kind = entry.unix_mode().unwrap_or(0) & TYPE_BITS;
            if entry.is_symlink() || (kind != 0 && kind != expected) {
                return Err(refuse("is a link or a special file"));
            }
            if !folded.insert(path.to_lowercase()) {
                return Err(refuse(
                    "has the path of another entry, apart from upper and lower case",
                ));
            }
            unpacked = unpacked.saturating_add(entry.size());
            if unpacked > MAX_UNPACKED_BYTES {
                return Err(BundleError::Refused(format!(
                    "its files have more than {} MiB",
                    MAX_UNPACKED_BYTES / 1024 / 1024
                )));
            }
            if entry.size() > MIN_BYTES_FOR_RATIO
                && entry.size() / entry.compressed_size().max(1) > MAX_RATIO
            {
                return Err(refuse("is more than 200 times larger than its packed form"));
            }
            if is_folder {
                folders.insert(path.to_owned());
            } else {
                files.insert(path.to_owned(), index);
            }
        }
        let inside_a_file = files
            .keys()
            .chain(&folders)
            .find(|path| ancestors(path).any(|ancestor| files.contains_key(ancestor)));
        if let Some(path) = inside_a_file {
            return Err(BundleError::Entry {
                entry: path.escape_debug().to_string(),
                fault: "is inside another entry that is a file".to_owned(),
            });
        }
        Ok(Self {
            zip,
            files,
            folders,
        })
    }

    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Returns the text of the manifest.
    pub(super) fn read_manifest(&mut self) -> Result<String, BundleError> {
        let invalid = |message: &str| BundleError::Manifest {
            field: "the file".to_owned(),
            message: message.to_owned(),
        };
        let index = *self.files.get(MANIFEST_FILE).ok_or_else(|| {
            BundleError::Refused(format!("it has no {MANIFEST_FILE} at its top level"))
        })?;
        let file = self
            .zip
            .by_index(index)
            .map_err(|error| BundleError::NotZip(error.to_string()))?;
        let mut text = Vec::new();
        file.take(MAX_MANIFEST_BYTES + 1)
            .read_to_end(&mut text)
            .map_err(|error| BundleError::NotZip(error.to_string()))?;
        if text.len() as u64 > MAX_MANIFEST_BYTES {
            return Err(invalid("it has more than 1 MiB"));
        }
        String::from_utf8(text).map_err(|_| invalid("it is not UTF-8"))
    }

    /// Writes all files below `target`, which must be an empty folder. Only the files in
    /// `executable` may be executed.
    pub(super) fn unpack(&mut self, target: &Path, executable: &[String]) -> io::Result<()> {
        for path in &self.folders {
            fs::create_dir_all(target.join(path))?;
        }
        for (path, index) in &self.files {
            let destination = target.join(path);
            fs::create_dir_all(destination.parent().unwrap_or(target))?;
            let entry = self.zip.by_index(*index).map_err(io::Error::other)?;
            let size = entry.size();
            let mut file = create_file(&destination, executable.contains(path))?;
            // Copying one byte more than declared shows whether the file is too long, without
            // writing all of it.
            let written = io::copy(&mut entry.take(size.saturating_add(1)), &mut file)?;
            if written != size {
                return Err(io::Error::other(format!(
                    "'{}' does not have the size that the bundle states",
                    path.escape_debug()
                )));
            }
            file.sync_all()?;
        }
        Ok(())
    }
}

fn create_file(path: &Path, is_executable: bool) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(
        &mut options,
        if is_executable { 0o700 } else { 0o600 },
    );
    #[cfg(not(unix))]
    let _ = is_executable;
    options.open(path)
}

/// Checks that a path stays below the folder to which it is joined, on every system.
fn check_path(path: &str) -> Result<(), &'static str> {
    if path.len() > MAX_PATH_BYTES {
        return Err("has a path of more than 512 bytes");
    }
    if path.starts_with('/') {
        return Err("has an absolute path");
    }
    if path.contains(['\\', ':']) || path.chars().any(char::is_control) {
        return Err("has a backslash, a colon or a control character in its path");
    }
    for name in path.split('/') {
        match name {
            ".." => return Err("leaves the folder of the bundle"),
            "" | "." => return Err("has an empty name or '.' in its path"),
            // Windows drops dots and spaces at the end of a name, so two names can become the same.
            _ if name.ends_with(['.', ' ']) => {
                return Err("has a name that ends with a dot or a space");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the folders around a path.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end])
}
