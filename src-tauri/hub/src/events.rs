//! The hub's events: told to every screen, waited for by nobody.

use tokio::sync::broadcast;

use crate::model::event::Event;

const KEPT: usize = 1024;

/// Where the rooms of the hub say what happened. Cheap to clone.
#[derive(Clone)]
pub struct Events(broadcast::Sender<Event>);

impl Events {
    pub fn new() -> Self {
        Self(broadcast::channel(KEPT).0)
    }

    /// Tells every screen that listens now.
    pub fn tell(&self, event: Event) {
        let _ = self.0.send(event);
    }

    /// The same, for what is not free to say: made only where a screen listens.
    pub fn tell_if_heard(&self, event: impl FnOnce() -> Event) {
        if self.is_heard() {
            self.tell(event());
        }
    }

    /// Whether a screen listens now.
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
