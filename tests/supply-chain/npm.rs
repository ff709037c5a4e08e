//! The packages of npm, as the lock files pin them.

use std::{collections::BTreeMap, fs};

use serde::Deserialize;

/// The folders with lock files, and the packages in each that have a script for their installation.
/// A new script fails the check, so that a person reads the script first. `tests/clients` is not in
/// the list: its client programs are installed on demand, and many of them have scripts.
pub(crate) const LOCKS: &[(&str, &[&str])] = &[
    ("ui", &[]),
    (
        "tests/real",
        &["node_modules/@modelcontextprotocol/inspector"],
    ),
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lock {
    lockfile_version: u32,
    packages: BTreeMap<String, Package>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Package {
    integrity: Option<String>,
    resolved: Option<String>,
    #[serde(default)]
    has_install_script: bool,
}

/// Returns the violations of the rules in a lock file.
pub(crate) fn find_violations(
    folder: &str,
    allowed_scripts: &[&str],
) -> anyhow::Result<Vec<String>> {
    let file = format!("{folder}/package-lock.json");
    let lock: Lock = serde_json::from_str(&fs::read_to_string(&file)?)?;
    let mut violations = Vec::new();
    if lock.lockfile_version != 3 {
        violations.push(format!("{file} has version {}", lock.lockfile_version));
    }
    for (path, package) in &lock.packages {
        if path.is_empty() {
            continue;
        }
        let has_checksum = package
            .integrity
            .as_ref()
            .is_some_and(|hash| hash.starts_with("sha512-"));
        if !has_checksum {
            violations.push(format!("{file}: {path} has no SHA-512 checksum"));
        }
        // Without an address, npm takes the package from the configured registry.
        if let Some(address) = &package.resolved {
            violations.push(format!("{file}: {path} comes from {address}"));
        }
        if package.has_install_script && !allowed_scripts.contains(&path.as_str()) {
            violations.push(format!("{file}: {path} runs a script when it is installed"));
        }
    }
    Ok(violations)
}
