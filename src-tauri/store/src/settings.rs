//! The user's settings, in memory and in the store.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use drawbridge_model::policy::Effect;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{Store, StoreError};

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

/// New values of settings. A setting that is `None` stays as it is, so that two changes at the same
/// time do not undo each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsChange {
    pub default_policy: Option<Effect>,
    pub approval_timeout: Option<Duration>,
    pub cache_ttl: Option<Duration>,
    pub paused: Option<bool>,
    pub oauth_client_metadata_url: Option<String>,
    pub audit_retention_days: Option<u32>,
}

impl SettingsChange {
    pub fn default_policy(effect: Effect) -> Self {
        Self {
            default_policy: Some(effect),
            ..Self::default()
        }
    }

    pub fn paused(paused: bool) -> Self {
        Self {
            paused: Some(paused),
            ..Self::default()
        }
    }

    /// Returns the stored names and values of the changed settings.
    fn stored(&self) -> Vec<(&'static str, Value)> {
        let values = [
            (
                "default_policy",
                self.default_policy.map(|effect| json!(effect)),
            ),
            (
                "approval_timeout_s",
                self.approval_timeout.map(|time| json!(time.as_secs())),
            ),
            (
                "cache_ttl_s",
                self.cache_ttl.map(|time| json!(time.as_secs())),
            ),
            ("paused", self.paused.map(|paused| json!(paused))),
            (
                "oauth_client_metadata_url",
                self.oauth_client_metadata_url
                    .as_ref()
                    .map(|url| json!(url)),
            ),
            (
                "audit_retention_days",
                self.audit_retention_days.map(|days| json!(days)),
            ),
        ];
        values
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    fn apply_to(self, values: &mut SettingsValues) {
        fn set<T>(value: &mut T, new: Option<T>) {
            if let Some(new) = new {
                *value = new;
            }
        }
        set(&mut values.default_policy, self.default_policy);
        set(&mut values.approval_timeout, self.approval_timeout);
        set(&mut values.cache_ttl, self.cache_ttl);
        set(&mut values.paused, self.paused);
        set(
            &mut values.oauth_client_metadata_url,
            self.oauth_client_metadata_url,
        );
        set(&mut values.audit_retention_days, self.audit_retention_days);
    }
}

/// The settings, readable without waiting. Cheap to clone.
#[derive(Clone)]
pub struct Settings {
    store: Store,
    values: Arc<ArcSwap<SettingsValues>>,
    changed: Arc<Notify>,
    /// Held while a change is written, so that memory and store get the changes in the same order.
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

    /// Changes settings: writes the ones that `change` names, and no others, in one transaction.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written. Nothing is changed then.
    pub async fn change(&self, change: SettingsChange) -> Result<(), StoreError> {
        let _one_at_a_time = self.write_lock.lock().await;
        self.store.set_json_settings(&change.stored()).await?;
        let mut values = self.get();
        change.apply_to(&mut values);
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
