use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use drawbridge_model::{
    approval::{ApprovalRequest, ClientMute, Verdict},
    call::{Call, DecidedBy, Decision, Outcome},
    event::Event,
    ids::{CallId, ClientName, PairingId, ServerId, SessionId, Timestamp},
    pairing::PairingRequest,
    policy::RequestKind,
    protocol::guarded::GuardedMethod,
    server::ServerState,
    tool::Annotations,
};
use tokio::{sync::mpsc, task::JoinHandle};

use super::{Controller, Input};
use crate::{
    desktop_actions::DesktopActions,
    input::{Choice, Screen},
    notifications::notice::{Notice, NoticeKind},
    overview::{Overview, Trouble, tests::server_line},
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
    MissedShown,
    ReopenHintRecorded,
    MainClosed,
    AskedBeforeClose,
    PopupShown(Focus),
    PopupHidden,
    PopupFitted(f64),
    /// The title of the notification, or `None` if the notification was withdrawn.
    Notified(Option<String>),
    Decided(String, Verdict),
    Unmuted(String),
    Paused(Option<u32>),
    Resumed,
    Copied(String),
    PageShown(String),
    RefreshRequested(u64),
}

#[derive(Clone)]
struct FakeDesktop {
    effects: Arc<Mutex<Vec<Effect>>>,
    has_tray: bool,
    is_reopen_hint_read: Arc<AtomicBool>,
    is_popup_kept_ready: Arc<AtomicBool>,
    popup_events: Arc<Mutex<Vec<Event>>>,
}

impl FakeDesktop {
    fn record(&self, effect: Effect) {
        self.effects
            .lock()
            .expect("no panic elsewhere")
            .push(effect);
    }
}

impl DesktopActions for FakeDesktop {
    fn has_tray(&self) -> bool {
        self.has_tray
    }
    fn set_tray(&self, _: Option<&TrayView>, view: &TrayView) {
        self.record(Effect::Tray(view.state));
    }
    fn send_to_main(&self, event: &Event) {
        self.record(Effect::EventSent(Box::new(event.clone())));
    }
    fn send_to_popup(&self, event: &Event) {
        self.popup_events
            .lock()
            .expect("no panic elsewhere")
            .push(event.clone());
    }
    fn show_main(&self) {
        self.record(Effect::MainShown);
    }
    fn show_missed(&self) {
        self.record(Effect::MissedShown);
    }
    fn close_main(&self) {
        self.record(Effect::MainClosed);
    }
    fn is_reopen_hint_read(&self) -> bool {
        self.is_reopen_hint_read.load(Ordering::Relaxed)
    }
    fn record_reopen_hint_read(&self) {
        self.is_reopen_hint_read.store(true, Ordering::Relaxed);
        self.record(Effect::ReopenHintRecorded);
    }
    fn shortcut(&self) -> Option<String> {
        Some("Ctrl+Alt+D".into())
    }
    fn ask_before_close(&self) {
        self.record(Effect::AskedBeforeClose);
    }
    fn keep_popup_ready(&self) {
        self.is_popup_kept_ready.store(true, Ordering::Relaxed);
    }
    fn show_popup(&self, focus: Focus) {
        self.record(Effect::PopupShown(focus));
    }
    fn hide_popup(&self) {
        self.record(Effect::PopupHidden);
    }
    fn fit_popup(&self, content_height: f64) {
        self.record(Effect::PopupFitted(content_height));
    }
    fn wants_notice(&self, _: NoticeKind) -> bool {
        true
    }
    fn notify(&self, notice: Option<&Notice>) {
        self.record(Effect::Notified(notice.map(|notice| notice.title.clone())));
    }
    fn decide(&self, call: &summary::CallRef, verdict: Verdict) {
        self.record(Effect::Decided(call.id.to_string(), verdict));
    }
    fn unmute(&self, client: &ClientName) {
        self.record(Effect::Unmuted(client.to_string()));
    }
    fn pause(&self, for_s: Option<u32>) {
        self.record(Effect::Paused(for_s));
    }
    fn resume(&self) {
        self.record(Effect::Resumed);
    }
    fn copy_text(&self, text: &str) {
        self.record(Effect::Copied(text.to_owned()));
    }
    fn show_page(&self, hash: String) {
        self.record(Effect::PageShown(hash));
    }
    fn refresh(&self, generation: u64) {
        self.record(Effect::RefreshRequested(generation));
    }
}

