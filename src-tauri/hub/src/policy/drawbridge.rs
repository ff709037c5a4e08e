//! The drawbridge pauses all calls: while they are paused, no call is sent, and calls in flight are
//! aborted.

use std::sync::Arc;

use drawbridge_model::event::{Event, Events};
use drawbridge_store::{
    StoreError,
    settings::{Settings, SettingsChange},
};
use tokio::sync::watch;

/// Whether calls are paused. The state survives restarts. Cheap to clone.
#[derive(Clone)]
pub struct Drawbridge {
    settings: Settings,
    events: Events,
    is_paused: Arc<watch::Sender<bool>>,
    /// Held while a change is stored, so that the stored state is the latest one.
    write_lock: Arc<tokio::sync::Mutex<()>>,
}

impl Drawbridge {
    pub fn new(settings: Settings, events: Events) -> Self {
        let is_paused = Arc::new(watch::Sender::new(settings.get().paused));
        Self {
            settings,
            events,
            is_paused,
            write_lock: Arc::default(),
        }
    }

    pub fn is_paused(&self) -> bool {
        *self.is_paused.borrow()
    }

    /// Waits until all calls are paused. Returns at once if they are paused already.
    pub async fn wait_until_paused(&self) {
        // An error means that the sender is gone, so calls can no longer be paused.
        if self
            .is_paused
            .subscribe()
            .wait_for(|is_paused| *is_paused)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    /// Pauses all calls at once, even if the new state cannot be stored.
    ///
    /// # Errors
    /// Returns an error if the state cannot be stored. The pause then lasts until the next restart.
    pub async fn pause(&self) -> Result<(), StoreError> {
        self.is_paused.send_replace(true);
        self.events
            .publish(Event::DrawbridgeChanged { paused: true });
        tracing::warn!("all calls are paused");
        let _one_at_a_time = self.write_lock.lock().await;
        // A change that was being stored meanwhile may have ended the pause.
        self.is_paused.send_replace(true);
        self.settings
            .change(SettingsChange::paused(true))
            .await
            .map(drop)
    }

    /// Resumes calls.
    ///
    /// # Errors
    /// Returns an error if the state cannot be stored. Calls then stay paused.
    pub async fn resume(&self) -> Result<(), StoreError> {
        let _one_at_a_time = self.write_lock.lock().await;
        self.settings.change(SettingsChange::paused(false)).await?;
        self.is_paused.send_replace(false);
        self.events
            .publish(Event::DrawbridgeChanged { paused: false });
        tracing::info!("calls are resumed");
        Ok(())
    }
}
