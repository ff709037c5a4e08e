//! Commands on servers: the registry's specs and the state of each server.

use drawbridge_hub::api::servers::{
    AcceptServer, AcceptTools, AddServer, AwaitSignIn, CancelSignIn, CheckRuntimes, EnableServer,
    FillManifest, ListPresets, ListServers, ReadManifest, ReadSpecs, RemoveServer, RestartServer,
    ShowCapabilities, ShowServer, ShowToolHistory, ShowUsage, SignInServer, SignOutServer,
    SyncServer, UpdateServer, VerifyServer, VerifySpec,
};
use tauri::State;

use super::{Answer, Request};
use crate::{browser, hub_handle::HubHandle};

#[tauri::command]
pub(crate) async fn servers_list(
    hub: State<'_, HubHandle>,
    request: Request<ListServers>,
) -> Answer<ListServers> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_show(
    hub: State<'_, HubHandle>,
    request: Request<ShowServer>,
) -> Answer<ShowServer> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_add(
    hub: State<'_, HubHandle>,
    request: Request<AddServer>,
) -> Answer<AddServer> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_update(
    hub: State<'_, HubHandle>,
    request: Request<UpdateServer>,
) -> Answer<UpdateServer> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_remove(
    hub: State<'_, HubHandle>,
    request: Request<RemoveServer>,
) -> Answer<RemoveServer> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_enable(
    hub: State<'_, HubHandle>,
    request: Request<EnableServer>,
) -> Answer<EnableServer> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_accept(
    hub: State<'_, HubHandle>,
    request: Request<AcceptServer>,
) -> Answer<AcceptServer> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_verify(
    hub: State<'_, HubHandle>,
    request: Request<VerifyServer>,
) -> Answer<VerifyServer> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_verify_spec(
    hub: State<'_, HubHandle>,
    request: Request<VerifySpec>,
) -> Answer<VerifySpec> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_sync(
    hub: State<'_, HubHandle>,
    request: Request<SyncServer>,
) -> Answer<SyncServer> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_restart(
    hub: State<'_, HubHandle>,
    request: Request<RestartServer>,
) -> Answer<RestartServer> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_read_specs(
    hub: State<'_, HubHandle>,
    request: Request<ReadSpecs>,
) -> Answer<ReadSpecs> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_read_manifest(
    hub: State<'_, HubHandle>,
    request: Request<ReadManifest>,
) -> Answer<ReadManifest> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_fill_manifest(
    hub: State<'_, HubHandle>,
    request: Request<FillManifest>,
) -> Answer<FillManifest> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_presets(
    hub: State<'_, HubHandle>,
    request: Request<ListPresets>,
) -> Answer<ListPresets> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_check_runtimes(
    hub: State<'_, HubHandle>,
    request: Request<CheckRuntimes>,
) -> Answer<CheckRuntimes> {
    hub.run(request.0).await
}

/// Starts a sign-in and opens the browser, because a web view must not open it.
#[tauri::command]
pub(crate) async fn servers_sign_in(
    hub: State<'_, HubHandle>,
    request: Request<SignInServer>,
) -> Answer<SignInServer> {
    let attempt = hub.run(request.0).await?;
    browser::open(attempt.url.clone());
    Ok(attempt)
}

#[tauri::command]
pub(crate) async fn servers_await_sign_in(
    hub: State<'_, HubHandle>,
    request: Request<AwaitSignIn>,
) -> Answer<AwaitSignIn> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_cancel_sign_in(
    hub: State<'_, HubHandle>,
    request: Request<CancelSignIn>,
) -> Answer<CancelSignIn> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_sign_out(
    hub: State<'_, HubHandle>,
    request: Request<SignOutServer>,
) -> Answer<SignOutServer> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_usage(
    hub: State<'_, HubHandle>,
    request: Request<ShowUsage>,
) -> Answer<ShowUsage> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_tool_history(
    hub: State<'_, HubHandle>,
    request: Request<ShowToolHistory>,
) -> Answer<ShowToolHistory> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_accept_tools(
    hub: State<'_, HubHandle>,
    request: Request<AcceptTools>,
) -> Answer<AcceptTools> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_capabilities(
    hub: State<'_, HubHandle>,
    request: Request<ShowCapabilities>,
) -> Answer<ShowCapabilities> {
    hub.run(request.0).await
}
