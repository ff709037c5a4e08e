use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use drawbridge_model::{
    call::Outcome,
    capability::CapabilityKind,
    event::Event,
    ids::{RuleId, ServerId},
    log::Level,
    policy::{Rule, RuleSpec},
    spec::RegisteredServer,
};
use drawbridge_store::{
    Store,
    logs::LogFilter,
    secrets::{InMemory, Secret, Secrets},
    settings::SettingsChange,
    table::call::CallFilter,
};
use serde_json::json;
use tokio::sync::broadcast::Receiver;

use super::*;
use crate::{
    access::Access,
    catalog::{CatalogEntry, Definition},
    metrics::Metrics,
    policy::{
        QueueError,
        queue_limits::{MAX_MISSED_IN_A_ROW, MAX_PER_CLIENT, NotQueued},
        record::MAX_STORED_ARGUMENTS,
    },
    traces::Tracer,
};

struct Fixture {
    gate: Gate,
    queue: Queue,
    store: Store,
    settings: Settings,
    _temp: tempfile::TempDir,
}

async fn fixture() -> Fixture {
    let temp = tempfile::tempdir().expect("a folder");
    let (store, _) = Store::open(&temp.path().join("test.db"))
        .await
        .expect("a store");
    let (events, settings) = (
        Events::new(),
        Settings::load(store.clone()).await.expect("settings"),
    );
    let access = Access::load(store.clone(), events.clone(), None).await;
    let access = Arc::new(access.expect("the clients"));
    let rules = Rules::load(store.clone(), settings.clone(), events.clone(), access)
        .await
        .expect("rules");
    let queue = Queue::new(events.clone());
    let logs = Logs::open(temp.path(), events.clone()).expect("logs");
    let secrets = Secrets::new(InMemory::default());
    let backups = temp.path().join("backups");
    let metrics = Metrics::new();
    let tracer = Tracer::new(
        settings.clone(),
        secrets.clone(),
        logs.clone(),
        metrics.clone(),
    );
    let configs = ClientConfigs::load(store.clone(), secrets, events.clone(), backups)
        .await
        .expect("no files of clients");
    let gate = Gate::new(
        rules,
        queue.clone(),
        Drawbridge::new(settings.clone(), events.clone()),
        store.clone(),
        settings.clone(),
        configs,
        (events, logs, metrics, tracer),
    );
    Fixture {
        gate,
        queue,
        store,
        settings,
        _temp: temp,
    }
}

