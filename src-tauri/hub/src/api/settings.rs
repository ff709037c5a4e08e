//! Settings, and general facts about this hub.

use std::{
    collections::BTreeMap,
    env,
    net::{Ipv4Addr, TcpListener},
    ops::RangeInclusive,
    time::Duration,
};

use drawbridge_model::{
    allowed_host::{AllowedHost, MAX_ALLOWED_HOSTS},
    audit::AuditKind,
    event::Event,
    ids::ServerId,
    policy::Effect,
    reference::has_reference,
    secret::SecretStoreStatus,
};
use drawbridge_store::{
    secrets,
    settings::{SettingsChange, SettingsValues},
};
use drawbridge_upstream::{Downloader, oauth};
use http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::{
    ApiError, Verb,
    secrets::store::{SecretStoreView, show_store},
};
use crate::{clients, hub::Hub, roots, traces};

/// The settings, and general facts about this hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SettingsView {
    /// The effect on a call of a tool that no rule matches.
    pub default_policy: Effect,
    /// The time that a person has to decide, in seconds.
    pub approval_timeout_s: u32,
    /// How long the cached lists of a server count as fresh, in seconds.
    pub cache_ttl_s: u32,
    /// The https URL of a document that describes Drawbridge to authorization servers (a client
    /// id metadata document). If the URL is empty, Drawbridge registers itself.
    pub oauth_client_metadata_url: String,
    /// How many days calls and other audit entries are kept; 0 means forever.
    pub audit_retention_days: u32,
    /// How many MiB calls and other audit entries may take on the disk; 0 means no limit.
    pub records_max_mib: u32,
    /// Whether the results of calls are kept.
    pub keep_results: bool,
    /// How many KiB of a result are kept.
    pub kept_result_kib: u32,
    /// How many days results are kept.
    pub kept_results_days: u32,
    /// How many days log files are kept; 0 means forever.
    pub log_retention_days: u32,
    /// How many MiB all log files may take on the disk; 0 means no limit.
    pub logs_max_mib: u32,
    /// The URL of the collector that gets traces (OTLP over HTTP); empty if traces are off.
    pub otlp_endpoint: String,
    /// The headers of requests to the collector. Secrets are references, `${keyring:otlp.NAME}`.
    pub otlp_headers: BTreeMap<String, String>,
    /// Whether traces contain arguments and results.
    pub otlp_content: bool,
    /// The port to which clients connect, unless the hub was started with another port.
    pub port: u16,
    /// The hosts, besides this computer's own, under which the endpoint answers: `NAME` (with the
    /// port of the listener) or `NAME:PORT`.
    pub allowed_hosts: Vec<AllowedHost>,
    /// The hosts with which the hub was started. These hosts are not stored.
    pub started_with_hosts: Vec<AllowedHost>,
    /// The folders that servers get as roots if the client offers no roots, as `file://` URLs.
    pub roots: Vec<String>,
    /// Whether Drawbridge asks a person for the input that a server requests, if the client cannot
    /// ask.
    pub elicitation_forms: bool,
    /// The address of the official registry; empty if it is turned off.
    pub official_registry_url: String,
    pub version: String,
    pub data_dir: String,
    /// The URL to which clients connect; null if the endpoint does not listen for HTTP.
    pub url: Option<String>,
    /// Whether the secrets can be read, from the keyring or from the encrypted file.
    pub secret_store_status: SecretStoreStatus,
    /// How to make the secrets readable; empty if they can be read.
    pub secret_store_remedy: String,
    /// The place and the state of the secret store. Its `status` is `secret_store_status`.
    pub secret_store: SecretStoreView,
    /// The path of the `drawbridge` command on the computer of the hub; null if it is not in the
    /// folder of the program that runs the hub.
    pub command: Option<String>,
    /// Whether a terminal with the `PATH` of the hub finds that command by its name.
    pub command_in_path: bool,
}

