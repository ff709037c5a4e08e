//! The gate decides a call, records the decision, and only then lets the call through. The gate may
//! hold or mask the result.

use std::{borrow::Cow, sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tokio::{
    sync::oneshot,
    time::{Instant, MissedTickBehavior, interval_at},
};

use super::{
    drawbridge::Drawbridge,
    queue::{PersonVerdict, Queue, WaitOutcome},
    refusal::{Refusal, Undecided, WithheldReason},
    rules::{MatchInput, Rules, Ruling},
};
use crate::{
    catalog::{ArgumentsMismatch, CatalogEntry},
    clock,
    events::Events,
    logs::Logs,
    model::{
        approval::{ApprovalRequest, SuspendedAllow, Verdict},
        call::{Call, DecidedBy, Decision, Outcome},
        digest,
        event::Event,
        ids::{CallId, ClientName, SessionId, Timestamp},
        json::{self, Json, RawObject},
        policy::{Effect, ResultEffect},
    },
    random,
    sessions::ClientHandle,
    settings::Settings,
    store::{CANCELLED_BY_CLIENT, Journal, Store, table::call::CallRow},
};

/// The largest params, or the largest result, that a person is asked about, in bytes.
const MAX_SHOWN: usize = 1024 * 1024;
/// The interval of progress notifications to a client while its call waits for a person. Some
/// clients give up after a minute of silence.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// The largest arguments that are stored with their call, in bytes.
const MAX_STORED_ARGUMENTS: usize = 16 * 1024;

/// A call that is to be decided.
pub struct ToolCall {
    pub client: ClientName,
    pub session: SessionId,
    pub tool: Arc<CatalogEntry>,
    /// The arguments, byte for byte.
    pub arguments: Box<RawValue>,
    /// The members of the params other than name and arguments, if there are any.
    pub extra: Option<Box<RawValue>>,
    /// The params as they will be sent, without the progress token.
    pub params: Box<RawValue>,
    /// The client's progress token, if it asks for progress notifications.
    pub progress_token: Option<Box<RawValue>>,
}

impl ToolCall {
    /// Returns the digest to which a person's decision is bound.
    fn digest(&self) -> String {
        digest::sha256_parts(&[
            self.client.as_str().as_bytes(),
            self.tool.server.identity.as_bytes(),
            self.tool.definition.digest.as_bytes(),
            self.params.get().as_bytes(),
        ])
    }

    fn match_input(&self) -> MatchInput<'_> {
        MatchInput {
            client: Some(&self.client),
            session: Some(&self.session),
            server: &self.tool.server,
            tool: &self.tool.definition.name,
            definition: &self.tool.definition.digest,
            annotations: &self.tool.definition.annotations,
            arguments: Some(&self.arguments),
        }
    }

    /// Replaces the client's arguments.
    fn replace_arguments(&mut self, arguments: Box<RawValue>) {
        let mut params =
            RawObject::parse(&self.params).expect("the params were written from a RawObject");
        params.set("arguments", arguments.clone());
        let params = params.to_raw();
        (self.params, self.arguments) = (params, arguments);
    }
}

/// The reason why a person's arguments may not replace the client's.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("the edited arguments are not a JSON object without duplicate keys: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("the edited arguments do not match the tool's schema: {0}")]
    Mismatch(#[from] ArgumentsMismatch),
    #[error("with the edited arguments, the call is denied by the {reason}")]
    Denied {
        /// The rule that denies the call, in words.
        reason: String,
    },
}

/// Decides calls and results. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    pub rules: Rules,
    pub queue: Queue,
    pub drawbridge: Drawbridge,
    pub store: Store,
    pub journal: Journal,
    pub settings: Settings,
    pub events: Events,
    pub logs: Logs,
}

impl Gate {
    /// Decides a call by a rule or by asking a person, and records the decision. A person may edit
    /// the arguments. The permitted call then has the edited ones.
    ///
    /// # Errors
    /// Returns an error if the call is denied, if nobody decides in time, or if the decision cannot
    /// be recorded.
    pub async fn admit(
        &self,
        mut call: ToolCall,
        handle: Option<&ClientHandle>,
    ) -> Result<Permitted, Refusal> {
        let mut pending = PendingRecord::new(self, &call);
        let mut recorded = None;
        if self.drawbridge.is_paused() {
            pending.decide(Decision::Paused, DecidedBy::Hub, String::new());
        } else {
            let ruling = self.ruling(&call);
            match ruling.effect {
                Effect::Allow => pending.decide_by_ruling(Decision::Allowed, ruling),
                Effect::Deny => pending.decide_by_ruling(Decision::Denied, ruling),
                Effect::Ask => {
                    recorded = Box::pin(self.ask_person(&mut call, &mut pending, handle)).await
                }
            }
        }
        let (done, record) = self.record_decision(pending).await?;
        let answer = match record {
            // All calls were paused after the decision. Dropping the record marks the call as
            // cancelled.
            Some(_) if self.drawbridge.is_paused() => Err(Refusal::Paused),
            Some(record) => Ok(Permitted { call, record }),
            None => Err(Refusal::from_call(
                &done.call,
                self.settings.get().approval_timeout.as_secs(),
            )),
        };
        if let Some(recorded) = recorded {
            let _ = recorded.send(done.call.clone());
        }
        answer
    }

