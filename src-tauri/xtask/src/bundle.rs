//! `cargo xtask bundle`: the packages that users install (deb, rpm and AppImage on Linux), with
//! both programs, the manual pages, the completions and the entry of the menu.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::{
    run,
    step::{self, Outcome, command, root},
    system,
};

/// The folder of the files that `tauri.conf.json` adds to the packages, relative to the root of the
/// repository.
const STAGING: &str = "target/package";

/// The shells for which the packages have completions, with the names of their files.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "drawbridge.bash"),
    ("zsh", "_drawbridge"),
    ("fish", "drawbridge.fish"),
];

/// Builds the programs, and packages them. Without formats, makes every format of this system.
pub(crate) fn bundle(release: bool, formats: &[&str]) -> Outcome {
    system::install_for_bundle()?;
    run::build(release)?;
    package(release, formats)?;
    let profile = if release { "release" } else { "debug" };
    println!("\nThe packages are in target/{profile}/bundle:");
    for file in find_packages(&root().join("target").join(profile).join("bundle")) {
        let size = fs::metadata(&file).map_or(0, |metadata| metadata.len());
        println!("{:>8.1} MB  {}", size as f64 / 1e6, file.display());
    }
    Ok(())
}

/// Packages the programs that are already built.
pub(crate) fn package(release: bool, formats: &[&str]) -> Outcome {
    stage_files(
        &run::program_path(release, "drawbridge")?,
        &root().join(STAGING),
    )?;
    let mut tauri = command(
        "node",
        &["ui/node_modules/@tauri-apps/cli/tauri.js", "bundle"],
    );
    if !release {
        tauri.arg("--debug");
    }
    if cfg!(windows) {
        tauri.args(["--config", "packaging/bundle-windows.json"]);
    }
    if !formats.is_empty() {
        tauri.args(["--bundles", &formats.join(",")]);
    }
    step::run(&mut tauri).map_err(|reason| {
        format!(
            "{reason}. For an AppImage, Tauri downloads the tool linuxdeploy; without a network, \
             name the other formats: cargo xtask bundle deb rpm"
        )
    })
}

/// Writes the files that the packages have besides the app: the command, its manual pages and its
/// completions.
fn stage_files(program: &Path, folder: &Path) -> Outcome {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    }
    let [programs, manual, completions] =
        ["bin", "man1", "completions"].map(|name| folder.join(name));
    for folder in [&programs, &completions] {
        fs::create_dir_all(folder)
            .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    }
    let name = program.file_name().ok_or("the program has no name")?;
    fs::copy(program, programs.join(name))
        .map_err(|error| format!("cannot copy {}: {error}", program.display()))?;
    for (shell, file) in COMPLETIONS {
        let output = command(program, &["completions", shell])
            .output()
            .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
        if !output.status.success() {
            return Err(format!("`drawbridge completions {shell}` failed"));
        }
        let file = completions.join(file);
        fs::write(&file, output.stdout)
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    step::run(
        command(program, &["man"])
            .arg(&manual)
            .stdout(Stdio::null()),
    )?;
    step::run(command("gzip", &["--best", "--no-name", "--recursive"]).arg(&manual))
}

fn list_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns the packages in the folder of the bundles, which has a folder for each format.
fn find_packages(folder: &Path) -> Vec<PathBuf> {
    let is_package = |file: &PathBuf| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        matches!(
            extension,
            Some("deb" | "rpm" | "AppImage" | "dmg" | "app" | "msi" | "exe")
        )
    };
    let formats = list_entries(folder);
    formats
        .iter()
        .flat_map(|format| list_entries(format))
        .filter(is_package)
        .collect()
}
