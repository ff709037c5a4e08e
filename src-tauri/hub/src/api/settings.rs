//! Settings, and general facts about this hub.

use std::{
    net::{Ipv4Addr, TcpListener},
    ops::RangeInclusive,
    time::Duration,
};

use drawbridge_model::{audit::AuditKind, event::Event, policy::Effect, secret::KeyringStatus};
use drawbridge_store::{
    secrets::{KeyringFailure, SecretError},
    settings::SettingsChange,
};
use drawbridge_upstream::oauth;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::{ApiError, Verb};
use crate::hub::Hub;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SettingsView {
    /// The effect on a call of a tool that no rule matches.
    pub default_policy: Effect,
    /// The time that a person has to decide, in seconds.
    pub approval_timeout_s: u32,
    /// How long the cached lists of a server count as fresh, in seconds.
    pub cache_ttl_s: u32,
    /// The https URL of a document that describes this program to authorization servers (a client
    /// id metadata document). If the URL is empty, the program registers itself.
    pub oauth_client_metadata_url: String,
    /// How many days calls and other audit entries are kept; 0 means forever.
    pub audit_retention_days: u32,
    /// The port that clients connect to, unless the hub was started with another one.
    pub port: u16,
    pub version: String,
    pub data_dir: String,
    /// The URL of the endpoint; none if no listener runs.
    pub url: Option<String>,
    pub keyring: KeyringStatus,
    /// How to make the keyring ready; empty if it is ready.
    pub keyring_remedy: String,
}

/// `settings.show`: all settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowSettings {}

/// `settings.change`: changes the settings that are present in the request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct ChangeSettings {
    /// 5 to 600 seconds.
    pub approval_timeout_s: Option<u32>,
    /// 10 to 86,400 seconds.
    pub cache_ttl_s: Option<u32>,
    /// An https URL with a path and without a fragment; empty for none.
    pub oauth_client_metadata_url: Option<String>,
    /// 1 to 3,650 days; 0 means forever.
    pub audit_retention_days: Option<u32>,
    /// A free port from 1 to 65,535. The endpoint of a running hub moves there at once.
    pub port: Option<u16>,
}

impl Verb for ShowSettings {
    type Answer = SettingsView;

    async fn run(self, hub: &Hub) -> Result<SettingsView, ApiError> {
        Ok(settings_view(hub).await)
    }
}

impl Verb for ChangeSettings {
    type Answer = SettingsView;

    async fn run(self, hub: &Hub) -> Result<SettingsView, ApiError> {
        let change = SettingsChange {
            approval_timeout: check_seconds(
                "approval_timeout_s",
                self.approval_timeout_s,
                5..=600,
            )?,
            cache_ttl: check_seconds("cache_ttl_s", self.cache_ttl_s, 10..=86_400)?,
            oauth_client_metadata_url: self
                .oauth_client_metadata_url
                .map(check_metadata_url)
                .transpose()?,
            audit_retention_days: self.audit_retention_days.map(check_days).transpose()?,
            port: self.port.map(|port| check_port(hub, port)).transpose()?,
            ..SettingsChange::default()
        };
        let changed = hub.settings.change(change).await?;
        if !changed.is_empty() {
            hub.store
                .append_audit(AuditKind::SettingsChanged, &json!({ "changed": changed }));
        }
        hub.events.publish(Event::SettingsChanged);
        Ok(settings_view(hub).await)
    }
}

/// The longest retention of the audit, in days, if the retention is limited.
const MAX_DAYS: u32 = 3_650;

/// Returns the URL of a client id metadata document without the spaces around it.
///
/// # Errors
/// Returns an error if the URL is neither empty nor an https URL with a path and
/// without a fragment.
fn check_metadata_url(url: String) -> Result<String, ApiError> {
    let url = url.trim().to_owned();
    let is_allowed =
        |url: &Url| url.scheme() == "https" && url.path() != "/" && url.fragment().is_none();
    if url.is_empty() || oauth::check_browser_url(&url).is_ok_and(|url| is_allowed(&url)) {
        return Ok(url);
    }
    Err(ApiError::invalid(
        "'oauth_client_metadata_url' must be an https URL with a path and without a fragment, or empty",
    ))
}

fn check_days(days: u32) -> Result<u32, ApiError> {
    if days <= MAX_DAYS {
        return Ok(days);
    }
    Err(ApiError::invalid(format!(
        "'audit_retention_days' must be 1 to {MAX_DAYS}, or 0 to keep everything, not {days}"
    )))
}

/// Checks that the endpoint of this hub can move to a port. It is not checked while no endpoint
/// runs.
///
/// # Errors
/// Returns an error if the port is 0 (`invalid`), or if it is not free (`conflict`).
fn check_port(hub: &Hub, port: u16) -> Result<u16, ApiError> {
    if port == 0 {
        return Err(ApiError::invalid("'port' must be 1 to 65535, not 0"));
    }
    let is_own = hub
        .endpoint_url()
        .and_then(|url| Url::parse(&url).ok())
        .is_some_and(|url| url.port_or_known_default() == Some(port));
    if hub.has_endpoint()
        && !is_own
        && let Err(error) = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
    {
        return Err(ApiError::conflict(format!(
            "cannot use port {port}: {error}; choose another one"
        )));
    }
    Ok(port)
}

fn check_seconds(
    name: &str,
    seconds: Option<u32>,
    range: RangeInclusive<u32>,
) -> Result<Option<Duration>, ApiError> {
    match seconds {
        None => Ok(None),
        Some(seconds) if range.contains(&seconds) => Ok(Some(Duration::from_secs(seconds.into()))),
        Some(seconds) => Err(ApiError::invalid(format!(
            "'{name}' must be {} to {} seconds, not {seconds}",
            range.start(),
            range.end()
        ))),
    }
}

async fn settings_view(hub: &Hub) -> SettingsView {
    let values = hub.settings.get();
    let keyring = hub.secrets.status().await;
    SettingsView {
        default_policy: values.default_tools,
        approval_timeout_s: u32::try_from(values.approval_timeout.as_secs()).unwrap_or(u32::MAX),
        cache_ttl_s: u32::try_from(values.cache_ttl.as_secs()).unwrap_or(u32::MAX),
        oauth_client_metadata_url: values.oauth_client_metadata_url,
        audit_retention_days: values.audit_retention_days,
        port: values.port,
        version: env!("CARGO_PKG_VERSION").into(),
        data_dir: hub.data_dir().display().to_string(),
        url: hub.endpoint_url(),
        keyring,
        keyring_remedy: match keyring {
            KeyringStatus::Ready => String::new(),
            KeyringStatus::Locked => SecretError::Locked.remedy(),
            KeyringStatus::Absent => SecretError::Unavailable(KeyringFailure::Absent).remedy(),
        },
    }
}
