//! The two windows. The main window is created when it is opened and destroyed when it is closed,
//! because a web view takes more than 100 MiB. The popup is kept ready while clients are in use, so
//! that a waiting call appears at once, and destroyed after a while.

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use tauri::{
    AppHandle, Manager, PhysicalPosition, PhysicalSize, Url, WebviewUrl, WebviewWindow,
    WebviewWindowBuilder, Window, WindowEvent,
};

use crate::{
    display,
    popup_place::{self, MonitorArea, choose_monitor},
    texts,
    window_state::{self, MIN_SIZE},
};

pub(crate) const MAIN: &str = "main";
pub(crate) const POPUP: &str = "popup";

/// How long a popup that opens by itself waits for the height of its new content, so that it
/// appears with its final size.
const MEASURE_WITHIN: Duration = Duration::from_millis(100);

/// The same for a popup whose page has to be loaded first. Only a page that hangs takes so long.
const LOAD_WITHIN: Duration = Duration::from_secs(2);

/// How long a hidden popup is kept after its last use (see [`PopupState::last_use`]).
const KEEP_POPUP: Duration = Duration::from_secs(120);

/// The state of the popup. Tauri manages the value as state of the app.
pub(crate) struct Popup(Mutex<PopupState>);

struct PopupState {
    stage: Stage,
    /// The height of the content, in logical pixels.
    content_height: f64,
    /// How the popup appears as soon as the height of its content is known, or `None` if it stays
    /// hidden.
    awaited: Option<Focus>,
    /// When the popup was last shown, hidden, or kept ready for a client.
    last_use: Instant,
}

/// Whether the window of the popup exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Absent,
    Creating,
    Present,
    /// Destroyed, but Tauri still lists it.
    Ending,
}

impl Popup {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(PopupState {
            stage: Stage::Absent,
            content_height: popup_place::MAX_HEIGHT,
            awaited: None,
            last_use: Instant::now(),
        }))
    }

    fn of(app: &AppHandle) -> MutexGuard<'_, PopupState> {
        let popup = app.state::<Self>().inner();
        popup.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how the popup appears as soon as the height of its content is known. Returns the
    /// earlier value.
    fn set_awaited(app: &AppHandle, awaited: Option<Focus>) -> Option<Focus> {
        let mut popup = Self::of(app);
        popup.last_use = Instant::now();
        std::mem::replace(&mut popup.awaited, awaited)
    }
}

/// The folder for the caches and storage of the web views. The folder is in the data folder, so
/// that nothing else remains after the app is removed.
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

/// Shows the main window. A new window begins with the page of the hash.
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
    .on_navigation(is_own_page)
    .title(texts::PRODUCT_NAME)
    .min_inner_size(MIN_SIZE.0, MIN_SIZE.1)
    .visible(false)
    .build()?;
    window_state::restore(&window)?;
    window.show()?;
    window.set_focus()
}

/// Shows the main window like [`show_main`], with the missed calls on the Approvals screen.
pub(crate) fn show_missed(app: &AppHandle) -> tauri::Result<()> {
    show_page(app, "#/approvals/missed")
}

/// Closes the main window without a request that could be prevented.
pub(crate) fn close_main(app: &AppHandle) -> tauri::Result<()> {
    app.get_webview_window(MAIN)
        .map_or(Ok(()), |main| main.destroy())
}

/// Returns whether a window may show the URL: only the app's own pages. A server's text may contain
/// a link, and a foreign page in this window would look like Drawbridge.
fn is_own_page(url: &Url) -> bool {
    match (url.scheme(), url.host_str()) {
        ("tauri", Some("localhost")) | ("http" | "https", Some("tauri.localhost")) => true,
        // `tauri dev` serves the UI at this address.
        ("http", Some("localhost")) => tauri::is_dev(),
        _ => false,
    }
}

/// Begins to create the popup, hidden, unless it exists. A thread of its own waits for the main
/// thread, which creates the web view. On Windows, waiting on the main thread itself would
/// deadlock.
pub(crate) fn create_popup(app: &AppHandle) {
    {
        let mut popup = Popup::of(app);
        if popup.stage != Stage::Absent {
            return;
        }
        popup.stage = Stage::Creating;
    }
    let app = app.clone();
    tauri::async_runtime::spawn_blocking(move || {
        let built = build_popup(&app);
        let on_main = app.clone();
        let finished = app.run_on_main_thread(move || {
            if let Err(error) = built.and_then(|window| finish_popup(&on_main, &window)) {
                Popup::of(&on_main).stage = Stage::Absent;
                tracing::error!(%error, "the popup cannot be created");
            }
        });
        if let Err(error) = finished {
            tracing::warn!(%error, "the popup cannot be created");
        }
    });
}

