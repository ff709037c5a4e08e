use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use drawbridge_model::{
    approval::{ApprovalRequest, Verdict},
    event::Event,
    ids::{CallId, ClientName, ServerId, SessionId, Timestamp},
    policy::RequestKind,
    protocol::guarded::GuardedMethod,
    server::ServerState,
    tool::Annotations,
};
use tokio::{sync::mpsc, task::JoinHandle};

use super::{Controller, Input};
use crate::{
    input::Choice,
    notifications::notice::Notice,
    overview::{Overview, ServerLine, Trouble},
    shell::Shell,
    summary,
    tray::menu::{TrayState, TrayView},
    windows::Focus,
};

/// An effect of the controller on the desktop.
#[derive(Debug, Clone, PartialEq)]
enum Effect {
    Tray(TrayState),
    EventSent(Box<Event>),
    MainShown,
    PopupShown(Focus),
    PopupHidden,
    /// The title of the notification, or `None` if the notification was withdrawn.
    Notified(Option<String>),
    Decided(String, Verdict),
    SetPaused(bool),
    RefreshRequested(u64),
}

#[derive(Clone)]
struct FakeShell {
    effects: Arc<Mutex<Vec<Effect>>>,
    has_tray: bool,
}

impl FakeShell {
    fn record(&self, effect: Effect) {
        self.effects
            .lock()
            .expect("no panic elsewhere")
            .push(effect);
    }
}

impl Shell for FakeShell {
    fn has_tray(&self) -> bool {
        self.has_tray
    }
    fn set_tray(&self, _: Option<&TrayView>, view: &TrayView) {
        self.record(Effect::Tray(view.state));
    }
    fn send_event(&self, event: &Event) {
        self.record(Effect::EventSent(Box::new(event.clone())));
    }
    fn show_main(&self) {
        self.record(Effect::MainShown);
    }
    fn show_popup(&self, focus: Focus) {
        self.record(Effect::PopupShown(focus));
    }
    fn hide_popup(&self) {
        self.record(Effect::PopupHidden);
    }
    fn notify(&self, notice: Option<&Notice>) {
        self.record(Effect::Notified(notice.map(|notice| notice.title.clone())));
    }
    fn decide(&self, call: &summary::CallRef, verdict: Verdict) {
        self.record(Effect::Decided(call.id.to_string(), verdict));
    }
    fn set_paused(&self, paused: bool) {
        self.record(Effect::SetPaused(paused));
    }
    fn refresh(&self, generation: u64) {
        self.record(Effect::RefreshRequested(generation));
    }
}

/// A running controller on a desktop that only records.
struct App {
    shell: FakeShell,
    inputs: mpsc::UnboundedSender<Input>,
    events: mpsc::Sender<Event>,
    controller: JoinHandle<()>,
}

impl App {
    /// Starts a controller, which has requested an overview and drawn an idle tray.
    async fn start(has_tray: bool) -> Self {
        let shell = FakeShell {
            effects: Arc::default(),
            has_tray,
        };
        let (inputs, receive_inputs) = mpsc::unbounded_channel();
        let (events, receive_events) = mpsc::channel(8);
        let controller =
            tokio::spawn(Controller::new(shell.clone()).run(receive_inputs, receive_events));
        let app = Self {
            shell,
            inputs,
            events,
            controller,
        };
        assert_eq!(
            app.take_effects().await,
            [Effect::RefreshRequested(0), Effect::Tray(TrayState::Idle)]
        );
        app
    }

    /// Returns the effects since the previous call. Time is paused, so that it advances only when
    /// all tasks are idle.
    async fn take_effects(&self) -> Vec<Effect> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        std::mem::take(&mut *self.shell.effects.lock().expect("no panic elsewhere"))
    }

    async fn send_event(&self, event: Event) -> Vec<Effect> {
        self.events.send(event).await.expect("the controller runs");
        self.take_effects().await
    }

    async fn send_input(&self, input: Input) -> Vec<Effect> {
        self.inputs.send(input).expect("the controller runs");
        self.take_effects().await
    }

    async fn has_ended(self) -> bool {
        tokio::time::timeout(Duration::from_secs(1), self.controller)
            .await
            .is_ok()
    }
}

pub(crate) fn request(id: &str) -> ApprovalRequest {
    ApprovalRequest {
        id: CallId::new(id),
        method: GuardedMethod::CallTool,
        kind: RequestKind::Tools,
        client: ClientName::new("claude"),
        server: ServerId::new("files"),
        server_name: "Files".into(),
        project: None,
        tool: "read_file".into(),
        tool_title: None,
        exposed_name: "files__read_file".into(),
        description: String::new(),
        annotations: Annotations::default(),
        arguments: "{}".into(),
        extra: None,
        result: None,
        is_first: false,
        suspended: None,
        changed: None,
        session: SessionId::new("s"),
        identity: "00".into(),
        definition: "00".into(),
        digest: "00".into(),
        asked_at: Timestamp(0),
        expires_at: Timestamp(50_000),
        timeout_ms: 50_000,
        remaining_ms: 50_000,
    }
}

