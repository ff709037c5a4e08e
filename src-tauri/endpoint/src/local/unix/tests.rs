//! The path of the socket, its permissions, its removal and replacement, and the check of its
//! folder.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use super::{BindError, bind, client_builder, socket_path};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("chmod");
    folder
}

#[test]
fn the_socket_is_in_the_data_folder_unless_its_path_is_too_long() {
    assert_eq!(
        socket_path(Path::new("/nowhere/data")),
        Path::new("/nowhere/data/drawbridge.sock")
    );
    let long = socket_path(Path::new(&format!("/nowhere/{}", "x".repeat(100))));
    assert!(long.as_os_str().len() <= 100, "{}", long.display());
    let name = long
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    assert_eq!(name.len(), 16 + ".sock".len());
    assert_ne!(
        long,
        socket_path(Path::new(&format!("/nowhere/{}", "y".repeat(100))))
    );
}

#[tokio::test]
async fn only_the_user_can_open_the_socket_which_is_removed_with_its_listener() {
    let folder = folder();
    assert!(client_builder(folder.path()).is_err());
    let bound = bind(folder.path()).await;
    let listener = bound.listener.expect("bound");
    let mode = fs::metadata(&bound.address).expect("the socket").mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(listener);
    assert!(!Path::new(&bound.address).exists());
}

#[tokio::test]
async fn the_socket_of_a_dead_hub_is_replaced_but_not_the_socket_of_a_running_hub() {
    let folder = folder();
    let file = folder.path().join("drawbridge.sock");
    drop(std::os::unix::net::UnixListener::bind(&file).expect("a stale socket"));
    assert!(file.exists());
    let bound = bind(folder.path()).await;
    let _listener = bound.listener.expect("the stale socket is replaced");
    assert!(matches!(
        bind(folder.path()).await.listener,
        Err(BindError::SocketInUse)
    ));
    assert!(file.exists(), "the socket of the running hub was removed");
}

#[tokio::test]
async fn a_folder_that_other_users_can_write_to_is_refused() {
    let folder = folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o770)).expect("chmod");
    assert!(
        bind(folder.path())
            .await
            .listener
            .is_err_and(|e| e.to_string().contains("chmod 700"))
    );
}