/// `settings.show`: the settings, and general facts about this hub.
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
    /// 64 to 1,000,000 MiB; 0 means no limit.
    pub records_max_mib: Option<u32>,
    /// If this is turned off, the results that were kept earlier stay for `kept_results_days`.
    pub keep_results: Option<bool>,
    /// 1 to 1,024 KiB.
    pub kept_result_kib: Option<u32>,
    /// 1 to 365 days.
    pub kept_results_days: Option<u32>,
    /// 1 to 3,650 days; 0 means forever.
    pub log_retention_days: Option<u32>,
    /// 10 to 1,000,000 MiB; 0 means no limit.
    pub logs_max_mib: Option<u32>,
    /// An http or https URL; empty to turn traces off. Traces are sent to this URL with
    /// `/v1/traces` at its end, which is added if it is missing.
    pub otlp_endpoint: Option<String>,
    /// At most 20 headers, which replace the present headers. A value refers to a secret as
    /// `${keyring:otlp.NAME}`.
    pub otlp_headers: Option<BTreeMap<String, String>>,
    pub otlp_content: Option<bool>,
    /// A free port from 1 to 65,535. The endpoint of a running hub moves to this port at once.
    pub port: Option<u16>,
    /// At most 32 hosts, which replace the present hosts at once.
    pub allowed_hosts: Option<Vec<String>>,
    /// At most 50 folders, as absolute paths or `file://` URLs.
    pub roots: Option<Vec<String>>,
    pub elicitation_forms: Option<bool>,
    /// The https URL of the official registry or of another registry with the same API, or an http
    /// URL on this computer; empty to turn the registry off.
    pub official_registry_url: Option<String>,
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
            audit_retention_days: check_days("audit_retention_days", self.audit_retention_days)?,
            records_max_mib: check_mib("records_max_mib", self.records_max_mib, RECORDS_MIB)?,
            keep_results: self.keep_results,
            kept_result_kib: check_range("kept_result_kib", self.kept_result_kib, KEPT_RESULT_KIB)?,
            kept_results_days: check_range(
                "kept_results_days",
                self.kept_results_days,
                KEPT_RESULTS_DAYS,
            )?,
            log_retention_days: check_days("log_retention_days", self.log_retention_days)?,
            logs_max_mib: check_mib("logs_max_mib", self.logs_max_mib, LOGS_MIB)?,
            otlp_endpoint: self.otlp_endpoint.map(check_collector).transpose()?,
            otlp_headers: self.otlp_headers.map(check_headers).transpose()?,
            otlp_content: self.otlp_content,
            port: self.port.map(|port| check_port(hub, port)).transpose()?,
            allowed_hosts: self
                .allowed_hosts
                .map(|hosts| check_hosts(&hosts))
                .transpose()?,
            roots: self.roots.as_deref().map(check_roots).transpose()?,
            elicitation_forms: self.elicitation_forms,
            official_registry_url: self
                .official_registry_url
                .as_deref()
                .map(check_official_registry)
                .transpose()?,
            ..SettingsChange::default()
        };
        let changed = hub.settings.change(change).await?;
        if changed.iter().any(|change| change.name == "roots") {
            hub.announce_roots_changed();
        }
        if !changed.is_empty() {
            hub.store
                .append_audit(AuditKind::SettingsChanged, &json!({ "changed": changed }));
        }
        hub.events.publish(Event::SettingsChanged);
        Ok(settings_view(hub).await)
    }
}

/// The longest retention of the audit log and of log files, in days, if the retention is limited.
const MAX_DAYS: u32 = 3_650;
/// The limits of `records_max_mib`, if the size of the records is limited.
const RECORDS_MIB: RangeInclusive<u32> = 64..=1_000_000;
const KEPT_RESULT_KIB: RangeInclusive<u32> = 1..=1_024;
const KEPT_RESULTS_DAYS: RangeInclusive<u32> = 1..=365;
/// The limits of `logs_max_mib`, if the size of the log files is limited.
const LOGS_MIB: RangeInclusive<u32> = 10..=1_000_000;

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

/// Returns the address of an official registry without the spaces around it and without a slash at
/// its end.
///
/// # Errors
/// Returns an error if the address is neither empty nor an https URL (on this computer also an http
/// URL) without a user, a query or a fragment.
fn check_official_registry(url: &str) -> Result<String, ApiError> {
    let url = url.trim().trim_end_matches('/');
    let is_allowed = |url: &Url| url.query().is_none() && url.fragment().is_none();
    let is_reachable = || Downloader::new(url).is_ok();
    if url.is_empty() || (Url::parse(url).is_ok_and(|url| is_allowed(&url)) && is_reachable()) {
        return Ok(url.to_owned());
    }
    Err(ApiError::invalid(
        "'official_registry_url' must be an https URL, or an http URL on this computer, without a user, a query or a fragment, or empty to turn the official registry off",
    ))
}

/// The maximum number of headers of requests to the collector.
const MAX_HEADERS: usize = 20;

/// The maximum length of a header's name and value together, in bytes.
const MAX_HEADER_BYTES: usize = 1_024;

/// Returns the URL of a collector without the spaces around it.
///
/// # Errors
/// Returns an error if the URL is neither empty nor an http or https URL without a user, a query
/// or a fragment.
fn check_collector(url: String) -> Result<String, ApiError> {
    let url = url.trim().to_owned();
    let is_allowed = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    };
    if url.is_empty() || Url::parse(&url).is_ok_and(|url| is_allowed(&url)) {
        return Ok(url);
    }
    Err(ApiError::invalid(
        "'otlp_endpoint' must be an http or https URL without a user, a query or a fragment, such as http://127.0.0.1:4318, or empty",
    ))
}