fn requested(id: &str) -> Event {
    Event::ApprovalRequested {
        request: Box::new(request(id)),
    }
}

fn ended(id: &str) -> Event {
    Event::ApprovalEnded {
        id: CallId::new(id),
    }
}

fn notified(title: &str) -> Effect {
    Effect::Notified(Some(title.to_owned()))
}

fn event_sent(event: Event) -> Effect {
    Effect::EventSent(Box::new(event))
}

fn refreshed(generation: u64, waiting: &[&str]) -> Input {
    let waiting = waiting.iter().map(|id| request(id)).collect();
    Input::Refreshed {
        generation,
        overview: Overview {
            waiting,
            ..Overview::default()
        },
    }
}

/// The title of a notification of one call.
const ONE: &str = "claude wants to call read_file of Files (ID files)";

#[tokio::test(start_paused = true)]
async fn a_call_that_asks_shows_the_popup_without_taking_the_focus() {
    let app = App::start(true).await;
    let effects = app.send_event(requested("1")).await;
    assert_eq!(
        effects,
        [
            event_sent(requested("1")),
            Effect::PopupShown(Focus::Leave),
            notified(ONE),
            Effect::Tray(TrayState::Waiting)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_popup_stays_until_no_call_waits() {
    let app = App::start(true).await;
    app.send_event(requested("1")).await;
    app.send_event(requested("2")).await;
    assert!(
        !app.send_event(ended("1"))
            .await
            .contains(&Effect::PopupHidden)
    );
    let effects = app.send_event(ended("2")).await;
    let closing = [
        Effect::PopupHidden,
        Effect::Notified(None),
        Effect::Tray(TrayState::Idle),
    ];
    assert_eq!(
        effects,
        [&[event_sent(ended("2"))], closing.as_slice()].concat()
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waited_before_the_app_started_shows_the_popup() {
    let app = App::start(true).await;
    let effects = app.send_input(refreshed(0, &["1"])).await;
    assert_eq!(
        effects,
        [
            Effect::PopupShown(Focus::Leave),
            notified(ONE),
            Effect::Tray(TrayState::Waiting)
        ]
    );
    assert_eq!(app.send_input(refreshed(0, &["1"])).await, []);
    let closing = [
        Effect::PopupHidden,
        Effect::Notified(None),
        Effect::Tray(TrayState::Idle),
    ];
    assert_eq!(app.send_input(refreshed(0, &[])).await, closing);
}

#[tokio::test(start_paused = true)]
async fn an_overview_that_missed_a_call_does_not_hide_it() {
    let app = App::start(true).await;
    app.send_event(requested("1")).await;
    assert_eq!(
        app.send_input(refreshed(0, &[])).await,
        [Effect::RefreshRequested(1)]
    );
    assert_eq!(app.send_input(refreshed(1, &["1"])).await, []);
}

#[tokio::test(start_paused = true)]
async fn a_changed_server_makes_the_shell_refresh() {
    let app = App::start(true).await;
    let changed = Event::ServerChanged {
        id: ServerId::new("files"),
    };
    assert_eq!(
        app.send_event(changed.clone()).await,
        [event_sent(changed), Effect::RefreshRequested(0)]
    );
    let servers = vec![ServerLine {
        id: ServerId::new("files"),
        name: "Files".into(),
        state: ServerState::Error,
    }];
    let overview = Overview {
        servers,
        trouble: Some(Trouble::Errors { servers: 1 }),
        ..Overview::default()
    };
    assert_eq!(
        app.send_input(Input::Refreshed {
            generation: 0,
            overview
        })
        .await,
        [Effect::Tray(TrayState::Trouble)]
    );
}

#[tokio::test(start_paused = true)]
async fn missed_events_make_the_shell_and_the_windows_refresh() {
    let app = App::start(true).await;
    assert_eq!(
        app.send_event(Event::Lagged).await,
        [event_sent(Event::Lagged), Effect::RefreshRequested(0)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_events_ends_with_lagged() {
    let app = App::start(true).await;
    for _ in 0..500 {
        app.events
            .send(Event::PolicyChanged)
            .await
            .expect("the controller runs");
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let effects = app.take_effects().await;
    assert!(effects.len() < 100, "{} events were sent", effects.len());
    assert_eq!(effects.last(), Some(&event_sent(Event::Lagged)));
}

#[tokio::test(start_paused = true)]
async fn the_tray_and_a_second_start_open_the_windows() {
    let app = App::start(true).await;
    assert_eq!(
        app.send_input(Input::Chosen(Choice::Open)).await,
        [Effect::MainShown]
    );
    assert_eq!(app.send_input(Input::Reopened).await, [Effect::MainShown]);
    assert_eq!(
        app.send_input(Input::Chosen(Choice::ShowApprovals)).await,
        [Effect::PopupShown(Focus::Take)]
    );
}

#[tokio::test(start_paused = true)]
async fn many_calls_are_one_notification_that_counts_them() {
    let app = App::start(true).await;
    assert!(
        app.send_event(requested("1"))
            .await
            .contains(&notified(ONE))
    );
    assert!(
        app.send_event(requested("2"))
            .await
            .contains(&notified("2 calls wait for you"))
    );
    assert!(
        app.send_event(requested("3"))
            .await
            .contains(&notified("3 calls wait for you"))
    );
    assert!(
        app.send_event(ended("1"))
            .await
            .contains(&notified("2 calls wait for you"))
    );
    assert!(app.send_event(ended("2")).await.contains(&notified(ONE)));
    assert!(
        app.send_event(ended("3"))
            .await
            .contains(&Effect::Notified(None))
    );
}

#[tokio::test(start_paused = true)]
async fn a_person_who_looks_at_the_popup_is_not_notified() {
    let app = App::start(true).await;
    app.send_event(requested("1")).await;
    assert_eq!(
        app.send_input(Input::PopupFocused(true)).await,
        [Effect::Notified(None)]
    );
    let is_quiet = |effects: &[Effect]| {
        !effects
            .iter()
            .any(|effect| matches!(effect, Effect::Notified(_)))
    };
    assert!(is_quiet(&app.send_event(requested("2")).await));
    assert!(is_quiet(&app.send_input(Input::PopupFocused(false)).await));
    assert!(
        is_quiet(&app.send_event(requested("3")).await),
        "the person was notified of the same calls twice"
    );
    for id in ["1", "2", "3"] {
        assert!(is_quiet(&app.send_event(ended(id)).await));
    }
    assert!(
        app.send_event(requested("4"))
            .await
            .contains(&notified(ONE)),
        "a hidden popup does not have the focus"
    );
}

#[tokio::test(start_paused = true)]
async fn opening_the_popup_withdraws_the_notification() {
    let app = App::start(true).await;
    app.send_event(requested("1")).await;
    let effects = app.send_input(Input::Chosen(Choice::ShowApprovals)).await;
    assert_eq!(
        effects,
        [Effect::PopupShown(Focus::Take), Effect::Notified(None)]
    );
}

#[tokio::test(start_paused = true)]
async fn the_shortcut_shows_the_pending_calls_or_else_the_window() {
    let app = App::start(true).await;
    assert_eq!(
        app.send_input(Input::ShortcutPressed).await,
        [Effect::MainShown]
    );
    app.send_event(requested("1")).await;
    assert_eq!(
        app.send_input(Input::ShortcutPressed).await,
        [Effect::PopupShown(Focus::Take), Effect::Notified(None)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_is_decided_as_it_was_seen() {
    let app = App::start(true).await;
    app.send_event(requested("1")).await;
    let call = || summary::CallRef::new(&request("1"));
    let approved = app.send_input(Input::Chosen(Choice::Approve(call()))).await;
    assert_eq!(
        approved,
        [Effect::Decided("1".into(), Verdict::approve_once())]
    );
    let denied = app.send_input(Input::Chosen(Choice::Deny(call()))).await;
    assert_eq!(
        denied,
        [Effect::Decided(
            "1".into(),
            Verdict::Deny {
                reason: String::new()
            }
        )]
    );
}

#[tokio::test(start_paused = true)]
async fn calls_are_paused_and_resumed() {
    let app = App::start(true).await;
    assert_eq!(
        app.send_input(Input::Chosen(Choice::Pause)).await,
        [Effect::SetPaused(true)]
    );
    let paused = Event::DrawbridgeChanged { paused: true };
    assert_eq!(
        app.send_event(paused.clone()).await,
        [event_sent(paused), Effect::Tray(TrayState::Paused)]
    );
    let outdated = Input::Refreshed {
        generation: 0,
        overview: Overview::default(),
    };
    assert_eq!(
        app.send_input(outdated).await,
        [Effect::RefreshRequested(1)],
        "an earlier overview resumed the calls"
    );
    assert_eq!(
        app.send_input(Input::Chosen(Choice::Resume)).await,
        [Effect::SetPaused(false)]
    );
    let down = Event::DrawbridgeChanged { paused: false };
    assert_eq!(
        app.send_event(down.clone()).await,
        [event_sent(down), Effect::Tray(TrayState::Idle)]
    );
}

#[tokio::test(start_paused = true)]
async fn calls_paused_before_the_app_started_are_shown_as_paused() {
    let app = App::start(true).await;
    let overview = Overview {
        paused: true,
        ..Overview::default()
    };
    assert_eq!(
        app.send_input(Input::Refreshed {
            generation: 0,
            overview
        })
        .await,
        [Effect::Tray(TrayState::Paused)]
    );
}

#[tokio::test(start_paused = true)]
async fn closing_the_window_leaves_the_app_in_the_tray() {
    let app = App::start(true).await;
    app.send_input(Input::MainClosed).await;
    assert!(!app.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn closing_the_window_ends_an_app_without_a_tray() {
    let app = App::start(false).await;
    app.send_input(Input::MainClosed).await;
    assert!(app.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn quitting_ends_the_app() {
    for input in [Input::Chosen(Choice::Quit), Input::Quit] {
        let app = App::start(true).await;
        app.send_input(input).await;
        assert!(app.has_ended().await);
    }
}
