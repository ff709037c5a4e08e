//! The hub's events, broadcast to all subscribers. No publisher waits for a subscriber.

use tokio::sync::broadcast;

use crate::model::event::Event;

const CAPACITY: usize = 1024;

/// The channel on which the hub's modules publish events. Cheap to clone.
#[derive(Clone)]
pub struct Events(broadcast::Sender<Event>);

impl Events {
    pub fn new() -> Self {
        Self(broadcast::channel(CAPACITY).0)
    }

    /// Publishes an event to all current subscribers.
    pub fn publish(&self, event: Event) {
        let _ = self.0.send(event);
    }

    /// Publishes an event that is expensive to make. Calls `event` only if there is a subscriber.
    pub fn publish_with(&self, event: impl FnOnce() -> Event) {
        if self.has_subscribers() {
            self.publish(event());
        }
    }

    /// Returns whether there is a subscriber.
    pub fn has_subscribers(&self) -> bool {
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
