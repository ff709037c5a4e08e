//! Saves, accepts, pins, removes and verifies servers.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, atomic::AtomicU32},
    time::{Duration, Instant},
};

use drawbridge_client_config::move_literals;
use drawbridge_jsonrpc::rpc::RpcResponse;
use drawbridge_model::{
    acceptance::AcceptanceState,
    audit::AuditKind,
    capability::CapabilityKind,
    clock,
    ids::ServerId,
    program::{Program, ProgramChange},
    protocol,
    spec::{
        OauthClient, RegisteredServer, ServerSpec,
        package::{self, Package, PackageKind},
    },
};
use drawbridge_store::secrets::{self, Secret, SecretScope};
use drawbridge_upstream::{
    Acceptances, Connected, Connection, Connector,
    transport::process::package_version::{self, PackageVersionError},
};
use futures_util::future::BoxFuture;
use serde_json::{json, value::RawValue};
use tokio::task::JoinHandle;

use super::{SecretValues, VerifiedView, failed_start};
use crate::{
    api::{
        ApiError, on_blocking_thread,
        secrets::{list_names_used_elsewhere, remove_secret, store_secret},
        tools,
    },
    catalog::{MAX_CATALOG_BYTES, read_list},
    hub::Hub,
    registry::{self, Grant, Registry, RegistryError, bundle},
};

/// How long the server may take to return one page of its tools.
const VERIFY_TIMEOUT: Duration = Duration::from_secs(30);

/// Stores the secrets, and writes the spec that refers to them. Accepts the spec if there is a
/// grant. Returns the saved server.
///
/// # Errors
/// Returns an error if the server is built in, if the spec or the grant is invalid, if the server's
/// name looks like the name of another server, or if the secret store, the spec file or the store
/// cannot be written.
pub(super) async fn save(
    hub: &Hub,
    id: &ServerId,
    mut spec: ServerSpec,
    secrets: SecretValues,
    grant: Option<Grant>,
) -> Result<Arc<RegisteredServer>, ApiError> {
    hub.registry.check_editable(id)?;
    let mut values = insert_references(id, &mut spec.env, secrets.env);
    values.extend(insert_references(id, &mut spec.headers, secrets.headers));
    if let Some(value) = secrets.oauth_client {
        let name = format!("{id}.oauth_client");
        oauth_client(&mut spec)?.client_secret = Some(secrets::format_reference(&name));
        values.push((name, Secret::new(value)));
    }
    if secrets.move_literals {
        let moved = move_literals(id.as_str(), &mut spec, list_names_used_elsewhere(hub, id));
        values.extend(
            moved
                .into_iter()
                .map(|(name, value)| (name, Secret::new(value))),
        );
    }
    protocol::check_spec(&spec).map_err(|e| ApiError::invalid(e.to_string()))?;
    if let Some(grant) = &grant {
        registry::check_grants(id, &spec, &grant.secrets)?;
        let offered = RegisteredServer::new(id.clone(), spec.clone(), PathBuf::new());
        hub.registry.check_name(&offered)?;
    }
    for (name, value) in values {
        store_secret(hub, &name, value).await?;
    }
    let before = hub.registry.get(id).ok();
    let is_accepted = grant.is_some();
    let server = hub.write_spec(id, &spec, grant).await?;
    if let Some(before) = before.filter(|before| !share_tokens(&before.spec, &spec)) {
        delete_tokens(hub, id, &before.spec).await?;
    }
    hub.apply_spec_changes(&[id.clone()].into()).await;
    if is_accepted {
        apply_acceptance(hub, &server).await?;
    }
    Ok(server)
}

/// Inserts a reference to a secret into `members` for each value. Returns each secret's name and
/// value.
fn insert_references(
    id: &ServerId,
    members: &mut BTreeMap<String, String>,
    values: BTreeMap<String, String>,
) -> Vec<(String, Secret)> {
    let refer = |(key, value): (String, String)| {
        let name = format!("{id}.{key}");
        members.insert(key, secrets::format_reference(&name));
        (name, Secret::new(value))
    };
    values.into_iter().map(refer).collect()
}

