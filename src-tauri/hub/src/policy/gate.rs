//! The gate: decide, write the decision, and only then let the call through.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{
    queue::{Decided, MAX_PER_CLIENT, Queue},
    rules::{Facts, Rules},
};
use crate::{
    catalog::CatalogEntry,
    clock,
    events::Events,
    logs::Logs,
    model::{
        approval::{ApprovalRequest, Verdict},
        call::{Call, DecidedBy, Decision, Outcome},
        digest,
        event::Event,
        ids::{CallId, ClientName, SessionId, Timestamp},
        policy::Effect,
    },
    random,
    settings::Settings,
    store::{CANCELLED, Journal, table::call::CallRow},
};

/// The longest params that a person is asked about, in bytes.
const MAX_SHOWN: usize = 1024 * 1024;

/// The longest arguments that are kept with their call, in bytes.
const MAX_KEPT: usize = 16 * 1024;

/// A call that wants to cross.
pub struct ToolCall {
    pub client: ClientName,
    pub session: SessionId,
    pub tool: Arc<CatalogEntry>,
    /// The arguments, byte for byte.
    pub arguments: Box<RawValue>,
    /// What is sent along beside name and arguments; nothing where there is nothing.
    pub extra: Option<Box<RawValue>>,
    /// The params as they will be sent, but for the progress token.
    pub params: Box<RawValue>,
    /// The client's progress token, where it wants to hear of progress.
    pub progress_token: Option<Box<RawValue>>,
}

impl ToolCall {
    /// What a person's decision is bound to.
    fn digest(&self) -> String {
        digest::sha256_of(&[
            self.client.as_str().as_bytes(),
            self.tool.server.identity.as_bytes(),
            self.tool.definition.digest.as_bytes(),
            self.params.get().as_bytes(),
        ])
    }
}

/// Why a call may not cross, in words for the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(String);

/// Lets calls through. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    rules: Rules,
    queue: Queue,
    journal: Journal,
    settings: Settings,
    events: Events,
    logs: Logs,
}

impl Gate {
    pub fn new(rules: Rules, queue: Queue, journal: Journal, settings: Settings, events: Events, logs: Logs) -> Self {
        Self { rules, queue, journal, settings, events, logs }
    }

    /// Decides a call, by rule or by asking a person, and writes the decision down.
    ///
    /// # Errors
    /// Where it is denied, nobody decided in time, or the decision cannot be written.
    pub async fn admit(&self, call: ToolCall) -> Result<Permitted, Refusal> {
        let mut entry = Entry::new(self, &call);
        let facts = Facts {
            client: Some(&call.client),
            session: Some(&call.session),
            server: &call.tool.server,
            tool: &call.tool.definition.name,
            definition: &call.tool.definition.digest,
        };
        let ruling = self.rules.decide(&facts);
        let mut recorded = None;
        match ruling.effect {
            Effect::Allow => entry.decide(Decision::Allowed, ruling.by, ruling.reason),
            Effect::Deny => entry.decide(Decision::Denied, ruling.by, ruling.reason),
            Effect::Ask => recorded = self.ask(&call, &mut entry).await,
        }
        let (done, record) = self.write(entry).await?;
        let answer = match record {
            Some(record) => Ok(Permitted { call, record }),
            None => Err(refusal(&done.call, self.settings.get().approval_timeout.as_secs())),
        };
        if let Some(recorded) = recorded {
            let _ = recorded.send(done.call.clone());
        }
        answer
    }

    async fn ask(&self, call: &ToolCall, entry: &mut Entry<'_>) -> Option<tokio::sync::oneshot::Sender<Call>> {
        if call.params.get().len() > MAX_SHOWN {
            let reason = format!("it has over {MAX_SHOWN} bytes, more than a person can look at; a rule may allow it");
            entry.decide(Decision::Denied, DecidedBy::Hub, reason);
            return None;
        }
        let patience = self.settings.get().approval_timeout;
        let Some(ticket) = self.queue.ask(request(call, entry.id(), patience.as_millis()), patience) else {
            let reason = format!("{MAX_PER_CLIENT} calls of {} wait already; answer those first", call.client);
            entry.decide(Decision::Denied, DecidedBy::Hub, reason);
            return None;
        };
        // From here on the client may leave: then the entry is dropped undecided, and written as abandoned.
        let Some(Decided { verdict, recorded }) = ticket.decided().await else {
            entry.decide(Decision::TimedOut, DecidedBy::Hub, String::new());
            return None;
        };
        match verdict {
            Verdict::ApproveOnce => entry.decide(Decision::Allowed, DecidedBy::Person, "once".into()),
            Verdict::ApproveFor { seconds } => {
                entry.decide(Decision::Allowed, DecidedBy::Person, format!("for {seconds} s"))
            }
            Verdict::ApproveSession => entry.decide(Decision::Allowed, DecidedBy::Person, "for this session".into()),
            Verdict::ApproveAlways => entry.decide(Decision::Allowed, DecidedBy::Person, "always".into()),
            Verdict::Deny { reason } => entry.decide(Decision::Denied, DecidedBy::Person, reason),
        }
        Some(recorded)
    }

    /// Writes the decision; for an allowed call the record that its outcome goes to.
    async fn write(&self, mut entry: Entry<'_>) -> Result<(Arc<CallRow>, Option<Record>), Refusal> {
        let Some(row) = entry.row.take() else { return Err(Refusal("the decision was lost".into())) };
        let row = Arc::new(row);
        // Made first: a client that leaves while the decision is being written has cancelled the call.
        let mut record = (row.call.decision == Decision::Allowed).then(|| Record::new(self, row.clone()));
        if let Err(error) = self.journal.decided(row.clone()).await {
            tracing::error!("call {}: denied, as {error}", row.call.id);
            if let Some(record) = &mut record {
                record.row = None;
            }
            return Err(Refusal(format!("Denied by Drawbridge: {error}. The call was not run.")));
        }
        self.events.tell_if_heard(|| Event::CallChanged { call: row.call.clone() });
        Ok((row, record))
    }
}