fn build_popup(app: &AppHandle) -> tauri::Result<WebviewWindow> {
    WebviewWindowBuilder::new(app, POPUP, WebviewUrl::App("index.html#/popup".into()))
        .data_directory(WebviewFolder::of(app))
        .on_navigation(is_own_page)
        .title(texts::CALL_WAITS)
        .inner_size(popup_place::WIDTH, popup_place::MAX_HEIGHT)
        .min_inner_size(popup_place::WIDTH, popup_place::MIN_HEIGHT)
        .always_on_top(true)
        .visible_on_all_workspaces(true)
        .skip_taskbar(true)
        .maximizable(false)
        .minimizable(false)
        .focused(false)
        .visible(false)
        .build()
}

fn finish_popup(app: &AppHandle, window: &WebviewWindow) -> tauri::Result<()> {
    leave_focus_when_shown(window)?;
    disable_hardware_acceleration(window)?;
    Popup::of(app).stage = Stage::Present;
    show_popup_within(app.clone(), LOAD_WITHIN);
    discard_popup_when_unused(app.clone());
    Ok(())
}

/// Creates the popup, hidden, if it does not exist, and keeps it for a while.
pub(crate) fn keep_popup_ready(app: &AppHandle) {
    Popup::of(app).last_use = Instant::now();
    create_popup(app);
}

/// Destroys the popup when it was not used for [`KEEP_POPUP`].
fn discard_popup_when_unused(app: AppHandle) {
    tauri::async_runtime::spawn(async move {
        while let Some(rest) = time_until_discard(&app) {
            tokio::time::sleep(rest).await;
            let on_main = app.clone();
            let discarded = app.run_on_main_thread(move || {
                if let Err(error) = discard_unused_popup(&on_main) {
                    tracing::warn!(%error, "the popup cannot be destroyed");
                }
            });
            if let Err(error) = discarded {
                tracing::warn!(%error, "the popup cannot be destroyed");
                return;
            }
        }
    });
}

/// Returns the time until the popup is destroyed if nobody uses it until then: at least a second.
/// Returns `None` if the popup does not exist.
fn time_until_discard(app: &AppHandle) -> Option<Duration> {
    let popup = Popup::of(app);
    let rest = KEEP_POPUP.saturating_sub(popup.last_use.elapsed());
    (popup.stage == Stage::Present).then(|| rest.max(Duration::from_secs(1)))
}

/// Destroys the popup if it is hidden and was not used for [`KEEP_POPUP`]. Runs on the main thread.
fn discard_unused_popup(app: &AppHandle) -> tauri::Result<()> {
    let Some(window) = app.get_webview_window(POPUP) else {
        return Ok(());
    };
    let is_visible = window.is_visible()?;
    {
        let mut popup = Popup::of(app);
        if popup.stage != Stage::Present || popup.awaited.is_some() {
            return Ok(());
        }
        if is_visible {
            popup.last_use = Instant::now();
        }
        if popup.last_use.elapsed() < KEEP_POPUP {
            return Ok(());
        }
        popup.stage = Stage::Ending;
    }
    window.destroy()
}

