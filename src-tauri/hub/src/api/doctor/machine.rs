//! The checks of this computer, which need no hub: the environment, the runtimes, the data folder,
//! the disk and the desktop.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use drawbridge_model::runtime::{Runtime, RuntimeStatus};
use drawbridge_upstream::transport::process::runtime;

use super::{DoctorCheck, DoctorTopic, session_bus};
use crate::hub::disk_space::{DOCTOR_WARNING_SPACE, NO_SPACE, free_bytes};

/// Runs all checks of this computer. `needed` holds the runtimes that servers need: the check of a
/// missing runtime fails only if the runtime is needed.
pub async fn check_machine(data_dir: &Path, needed: &BTreeSet<Runtime>) -> Vec<DoctorCheck> {
    let mut checks = check_environment(runtime::search_path().await);
    let runtimes = runtime::check_runtimes(&Runtime::ALL).await;
    checks.extend(runtimes.iter().map(|found| check_runtime(found, needed)));
    checks.extend(check_data_folder(data_dir));
    checks.extend(check_disk(data_dir));
    checks.extend(session_bus::check_desktop().await);
    checks
}

fn check_environment(search_path: String) -> Vec<DoctorCheck> {
    const TOPIC: DoctorTopic = DoctorTopic::Environment;
    let mut checks = vec![DoctorCheck::ok(
        TOPIC,
        format!(
            "Drawbridge {} on {} ({}).",
            env!("CARGO_PKG_VERSION"),
            env::consts::OS,
            env::consts::ARCH
        ),
    )];
    if env::home_dir().is_none_or(|home| !home.is_dir()) {
        checks.push(DoctorCheck::failure(
            TOPIC,
            "The home folder is unknown or does not exist.",
            "Set HOME to your home folder, and start Drawbridge again.",
        ));
    }
    let has_shell = env::var_os("SHELL").is_some_and(|shell| !shell.is_empty());
    if search_path.is_empty() {
        checks.push(DoctorCheck::failure(
            TOPIC,
            "There is no PATH, so no server's program can be found.",
            "Set PATH in the profile of your login shell, and start Drawbridge again.",
        ));
    } else if has_shell || cfg!(windows) {
        checks.push(DoctorCheck::ok(
            TOPIC,
            format!("The programs of servers are searched for in {search_path}."),
        ));
    } else {
        checks.push(DoctorCheck::warning(
            TOPIC,
            format!(
                "SHELL is not set, so the PATH of your login shell is unknown. The programs of servers are searched for in {search_path}."
            ),
            "If a program is missing there, set SHELL, or give its whole path in the server's command.",
        ));
    }
    checks
}

fn check_runtime(found: &RuntimeStatus, needed: &BTreeSet<Runtime>) -> DoctorCheck {
    const TOPIC: DoctorTopic = DoctorTopic::Runtimes;
    let command = found.runtime.command();
    if found.problem.is_empty() {
        let version = found.version.as_deref().unwrap_or("of unknown version");
        let path = found.path.as_deref().unwrap_or_default();
        return DoctorCheck::ok(TOPIC, format!("{command} {version} ({path})."));
    }
    if needed.contains(&found.runtime) {
        let text = format!("{}, and a server needs it.", found.problem);
        return DoctorCheck::failure(TOPIC, text, found.remedy.clone());
    }
    let text = format!("{}. No server needs it now.", found.problem);
    if found.path.is_some() {
        DoctorCheck::warning(TOPIC, text, found.remedy.clone())
    } else {
        DoctorCheck::ok(TOPIC, text)
    }
}

fn check_data_folder(data_dir: &Path) -> Vec<DoctorCheck> {
    const TOPIC: DoctorTopic = DoctorTopic::DataFolder;
    let shown = data_dir.display();
    if !data_dir.exists() {
        return vec![DoctorCheck::ok(
            TOPIC,
            format!("{shown} does not exist yet; the first start creates it."),
        )];
    }
    let is_writable = write_probe_file(data_dir).is_ok();
    let mut checks = vec![if is_writable {
        DoctorCheck::ok(TOPIC, format!("{shown} can be written to."))
    } else {
        DoctorCheck::failure(
            TOPIC,
            format!("{shown} cannot be written to."),
            "Make yourself its owner, and check that its disk is not full or read-only.",
        )
    }];
    checks.extend(
        list_accessible_to_others(data_dir)
            .into_iter()
            .map(|(path, mode)| {
                let remedy = format!("Run `chmod {} '{}'`.", private_mode(&path), path.display());
                let text = format!(
                    "Other users of this computer have access to {} (mode {mode:03o}).",
                    path.display()
                );
                DoctorCheck::warning(TOPIC, text, remedy)
            }),
    );
    checks
}

/// Creates and removes a file, which is the only reliable test of whether the folder can be
/// written.
fn write_probe_file(data_dir: &Path) -> std::io::Result<()> {
    let probe = data_dir.join(format!(".doctor-{}", std::process::id()));
    fs::write(&probe, b"x")?;
    fs::remove_file(&probe)
}

/// Checks the data folder and its most important files and folders. Returns those paths to which
/// other users have any access, with their modes.
#[cfg(unix)]
fn list_accessible_to_others(data_dir: &Path) -> Vec<(PathBuf, u32)> {
    use std::os::unix::fs::PermissionsExt;
    let names = [
        "",
        "drawbridge.db",
        "audit.key",
        "audit.head",
        "logs",
        "logs/servers",
        "client-backups",
    ];
    names
        .iter()
        .map(|name| data_dir.join(name))
        .filter_map(|path| {
            let mode = fs::metadata(&path).ok()?.permissions().mode() & 0o777;
            (mode & 0o077 != 0).then_some((path, mode))
        })
        .collect()
}

#[cfg(not(unix))]
fn list_accessible_to_others(_: &Path) -> Vec<(PathBuf, u32)> {
    Vec::new()
}

fn private_mode(path: &Path) -> &'static str {
    if path.is_dir() { "700" } else { "600" }
}

fn check_disk(data_dir: &Path) -> Option<DoctorCheck> {
    const TOPIC: DoctorTopic = DoctorTopic::Disk;
    let existing = data_dir.ancestors().find(|folder| folder.exists())?;
    let free = free_bytes(existing)?;
    let text = format!(
        "{} MiB are free on the disk of {}.",
        free / (1024 * 1024),
        data_dir.display()
    );
    let remedy = "Free some space: if a decision cannot be written, the call is denied.";
    Some(if free < NO_SPACE {
        DoctorCheck::failure(TOPIC, text, remedy)
    } else if free < DOCTOR_WARNING_SPACE {
        DoctorCheck::warning(TOPIC, text, remedy)
    } else {
        DoctorCheck::ok(TOPIC, text)
    })
}
