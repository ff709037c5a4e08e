//! Secrets: values in the keyring. These verbs store and remove values and never return them.

use std::collections::BTreeMap;

use drawbridge_model::{audit::AuditKind, ids::ServerId};
use drawbridge_store::secrets::{self, Secret, SecretError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ApiError, Done, Verb};
use crate::hub::Hub;

/// A secret that something refers to as `${keyring:NAME}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SecretView {
    pub name: String,
    /// Whether the keyring has a value; none if the keyring is not accessible.
    pub present: Option<bool>,
    /// The servers that refer to the secret.
    pub servers: Vec<ServerId>,
    /// The hooks that refer to the secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(as = "Option<Vec<String>>", optional))]
    pub hooks: Vec<String>,
    /// Whether a header for the collector of traces refers to the secret.
    #[serde(default)]
    pub traces: bool,
}

/// What refers to a secret.
#[derive(Debug, Default)]
pub(super) struct SecretUses {
    servers: Vec<ServerId>,
    hooks: Vec<String>,
    traces: bool,
}

/// Returns the secrets that something refers to, by their names. The key of the sampling provider is
/// not among them, because it is not stored by reference.
pub(super) fn list_uses(hub: &Hub) -> BTreeMap<String, SecretUses> {
    let mut uses: BTreeMap<String, SecretUses> = BTreeMap::new();
    for server in hub.registry.specs().servers.values() {
        let texts = server.spec.values_with_references();
        for name in texts.flat_map(|text| secrets::referenced_names(text)) {
            uses.entry(name)
                .or_default()
                .servers
                .push(server.id.clone());
        }
    }
    for (name, hook) in hub.hooks.referenced_secrets() {
        uses.entry(name).or_default().hooks.push(hook);
    }
    let headers = hub.settings.get().otlp_headers;
    for name in headers
        .values()
        .flat_map(|text| secrets::referenced_names(text))
    {
        uses.entry(name).or_default().traces = true;
    }
    uses
}

/// `secrets.list`: the secrets that specs, hooks and the headers for traces refer to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListSecrets {}

/// `secrets.set`: stores a value in the keyring.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SetSecret {
    pub name: String,
    pub value: String,
}

/// `secrets.remove`: removes a value from the keyring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RemoveSecret {
    pub name: String,
}

impl Verb for ListSecrets {
    type Answer = Vec<SecretView>;

    async fn run(self, hub: &Hub) -> Result<Vec<SecretView>, ApiError> {
        let uses = list_uses(hub);
        let mut views = Vec::with_capacity(uses.len());
        for (name, uses) in uses {
            let present = hub
                .secrets
                .get(&name)
                .await
                .ok()
                .map(|value| value.is_some());
            views.push(SecretView {
                name,
                present,
                servers: uses.servers,
                hooks: uses.hooks,
                traces: uses.traces,
            });
        }
        Ok(views)
    }
}

impl Verb for SetSecret {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        if self.name.is_empty() || self.name.contains(['}', '{']) {
            return Err(ApiError::invalid(
                "a secret's name must not be empty or contain { or }",
            ));
        }
        check_not_reserved(&self.name)?;
        store_secret(hub, &self.name, Secret::new(self.value)).await?;
        Ok(Done {})
    }
}

impl Verb for RemoveSecret {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        check_not_reserved(&self.name)?;
        remove_secret(hub, &self.name).await?;
        Ok(Done {})
    }
}

/// Stores a value in the keyring, and its name in the audit. The log masks the value from then on.
///
/// # Errors
/// Returns an error if the keyring cannot be used.
pub(super) async fn store_secret(hub: &Hub, name: &str, value: Secret) -> Result<(), SecretError> {
    hub.logs.add_secret(&value);
    let is_replaced = hub.secrets.get(name).await?.is_some();
    hub.secrets.set(name, value).await?;
    let note = json!({ "secret": name, "replaced": is_replaced });
    hub.store.append_audit(AuditKind::SecretSet, &note);
    Ok(())
}

/// Removes a value from the keyring, and records its name in the audit.
///
/// # Errors
/// Returns an error if the keyring cannot be used.
pub(super) async fn remove_secret(hub: &Hub, name: &str) -> Result<(), SecretError> {
    let is_stored = hub.secrets.get(name).await?.is_some();
    hub.secrets.remove(name).await?;
    if is_stored {
        hub.store
            .append_audit(AuditKind::SecretRemoved, &json!({ "secret": name }));
    }
    Ok(())
}

/// Rejects the names that Drawbridge reserves for itself.
///
/// # Errors
/// Returns an error if the name is reserved.
fn check_not_reserved(name: &str) -> Result<(), ApiError> {
    if secrets::is_reserved(name) {
        return Err(ApiError::invalid(format!(
            "the name '{name}' is reserved for Drawbridge; to change the account of a remote server, use `drawbridge servers sign-in` and `sign-out`"
        )));
    }
    Ok(())
}
