//! The size and place of the popup: as high as its content, near the top right of a monitor, as
//! desktops place notifications, and entirely within the monitor's area without panels.

use tauri::{Monitor, PhysicalPosition, PhysicalSize};

/// The width of the popup and the bounds of its height, in logical pixels, without the title bar.
pub(crate) const WIDTH: f64 = 460.0;
pub(crate) const MIN_HEIGHT: f64 = 220.0;
pub(crate) const MAX_HEIGHT: f64 = 700.0;
/// The distance from the edges of the screen, in logical pixels.
const MARGIN: f64 = 16.0;
/// The height that is left for the title bar, in logical pixels. The real height is unknown before
/// the popup is shown for the first time.
const TITLE_BAR: f64 = 40.0;

/// A rectangle in physical pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rect {
    position: PhysicalPosition<i32>,
    size: PhysicalSize<u32>,
}

/// A monitor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MonitorArea {
    bounds: Rect,
    /// The area without panels.
    work_area: Rect,
    /// The number of physical pixels in a logical pixel.
    scale: f64,
}

impl From<&Monitor> for MonitorArea {
    fn from(monitor: &Monitor) -> Self {
        let work_area = monitor.work_area();
        Self {
            bounds: Rect {
                position: *monitor.position(),
                size: *monitor.size(),
            },
            work_area: Rect {
                position: work_area.position,
                size: work_area.size,
            },
            scale: monitor.scale_factor(),
        }
    }
}

impl MonitorArea {
    fn contains(&self, point: PhysicalPosition<f64>) -> bool {
        let (x, y) = (
            f64::from(self.bounds.position.x),
            f64::from(self.bounds.position.y),
        );
        (x..x + f64::from(self.bounds.size.width)).contains(&point.x)
            && (y..y + f64::from(self.bounds.size.height)).contains(&point.y)
    }

    fn pixels(&self, logical: f64) -> i32 {
        (logical * self.scale).round() as i32
    }

    /// Returns the left, top, right and bottom edge of the area in which the popup may be.
    fn edges(&self) -> (i32, i32, i32, i32) {
        let Rect { position, size } = self.work_area;
        let margin = self.pixels(MARGIN);
        (
            position.x + margin,
            position.y + margin,
            position.x.saturating_add_unsigned(size.width) - margin,
            position.y.saturating_add_unsigned(size.height) - margin,
        )
    }

    /// Returns the size of a popup without the title bar. `content_height` is in logical pixels.
    pub(crate) fn size(&self, content_height: f64) -> PhysicalSize<u32> {
        let (_, top, _, bottom) = self.edges();
        let height = self.pixels(content_height.clamp(MIN_HEIGHT, MAX_HEIGHT));
        let free = bottom - top - self.pixels(TITLE_BAR);
        PhysicalSize::new(
            self.pixels(WIDTH).unsigned_abs(),
            height.min(free).max(1).unsigned_abs(),
        )
    }

    /// Returns the place of a popup that appears. `width` is the width of the popup with its frame,
    /// in physical pixels.
    pub(crate) fn first_place(&self, width: u32) -> PhysicalPosition<i32> {
        let (left, top, right, _) = self.edges();
        PhysicalPosition::new(right.saturating_sub_unsigned(width).max(left), top)
    }

    /// Returns the place of a popup that was at `place` and gets this size with its frame: the same
    /// place, unless the popup would leave the monitor's area.
    pub(crate) fn place_within(
        &self,
        place: PhysicalPosition<i32>,
        size: PhysicalSize<u32>,
    ) -> PhysicalPosition<i32> {
        let (left, top, right, bottom) = self.edges();
        PhysicalPosition::new(
            place
                .x
                .min(right.saturating_sub_unsigned(size.width))
                .max(left),
            place
                .y
                .min(bottom.saturating_sub_unsigned(size.height))
                .max(top),
        )
    }
}

