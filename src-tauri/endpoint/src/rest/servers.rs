//! `/registry/servers` and `/api/mcp/servers`: the registry as plain resources, for scripts. Each
//! route runs a verb of the hub. A server that is added or changed here has to be accepted before
//! it may start.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use drawbridge_hub::{
    api::{
        ApiError, Done,
        servers::{
            AddServer, CapabilitiesView, ListServers, RemoveServer, SecretValues, ServerView,
            ServersView, ShowCapabilities, ShowServer, SyncServer, UpdateServer, VerifiedView,
            VerifyServer,
        },
    },
    model::{ids::ServerId, spec::ServerSpec},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Answer, At, Body, Id, named, read, run};
use crate::{
    rescue::{Refusal, internal},
    server::Door,
};

pub(crate) async fn list(State(door): At) -> Answer<ServersView> {
    run(door, ListServers {}).await
}

pub(crate) async fn add(
    State(door): At,
    body: Body,
) -> Result<(StatusCode, Json<ServerView>), Refusal> {
    let spec: ServerSpec = read(&body?)?;
    let added = run(
        door,
        AddServer {
            spec,
            secrets: SecretValues::default(),
            pending: true,
        },
    )
    .await?;
    Ok((StatusCode::CREATED, added))
}

pub(crate) async fn show(State(door): At, id: Id) -> Answer<ServerView> {
    run(door, ShowServer { id: server(id)? }).await
}

/// Replaces the spec.
pub(crate) async fn put(State(door): At, id: Id, body: Body) -> Answer<ServerView> {
    update(door, server(id)?, read(&body?)?).await
}

/// Changes members of the spec with a JSON merge patch (RFC 7396): null removes a member.
pub(crate) async fn patch(State(door): At, id: Id, body: Body) -> Answer<ServerView> {
    let (id, patch) = (server(id)?, read::<Value>(&body?)?);
    if !patch.is_object() {
        return Err(
            ApiError::invalid("body: a patch is a JSON object with the members to change").into(),
        );
    }
    let Json(known) = run(Arc::clone(&door), ShowServer { id: id.clone() }).await?;
    let mut spec = serde_json::to_value(known.spec).map_err(|_| internal())?;
    merge(&mut spec, patch);
    update(door, id, from_value(spec)?).await
}

pub(crate) async fn remove(State(door): At, id: Id) -> Answer<Done> {
    run(door, RemoveServer { id: server(id)? }).await
}

pub(crate) async fn verify(State(door): At, id: Id) -> Answer<VerifiedView> {
    run(door, VerifyServer { id: server(id)? }).await
}

pub(crate) async fn sync(State(door): At, id: Id) -> Answer<ServerView> {
    run(door, SyncServer { id: server(id)? }).await
}

pub(crate) async fn capabilities(State(door): At, id: Id) -> Answer<CapabilitiesView> {
    run(door, ShowCapabilities { id: server(id)? }).await
}

async fn update(door: Arc<Door>, id: ServerId, spec: ServerSpec) -> Answer<ServerView> {
    run(
        door,
        UpdateServer {
            id,
            spec,
            secrets: SecretValues::default(),
            pending: true,
        },
    )
    .await
}

fn server(id: Id) -> Result<ServerId, Refusal> {
    let Path(id) = id?;
    Ok(ServerId::new(id))
}

fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Refusal> {
    Ok(serde_path_to_error::deserialize(value).map_err(|e| named(&e))?)
}

/// Applies a JSON merge patch (RFC 7396).
fn merge(target: &mut Value, patch: Value) {
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
            merge(members.entry(key).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_changes_what_it_names_removes_what_is_null_and_leaves_the_rest() {
        let mut spec = json!({"command":"x","env":{"A":"1","B":"2"},"args":["1"]});
        merge(
            &mut spec,
            json!({"env":{"A":null,"C":"3"},"args":["2"],"cwd":"/"}),
        );
        assert_eq!(
            spec,
            json!({"command":"x","env":{"B":"2","C":"3"},"args":["2"],"cwd":"/"})
        );
    }
}
