//! The crates: checks of their licences, sources and names, and of the versions that the crates of
//! this repository take.

use std::{collections::BTreeSet, fs, process::Command};

use anyhow::{Context, ensure};
use serde::Deserialize;
use spdx::{Expression, ParseMode};

/// A crate, as `cargo metadata` describes it.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) repository: Option<String>,
    /// `None` for a crate of this repository.
    pub(crate) source: Option<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// The versions that are allowed, such as `^1.2`, or `*` for any version.
    req: String,
    path: Option<String>,
}

/// The parts of `deny.toml` that this program checks.
#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
    #[serde(default)]
    exceptions: Vec<LicenseException>,
}

#[derive(Deserialize)]
struct LicenseException {
    allow: BTreeSet<String>,
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    name: String,
    reason: String,
}

/// Returns all crates that any platform may need, in the versions of the lock file.
pub(crate) fn read_packages() -> anyhow::Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let metadata: Metadata = serde_json::from_slice(&run_cargo(&[
        "metadata",
        "--format-version",
        "1",
        "--locked",
    ])?)?;
    Ok(metadata.packages)
}

pub(crate) fn run_cargo(arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(arguments)
        .output()
        .context("cargo cannot be started")?;
    ensure!(
        output.status.success(),
        "cargo {} failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}

pub(crate) fn find_violations(packages: &[Package]) -> anyhow::Result<Vec<String>> {
    let rules: Rules = toml::from_str(&fs::read_to_string("deny.toml")?)?;
    ensure!(
        packages.len() > 100,
        "only {} crates were found",
        packages.len()
    );
    let mut violations = Vec::new();
    for package in packages {
        let name = format!("{} {}", package.name, package.version);
        match &package.source {
            None => {
                let any_version = package
                    .dependencies
                    .iter()
                    .filter(|dependency| dependency.req == "*" && dependency.path.is_none());
                violations.extend(
                    any_version.map(|dependency| {
                        format!("{name} takes any version of {}", dependency.name)
                    }),
                );
                continue;
            }
            Some(source) if source.starts_with("registry+https://") => {}
            Some(source) => violations.push(format!("{name} comes from {source}")),
        }
        if let Some(ban) = rules.bans.deny.iter().find(|ban| ban.name == package.name) {
            violations.push(format!("{name} is banned: {}", ban.reason));
        }
        match &package.license {
            None => violations.push(format!("{name} names no licence")),
            Some(license) if !is_allowed(license, &package.name, &rules.licenses)? => {
                violations.push(format!("{name} has the licence {license}"));
            }
            Some(_) => {}
        }
    }
    Ok(violations)
}

/// Returns whether the licence can be satisfied with the licences that are allowed for this crate.
fn is_allowed(license: &str, name: &str, rules: &Licenses) -> anyhow::Result<bool> {
    let expression = Expression::parse_mode(license, ParseMode::LAX)
        .map_err(|e| anyhow::anyhow!("{name}: {e}"))?;
    let exceptions = rules
        .exceptions
        .iter()
        .filter(|exception| exception.name == name);
    let allowed: BTreeSet<&String> = exceptions
        .flat_map(|exception| &exception.allow)
        .chain(&rules.allow)
        .collect();
    Ok(expression.evaluate(|requirement| allowed.contains(&requirement.to_string())))
}
