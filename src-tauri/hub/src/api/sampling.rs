//! Sampling: the provider that answers servers' sampling requests in place of clients, its key, and
//! its daily budget.

use drawbridge_model::{audit::AuditKind, event::Event, ids::Timestamp};
use drawbridge_store::{
    secrets::Secret,
    settings::{SettingsChange, SettingsValues},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    ApiError, Verb,
    secrets::{remove_secret, store_secret},
    settings::check_seconds,
};
use crate::{
    hub::Hub,
    sampling::{self, KEY_NAME},
};

/// The provider without its key, the limits of the budget, and today's use of the budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SamplingView {
    /// Whether the provider may answer, if it is set up.
    pub enabled: bool,
    /// The base URL; empty for none.
    pub url: String,
    /// The models that servers may use, the default model first.
    pub models: Vec<String>,
    /// Whether the models see images.
    pub images: bool,
    /// Whether the models get the tools of servers' requests.
    pub tools: bool,
    /// How long the provider may send nothing while it answers, in seconds.
    pub timeout_s: u32,
    /// Whether the secret store has the provider's key; null if the store cannot be read.
    pub has_key: Option<bool>,
    /// Whether the provider is set up and enabled.
    pub is_on: bool,
    /// The maximum number of requests in a day; 0 means no limit.
    pub requests_per_day: u32,
    /// The maximum number of tokens in a day; 0 means no limit.
    pub tokens_per_day: u32,
    pub requests_today: u32,
    pub tokens_today: u32,
    /// When the budget is reset: the next midnight in UTC.
    pub resets_at: Timestamp,
}

/// `sampling.show`: the provider and its budget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowSampling {}

/// `sampling.change`: changes the settings that are present in the request. If the new URL is empty
/// or has another origin, the key is removed, because it belongs to the old provider.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct ChangeSampling {
    pub enabled: Option<bool>,
    /// An https URL, or an http URL of this computer; empty for none.
    pub url: Option<String>,
    /// At most 20 names.
    pub models: Option<Vec<String>>,
    pub images: Option<bool>,
    pub tools: Option<bool>,
    /// 5 to 300 seconds.
    pub timeout_s: Option<u32>,
    /// 0 means no limit.
    pub requests_per_day: Option<u32>,
    /// 0 means no limit.
    pub tokens_per_day: Option<u32>,
    /// The key, which is stored in the secret store; empty to remove it.
    pub key: Option<String>,
}

/// `sampling.check`: sends a test request to the provider. The request counts towards the budget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckSampling {}

/// The provider's answer to the test request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SamplingCheck {
    /// The model as the provider names it.
    pub model: String,
    pub text: String,
    /// The tokens that the provider counted; 0 if it counts none.
    pub tokens: u32,
}

impl Verb for ShowSampling {
    type Answer = SamplingView;

    async fn run(self, hub: &Hub) -> Result<SamplingView, ApiError> {
        sampling_view(hub).await
    }
}

impl Verb for ChangeSampling {
    type Answer = SamplingView;

    async fn run(self, hub: &Hub) -> Result<SamplingView, ApiError> {
        let url = self.url.map(check_url).transpose()?;
        let models = self.models.as_deref().map(sampling::check_models);
        let change = SettingsChange {
            sampling_enabled: self.enabled,
            sampling_url: url.clone(),
            sampling_models: models.transpose().map_err(invalid)?,
            sampling_images: self.images,
            sampling_tools: self.tools,
            sampling_timeout: check_seconds("timeout_s", self.timeout_s, 5..=300)?,
            sampling_requests_per_day: self.requests_per_day,
            sampling_tokens_per_day: self.tokens_per_day,
            ..SettingsChange::default()
        };
        let old_url = hub.settings.get().sampling_url.clone();
        let is_moved = url.is_some_and(|url| !sampling::is_same_provider(&old_url, &url));
        // The key of one provider must never reach another provider, not even for a moment.
        if is_moved {
            remove_key(hub).await?;
        }
        let changed = hub.settings.change(change).await?;
        if !changed.is_empty() {
            hub.store
                .append_audit(AuditKind::SettingsChanged, &json!({ "changed": changed }));
        }
        match self.key.as_deref().map(str::trim) {
            None => {}
            Some("") => remove_key(hub).await?,
            Some(key) => {
                store_secret(hub, KEY_NAME, Secret::new(key.to_owned())).await?;
                hub.settings.change(set_has_key(true)).await?;
            }
        }
        hub.events.publish(Event::SettingsChanged);
        sampling_view(hub).await
    }
}

impl Verb for CheckSampling {
    type Answer = SamplingCheck;

    async fn run(self, hub: &Hub) -> Result<SamplingCheck, ApiError> {
        let checked = hub.sampling.check_provider().await;
        let checked = checked.map_err(|error| ApiError::unavailable(error.to_string()))?;
        Ok(SamplingCheck {
            model: checked.model,
            text: checked.text,
            tokens: checked.tokens,
        })
    }
}

async fn remove_key(hub: &Hub) -> Result<(), ApiError> {
    if hub.settings.get().sampling_has_key {
        remove_secret(hub, KEY_NAME).await?;
        hub.settings.change(set_has_key(false)).await?;
    }
    Ok(())
}

fn set_has_key(has_key: bool) -> SettingsChange {
    SettingsChange {
        sampling_has_key: Some(has_key),
        ..SettingsChange::default()
    }
}

fn check_url(url: String) -> Result<String, ApiError> {
    if url.trim().is_empty() {
        return Ok(String::new());
    }
    let url = sampling::check_provider_url(&url).map_err(invalid)?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn invalid(error: sampling::InvalidProvider) -> ApiError {
    ApiError::invalid(error.to_string())
}

async fn sampling_view(hub: &Hub) -> Result<SamplingView, ApiError> {
    let values = SettingsValues::clone(&hub.settings.get());
    let budget = hub.sampling.budget().await?;
    Ok(SamplingView {
        enabled: values.sampling_enabled,
        url: values.sampling_url,
        models: values.sampling_models,
        images: values.sampling_images,
        tools: values.sampling_tools,
        timeout_s: u32::try_from(values.sampling_timeout.as_secs()).unwrap_or(u32::MAX),
        has_key: hub.sampling.has_key().await.ok(),
        is_on: hub.sampling.is_on(),
        requests_per_day: budget.requests_per_day,
        tokens_per_day: budget.tokens_per_day,
        requests_today: budget.used.requests,
        tokens_today: budget.used.tokens,
        resets_at: Timestamp(sampling::next_reset()),
    })
}