/// Accepts the server as it is, with this program and these foreign secrets. If the server may run,
/// a sync runs in the background.
///
/// # Errors
/// Returns an error in the same cases as [`Registry::accept`], or if the server's rules cannot be
/// written.
pub(super) async fn accept(
    hub: &Hub,
    server: &Arc<RegisteredServer>,
    program: Option<Program>,
    granted_secrets: BTreeSet<String>,
) -> Result<(), ApiError> {
    hub.registry
        .accept(server, program, granted_secrets)
        .await?;
    apply_acceptance(hub, server).await
}

/// Applies an acceptance: records it in the audit log, binds the server's rules to the accepted
/// identity, rebuilds the catalog, and starts a sync if the server may run.
async fn apply_acceptance(hub: &Hub, server: &Arc<RegisteredServer>) -> Result<(), ApiError> {
    let program = hub.registry.program(server);
    hub.store.append_audit(
        AuditKind::ServerAccepted,
        &json!({
            "server": server.id,
            "identity": server.identity,
            "accepted": Registry::offered_identity(server, program.as_ref()),
            "program": program,
            "granted_secrets": hub.registry.granted_secrets(&server.id),
        }),
    );
    hub.rules
        .bind_to_identity(&server.id, &server.identity)
        .await?;
    hub.catalog.rebuild();
    sync_in_background(hub, server);
    Ok(())
}

/// Syncs the server in the background if it may run and this hub serves an endpoint. A hub that was
/// opened only to provision a data folder starts nothing.
pub(super) fn sync_in_background(hub: &Hub, server: &Arc<RegisteredServer>) {
    if hub.registry.may_run(server) && hub.has_endpoint() {
        hub.catalog.start_sync(server.id.clone());
    }
}

/// Finds which versions of the spec's floating packages are in use now, and writes these versions
/// into the spec. A server that was not accepted still waits for acceptance.
///
/// # Errors
/// Returns an error if no package floats, if a version in use cannot be found, if the spec has
/// changed meanwhile, or if the spec cannot be written.
pub(super) async fn pin(hub: &Hub, id: &ServerId) -> Result<Arc<RegisteredServer>, ApiError> {
    let server = hub.registry.get(id)?;
    let mut spec = server.spec.clone();
    let floating = package::floating_packages(&server.spec);
    if floating.is_empty() {
        return Err(ApiError::conflict(format!(
            "'{id}' has no package or image without an exact version, so there is nothing to pin"
        )));
    }
    for package in floating {
        let pinned = package_version::find_version(&server.spec, &package)
            .await
            .map_err(|error| unknown_version(&package, &error))
            .map(|version| package.with_version(&version))?
            .expect("a version is found only if it can be added");
        spec.args = package.replace_in(&spec.args, &pinned);
    }
    if hub.registry.get(id)?.spec != server.spec {
        return Err(ApiError::conflict(format!(
            "'{id}' has changed since the versions were looked up; try again"
        )));
    }
    let is_accepted = hub.registry.acceptance(&server) == AcceptanceState::Accepted;
    let grant = is_accepted.then(|| hub.registry.granted_secrets(id).into());
    save(hub, id, spec, SecretValues::default(), grant).await
}

fn unknown_version(package: &Package<'_>, error: &PackageVersionError) -> ApiError {
    let version = if package.kind == PackageKind::Image {
        "sha256:…"
    } else {
        "1.2.3"
    };
    let by_hand = match (error, package.with_version(version)) {
        (PackageVersionError::NoDigest, _) => {
            let command = format!("{} image inspect {}", package.program, package.text);
            format!("write the image's ID, which '{command}' shows, in place of its name")
        }
        (_, Some(example)) => {
            format!("write an exact version into the server's arguments, as in '{example}'")
        }
        (_, None) => "name a commit by its full hash in the server's arguments".to_owned(),
    };
    ApiError::conflict(format!(
        "Drawbridge cannot find which version of '{}' is in use: {error}. To pin the version by hand, {by_hand}.",
        package.text
    ))
}