    /// Returns the ruling of the rules. A tool that has changed since a person accepted it is never
    /// allowed by a rule: an allow becomes an ask, and no call is counted.
    fn ruling(&self, call: &ToolCall) -> Ruling {
        if call.tool.definition.offered.is_none() {
            return self.rules.decide(&call.match_input());
        }
        let ruling = self.rules.evaluate(&call.match_input());
        if ruling.effect == Effect::Allow {
            Ruling {
                effect: Effect::Ask,
                ..ruling
            }
        } else {
            ruling
        }
    }

    async fn ask_person(
        &self,
        call: &mut ToolCall,
        pending: &mut PendingRecord<'_>,
        handle: Option<&ClientHandle>,
    ) -> Option<oneshot::Sender<Call>> {
        if call.params.get().len() > MAX_SHOWN {
            let reason = format!(
                "its arguments have more than {MAX_SHOWN} bytes, too many to show to a person; only a rule can allow it"
            );
            pending.decide(Decision::Denied, DecidedBy::Hub, reason);
            return None;
        }
        if self.queue.take_retry(&call.digest()) {
            pending.decide(
                Decision::Allowed,
                DecidedBy::Person,
                "identical retry of a missed call".into(),
            );
            return None;
        }
        let timeout = self.settings.get().approval_timeout;
        let mut request = approval_request(call, pending.id(), timeout);
        (request.is_first, request.suspended) = (
            self.is_first_call(call).await,
            self.find_suspended_allow(call).await,
        );
        let PersonVerdict { verdict, recorded } =
            match self.wait_for_verdict(request, call, timeout, handle).await {
                Ok(decided) => decided,
                Err(undecided) => {
                    let (decision, reason) = undecided.to_decision();
                    pending.decide(decision, DecidedBy::Hub, reason);
                    return None;
                }
            };
        let allowed = |reason: String| (Decision::Allowed, DecidedBy::Person, reason);
        let (decision, by, reason) = match verdict {
            Verdict::ApproveOnce { arguments: None } => allowed("once".into()),
            Verdict::ApproveOnce {
                arguments: Some(arguments),
            } => match self.apply_edit(call, arguments) {
                Ok(()) => {
                    pending.mark_edited(call);
                    allowed("once, with edited arguments".into())
                }
                Err(error) => (Decision::Denied, DecidedBy::Hub, error.to_string()),
            },
            Verdict::ApproveFor { seconds, .. } => allowed(format!("for {seconds} s")),
            Verdict::ApproveCalls { count, .. } => allowed(format!("and the next {count} calls")),
            Verdict::ApproveSession { .. } => allowed("for this session".into()),
            Verdict::ApproveAlways { .. } => allowed("always".into()),
            Verdict::Deny { reason } => (Decision::Denied, DecidedBy::Person, reason),
        };
        match self.rules.find_denial(&call.match_input()) {
            // A rule that was added while the call waited.
            Some(ruling) if decision == Decision::Allowed => {
                pending.decide_by_ruling(Decision::Denied, ruling)
            }
            _ => pending.decide(decision, by, reason),
        }
        Some(recorded)
    }

    /// Replaces the client's arguments with a person's, after the same checks.
    fn apply_edit(&self, call: &mut ToolCall, arguments: String) -> Result<(), EditError> {
        let arguments = RawValue::from_string(arguments)?;
        check_edited_arguments(&self.rules, &call.match_input(), &call.tool, &arguments)?;
        call.replace_arguments(arguments);
        Ok(())
    }