/// Records that the popup was destroyed. A call may already wait for a new popup.
pub(crate) fn on_popup_destroyed(app: &AppHandle) {
    let is_awaited = {
        let mut popup = Popup::of(app);
        popup.stage = Stage::Absent;
        popup.awaited.is_some()
    };
    if is_awaited {
        create_popup(app);
    }
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

/// Shows the popup, and creates it if necessary. A popup that opens by itself or has to be created
/// appears when [`fit_popup`] has been called for its new content, or after a moment. Runs on the
/// main thread.
pub(crate) fn show_popup(app: &AppHandle, focus: Focus) -> tauri::Result<()> {
    let stage = Popup::of(app).stage;
    let window = match app.get_webview_window(POPUP) {
        Some(window) if stage == Stage::Present => window,
        _ => {
            let mut popup = Popup::of(app);
            popup.last_use = Instant::now();
            if popup.awaited != Some(Focus::Take) {
                popup.awaited = Some(focus);
            }
            drop(popup);
            create_popup(app);
            return Ok(());
        }
    };
    match focus {
        Focus::Leave if !window.is_visible()? => {
            if Popup::set_awaited(app, Some(focus)).is_none() {
                show_popup_within(app.clone(), MEASURE_WITHIN);
            }
            Ok(())
        }
        Focus::Leave => Ok(()),
        Focus::Take => {
            Popup::set_awaited(app, None);
            place_and_show(&window)?;
            window.set_focus()
        }
    }
}

/// Shows the awaited popup after this time, even if its content was not measured.
fn show_popup_within(app: AppHandle, time: Duration) {
    tauri::async_runtime::spawn(async move {
        tokio::time::sleep(time).await;
        let on_main = app.clone();
        let shown = app.run_on_main_thread(move || {
            if let Err(error) = show_awaited_popup(&on_main) {
                tracing::warn!(%error, "the popup cannot be shown");
            }
        });
        if let Err(error) = shown {
            tracing::warn!(%error, "the popup cannot be shown");
        }
    });
}

fn show_awaited_popup(app: &AppHandle) -> tauri::Result<()> {
    let Some(popup) = app.get_webview_window(POPUP) else {
        return Ok(());
    };
    let Some(focus) = Popup::of(app).awaited.take() else {
        return Ok(());
    };
    place_and_show(&popup)?;
    match focus {
        Focus::Leave => Ok(()),
        Focus::Take => popup.set_focus(),
    }
}

/// Gives the popup its size and place, and shows it, if it is hidden. A Wayland compositor ignores
/// the place.
fn place_and_show(popup: &WebviewWindow) -> tauri::Result<()> {
    if popup.is_visible()? {
        return Ok(());
    }
    let app = popup.app_handle();
    let main_window = match app.get_webview_window(MAIN) {
        Some(main) if main.is_visible()? => Some(center(&main)?),
        _ => None,
    };
    // On Wayland, no app learns where the pointer is.
    let pointer = if display::is_wayland() {
        None
    } else {
        app.cursor_position().ok()
    };
    if let Some(monitor) = find_monitor(app, pointer, main_window)? {
        let size = monitor.size(Popup::of(app).content_height);
        let width = popup.outer_size()?.width.max(size.width);
        popup.set_position(monitor.first_place(width))?;
        popup.set_size(size)?;
    }
    popup.show()
}

/// Makes the popup as high as its content. `content_height` is in logical pixels. The page of the
/// popup does not ask for a new height while the pointer is over the popup. Runs on the main
/// thread.
pub(crate) fn fit_popup(app: &AppHandle, content_height: f64) -> tauri::Result<()> {
    Popup::of(app).content_height = content_height;
    show_awaited_popup(app)?;
    let Some(popup) = app.get_webview_window(POPUP) else {
        return Ok(());
    };
    if !popup.is_visible()? {
        return Ok(());
    }
    let Some(monitor) = find_monitor(app, Some(center(&popup)?), None)? else {
        return Ok(());
    };
    let (size, inner, outer) = (
        monitor.size(content_height),
        popup.inner_size()?,
        popup.outer_size()?,
    );
    // A popup that a person has made wider keeps its width.
    let size = PhysicalSize::new(size.width.max(inner.width), size.height);
    if size != inner {
        popup.set_size(size)?;
    }
    let framed = PhysicalSize::new(
        size.width + outer.width.saturating_sub(inner.width),
        size.height + outer.height.saturating_sub(inner.height),
    );
    let place = popup.outer_position()?;
    let within = monitor.place_within(place, framed);
    if within != place {
        popup.set_position(within)?;
    }
    Ok(())
}

/// Returns the monitor for the popup: the monitor of the first point, or else of the second point,
/// or else the monitor that [`choose_monitor`] chooses without a point.
fn find_monitor(
    app: &AppHandle,
    first: Option<PhysicalPosition<f64>>,
    second: Option<PhysicalPosition<f64>>,
) -> tauri::Result<Option<MonitorArea>> {
    let monitors: Vec<MonitorArea> = app
        .available_monitors()?
        .iter()
        .map(MonitorArea::from)
        .collect();
    let primary = app.primary_monitor()?.as_ref().map(MonitorArea::from);
    Ok(choose_monitor(&monitors, first, second, primary))
}

/// Returns the center of a window.
fn center(window: &WebviewWindow) -> tauri::Result<PhysicalPosition<f64>> {
    let (place, size) = (window.outer_position()?, window.outer_size()?);
    Ok(PhysicalPosition::new(
        f64::from(place.x) + f64::from(size.width) / 2.0,
        f64::from(place.y) + f64::from(size.height) / 2.0,
    ))
}

pub(crate) fn hide_popup(app: &AppHandle) -> tauri::Result<()> {
    Popup::set_awaited(app, None);
    app.get_webview_window(POPUP)
        .map_or(Ok(()), |popup| popup.hide())
}

/// If the popup is to be closed, hides the popup instead, because its calls still wait. The tray
/// shows the calls. Also records and stores the size and place of the main window.
pub(crate) fn on_window_event(window: &Window, event: &WindowEvent) {
    if let (POPUP, WindowEvent::CloseRequested { api, .. }) = (window.label(), event) {
        api.prevent_close();
        if let Err(error) = hide_popup(window.app_handle()) {
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
    use super::is_own_page;

    #[test]
    fn a_window_shows_only_the_apps_own_pages() {
        let is_allowed = |url: &str| is_own_page(&url.parse().expect("a URL"));
        assert!(is_allowed("tauri://localhost/index.html#/popup"));
        assert!(is_allowed("http://tauri.localhost/index.html"));
        assert!(!is_allowed("https://example.com/"));
        assert!(!is_allowed("http://tauri.localhost.example.com/"));
        assert!(!is_allowed("file:///etc/passwd"));
        assert!(!is_allowed("data:text/html,hello"));
    }
}
