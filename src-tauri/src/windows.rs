//! The two windows. The main window is created when it is opened and destroyed when it is closed,
//! because a web view takes some 150 MiB. The popup is kept ready, so that it can show a waiting
//! call at once.

use std::path::PathBuf;

use serde_json::Value;
use tauri::{
    AppHandle, Manager, PhysicalPosition, Url, WebviewUrl, WebviewWindow, WebviewWindowBuilder,
    Window, WindowEvent,
};

use crate::{
    texts,
    window_state::{self, MIN_SIZE},
};

pub(crate) const MAIN: &str = "main";
pub(crate) const POPUP: &str = "popup";

/// The width and height of the popup, and its distance from the edges of the screen, in logical
/// pixels.
const POPUP_SIZE: (f64, f64) = (460.0, 700.0);
const MARGIN: f64 = 16.0;

/// The folder for the caches and storage of the web views. It is managed by the app, and lies in the
/// data folder, so that nothing else remains after the app is removed.
#[derive(Clone)]
pub(crate) struct WebviewFolder(pub(crate) PathBuf);

impl WebviewFolder {
    fn of(app: &AppHandle) -> PathBuf {
        app.state::<Self>().0.clone()
    }
}

/// Whether the popup takes the keyboard focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Focus {
    /// The popup opened by itself, and must not receive the keys that the person is typing
    /// elsewhere.
    Leave,
    /// The person opened the popup.
    Take,
}

/// Shows the main window, and creates it if necessary. Must not run on the main thread, except at
/// the start of the app.
pub(crate) fn show_main(app: &AppHandle) -> tauri::Result<()> {
    show_at(app, "")
}

/// Shows the main window like [`show_main`], on the page with this hash, such as `#/calls`.
pub(crate) fn show_page(app: &AppHandle, hash: &str) -> tauri::Result<()> {
    if let Some(window) = app.get_webview_window(MAIN) {
        window.eval(format!("location.hash = {}", Value::from(hash)))?;
    }
    show_at(app, hash)
}

/// Shows the main window. A new one begins with the page of the hash.
fn show_at(app: &AppHandle, hash: &str) -> tauri::Result<()> {
    if let Some(window) = app.get_webview_window(MAIN) {
        window.unminimize()?;
        window.show()?;
        return window.set_focus();
    }
    let window = WebviewWindowBuilder::new(
        app,
        MAIN,
        WebviewUrl::App(format!("index.html{hash}").into()),
    )
    .data_directory(WebviewFolder::of(app))
    .on_navigation(is_ours)
    .title(texts::PRODUCT_NAME)
    .min_inner_size(MIN_SIZE.0, MIN_SIZE.1)
    .visible(false)
    .build()?;
    window_state::restore(&window)?;
    window.show()?;
    window.set_focus()
}

/// Shows the main window like [`show_main`], on the Approvals screen.
pub(crate) fn show_approvals(app: &AppHandle) -> tauri::Result<()> {
    show_page(app, "#/approvals")
}

pub(crate) fn minimize_main(app: &AppHandle) -> tauri::Result<()> {
    app.get_webview_window(MAIN)
        .map_or(Ok(()), |main| main.minimize())
}

/// Closes the main window without a request that could be prevented.
pub(crate) fn close_main(app: &AppHandle) -> tauri::Result<()> {
    app.get_webview_window(MAIN)
        .map_or(Ok(()), |main| main.destroy())
}

/// Returns whether a window may show the URL: only the app's own pages. A server's text may contain
/// a link, and a foreign page in this window would look like Drawbridge.
fn is_ours(url: &Url) -> bool {
    match (url.scheme(), url.host_str()) {
        ("tauri", Some("localhost")) | ("http" | "https", Some("tauri.localhost")) => true,
        // `tauri dev` serves the UI at this address.
        ("http", Some("localhost")) => tauri::is_dev(),
        _ => false,
    }
}

/// Creates the popup, hidden.
pub(crate) fn create_popup(app: &AppHandle) -> tauri::Result<()> {
    let window = WebviewWindowBuilder::new(app, POPUP, WebviewUrl::App("index.html#/popup".into()))
        .data_directory(WebviewFolder::of(app))
        .on_navigation(is_ours)
        .title(texts::CALL_WAITS)
        .inner_size(POPUP_SIZE.0, POPUP_SIZE.1)
        .min_inner_size(POPUP_SIZE.0, POPUP_SIZE.1)
        .always_on_top(true)
        .visible_on_all_workspaces(true)
        .skip_taskbar(true)
        .maximizable(false)
        .minimizable(false)
        .focused(false)
        .visible(false)
        .build()?;
    leave_focus_when_shown(&window)?;
    disable_hardware_acceleration(&window)
}