    /// Asks a person, and waits for the verdict.
    async fn wait_for_verdict(
        &self,
        request: ApprovalRequest,
        call: &ToolCall,
        timeout: Duration,
        handle: Option<&ClientHandle>,
    ) -> Result<PersonVerdict, Undecided> {
        let mut ticket = self.queue.enqueue(request, call.tool.clone(), timeout)?;
        let mut keepalive = interval_at(Instant::now() + KEEPALIVE, KEEPALIVE);
        keepalive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut notifications = 0;
        // The client may disconnect from here on. The entry is then dropped undecided, and recorded
        // as abandoned.
        loop {
            tokio::select! {
                biased;
                () = self.drawbridge.wait_until_paused() => return Err(Undecided::Paused),
                waited = ticket.wait() => return match waited {
                    WaitOutcome::Decided(decided) => Ok(decided),
                    WaitOutcome::TimedOut => Err(Undecided::TimedOut),
                    WaitOutcome::NoScreen => Err(Undecided::NoScreen),
                    WaitOutcome::Unfinished => Err(Undecided::Interrupted),
                },
                _ = keepalive.tick() => {
                    notifications += 1;
                    notify_still_waiting(call, handle, notifications);
                }
            }
        }
    }

    /// Returns whether this is the client's first call of the tool. Returns `false` if the history
    /// cannot be read, so that the request claims nothing that is unknown.
    async fn is_first_call(&self, call: &ToolCall) -> bool {
        let tool = &call.tool;
        self.store
            .has_called(&call.client, &tool.server.id, &tool.definition.name)
            .await
            .is_ok_and(|called| !called)
    }

    async fn find_suspended_allow(&self, call: &ToolCall) -> Option<SuspendedAllow> {
        let rule = self.rules.find_suspended_allow(&call.match_input())?;
        let (server, current) = (&call.tool.server, &call.tool.definition);
        // The request shows changes since the acceptance separately.
        let earlier_digest = rule
            .definition
            .as_ref()
            .filter(|digest| **digest != current.digest && current.offered.is_none());
        let earlier = match earlier_digest {
            Some(digest) => self
                .store
                .definition(&server.id, &current.name, digest)
                .await
                .ok()
                .flatten(),
            None => None,
        };
        Some(SuspendedAllow {
            rule: rule.id.clone(),
            rule_text: rule.spec.to_string(),
            is_server_changed: rule
                .identity
                .as_ref()
                .is_some_and(|identity| *identity != server.identity),
            definitions: earlier.map(|earlier| [earlier, current.raw.get().to_owned()]),
        })
    }

    /// Returns the result for the client: unchanged, masked, or held until a person has approved
    /// it.
    ///
    /// # Errors
    /// Returns an error if the result was held and is withheld.
    pub async fn release_result(
        &self,
        permitted: &Permitted,
        result: Json,
        handle: Option<&ClientHandle>,
    ) -> Result<Json, Refusal> {
        let call = permitted.call();
        let Some((effect, rule)) = self.rules.result_effect(&call.match_input()) else {
            return Ok(result);
        };
        if effect == ResultEffect::Mask {
            return Ok(self.mask_result(result));
        }
        let withheld = |reason| Refusal::Withheld { rule, reason };
        if result.get().len() > MAX_SHOWN {
            return Err(withheld(WithheldReason::TooLarge(MAX_SHOWN)));
        }
        let timeout = self.settings.get().approval_timeout;
        let id = CallId::new(random::ordered_id());
        let mut request = approval_request(call, id, timeout);
        request.digest =
            digest::sha256_parts(&[request.digest.as_bytes(), result.get().as_bytes()]);
        request.result = Some(result.get().to_owned());
        match Box::pin(self.wait_for_verdict(request, call, timeout, handle)).await {
            Ok(PersonVerdict { verdict, recorded }) => {
                let _ = recorded.send(permitted.record.row().call.clone());
                match verdict {
                    Verdict::Deny { reason } => Err(withheld(WithheldReason::Denied(reason))),
                    Verdict::ApproveOnce { .. }
                    | Verdict::ApproveFor { .. }
                    | Verdict::ApproveCalls { .. }
                    | Verdict::ApproveSession { .. }
                    | Verdict::ApproveAlways { .. } => Ok(result),
                }
            }
            Err(undecided) => Err(withheld(undecided.into())),
        }
    }

    /// Masks known secrets and anything that looks like one. Returns the result unchanged if it
    /// contains neither.
    fn mask_result(&self, result: Json) -> Json {
        let masked = match self.logs.redact_json(result.get()) {
            Cow::Borrowed(_) => return result,
            Cow::Owned(masked) => masked,
        };
        Json::new(masked)
    }

