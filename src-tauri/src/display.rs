//! Whether there is a display, and of which kind: without one the window library ends the
//! process with a panic, so it is asked first.

#[derive(Debug, thiserror::Error)]
#[error(
    "no display: neither DISPLAY nor WAYLAND_DISPLAY leads to one; on a machine without a screen run `drawbridge serve`"
)]
pub(crate) struct NoDisplay;

#[cfg(target_os = "linux")]
pub(crate) fn check() -> Result<(), NoDisplay> {
    let named = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()));
    if named && gtk::init().is_ok() {
        Ok(())
    } else {
        Err(NoDisplay)
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn check() -> Result<(), NoDisplay> {
    Ok(())
}

/// Whether the desktop is a Wayland one, also where the app's own windows are on X11 in it.
#[cfg(target_os = "linux")]
pub(crate) fn is_wayland() -> bool {
    std::env::var_os("WAYLAND_DISPLAY").is_some_and(|name| !name.is_empty())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_wayland() -> bool {
    false
}
