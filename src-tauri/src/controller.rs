//! The one event loop of the shell. The controller turns the hub's events and the person's choices
//! into what the tray and the windows show. The desktop is behind the trait [`Shell`], so that the
//! loop is tested without a desktop.

use std::ops::ControlFlow;

use drawbridge_hub::model::{
    approval::{ApprovalRequest, Verdict},
    event::Event,
    ids::CallId,
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use crate::{
    notifications::notice::Notice,
    overview::Overview,
    shell::{Focus, Shell},
    throttle::Throttle,
    tray::menu::{Choice, TrayView},
};

/// An input of the controller besides the hub's events.
#[derive(Debug)]
pub(crate) enum Input {
    /// A choice in the tray or in a notification.
    Chosen(Choice),
    /// The global shortcut was pressed.
    Summoned,
    /// The app was started a second time.
    Raised,
    MainClosed,
    /// Whether the popup has the keyboard focus from now on.
    PopupFocused(bool),
    /// The answer to [`Shell::look_again`] of this turn.
    Looked {
        turn: u64,
        overview: Overview,
    },
    /// The system asks the app to quit.
    Quit,
}

pub(crate) struct Controller<S> {
    shell: S,
    overview: Overview,
    /// A counter that grows when a call starts or stops waiting, and when the drawbridge changes.
    /// An overview of an earlier turn may lack that change.
    turn: u64,
    /// Whether the popup has the keyboard focus, so that the person is looking at it.
    is_there: bool,
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
            turn: 0,
            is_there: false,
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
        self.shell.look_again(self.turn);
        self.draw();
        loop {
            let owes_at = self.throttle.owes_at();
            let step = tokio::select! {
                input = inputs.recv() => match input {
                    Some(input) => self.on_input(input),
                    None => ControlFlow::Break(()),
                },
                Some(event) = events.recv() => self.on_event(&event),
                () = sleep_until(owes_at.unwrap_or_else(Instant::now)), if owes_at.is_some() => self.on_debt(),
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
            Input::Raised => self.shell.show_main(),
            Input::Summoned if self.overview.waiting.is_empty() => self.shell.show_main(),
            Input::Summoned => self.open_popup(),
            Input::Quit => return ControlFlow::Break(()),
            // Without a tray, the person could not come back to the app.
            Input::MainClosed if !self.shell.has_tray() => return ControlFlow::Break(()),
            Input::MainClosed => {}
            Input::PopupFocused(is_there) => self.on_popup_focused(is_there),
            Input::Looked { turn, overview } => self.on_overview(turn, overview),
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
            Choice::Raise => self.shell.set_raised(true),
            Choice::Lower => self.shell.set_raised(false),
            Choice::Quit => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    /// Opens the popup at the person's request.
    fn open_popup(&mut self) {
        self.shell.show_popup(Focus::Take);
        self.notify(None);
    }

    fn on_popup_focused(&mut self, is_there: bool) {
        self.is_there = is_there;
        if is_there {
            self.notify(None);
        }
    }

    fn on_event(&mut self, event: &Event) -> ControlFlow<()> {
        // The event is sent first, so that the popup already shows the call when it appears.
        if self.throttle.fits(Instant::now(), event) {
            self.shell.tell(event);
        }
        match event {
            Event::ApprovalRequested { request } => self.on_asked((**request).clone()),
            Event::ApprovalEnded { id } => self.on_ended(id),
            Event::DrawbridgeChanged { paused: raised } => self.on_drawbridge(*raised),
            // The URL in the settings changes if a listener starts or fails.
            Event::ServerChanged { .. } | Event::SettingsChanged | Event::Lagged => {
                self.shell.look_again(self.turn)
            }
            Event::SignInChanged { .. }
            | Event::CallChanged { .. }
            | Event::ClientsChanged
            | Event::PolicyChanged
            | Event::ProfilesChanged
            | Event::SessionChanged { .. }
            | Event::LogAdded { .. } => {}
        }
        ControlFlow::Continue(())
    }

    fn on_asked(&mut self, request: ApprovalRequest) {
        self.turn += 1;
        let before = self.overview.waiting.clone();
        self.overview
            .waiting
            .retain(|waiting| waiting.id != request.id);
        self.overview.waiting.push(request);
        self.on_waiting(&before);
    }

    fn on_ended(&mut self, id: &CallId) {
        self.turn += 1;
        let before = self.overview.waiting.clone();
        self.overview.waiting.retain(|waiting| waiting.id != *id);
        self.on_waiting(&before);
    }

    fn on_drawbridge(&mut self, raised: bool) {
        self.turn += 1;
        self.overview.raised = raised;
    }

    fn on_overview(&mut self, turn: u64, mut overview: Overview) {
        if turn != self.turn {
            overview.waiting.clone_from(&self.overview.waiting);
            overview.raised = self.overview.raised;
            self.shell.look_again(self.turn);
        }
        let before = std::mem::replace(&mut self.overview, overview).waiting;
        self.on_waiting(&before);
    }

    /// Updates the popup and the notification after the pending approvals have changed.
    fn on_waiting(&mut self, before: &[ApprovalRequest]) {
        let waiting = &self.overview.waiting;
        let is_new = waiting
            .iter()
            .any(|request| before.iter().all(|known| known.id != request.id));
        if is_new {
            self.shell.show_popup(Focus::Leave);
        } else if waiting.is_empty() && !before.is_empty() {
            self.is_there = false;
            self.shell.hide_popup();
        }
        // The first of several calls opens the notification, which then counts the others while it
        // is open.
        let is_first = is_new && before.is_empty();
        let wanted = !self.is_there && (is_first || self.notice.is_some());
        self.notify(if wanted { Notice::of(waiting) } else { None });
    }

    fn notify(&mut self, notice: Option<Notice>) {
        if self.notice != notice {
            self.shell.notify(notice.as_ref());
            self.notice = notice;
        }
    }

    fn on_debt(&mut self) -> ControlFlow<()> {
        self.throttle.settle(Instant::now());
        self.shell.tell(&Event::Lagged);
        ControlFlow::Continue(())
    }

    fn draw(&mut self) {
        let view = TrayView::of(&self.overview);
        if self.drawn.as_ref() != Some(&view) {
            self.shell.set_tray(self.drawn.as_ref(), &view);
            self.drawn = Some(view);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