    /// Records the decision. For an allowed call, returns the record that receives its outcome.
    async fn record_decision(
        &self,
        pending: PendingRecord<'_>,
    ) -> Result<(Arc<CallRow>, Option<OpenRecord>), Refusal> {
        let row = Arc::new(pending.take_row());
        // Created before the write: if the client disconnects during the write, dropping the record
        // marks the call as cancelled.
        let mut record =
            (row.call.decision == Decision::Allowed).then(|| OpenRecord::new(self, row.clone()));
        if let Err(error) = self.journal.record_decision(row.clone()).await {
            tracing::error!(
                "call {} is denied because its decision could not be recorded: {error}",
                row.call.id
            );
            if let Some(record) = &mut record {
                record.row = None;
            }
            return Err(error.into());
        }
        self.events.publish_with(|| Event::CallChanged {
            call: row.call.clone(),
        });
        Ok((row, record))
    }
}

/// The invariant of both kinds of records.
const ROW_PRESENT: &str = "only the methods that end a record take its row";

/// The record of a call that is not decided yet. If it is dropped before it is written, the call is
/// recorded as abandoned.
struct PendingRecord<'a> {
    gate: &'a Gate,
    started: Instant,
    row: Option<CallRow>,
}

impl<'a> PendingRecord<'a> {
    fn new(gate: &'a Gate, call: &ToolCall) -> Self {
        let row = CallRow {
            call: Call {
                id: CallId::new(random::ordered_id()),
                at: clock::now(),
                client: call.client.clone(),
                server: call.tool.server.id.clone(),
                tool: call.tool.definition.name.clone(),
                exposed_name: call.tool.exposed_name.clone(),
                decision: Decision::Abandoned,
                decided_by: DecidedBy::Hub,
                reason: "the client disconnected before the decision was recorded".into(),
                rule: None,
                is_edited: false,
                outcome: Outcome::NotSent,
                error: String::new(),
                waited_ms: 0,
                duration_ms: None,
                arguments: None,
            },
            is_counted: false,
            definition_digest: call.tool.definition.digest.clone(),
            arguments_digest: digest::sha256(call.arguments.get().as_bytes()),
            arguments: stored_arguments(&gate.logs, &call.arguments),
        };
        Self {
            gate,
            started: Instant::now(),
            row: Some(row),
        }
    }

    fn row_mut(&mut self) -> &mut CallRow {
        self.row.as_mut().expect(ROW_PRESENT)
    }

    /// Takes the row, which is then not recorded as abandoned.
    fn take_row(mut self) -> CallRow {
        self.row.take().expect(ROW_PRESENT)
    }

    fn id(&self) -> CallId {
        self.row.as_ref().expect(ROW_PRESENT).call.id.clone()
    }

    fn decide_by_ruling(&mut self, decision: Decision, ruling: Ruling) {
        let row = self.row_mut();
        (row.call.rule, row.is_counted) = (ruling.rule, ruling.is_counted);
        self.decide(decision, ruling.decided_by, ruling.reason);
    }

    fn mark_edited(&mut self, call: &ToolCall) {
        let arguments = stored_arguments(&self.gate.logs, &call.arguments);
        let row = self.row_mut();
        row.call.is_edited = true;
        row.arguments_digest = digest::sha256(call.arguments.get().as_bytes());
        row.arguments = arguments;
    }

    fn decide(&mut self, decision: Decision, by: DecidedBy, reason: String) {
        let waited_ms = elapsed_ms(self.started);
        let outcome = if decision == Decision::Allowed {
            Outcome::Running
        } else {
            Outcome::NotSent
        };
        let call = &mut self.row_mut().call;
        (call.decision, call.decided_by, call.reason) = (decision, by, reason);
        (call.outcome, call.waited_ms) = (outcome, waited_ms);
    }
}

impl Drop for PendingRecord<'_> {
    fn drop(&mut self) {
        let Some(mut row) = self.row.take() else {
            return;
        };
        // The client disconnected before the decision was written, possibly after it was made.
        row.call.waited_ms = elapsed_ms(self.started);
        row.call.decision = Decision::Abandoned;
        row.call.outcome = Outcome::NotSent;
        let (journal, events) = (self.gate.journal.clone(), self.gate.events.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let row = Arc::new(row);
                if journal.record_decision(row.clone()).await.is_ok() {
                    events.publish_with(|| Event::CallChanged {
                        call: row.call.clone(),
                    });
                }
            });
        }
    }
}

/// A call whose permission is recorded. Only [`Gate::admit`] creates one.
pub struct Permitted {
    call: ToolCall,
    record: OpenRecord,
}

impl Permitted {
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Records the outcome of the call.
    pub fn record_outcome(self, outcome: Outcome, error: String) {
        self.record.finish(outcome, error);
    }
}

