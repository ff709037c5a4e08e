//! The controller's view of the desktop: a tray, a window, a popup, a notification, a clipboard,
//! and a hub that executes the person's choices. [`Desktop`] implements the trait
//! [`DesktopActions`] with Tauri. No method waits for the main thread or for the hub: work for the
//! main thread is sent there, and verbs run in tasks of their own. On Linux, `has_tray` waits for
//! an answer of the session bus.

use drawbridge_endpoint::HubHandle;
use drawbridge_hub::api::{
    ApiError, ErrorCode, Verb,
    approvals::DecideApproval,
    clients::UnmuteClient,
    drawbridge::{PauseCalls, ResumeCalls},
};
use drawbridge_model::{approval::Verdict, event::Event, ids::ClientName};
use tauri::{AppHandle, Emitter, Manager};
use tokio::sync::watch;

use crate::{
    clipboard,
    ipc::{CLOSE_EVENT, MAIN_EVENT, POPUP_EVENT},
    notifications::{
        LatestNotice,
        notice::{Notice, NoticeKind},
    },
    preferences::StoredPreferences,
    reopen_hint::ReopenHintRead,
    shortcut,
    summary::CallRef,
    tray::{self, menu::TrayView},
    windows::{self, Focus},
};

/// The desktop functions that the controller needs.
pub(crate) trait DesktopActions: Send + 'static {
    /// Returns whether there is a tray through which the person can come back if no window is open.
    fn has_tray(&self) -> bool;
    /// Updates the tray from `before`, the view that it shows now, to `view`.
    fn set_tray(&self, before: Option<&TrayView>, view: &TrayView);
    /// Sends an event to the main window, if it exists.
    fn send_to_main(&self, event: &Event);
    /// Sends an event to the popup, if it exists.
    fn send_to_popup(&self, event: &Event);
    fn show_main(&self);
    /// Shows the page with this hash, such as `#/calls`, in the main window.
    fn show_page(&self, hash: String);
    /// Shows the missed calls in the main window.
    fn show_missed(&self);
    fn close_main(&self);
    /// Returns whether the person knows how to reopen the app without a tray.
    fn is_reopen_hint_read(&self) -> bool;
    /// Records that the person knows how to reopen the app without a tray.
    fn record_reopen_hint_read(&self);
    /// Returns the name of the global shortcut, if it works.
    fn shortcut(&self) -> Option<String>;
    /// Makes the main window ask the person whether to close it. The window reports
    /// `Input::CloseQuestionShown`, unless it hangs.
    fn ask_before_close(&self);
    /// Keeps the popup ready for a while, because a client is in use.
    fn keep_popup_ready(&self);
    fn show_popup(&self, focus: Focus);
    fn hide_popup(&self);
    /// Makes the popup as high as its content. `content_height` is in logical pixels.
    fn fit_popup(&self, content_height: f64);
    /// Returns whether the person wants notifications of this kind.
    fn wants_notice(&self, kind: NoticeKind) -> bool;
    /// Replaces the open notification by `notice`, or withdraws it.
    fn notify(&self, notice: Option<&Notice>);
    /// Decides the call that the person saw.
    fn decide(&self, call: &CallRef, verdict: Verdict);
    /// Lets a muted client ask again.
    fn unmute(&self, client: &ClientName);
    /// Pauses all calls for this many seconds, or until a person resumes them.
    fn pause(&self, for_s: Option<u32>);
    /// Resumes calls.
    fn resume(&self);
    /// Copies a text to the clipboard.
    fn copy_text(&self, text: &str);
    /// Reads the hub's state for the tray, the popup and the notifications (`Overview`), which
    /// arrives as `Input::Refreshed`. `generation` is the controller's count of changes, and comes
    /// back with the overview, so that the controller recognizes an overview that may lack a later
    /// change.
    fn refresh(&self, generation: u64);
}

/// The desktop, through Tauri.
pub(crate) struct Desktop {
    pub(crate) app: AppHandle,
    pub(crate) hub: HubHandle,
    /// The generation for which the controller last requested an overview.
    pub(crate) refreshes: watch::Sender<u64>,
    /// The notification that has to be open.
    pub(crate) notices: watch::Sender<LatestNotice>,
}

impl Desktop {
    fn on_main_thread(&self, work: impl FnOnce(&AppHandle) -> tauri::Result<()> + Send + 'static) {
        let app = self.app.clone();
        let result = self.app.run_on_main_thread(move || log_error(work(&app)));
        log_error(result);
    }

