//! Checks whether there is a display, and of which kind. Without a display, the window library ends
//! the process with a panic, so the check runs first. Also decides how WebKit draws.

#[cfg(target_os = "linux")]
use std::path::Path;

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

/// Devices through which a program uses a graphics card: on Linux, with NVIDIA's own driver, and in
/// the Windows Subsystem for Linux.
#[cfg(target_os = "linux")]
const GRAPHICS_DEVICES: &[&str] = &["/dev/dri", "/dev/nvidiactl", "/dev/dxg"];

/// Makes WebKit draw on the processor if there is no graphics card. Without this setting, WebKit
/// would emulate a card on the processor, and starting the emulation delays each window by 0.1 s. A
/// value that the person has set is kept. Must run before the process has a second thread.
#[cfg(target_os = "linux")]
pub(crate) fn choose_renderer() {
    const VARIABLE: &str = "WEBKIT_DISABLE_COMPOSITING_MODE";
    let has_graphics_card = GRAPHICS_DEVICES
        .iter()
        .any(|device| Path::new(device).exists());
    if has_graphics_card || std::env::var_os(VARIABLE).is_some() {
        return;
    }
    // SAFETY: this process has a single thread, so nothing reads the environment at the same time.
    unsafe { std::env::set_var(VARIABLE, "1") };
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn choose_renderer() {}

/// Returns whether the desktop is a Wayland desktop, even if the app's own windows use X11.
#[cfg(target_os = "linux")]
pub(crate) fn is_wayland() -> bool {
    std::env::var_os("WAYLAND_DISPLAY").is_some_and(|name| !name.is_empty())
}

/// Returns whether the desktop is a Wayland desktop. Other systems have no Wayland.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_wayland() -> bool {
    false
}
