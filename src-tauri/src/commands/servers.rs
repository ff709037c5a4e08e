//! Commands on servers: the registry's specs and the state of each server.

use drawbridge_hub::api::servers::{
    AcceptServer, AcceptTools, AddServer, AwaitSignIn, CancelSignIn, CheckRuntimes, EnableServer,
    FillManifest, ListPresets, ListServers, ReadManifest, ReadSpecs, RemoveServer, RestartServer,
    ShowCapabilities, ShowServer, ShowToolHistory, ShowUsage, SignInServer, SignOutServer,
    SyncServer, UpdateServer, VerifyServer, VerifySpec,
};
use tauri::State;

use super::{Answer, Request};
use crate::{browser, door::Door};

#[tauri::command]
pub(crate) async fn servers_list(
    door: State<'_, Door>,
    request: Request<ListServers>,
) -> Answer<ListServers> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_show(
    door: State<'_, Door>,
    request: Request<ShowServer>,
) -> Answer<ShowServer> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_add(
    door: State<'_, Door>,
    request: Request<AddServer>,
) -> Answer<AddServer> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_update(
    door: State<'_, Door>,
    request: Request<UpdateServer>,
) -> Answer<UpdateServer> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_remove(
    door: State<'_, Door>,
    request: Request<RemoveServer>,
) -> Answer<RemoveServer> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_enable(
    door: State<'_, Door>,
    request: Request<EnableServer>,
) -> Answer<EnableServer> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_accept(
    door: State<'_, Door>,
    request: Request<AcceptServer>,
) -> Answer<AcceptServer> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_verify(
    door: State<'_, Door>,
    request: Request<VerifyServer>,
) -> Answer<VerifyServer> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_verify_spec(
    door: State<'_, Door>,
    request: Request<VerifySpec>,
) -> Answer<VerifySpec> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_sync(
    door: State<'_, Door>,
    request: Request<SyncServer>,
) -> Answer<SyncServer> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_restart(
    door: State<'_, Door>,
    request: Request<RestartServer>,
) -> Answer<RestartServer> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_read_specs(
    door: State<'_, Door>,
    request: Request<ReadSpecs>,
) -> Answer<ReadSpecs> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_read_manifest(
    door: State<'_, Door>,
    request: Request<ReadManifest>,
) -> Answer<ReadManifest> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_fill_manifest(
    door: State<'_, Door>,
    request: Request<FillManifest>,
) -> Answer<FillManifest> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_presets(
    door: State<'_, Door>,
    request: Request<ListPresets>,
) -> Answer<ListPresets> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_check_runtimes(
    door: State<'_, Door>,
    request: Request<CheckRuntimes>,
) -> Answer<CheckRuntimes> {
    door.run(request.0).await
}

/// Starts a sign-in and opens the browser, because a web view must not open it.
#[tauri::command]
pub(crate) async fn servers_sign_in(
    door: State<'_, Door>,
    request: Request<SignInServer>,
) -> Answer<SignInServer> {
    let attempt = door.run(request.0).await?;
    browser::open(attempt.url.clone());
    Ok(attempt)
}

#[tauri::command]
pub(crate) async fn servers_await_sign_in(
    door: State<'_, Door>,
    request: Request<AwaitSignIn>,
) -> Answer<AwaitSignIn> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_cancel_sign_in(
    door: State<'_, Door>,
    request: Request<CancelSignIn>,
) -> Answer<CancelSignIn> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_sign_out(
    door: State<'_, Door>,
    request: Request<SignOutServer>,
) -> Answer<SignOutServer> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_usage(
    door: State<'_, Door>,
    request: Request<ShowUsage>,
) -> Answer<ShowUsage> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_tool_history(
    door: State<'_, Door>,
    request: Request<ShowToolHistory>,
) -> Answer<ShowToolHistory> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_accept_tools(
    door: State<'_, Door>,
    request: Request<AcceptTools>,
) -> Answer<AcceptTools> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn servers_capabilities(
    door: State<'_, Door>,
    request: Request<ShowCapabilities>,
) -> Answer<ShowCapabilities> {
    door.run(request.0).await
}
