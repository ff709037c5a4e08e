//! Checks the sources and licences of the dependencies, and lists the dependencies in a software
//! bill of materials. `cargo xtask test` runs this program, which needs only Cargo and npm.
//!
//! The rules for crates are in `deny.toml`, which cargo-deny reads too. In a lock file of npm, each
//! package must have a checksum and no address. Only the packages in `npm.rs` may run a script when
//! they are installed.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for developers"
)]

mod bill_of_materials;
mod crates;
mod npm;

use std::{env, fs, path::PathBuf, process::ExitCode};

use anyhow::Context;

/// The folder in which the bill of materials is written, below the root of the repository.
const OUTPUT: &str = "target/sbom";

fn main() -> anyhow::Result<ExitCode> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let root = root.parent().context("the tests are in the repository")?;
    env::set_current_dir(root)?;
    let packages = crates::read_packages()?;
    let mut violations = crates::find_violations(&packages)?;
    for (folder, allowed_scripts) in npm::LOCKS {
        violations.extend(npm::find_violations(folder, allowed_scripts)?);
    }
    let bill = bill_of_materials::build(&packages)?;
    fs::create_dir_all(OUTPUT)?;
    let file = format!("{OUTPUT}/drawbridge.cdx.json");
    fs::write(&file, serde_json::to_string_pretty(&bill)?)?;
    let count = bill["components"].as_array().map_or(0, Vec::len);
    println!(
        "{} crates checked; {count} components of the product are listed in {file}",
        packages.len()
    );
    for violation in &violations {
        eprintln!("- {violation}");
    }
    Ok(if violations.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
