//! Profiles: which servers and tools a client sees.

use std::collections::BTreeSet;

use drawbridge_model::{
    audit::AuditKind, capability::CapabilityKind, ids::ClientName, names::MAX_TOOL_NAME,
    profile::Profile,
};
use drawbridge_sessions::ServerScope;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ApiError, Done, Verb};
use crate::{catalog::AppliedProfiles, hub::Hub};

/// A profile, its clients, and the size of the list of its tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ProfileView {
    #[serde(flatten)]
    pub profile: Profile,
    /// The clients that use the profile.
    pub clients: Vec<ClientName>,
    /// The number of tools that the profile's clients see in their lists now.
    pub tools: u32,
    /// About how many tokens a model spends on the list of these tools.
    pub tokens: u32,
}

/// `profiles.list`: all profiles, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListProfiles {}

/// `profiles.put`: saves a profile, replacing a profile of the same name. The change applies at
/// once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PutProfile {
    pub profile: Profile,
}

/// `profiles.remove`: removes a profile. Each client with this profile sees nothing until a person
/// assigns another profile, or chooses that the client has no profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RemoveProfile {
    pub name: String,
}

/// `profiles.assign`: gives a client a profile, or removes the client's profile. The change applies
/// at once, including to open sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AssignProfile {
    pub client: ClientName,
    /// The profile's name; if absent, the client has no profile and sees everything.
    #[serde(default)]
    pub profile: Option<String>,
}

impl Verb for ListProfiles {
    type Answer = Vec<ProfileView>;

    async fn run(self, hub: &Hub) -> Result<Vec<ProfileView>, ApiError> {
        let profiles = hub.catalog.profiles();
        let clients = hub.access.clients();
        let snapshot = hub.catalog.snapshot();
        let view = |profile: std::sync::Arc<Profile>| {
            let is_assigned = |client: &ClientName| has_profile(hub, client, &profile.name);
            let catalog_view = snapshot.client_view(
                &ServerScope::All,
                MAX_TOOL_NAME,
                &AppliedProfiles::of(&profile),
            );
            let visible = || {
                catalog_view
                    .entries(CapabilityKind::Tools)
                    .iter()
                    .filter(|tool| !catalog_view.defers(tool))
            };
            ProfileView {
                clients: clients
                    .iter()
                    .map(|row| row.name.clone())
                    .filter(is_assigned)
                    .collect(),
                tools: u32::try_from(visible().count()).unwrap_or(u32::MAX),
                tokens: visible()
                    .map(|tool| tool.definition.estimate_tokens())
                    .sum(),
                profile: (*profile).clone(),
            }
        };
        Ok(profiles.all().into_iter().map(view).collect())
    }
}

impl Verb for PutProfile {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let name = self.profile.name.clone();
        let note = json!({
            "profile": name,
            "servers": self.profile.servers,
            "folder": self.profile.folder,
        });
        let mut affected = affected_clients(hub, &name);
        hub.catalog.profiles().save_profile(self.profile).await?;
        affected.extend(affected_clients(hub, &name));
        hub.store.append_audit(AuditKind::ProfileChanged, &note);
        affected
            .iter()
            .for_each(|client| hub.notify_lists_changed(client));
        Ok(Done {})
    }
}

impl Verb for RemoveProfile {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let affected = affected_clients(hub, &self.name);
        let assigned: Vec<_> = affected
            .iter()
            .filter(|client| has_profile(hub, client, &self.name))
            .collect();
        let note = json!({ "profile": self.name, "removed": true, "clients": assigned });
        hub.catalog.profiles().remove(&self.name).await?;
        hub.store.append_audit(AuditKind::ProfileChanged, &note);
        affected
            .iter()
            .for_each(|client| hub.notify_lists_changed(client));
        Ok(Done {})
    }
}

fn has_profile(hub: &Hub, client: &ClientName, name: &str) -> bool {
    hub.catalog
        .profiles()
        .client_profile(client)
        .is_some_and(|profile| profile.name == name)
}

/// Returns the clients whose catalog view a change of a profile may change: the clients that have
/// the profile, or all clients if the profile belongs to a project folder, because any client may
/// work in this folder.
fn affected_clients(hub: &Hub, name: &str) -> BTreeSet<ClientName> {
    let belongs_to_folder = hub
        .catalog
        .profiles()
        .all()
        .iter()
        .any(|profile| profile.name == name && profile.folder.is_some());
    hub.access
        .clients()
        .into_iter()
        .map(|row| row.name)
        .filter(|client| belongs_to_folder || has_profile(hub, client, name))
        .collect()
}

impl Verb for AssignProfile {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        hub.access.check_known(&self.client)?;
        assign_profile(hub, &self.client, self.profile.as_deref()).await?;
        hub.notify_lists_changed(&self.client);
        Ok(Done {})
    }
}

/// Assigns a profile to a client, or removes the client's profile, and records a change in the
/// audit log.
///
/// # Errors
/// Returns an error if there is no profile with this name, or if the store cannot be written.
pub(super) async fn assign_profile(
    hub: &Hub,
    client: &ClientName,
    profile: Option<&str>,
) -> Result<(), ApiError> {
    let profiles = hub.catalog.profiles();
    let before = profiles.client_profile(client);
    let was_removed = profiles.has_removed_profile(client);
    profiles.assign(client, profile).await?;
    let before = before.as_ref().map(|profile| profile.name.as_str());
    if before != profile || was_removed {
        let note = json!({ "client": client, "profile": profile, "before": before });
        hub.store.append_audit(AuditKind::ProfileChanged, &note);
    }
    Ok(())
}

/// Assigns the profile to the client, if there is a profile, and then adds the client with `add`: a
/// client that knows its token already must not see more than the profile allows, not even for a
/// moment. If `add` fails, the client's name gets its earlier profile back, unless that profile was
/// removed: without a profile, the client would see everything.
///
/// # Errors
/// Returns an error if the profile cannot be assigned, or if `add` fails.
pub(super) async fn add_with_profile<T, E: Into<ApiError>>(
    hub: &Hub,
    client: &ClientName,
    profile: Option<&str>,
    add: impl Future<Output = Result<T, E>>,
) -> Result<T, ApiError> {
    let profiles = hub.catalog.profiles();
    let before = profiles.client_profile(client);
    let was_removed = profiles.has_removed_profile(client);
    if profile.is_some() {
        assign_profile(hub, client, profile).await?;
    }
    match add.await {
        Ok(added) => Ok(added),
        Err(error) => {
            if profile.is_some() && !was_removed {
                let before = before.as_ref().map(|profile| profile.name.as_str());
                assign_profile(hub, client, before).await?;
            }
            Err(error.into())
        }
    }
}