/// Removes the server and everything that is stored for the server. Tokens that another server
/// shares stay. The server's secrets stay if another server, a hook or a setting refers to them.
///
/// # Errors
/// Returns an error if the server is unknown, or if a step of the removal fails.
pub(super) async fn remove(hub: &Hub, id: &ServerId) -> Result<(), ApiError> {
    let server = hub.registry.get(id)?;
    hub.remove_spec(id).await?;
    hub.pool.remove(id, "the server was removed").await;
    hub.pool.history().remove(id);
    hub.catalog.delete_server(id).await?;
    hub.rules.delete_for_server(id).await?;
    delete_tokens(hub, id, &server.spec).await?;
    let used_elsewhere = list_names_used_elsewhere(hub, id);
    let prefix = format!("{id}.");
    for name in server
        .spec
        .values_with_references()
        .flat_map(|text| secrets::referenced_names(text))
        .filter(|name| name.starts_with(&prefix) && !used_elsewhere.contains(name))
    {
        remove_secret(hub, &name).await?;
    }
    hub.access_reports.remove(id).await?;
    hub.logs.delete_server_lines(id);
    let (data_dir, id) = (hub.data_dir().to_owned(), id.clone());
    on_blocking_thread(move || Ok(bundle::delete_bundles(&data_dir, &id)?)).await
}

/// Cancels an attempt to sign in to a server whose spec was removed or replaced. Deletes the tokens
/// of the old spec, unless another server shares them.
async fn delete_tokens(hub: &Hub, id: &ServerId, old: &ServerSpec) -> Result<(), ApiError> {
    hub.authorizer.cancel(id);
    if !hub
        .registry
        .specs()
        .servers
        .values()
        .any(|server| share_tokens(&server.spec, old))
    {
        hub.authorizer
            .sign_out(old, "the server was removed or changed")
            .await?;
    }
    Ok(())
}

/// Returns whether two servers share their tokens. Tokens belong to a URL and an OAuth client.
fn share_tokens(a: &ServerSpec, b: &ServerSpec) -> bool {
    a.url == b.url && a.oauth_client_id() == b.oauth_client_id()
}

/// Returns the spec's OAuth client.
///
/// # Errors
/// Returns an error if the spec has no OAuth client.
fn oauth_client(spec: &mut ServerSpec) -> Result<&mut OauthClient, ApiError> {
    spec.oauth
        .as_mut()
        .ok_or_else(|| ApiError::invalid("a client secret requires 'oauth' with a 'client_id'"))
}

/// Returns the server if it may be started now.
///
/// # Errors
/// Returns an error if the server is unknown or may not run.
pub(super) fn get_runnable(hub: &Hub, id: &ServerId) -> Result<Arc<RegisteredServer>, ApiError> {
    let server = hub.registry.get(id)?;
    if hub.registry.may_run(&server) {
        return Ok(server);
    }
    let (_, reason, remedy) = super::view::server_state(hub, &server);
    Err(ApiError::conflict(format!(
        "'{id}' cannot be started: {reason}. {remedy}"
    )))
}

/// The secrets that a spec may use while a person verifies it.
struct Verification(SecretScope);

impl Acceptances for Verification {
    fn secret_scope(&self, _: &ServerId) -> SecretScope {
        self.0.clone()
    }

    /// Accepts any program, because a person asked for this very start.
    fn check_program<'a>(
        &'a self,
        _: &'a RegisteredServer,
        _: Program,
    ) -> BoxFuture<'a, Result<(), ProgramChange>> {
        Box::pin(async { Ok(()) })
    }
}

/// Verifies a spec that is not saved: a spec for a new server, or a changed spec of the server
/// `edited`. `secrets` are masked in the log, and passed on to the server only. The spec may also
/// use the server's own secrets in the secret store, the foreign secrets that were granted to the
/// server before, and those in `granted_secrets`.
///
/// # Errors
/// Returns an error if the spec is invalid, or if the server cannot be reached or read.
pub(super) async fn verify_spec(
    hub: &Hub,
    edited: Option<ServerId>,
    spec: ServerSpec,
    secrets: SecretValues,
    granted_secrets: Vec<String>,
) -> Result<VerifiedView, ApiError> {
    let (connector, server) = prepare_unsaved(hub, edited, spec, secrets, granted_secrets)?;
    verify_with(hub, &connector, &server).await
}

/// Starts a spec that is not saved, sends it one request, and ends the connection.
///
/// # Errors
/// Returns an error if the spec is invalid, or if the server cannot be reached or does not answer
/// in time.
pub(super) async fn request_once(
    hub: &Hub,
    spec: ServerSpec,
    method: &str,
    params: &RawValue,
    time_limit: Duration,
) -> Result<RpcResponse, ApiError> {
    let (connector, server) =
        prepare_unsaved(hub, None, spec, SecretValues::default(), Vec::new())?;
    let (connection, drain_task) = connect_once(&connector, &server).await?;
    let response = connection
        .request_with_timeout(method, params, time_limit)
        .await;
    connection.close().await;
    drain_task.abort();
    Ok(response?)
}

