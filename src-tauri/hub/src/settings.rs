//! The user's settings, in memory and in the store.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use tokio::sync::Notify;

use crate::{
    model::policy::Effect,
    store::{Store, StoreError},
};

/// The settings of a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsValues {
    /// The effect for a call that no rule matches.
    pub default_policy: Effect,
    /// How long a person has to decide. Common clients give up after 60 s.
    pub approval_timeout: Duration,
    /// How long the catalog's copy of a server counts as fresh.
    pub cache_ttl: Duration,
    /// Whether all calls are paused.
    pub paused: bool,
    /// The https URL of a document that describes this program to authorization servers, or an
    /// empty string for none.
    pub oauth_client_metadata_url: String,
    /// How many days calls and audit entries are kept, or 0 to keep them for ever.
    pub audit_retention_days: u32,
}

impl Default for SettingsValues {
    fn default() -> Self {
        Self {
            default_policy: Effect::Ask,
            approval_timeout: Duration::from_secs(50),
            cache_ttl: Duration::from_secs(300),
            paused: false,
            oauth_client_metadata_url: String::new(),
            audit_retention_days: 90,
        }
    }
}

/// The settings, readable without waiting. Cheap to clone.
#[derive(Clone)]
pub struct Settings {
    store: Store,
    values: Arc<ArcSwap<SettingsValues>>,
    changed: Arc<Notify>,
    /// Held from reading to writing, so that no change is lost.
    write_lock: Arc<tokio::sync::Mutex<()>>,
}

impl Settings {
    /// Reads the settings. A missing setting has its default.
    ///
    /// # Errors
    /// Returns an error if the store, or a stored value, cannot be read.
    pub async fn load(store: Store) -> Result<Self, StoreError> {
        let mut values = SettingsValues::default();
        if let Some(effect) = store.json_setting("default_policy").await? {
            values.default_policy = effect;
        }
        if let Some(seconds) = store.json_setting("approval_timeout_s").await? {
            values.approval_timeout = Duration::from_secs(seconds);
        }
        if let Some(seconds) = store.json_setting("cache_ttl_s").await? {
            values.cache_ttl = Duration::from_secs(seconds);
        }
        if let Some(paused) = store.json_setting("paused").await? {
            values.paused = paused;
        }
        if let Some(url) = store.json_setting("oauth_client_metadata_url").await? {
            values.oauth_client_metadata_url = url;
        }
        if let Some(days) = store.json_setting("audit_retention_days").await? {
            values.audit_retention_days = days;
        }
        Ok(Self {
            store,
            values: Arc::new(ArcSwap::from_pointee(values)),
            changed: Arc::default(),
            write_lock: Arc::default(),
        })
    }

    pub fn get(&self) -> SettingsValues {
        (**self.values.load()).clone()
    }

    /// Changes settings, and writes all of them.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written. The settings in memory are unchanged then.
    pub async fn change(
        &self,
        change: impl FnOnce(SettingsValues) -> SettingsValues,
    ) -> Result<(), StoreError> {
        let _one_at_a_time = self.write_lock.lock().await;
        let values = change(self.get());
        self.store
            .set_json_setting("default_policy", &values.default_policy)
            .await?;
        self.store
            .set_json_setting("approval_timeout_s", &values.approval_timeout.as_secs())
            .await?;
        self.store
            .set_json_setting("cache_ttl_s", &values.cache_ttl.as_secs())
            .await?;
        self.store
            .set_json_setting("paused", &values.paused)
            .await?;
        self.store
            .set_json_setting(
                "oauth_client_metadata_url",
                &values.oauth_client_metadata_url,
            )
            .await?;
        self.store
            .set_json_setting("audit_retention_days", &values.audit_retention_days)
            .await?;
        self.values.store(Arc::new(values));
        self.changed.notify_one();
        Ok(())
    }

    /// Resolves after the next change, or at once if there was a change since the last call.
    /// Supports one waiter.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}
