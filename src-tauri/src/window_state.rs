//! The size and place of the main window, which outlive the app: the file `window.json` in the data
//! folder. A window always opens on a connected monitor. The window is not larger than the
//! monitor's free area, unless that area is smaller than [`MIN_SIZE`].

use std::{
    fs, io,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use tauri::{
    AppHandle, LogicalSize, Manager, PhysicalPosition, PhysicalRect, WebviewWindow, Window,
    WindowEvent,
};

const FILE: &str = "window.json";
/// The size of the first window, in logical pixels.
const DEFAULT_SIZE: (f64, f64) = (1280.0, 800.0);
/// The smallest size, in logical pixels.
pub(crate) const MIN_SIZE: (f64, f64) = (900.0, 600.0);
/// The height that is left for the title bar, in logical pixels.
const TITLE_BAR: f64 = 40.0;
/// How much of the title bar has to be on a monitor, in physical pixels, so that a person can move
/// the window.
const MIN_VISIBLE: i32 = 80;

/// The size and place of a window. The size is in logical pixels, without the title bar; the place
/// is in physical pixels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Placement {
    width: f64,
    height: f64,
    x: i32,
    y: i32,
    maximized: bool,
}

/// A monitor's area without panels, in physical pixels, and its scale factor.
#[derive(Debug, Clone, Copy)]
struct Area {
    x: i32,
    y: i32,
    width: u32,
    height: u32,
    scale: f64,
}

impl Area {
    fn new(area: &PhysicalRect<i32, u32>, scale: f64) -> Self {
        Self {
            x: area.position.x,
            y: area.position.y,
            width: area.size.width,
            height: area.size.height,
            scale,
        }
    }

    /// Returns whether enough of the top edge of a window is on this monitor.
    fn shows(&self, placement: &Placement) -> bool {
        let width = (placement.width * self.scale) as i32;
        let left = placement.x.max(self.x);
        let right =
            (placement.x.saturating_add(width)).min(self.x.saturating_add_unsigned(self.width));
        let bottom = self.y.saturating_add_unsigned(self.height);
        right.saturating_sub(left) >= MIN_VISIBLE
            && placement.y >= self.y
            && placement.y.saturating_add(MIN_VISIBLE) <= bottom
    }

    /// Returns the size, reduced to the free area, in logical pixels.
    fn fit(&self, (width, height): (f64, f64)) -> (f64, f64) {
        let free = (
            f64::from(self.width) / self.scale,
            f64::from(self.height) / self.scale - TITLE_BAR,
        );
        (width.min(free.0), height.min(free.1))
    }
}

/// The placement of the main window while the app runs. Tauri manages the value as state of the
/// app.
pub(crate) struct WindowState {
    file: PathBuf,
    placement: Mutex<Option<Placement>>,
}

impl WindowState {
    /// Reads the stored placement. A file that is missing or cannot be read counts as no placement.
    pub(crate) fn load(data_dir: PathBuf) -> Self {
        let file = data_dir.join(FILE);
        let placement = fs::read(&file)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok());
        Self {
            file,
            placement: Mutex::new(placement),
        }
    }

    fn placement(&self) -> Option<Placement> {
        *self
            .placement
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, placement: Placement) {
        *self
            .placement
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(placement);
    }

    fn store(&self) -> io::Result<()> {
        let Some(placement) = self.placement() else {
            return Ok(());
        };
        // A crash leaves the old file or the new one.
        let new = self.file.with_extension("json.new");
        fs::write(&new, serde_json::to_vec(&placement)?)?;
        fs::rename(&new, &self.file)
    }
}

/// Records the size and place of the main window when they change, and stores them when the window
/// closes.
pub(crate) fn on_window_event(window: &Window, event: &WindowEvent) -> tauri::Result<()> {
    let state = window.state::<WindowState>();
    if matches!(event, WindowEvent::Resized(_) | WindowEvent::Moved(_)) {
        return record_placement(window, &state);
    }
    if matches!(event, WindowEvent::Destroyed) {
        store(window.app_handle());
    }
    Ok(())
}

/// Stores the size and place of the main window. A failure goes to the log.
pub(crate) fn store(app: &AppHandle) {
    if let Err(error) = app.state::<WindowState>().store() {
        tracing::warn!(%error, "the size of the window cannot be stored");
    }
}

fn record_placement(window: &Window, state: &WindowState) -> tauri::Result<()> {
    if !window.is_visible()? || window.is_minimized()? || window.is_fullscreen()? {
        return Ok(());
    }
    let maximized = window.is_maximized()?;
    // A window that is no longer maximized gets the size that it had before.
    if let (true, Some(before)) = (maximized, state.placement()) {
        state.set(Placement {
            maximized: true,
            ..before
        });
        return Ok(());
    }
    let size: LogicalSize<f64> = window.inner_size()?.to_logical(window.scale_factor()?);
    let PhysicalPosition { x, y } = window.outer_position()?;
    state.set(Placement {
        width: size.width,
        height: size.height,
        x,
        y,
        maximized,
    });
    Ok(())
}

