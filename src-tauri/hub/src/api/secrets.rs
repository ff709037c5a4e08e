//! Secrets: values in the secret store. These verbs list, store, rename and remove secrets, and
//! never return a value.

pub mod store;

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_model::{acceptance::AcceptanceState, audit::AuditKind, ids::ServerId};
use drawbridge_store::secrets::{self, Secret, SecretError};
use drawbridge_upstream::Acceptances as _;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ApiError, Done, Verb};
use crate::{
    hub::Hub,
    registry::{self, Grant},
};

/// A secret that something refers to as `${keyring:NAME}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SecretView {
    pub name: String,
    /// Whether the secret store has a value; null if the store cannot be read.
    pub present: Option<bool>,
    /// The servers that refer to the secret.
    pub servers: Vec<ServerId>,
    /// The part of `servers` that may not read the secret now, because nobody has accepted these
    /// servers as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(as = "Option<Vec<ServerId>>", optional))]
    pub not_granted: Vec<ServerId>,
    /// The hooks that refer to the secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(as = "Option<Vec<String>>", optional))]
    pub hooks: Vec<String>,
    /// Whether a header for the collector of traces refers to the secret.
    #[serde(default)]
    pub traces: bool,
}

/// The servers, hooks and settings that refer to a secret.
#[derive(Debug, Default)]
pub(super) struct SecretUses {
    servers: Vec<ServerId>,
    hooks: Vec<String>,
    traces: bool,
}

impl SecretUses {
    /// Returns a description of everything that refers to the secret.
    fn describe(&self) -> String {
        let servers = self.servers.iter().map(|id| format!("the server '{id}'"));
        let hooks = self.hooks.iter().map(|name| format!("the hook '{name}'"));
        let traces = self.traces.then(|| "the export of traces".to_owned());
        servers
            .chain(hooks)
            .chain(traces)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Returns the uses of all secrets to which something refers, by the names of the secrets. The key
/// of the sampling provider is not included, because nothing refers to this key by its name.
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
    let headers = hub.settings.get().otlp_headers.clone();
    for name in headers
        .values()
        .flat_map(|text| secrets::referenced_names(text))
    {
        uses.entry(name).or_default().traces = true;
    }
    uses
}

/// Returns the names of the secrets to which something besides this server refers: another server,
/// a hook, or a header for the collector of traces.
pub(super) fn list_names_used_elsewhere(hub: &Hub, id: &ServerId) -> BTreeSet<String> {
    list_uses(hub)
        .into_iter()
        .filter(|(_, uses)| {
            uses.traces || !uses.hooks.is_empty() || uses.servers.iter().any(|user| user != id)
        })
        .map(|(name, _)| name)
        .collect()
}

/// `secrets.list`: the secrets to which specs, hooks, and headers for the collector of traces
/// refer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListSecrets {}

/// `secrets.set`: stores a value in the secret store.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SetSecret {
    pub name: String,
    pub value: String,
}

/// `secrets.remove`: deletes a secret's value from the secret store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RemoveSecret {
    pub name: String,
    /// Whether the value is deleted even if something refers to it.
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<bool>", optional))]
    pub even_if_used: bool,
}

/// `secrets.rename`: gives a secret another name in the secret store, and changes the references of
/// all servers. An accepted server stays accepted. A secret cannot be renamed if a hook or a header
/// for the collector of traces refers to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RenameSecret {
    pub name: String,
    pub new_name: String,
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
                present,
                not_granted: uses
                    .servers
                    .iter()
                    .filter(|id| hub.registry.secret_scope(id).check(&name).is_err())
                    .cloned()
                    .collect(),
                name,
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
        check_name(&self.name)?;
        store_secret(hub, &self.name, Secret::new(self.value)).await?;
        Ok(Done {})
    }
}

impl Verb for RemoveSecret {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        check_not_reserved(&self.name)?;
        if let Some(uses) = list_uses(hub)
            .get(&self.name)
            .filter(|_| !self.even_if_used)
        {
            return Err(ApiError::conflict(format!(
                "'{}' is used by {}, which cannot start or run without it. Remove each reference first, \
                 or remove the secret although it is in use (on the command line with --in-use)",
                self.name,
                uses.describe()
            )));
        }
        remove_secret(hub, &self.name).await?;
        Ok(Done {})
    }
}

