//! Files that only this user can read.

use std::{fs::File, io, path::Path};

/// Creates or truncates a file. Only this user can read it afterwards, because it contains what
/// calls and servers wrote. A device or a pipe keeps its mode.
pub(crate) fn create_private_file(file: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let opened = options.open(file)?;
    if opened.metadata()?.is_file() {
        #[cfg(unix)]
        opened.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        opened.set_len(0)?;
    }
    Ok(opened)
}
