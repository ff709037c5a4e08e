//! `drawbridge` without a command: opens the desktop app. If there is no display, or if the app is
//! not installed, runs the hub instead, or fails if a remote hub is named.

use std::{env, io, path::PathBuf, process::Command};

use super::serve::Serve;
use crate::{
    context::Context,
    exit::{Failure, print_stderr},
};

pub(crate) async fn run(context: &Context) -> Result<(), Failure> {
    if !has_display() && context.hub_url.is_some() {
        return Err(Failure::NoDisplayForRemoteHub);
    }
    if !has_display() {
        print_stderr(
            "no display was found, so the hub runs without a window, as with `drawbridge serve`",
        );
        return Serve::default().run(context).await;
    }
    let Some(desktop) = find_desktop() else {
        if context.hub_url.is_some() {
            return Err(Failure::NoAppForRemoteHub);
        }
        print_stderr(
            "drawbridge-desktop was not found next to this program, so the hub runs without a window",
        );
        return Serve::default().run(context).await;
    };
    let mut command = Command::new(&desktop);
    command.env("DRAWBRIDGE_DATA_DIR", &context.data_dir);
    if let Some(url) = &context.hub_url {
        command.env("MCP_HUB_URL", url);
    }
    Err(Failure::StartProgram {
        program: desktop,
        source: exec_desktop(command),
    })
}

/// Returns whether a window can be shown.
pub(super) fn has_display() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(windows, target_os = "macos")) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

fn find_desktop() -> Option<PathBuf> {
    let desktop = env::current_exe()
        .ok()?
        .with_file_name(format!("drawbridge-desktop{}", env::consts::EXE_SUFFIX));
    desktop.is_file().then_some(desktop)
}

/// Replaces this process with the desktop app. Returns only if the app cannot start.
#[cfg(unix)]
fn exec_desktop(mut command: Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(&mut command)
}

/// Runs the desktop app and exits with its exit code. Returns only if the app cannot start.
#[cfg(not(unix))]
fn exec_desktop(mut command: Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(e) => e,
    }
}
