//! Prepares the build of the desktop app: Tauri's context, the permissions of each window, and a
//! placeholder page if the UI is not built yet.

use std::{fs, io, path::Path};

const PLACEHOLDER: &str = "<!doctype html><title>Drawbridge</title><p>The UI is not built: npm run build in ui/, then build again.";

fn main() {
    for path in [
        "ui/dist",
        "src-tauri/capabilities",
        "src-tauri/permissions",
        "icons",
    ] {
        println!("cargo:rerun-if-changed={path}");
    }
    if let Err(error) = write_placeholder() {
        println!("cargo:warning=cannot write ui/dist/index.html: {error}");
    }
    let attributes = tauri_build::Attributes::new()
        .capabilities_path_pattern("./src-tauri/capabilities/**/*")
        .app_manifest(
            tauri_build::AppManifest::new()
                .permissions_path_pattern("./src-tauri/permissions/**/*"),
        );
    if let Err(error) = tauri_build::try_build(attributes) {
        println!("cargo:error={error:#}");
    }
    if let Err(error) = move_schemas() {
        println!("cargo:warning=cannot move gen/ to src-tauri/gen: {error}");
    }
}

/// Writes a placeholder page if the UI is not built, so that a clean checkout compiles without
/// Node.
fn write_placeholder() -> io::Result<()> {
    let page = Path::new("ui/dist/index.html");
    if page.exists() {
        return Ok(());
    }
    fs::create_dir_all("ui/dist")?;
    fs::write(page, PLACEHOLDER)
}

/// Moves the editor schemas, which tauri-build writes next to `tauri.conf.json`, to the shell's
/// folder.
fn move_schemas() -> io::Result<()> {
    let (from, to) = (Path::new("gen/schemas"), Path::new("src-tauri/gen/schemas"));
    if !from.exists() {
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        fs::rename(file.path(), to.join(file.file_name()))?;
    }
    fs::remove_dir_all("gen")
}
