//! The hub's events, broadcast to all subscribers. No publisher waits for a subscriber.

use tokio::sync::broadcast;

use crate::model::event::Event;

const KEPT: usize = 1024;

/// The channel on which the hub's modules publish events. Cheap to clone.
#[derive(Clone)]
pub struct Events(broadcast::Sender<Event>);

impl Events {
    pub fn new() -> Self {
        Self(broadcast::channel(KEPT).0)
    }

    /// Publishes an event to all current subscribers.
    pub fn tell(&self, event: Event) {
        let _ = self.0.send(event);
    }

    /// Publishes an event that is expensive to make. Calls `event` only if there is a subscriber.
    pub fn tell_if_heard(&self, event: impl FnOnce() -> Event) {
        if self.is_heard() {
            self.tell(event());
        }
    }

    /// Returns whether there is a subscriber.
    pub fn is_heard(&self) -> bool {
        self.0.receiver_count() > 0
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.0.subscribe()
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}
