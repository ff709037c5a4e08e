//! The tray app: a hub and its endpoint with a tray icon and two windows, or the same tray icon and
//! windows for a remote hub. This is the only crate that uses Tauri.
//!
//! [`run`] starts the app and returns when it has ended. After the start, [`controller`] processes
//! everything: the hub's events, the tray's menu, the windows, a notification's buttons, the global
//! shortcut, a second start, and signals.

mod alerts;
mod args;
mod autostart;
mod backend;
mod browser;
mod clipboard;
mod controller;
mod desktop_actions;
mod display;
mod input;
mod ipc;
mod missed;
mod next_start;
mod notifications;
mod open_target;
mod overview;
mod popup_place;
mod preferences;
mod reopen_hint;
mod shortcut;
mod summary;
mod task_thread;
mod texts;
mod throttle;
mod tray;
mod updates;
mod window_state;
mod windows;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use clap::Parser;
use drawbridge_endpoint::{HubHandle, admin_token};
use tauri::{App, AppHandle, RunEvent, WindowEvent};
use tokio::{
    runtime::Handle,
    sync::{mpsc, watch},
};

pub use args::Args;

use autostart::Autostart;
use backend::Backend;
use controller::Controller;
use desktop_actions::Desktop;
use input::Input;
use next_start::NextStart;
use notifications::LatestNotice;
use open_target::OpenTarget;
use overview::Overview;
use preferences::StoredPreferences;
use reopen_hint::ReopenHintRead;
use task_thread::TaskThread;
use updates::Updates;
use window_state::WindowState;

/// The pause between two overviews, so that several servers that change together cause one
/// overview.
const REFRESH_PAUSE: Duration = Duration::from_millis(200);

