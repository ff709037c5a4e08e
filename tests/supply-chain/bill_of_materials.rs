//! The software bill of materials: all components of the installed product, in the format CycloneDX
//! 1.5.

use std::{collections::BTreeMap, process::Command};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::crates::{Package, run_cargo};

/// The packages of this repository that are installed.
const PRODUCT: [&str; 2] = ["drawbridge-desktop", "drawbridge-cli"];

/// Returns the document. Its components are the crates of others that the two programs depend on,
/// for every platform, and the packages of the UI. Procedural macros are included; dependencies of
/// build scripts and tests are not.
pub(crate) fn build(packages: &[Package]) -> anyhow::Result<Value> {
    let checksums = read_checksums()?;
    let mut crates: BTreeMap<String, Value> = BTreeMap::new();
    for line in list_used_crates()?.lines() {
        let (name, version) = line
            .split_once(' ')
            .context("a line with name and version")?;
        let package = packages
            .iter()
            .find(|package| package.name == name && package.version == version);
        let package = package.with_context(|| format!("`cargo metadata` names no {line}"))?;
        if package.source.is_some() {
            crates.insert(package.id.clone(), component(package, &checksums));
        }
    }
    let mut components: Vec<Value> = crates.into_values().collect();
    components.extend(read_npm_components()?);
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "drawbridge",
                "version": env!("CARGO_PKG_VERSION"),
                "licenses": [{"expression": env!("CARGO_PKG_LICENSE")}],
            },
        },
        "components": components,
    }))
}

/// Returns the names and versions of the normal dependencies of the programs, one crate in each
/// line.
fn list_used_crates() -> anyhow::Result<String> {
    let mut arguments = vec![
        "tree",
        "--locked",
        "--target",
        "all",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
        "--no-dedupe",
    ];
    for name in PRODUCT {
        arguments.extend(["--package", name]);
    }
    let tree = String::from_utf8(run_cargo(&arguments)?)?;
    let lines = tree.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        Some(format!("{name} {version}"))
    });
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines.dedup();
    ensure!(lines.len() > 100, "only {} crates were found", lines.len());
    Ok(lines.join("\n"))
}

fn component(package: &Package, checksums: &BTreeMap<(String, String), String>) -> Value {
    let purl = format!("pkg:cargo/{}@{}", package.name, package.version);
    let mut component = json!({
        "type": "library",
        "bom-ref": purl,
        "purl": purl,
        "name": package.name,
        "version": package.version,
    });
    if let Some(license) = &package.license {
        component["licenses"] = json!([{"expression": license.replace('/', " OR ")}]);
    }
    if let Some(description) = &package.description {
        component["description"] = description.trim().into();
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    let key = (package.name.clone(), package.version.clone());
    if let Some(checksum) = checksums.get(&key) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

/// Returns the checksums of the crates in the lock file, by name and version.
fn read_checksums() -> anyhow::Result<BTreeMap<(String, String), String>> {
    #[derive(serde::Deserialize)]
    struct Lock {
        package: Vec<Locked>,
    }
    #[derive(serde::Deserialize)]
    struct Locked {
        name: String,
        version: String,
        checksum: Option<String>,
    }
    let lock: Lock = toml::from_str(&std::fs::read_to_string("Cargo.lock")?)?;
    let checksums = lock
        .package
        .into_iter()
        .filter_map(|package| Some(((package.name, package.version), package.checksum?)));
    Ok(checksums.collect())
}

/// Returns the packages of the UI that are part of the product.
fn read_npm_components() -> anyhow::Result<Vec<Value>> {
    let output = Command::new("npm")
        .args([
            "sbom",
            "--sbom-format",
            "cyclonedx",
            "--omit",
            "dev",
            "--package-lock-only",
        ])
        .current_dir("ui")
        .output()
        .context("npm cannot be started")?;
    ensure!(
        output.status.success(),
        "npm sbom failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut bill: Value = serde_json::from_slice(&output.stdout)?;
    let components = bill["components"]
        .as_array_mut()
        .context("a list of components")?;
    // The addresses name the registry that was used, not the origin of a package.
    for component in components.iter_mut() {
        if let Some(component) = component.as_object_mut() {
            component.remove("externalReferences");
        }
    }
    Ok(std::mem::take(components))
}
