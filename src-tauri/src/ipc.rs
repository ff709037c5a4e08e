//! The Tauri commands: one per verb of the hub, called `noun_verb`, commands about the windows and
//! the updates, and commands that show and change the [`options`] of the app. The commands about
//! the windows close the main window, restart or quit the app, and tell how to reopen the app. They
//! also report that the main window asks whether to close it, that the person has read how to
//! reopen the app, whether the main window shows the Approvals screen, and how high the popup's
//! content is. A command of a verb passes the window's request to the hub, which implements the
//! verb, and returns the hub's answer. Tauri rejects a command for which the window has no
//! permission: the build script writes the permissions from the hub's list of verbs, and
//! `src-tauri/capabilities` gives them to the windows.

mod options;

use std::sync::Arc;

use drawbridge_endpoint::HubHandle;
use drawbridge_hub::api::{
    self, ApiError, ListedVerb,
    approvals::{ApprovalUrl, OpenApprovalUrl},
    bundles::{AddBundle, BundleSource, OpenBundle},
    servers::SignInServer,
};
use drawbridge_model::sign_in::SignIn;
use serde_json::{Value, value::RawValue};
use tauri::{
    AppHandle, Manager, Wry,
    ipc::{Invoke, InvokeBody, InvokeResponseBody, Response},
};
use tokio::sync::mpsc;

use crate::{
    browser,
    input::Input,
    next_start::NextStart,
    reopen_hint::{self, ReopenHint},
    updates::{UpdateError, Updates, UpdatesView},
};

/// The Tauri event for the main window whose payload is a hub's `Event`.
pub(crate) const MAIN_EVENT: &str = "hub-main";

/// The Tauri event for the popup whose payload is a hub's `Event`.
pub(crate) const POPUP_EVENT: &str = "hub-popup";

/// The Tauri event that makes the main window ask whether to close it. Its payload says whether the
/// hub ends with the app.
pub(crate) const CLOSE_EVENT: &str = "close-requested";

/// Handles the command that a window invokes. Returns `false` if there is no such command.
pub(crate) fn handle(invoke: Invoke<Wry>) -> bool {
    if let Some(input) = parse_window_command(invoke.message.command(), invoke.message.payload()) {
        let inputs = invoke
            .message
            .webview_ref()
            .state::<mpsc::UnboundedSender<Input>>();
        // The controller (`controller.rs`), which receives the inputs, is dropped only while the app
        // ends.
        let _ = inputs.send(input);
        invoke.resolver.resolve(());
        return true;
    }
    if let Some(request) = UpdateRequest::parse(&invoke) {
        let updates = invoke.message.webview_ref().state::<Arc<Updates>>();
        let updates = Arc::clone(&updates);
        invoke.resolver.respond_async(async move {
            let view = request.run(&updates).await.map_err(ApiError::from)?;
            Ok(view)
        });
        return true;
    }
    if invoke.message.command() == "app_restart" {
        let webview = invoke.message.webview_ref();
        webview.state::<Arc<NextStart>>().request_restart();
        let _ = webview
            .state::<mpsc::UnboundedSender<Input>>()
            .send(Input::Quit);
        invoke.resolver.resolve(());
        return true;
    }
    if invoke.message.command() == "reopen_hint" {
        let app = invoke.message.webview_ref().app_handle().clone();
        invoke
            .resolver
            .respond_async(async move { Ok(find_reopen_hint(app).await) });
        return true;
    }
    if let Some(command) = options::Command::parse(invoke.message.command()) {
        let params = read_params(invoke.message.payload());
        let app = invoke.message.webview_ref().app_handle().clone();
        invoke
            .resolver
            .respond_async(async move { Ok(command.run(app, params).await?) });
        return true;
    }
    let Some(verb) = find_verb(invoke.message.command()) else {
        return false;
    };
    let params = read_params(invoke.message.payload());
    let hub = invoke
        .message
        .webview_ref()
        .state::<HubHandle>()
        .inner()
        .clone();
    invoke.resolver.respond_async(async move {
        let answer = run_verb(&hub, verb, params).await?;
        let body = InvokeResponseBody::Json(Box::<str>::from(answer).into());
        Ok(Response::new(body))
    });
    true
}

/// Returns the verb of a command, which is called `noun_verb` instead of `noun.verb`.
fn find_verb(command: &str) -> Option<&'static str> {
    api::NAMES
        .iter()
        .copied()
        .find(|verb| verb.replacen('.', "_", 1) == command)
}

