//! The drawbridge pauses all calls: while they are paused, no call is sent, and calls in flight are
//! aborted. A pause lasts until a person resumes calls, or until a time that the person chose.

use std::{sync::Arc, time::Duration};

use drawbridge_model::{
    audit::AuditKind,
    clock,
    event::{Event, Events},
    ids::Timestamp,
};
use drawbridge_store::{
    Store, StoreError,
    settings::{Settings, SettingsChange},
};
use serde_json::json;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

/// The most time between two readings of the clock while a pause has an end. A timer does not run
/// while the computer is suspended, but the clock does.
const CLOCK_INTERVAL: Duration = Duration::from_secs(20);
/// The delay between two attempts to resume calls if the state cannot be stored.
const RETRY_DELAY: Duration = Duration::from_secs(10);

/// A pause of all calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pause {
    /// When calls resume by themselves, or `None` if a person has to resume them.
    resumes_at: Option<Timestamp>,
}

/// Whether calls are paused. The state survives restarts. Cheap to clone.
#[derive(Clone)]
pub struct Drawbridge {
    settings: Settings,
    events: Events,
    pause: Arc<watch::Sender<Option<Pause>>>,
    /// Held while a change is stored, so that the stored state is the latest state.
    write_lock: Arc<tokio::sync::Mutex<()>>,
}

impl Drawbridge {
    pub fn new(settings: Settings, events: Events) -> Self {
        let stored = settings.get();
        let pause = stored.paused.then_some(Pause {
            resumes_at: stored.paused_until,
        });
        Self {
            settings,
            events,
            pause: Arc::new(watch::Sender::new(pause)),
            write_lock: Arc::default(),
        }
    }

    pub fn is_paused(&self) -> bool {
        self.pause.borrow().is_some()
    }

    /// Returns when paused calls resume by themselves, or `None` if calls are not paused, or if a
    /// person has to resume them.
    pub fn resumes_at(&self) -> Option<Timestamp> {
        self.pause.borrow().and_then(|pause| pause.resumes_at)
    }

    /// Waits until all calls are paused. Returns at once if they are paused already.
    pub async fn wait_until_paused(&self) {
        // An error means that the sender is gone, so calls can no longer be paused.
        if self
            .pause
            .subscribe()
            .wait_for(Option::is_some)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    /// Pauses all calls at once, even if the new state cannot be stored. Calls resume at
    /// `resumes_at` or, if it is `None`, when a person resumes them.
    ///
    /// # Errors
    /// Returns an error if the state cannot be stored. The pause then lasts until the next restart
    /// at the latest.
    pub async fn pause(&self, resumes_at: Option<Timestamp>) -> Result<(), StoreError> {
        let pause = Some(Pause { resumes_at });
        self.pause.send_replace(pause);
        self.publish();
        tracing::warn!("all calls are paused");
        let _one_at_a_time = self.write_lock.lock().await;
        // A change that was being stored meanwhile may have ended the pause.
        self.pause.send_replace(pause);
        self.settings
            .change(SettingsChange::pause(resumes_at))
            .await
            .map(drop)
    }

    /// Resumes calls.
    ///
    /// # Errors
    /// Returns an error if the state cannot be stored. Calls then stay paused.
    pub async fn resume(&self) -> Result<(), StoreError> {
        let _one_at_a_time = self.write_lock.lock().await;
        self.settings.change(SettingsChange::resume()).await?;
        self.pause.send_replace(None);
        self.publish();
        tracing::info!("calls are resumed");
        Ok(())
    }

    /// Resumes calls each time a pause is over. Runs until the hub aborts the task.
    pub async fn resume_on_time(self, store: Store) {
        let mut changes = self.pause.subscribe();
        loop {
            let pause = *changes.borrow_and_update();
            let Some(resumes_at) = pause.and_then(|pause| pause.resumes_at) else {
                if changes.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let remaining = resumes_at.0.saturating_sub(clock::now().0);
            if let Ok(remaining @ 1..) = u64::try_from(remaining) {
                let wait = Duration::from_millis(remaining).min(CLOCK_INTERVAL);
                let _ = timeout(wait, changes.changed()).await;
                continue;
            }
            match self.end_pause(pause).await {
                Ok(true) => store.append_audit(AuditKind::Resumed, &json!({"automatic": true})),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(
                        "calls stay paused, because the new state cannot be stored: {error}"
                    );
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    /// Resumes calls if `pause` is still the current pause. Returns whether calls were resumed.
    async fn end_pause(&self, pause: Option<Pause>) -> Result<bool, StoreError> {
        let _one_at_a_time = self.write_lock.lock().await;
        if *self.pause.borrow() != pause {
            return Ok(false);
        }
        self.settings.change(SettingsChange::resume()).await?;
        // A person may have begun another pause meanwhile, which is stored next.
        let ended = self.pause.send_if_modified(|current| {
            let ends = *current == pause;
            if ends {
                *current = None;
            }
            ends
        });
        if ended {
            self.publish();
            tracing::info!("calls are resumed, because the pause is over");
        }
        Ok(ended)
    }

    fn publish(&self) {
        let pause = *self.pause.borrow();
        self.events.publish(Event::DrawbridgeChanged {
            paused: pause.is_some(),
            resumes_at: pause.and_then(|pause| pause.resumes_at),
        });
    }
}

#[cfg(test)]
mod tests;