/// The record of a call in the making. Dropped before it was written, it is written as abandoned.
struct Entry<'a> {
    gate: &'a Gate,
    started: Instant,
    row: Option<CallRow>,
}

impl<'a> Entry<'a> {
    fn new(gate: &'a Gate, call: &ToolCall) -> Self {
        let row = CallRow {
            call: Call {
                id: CallId::new(random::id_in_order()),
                at: clock::now(),
                client: call.client.clone(),
                server: call.tool.server.id.clone(),
                tool: call.tool.definition.name.clone(),
                exposed_name: call.tool.exposed_name.clone(),
                decision: Decision::Abandoned,
                decided_by: DecidedBy::Hub,
                reason: "the client left while the call waited".into(),
                outcome: Outcome::NotSent,
                error: String::new(),
                waited_ms: 0,
                duration_ms: None,
                arguments: None,
            },
            definition_digest: call.tool.definition.digest.clone(),
            arguments_digest: digest::sha256(call.arguments.get().as_bytes()),
            arguments: kept(&gate.logs, &call.arguments),
        };
        Self { gate, started: Instant::now(), row: Some(row) }
    }

    fn id(&self) -> CallId {
        self.row.as_ref().map_or_else(|| CallId::new(random::id_in_order()), |row| row.call.id.clone())
    }

    fn decide(&mut self, decision: Decision, by: DecidedBy, reason: String) {
        let waited_ms = millis(self.started);
        if let Some(row) = &mut self.row {
            let outcome = if decision == Decision::Allowed { Outcome::Running } else { Outcome::NotSent };
            let call = &mut row.call;
            (call.decision, call.decided_by, call.reason) = (decision, by, reason);
            (call.outcome, call.waited_ms) = (outcome, waited_ms);
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let Some(mut row) = self.row.take() else { return };
        // Dropped on the way to a decision, also one that came too late to be written.
        row.call.waited_ms = millis(self.started);
        row.call.decision = Decision::Abandoned;
        row.call.outcome = Outcome::NotSent;
        let (journal, events) = (self.gate.journal.clone(), self.gate.events.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let row = Arc::new(row);
                if journal.decided(row.clone()).await.is_ok() {
                    events.tell_if_heard(|| Event::CallChanged { call: row.call.clone() });
                }
            });
        }
    }
}

/// A call whose permission is written down. There is no other way to make one than [`Gate::admit`].
pub struct Permitted {
    call: ToolCall,
    record: Record,
}

impl Permitted {
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Writes what came of it.
    pub fn ended(self, outcome: Outcome, error: String) {
        self.record.end(outcome, error);
    }
}

/// The record of a running call. Dropped without an end, the client has cancelled it.
struct Record {
    journal: Journal,
    events: Events,
    logs: Logs,
    started: Instant,
    row: Option<Arc<CallRow>>,
}

impl Record {
    fn new(gate: &Gate, row: Arc<CallRow>) -> Self {
        Self {
            journal: gate.journal.clone(),
            events: gate.events.clone(),
            logs: gate.logs.clone(),
            started: Instant::now(),
            row: Some(row),
        }
    }

    fn end(mut self, outcome: Outcome, error: String) {
        self.write(outcome, error);
    }

    fn write(&mut self, outcome: Outcome, error: String) {
        let Some(row) = self.row.take() else { return };
        // It may be a server's words.
        let error = if error.is_empty() { error } else { self.logs.masked(&error) };
        let sent = !matches!(outcome, Outcome::NotSent | Outcome::Unreachable);
        let duration_ms = sent.then(|| millis(self.started));
        self.journal.ended(row.call.id.clone(), outcome, error.clone(), duration_ms);
        self.events
            .tell_if_heard(|| Event::CallChanged { call: Call { outcome, error, duration_ms, ..row.call.clone() } });
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.write(Outcome::Cancelled, CANCELLED.into());
    }
}

/// The arguments as they are kept with the call; none where they are long.
fn kept(logs: &Logs, arguments: &RawValue) -> Option<String> {
    (arguments.get().len() <= MAX_KEPT).then(|| logs.redacted(arguments.get()).into_owned())
}

fn request(call: &ToolCall, id: CallId, timeout_ms: u128) -> ApprovalRequest {
    let tool = &call.tool;
    let asked_at = clock::now();
    let timeout_ms = u32::try_from(timeout_ms).unwrap_or(u32::MAX);
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
        session: call.session.clone(),
        identity: tool.server.identity.clone(),
        definition: tool.definition.digest.clone(),
        digest: call.digest(),
        asked_at,
        expires_at: Timestamp(asked_at.0 + i64::from(timeout_ms)),
        timeout_ms,
        left_ms: timeout_ms,
    }
}

fn refusal(call: &Call, timeout_s: u64) -> Refusal {
    let reason = if call.reason.is_empty() { String::new() } else { format!(": {}", call.reason) };
    Refusal(match (call.decision, call.decided_by) {
        (Decision::TimedOut, _) => {
            format!(
                "Timed out: nobody approved the call within {timeout_s} s. It was not run. Ask the user before trying again."
            )
        }
        (_, DecidedBy::Person) => format!("Denied by the user{reason}. The call was not run."),
        (_, DecidedBy::Rule | DecidedBy::Default) => format!("Denied by policy{reason}. The call was not run."),
        (_, DecidedBy::Hub) => format!("Denied by Drawbridge{reason}. The call was not run."),
    })
}

fn millis(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
