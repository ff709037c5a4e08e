//! `cargo xtask clients`: runs client programs of other vendors against Drawbridge.

use crate::{
    node, run,
    step::{self, Outcome, cargo, command},
};

/// Runs the programs of these clients. If no client is named, runs all programs, and writes
/// `docs/client-programs.md`.
///
/// `cargo xtask test` does not run these programs, because they take some gigabytes, and because a
/// new version of a program may need a change of the test.
pub(crate) fn clients(chosen: &[&str]) -> Outcome {
    node::check_version()?;
    // Some of these programs fetch a part of themselves when they are installed.
    node::install_packages_with("tests/clients", node::InstallScripts::Run)?;
    node::install_packages("ui")?;
    node::run_ui_script("build")?;
    step::run(&mut cargo(&[
        "build",
        "--bins",
        "--package",
        "drawbridge-cli",
        "--package",
        "drawbridge-tests",
    ]))?;
    step::run(&mut command(
        run::program_path(false, "client-programs")?,
        chosen,
    ))
}