/// Checks a spec that is not saved, and records in the audit log that it is verified. Returns the
/// spec as a server, and a connector that lets the server read the secrets that it may use.
fn prepare_unsaved(
    hub: &Hub,
    edited: Option<ServerId>,
    mut spec: ServerSpec,
    secrets: SecretValues,
    granted_secrets: Vec<String>,
) -> Result<(Connector, RegisteredServer), ApiError> {
    for value in secrets
        .env
        .values()
        .chain(secrets.headers.values())
        .chain(&secrets.oauth_client)
    {
        hub.logs.add_secret(&Secret::new(value.clone()));
    }
    spec.env.extend(secrets.env);
    spec.headers.extend(secrets.headers);
    if let Some(value) = secrets.oauth_client {
        oauth_client(&mut spec)?.client_secret = Some(value);
    }
    protocol::check_spec(&spec).map_err(|e| ApiError::invalid(e.to_string()))?;
    let mut granted: BTreeSet<_> = granted_secrets.into_iter().collect();
    let id = match edited {
        Some(id) => {
            granted.extend(hub.registry.granted_secrets(&id));
            id
        }
        // The name of an existing server is refused, because a spec with this name could read the
        // secrets of that server.
        None => match hub.registry.new_id(&spec.name) {
            Err(RegistryError::BadName) => ServerId::new("new-server"),
            id => id?,
        },
    };
    let scope = SecretScope::new(id.clone(), granted.clone());
    let connector = hub
        .pool
        .connector()
        .with_acceptances(Arc::new(Verification(scope)))
        .without_recorder();
    let server = RegisteredServer::new(id, spec, PathBuf::new());
    let note = json!({
        "server": server.id,
        "identity": server.identity,
        "granted_secrets": granted,
    });
    hub.store.append_audit(AuditKind::SpecVerified, &note);
    Ok((connector, server))
}

/// Connects in a separate session, lists the tools, and ends the connection.
///
/// # Errors
/// Returns an error if the server cannot be reached, or if its tools cannot be read.
pub(super) async fn verify_server(
    hub: &Hub,
    server: &RegisteredServer,
) -> Result<VerifiedView, ApiError> {
    verify_with(hub, &hub.pool.connector().without_recorder(), server).await
}

/// Connects in a separate session. The returned task discards incoming messages, because a full
/// inbox would block the server.
async fn connect_once(
    connector: &Connector,
    server: &RegisteredServer,
) -> Result<(Arc<Connection>, JoinHandle<()>), ApiError> {
    // The session belongs to no client, and nobody reads its count of non-JSON-RPC lines or its
    // progress.
    let Connected {
        connection,
        mut inbox,
    } = connector
        .connect(server, None, Arc::new(AtomicU32::new(0)), &|_| {})
        .await?;
    let drain_task = tokio::spawn(async move { while inbox.recv().await.is_some() {} });
    Ok((connection, drain_task))
}

async fn verify_with(
    hub: &Hub,
    connector: &Connector,
    server: &RegisteredServer,
) -> Result<VerifiedView, ApiError> {
    let (started, started_at) = (Instant::now(), clock::now());
    let (connection, drain_task) = match connect_once(connector, server).await {
        Ok(connected) => connected,
        Err(error) => return Err(failed_start::explain(hub, server, started_at, error).await),
    };
    let send_request = |method: &'static str, params: Box<RawValue>| {
        let connection = connection.clone();
        async move {
            connection
                .request_with_timeout(method, &params, VERIFY_TIMEOUT)
                .await
        }
    };
    let read = read_list(CapabilityKind::Tools, MAX_CATALOG_BYTES, send_request).await;
    connection.close().await;
    drain_task.abort();
    let read = match read {
        Ok(read) => read,
        Err(error) => {
            return Err(failed_start::explain(hub, server, started_at, error.into()).await);
        }
    };
    let tools = read.definitions;
    Ok(VerifiedView {
        server_name: Some(connection.hello.server_info.name.clone()),
        server_version: Some(connection.hello.server_info.version.clone()),
        protocol_version: connection.hello.protocol_version.clone(),
        tools: tools
            .iter()
            .map(|tool| tools::tool_view(hub, server, tool))
            .collect(),
        excluded: hub.catalog.mask_secrets(read.excluded),
        duration_ms: u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX),
    })
}
