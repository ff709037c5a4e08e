//! Checks whether there is a display, and of which kind. Without a display, the window library ends
//! the process with a panic, so the check runs first.

#[derive(Debug, thiserror::Error)]
#[error(
    "no display: neither DISPLAY nor WAYLAND_DISPLAY names a display that works. On a machine without a screen, run `drawbridge serve`."
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

/// Returns whether the desktop is a Wayland desktop, even if the app's own windows use X11 in it.
#[cfg(target_os = "linux")]
pub(crate) fn is_wayland() -> bool {
    std::env::var_os("WAYLAND_DISPLAY").is_some_and(|name| !name.is_empty())
}

/// Returns whether the desktop is a Wayland desktop. Other systems have none.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_wayland() -> bool {
    false
}
