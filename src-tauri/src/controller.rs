//! The one event loop of the shell. The controller turns the hub's events and the person's choices
//! into what the tray and the windows show. The desktop is behind the trait [`Shell`], so that the
//! loop is tested without a desktop.

use std::ops::ControlFlow;

use drawbridge_model::{
    approval::{ApprovalRequest, Verdict},
    event::Event,
    ids::CallId,
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use crate::{
    input::{Choice, Input},
    notifications::notice::Notice,
    overview::Overview,
    shell::Shell,
    throttle::Throttle,
    tray::menu::TrayView,
    windows::Focus,
};

pub(crate) struct Controller<S> {
    shell: S,
    overview: Overview,
    /// A counter that grows when a call starts or stops waiting, and when the drawbridge changes.
    /// An overview of an earlier generation may lack that change.
    generation: u64,
    /// Whether the popup has the keyboard focus, so that the person is looking at it.
    popup_focused: bool,
    notice: Option<Notice>,
    drawn: Option<TrayView>,
    throttle: Throttle,
}

impl<S: Shell> Controller<S> {
    pub(crate) fn new(shell: S) -> Self {
        let throttle = Throttle::new(Instant::now());
        Self {
            shell,
            overview: Overview::default(),
            generation: 0,
            popup_focused: false,
            notice: None,
            drawn: None,
            throttle,
        }
    }

    /// Runs until the app has to end.
    pub(crate) async fn run(
        mut self,
        mut inputs: mpsc::UnboundedReceiver<Input>,
        mut events: mpsc::Receiver<Event>,
    ) {
        self.shell.refresh(self.generation);
        self.draw();
        loop {
            let notify_at = self.throttle.notify_at();
            let step = tokio::select! {
                input = inputs.recv() => match input {
                    Some(input) => self.on_input(input),
                    None => ControlFlow::Break(()),
                },
                Some(event) = events.recv() => self.on_event(&event),
                () = sleep_until(notify_at.unwrap_or_else(Instant::now)), if notify_at.is_some() => self.notify_lagged(),
            };
            if step.is_break() {
                return;
            }
            self.draw();
        }
    }

    fn on_input(&mut self, input: Input) -> ControlFlow<()> {
        match input {
            Input::Chosen(choice) => return self.on_choice(choice),
            Input::Reopened => self.shell.show_main(),
            Input::ShortcutPressed if self.overview.waiting.is_empty() => self.shell.show_main(),
            Input::ShortcutPressed => self.open_popup(),
            Input::Quit => return ControlFlow::Break(()),
            // Without a tray, the person could not come back to the app.
            Input::MainClosed if !self.shell.has_tray() => return ControlFlow::Break(()),
            Input::MainClosed => {}
            Input::PopupFocused(popup_focused) => self.on_popup_focused(popup_focused),
            Input::Refreshed {
                generation,
                overview,
            } => self.on_overview(generation, overview),
        }
        ControlFlow::Continue(())
    }

    fn on_choice(&mut self, choice: Choice) -> ControlFlow<()> {
        match choice {
            Choice::Open => self.shell.show_main(),
            Choice::ShowApprovals => self.open_popup(),
            Choice::Approve(call) => self.shell.decide(&call, Verdict::approve_once()),
            Choice::Deny(call) => self.shell.decide(
                &call,
                Verdict::Deny {
                    reason: String::new(),
                },
            ),
            Choice::Pause => self.shell.set_paused(true),
            Choice::Resume => self.shell.set_paused(false),
            Choice::Quit => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    /// Opens the popup at the person's request.
    fn open_popup(&mut self) {
        self.shell.show_popup(Focus::Take);
        self.notify(None);
    }

    fn on_popup_focused(&mut self, popup_focused: bool) {
        self.popup_focused = popup_focused;
        if popup_focused {
            self.notify(None);
        }
    }

    fn on_event(&mut self, event: &Event) -> ControlFlow<()> {
        // The event is sent first, so that the popup already shows the call when it appears.
        if self.throttle.admit(Instant::now(), event) {
            self.shell.send_event(event);
        }
        match event {
            Event::ApprovalRequested { request } => self.on_approval_asked((**request).clone()),
            Event::ApprovalEnded { id } => self.on_approval_ended(id),
            Event::DrawbridgeChanged { paused } => self.on_drawbridge(*paused),
            // The URL in the settings changes if a listener starts or fails.
            Event::ServerChanged { .. } | Event::SettingsChanged | Event::Lagged => {
                self.shell.refresh(self.generation)
            }
            Event::SignInChanged { .. }
            | Event::CallChanged { .. }
            | Event::ClientsChanged
            | Event::ClientFilesChanged
            | Event::PolicyChanged
            | Event::ProfilesChanged
            | Event::SessionChanged { .. }
            | Event::LogAdded { .. } => {}
        }
        ControlFlow::Continue(())
    }

    fn on_approval_asked(&mut self, request: ApprovalRequest) {
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
        self.on_pending_changed(&before);
    }

    fn on_drawbridge(&mut self, paused: bool) {
        self.generation += 1;
        self.overview.paused = paused;
    }

    fn on_overview(&mut self, generation: u64, mut overview: Overview) {
        if generation != self.generation {
            overview.waiting.clone_from(&self.overview.waiting);
            overview.paused = self.overview.paused;
            self.shell.refresh(self.generation);
        }
        let before = std::mem::replace(&mut self.overview, overview).waiting;
        self.on_pending_changed(&before);
    }

    /// Updates the popup and the notification after the pending approvals have changed.
    fn on_pending_changed(&mut self, before: &[ApprovalRequest]) {
        let waiting = &self.overview.waiting;
        let is_new = waiting
            .iter()
            .any(|request| before.iter().all(|earlier| earlier.id != request.id));
        if is_new {
            self.shell.show_popup(Focus::Leave);
        } else if waiting.is_empty() && !before.is_empty() {
            self.popup_focused = false;
            self.shell.hide_popup();
        }
        // The first of several calls opens the notification, which then counts the others while it
        // is open.
        let is_first = is_new && before.is_empty();
        let is_notified = !self.popup_focused && (is_first || self.notice.is_some());
        self.notify(if is_notified {
            Notice::for_waiting(waiting)
        } else {
            None
        });
    }

    fn notify(&mut self, notice: Option<Notice>) {
        if self.notice != notice {
            self.shell.notify(notice.as_ref());
            self.notice = notice;
        }
    }

    fn notify_lagged(&mut self) -> ControlFlow<()> {
        self.throttle.record_notified(Instant::now());
        self.shell.send_event(&Event::Lagged);
        ControlFlow::Continue(())
    }

    fn draw(&mut self) {
        let view = TrayView::new(&self.overview);
        if self.drawn.as_ref() != Some(&view) {
            self.shell.set_tray(self.drawn.as_ref(), &view);
            self.drawn = Some(view);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
