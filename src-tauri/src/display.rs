//! Whether there is a display: without one the window library ends the process with a panic,
//! so it is asked first.

#[derive(Debug, thiserror::Error)]
#[error(
    "no display: neither DISPLAY nor WAYLAND_DISPLAY leads to one; on a machine without a screen run `drawbridge serve`"
)]
pub(crate) struct NoDisplay;

#[cfg(target_os = "linux")]
pub(crate) fn check() -> Result<(), NoDisplay> {
    let named = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()));
    if named && gtk::init().is_ok() { Ok(()) } else { Err(NoDisplay) }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn check() -> Result<(), NoDisplay> {
    Ok(())
}