/// Runs the app until the person or the system ends it. Returns the exit code.
pub fn run(args: Args) -> ExitCode {
    match try_run(args) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            #[expect(
                clippy::print_stderr,
                reason = "neither a window nor a log exists so early"
            )]
            {
                eprintln!("drawbridge-desktop: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

fn try_run(mut args: Args) -> anyhow::Result<i32> {
    args.admin_token = admin_token::read_from_environment()?;
    let args = &args;
    display::choose_renderer();
    display::check()?;
    let tasks = TaskThread::start()?;
    tauri::async_runtime::set(tasks.runtime.clone());
    let (inputs, received) = mpsc::unbounded_channel();
    let updates = Arc::new(Updates::load(&args.data_dir()));
    let next_start = Arc::new(NextStart::new(args.for_restart(env::args_os().skip(1))));
    // Ends this process if the app already runs.
    let app = build(args, &inputs, updates, Arc::clone(&next_start))?;
    let backend = tasks.runtime.block_on(Backend::open(args))?;
    tasks.runtime.spawn(quit_on_signal(inputs.clone()));
    let code = run_event_loop(
        app,
        backend,
        Startup {
            hidden: args.hidden,
            target: args.open.as_deref().and_then(|argument| {
                read_target(argument, &env::current_dir().unwrap_or_default())
            }),
            inputs,
            received,
        },
        tasks.runtime.clone(),
    );
    tasks.stop();
    next_start
        .start_if_requested()
        .context("Drawbridge cannot start again. Start it yourself")?;
    Ok(code)
}

/// Builds the app, without a window. If the app runs already, brings it to the front and ends this
/// process.
fn build(
    args: &Args,
    inputs: &mpsc::UnboundedSender<Input>,
    updates: Arc<Updates>,
    next_start: Arc<NextStart>,
) -> tauri::Result<App> {
    let reopened = inputs.clone();
    let requested = Arc::clone(&next_start);
    let mut single_instance =
        tauri_plugin_single_instance::Builder::new().callback(move |_, argv, folder| {
            let folder = PathBuf::from(folder);
            // Nobody receives the input if this process is ending.
            if reopened.send(parse_second_start(&argv, &folder)).is_err() {
                requested.request_second_start(argv, folder);
            }
        });
    let instance = args.instance_name();
    if let Some(instance) = &instance {
        single_instance = single_instance.dbus_id(format!("app.drawbridge.desktop.{instance}"));
    }
    let mut builder = tauri::Builder::default()
        .invoke_handler(ipc::handle)
        .on_window_event(windows::on_window_event)
        .manage(windows::WebviewFolder(args.data_dir().join("webview")))
        .manage(windows::Popup::new())
        .manage(updates)
        .manage(next_start)
        .manage(ReopenHintRead::load(args.data_dir()))
        .manage(WindowState::load(args.data_dir()))
        .manage(StoredPreferences::load(args.data_dir()))
        .manage(Autostart::of_this_program(args.data_dir.as_deref()));
    builder = builder.plugin(tauri_plugin_notification::init());
    // On Linux, the plugin tells instances of the app apart by their D-Bus ids. Elsewhere, the
    // plugin cannot tell them apart, so only an app on the default data folder uses the plugin. A
    // hub still locks its data folder.
    if cfg!(target_os = "linux") || instance.is_none() {
        builder = builder.plugin(single_instance.build());
    }
    builder.build(tauri::generate_context!())
}

/// Returns the input that a second start with these arguments, in this working folder, sends to the
/// running app.
fn parse_second_start(argv: &[String], folder: &Path) -> Input {
    Args::try_parse_from(argv)
        .ok()
        .and_then(|args| read_target(&args.open?, folder))
        .map_or(Input::Reopened, Input::Open)
}

/// Reads the link or file that a start asks the app to open. Logs an argument that cannot be
/// opened.
fn read_target(argument: &str, folder: &Path) -> Option<OpenTarget> {
    OpenTarget::parse(argument, folder)
        .inspect_err(|error| tracing::warn!("nothing is opened: {error}"))
        .ok()
}

/// The values that the app takes over when the event loop is ready.
struct Startup {
    hidden: bool,
    target: Option<OpenTarget>,
    inputs: mpsc::UnboundedSender<Input>,
    received: mpsc::UnboundedReceiver<Input>,
}

/// Runs the event loop. Returns the exit code.
fn run_event_loop(app: App, backend: Backend, start: Startup, runtime: Handle) -> i32 {
    let inputs = start.inputs.clone();
    let mut start = Some((start, backend));
    app.run_return(move |app, event| match event {
        RunEvent::Ready => {
            if let Some((start, backend)) = start.take() {
                let _runtime = runtime.enter();
                on_ready(app, start, backend);
            }
        }
        RunEvent::WindowEvent {
            label,
            event: WindowEvent::CloseRequested { api, .. },
            ..
        } if label == windows::MAIN && inputs.send(Input::CloseRequested).is_ok() => {
            // The controller closes the window, or asks first. Without a controller the app ends.
            api.prevent_close();
        }
        RunEvent::WindowEvent {
            label,
            event: WindowEvent::Destroyed,
            ..
        } if label == windows::POPUP => windows::on_popup_destroyed(app),
        RunEvent::WindowEvent { label, event, .. } if label == windows::POPUP => {
            if let Some(focused) = windows::focus_after(&event) {
                let _ = inputs.send(Input::PopupFocused(focused));
            }
        }
        RunEvent::WindowEvent {
            label,
            event: WindowEvent::Focused(focused),
            ..
        } if label == windows::MAIN => {
            let _ = inputs.send(Input::MainFocused(focused));
        }
        RunEvent::WindowEvent {
            label,
            event: WindowEvent::Destroyed,
            ..
        } if label == windows::MAIN => {
            let _ = inputs.send(Input::MainFocused(false));
            let _ = inputs.send(Input::ApprovalsShown(false));
        }
        // The app keeps running without a window, and ends with the exit code that `on_ready`
        // passes.
        RunEvent::ExitRequested {
            code: None, api, ..
        } => api.prevent_exit(),
        #[cfg(target_os = "macos")]
        RunEvent::Reopen { .. } => {
            let _ = inputs.send(Input::Reopened);
        }
        #[cfg(target_os = "macos")]
        RunEvent::Opened { urls } => {
            for url in urls {
                if let Some(target) = read_target(url.as_str(), Path::new("/")) {
                    let _ = inputs.send(Input::Open(target));
                }
            }
        }
        _ => {}
    })
}

/// Shows the app, and starts the tasks that run until the app ends.
fn on_ready(app: &AppHandle, start: Startup, backend: Backend) {
    use tauri::Manager;
    let hub = backend.hub().clone();
    app.manage(hub.clone());
    app.manage(start.inputs.clone());
    tray::create(app, start.inputs.clone());
    let main_window = match &start.target {
        Some(target) => windows::show_page(app, &target.hash()),
        None if start.hidden => Ok(()),
        None => windows::show_main(app),
    };
    if let Err(error) = main_window {
        tracing::error!(%error, "the main window cannot be created");
    }
    windows::create_popup(app);
    let (refreshes, refresh_requests) = watch::channel(0);
    let (notices, notice) = watch::channel(LatestNotice::default());
    notifications::register_actions(app, start.inputs.clone());
    let preferences = app.state::<StoredPreferences>().get();
    shortcut::register(app, start.inputs.clone(), &preferences.shortcut);
    if let Some(autostart) = app.state::<Option<Autostart>>().as_ref() {
        autostart.repair();
    }
    tokio::spawn(notifications::show_latest(app.clone(), notice));
    let updates = Arc::clone(&app.state::<Arc<Updates>>());
    let update_inputs = start.inputs.clone();
    tokio::spawn(async move { updates::check_regularly(&updates, update_inputs).await });
    tokio::spawn(reopen_hint::report_missing_tray(
        app.clone(),
        start.inputs.clone(),
    ));
    tokio::spawn(read_overviews(hub.clone(), refresh_requests, start.inputs));
    let controller = Controller::new(Desktop {
        app: app.clone(),
        hub: hub.clone(),
        refreshes,
        notices,
    });
    let app = app.clone();
    tokio::spawn(async move {
        controller.run(start.received, hub.events()).await;
        window_state::store(&app);
        for window in app.webview_windows().values() {
            let _ = window.hide();
        }
        backend.close().await;
        app.exit(0);
    });
}

/// Reads an overview after a request of the controller. Requests that arrive while an overview is
/// read, and in the pause after it, share the next overview.
async fn read_overviews(
    hub: HubHandle,
    mut refresh_requests: watch::Receiver<u64>,
    inputs: mpsc::UnboundedSender<Input>,
) {
    let mut recent = Some(Overview::read_recent(&hub).await);
    while refresh_requests.changed().await.is_ok() {
        let generation = *refresh_requests.borrow_and_update();
        let mut overview = Overview::read(&hub).await;
        overview.recent = recent.take().unwrap_or_default();
        if inputs
            .send(Input::Refreshed {
                generation,
                overview,
            })
            .is_err()
        {
            return;
        }
        tokio::time::sleep(REFRESH_PAUSE).await;
    }
}

/// Quits the app on Ctrl-C and SIGTERM.
async fn quit_on_signal(inputs: mpsc::UnboundedSender<Input>) {
    if let Err(error) = wait_for_signal().await {
        tracing::warn!(%error, "signals cannot be received");
        return;
    }
    let _ = inputs.send(Input::Quit);
}

#[cfg(unix)]
async fn wait_for_signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        result = tokio::signal::ctrl_c() => result,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn wait_for_signal() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
