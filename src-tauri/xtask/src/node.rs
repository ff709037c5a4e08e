//! Checks the version of Node, installs npm packages, and runs scripts of the UI.

use std::{fs, path::Path};

use crate::step::{self, Outcome, command, read_stdout, root};

const MIN_MAJOR_VERSION: u32 = 20;

/// Checks the version of Node.
///
/// # Errors
/// Returns an error if Node is missing or too old.
pub(crate) fn check_version() -> Outcome {
    let Some(version) = read_stdout(&mut command("node", &["--version"])) else {
        return Err(format!(
            "Node {MIN_MAJOR_VERSION} or newer is needed to build the UI, but no `node` is in PATH"
        ));
    };
    let major = version
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major >= MIN_MAJOR_VERSION) {
        Ok(())
    } else {
        Err(format!(
            "Node {MIN_MAJOR_VERSION} or newer is needed to build the UI, but the installed version is {version}"
        ))
    }
}

/// Whether packages may run scripts of their own when they are installed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum InstallScripts {
    Run,
    Ignore,
}

/// Installs the packages of a folder from its lock file, unless the file is the same as at the last
/// installation. No package runs a script of its own.
pub(crate) fn install_packages(folder: &str) -> Outcome {
    install_packages_with(folder, InstallScripts::Ignore)
}

/// Installs the packages of a folder as [`install_packages`] does, and lets them run their scripts
/// if `scripts` is [`InstallScripts::Run`].
pub(crate) fn install_packages_with(folder: &str, scripts: InstallScripts) -> Outcome {
    let folder = root().join(folder);
    let lock = read_file(&folder.join("package-lock.json"))?;
    let installed_lock = folder.join("node_modules/.xtask-lock");
    if fs::read_to_string(&installed_lock).is_ok_and(|text| text == lock) {
        return Ok(());
    }
    let mut arguments = vec!["ci", "--no-audit", "--no-fund", "--loglevel=error"];
    if scripts == InstallScripts::Ignore {
        arguments.push("--ignore-scripts");
    }
    run_npm(&folder, &arguments)?;
    fs::write(&installed_lock, lock)
        .map_err(|e| format!("cannot write {}: {e}", installed_lock.display()))
}

/// Runs a script of `ui/package.json`.
pub(crate) fn run_ui_script(script: &str) -> Outcome {
    run_npm(&root().join("ui"), &["run", "--silent", script])
}

fn run_npm(folder: &Path, arguments: &[&str]) -> Outcome {
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    step::run(command(npm, arguments).current_dir(folder))
}

fn read_file(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}
