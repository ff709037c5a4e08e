use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use drawbridge_hub::model::{
    approval::{ApprovalRequest, Verdict},
    event::Event,
    ids::{CallId, ClientName, ServerId, SessionId, Timestamp},
    server::ServerState,
    tool::Annotations,
};
use tokio::{sync::mpsc, task::JoinHandle};

use super::{Controller, Input};
use crate::{
    glance,
    notifications::notice::Notice,
    overview::{Overview, ServerLine},
    shell::{Focus, Shell},
    tray::menu::{Choice, TrayState, TrayView},
};

/// An effect of the controller on the desktop.
#[derive(Debug, Clone, PartialEq)]
enum Seen {
    Tray(TrayState),
    Told(Box<Event>),
    Main,
    Popup(Focus),
    PopupHidden,
    /// The title of the notification, or `None` if the notification was withdrawn.
    Notified(Option<String>),
    Decided(String, Verdict),
    SetRaised(bool),
    Looked(u64),
}

#[derive(Clone)]
struct FakeShell {
    seen: Arc<Mutex<Vec<Seen>>>,
    has_tray: bool,
}

impl FakeShell {
    fn see(&self, seen: Seen) {
        self.seen.lock().expect("no panic elsewhere").push(seen);
    }
}

impl Shell for FakeShell {
    fn has_tray(&self) -> bool {
        self.has_tray
    }
    fn set_tray(&self, _: Option<&TrayView>, view: &TrayView) {
        self.see(Seen::Tray(view.state));
    }
    fn tell(&self, event: &Event) {
        self.see(Seen::Told(Box::new(event.clone())));
    }
    fn show_main(&self) {
        self.see(Seen::Main);
    }
    fn show_popup(&self, focus: Focus) {
        self.see(Seen::Popup(focus));
    }
    fn hide_popup(&self) {
        self.see(Seen::PopupHidden);
    }
    fn notify(&self, notice: Option<&Notice>) {
        self.see(Seen::Notified(notice.map(|notice| notice.title.clone())));
    }
    fn decide(&self, call: &glance::Seen, verdict: Verdict) {
        self.see(Seen::Decided(call.id.to_string(), verdict));
    }
    fn set_raised(&self, raised: bool) {
        self.see(Seen::SetRaised(raised));
    }
    fn look_again(&self, turn: u64) {
        self.see(Seen::Looked(turn));
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
            seen: Arc::default(),
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
            app.seen().await,
            [Seen::Looked(0), Seen::Tray(TrayState::Idle)]
        );
        app
    }

    /// Returns the effects since the previous call. Time is paused, so that it advances only when
    /// all tasks are idle.
    async fn seen(&self) -> Vec<Seen> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        std::mem::take(&mut *self.shell.seen.lock().expect("no panic elsewhere"))
    }

    async fn happens(&self, event: Event) -> Vec<Seen> {
        self.events.send(event).await.expect("the controller runs");
        self.seen().await
    }

    async fn gets(&self, input: Input) -> Vec<Seen> {
        self.inputs.send(input).expect("the controller runs");
        self.seen().await
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
        client: ClientName::new("claude"),
        server: ServerId::new("files"),
        server_name: "Files".into(),
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

fn asked(id: &str) -> Event {
    Event::ApprovalRequested {
        request: Box::new(request(id)),
    }
}

fn ended(id: &str) -> Event {
    Event::ApprovalEnded {
        id: CallId::new(id),
    }
}

fn notified(title: &str) -> Seen {
    Seen::Notified(Some(title.to_owned()))
}

fn told(event: Event) -> Seen {
    Seen::Told(Box::new(event))
}

fn looked(turn: u64, waiting: &[&str]) -> Input {
    let waiting = waiting.iter().map(|id| request(id)).collect();
    Input::Looked {
        turn,
        overview: Overview {
            waiting,
            ..Overview::default()
        },
    }
}

/// The title of a notification of one call.
const ONE: &str = "claude wants to call read_file of Files";

#[tokio::test(start_paused = true)]
async fn a_call_that_asks_shows_the_popup_without_taking_the_focus() {
    let app = App::start(true).await;
    let seen = app.happens(asked("1")).await;
    assert_eq!(
        seen,
        [
            told(asked("1")),
            Seen::Popup(Focus::Leave),
            notified(ONE),
            Seen::Tray(TrayState::Waiting)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_popup_stays_until_no_call_waits() {
    let app = App::start(true).await;
    app.happens(asked("1")).await;
    app.happens(asked("2")).await;
    assert!(!app.happens(ended("1")).await.contains(&Seen::PopupHidden));
    let seen = app.happens(ended("2")).await;
    let gone = [
        Seen::PopupHidden,
        Seen::Notified(None),
        Seen::Tray(TrayState::Idle),
    ];
    assert_eq!(seen, [&[told(ended("2"))], gone.as_slice()].concat());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waited_before_the_app_started_shows_the_popup() {
    let app = App::start(true).await;
    let seen = app.gets(looked(0, &["1"])).await;
    assert_eq!(
        seen,
        [
            Seen::Popup(Focus::Leave),
            notified(ONE),
            Seen::Tray(TrayState::Waiting)
        ]
    );
    assert_eq!(app.gets(looked(0, &["1"])).await, []);
    let gone = [
        Seen::PopupHidden,
        Seen::Notified(None),
        Seen::Tray(TrayState::Idle),
    ];
    assert_eq!(app.gets(looked(0, &[])).await, gone);
}

#[tokio::test(start_paused = true)]
async fn an_overview_that_missed_a_call_does_not_hide_it() {
    let app = App::start(true).await;
    app.happens(asked("1")).await;
    assert_eq!(app.gets(looked(0, &[])).await, [Seen::Looked(1)]);
    assert_eq!(app.gets(looked(1, &["1"])).await, []);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_changes_makes_the_shell_look_again() {
    let app = App::start(true).await;
    let changed = Event::ServerChanged {
        id: ServerId::new("files"),
    };
    assert_eq!(
        app.happens(changed.clone()).await,
        [told(changed), Seen::Looked(0)]
    );
    let servers = vec![ServerLine {
        name: "Files".into(),
        state: ServerState::Error,
    }];
    let overview = Overview {
        servers,
        trouble: Some("1 server is in error".into()),
        ..Overview::default()
    };
    assert_eq!(
        app.gets(Input::Looked { turn: 0, overview }).await,
        [Seen::Tray(TrayState::Trouble)]
    );
}

#[tokio::test(start_paused = true)]
async fn missed_events_make_everyone_look_again() {
    let app = App::start(true).await;
    assert_eq!(
        app.happens(Event::Lagged).await,
        [told(Event::Lagged), Seen::Looked(0)]
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
    let seen = app.seen().await;
    assert!(seen.len() < 100, "{} events were told", seen.len());
    assert_eq!(seen.last(), Some(&told(Event::Lagged)));
}

#[tokio::test(start_paused = true)]
async fn the_tray_and_a_second_start_open_the_windows() {
    let app = App::start(true).await;
    assert_eq!(app.gets(Input::Chosen(Choice::Open)).await, [Seen::Main]);
    assert_eq!(app.gets(Input::Raised).await, [Seen::Main]);
    assert_eq!(
        app.gets(Input::Chosen(Choice::ShowApprovals)).await,
        [Seen::Popup(Focus::Take)]
    );
}

#[tokio::test(start_paused = true)]
async fn many_calls_are_one_notification_that_counts_them() {
    let app = App::start(true).await;
    assert!(app.happens(asked("1")).await.contains(&notified(ONE)));
    assert!(
        app.happens(asked("2"))
            .await
            .contains(&notified("2 calls wait for you"))
    );
    assert!(
        app.happens(asked("3"))
            .await
            .contains(&notified("3 calls wait for you"))
    );
    assert!(
        app.happens(ended("1"))
            .await
            .contains(&notified("2 calls wait for you"))
    );
    assert!(app.happens(ended("2")).await.contains(&notified(ONE)));
    assert!(
        app.happens(ended("3"))
            .await
            .contains(&Seen::Notified(None))
    );
}

#[tokio::test(start_paused = true)]
async fn who_looks_at_the_popup_is_not_notified() {
    let app = App::start(true).await;
    app.happens(asked("1")).await;
    assert_eq!(
        app.gets(Input::PopupFocused(true)).await,
        [Seen::Notified(None)]
    );
    let quiet = |seen: &[Seen]| !seen.iter().any(|seen| matches!(seen, Seen::Notified(_)));
    assert!(quiet(&app.happens(asked("2")).await));
    assert!(quiet(&app.gets(Input::PopupFocused(false)).await));
    assert!(
        quiet(&app.happens(asked("3")).await),
        "the same calls are not told twice"
    );
    for id in ["1", "2", "3"] {
        assert!(quiet(&app.happens(ended(id)).await));
    }
    assert!(
        app.happens(asked("4")).await.contains(&notified(ONE)),
        "a popup that hid has no keyboard"
    );
}

#[tokio::test(start_paused = true)]
async fn opening_the_popup_takes_the_notification_back() {
    let app = App::start(true).await;
    app.happens(asked("1")).await;
    let seen = app.gets(Input::Chosen(Choice::ShowApprovals)).await;
    assert_eq!(seen, [Seen::Popup(Focus::Take), Seen::Notified(None)]);
}

#[tokio::test(start_paused = true)]
async fn the_shortcut_shows_what_waits_and_else_the_window() {
    let app = App::start(true).await;
    assert_eq!(app.gets(Input::Summoned).await, [Seen::Main]);
    app.happens(asked("1")).await;
    assert_eq!(
        app.gets(Input::Summoned).await,
        [Seen::Popup(Focus::Take), Seen::Notified(None)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_is_decided_as_it_was_seen() {
    let app = App::start(true).await;
    app.happens(asked("1")).await;
    let call = || glance::Seen::of(&request("1"));
    let approved = app.gets(Input::Chosen(Choice::Approve(call()))).await;
    assert_eq!(
        approved,
        [Seen::Decided("1".into(), Verdict::approve_once())]
    );
    let denied = app.gets(Input::Chosen(Choice::Deny(call()))).await;
    assert_eq!(
        denied,
        [Seen::Decided(
            "1".into(),
            Verdict::Deny {
                reason: String::new()
            }
        )]
    );
}

#[tokio::test(start_paused = true)]
async fn the_drawbridge_is_raised_and_lowered() {
    let app = App::start(true).await;
    assert_eq!(
        app.gets(Input::Chosen(Choice::Raise)).await,
        [Seen::SetRaised(true)]
    );
    let up = Event::DrawbridgeChanged { paused: true };
    assert_eq!(
        app.happens(up.clone()).await,
        [told(up), Seen::Tray(TrayState::Raised)]
    );
    let too_old = Input::Looked {
        turn: 0,
        overview: Overview::default(),
    };
    assert_eq!(
        app.gets(too_old).await,
        [Seen::Looked(1)],
        "an overview of before does not lower it"
    );
    assert_eq!(
        app.gets(Input::Chosen(Choice::Lower)).await,
        [Seen::SetRaised(false)]
    );
    let down = Event::DrawbridgeChanged { paused: false };
    assert_eq!(
        app.happens(down.clone()).await,
        [told(down), Seen::Tray(TrayState::Idle)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_drawbridge_that_was_raised_before_the_app_started_is_shown_so() {
    let app = App::start(true).await;
    let overview = Overview {
        raised: true,
        ..Overview::default()
    };
    assert_eq!(
        app.gets(Input::Looked { turn: 0, overview }).await,
        [Seen::Tray(TrayState::Raised)]
    );
}

#[tokio::test(start_paused = true)]
async fn closing_the_window_leaves_the_app_in_the_tray() {
    let app = App::start(true).await;
    app.gets(Input::MainClosed).await;
    assert!(!app.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn closing_the_window_ends_an_app_without_a_tray() {
    let app = App::start(false).await;
    app.gets(Input::MainClosed).await;
    assert!(app.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn quitting_ends_the_app() {
    for input in [Input::Chosen(Choice::Quit), Input::Quit] {
        let app = App::start(true).await;
        app.gets(input).await;
        assert!(app.has_ended().await);
    }
}
