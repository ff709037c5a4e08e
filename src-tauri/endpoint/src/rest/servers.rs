//! `/registry/servers` and `/api/mcp/servers`: the registry as plain resources, for scripts. The
//! routes run verbs of the hub. A server that is added or changed here has to be accepted before
//! it may start.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use drawbridge_hub::api::{
    ApiError, Done,
    servers::{
        AddServer, CapabilitiesView, FilledManifest, ListServers, RemoveServer, SecretValues,
        ServerView, ServersView, ShowCapabilities, ShowServer, SyncServer, UpdateServer,
        VerifiedView, VerifyServer, read_registration,
    },
};
use drawbridge_model::{ids::ServerId, spec::ServerSpec};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{BodyBytes, IdPath, JsonResult, SharedState, field_error, read_json, run_verb};
use crate::{
    error_response::{Refusal, internal_error},
    state::ListenerState,
};

pub(crate) async fn list(State(state): SharedState) -> JsonResult<ServersView> {
    run_verb(state, ListServers {}).await
}

/// Adds a server from its spec, or from the JSON with which a server is registered at a tools
/// provider (see [`read_registration`]).
pub(crate) async fn add(
    State(state): SharedState,
    body: BodyBytes,
) -> Result<(StatusCode, Json<ServerView>), Refusal> {
    let body = body?;
    // The registration may name a manifest in a folder, and a slow disk must not hold up other
    // requests.
    let text = String::from_utf8_lossy(&body).into_owned();
    let registered = tokio::task::spawn_blocking(move || read_registration(&text)).await;
    let FilledManifest { spec, secrets } = match registered.map_err(|_| internal_error())?? {
        Some(registered) => registered,
        None => FilledManifest {
            spec: read_json(&body)?,
            secrets: SecretValues::default(),
        },
    };
    let added = run_verb(
        state,
        AddServer {
            spec,
            secrets,
            pending: true,
            grant_secrets: Vec::new(),
        },
    )
    .await?;
    Ok((StatusCode::CREATED, added))
}

pub(crate) async fn show(State(state): SharedState, id: IdPath) -> JsonResult<ServerView> {
    run_verb(state, ShowServer { id: server_id(id)? }).await
}

/// Replaces the spec.
pub(crate) async fn put(
    State(state): SharedState,
    id: IdPath,
    body: BodyBytes,
) -> JsonResult<ServerView> {
    update(state, server_id(id)?, read_json(&body?)?).await
}

/// Changes members of the spec with a JSON merge patch (RFC 7396): null removes a member.
pub(crate) async fn patch(
    State(state): SharedState,
    id: IdPath,
    body: BodyBytes,
) -> JsonResult<ServerView> {
    let (id, patch) = (server_id(id)?, read_json::<Value>(&body?)?);
    if !patch.is_object() {
        return Err(ApiError::invalid(
            "body: a patch must be a JSON object with the members to change",
        )
        .into());
    }
    let Json(current) = run_verb(Arc::clone(&state), ShowServer { id: id.clone() }).await?;
    let mut spec = serde_json::to_value(current.spec).map_err(|_| internal_error())?;
    merge_patch(&mut spec, patch);
    update(state, id, from_value(spec)?).await
}

pub(crate) async fn remove(State(state): SharedState, id: IdPath) -> JsonResult<Done> {
    run_verb(state, RemoveServer { id: server_id(id)? }).await
}

pub(crate) async fn verify(State(state): SharedState, id: IdPath) -> JsonResult<VerifiedView> {
    run_verb(state, VerifyServer { id: server_id(id)? }).await
}

pub(crate) async fn sync(State(state): SharedState, id: IdPath) -> JsonResult<ServerView> {
    run_verb(state, SyncServer { id: server_id(id)? }).await
}

pub(crate) async fn capabilities(
    State(state): SharedState,
    id: IdPath,
) -> JsonResult<CapabilitiesView> {
    run_verb(state, ShowCapabilities { id: server_id(id)? }).await
}

async fn update(
    state: Arc<ListenerState>,
    id: ServerId,
    spec: ServerSpec,
) -> JsonResult<ServerView> {
    run_verb(
        state,
        UpdateServer {
            id,
            spec,
            secrets: SecretValues::default(),
            pending: true,
            grant_secrets: Vec::new(),
        },
    )
    .await
}

fn server_id(id: IdPath) -> Result<ServerId, Refusal> {
    let Path(id) = id?;
    Ok(ServerId::new(id))
}

fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Refusal> {
    Ok(serde_path_to_error::deserialize(value).map_err(|e| field_error(&e))?)
}

/// Applies a JSON merge patch (RFC 7396).
fn merge_patch(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(members) = target else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            members.remove(&key);
        } else {
            merge_patch(members.entry(key).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_changes_named_members_removes_null_members_and_keeps_the_rest() {
        let mut spec = json!({"command":"x","env":{"A":"1","B":"2"},"args":["1"]});
        merge_patch(
            &mut spec,
            json!({"env":{"A":null,"C":"3"},"args":["2"],"cwd":"/"}),
        );
        assert_eq!(
            spec,
            json!({"command":"x","env":{"B":"2","C":"3"},"args":["2"],"cwd":"/"})
        );
    }
}
