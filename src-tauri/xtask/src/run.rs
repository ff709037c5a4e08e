//! `cargo xtask run`: builds and starts Drawbridge from a clean checkout.

use std::{env, path::PathBuf};

use crate::{
    node,
    step::{self, Outcome, cargo, command},
    system,
};

pub(crate) fn run(release: bool, arguments: &[String]) -> Outcome {
    build(release)?;
    let command_line = program_path(release, "drawbridge")?;
    println!("The command line is {}.", command_line.display());
    println!(
        "In another terminal: alias drawbridge='{}'",
        command_line.display()
    );
    let mut start = if has_display() {
        command(program_path(release, "drawbridge-desktop")?, &[])
    } else {
        println!(
            "There is no display (DISPLAY and WAYLAND_DISPLAY are not set), so Drawbridge runs headless:"
        );
        println!("open the link that it prints in a browser.");
        command(command_line, &["serve"])
    };
    step::run(start.args(arguments))
}

/// Installs missing packages, and builds the app and the command line.
pub(crate) fn build(release: bool) -> Outcome {
    system::install_for_run()?;
    node::check_version()?;
    node::install_packages("ui")?;
    node::run_ui_script("build")?;
    // The command line is built too, because the entries that the app writes into clients' files
    // start it.
    let selection: &[&str] = if release {
        &[
            "--package",
            "drawbridge-desktop",
            "--package",
            "drawbridge-cli",
            "--release",
        ]
    } else {
        // With all packages chosen, the dependencies have the same features as in the build of the
        // tests, and are not built again.
        &[
            "--workspace",
            "--bin",
            "drawbridge-desktop",
            "--bin",
            "drawbridge",
        ]
    };
    step::run(cargo(&["build"]).args(selection))
}

/// Returns the path of a built program, in the target folder that contains this program.
pub(crate) fn program_path(release: bool, name: &str) -> Result<PathBuf, String> {
    let this_program =
        env::current_exe().map_err(|e| format!("cannot find the path of this program: {e}"))?;
    let target = this_program
        .ancestors()
        .nth(2)
        .ok_or_else(|| format!("{} is not in a target folder", this_program.display()))?;
    let profile = if release { "release" } else { "debug" };
    Ok(target
        .join(profile)
        .join(name)
        .with_extension(env::consts::EXE_EXTENSION))
}

fn has_display() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
