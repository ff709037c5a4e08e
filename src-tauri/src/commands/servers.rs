//! Commands on servers: the registry and what is known of each server.

use drawbridge_hub::api::servers::{
    AcceptServer, AcceptTools, AddServer, AuthorizeServer, AwaitSignIn, CancelSignIn, CheckRuntimes, EnableServer,
    FillManifest, ListPresets, ListServers, MeasureServers, ReadManifest, ReadSpecs, RemoveServer, RestartServer,
    ShowCapabilities, ShowServer, ShowToolHistory, SignOutServer, SyncServer, TryServer, UpdateServer, VerifyServer,
};
use tauri::State;

use super::Answer;
use crate::{browser, door::Door};

#[tauri::command]
pub(crate) async fn servers_list(door: State<'_, Door>, request: ListServers) -> Answer<ListServers> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_show(door: State<'_, Door>, request: ShowServer) -> Answer<ShowServer> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_add(door: State<'_, Door>, request: AddServer) -> Answer<AddServer> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_update(door: State<'_, Door>, request: UpdateServer) -> Answer<UpdateServer> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_remove(door: State<'_, Door>, request: RemoveServer) -> Answer<RemoveServer> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_enable(door: State<'_, Door>, request: EnableServer) -> Answer<EnableServer> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_accept(door: State<'_, Door>, request: AcceptServer) -> Answer<AcceptServer> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_verify(door: State<'_, Door>, request: VerifyServer) -> Answer<VerifyServer> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_try(door: State<'_, Door>, request: TryServer) -> Answer<TryServer> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_sync(door: State<'_, Door>, request: SyncServer) -> Answer<SyncServer> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_restart(door: State<'_, Door>, request: RestartServer) -> Answer<RestartServer> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_read_specs(door: State<'_, Door>, request: ReadSpecs) -> Answer<ReadSpecs> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_read_manifest(door: State<'_, Door>, request: ReadManifest) -> Answer<ReadManifest> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_fill_manifest(door: State<'_, Door>, request: FillManifest) -> Answer<FillManifest> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_presets(door: State<'_, Door>, request: ListPresets) -> Answer<ListPresets> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_check_runtimes(door: State<'_, Door>, request: CheckRuntimes) -> Answer<CheckRuntimes> {
    door.run(request).await
}

/// Opens the browser as well: a web view must not.
#[tauri::command]
pub(crate) async fn servers_authorize(door: State<'_, Door>, request: AuthorizeServer) -> Answer<AuthorizeServer> {
    let attempt = door.run(request).await?;
    browser::open(attempt.url.clone());
    Ok(attempt)
}

#[tauri::command]
pub(crate) async fn servers_await_sign_in(door: State<'_, Door>, request: AwaitSignIn) -> Answer<AwaitSignIn> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_cancel_sign_in(door: State<'_, Door>, request: CancelSignIn) -> Answer<CancelSignIn> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_sign_out(door: State<'_, Door>, request: SignOutServer) -> Answer<SignOutServer> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_measure(door: State<'_, Door>, request: MeasureServers) -> Answer<MeasureServers> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_tool_history(door: State<'_, Door>, request: ShowToolHistory) -> Answer<ShowToolHistory> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_accept_tools(door: State<'_, Door>, request: AcceptTools) -> Answer<AcceptTools> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn servers_capabilities(door: State<'_, Door>, request: ShowCapabilities) -> Answer<ShowCapabilities> {
    door.run(request).await
}