/// Gives a new, hidden main window its size and place.
pub(crate) fn restore(window: &WebviewWindow) -> tauri::Result<()> {
    let placement = window.state::<WindowState>().placement();
    let areas: Vec<Area> = window
        .available_monitors()?
        .iter()
        .map(|monitor| Area::new(monitor.work_area(), monitor.scale_factor()))
        .collect();
    let primary = window
        .primary_monitor()?
        .map(|monitor| Area::new(monitor.work_area(), monitor.scale_factor()))
        .or(areas.first().copied());
    let (size, position) = choose_place(placement, &areas, primary);
    window.set_size(LogicalSize::new(size.0, size.1))?;
    if let Some((x, y)) = position {
        window.set_position(PhysicalPosition::new(x, y))?;
    }
    if placement.is_some_and(|placement| placement.maximized) {
        window.maximize()?;
    }
    Ok(())
}

/// Returns the size of a window in logical pixels and, if the stored place is on a connected
/// monitor, the place. Otherwise, the desktop chooses the place, and the size fits the monitor
/// `primary`.
fn choose_place(
    placement: Option<Placement>,
    areas: &[Area],
    primary: Option<Area>,
) -> ((f64, f64), Option<(i32, i32)>) {
    let shown = placement.and_then(|placement| {
        let area = areas.iter().find(|area| area.shows(&placement))?;
        Some((placement, *area))
    });
    let start_size = placement.map_or(DEFAULT_SIZE, |placement| {
        (placement.width, placement.height)
    });
    let area = shown.map(|(_, area)| area).or(primary);
    let (width, height) = area.map_or(start_size, |area| area.fit(start_size));
    let size = (width.max(MIN_SIZE.0), height.max(MIN_SIZE.1));
    (size, shown.map(|(placement, _)| (placement.x, placement.y)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(x: i32, y: i32, width: u32, height: u32) -> Area {
        Area {
            x,
            y,
            width,
            height,
            scale: 1.0,
        }
    }

    fn placement(x: i32, y: i32) -> Placement {
        Placement {
            width: 1000.0,
            height: 700.0,
            x,
            y,
            maximized: false,
        }
    }

    #[test]
    fn the_first_window_fits_a_small_screen() {
        let laptop = area(0, 0, 1366, 768);
        assert_eq!(
            choose_place(None, &[laptop], Some(laptop)),
            ((1280.0, 728.0), None)
        );
        let large = area(0, 0, 2560, 1440);
        assert_eq!(
            choose_place(None, &[large], Some(large)),
            (DEFAULT_SIZE, None)
        );
        assert_eq!(choose_place(None, &[], None), (DEFAULT_SIZE, None));
    }

    #[test]
    fn a_window_returns_to_its_place_on_any_monitor() {
        let (left, right) = (area(0, 0, 1920, 1080), area(1920, 0, 1920, 1080));
        let stored = placement(2000, 100);
        assert_eq!(
            choose_place(Some(stored), &[left, right], Some(left)),
            ((1000.0, 700.0), Some((2000, 100)))
        );
    }

    #[test]
    fn a_window_that_no_monitor_would_show_keeps_its_size_only() {
        let left = area(0, 0, 1920, 1080);
        for lost in [
            placement(2000, 100),
            placement(-990, 100),
            placement(0, -300),
            placement(0, 1070),
        ] {
            assert_eq!(
                choose_place(Some(lost), &[left], Some(left)),
                ((1000.0, 700.0), None),
                "{lost:?}"
            );
        }
    }

    #[test]
    fn a_window_is_not_larger_than_its_monitor() {
        let small = area(0, 0, 1024, 650);
        assert_eq!(
            choose_place(Some(placement(0, 0)), &[small], Some(small)),
            ((1000.0, 610.0), Some((0, 0)))
        );
    }

    #[test]
    fn the_placement_is_stored_and_an_unreadable_file_counts_as_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = WindowState::load(folder.path().to_owned());
        assert_eq!(state.placement(), None);
        state.set(placement(1, 2));
        state.store().expect("stored");
        let restarted = WindowState::load(folder.path().to_owned());
        assert_eq!(restarted.placement(), Some(placement(1, 2)));
        fs::write(folder.path().join(FILE), "{").expect("written");
        assert_eq!(
            WindowState::load(folder.path().to_owned()).placement(),
            None
        );
    }
}