/// Checks the headers of requests to the collector.
///
/// # Errors
/// Returns an error if there are too many headers, or if a header is malformed, is too long, refers
/// to a secret whose name does not begin with `otlp.`, or is likely to contain a secret in plain
/// text.
fn check_headers(headers: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, ApiError> {
    if headers.len() > MAX_HEADERS {
        return Err(ApiError::invalid(format!(
            "'otlp_headers' may have at most {MAX_HEADERS} headers"
        )));
    }
    for (name, value) in &headers {
        let refused = |reason: &str| {
            Err(ApiError::invalid(format!(
                "'otlp_headers': the header '{name}' {reason}"
            )))
        };
        let is_valid = HeaderName::try_from(name).is_ok() && HeaderValue::try_from(value).is_ok();
        if !is_valid || name.len() + value.len() > MAX_HEADER_BYTES {
            return refused("is not a valid header, or is too long");
        }
        let own = ServerId::new(traces::SECRET_PREFIX);
        let used = secrets::referenced_names(value);
        if !used.iter().all(|name| secrets::is_own_secret(&own, name)) {
            return refused("may only refer to secrets whose names begin with 'otlp.'");
        }
        let folded = name.to_ascii_lowercase();
        let names_secret = ["auth", "key", "token", "secret", "cookie"]
            .iter()
            .any(|word| folded.contains(word));
        if names_secret && !has_reference(value) {
            return refused(
                "looks like a secret; store it with `drawbridge secrets set otlp.NAME`, and set the header to ${keyring:otlp.NAME}",
            );
        }
    }
    Ok(headers)
}

fn check_days(name: &str, days: Option<u32>) -> Result<Option<u32>, ApiError> {
    match days {
        Some(days) if days > MAX_DAYS => Err(ApiError::invalid(format!(
            "'{name}' must be 1 to {MAX_DAYS}, or 0 to keep everything, not {days}"
        ))),
        _ => Ok(days),
    }
}

fn check_mib(
    name: &str,
    mib: Option<u32>,
    range: RangeInclusive<u32>,
) -> Result<Option<u32>, ApiError> {
    match mib {
        Some(mib) if mib != 0 && !range.contains(&mib) => Err(ApiError::invalid(format!(
            "'{name}' must be {} to {}, or 0 for no limit, not {mib}",
            range.start(),
            range.end()
        ))),
        _ => Ok(mib),
    }
}

fn check_range(
    name: &str,
    value: Option<u32>,
    range: RangeInclusive<u32>,
) -> Result<Option<u32>, ApiError> {
    match value {
        Some(value) if !range.contains(&value) => Err(ApiError::invalid(format!(
            "'{name}' must be {} to {}, not {value}",
            range.start(),
            range.end()
        ))),
        value => Ok(value),
    }
}

/// Returns the hosts without duplicates.
///
/// # Errors
/// Returns an error if a text is not a host, or if there are too many hosts.
fn check_hosts(texts: &[String]) -> Result<Vec<AllowedHost>, ApiError> {
    let mut hosts = Vec::new();
    for text in texts {
        let host = text
            .parse()
            .map_err(|error| ApiError::invalid(format!("'allowed_hosts': {error}")))?;
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    if hosts.len() <= MAX_ALLOWED_HOSTS {
        return Ok(hosts);
    }
    Err(ApiError::invalid(format!(
        "'allowed_hosts' may have at most {MAX_ALLOWED_HOSTS} hosts, not {}",
        hosts.len()
    )))
}

fn check_roots(folders: &[String]) -> Result<Vec<String>, ApiError> {
    roots::check_roots(folders).map_err(|error| ApiError::invalid(error.to_string()))
}

/// Checks that the endpoint of this hub can move to a port. If no endpoint runs, does not check
/// whether the port is free.
///
/// # Errors
/// Returns an error if the port is 0 (`invalid`), or if the port is not free (`conflict`).
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
            "cannot use port {port}: {error}; choose another port"
        )));
    }
    Ok(port)
}

pub(super) fn check_seconds(
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
    let values = SettingsValues::clone(&hub.settings.get());
    let store = show_store(hub).await;
    let command = clients::command_file();
    SettingsView {
        default_policy: values.default_tools,
        approval_timeout_s: u32::try_from(values.approval_timeout.as_secs()).unwrap_or(u32::MAX),
        cache_ttl_s: u32::try_from(values.cache_ttl.as_secs()).unwrap_or(u32::MAX),
        oauth_client_metadata_url: values.oauth_client_metadata_url,
        audit_retention_days: values.audit_retention_days,
        records_max_mib: values.records_max_mib,
        keep_results: values.keep_results,
        kept_result_kib: values.kept_result_kib,
        kept_results_days: values.kept_results_days,
        log_retention_days: values.log_retention_days,
        logs_max_mib: values.logs_max_mib,
        otlp_endpoint: values.otlp_endpoint,
        otlp_headers: values.otlp_headers,
        otlp_content: values.otlp_content,
        port: values.port,
        allowed_hosts: values.allowed_hosts,
        started_with_hosts: hub.started_with_hosts().to_vec(),
        roots: values.roots,
        elicitation_forms: values.elicitation_forms,
        official_registry_url: values.official_registry_url,
        version: env!("CARGO_PKG_VERSION").into(),
        data_dir: hub.data_dir().display().to_string(),
        url: hub.client_url(),
        secret_store_status: store.status,
        secret_store_remedy: store.remedy.clone(),
        secret_store: store,
        command_in_path: command
            .as_deref()
            .is_some_and(|file| clients::is_found_in(env::var_os("PATH").as_deref(), file)),
        command: command.map(|file| file.display().to_string()),
    }
}