impl Fixture {
    /// Returns the newest recorded call, as soon as there is one.
    async fn newest_call(&self) -> Call {
        let filter = CallFilter {
            limit: 10,
            ..CallFilter::default()
        };
        loop {
            if let Some(call) = self
                .store
                .calls(&filter)
                .await
                .expect("read")
                .into_iter()
                .next()
            {
                return call;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Returns the stored arguments of the newest recorded call.
    async fn newest_arguments(&self) -> Option<String> {
        let id = self.newest_call().await.id;
        let stored = self.store.call(&id).await.expect("read");
        stored.expect("the call is recorded").arguments
    }

    async fn waiting_request(&self) -> ApprovalRequest {
        loop {
            if let Some(request) = self.queue.list().into_iter().next() {
                return request;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn set_default(&self, effect: Effect) {
        self.gate
            .rules
            .set_default(RequestKind::Tools, effect)
            .await
            .expect("set the default");
    }

    async fn change_settings(&self, change: SettingsChange) {
        self.settings.change(change).await.expect("changed");
    }

    /// Requests a call in a task of its own.
    fn spawn_call(&self) -> tokio::task::JoinHandle<Result<Permitted, Refusal>> {
        let gate = self.gate.clone();
        tokio::spawn(async move { gate.admit(call("client", "{}"), None).await })
    }
}

#[tokio::test]
async fn arguments_are_stored_with_secrets_masked_unless_they_are_too_long() {
    let fixture = fixture().await;
    fixture
        .gate
        .recorder
        .logs
        .add_secret(&Secret::new("tiger-42".into()));
    fixture.set_default(Effect::Deny).await;
    let mut events = fixture.gate.recorder.events.subscribe();
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_STORED_ARGUMENTS));
    for (arguments, recorded) in [
        (
            r#"{"n":1.0, "password":"x", "b":"a tiger-42"}"#,
            Some(r#"{"n":1.0, "password":"•••", "b":"a •••"}"#),
        ),
        (long.as_str(), None),
    ] {
        assert!(
            fixture
                .gate
                .admit(call("client", arguments), None)
                .await
                .is_err()
        );
        assert_eq!(fixture.newest_arguments().await.as_deref(), recorded);
    }
    while let Ok(event) = events.try_recv() {
        assert!(
            !format!("{event:?}").contains("password"),
            "an event contains no arguments: {event:?}"
        );
    }
}

fn call(client: &str, arguments: &str) -> GuardedRequest {
    call_of_server(r#"{"command":"x"}"#, client, arguments)
}

/// Returns a call of a server with this spec.
fn call_of_server(spec: &str, client: &str, arguments: &str) -> GuardedRequest {
    let spec = serde_json::from_str(spec).expect("a spec");
    let tool = CatalogEntry {
        exposed_name: "s__t".into(),
        server: Arc::new(RegisteredServer::new(
            ServerId::new("s"),
            spec,
            PathBuf::new(),
        )),
        definition: Arc::new(
            Definition::parse(CapabilityKind::Tools, r#"{"name":"t"}"#.into())
                .expect("a definition"),
        ),
    };
    GuardedRequest::call_for_test(client, Arc::new(tool), arguments)
}

#[tokio::test]
async fn an_allowed_call_is_recorded_before_it_ends() {
    let fixture = fixture().await;
    fixture.set_default(Effect::Allow).await;
    let permitted = fixture
        .gate
        .admit(call("c", "{}"), None)
        .await
        .expect("admit the call");
    let recorded = fixture.newest_call().await;
    assert_eq!(
        (recorded.decision, recorded.outcome),
        (Decision::Allowed, Outcome::Running)
    );
    drop(permitted);
}

#[tokio::test]
async fn a_call_whose_decision_cannot_be_written_is_denied() {
    let fixture = fixture().await;
    fixture.set_default(Effect::Allow).await;
    fixture.store.close().await;
    let refusal = fixture
        .gate
        .admit(call("c", "{}"), None)
        .await
        .err()
        .expect("the call is refused");
    assert!(
        refusal.to_string().contains("could not be recorded"),
        "{refusal}"
    );
}

#[tokio::test]
async fn a_second_decision_after_an_approval_is_rejected() {
    let fixture = fixture().await;
    let call = fixture.spawn_call();
    let request = fixture.waiting_request().await;
    let recorded = fixture
        .gate
        .decide(&request.id, &request.digest, Verdict::approve_once())
        .await
        .expect("decided");
    let second = fixture
        .gate
        .decide(&request.id, &request.digest, Verdict::approve_once())
        .await;
    assert!(matches!(
        second,
        Err(DecideError::Queue(QueueError::Gone(id))) if id == request.id
    ));
    assert_eq!(
        (recorded.decision, recorded.decided_by),
        (Decision::Allowed, DecidedBy::Person)
    );
    assert!(call.await.expect("the task of the call ends").is_ok());
}

#[tokio::test]
async fn a_denial_gives_its_reason_to_the_model() {
    let fixture = fixture().await;
    let call = fixture.spawn_call();
    let request = fixture.waiting_request().await;
    let denial = Verdict::Deny {
        reason: "not today".into(),
    };
    fixture
        .gate
        .decide(&request.id, &request.digest, denial)
        .await
        .expect("decided");
    let refusal = call
        .await
        .expect("the task of the call ends")
        .err()
        .expect("the call is refused");
    assert!(
        refusal
            .to_string()
            .contains("The user denied this call: not today"),
        "{refusal}"
    );
}

#[tokio::test]
async fn a_decision_on_a_changed_request_is_rejected() {
    let fixture = fixture().await;
    let _call = fixture.spawn_call();
    let request = fixture.waiting_request().await;
    let decided = fixture
        .gate
        .decide(&request.id, "another", Verdict::approve_once())
        .await;
    assert!(matches!(
        decided,
        Err(DecideError::Queue(QueueError::Changed(id))) if id == request.id
    ));
    assert_eq!(fixture.queue.list().len(), 1);
}

#[test]
fn the_digest_is_bound_to_client_and_exact_arguments() {
    let base = call("c", r#"{"n":1}"#).digest();
    assert_eq!(base, call("c", r#"{"n":1}"#).digest());
    assert_ne!(base, call("d", r#"{"n":1}"#).digest());
    assert_ne!(base, call("c", r#"{"n":1.0}"#).digest());
}

#[tokio::test]
async fn a_call_that_nobody_decides_in_time_is_denied_as_timed_out() {
    let fixture = fixture().await;
    fixture
        .change_settings(SettingsChange {
            approval_timeout: Some(Duration::from_millis(20)),
            ..SettingsChange::default()
        })
        .await;
    let _screen = fixture.gate.recorder.events.subscribe();
    let refusal = fixture
        .gate
        .admit(call("c", "{}"), None)
        .await
        .err()
        .expect("the call is refused");
    assert!(refusal.to_string().starts_with("Timed out"), "{refusal}");
    assert_eq!(fixture.newest_call().await.decision, Decision::TimedOut);
    assert!(fixture.queue.list().is_empty());
}

#[tokio::test]
async fn a_missed_call_keeps_its_arguments_even_if_many_calls_were_denied() {
    let fixture = fixture().await;
    let admit = || fixture.gate.admit(call("client", r#"{"n":1}"#), None);
    fixture.set_default(Effect::Deny).await;
    for _ in 0..20 {
        assert!(admit().await.is_err());
    }
    assert_eq!(fixture.newest_arguments().await, None);

    fixture.set_default(Effect::Ask).await;
    fixture
        .change_settings(SettingsChange {
            approval_timeout: Some(Duration::from_millis(20)),
            ..SettingsChange::default()
        })
        .await;
    assert!(admit().await.is_err());
    assert_eq!(fixture.newest_call().await.decision, Decision::NoScreen);
    let arguments = fixture.newest_arguments().await;
    assert_eq!(arguments.as_deref(), Some(r#"{"n":1}"#));

    let _screen = fixture.gate.recorder.events.subscribe();
    assert!(admit().await.is_err());
    assert_eq!(fixture.newest_call().await.decision, Decision::TimedOut);
    let arguments = fixture.newest_arguments().await;
    assert_eq!(arguments.as_deref(), Some(r#"{"n":1}"#));
}

#[tokio::test]
async fn a_call_is_recorded_as_abandoned_if_its_client_disconnects() {
    let fixture = fixture().await;
    let call = fixture.spawn_call();
    let request = fixture.waiting_request().await;
    call.abort();
    assert_eq!(fixture.newest_call().await.decision, Decision::Abandoned);
    assert!(matches!(
        fixture.queue.take_request(&request.id, &request.digest),
        Err(QueueError::Gone(_))
    ));
}

#[tokio::test]
async fn a_retry_of_a_call_that_was_not_missed_cannot_be_allowed() {
    let fixture = fixture().await;
    let _call = fixture.spawn_call();
    let request = fixture.waiting_request().await;
    assert_eq!(
        fixture.queue.allow_retry(&request.id, &request.digest),
        Err(QueueError::NotRemembered(request.id.clone()))
    );
}

#[tokio::test]
async fn a_call_beyond_twenty_waiting_calls_of_a_client_is_denied_at_once() {
    let fixture = fixture().await;
    let waiting: Vec<_> = (0..MAX_PER_CLIENT).map(|_| fixture.spawn_call()).collect();
    while fixture.queue.list().len() < MAX_PER_CLIENT {
        tokio::task::yield_now().await;
    }
    let refusal = fixture
        .gate
        .admit(call("client", "{}"), None)
        .await
        .err()
        .expect("the call is refused");
    assert!(refusal.to_string().contains("already waiting"), "{refusal}");
    waiting.into_iter().for_each(|call| call.abort());
}

#[tokio::test]
async fn a_running_call_that_is_dropped_is_recorded_as_cancelled() {
    let fixture = fixture().await;
    fixture.set_default(Effect::Allow).await;
    drop(
        fixture
            .gate
            .admit(call("c", "{}"), None)
            .await
            .expect("admit the call"),
    );
    while fixture.newest_call().await.outcome != Outcome::Cancelled {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_status_of_a_task_reaches_the_client_however_long_it_is() {
    let fixture = fixture().await;
    let request = call_of_server(r#"{"command":"x","content_defence":"mark"}"#, "c", "{}");
    let is_released = |params: serde_json::Value| {
        let params = json::raw(params.to_string());
        let released = fixture.gate.release_notification(&request, &params);
        released.is_some_and(|released| released.get() == params.get())
    };
    let message = "a result is near. ".repeat(2_000);
    let status = json!({"taskId": "a", "status": "working", "statusMessage": message});
    assert!(is_released(status.clone()));
    let mut with_result = status;
    with_result["result"] = json!({"content": []});
    assert!(
        !is_released(with_result),
        "the client gets a long result only as an answer"
    );
}

#[tokio::test]
async fn a_held_result_is_withheld_if_calls_are_paused_and_its_call_counts_as_run() {
    let fixture = fixture().await;
    let spec = RuleSpec {
        effect: Some(Effect::Allow),
        result: Some(ResultEffect::Hold),
        ..RuleSpec::default()
    };
    let rule = Rule {
        id: RuleId::new("hold"),
        spec,
        identity: None,
        definition_digest: None,
        created_at: clock::now(),
        used: 0,
    };
    fixture
        .gate
        .rules
        .save_rule(rule)
        .await
        .expect("add the rule");
    let permitted = fixture
        .gate
        .admit(call("c", "{}"), None)
        .await
        .expect("admit the call");
    let gate = fixture.gate.clone();
    let released = tokio::spawn(async move {
        gate.release_result(
            permitted.request(),
            permitted.record(),
            Json::new("{}"),
            &[],
            None,
        )
        .await
    });
    fixture.waiting_request().await;
    fixture.gate.drawbridge.pause(None).await.expect("paused");
    let refusal = released
        .await
        .expect("released")
        .expect_err("the result is withheld");
    assert!(
        matches!(
            &refusal,
            Refusal::Withheld {
                reason: WithheldReason::Undecided(Undecided::Paused),
                ..
            }
        ),
        "{refusal:?}"
    );
    let text = refusal.to_string();
    assert!(
        text.contains("This call was run") && !text.contains("was not run"),
        "{text}"
    );
}

/// Adds a held result of a client to the queue. A person has a second to decide it.
fn hold(queue: &Queue, client: &str) -> Result<Ticket, NotQueued> {
    static NEXT_ID: AtomicU32 = AtomicU32::new(0);
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed).to_string();
    let request = call(client, "{}");
    let timeout = Duration::from_secs(1);
    let approval = approval_request(&request, CallId::new(id.as_str()), timeout);
    let call = json!({
        "id": id, "at": 0, "method": "tools/call", "client": client, "server": "s",
        "tool": "t", "exposed_name": "s__t", "decision": "allowed", "decided_by": "rule",
        "rule": null, "reason": "", "outcome": "running", "error": "", "waited_ms": 0,
        "duration_ms": null,
    });
    let subject = Subject::Result {
        call: serde_json::from_value(call).expect("a call"),
        verdict: oneshot::channel().0,
    };
    let queued = queue.enqueue(approval, target_of(&request), timeout, subject);
    queued.map_err(|(reason, _)| reason)
}

/// Lets this number of results of a client time out, one after the other.
async fn miss(queue: &Queue, client: &str, count: u32) {
    for _ in 0..count {
        let ticket = hold(queue, client).expect("the client is not muted");
        ticket.deadline.wait().await;
        assert!(ticket.expire().is_some(), "nobody decided");
    }
}

/// Returns the events about mutes, with the remaining seconds of the mutes that begin.
fn mutes(events: &mut Receiver<Event>) -> Vec<(String, Option<u32>)> {
    std::iter::from_fn(|| events.try_recv().ok())
        .filter_map(|event| {
            if let Event::ClientMuted { client, mute } = event {
                Some((client.to_string(), Some(mute.remaining_ms.div_ceil(1000))))
            } else if let Event::ClientUnmuted { client } = event {
                Some((client.to_string(), None))
            } else {
                None
            }
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_client_is_muted_for_a_minute_after_three_missed_calls_in_a_row() {
    let events = Events::new();
    let (queue, mut received) = (Queue::new(events.clone()), events.subscribe());
    let client = ClientName::new("a");
    miss(&queue, "a", MAX_MISSED_IN_A_ROW - 1).await;
    assert_eq!(queue.find_mute(&client), None);
    let before_mute = hold(&queue, "a").expect("two missed calls are too few");
    miss(&queue, "a", 1).await;
    assert!(before_mute.expire().is_some());
    assert_eq!(
        mutes(&mut received),
        [("a".to_owned(), Some(60))],
        "a call that waited already does not mute the client again"
    );
    tokio::time::advance(Duration::from_secs(18)).await;
    let mute = queue.find_mute(&client).expect("the client is muted");
    assert_eq!(mute.remaining_ms.div_ceil(1000), 42);
    let refused = hold(&queue, "a").err().expect("the client is muted");
    assert_eq!(
        Undecided::from(refused).to_decision(),
        (
            Decision::Muted,
            "nobody decided the last 3 requests of 'a'; it can ask again in 42 s, or when the user unmutes it"
                .to_owned()
        )
    );
    assert!(hold(&queue, "b").is_ok(), "only this client is muted");
    tokio::time::advance(Duration::from_secs(42)).await;
    assert_eq!(queue.find_mute(&client), None);
    assert!(hold(&queue, "a").is_ok());
    assert_eq!(
        mutes(&mut received),
        [],
        "a mute that ends by itself publishes no event"
    );
}

#[tokio::test(start_paused = true)]
async fn after_an_unmute_the_missed_calls_of_a_client_are_counted_from_zero() {
    let events = Events::new();
    let (queue, mut received) = (Queue::new(events.clone()), events.subscribe());
    let client = ClientName::new("a");
    assert!(!queue.unmute(&client));
    miss(&queue, "a", MAX_MISSED_IN_A_ROW).await;
    assert!(queue.unmute(&client));
    assert!(!queue.unmute(&client));
    let muted_and_unmuted = [("a".to_owned(), Some(60)), ("a".to_owned(), None)];
    assert_eq!(mutes(&mut received), muted_and_unmuted);
    miss(&queue, "a", MAX_MISSED_IN_A_ROW - 1).await;
    assert_eq!(queue.find_mute(&client), None);
}

#[tokio::test(start_paused = true)]
async fn a_decision_about_any_call_unmutes_the_muted_clients() {
    let events = Events::new();
    let (queue, mut received) = (Queue::new(events.clone()), events.subscribe());
    miss(&queue, "a", MAX_MISSED_IN_A_ROW).await;
    miss(&queue, "b", 1).await;
    let _ticket = hold(&queue, "c").expect("the client is not muted");
    mutes(&mut received);
    let request = queue.list().remove(0);
    assert!(queue.take_request(&request.id, &request.digest).is_ok());
    assert_eq!(mutes(&mut received), [("a".to_owned(), None)]);
    assert!(hold(&queue, "a").is_ok());
}

#[tokio::test]
async fn kept_results_are_masked_and_cut() {
    let fixture = fixture().await;
    fixture.set_default(Effect::Allow).await;
    let logs = &fixture.gate.recorder.logs;
    logs.add_secret(&Secret::new("tiger-42".into()));
    let kept_result = async |result: &str| {
        let permitted = fixture.gate.admit(call("client", "{}"), None).await;
        let permitted = permitted.unwrap_or_else(|_| panic!("the call is allowed"));
        let id = permitted.record().id.clone();
        permitted.keep_result(&Json::new(result));
        permitted.record_outcome(Outcome::Ok, String::new());
        fixture.gate.recorder.journal.flush().await;
        let call = fixture.store.call(&id).await.expect("read the call");
        call.expect("the call is recorded").result
    };
    let secret = r#"{"a":"tiger-42"}"#;
    assert_eq!(
        kept_result(secret).await,
        None,
        "results are not kept by default"
    );

    let settings = SettingsChange {
        keep_results: Some(true),
        kept_result_kib: Some(1),
        ..SettingsChange::default()
    };
    fixture.change_settings(settings).await;
    let result = kept_result(secret).await.expect("the result is kept");
    assert_eq!(result.text, r#"{"a":"•••"}"#);
    assert_eq!((result.is_cut, result.bytes), (false, 16));

    // The secret is where the result is cut.
    let long = format!(
        r#"{{"a":"{} tiger-42 {}"}}"#,
        "x".repeat(1_012),
        "y".repeat(99)
    );
    let result = kept_result(&long).await.expect("the beginning is kept");
    assert!(result.text.len() <= 1_024, "{} bytes", result.text.len());
    assert!(!result.text.contains("tig"), "{}", result.text);
    assert!(result.is_cut);
}

#[tokio::test]
async fn each_decision_is_one_line_of_the_log_without_the_arguments() {
    let fixture = fixture().await;
    let admit = || fixture.gate.admit(call("desk", r#"{"a":"private"}"#), None);
    fixture.set_default(Effect::Allow).await;
    drop(admit().await);
    fixture.set_default(Effect::Deny).await;
    drop(admit().await);
    fixture.set_default(Effect::Ask).await;
    let denied = fixture.spawn_call();
    let waiting = fixture.waiting_request().await;
    let verdict = Verdict::Deny {
        reason: "not today".into(),
    };
    fixture
        .gate
        .decide(&waiting.id, &waiting.digest, verdict)
        .await
        .expect("decided");
    drop(denied.await.expect("an answer"));
    fixture
        .change_settings(SettingsChange {
            approval_timeout: Some(Duration::from_millis(20)),
            ..SettingsChange::default()
        })
        .await;
    let _screen = fixture.gate.recorder.events.subscribe();
    drop(admit().await);

    let filter = LogFilter {
        limit: 100,
        ..LogFilter::default()
    };
    let lines = fixture.gate.recorder.logs.read(filter).await;
    let lines: Vec<_> = lines
        .iter()
        .filter(|line| line.area == "call")
        .map(|line| (line.level, line.text.as_str()))
        .collect();
    let desk = "tools/call 's__t' of client 'desk' to server 's'";
    let client = "tools/call 's__t' of client 'client' to server 's'";
    let expected = [
        (Level::Info, format!("{desk} was allowed by the default")),
        (Level::Info, format!("{desk} was denied by the default")),
        (
            Level::Info,
            format!("{client} was denied by a person (not today)"),
        ),
        (
            Level::Warn,
            format!("{desk} was missed, because nobody decided it in time"),
        ),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(level, text)| (*level, text.as_str()))
        .collect();
    assert_eq!(lines, expected);
}
