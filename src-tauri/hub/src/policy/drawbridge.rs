//! The drawbridge itself: raised, nothing crosses, and what is on its way is called back.

use std::sync::Arc;

use tokio::sync::watch;

use crate::{
    events::Events,
    model::event::Event,
    settings::{Settings, Values},
    store::StoreError,
};

/// Whether calls may cross at all. It stays as it is over restarts. Cheap to clone.
#[derive(Clone)]
pub struct Drawbridge {
    settings: Settings,
    events: Events,
    is_raised: Arc<watch::Sender<bool>>,
}

impl Drawbridge {
    pub fn new(settings: Settings, events: Events) -> Self {
        let is_raised = Arc::new(watch::Sender::new(settings.get().raised));
        Self {
            settings,
            events,
            is_raised,
        }
    }

    pub fn is_raised(&self) -> bool {
        *self.is_raised.borrow()
    }

    /// Returns when it is raised; at once where it is.
    pub async fn raised(&self) {
        // An error says that nobody can raise it any more.
        if self
            .is_raised
            .subscribe()
            .wait_for(|is_raised| *is_raised)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    /// Raises it: at once, also where that cannot be written.
    ///
    /// # Errors
    /// Where it cannot be written; then it is lowered by a restart.
    pub async fn raise(&self) -> Result<(), StoreError> {
        self.is_raised.send_replace(true);
        self.events.tell(Event::DrawbridgeChanged { raised: true });
        tracing::warn!("the drawbridge was raised: no call crosses");
        self.settings
            .change(|values| Values {
                raised: true,
                ..values
            })
            .await
    }

    /// Lowers it.
    ///
    /// # Errors
    /// Where that cannot be written; then it stays raised.
    pub async fn lower(&self) -> Result<(), StoreError> {
        self.settings
            .change(|values| Values {
                raised: false,
                ..values
            })
            .await?;
        self.is_raised.send_replace(false);
        self.events.tell(Event::DrawbridgeChanged { raised: false });
        tracing::info!("the drawbridge was lowered");
        Ok(())
    }
}
