//! Prepares the build of the desktop app: Tauri's context, the permissions of the windows, and a
//! placeholder page if the UI is not built yet.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// The list of the verbs, in lines such as `"calls.list" => calls::ListCalls,`.
const VERBS: &str = "src-tauri/hub/src/api.rs";

/// The commands of the popup, which shows and decides the pending approvals, and tells its height.
const POPUP_COMMANDS: [&str; 8] = [
    "approvals_list",
    "approvals_show",
    "approvals_decide",
    "approvals_preview",
    "approvals_last_calls",
    "approvals_open_url",
    "drawbridge_show",
    "popup_measured",
];

/// The commands of the main window that concern the app: its end, the hint on how to reopen it,
/// its options and its updates, and whether the window shows the pending approvals.
const WINDOW_COMMANDS: [&str; 13] = [
    "close_asked",
    "window_close",
    "app_quit",
    "reopen_hint",
    "reopen_hint_read",
    "approvals_shown",
    "options_show",
    "options_change",
    "updates_show",
    "updates_check",
    "updates_switch",
    "updates_install",
    "app_restart",
];

const PLACEHOLDER: &str = "<!doctype html><title>Drawbridge</title><p>The UI is not built: npm run build in ui/, then build again.";

fn main() {
    for variable in ["DRAWBRIDGE_UPDATE_URL", "DRAWBRIDGE_UPDATE_KEY"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    for path in ["ui/dist", "src-tauri/capabilities", VERBS, "icons"] {
        println!("cargo:rerun-if-changed={path}");
    }
    if let Err(error) = write_placeholder() {
        println!("cargo:warning=cannot write ui/dist/index.html: {error}");
    }
    match write_permissions() {
        Ok(pattern) => {
            let attributes = tauri_build::Attributes::new()
                .capabilities_path_pattern("./src-tauri/capabilities/**/*")
                .app_manifest(
                    tauri_build::AppManifest::new().permissions_path_pattern(pattern.leak()),
                );
            if let Err(error) = tauri_build::try_build(attributes) {
                println!("cargo:error={error:#}");
            }
        }
        Err(error) => println!("cargo:error=cannot write the permissions: {error}"),
    }
    if let Err(error) = move_schemas() {
        println!("cargo:warning=cannot move gen/ to src-tauri/gen: {error}");
    }
}

/// Writes the permissions that `src-tauri/capabilities` gives to the windows. Tauri rejects every
/// command that a window has no permission for. Returns the pattern of the files.
fn write_permissions() -> io::Result<String> {
    let folder = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?).join("permissions");
    fs::create_dir_all(&folder)?;
    let verbs = fs::read_to_string(VERBS)?;
    let all: Vec<String> = verbs
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.split_once("\" => "))
        .map(|(verb, _)| verb.replacen('.', "_", 1))
        .collect();
    let text = permission("allow-all-verbs", "Allows every verb of the hub.", &all)
        + &permission(
            "allow-popup",
            "Allows the verbs that show and decide the pending approvals, and to tell their height.",
            &POPUP_COMMANDS.map(str::to_owned),
        )
        + &permission(
            "allow-window",
            "Allows the main window to close, to quit, update and restart the app, to show how to reopen the app without a tray, to tell whether it shows the approvals, and to change the options of the app.",
            &WINDOW_COMMANDS.map(str::to_owned),
        );
    fs::write(folder.join("app.toml"), text)?;
    Ok(format!("{}/*", folder.display()))
}

fn permission(identifier: &str, description: &str, commands: &[String]) -> String {
    format!(
        "[[permission]]\nidentifier = \"{identifier}\"\ndescription = \"{description}\"\ncommands.allow = {commands:?}\n\n"
    )
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

/// Moves the schemas for editors, which tauri-build writes next to `tauri.conf.json`, to
/// `src-tauri/gen`.
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
