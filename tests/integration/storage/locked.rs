//! A data folder that becomes read-only.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use drawbridge_tests::{Faulty, Home, Hub, canary::files_of, store};
use nix::{sys::signal::Signal, unistd::Uid};
use serde_json::json;

use super::{is_done, screens_work};

/// Returns a command that drops an administrator's capability to write read-only files.
fn starter() -> Vec<&'static str> {
    let drop = [
        "setpriv",
        "--bounding-set=-dac_override,-dac_read_search",
        "--",
    ];
    if Uid::effective().is_root() {
        drop.to_vec()
    } else {
        Vec::new()
    }
}

/// Makes the data folder read-only, or writable again.
fn lock(data_dir: &Path, is_locked: bool) {
    let folders: Vec<PathBuf> = ["", "logs", "servers"]
        .iter()
        .map(|name| data_dir.join(name))
        .collect();
    let (of_files, of_folders) = if is_locked {
        (0o400, 0o500)
    } else {
        (0o600, 0o700)
    };
    let set = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode")
    };
    files_of(data_dir)
        .iter()
        .for_each(|file| set(file, of_files));
    folders
        .iter()
        .filter(|folder| folder.is_dir())
        .for_each(|folder| set(folder, of_folders));
}

#[test]
fn while_the_data_folder_is_read_only_no_call_crosses_unwritten_the_screens_work_and_then_all_goes_on()
 {
    let home = Home::new();
    let hub = Hub::serve_behind(&home, &starter());
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let client = hub.client("desk");
    lock(&home.data_dir(), true);
    // The journal opened its file at the start and may still write to it, so these calls are
    // decided and recorded.
    for _ in 0..3 {
        is_done(&client, &faulty);
    }
    screens_work(&hub);
    lock(&home.data_dir(), false);
    is_done(&client, &faulty);
    let rows = store::calls(&home.data_dir()).expect("read the store");
    assert_eq!(
        rows.len(),
        4,
        "each call that crossed is written: {rows:#?}"
    );
    home.cli(&["audit", "verify"]).ok();
    assert_eq!(faulty.starts(), 1, "nothing was restarted");
}

#[test]
fn a_hub_on_a_read_only_data_folder_says_so_and_ends() {
    let home = Home::new();
    Hub::serve_behind(&home, &starter()).end(Signal::SIGTERM);
    lock(&home.data_dir(), true);
    let mut hub = Hub::spawn_behind(&home, &starter(), &[]);
    let (status, printed) = hub.finish(Duration::from_secs(10));
    let said = hub.stderr();
    assert_eq!(
        (status.code(), printed.as_str()),
        (Some(1), ""),
        "it refuses: {said}"
    );
    let folder = home.data_dir();
    assert!(
        said.contains(&folder.display().to_string()) && said.contains("denied"),
        "it says where and why: {said}"
    );
    lock(&folder, false);
    Hub::serve_behind(&home, &starter()).end(Signal::SIGTERM);
}