/// Disables hardware acceleration for the popup, because its initialization would delay the first
/// call by most of a second.
#[cfg(target_os = "linux")]
fn disable_hardware_acceleration(window: &WebviewWindow) -> tauri::Result<()> {
    use webkit2gtk::{HardwareAccelerationPolicy, SettingsExt, WebViewExt};
    window.with_webview(|view| {
        if let Some(settings) = view.inner().settings() {
            settings.set_hardware_acceleration_policy(HardwareAccelerationPolicy::Never);
        }
    })
}

#[cfg(not(target_os = "linux"))]
fn disable_hardware_acceleration(_: &WebviewWindow) -> tauri::Result<()> {
    Ok(())
}

/// Keeps the popup from taking the focus each time it is shown. Tauri's `focused(false)` applies
/// to the first time only.
#[cfg(target_os = "linux")]
fn leave_focus_when_shown(window: &WebviewWindow) -> tauri::Result<()> {
    use gtk::prelude::GtkWindowExt;
    window.gtk_window()?.set_focus_on_map(false);
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn leave_focus_when_shown(_: &WebviewWindow) -> tauri::Result<()> {
    Ok(())
}

pub(crate) fn show_popup(app: &AppHandle, focus: Focus) -> tauri::Result<()> {
    let Some(popup) = app.get_webview_window(POPUP) else {
        return Ok(());
    };
    if !popup.is_visible()? {
        position_popup(&popup)?;
        popup.show()?;
    }
    match focus {
        Focus::Leave => Ok(()),
        Focus::Take => popup.set_focus(),
    }
}

/// Moves the popup near the top right of the screen, as desktops place notifications. A Wayland
/// compositor ignores this position.
fn position_popup(popup: &WebviewWindow) -> tauri::Result<()> {
    let Some(monitor) = popup.primary_monitor()?.or(popup.current_monitor()?) else {
        return Ok(());
    };
    let (area, scale) = (monitor.work_area(), monitor.scale_factor());
    let width = popup
        .outer_size()?
        .width
        .max(pixels(POPUP_SIZE.0, scale).unsigned_abs());
    let right = area.position.x.saturating_add_unsigned(area.size.width);
    let x = right.saturating_sub_unsigned(width) - pixels(MARGIN, scale);
    popup.set_position(PhysicalPosition::new(
        x.max(area.position.x),
        area.position.y + pixels(MARGIN, scale),
    ))
}

fn pixels(logical: f64, scale: f64) -> i32 {
    (logical * scale) as i32
}

pub(crate) fn hide_popup(app: &AppHandle) -> tauri::Result<()> {
    app.get_webview_window(POPUP)
        .map_or(Ok(()), |popup| popup.hide())
}

/// Hides the popup instead of closing it, because its calls still wait. The tray shows them.
/// Records the size and place of the main window.
pub(crate) fn on_window_event(window: &Window, event: &WindowEvent) {
    if let (POPUP, WindowEvent::CloseRequested { api, .. }) = (window.label(), event) {
        api.prevent_close();
        if let Err(error) = window.hide() {
            tracing::warn!(%error, "the popup cannot be hidden");
        }
    }
    if window.label() == MAIN
        && let Err(error) = window_state::on_window_event(window, event)
    {
        tracing::warn!(%error, "the size of the window is unknown");
    }
}

/// Returns whether the window has the keyboard focus after the event, or `None` if the event does
/// not affect the focus.
pub(crate) fn focus_after(event: &WindowEvent) -> Option<bool> {
    if let WindowEvent::Focused(focused) = event {
        return Some(*focused);
    }
    matches!(event, WindowEvent::CloseRequested { .. }).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn a_window_shows_only_the_apps_own_pages() {
        let is_allowed = |url: &str| is_ours(&url.parse().expect("a URL"));
        assert!(is_allowed("tauri://localhost/index.html#/popup"));
        assert!(is_allowed("http://tauri.localhost/index.html"));
        assert!(!is_allowed("https://example.com/"));
        assert!(!is_allowed("http://tauri.localhost.example.com/"));
        assert!(!is_allowed("file:///etc/passwd"));
        assert!(!is_allowed("data:text/html,hello"));
    }
}