/// The record of a running call. If it is dropped without an outcome, the client has cancelled the
/// call.
struct OpenRecord {
    journal: Journal,
    events: Events,
    logs: Logs,
    started: Instant,
    row: Option<Arc<CallRow>>,
}

impl OpenRecord {
    fn new(gate: &Gate, row: Arc<CallRow>) -> Self {
        Self {
            journal: gate.journal.clone(),
            events: gate.events.clone(),
            logs: gate.logs.clone(),
            started: Instant::now(),
            row: Some(row),
        }
    }

    fn row(&self) -> &CallRow {
        self.row.as_ref().expect(ROW_PRESENT)
    }

    fn finish(mut self, outcome: Outcome, error: String) {
        self.write_outcome(outcome, error);
    }

    fn write_outcome(&mut self, outcome: Outcome, error: String) {
        let Some(row) = self.row.take() else { return };
        // The text may come from a server and contain a secret.
        let error = if error.is_empty() {
            error
        } else {
            self.logs.mask_text(&error)
        };
        let sent = !matches!(outcome, Outcome::NotSent | Outcome::Unreachable);
        let duration_ms = sent.then(|| elapsed_ms(self.started));
        self.journal
            .record_outcome(row.call.id.clone(), outcome, error.clone(), duration_ms);
        self.events.publish_with(|| Event::CallChanged {
            call: Call {
                outcome,
                error,
                duration_ms,
                ..row.call.clone()
            },
        });
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        self.write_outcome(Outcome::Cancelled, CANCELLED_BY_CLIENT.into());
    }
}

/// Checks whether these arguments may replace the client's: they match the tool's schema, and no
/// rule denies them.
///
/// # Errors
/// Returns an error if they are malformed, do not match the schema, or are denied.
pub fn check_edited_arguments(
    rules: &Rules,
    input: &MatchInput<'_>,
    tool: &CatalogEntry,
    arguments: &RawValue,
) -> Result<(), EditError> {
    RawObject::parse(arguments)?;
    tool.definition
        .check_arguments(arguments, tool.server.spec.validate)?;
    match rules.find_denial(&MatchInput {
        arguments: Some(arguments),
        ..*input
    }) {
        Some(Ruling { reason, .. }) => Err(EditError::Denied { reason }),
        None => Ok(()),
    }
}

/// Returns the arguments as they are stored with the call, or `None` if they are too long.
fn stored_arguments(logs: &Logs, arguments: &RawValue) -> Option<String> {
    (arguments.get().len() <= MAX_STORED_ARGUMENTS)
        .then(|| logs.redact_json(arguments.get()).into_owned())
}

fn approval_request(call: &ToolCall, id: CallId, timeout: Duration) -> ApprovalRequest {
    let tool = &call.tool;
    let asked_at = clock::now();
    let timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    ApprovalRequest {
        id,
        client: call.client.clone(),
        server: tool.server.id.clone(),
        server_name: tool.server.name().to_owned(),
        tool: tool.definition.name.clone(),
        tool_title: tool.definition.title.clone(),
        exposed_name: tool.exposed_name.clone(),
        description: tool.definition.description.clone(),
        annotations: tool.definition.annotations.clone(),
        arguments: call.arguments.get().to_owned(),
        extra: call.extra.as_ref().map(|extra| extra.get().to_owned()),
        result: None,
        is_first: false,
        suspended: None,
        changed: tool
            .definition
            .offered
            .as_ref()
            .map(|now| [tool.definition.raw.get(), now.get()].map(str::to_owned)),
        session: call.session.clone(),
        identity: tool.server.identity.clone(),
        definition: tool.definition.digest.clone(),
        digest: call.digest(),
        asked_at,
        expires_at: Timestamp(asked_at.0 + i64::from(timeout_ms)),
        timeout_ms,
        remaining_ms: timeout_ms,
    }
}

/// Notifies the client that its call still waits. Progress must increase, so each notification adds
/// only 1e-6 and leaves room for the server's own progress.
fn notify_still_waiting(call: &ToolCall, handle: Option<&ClientHandle>, count: u32) {
    let Some(handle) = handle else { return };
    let Some(token) = handle
        .progress_token()
        .or_else(|| call.progress_token.clone())
    else {
        return;
    };
    let params = format!(
        r#"{{"progressToken":{},"progress":{},"message":"Waiting for the user to approve the call"}}"#,
        token.get(),
        f64::from(count) * 1e-6,
    );
    handle.notify("notifications/progress", Some(&json::raw(params)));
}

fn elapsed_ms(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
