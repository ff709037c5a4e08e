//! A Unix domain socket with mode 0600 in a folder that only its owner can write to. Refuses
//! connections of other users, except root.

#[cfg(test)]
mod tests;

use std::{
    env,
    ffi::OsStr,
    fs, io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, PermissionsExt},
        net::UnixStream as BlockingStream,
    },
    path::{Path, PathBuf},
};

use axum::serve::Listener;
use drawbridge_hub::api::ApiError;
use nix::unistd::Uid;
use sha2::{Digest, Sha256};
use tokio::net::{UnixListener, UnixStream, unix::SocketAddr};

use super::BindOutcome;
use crate::listener::BindError;

/// `sun_path` holds 104 bytes on macOS and 108 on Linux, including a NUL.
const MAX_PATH_BYTES: usize = 100;

/// Binds the socket of the hub for `data_dir`. The caller must hold the lock of that folder.
/// Replaces the socket file of a hub that was killed. Fails if another program listens on the
/// socket, if the file or folder cannot be created, or if [`check_folder`] refuses the folder.
pub(crate) async fn bind(data_dir: &Path) -> BindOutcome<OwnUserListener> {
    let path = socket_path(data_dir);
    BindOutcome {
        address: path.display().to_string(),
        listener: listen(&path).map(|listener| OwnUserListener { listener, path }),
    }
}

/// Checks that the hub of `data_dir` listens, and returns a builder of HTTP clients for it.
///
/// # Errors
/// Returns an error if no hub listens, or if [`check_folder`] refuses the socket's folder.
pub(crate) fn client_builder(data_dir: &Path) -> Result<reqwest::ClientBuilder, ApiError> {
    let path = socket_path(data_dir);
    check_folder(folder_of(&path))
        .and_then(|()| BlockingStream::connect(&path).map_err(BindError::from))
        .map_err(|e| {
            ApiError::unavailable(format!(
                "no Drawbridge is running with the data folder {}: cannot connect to {}: {e}",
                data_dir.display(),
                path.display()
            ))
        })?;
    // The socket needs no TLS, and so no CA certificates.
    Ok(reqwest::Client::builder()
        .tls_certs_only([])
        .unix_socket(path.as_path()))
}

/// Returns the path of a data folder's socket. The socket is in the data folder or, if that path is
/// too long for a socket, in this user's folder for sockets. There, the file is named with a hash
/// of the data folder's path.
pub(crate) fn socket_path(data_dir: &Path) -> PathBuf {
    let data_dir = fs::canonicalize(data_dir)
        .or_else(|_| std::path::absolute(data_dir))
        .unwrap_or_else(|_| data_dir.to_path_buf());
    let path_in_data_dir = data_dir.join("drawbridge.sock");
    if path_in_data_dir.as_os_str().len() <= MAX_PATH_BYTES {
        return path_in_data_dir;
    }
    let runtime_dir = env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty());
    let folder = runtime_dir
        .map_or_else(env::temp_dir, PathBuf::from)
        .join(user_folder_name());
    let hash = hex::encode(Sha256::digest(data_dir.as_os_str().as_bytes()));
    folder.join(format!("{}.sock", &hash[..16]))
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .expect("the socket has a file name in a folder")
}

fn listen(path: &Path) -> Result<UnixListener, BindError> {
    let folder = folder_of(path);
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e.into()),
        _ => check_folder(folder)?,
    }
    if BlockingStream::connect(path).is_ok() {
        return Err(BindError::SocketInUse);
    }
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e.into()),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Checks that other users cannot replace the socket. A data folder may belong to another user, for
/// example if the hub runs as root in a container. The folder from [`user_folder_name`] must belong
/// to this user: its parent may be shared, so another user could have created it.
fn check_folder(folder: &Path) -> Result<(), BindError> {
    let metadata = fs::symlink_metadata(folder)?;
    let is_user_folder = folder.file_name() == Some(OsStr::new(&user_folder_name()));
    if is_user_folder && metadata.uid() != Uid::effective().as_raw() {
        return Err(BindError::ForeignFolder {
            folder: folder.to_path_buf(),
        });
    }
    if !metadata.is_dir() || metadata.mode() & 0o022 != 0 {
        return Err(BindError::SharedFolder {
            folder: folder.to_path_buf(),
        });
    }
    Ok(())
}

/// Returns the name of this user's folder for sockets, which is in a place that users may share.
fn user_folder_name() -> String {
    format!("drawbridge-{}", Uid::effective())
}

/// Accepts connections of this user, and of root, who has access anyway. Removes the socket file
/// when dropped.
pub(crate) struct OwnUserListener {
    listener: UnixListener,
    path: PathBuf,
}

impl Listener for OwnUserListener {
    type Io = UnixStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (UnixStream, SocketAddr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            let peer_uid = stream.peer_cred().map(|credentials| credentials.uid());
            if peer_uid.is_ok_and(|uid| uid == Uid::effective().as_raw() || uid == 0) {
                return (stream, address);
            }
            tracing::warn!("refused a connection of another user to the local socket");
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Drop for OwnUserListener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
