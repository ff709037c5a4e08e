//! Limits the rate of events to the main window, because a web view that receives thousands of
//! events a second cannot draw anything else. The excess becomes one [`Event::Lagged`], after which
//! the window reads everything again.

use std::time::Duration;

use drawbridge_model::event::Event;
use tokio::time::Instant;

const PERIOD: Duration = Duration::from_millis(100);
/// The maximum number of events that are sent to the window in one [`PERIOD`].
const MAX_EVENTS: u32 = 50;

pub(crate) struct Throttle {
    period_start: Instant,
    /// The number of limited events in this period. The events beyond [`MAX_EVENTS`] were dropped.
    count: u32,
    dropped: bool,
}

impl Throttle {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            period_start: now,
            count: 0,
            dropped: false,
        }
    }

    /// Returns whether the event may be sent. Events about approvals, pairings, mutes and the
    /// drawbridge, and [`Event::Lagged`], are always sent.
    pub(crate) fn admit(&mut self, now: Instant, event: &Event) -> bool {
        if now >= self.period_start + PERIOD && !self.dropped {
            (self.period_start, self.count) = (now, 0);
        }
        match event {
            Event::ApprovalRequested { .. }
            | Event::ApprovalEnded { .. }
            | Event::PairingRequested { .. }
            | Event::PairingEnded { .. }
            | Event::ClientMuted { .. }
            | Event::ClientUnmuted { .. }
            | Event::DrawbridgeChanged { .. }
            | Event::Lagged => true,
            Event::ServerChanged { .. }
            | Event::SignInChanged { .. }
            | Event::CallChanged { .. }
            | Event::CallProgressed { .. }
            | Event::ClientsChanged
            | Event::ClientFilesChanged
            | Event::MemoryChanged
            | Event::PolicyChanged
            | Event::ProfilesChanged
            | Event::HooksChanged
            | Event::OfficialRegistryChanged
            | Event::BrowsersChanged
            | Event::SessionChanged { .. }
            | Event::SettingsChanged
            | Event::LogAdded { .. } => {
                self.count += 1;
                self.dropped |= self.count > MAX_EVENTS;
                self.count <= MAX_EVENTS
            }
        }
    }

    /// Returns when to send [`Event::Lagged`] to the window, or `None` if no event was dropped.
    pub(crate) fn lagged_at(&self) -> Option<Instant> {
        self.dropped.then(|| self.period_start + PERIOD)
    }

    /// Records that [`Event::Lagged`] was sent to the window.
    pub(crate) fn record_lagged(&mut self, now: Instant) {
        *self = Self::new(now);
    }
}

#[cfg(test)]
mod tests;