    /// Runs work that may create the main window. The main thread creates the web view while the
    /// thread of the work waits. On Windows, work on the main thread itself would deadlock.
    fn on_blocking_thread(
        &self,
        work: impl FnOnce(&AppHandle) -> tauri::Result<()> + Send + 'static,
    ) {
        let app = self.app.clone();
        tokio::task::spawn_blocking(move || log_error(work(&app)));
    }

    /// Runs a verb in a task. The hub's events show the effect; a failure goes to the log.
    fn run_verb<V: Verb>(&self, verb: V) {
        let hub = self.hub.clone();
        tokio::spawn(async move {
            match hub.run(verb).await {
                Ok(_) => {}
                // The request was decided elsewhere, or its time ran out.
                Err(ApiError {
                    code: ErrorCode::Conflict,
                    message,
                }) => {
                    tracing::info!("too late for {}: {message}", V::NAME);
                }
                Err(error) => tracing::warn!(%error, "{} failed", V::NAME),
            }
        });
    }
}

/// Logs an error of the desktop: a window that cannot be shown must not end the hub.
fn log_error(result: tauri::Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, "the desktop refused a request");
    }
}

impl DesktopActions for Desktop {
    fn has_tray(&self) -> bool {
        tray::is_shown(&self.app)
    }

    fn set_tray(&self, before: Option<&TrayView>, view: &TrayView) {
        let (before, view) = (before.cloned(), view.clone());
        self.on_main_thread(move |app| tray::draw(app, before.as_ref(), &view));
    }

    fn send_to_main(&self, event: &Event) {
        // Events are frequent, and often there is no main window.
        if self.app.get_webview_window(windows::MAIN).is_some() {
            log_error(self.app.emit(MAIN_EVENT, event));
        }
    }

    fn send_to_popup(&self, event: &Event) {
        log_error(self.app.emit(POPUP_EVENT, event));
    }

    fn show_main(&self) {
        self.on_blocking_thread(windows::show_main);
    }

    fn show_page(&self, hash: String) {
        self.on_blocking_thread(move |app| windows::show_page(app, &hash));
    }

    fn show_missed(&self) {
        self.on_blocking_thread(windows::show_missed);
    }

    fn close_main(&self) {
        self.on_main_thread(windows::close_main);
    }

    fn is_reopen_hint_read(&self) -> bool {
        self.app.state::<ReopenHintRead>().is_read()
    }

    fn record_reopen_hint_read(&self) {
        self.app.state::<ReopenHintRead>().record();
    }

    fn shortcut(&self) -> Option<String> {
        shortcut::registered_keys(&self.app)
    }

    fn ask_before_close(&self) {
        let ends_hub = matches!(self.hub, HubHandle::Embedded(_));
        log_error(self.app.emit_to(windows::MAIN, CLOSE_EVENT, ends_hub));
    }

    fn keep_popup_ready(&self) {
        windows::keep_popup_ready(&self.app);
    }

    fn show_popup(&self, focus: Focus) {
        self.on_main_thread(move |app| windows::show_popup(app, focus));
    }

    fn hide_popup(&self) {
        self.on_main_thread(windows::hide_popup);
    }

    fn fit_popup(&self, content_height: f64) {
        self.on_main_thread(move |app| windows::fit_popup(app, content_height));
    }

    fn wants_notice(&self, kind: NoticeKind) -> bool {
        let preferences = self.app.state::<StoredPreferences>().get();
        preferences.notifications.include(kind)
    }

    fn notify(&self, notice: Option<&Notice>) {
        self.notices.send_modify(|latest| latest.set(notice));
    }

    fn decide(&self, call: &CallRef, verdict: Verdict) {
        self.run_verb(DecideApproval {
            id: call.id.clone(),
            digest: call.digest.clone(),
            verdict,
        });
    }

    fn unmute(&self, client: &ClientName) {
        self.run_verb(UnmuteClient {
            name: client.clone(),
        });
    }

    fn pause(&self, for_s: Option<u32>) {
        self.run_verb(PauseCalls { for_s });
    }

    fn resume(&self) {
        self.run_verb(ResumeCalls {});
    }

    fn copy_text(&self, text: &str) {
        let text = text.to_owned();
        self.on_main_thread(move |_| {
            clipboard::copy(&text);
            Ok(())
        });
    }

    fn refresh(&self, generation: u64) {
        self.refreshes.send_replace(generation);
    }
}