/// Returns the monitor for the popup: the monitor of the pointer, or else of the main window, or
/// else the primary monitor, or else the first monitor. The points are in physical pixels.
pub(crate) fn choose_monitor(
    monitors: &[MonitorArea],
    pointer: Option<PhysicalPosition<f64>>,
    main_window: Option<PhysicalPosition<f64>>,
    primary: Option<MonitorArea>,
) -> Option<MonitorArea> {
    let monitor_of = |point: PhysicalPosition<f64>| {
        let mut found = monitors.iter().filter(|monitor| monitor.contains(point));
        found.next().copied()
    };
    pointer
        .and_then(monitor_of)
        .or_else(|| main_window.and_then(monitor_of))
        .or(primary)
        .or(monitors.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(x: i32, y: i32, width: u32, height: u32) -> Rect {
        Rect {
            position: PhysicalPosition::new(x, y),
            size: PhysicalSize::new(width, height),
        }
    }

    /// A monitor with a panel of 30 pixels at its top.
    fn monitor(x: i32, y: i32, width: u32, height: u32, scale: f64) -> MonitorArea {
        MonitorArea {
            bounds: rect(x, y, width, height),
            work_area: rect(x, y + 30, width, height - 30),
            scale,
        }
    }

    const LAPTOP: (u32, u32) = (1366, 768);

    #[test]
    fn the_popup_is_as_high_as_its_content_within_bounds() {
        let large = monitor(0, 0, 2560, 1440, 1.0);
        for (content, height) in [(10.0, 220), (413.2, 413), (700.0, 700), (5000.0, 700)] {
            assert_eq!(large.size(content), PhysicalSize::new(460, height));
        }
        let double = monitor(0, 0, 5120, 2880, 2.0);
        assert_eq!(double.size(413.2), PhysicalSize::new(920, 826));
    }

    #[test]
    fn the_popup_fits_a_small_work_area_with_its_title_bar() {
        let laptop = monitor(0, 0, LAPTOP.0, LAPTOP.1, 1.0);
        let size = laptop.size(5000.0);
        assert_eq!(size.height, 768 - 30 - 2 * 16 - 40);
        let framed = PhysicalSize::new(size.width + 2, size.height + 40);
        let place = laptop.first_place(framed.width);
        assert_eq!(place, PhysicalPosition::new(1366 - 16 - 462, 46));
        assert_eq!(
            laptop.place_within(place, framed),
            place,
            "the first place is within the area"
        );
        assert_eq!(
            monitor(0, 0, 800, 200, 1.0).size(5000.0).height,
            200 - 30 - 2 * 16 - 40,
            "even below the smallest height"
        );
    }

    #[test]
    fn a_popup_that_grows_stays_where_it_is_unless_it_would_leave_the_area() {
        let left = monitor(-1920, 0, 1920, 1080, 1.0);
        let size = PhysicalSize::new(460, 500);
        let inside = PhysicalPosition::new(-1000, 100);
        assert_eq!(left.place_within(inside, size), inside);
        assert_eq!(
            left.place_within(PhysicalPosition::new(-200, 900), size),
            PhysicalPosition::new(-16 - 460, 1080 - 16 - 500)
        );
        assert_eq!(
            left.place_within(PhysicalPosition::new(-2500, -80), size),
            PhysicalPosition::new(-1920 + 16, 46)
        );
    }

    #[test]
    fn the_popup_appears_on_the_monitor_of_the_pointer_or_of_the_main_window() {
        let (left, right) = (
            monitor(0, 0, 1920, 1080, 1.0),
            monitor(1920, 200, 1920, 1080, 1.0),
        );
        let monitors = [left, right];
        let on_left = Some(PhysicalPosition::new(1919.5, 10.0));
        let on_right = Some(PhysicalPosition::new(1920.0, 210.0));
        let nowhere = Some(PhysicalPosition::new(1920.0, 10.0));
        let choose = |pointer, main| choose_monitor(&monitors, pointer, main, Some(left));
        assert_eq!(choose(on_right, on_left), Some(right));
        assert_eq!(choose(on_left, on_right), Some(left));
        assert_eq!(choose(nowhere, on_right), Some(right));
        assert_eq!(choose(None, on_right), Some(right));
        assert_eq!(choose(None, nowhere), Some(left), "the primary monitor");
        assert_eq!(choose_monitor(&monitors, None, None, None), Some(left));
        assert_eq!(choose_monitor(&[], None, None, None), None);
        assert_eq!(
            right.first_place(462),
            PhysicalPosition::new(1920 + 1920 - 16 - 462, 246)
        );
    }
}