/// Returns the input of a command about the windows, or `None` if there is no such command or its
/// arguments are malformed. These commands are no verbs, because a hub has no window.
fn parse_window_command(command: &str, payload: &InvokeBody) -> Option<Input> {
    let argument = |name| match payload {
        InvokeBody::Json(arguments) => arguments.get(name),
        InvokeBody::Raw(_) => None,
    };
    match command {
        "approvals_shown" => argument("shown")?.as_bool().map(Input::ApprovalsShown),
        "popup_measured" => argument("height")?.as_f64().map(Input::PopupMeasured),
        "close_asked" => Some(Input::CloseQuestionShown),
        "window_close" => Some(Input::KeepRunningChosen),
        "reopen_hint_read" => Some(Input::ReopenHintRead),
        "app_quit" => Some(Input::Quit),
        _ => None,
    }
}

/// A request of the Settings screen about updates of the app.
#[derive(Debug, PartialEq, Eq)]
enum UpdateRequest {
    Show,
    Check,
    SetAutomatic(bool),
    Install,
}

impl UpdateRequest {
    fn parse(invoke: &Invoke<Wry>) -> Option<Self> {
        Self::parse_command(invoke.message.command(), invoke.message.payload())
    }

    fn parse_command(command: &str, payload: &InvokeBody) -> Option<Self> {
        match command {
            "updates_show" => Some(Self::Show),
            "updates_check" => Some(Self::Check),
            "updates_switch" => Some(Self::SetAutomatic(matches!(
                payload,
                InvokeBody::Json(arguments) if arguments["on"] == true
            ))),
            "updates_install" => Some(Self::Install),
            _ => None,
        }
    }

    async fn run(self, updates: &Updates) -> Result<UpdatesView, UpdateError> {
        match self {
            Self::Show => Ok(updates.view()),
            Self::Check => updates.check().await,
            Self::SetAutomatic(automatic) => updates.set_automatic(automatic),
            Self::Install => updates.install().await,
        }
    }
}

/// Returns how to reopen the app. Does not block the main thread, although the session bus has to
/// be asked.
async fn find_reopen_hint(app: AppHandle) -> Option<ReopenHint> {
    let found = tokio::task::spawn_blocking(move || reopen_hint::find(&app)).await;
    found.unwrap_or_default()
}

/// Returns the argument `request` of a command as JSON text: the parameters of a verb, or a change
/// of the options.
fn read_params(payload: &InvokeBody) -> String {
    match payload {
        InvokeBody::Json(arguments) => arguments["request"].to_string(),
        InvokeBody::Raw(_) => "null".to_owned(),
    }
}

/// Runs a verb, and opens the page of a sign-in or of a server's request in the browser.
async fn run_verb(hub: &HubHandle, verb: &str, params: String) -> Result<Box<RawValue>, ApiError> {
    let params = if hub.is_remote() && [OpenBundle::NAME, AddBundle::NAME].contains(&verb) {
        embed_bundle(params).await?
    } else {
        params
    };
    let answer = hub.run_by_name(verb, params).await?;
    // The browser opens these pages, because no web view of the app may show foreign pages.
    if verb == SignInServer::NAME
        && let Ok(SignIn { url, .. }) = serde_json::from_str(answer.get())
    {
        browser::open(url);
    }
    if verb == OpenApprovalUrl::NAME
        && let Ok(ApprovalUrl { url }) = serde_json::from_str(answer.get())
    {
        browser::open(url);
    }
    Ok(answer)
}

/// Replaces the path of a bundle by its content, because a remote hub cannot read a file on this
/// computer.
async fn embed_bundle(params: String) -> Result<String, ApiError> {
    let embedded = tokio::task::spawn_blocking(move || {
        let malformed = |error: serde_json::Error| ApiError::invalid(error.to_string());
        let mut request: Value = serde_json::from_str(&params).map_err(malformed)?;
        let source: BundleSource =
            serde_json::from_value(request["source"].take()).map_err(malformed)?;
        request["source"] = serde_json::to_value(source.embed()?).map_err(malformed)?;
        Ok(request.to_string())
    });
    embedded
        .await
        .map_err(|error| ApiError::internal(error.to_string()))?
}

#[cfg(test)]
mod tests;
