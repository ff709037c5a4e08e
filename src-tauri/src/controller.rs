//! The controller: a loop that turns the hub's events and the person's choices into the content of
//! the tray, of the windows and of the notification. The desktop is behind the trait
//! [`DesktopActions`], so that the loop is tested without a desktop.

use std::{ops::ControlFlow, time::Duration};

use drawbridge_model::{
    approval::{ApprovalRequest, Verdict},
    call::Call,
    event::Event,
    ids::{CallId, ClientName, PairingId, Timestamp},
    pairing::PairingRequest,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use crate::{
    alerts::{AlertKind, Alerts},
    desktop_actions::DesktopActions,
    input::{Choice, Input},
    missed::MissedCalls,
    notifications::notice::{Notice, NoticeKind},
    overview::Overview,
    texts,
    throttle::Throttle,
    tray::menu::TrayView,
    windows::Focus,
};

/// How long the main window may take to begin to ask whether to close it. A web view that takes
/// longer counts as hanging and is closed; the app keeps running.
const ASK_WITHIN: Duration = Duration::from_secs(3);

pub(crate) struct Controller<D> {
    desktop: D,
    overview: Overview,
    /// A counter that grows when a call or a client starts or stops waiting, and when the
    /// drawbridge changes. An overview of an earlier generation may lack that change.
    generation: u64,
    /// Whether the popup has the keyboard focus, so that the person is looking at it.
    popup_focused: bool,
    /// Whether the main window has the keyboard focus.
    main_focused: bool,
    /// Whether the main window shows the Approvals screen.
    approvals_shown: bool,
    /// The notification for waiting calls.
    notice: Option<Notice>,
    missed: MissedCalls,
    /// The client that was muted last and the end of its mute, until the person has reacted. The
    /// mute may be over.
    muted: Option<(ClientName, Timestamp)>,
    alerts: Alerts,
    /// The notification that says how to reopen the app on a desktop without a tray.
    reopen_hint: Option<Notice>,
    /// The version of a newer release that the person has not seen.
    update: Option<String>,
    /// The version of the newest release that the person was told about.
    reported_update: Option<String>,
    /// The notification that is open: the most urgent one.
    open_notice: Option<Notice>,
    /// The view that the tray shows.
    drawn: Option<TrayView>,
    /// Whether the overview may have changed since the tray was drawn.
    is_tray_outdated: bool,
    throttle: Throttle,
    /// When to close the main window if it has not asked the person by then.
    close_at: Option<Instant>,
}

impl<D: DesktopActions> Controller<D> {
    pub(crate) fn new(desktop: D) -> Self {
        let throttle = Throttle::new(Instant::now());
        Self {
            desktop,
            overview: Overview::default(),
            generation: 0,
            popup_focused: false,
            main_focused: false,
            approvals_shown: false,
            notice: None,
            missed: MissedCalls::default(),
            muted: None,
            alerts: Alerts::default(),
            reopen_hint: None,
            update: None,
            reported_update: None,
            open_notice: None,
            drawn: None,
            is_tray_outdated: true,
            throttle,
            close_at: None,
        }
    }

    /// Runs until the app has to end.
    pub(crate) async fn run(
        mut self,
        mut inputs: mpsc::UnboundedReceiver<Input>,
        mut events: mpsc::Receiver<Event>,
    ) {
        self.desktop.refresh(self.generation);
        loop {
            self.draw_tray();
            let lagged_at = self.throttle.lagged_at();
            let close_at = self.close_at;
            let step = tokio::select! {
                input = inputs.recv() => match input {
                    Some(input) => self.on_input(input),
                    None => ControlFlow::Break(()),
                },
                Some(event) = events.recv() => self.on_event(&event),
                () = sleep_until(lagged_at.unwrap_or_else(Instant::now)), if lagged_at.is_some() => self.send_lagged(),
                () = sleep_until(close_at.unwrap_or_else(Instant::now)), if close_at.is_some() => {
                    self.close_main();
                    ControlFlow::Continue(())
                }
            };
            if step.is_break() {
                return;
            }
        }
    }

    fn on_input(&mut self, input: Input) -> ControlFlow<()> {
        self.is_tray_outdated = true;
        match input {
            Input::Chosen(choice) => return self.on_choice(choice),
            Input::Reopened => self.open_main(),
            Input::Open(target) => self.open_page(target.hash()),
            Input::ShortcutPressed if self.overview.waiting.is_empty() => self.open_main(),
            Input::ShortcutPressed => self.open_popup(),
            Input::Quit => return ControlFlow::Break(()),
            Input::CloseRequested => self.on_close_requested(),
            Input::CloseQuestionShown => self.close_at = None,
            Input::KeepRunningChosen => {
                self.desktop.record_reopen_hint_read();
                self.close_main();
            }
            Input::UpdateFound(version) if self.reported_update.as_ref() == Some(&version) => {}
            Input::UpdateFound(version) => {
                self.reported_update = Some(version.clone());
                self.update = Some(version);
                self.notify(self.notice.clone());
            }
            Input::TrayMissing if self.desktop.is_reopen_hint_read() => {}
            Input::TrayMissing => self.show_reopen_hint(texts::NO_TRAY_ICONS),
            Input::ReopenHintRead => {
                self.desktop.record_reopen_hint_read();
                self.reopen_hint = None;
                self.notify(self.notice.clone());
            }
            Input::PopupFocused(popup_focused) => self.on_popup_focused(popup_focused),
            Input::PopupMeasured(content_height) => self.desktop.fit_popup(content_height),
            Input::MainFocused(focused) => {
                self.change_view(|controller| controller.main_focused = focused)
            }
            Input::ApprovalsShown(shown) => {
                self.change_view(|controller| controller.approvals_shown = shown)
            }
            Input::Refreshed {
                generation,
                overview,
            } => self.on_overview(generation, overview),
        }
        ControlFlow::Continue(())
    }

    fn on_choice(&mut self, choice: Choice) -> ControlFlow<()> {
        match choice {
            Choice::Open => self.open_main(),
            // No call waits, so the choice is about the clients that ask to be paired.
            Choice::ShowApprovals
                if self.overview.waiting.is_empty() && !self.overview.pairings.is_empty() =>
            {
                self.open_main()
            }
            Choice::ShowApprovals => self.open_popup(),
            Choice::ShowMissed => {
                self.desktop.show_missed();
                self.withdraw_read_notices();
            }
            Choice::Approve(call) => self.desktop.decide(&call, Verdict::approve_once()),
            Choice::Deny(call) => self.desktop.decide(
                &call,
                Verdict::Deny {
                    reason: String::new(),
                },
            ),
            Choice::Unmute(client) => {
                self.desktop.unmute(&client);
                self.end_mute(&client);
            }
            Choice::ShowScreen(screen) => self.open_page(format!("#/{}", screen.id())),
            Choice::ShowServer(server) => {
                let id = utf8_percent_encode(server.as_str(), NON_ALPHANUMERIC);
                self.open_page(format!("#/servers/{id}"));
            }
            Choice::CopyEndpoint => {
                if let Some(url) = &self.overview.url {
                    self.desktop.copy_text(url);
                }
            }
            Choice::Pause(for_s) => self.desktop.pause(for_s),
            Choice::Resume => self.desktop.resume(),
            Choice::Quit => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn on_close_requested(&mut self) {
        if self.desktop.has_tray() {
            self.close_at = None;
            self.desktop.close_main();
        } else if self.desktop.is_reopen_hint_read() {
            self.close_main();
        } else {
            // Without a tray, the person might not find the app again.
            self.desktop.ask_before_close();
            self.close_at
                .get_or_insert_with(|| Instant::now() + ASK_WITHIN);
        }
    }

    /// Opens the main window, which counts and lists the missed calls.
    fn open_main(&mut self) {
        self.desktop.show_main();
        self.withdraw_read_notices();
    }

    /// Opens the main window on the page with this hash.
    fn open_page(&mut self, hash: String) {
        self.desktop.show_page(hash);
        self.withdraw_read_notices();
    }

    /// Withdraws the notifications whose subject the main window shows.
    fn withdraw_read_notices(&mut self) {
        self.missed.clear();
        self.muted = None;
        self.alerts.clear();
        self.update = None;
        self.reopen_hint = None;
        self.notify(self.notice.clone());
    }

    /// Withdraws the notification that this client is muted.
    fn end_mute(&mut self, client: &ClientName) {
        self.muted.take_if(|(muted, _)| muted == client);
        self.notify(self.notice.clone());
    }

    /// Closes the main window on a desktop without a tray. A notification says how to reopen it.
    fn close_main(&mut self) {
        self.close_at = None;
        self.desktop.close_main();
        self.show_reopen_hint(texts::KEEPS_RUNNING);
    }

    fn show_reopen_hint(&mut self, title: &str) {
        let shortcut = self.desktop.shortcut();
        self.reopen_hint = Some(Notice::for_reopen_hint(title, shortcut.as_deref()));
        self.notify(self.notice.clone());
    }

    /// Opens the popup at the person's request.
    fn open_popup(&mut self) {
        self.desktop.show_popup(Focus::Take);
        self.notify(None);
    }

    fn on_popup_focused(&mut self, popup_focused: bool) {
        self.popup_focused = popup_focused;
        if popup_focused {
            self.notify(None);
        }
    }

    /// Returns whether the person looks at the Approvals screen of the main window.
    fn sees_approvals(&self) -> bool {
        self.main_focused && self.approvals_shown
    }

    /// Applies a change of the main window. While the person looks at the waiting calls in the main
    /// window, the popup is hidden. The popup appears when the person looks elsewhere.
    fn change_view(&mut self, change: impl FnOnce(&mut Self)) {
        let before = self.sees_approvals();
        change(self);
        let now = self.sees_approvals();
        if now == before || self.overview.waiting.is_empty() {
            return;
        }
        if now {
            self.popup_focused = false;
            self.desktop.hide_popup();
            self.notify(None);
        } else {
            self.desktop.show_popup(Focus::Leave);
        }
    }

    fn on_event(&mut self, event: &Event) -> ControlFlow<()> {
        // The event is sent first, so that the popup already shows the call when it appears.
        if is_for_popup(event) {
            self.desktop.send_to_popup(event);
        }
        if self.throttle.admit(Instant::now(), event) {
            self.desktop.send_to_main(event);
        }
        self.is_tray_outdated |= !is_frequent(event);
        match event {
            Event::ApprovalRequested { request } => self.on_approval_requested((**request).clone()),
            Event::ApprovalEnded { id } => self.on_approval_ended(id),
            Event::PairingRequested { request } => self.on_pairing_requested((**request).clone()),
            Event::PairingEnded { id } => self.on_pairing_ended(id),
            Event::CallChanged { call } => self.on_call_changed(call),
            Event::DrawbridgeChanged { paused, resumes_at } => {
                self.on_drawbridge_changed(*paused, *resumes_at)
            }
            Event::ClientMuted { client, mute } => {
                self.muted = Some((client.clone(), mute.until));
                self.notify(self.notice.clone());
            }
            Event::ClientUnmuted { client } => self.end_mute(client),
            // The URL in the settings changes if a listener starts or fails.
            Event::ServerChanged { .. } | Event::SettingsChanged | Event::Lagged => {
                self.desktop.refresh(self.generation)
            }
            // A client may have connected, whose calls may wait for the person.
            Event::ClientsChanged => self.desktop.keep_popup_ready(),
            Event::SignInChanged { .. }
            | Event::ClientFilesChanged
            | Event::MemoryChanged
            | Event::PolicyChanged
            | Event::ProfilesChanged
            | Event::HooksChanged
            | Event::OfficialRegistryChanged
            | Event::BrowsersChanged
            | Event::SessionChanged { .. }
            | Event::CallProgressed { .. }
            | Event::LogAdded { .. } => {}
        }
        ControlFlow::Continue(())
    }

    fn on_approval_requested(&mut self, request: ApprovalRequest) {
        self.generation += 1;
        let before = self.overview.waiting.clone();
        self.overview
            .waiting
            .retain(|waiting| waiting.id != request.id);
        self.overview.waiting.push(request);
        self.on_pending_changed(&before);
    }

    fn on_approval_ended(&mut self, id: &CallId) {
        self.generation += 1;
        let before = self.overview.waiting.clone();
        self.overview.waiting.retain(|waiting| waiting.id != *id);
        self.missed.record_ended(id);
        self.on_pending_changed(&before);
    }

    fn on_call_changed(&mut self, call: &Call) {
        self.desktop.keep_popup_ready();
        self.is_tray_outdated |= self.overview.record_call(&call.server);
        if self.missed.record_decision(call) {
            self.notify(self.notice.clone());
        }
    }

    fn on_pairing_requested(&mut self, request: PairingRequest) {
        self.generation += 1;
        let pairings = &mut self.overview.pairings;
        pairings.retain(|waiting| waiting.id != request.id);
        pairings.push(request);
        self.notify(self.notice.clone());
    }

    fn on_pairing_ended(&mut self, id: &PairingId) {
        self.generation += 1;
        self.overview.pairings.retain(|waiting| waiting.id != *id);
        self.notify(self.notice.clone());
    }

    fn on_drawbridge_changed(&mut self, paused: bool, resumes_at: Option<Timestamp>) {
        self.generation += 1;
        self.overview.paused = paused;
        self.overview.resumes_at = resumes_at;
    }

    fn on_overview(&mut self, generation: u64, mut overview: Overview) {
        if generation != self.generation {
            overview.waiting.clone_from(&self.overview.waiting);
            overview.pairings.clone_from(&self.overview.pairings);
            overview.paused = self.overview.paused;
            overview.resumes_at = self.overview.resumes_at;
            self.desktop.refresh(self.generation);
        }
        // Only the first overview reads which servers were used last. Later calls are events.
        for server in std::mem::take(&mut overview.recent) {
            if !self.overview.recent.contains(&server) {
                self.overview.recent.push(server);
            }
        }
        overview.recent = std::mem::take(&mut self.overview.recent);
        let before = std::mem::replace(&mut self.overview, overview).waiting;
        self.alerts.update(&self.overview);
        self.on_pending_changed(&before);
    }

    /// Updates the popup and the notification after the pending approvals have changed.
    fn on_pending_changed(&mut self, before: &[ApprovalRequest]) {
        let waiting = &self.overview.waiting;
        for request in waiting {
            self.missed.record_asked(request);
        }
        let is_new = waiting
            .iter()
            .any(|request| before.iter().all(|earlier| earlier.id != request.id));
        if is_new && !self.sees_approvals() {
            self.desktop.show_popup(Focus::Leave);
        } else if waiting.is_empty() && !before.is_empty() {
            self.popup_focused = false;
            self.desktop.hide_popup();
        }
        // The first of several calls opens the notification, which then counts the other calls
        // while it is open.
        let is_first = is_new && before.is_empty();
        let is_looking = self.popup_focused || self.sees_approvals();
        let is_notified = !is_looking && (is_first || self.notice.is_some());
        self.notify(if is_notified {
            Notice::for_waiting(waiting)
        } else {
            None
        });
    }

    /// Shows `notice`, the notification for waiting calls, or else the most urgent other
    /// notification.
    fn notify(&mut self, notice: Option<Notice>) {
        self.notice = notice;
        let most_urgent = NoticeKind::BY_URGENCY
            .into_iter()
            .find_map(|kind| self.find_notice(kind));
        if self.open_notice != most_urgent {
            self.desktop.notify(most_urgent.as_ref());
            self.open_notice = most_urgent;
        }
    }

    /// Returns the notification of a kind, if there is a reason for it.
    fn find_notice(&self, kind: NoticeKind) -> Option<Notice> {
        let alerts = |kind| {
            let alerts = self.alerts.list().filter(|alert| alert.kind == kind);
            alerts.collect::<Vec<_>>()
        };
        if !self.desktop.wants_notice(kind) {
            return None;
        }
        match kind {
            NoticeKind::Approvals => self.notice.clone(),
            NoticeKind::Pairings => Notice::for_pairings(&self.overview.pairings),
            // While a call waits, the person looks at the popup or has closed the notification.
            NoticeKind::MutedClient
            | NoticeKind::MissedCalls
            | NoticeKind::FailedServers
            | NoticeKind::UnacceptedDefinitions
            | NoticeKind::Update
            | NoticeKind::ReopenHint
                if !self.overview.waiting.is_empty() =>
            {
                None
            }
            NoticeKind::MutedClient => self.muted.as_ref().map(Notice::for_muted),
            NoticeKind::MissedCalls => Notice::for_missed(self.missed.list()),
            NoticeKind::FailedServers => Notice::for_failed(&alerts(AlertKind::Failed)),
            NoticeKind::UnacceptedDefinitions => {
                Notice::for_unaccepted_definitions(&alerts(AlertKind::DefinitionsWait))
            }
            NoticeKind::Update => self.update.as_deref().map(Notice::for_update),
            NoticeKind::ReopenHint => self.reopen_hint.clone(),
        }
    }

    fn send_lagged(&mut self) -> ControlFlow<()> {
        self.throttle.record_lagged(Instant::now());
        self.desktop.send_to_main(&Event::Lagged);
        ControlFlow::Continue(())
    }

    /// Draws the tray, if it would look different.
    fn draw_tray(&mut self) {
        if !std::mem::take(&mut self.is_tray_outdated) {
            return;
        }
        let view = TrayView::new(&self.overview);
        if self.drawn.as_ref() != Some(&view) {
            self.desktop.set_tray(self.drawn.as_ref(), &view);
            self.drawn = Some(view);
        }
    }
}

/// Returns whether the popup needs the event: it shows only the waiting calls, and whether all calls
/// are paused.
fn is_for_popup(event: &Event) -> bool {
    matches!(
        event,
        Event::ApprovalRequested { .. }
            | Event::ApprovalEnded { .. }
            | Event::DrawbridgeChanged { .. }
            | Event::Lagged
    )
}

/// Returns whether the event occurs with each call. Such an event seldom changes the overview.
fn is_frequent(event: &Event) -> bool {
    matches!(
        event,
        Event::CallChanged { .. } | Event::CallProgressed { .. } | Event::LogAdded { .. }
    )
}

#[cfg(test)]
pub(crate) mod tests;
