//! A data folder that becomes read-only.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use drawbridge_tests::{FaultyServer, Home, Hub, canary::list_files, store};
use nix::{sys::signal::Signal, unistd::Uid};
use serde_json::json;

use super::{assert_runs, assert_screens_work};

/// Returns the command through which the hub is started, so that the modes of files apply to the
/// hub: if the test runs as root, the command drops the capabilities with which root ignores these
/// modes. For other users, the command is empty.
fn starter_command() -> Vec<&'static str> {
    let drop_capabilities = [
        "setpriv",
        "--bounding-set=-dac_override,-dac_read_search",
        "--",
    ];
    if Uid::effective().is_root() {
        drop_capabilities.to_vec()
    } else {
        Vec::new()
    }
}

/// Makes the data folder read-only, or writable again.
fn set_read_only(data_dir: &Path, is_read_only: bool) {
    let folders: Vec<PathBuf> = ["", "logs", "servers"]
        .iter()
        .map(|name| data_dir.join(name))
        .collect();
    let (file_mode, folder_mode) = if is_read_only {
        (0o400, 0o500)
    } else {
        (0o600, 0o700)
    };
    let set_mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set the mode")
    };
    list_files(data_dir)
        .iter()
        .for_each(|file| set_mode(file, file_mode));
    folders
        .iter()
        .filter(|folder| folder.is_dir())
        .for_each(|folder| set_mode(folder, folder_mode));
}

#[test]
fn with_a_read_only_data_folder_no_unrecorded_call_runs_and_the_screens_work() {
    let home = Home::new();
    let hub = Hub::serve_with_starter(&home, &starter_command());
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    set_read_only(&home.data_dir(), true);
    // The journal opened its file at the start and may still write to it, so these calls are
    // decided and recorded.
    for _ in 0..3 {
        assert_runs(&client, &faulty);
    }
    assert_screens_work(&hub);
    set_read_only(&home.data_dir(), false);
    assert_runs(&client, &faulty);
    let rows = store::read_calls(&home.data_dir()).expect("read the store");
    assert_eq!(rows.len(), 4, "each forwarded call is recorded: {rows:#?}");
    home.cli(&["audit", "verify"]).expect_success();
    assert_eq!(faulty.count_starts(), 1, "nothing was restarted");
}

#[test]
fn a_hub_on_a_read_only_data_folder_exits_with_an_error() {
    let home = Home::new();
    Hub::serve_with_starter(&home, &starter_command()).stop(Signal::SIGTERM);
    set_read_only(&home.data_dir(), true);
    let mut hub = Hub::spawn_with(&home, &starter_command(), &[]);
    let (status, stdout) = hub.wait_until_exit(Duration::from_secs(10));
    let stderr = hub.stderr();
    assert_eq!(
        (status.code(), stdout.as_str()),
        (Some(1), ""),
        "the hub exits with an error: {stderr}"
    );
    let folder = home.data_dir();
    assert!(
        stderr.contains(&folder.display().to_string()) && stderr.contains("denied"),
        "the error names the folder and the reason: {stderr}"
    );
    set_read_only(&folder, false);
    Hub::serve_with_starter(&home, &starter_command()).stop(Signal::SIGTERM);
}
