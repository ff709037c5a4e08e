//! Bounds what is told to the windows: a web view that gets thousands of events a second
//! draws nothing else. What does not fit becomes one [`Event::Lagged`], after which a window
//! reads everything anew.

use std::time::Duration;

use drawbridge_hub::model::event::Event;
use tokio::time::Instant;

const PERIOD: Duration = Duration::from_millis(100);
const EVENTS: u32 = 50;

pub(crate) struct Throttle {
    period: Instant,
    told: u32,
    dropped: bool,
}

impl Throttle {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            period: now,
            told: 0,
            dropped: false,
        }
    }

    /// Whether the event fits. What decides whether the popup shows, and whether calls cross at all, always does.
    pub(crate) fn fits(&mut self, now: Instant, event: &Event) -> bool {
        if now >= self.period + PERIOD && !self.dropped {
            (self.period, self.told) = (now, 0);
        }
        match event {
            Event::ApprovalAsked { .. }
            | Event::ApprovalEnded { .. }
            | Event::DrawbridgeChanged { .. }
            | Event::Lagged => true,
            Event::ServerChanged { .. }
            | Event::AuthorizationChanged { .. }
            | Event::CallChanged { .. }
            | Event::ClientsChanged
            | Event::PolicyChanged
            | Event::ProfilesChanged
            | Event::SessionChanged { .. }
            | Event::SettingsChanged
            | Event::LogAdded { .. } => {
                self.told += 1;
                self.dropped |= self.told > EVENTS;
                self.told <= EVENTS
            }
        }
    }

    /// When the windows have to be told that events were dropped.
    pub(crate) fn owes_at(&self) -> Option<Instant> {
        self.dropped.then(|| self.period + PERIOD)
    }

    /// The windows were told.
    pub(crate) fn settle(&mut self, now: Instant) {
        *self = Self::new(now);
    }
}

#[cfg(test)]
mod tests;