impl Verb for RenameSecret {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let Self { name, new_name } = self;
        check_not_reserved(&name)?;
        check_name(&new_name)?;
        let mut all_uses = list_uses(hub);
        let value = hub.secrets.get(&name).await?;
        let new_value = hub.secrets.get(&new_name).await?;
        // An earlier attempt that failed halfway may have stored the value under the new name.
        let is_repeated = value.as_ref().map(Secret::expose)
            == new_value.as_ref().map(Secret::expose)
            && value.is_some();
        if !is_repeated && (all_uses.contains_key(&new_name) || new_value.is_some()) {
            return Err(ApiError::conflict(format!(
                "there is a secret '{new_name}' already; choose another name"
            )));
        }
        let uses = all_uses.remove(&name).unwrap_or_default();
        if !uses.hooks.is_empty() || uses.traces {
            return Err(ApiError::conflict(format!(
                "'{name}' is used by {}. Renaming a secret changes only the references of servers. Set \
                 a secret with the new name, and change the hook or the setting",
                uses.describe()
            )));
        }
        if value.is_none() && uses.servers.is_empty() {
            return Err(ApiError::not_found(format!(
                "there is no secret '{name}', and nothing refers to this name"
            )));
        }
        if let Some(value) = value.filter(|_| !is_repeated) {
            store_secret(hub, &new_name, value).await?;
        }
        for id in &uses.servers {
            rename_in_spec(hub, id, &name, &new_name).await?;
        }
        // The old value is deleted last, so that every reference has a value even if an earlier
        // step fails.
        remove_secret(hub, &name).await?;
        Ok(Done {})
    }
}

/// Changes a server's references to a secret that gets another name. An accepted server stays
/// accepted: a person who renames a secret agrees that the same servers may read it under its new
/// name.
///
/// # Errors
/// Returns an error if the spec cannot be written, or if the store fails.
async fn rename_in_spec(
    hub: &Hub,
    id: &ServerId,
    name: &str,
    new_name: &str,
) -> Result<(), ApiError> {
    let server = hub.registry.get(id)?;
    let mut spec = server.spec.clone();
    spec.change_values_with_references(|text| {
        text.replace(
            &secrets::format_reference(name),
            &secrets::format_reference(new_name),
        )
    });
    let is_accepted = hub.registry.acceptance(&server) == AcceptanceState::Accepted;
    let grant = is_accepted.then(|| Grant {
        secrets: registry::foreign_secrets(id, &spec),
        only_references_changed: true,
    });
    let server = hub.write_spec(id, &spec, grant).await?;
    hub.apply_spec_changes(&[id.clone()].into()).await;
    if is_accepted {
        hub.rules
            .bind_to_identity(&server.id, &server.identity)
            .await?;
    }
    Ok(())
}

/// Rejects a name that no spec can refer to, and the names that Drawbridge reserves for itself.
///
/// # Errors
/// Returns an error if the name cannot be given to a secret.
fn check_name(name: &str) -> Result<(), ApiError> {
    if name.is_empty() || name.contains(['}', '{']) {
        return Err(ApiError::invalid(
            "a secret's name must not be empty or contain { or }",
        ));
    }
    check_not_reserved(name)
}

/// Stores a value in the secret store, and records the secret's name in the audit log. From then
/// on, the value is masked in the log files.
///
/// # Errors
/// Returns an error if the secret store cannot be used.
pub(super) async fn store_secret(hub: &Hub, name: &str, value: Secret) -> Result<(), SecretError> {
    hub.logs.add_secret(&value);
    let is_replaced = hub.secrets.get(name).await?.is_some();
    hub.secrets.set(name, value).await?;
    let note = json!({ "secret": name, "replaced": is_replaced });
    hub.store.append_audit(AuditKind::SecretSet, &note);
    Ok(())
}

/// Deletes a secret's value from the secret store. If there was a value, records the secret's name
/// in the audit log.
///
/// # Errors
/// Returns an error if the secret store cannot be used.
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