/// A running controller on a desktop that only records.
struct App {
    desktop: FakeDesktop,
    inputs: mpsc::UnboundedSender<Input>,
    events: mpsc::Sender<Event>,
    controller: JoinHandle<()>,
}

impl App {
    /// Starts a controller, which has requested an overview and drawn an idle tray.
    async fn start(has_tray: bool) -> Self {
        let desktop = FakeDesktop {
            effects: Arc::default(),
            has_tray,
            is_reopen_hint_read: Arc::default(),
            is_popup_kept_ready: Arc::default(),
            popup_events: Arc::default(),
        };
        let (inputs, receive_inputs) = mpsc::unbounded_channel();
        let (events, receive_events) = mpsc::channel(8);
        let controller =
            tokio::spawn(Controller::new(desktop.clone()).run(receive_inputs, receive_events));
        let app = Self {
            desktop,
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
        std::mem::take(&mut *self.desktop.effects.lock().expect("no panic elsewhere"))
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
        request_hooks: Vec::new(),
        extra: None,
        result: None,
        flags: Vec::new(),
        sampling_provider: None,
        is_filled_in_by_person: false,
        is_first: false,
        suspended: None,
        changed: None,
        session: SessionId::new("s"),
        identity: "00".into(),
        definition_digest: "00".into(),
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

fn decided(id: &str, decision: Decision) -> Event {
    Event::CallChanged {
        call: Arc::new(Call {
            id: CallId::new(id),
            at: Timestamp(0),
            method: GuardedMethod::CallTool,
            client: ClientName::new("claude"),
            session: None,
            server: ServerId::new("files"),
            tool: "read_file".into(),
            exposed_name: "files__read_file".into(),
            decision,
            decided_by: DecidedBy::Hub,
            rule: None,
            is_edited: false,
            reason: String::new(),
            outcome: Outcome::NotSent,
            error: String::new(),
            waited_ms: 50_000,
            duration_ms: None,
            arguments: None,
            extra: None,
            original_arguments: None,
            request_hooks: Vec::new(),
            result_hooks: Vec::new(),
            flags: Vec::new(),
            result: None,
        }),
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

pub(crate) fn pairing(name: &str) -> PairingRequest {
    PairingRequest {
        id: PairingId::new(name),
        name: name.into(),
        suggested_name: ClientName::new(name),
        has_token: true,
        revoked_client: None,
        program: None,
        asked_at: Timestamp(0),
        remaining_ms: 300_000,
    }
}

fn pairing_requested(name: &str) -> Event {
    Event::PairingRequested {
        request: Box::new(pairing(name)),
    }
}

fn pairing_ended(name: &str) -> Event {
    Event::PairingEnded {
        id: PairingId::new(name),
    }
}

/// The title of a notification of one call.
const ONE_CALL: &str = "claude wants to call read_file of Files (ID files)";

#[tokio::test(start_paused = true)]
async fn a_call_that_asks_shows_the_popup_without_taking_the_focus() {
    let app = App::start(true).await;
    let effects = app.send_event(requested("1")).await;
    assert_eq!(
        effects,
        [
            event_sent(requested("1")),
            Effect::PopupShown(Focus::Leave),
            notified(ONE_CALL),
            Effect::Tray(TrayState::Waiting)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_popup_stays_hidden_while_the_person_looks_at_the_approvals() {
    let app = App::start(true).await;
    assert_eq!(app.send_input(Input::ApprovalsShown(true)).await, []);
    assert_eq!(app.send_input(Input::MainFocused(true)).await, []);
    assert_eq!(
        app.send_event(requested("1")).await,
        [event_sent(requested("1")), Effect::Tray(TrayState::Waiting)],
        "neither the popup nor a notification reports a call that is on the screen"
    );
    assert_eq!(
        app.send_input(Input::MainFocused(false)).await,
        [Effect::PopupShown(Focus::Leave)],
        "the person looks elsewhere while a call waits"
    );
    assert_eq!(
        app.send_input(Input::MainFocused(true)).await,
        [Effect::PopupHidden]
    );
    assert_eq!(
        app.send_input(Input::ApprovalsShown(false)).await,
        [Effect::PopupShown(Focus::Leave)],
        "the main window shows another screen"
    );
    app.send_input(Input::ApprovalsShown(true)).await;
    assert_eq!(
        app.send_event(ended("1")).await,
        [
            event_sent(ended("1")),
            Effect::PopupHidden,
            Effect::Tray(TrayState::Idle)
        ]
    );
    assert_eq!(
        app.send_input(Input::MainFocused(false)).await,
        [],
        "no call waits"
    );
}

#[tokio::test(start_paused = true)]
async fn the_approvals_screen_replaces_the_popup_and_its_notification() {
    let app = App::start(true).await;
    app.send_event(requested("1")).await;
    app.send_input(Input::MainFocused(true)).await;
    assert_eq!(
        app.send_input(Input::ApprovalsShown(true)).await,
        [Effect::PopupHidden, Effect::Notified(None)]
    );
}

#[tokio::test(start_paused = true)]
async fn the_popup_gets_the_height_of_its_content() {
    let app = App::start(true).await;
    assert_eq!(
        app.send_input(Input::PopupMeasured(321.0)).await,
        [Effect::PopupFitted(321.0)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_asks_to_be_paired_has_a_notification_that_opens_the_window() {
    let app = App::start(true).await;
    let effects = app.send_event(pairing_requested("notes")).await;
    assert_eq!(
        effects,
        [
            event_sent(pairing_requested("notes")),
            notified("notes asks to be paired"),
            Effect::Tray(TrayState::Waiting)
        ]
    );
    assert_eq!(
        app.send_input(refreshed(0, &[])).await,
        [Effect::RefreshRequested(1)],
        "an older overview does not hide the client"
    );
    let clicked = Input::Chosen(Choice::ShowApprovals);
    assert_eq!(app.send_input(clicked).await, [Effect::MainShown]);
    app.send_event(pairing_requested("other")).await;
    let effects = app.send_event(pairing_ended("other")).await;
    assert!(effects.contains(&notified("notes asks to be paired")));
    assert_eq!(
        app.send_event(pairing_ended("notes")).await,
        [
            event_sent(pairing_ended("notes")),
            Effect::Notified(None),
            Effect::Tray(TrayState::Idle)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_notification_of_a_waiting_call_takes_precedence_over_the_notification_of_a_client() {
    let app = App::start(true).await;
    app.send_event(pairing_requested("notes")).await;
    let effects = app.send_event(requested("1")).await;
    assert!(effects.contains(&notified(ONE_CALL)), "{effects:?}");
    let effects = app.send_event(ended("1")).await;
    assert!(
        effects.contains(&notified("notes asks to be paired")),
        "{effects:?}"
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
            notified(ONE_CALL),
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
async fn a_changed_server_causes_a_new_overview() {
    let app = App::start(true).await;
    let changed = Event::ServerChanged {
        id: ServerId::new("files"),
    };
    assert_eq!(
        app.send_event(changed.clone()).await,
        [event_sent(changed), Effect::RefreshRequested(0)]
    );
    let servers = vec![server_line("files", "Files", ServerState::Error)];
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
        [
            notified("Files (ID files) failed"),
            Effect::Tray(TrayState::Trouble)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn missed_events_cause_a_new_overview_and_reach_the_windows() {
    let app = App::start(true).await;
    assert_eq!(
        app.send_event(Event::Lagged).await,
        [event_sent(Event::Lagged), Effect::RefreshRequested(0)]
    );
}

#[tokio::test(start_paused = true)]
async fn the_popup_gets_only_the_events_about_waiting_calls_and_the_drawbridge() {
    let app = App::start(true).await;
    let paused = Event::DrawbridgeChanged {
        paused: true,
        resumes_at: None,
    };
    let for_popup = [requested("1"), ended("1"), paused, Event::Lagged];
    for event in &for_popup {
        app.send_event(event.clone()).await;
    }
    for event in [decided("1", Decision::Allowed), Event::PolicyChanged] {
        assert_eq!(app.send_event(event.clone()).await, [event_sent(event)]);
    }
    let popup_events = app.desktop.popup_events.lock();
    assert_eq!(*popup_events.expect("no panic elsewhere"), for_popup);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_server_that_the_tray_does_not_list_adds_it_to_the_tray() {
    let app = App::start(true).await;
    // The tray lists eight servers.
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "files"];
    let overview = Overview {
        servers: ids
            .map(|id| server_line(id, id, ServerState::Idle))
            .to_vec(),
        ..Overview::default()
    };
    let refreshed = Input::Refreshed {
        generation: 0,
        overview,
    };
    app.send_input(refreshed).await;
    let first = decided("1", Decision::Allowed);
    assert_eq!(
        app.send_event(first.clone()).await,
        [event_sent(first), Effect::Tray(TrayState::Idle)]
    );
    let second = decided("2", Decision::Allowed);
    assert_eq!(app.send_event(second.clone()).await, [event_sent(second)]);
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
            .contains(&notified(ONE_CALL))
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
    assert!(
        app.send_event(ended("2"))
            .await
            .contains(&notified(ONE_CALL))
    );
    assert!(
        app.send_event(ended("3"))
            .await
            .contains(&Effect::Notified(None))
    );
}

/// The title of the notification of one missed call.
const MISSED: &str = "Nobody decided in time";

/// Asks the person about a call, and lets the call time out. Returns the effects of the timeout.
async fn miss(app: &App, request: ApprovalRequest) -> Vec<Effect> {
    let id = request.id.to_string();
    app.send_event(Event::ApprovalRequested {
        request: Box::new(request),
    })
    .await;
    app.send_event(ended(&id)).await;
    app.send_event(decided(&id, Decision::TimedOut)).await
}

/// Returns a request that is no retry of another call.
fn unique_request(id: &str) -> ApprovalRequest {
    ApprovalRequest {
        digest: id.into(),
        ..request(id)
    }
}

#[tokio::test(start_paused = true)]
async fn a_missed_call_has_a_notification_that_opens_the_approvals() {
    let app = App::start(true).await;
    let effects = miss(&app, request("1")).await;
    assert_eq!(
        effects,
        [
            event_sent(decided("1", Decision::TimedOut)),
            notified(MISSED)
        ]
    );
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(app.take_effects().await, [], "the notification stays");
    assert_eq!(
        app.send_input(Input::Chosen(Choice::ShowMissed)).await,
        [Effect::MissedShown, Effect::Notified(None)]
    );
}

#[tokio::test(start_paused = true)]
async fn missed_calls_are_counted_until_the_window_is_opened() {
    for open in [
        Input::Reopened,
        Input::ShortcutPressed,
        Input::Chosen(Choice::Open),
    ] {
        let app = App::start(true).await;
        for (id, title) in [
            ("1", MISSED),
            ("2", "2 calls were missed"),
            ("3", "3 calls were missed"),
        ] {
            let effects = miss(&app, unique_request(id)).await;
            assert!(effects.contains(&notified(title)), "{effects:?}");
        }
        assert_eq!(
            app.send_input(open).await,
            [Effect::MainShown, Effect::Notified(None)]
        );
        let effects = miss(&app, unique_request("4")).await;
        assert!(
            effects.contains(&notified(MISSED)),
            "the count begins again"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_and_clients_take_precedence_over_missed_calls_in_notifications() {
    let app = App::start(true).await;
    miss(&app, unique_request("1")).await;
    let effects = app.send_event(requested("2")).await;
    assert!(effects.contains(&notified(ONE_CALL)), "{effects:?}");
    let effects = app.send_event(pairing_requested("notes")).await;
    assert!(
        !effects
            .iter()
            .any(|effect| matches!(effect, Effect::Notified(_)))
    );
    let effects = app.send_event(ended("2")).await;
    assert!(
        effects.contains(&notified("notes asks to be paired")),
        "{effects:?}"
    );
    let effects = app.send_event(pairing_ended("notes")).await;
    assert!(effects.contains(&notified(MISSED)), "{effects:?}");
}

#[tokio::test(start_paused = true)]
async fn the_notification_of_a_missed_call_ends_when_its_retry_is_allowed_or_asks_again() {
    let app = App::start(true).await;
    miss(&app, unique_request("1")).await;
    assert_eq!(
        app.send_event(ended("1")).await,
        [event_sent(ended("1")), Effect::Notified(None)],
        "the hub reports an allowed retry as the end of the approval"
    );

    miss(&app, request("2")).await;
    let retry = request("3");
    let effects = app
        .send_event(Event::ApprovalRequested {
            request: Box::new(retry),
        })
        .await;
    assert!(effects.contains(&notified(ONE_CALL)), "{effects:?}");
    app.send_event(ended("3")).await;
    assert_eq!(
        app.send_event(decided("3", Decision::Allowed)).await,
        [event_sent(decided("3", Decision::Allowed))],
        "the retry was approved"
    );
}

fn muted(client: &str) -> Event {
    Event::ClientMuted {
        client: ClientName::new(client),
        mute: ClientMute {
            until: Timestamp(60_000),
            remaining_ms: 60_000,
        },
    }
}

fn unmuted(client: &str) -> Event {
    Event::ClientUnmuted {
        client: ClientName::new(client),
    }
}

#[tokio::test(start_paused = true)]
async fn a_muted_client_has_one_notification_with_a_button_that_unmutes_it() {
    let app = App::start(true).await;
    miss(&app, request("1")).await;
    assert_eq!(
        app.send_event(muted("claude")).await,
        [event_sent(muted("claude")), notified("claude is muted")],
        "the notification of the missed calls is replaced"
    );
    let unmute = Choice::Unmute(ClientName::new("claude"));
    assert_eq!(
        app.send_input(Input::Chosen(unmute)).await,
        [Effect::Unmuted("claude".into()), notified(MISSED)]
    );
    assert_eq!(
        app.send_event(unmuted("claude")).await,
        [event_sent(unmuted("claude"))]
    );
}

#[tokio::test(start_paused = true)]
async fn the_notification_of_a_muted_client_ends_when_a_person_has_reacted() {
    let app = App::start(true).await;
    app.send_event(muted("claude")).await;
    assert_eq!(
        app.send_event(unmuted("other")).await,
        [event_sent(unmuted("other"))]
    );
    assert_eq!(
        app.send_event(unmuted("claude")).await,
        [event_sent(unmuted("claude")), Effect::Notified(None)],
        "the client was unmuted elsewhere"
    );
    app.send_event(muted("claude")).await;
    assert_eq!(
        app.send_input(Input::Chosen(Choice::ShowMissed)).await,
        [Effect::MissedShown, Effect::Notified(None)]
    );
    app.send_event(muted("claude")).await;
    let effects = app.send_event(requested("2")).await;
    assert!(effects.contains(&notified(ONE_CALL)), "{effects:?}");
    let effects = app.send_event(ended("2")).await;
    assert!(
        effects.contains(&notified("claude is muted")),
        "{effects:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn only_calls_that_a_person_was_asked_about_are_missed() {
    let app = App::start(true).await;
    let unasked = decided("1", Decision::TimedOut);
    assert_eq!(
        app.send_event(unasked.clone()).await,
        [event_sent(unasked)],
        "nobody was asked"
    );
    for decision in [
        Decision::Allowed,
        Decision::Denied,
        Decision::NoScreen,
        Decision::Paused,
        Decision::Abandoned,
    ] {
        app.send_event(requested("2")).await;
        app.send_event(ended("2")).await;
        let other = decided("2", decision);
        assert_eq!(app.send_event(other.clone()).await, [event_sent(other)]);
    }
    let held = ApprovalRequest {
        result: Some("{}".into()),
        ..request("3")
    };
    let effects = miss(&app, held).await;
    assert!(
        !effects.contains(&notified(MISSED)),
        "a call that has run cannot be allowed: {effects:?}"
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
        "only the first of several waiting calls opens a notification"
    );
    for id in ["1", "2", "3"] {
        assert!(is_quiet(&app.send_event(ended(id)).await));
    }
    assert!(
        app.send_event(requested("4"))
            .await
            .contains(&notified(ONE_CALL)),
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
        app.send_input(Input::Chosen(Choice::Pause(Some(900))))
            .await,
        [Effect::Paused(Some(900))]
    );
    let paused = Event::DrawbridgeChanged {
        paused: true,
        resumes_at: Some(Timestamp(0)),
    };
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
        [Effect::Resumed]
    );
    let resumed = Event::DrawbridgeChanged {
        paused: false,
        resumes_at: None,
    };
    assert_eq!(
        app.send_event(resumed.clone()).await,
        [event_sent(resumed), Effect::Tray(TrayState::Idle)]
    );
}

#[tokio::test(start_paused = true)]
async fn the_menu_opens_pages_and_copies_the_address() {
    let app = App::start(true).await;
    let server = Choice::ShowServer(ServerId::new("a/b"));
    assert_eq!(
        app.send_input(Input::Chosen(server)).await,
        [Effect::PageShown("#/servers/a%2Fb".into())]
    );
    let calls = Choice::ShowScreen(Screen::Calls);
    assert_eq!(
        app.send_input(Input::Chosen(calls)).await,
        [Effect::PageShown("#/calls".into())]
    );
    let overview = Overview {
        url: Some("http://127.0.0.1:8765/mcp".into()),
        ..Overview::default()
    };
    app.send_input(Input::Refreshed {
        generation: 0,
        overview,
    })
    .await;
    assert_eq!(
        app.send_input(Input::Chosen(Choice::CopyEndpoint)).await,
        [Effect::Copied("http://127.0.0.1:8765/mcp".into())]
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
    assert_eq!(
        app.send_input(Input::CloseRequested).await,
        [Effect::MainClosed]
    );
    assert!(!app.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn without_a_tray_the_window_asks_before_it_closes() {
    let app = App::start(false).await;
    assert_eq!(
        app.send_input(Input::CloseRequested).await,
        [Effect::AskedBeforeClose]
    );
    assert_eq!(app.send_input(Input::CloseQuestionShown).await, []);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(
        app.take_effects().await,
        [],
        "the person may take their time"
    );
    assert_eq!(
        app.send_input(Input::KeepRunningChosen).await,
        [
            Effect::ReopenHintRecorded,
            Effect::MainClosed,
            notified("Drawbridge keeps running")
        ]
    );
    assert_eq!(
        app.send_input(Input::Chosen(Choice::Open)).await,
        [Effect::MainShown, Effect::Notified(None)]
    );
    assert_eq!(
        app.send_input(Input::CloseRequested).await,
        [Effect::MainClosed, notified("Drawbridge keeps running")],
        "the window asks once"
    );
    assert!(!app.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn a_window_that_hangs_is_closed_and_the_app_keeps_running() {
    let app = App::start(false).await;
    app.send_input(Input::CloseRequested).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        app.send_input(Input::CloseRequested).await,
        [Effect::AskedBeforeClose],
        "a second attempt asks again"
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        app.take_effects().await,
        [Effect::MainClosed, notified("Drawbridge keeps running")],
        "the second attempt does not delay the end of the first"
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(app.take_effects().await, [], "the window is closed once");
    assert!(!app.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn a_missing_tray_is_reported_until_the_person_has_read_the_hint() {
    let app = App::start(false).await;
    assert_eq!(
        app.send_input(Input::TrayMissing).await,
        [notified("Your desktop shows no tray icons")]
    );
    app.send_event(requested("a")).await;
    let effects = app.send_event(ended("a")).await;
    assert!(
        effects.contains(&notified("Your desktop shows no tray icons")),
        "a call comes first: {effects:?}"
    );
    assert_eq!(
        app.send_input(Input::ReopenHintRead).await,
        [Effect::ReopenHintRecorded, Effect::Notified(None)]
    );
    assert_eq!(app.send_input(Input::TrayMissing).await, []);
}

#[tokio::test(start_paused = true)]
async fn a_failed_server_is_reported_after_the_calls_and_opens_its_page() {
    let app = App::start(true).await;
    let refreshed = |state| Input::Refreshed {
        generation: 1,
        overview: Overview {
            servers: vec![server_line("my files", "my files", state)],
            waiting: vec![request("a")],
            ..Overview::default()
        },
    };
    app.send_event(requested("a")).await;
    let effects = app.send_input(refreshed(ServerState::Error)).await;
    assert!(
        !effects.contains(&notified("my files failed")),
        "a call waits: {effects:?}"
    );
    let effects = app.send_event(ended("a")).await;
    assert!(
        effects.contains(&notified("my files failed")),
        "{effects:?}"
    );
    let show = Choice::ShowServer(ServerId::new("my files"));
    assert_eq!(
        app.send_input(Input::Chosen(show)).await,
        [
            Effect::PageShown("#/servers/my%20files".into()),
            Effect::Notified(None)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_newer_release_is_reported_once() {
    let app = App::start(true).await;
    let found = |version: &str| Input::UpdateFound(version.into());
    assert_eq!(
        app.send_input(found("0.2.0")).await,
        [notified("Drawbridge 0.2.0 is available")]
    );
    assert_eq!(
        app.send_input(Input::Chosen(Choice::ShowScreen(Screen::Settings)))
            .await,
        [
            Effect::PageShown("#/settings".into()),
            Effect::Notified(None)
        ]
    );
    assert_eq!(app.send_input(found("0.2.0")).await, []);
    assert_eq!(
        app.send_input(found("0.3.0")).await,
        [notified("Drawbridge 0.3.0 is available")]
    );
}

#[tokio::test(start_paused = true)]
async fn quitting_ends_the_app() {
    for input in [Input::Chosen(Choice::Quit), Input::Quit] {
        let app = App::start(true).await;
        app.send_input(input).await;
        assert!(app.has_ended().await);
    }
}

#[tokio::test(start_paused = true)]
async fn the_popup_is_kept_ready_while_a_client_is_in_use() {
    for event in [Event::ClientsChanged, decided("1", Decision::Allowed)] {
        let app = App::start(true).await;
        let is_kept_ready = || app.desktop.is_popup_kept_ready.load(Ordering::Relaxed);
        app.send_event(Event::MemoryChanged).await;
        assert!(!is_kept_ready());
        app.send_event(event).await;
        assert!(is_kept_ready());
    }
}
