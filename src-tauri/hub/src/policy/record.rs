//! The record of a call: first with its decision, then with its outcome.

use std::sync::Arc;

use drawbridge_jsonrpc::json::Json;
use drawbridge_model::{
    call::{Call, DecidedBy, Decision, KeptResult, Outcome},
    clock,
    content::ContentFlag,
    digest,
    event::{Event, Events},
    ids::CallId,
    log::Level,
    policy::Rule,
    random,
};
use drawbridge_store::{
    CANCELLED_BY_CLIENT, Journal, JournalError, logs::Logs, settings::Settings,
    table::call::CallRow,
};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::metrics::Metrics;

use super::{
    denied_arguments_limit::DeniedArgumentsLimit,
    guarded_request::GuardedRequest,
    rules::{RuleWriter, Ruling},
};

/// The largest arguments or other params that are stored with their call, in bytes.
pub(super) const MAX_STORED_ARGUMENTS: usize = 16 * 1024;

/// The largest result whose beginning is kept, in bytes. A result is masked as a whole before it is
/// cut, because a secret across the cut would not be found. Masking a longer result would take too
/// long.
const MAX_MASKED_RESULT: usize = 1 << 20;

/// The invariant of [`PendingRecord`] and [`OpenRecord`].
const ROW_PRESENT: &str = "only the methods that end a record take its row";

/// Writes the records of calls, publishes them as events, and logs and counts decisions and
/// outcomes.
pub(super) struct Recorder {
    pub(super) journal: Journal,
    pub(super) events: Events,
    pub(super) logs: Logs,
    pub(super) metrics: Metrics,
    pub(super) denied_arguments: DeniedArgumentsLimit,
    pub(super) settings: Settings,
}

impl Recorder {
    /// Counts the decision in the metrics if a person was asked, and the end of the call if it is
    /// not sent.
    fn count_in_metrics(&self, call: &Call, was_asked: bool) {
        if was_asked {
            self.metrics
                .count_decision(call, call.decision, call.waited_ms);
        }
        if call.decision != Decision::Allowed {
            self.metrics.count_end(call, call.outcome, None);
        }
    }

    /// Logs how a request was decided, without its arguments.
    fn log_decision(&self, call: &Call) {
        let level = match (call.decision, call.decided_by) {
            (Decision::Denied, DecidedBy::Hub) => Level::Warn,
            (Decision::Allowed | Decision::Denied | Decision::Abandoned, _) => Level::Info,
            (
                Decision::TimedOut
                | Decision::NoScreen
                | Decision::Paused
                | Decision::QueueFull
                | Decision::Muted,
                _,
            ) => Level::Warn,
        };
        self.logs.add_call_line(&call.id, level, || {
            format!("{} was {}", describe(call), describe_decision(call))
        });
    }

    /// Logs the decision on a result that was held.
    pub(super) fn log_result_decision(&self, call: &Call, decision: Decision, reason: &str) {
        let (level, how) = match decision {
            Decision::Allowed => (Level::Info, "released by a person".to_owned()),
            Decision::Denied => (Level::Info, "withheld by a person".to_owned()),
            Decision::TimedOut
            | Decision::NoScreen
            | Decision::Paused
            | Decision::QueueFull
            | Decision::Muted
            | Decision::Abandoned => (Level::Warn, format!("withheld: {reason}")),
        };
        self.logs.add_call_line(&call.id, level, || {
            format!("the result of {} was {how}", describe(call))
        });
    }

    /// Logs that a permitted request got no answer, if the outcome says so.
    fn log_missing_answer(&self, call: &Call, outcome: Outcome, error: &str) {
        if matches!(
            outcome,
            Outcome::TimedOut | Outcome::Unknown | Outcome::Unreachable
        ) {
            self.logs.add_call_line(&call.id, Level::Warn, || {
                format!("{} got no answer: {error}", describe(call))
            });
        }
    }

    fn publish(&self, call: &Call) {
        self.events.publish_with(|| Event::CallChanged {
            call: Arc::new(call.clone()),
        });
    }

    /// Returns arguments or other params as they are stored with the call: with secrets masked, or
    /// `None` if they are too long.
    fn mask_for_storage(&self, params: &RawValue) -> Option<String> {
        (params.get().len() <= MAX_STORED_ARGUMENTS)
            .then(|| self.logs.redact_json(params.get()).into_owned())
    }
}

/// The record of a call that is not decided yet. If it is dropped before it is written or
/// discarded, the call is recorded as abandoned.
pub struct PendingRecord {
    recorder: Arc<Recorder>,
    started: Instant,
    /// The sampling provider, if it answers the request.
    sampling_provider: Option<String>,
    /// Whether a person was asked about the request.
    was_asked: bool,
    row: Option<CallRow>,
}

impl PendingRecord {
    pub(super) fn new(recorder: &Arc<Recorder>, request: &GuardedRequest) -> Self {
        let row = CallRow {
            call: Call {
                id: CallId::new(random::ordered_id()),
                at: clock::now(),
                method: request.method,
                client: request.client.clone(),
                session: Some(request.session.clone())
                    .filter(|session| !session.as_str().is_empty()),
                server: request.server.id.clone(),
                tool: request.name.clone(),
                exposed_name: request.exposed_name.clone(),
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
                extra: None,
                original_arguments: None,
                request_hooks: request.request_hooks().to_vec(),
                result_hooks: Vec::new(),
                flags: Vec::new(),
                result: None,
            },
            is_counted: false,
            definition_digest: request.definition_digest().to_owned(),
            arguments_digest: digest::sha256(request.arguments.get().as_bytes()),
            arguments: recorder.mask_for_storage(&request.arguments),
            extra: request
                .extra
                .as_ref()
                .and_then(|extra| recorder.mask_for_storage(extra)),
            original_arguments: request
                .hooked
                .as_ref()
                .and_then(|hooked| recorder.mask_for_storage(&hooked.original)),
            new_rule: None,
        };
        Self {
            recorder: recorder.clone(),
            started: Instant::now(),
            sampling_provider: request.sampling_provider().map(str::to_owned),
            was_asked: false,
            row: Some(row),
        }
    }

    /// Ends the record without writing it.
    pub fn discard(mut self) {
        self.row = None;
    }

    /// Records that a person is asked about the request.
    pub(super) fn mark_asked(&mut self) {
        self.was_asked = true;
        let call = &self.row.as_ref().expect(ROW_PRESENT).call;
        self.recorder.metrics.count_asked(call);
    }

    fn row_mut(&mut self) -> &mut CallRow {
        self.row.as_mut().expect(ROW_PRESENT)
    }

    pub(super) fn id(&self) -> CallId {
        self.row.as_ref().expect(ROW_PRESENT).call.id.clone()
    }

    pub(super) fn decide_by_ruling(&mut self, decision: Decision, ruling: Ruling) {
        let row = self.row_mut();
        (row.call.rule, row.is_counted) = (ruling.rule, ruling.is_counted);
        self.decide(decision, ruling.decided_by, ruling.reason);
    }

    /// Stores the arguments that a person has edited, besides the arguments that the client sent.
    pub(super) fn mark_edited(&mut self, request: &GuardedRequest) {
        let arguments = self.recorder.mask_for_storage(&request.arguments);
        let row = self.row_mut();
        row.call.is_edited = true;
        row.arguments_digest = digest::sha256(request.arguments.get().as_bytes());
        let before = std::mem::replace(&mut row.arguments, arguments);
        // If hooks have changed the arguments, the client's own arguments are stored already.
        if row.call.request_hooks.is_empty() {
            row.original_arguments = before;
        }
    }

    /// Enters a decision into the record. [`Self::write`] writes the record.
    pub(super) fn decide(&mut self, decision: Decision, by: DecidedBy, reason: String) {
        let waited_ms = elapsed_ms(self.started);
        let (outcome, reason) = match (decision, &self.sampling_provider) {
            (Decision::Allowed, Some(name)) if reason.is_empty() => {
                (Outcome::Running, format!("answered by {name}"))
            }
            (Decision::Allowed, Some(name)) => {
                (Outcome::Running, format!("{reason}; answered by {name}"))
            }
            (Decision::Allowed, None) => (Outcome::Running, reason),
            _ => (Outcome::NotSent, reason),
        };
        let client = &self.row.as_ref().expect(ROW_PRESENT).call.client;
        // A missed call keeps its arguments, so that a person can judge a retry. The mute of its
        // client limits how many calls are missed.
        let may_store = matches!(
            decision,
            Decision::Allowed | Decision::TimedOut | Decision::NoScreen
        ) || by == DecidedBy::Person
            || self.recorder.denied_arguments.try_acquire(client);
        let row = self.row_mut();
        if !may_store {
            (row.arguments, row.extra, row.original_arguments) = (None, None, None);
        }
        let call = &mut row.call;
        (call.decision, call.decided_by, call.reason) = (decision, by, reason);
        (call.outcome, call.waited_ms) = (outcome, waited_ms);
    }

    /// Writes the decision, and in the same transaction the rule that it makes. Returns the row
    /// and, for an allowed call, the record that receives its outcome.
    ///
    /// # Errors
    /// Returns an error if the decision cannot be written. The call must not be sent then.
    pub(super) async fn write(
        mut self,
        rule: Option<(&RuleWriter<'_>, &Rule)>,
    ) -> Result<(Arc<CallRow>, Option<OpenRecord>), JournalError> {
        let mut row = self.row.take().expect(ROW_PRESENT);
        row.new_rule = rule.map(|(writer, rule)| Box::new(writer.prepare(rule)));
        let row = Arc::new(row);
        // The record exists before the write: if the client disconnects during the write, the
        // record is dropped, which marks the call as cancelled.
        let mut record = (row.call.decision == Decision::Allowed).then(|| OpenRecord {
            recorder: self.recorder.clone(),
            started: Instant::now(),
            row: Some(row.clone()),
            result_hooks: Vec::new(),
            flags: Vec::new(),
        });
        if let Err(error) = self.recorder.journal.record_decision(row.clone()).await {
            tracing::error!(
                "request {} is denied because its decision could not be recorded: {error}",
                row.call.id
            );
            if let Some(record) = &mut record {
                record.row = None;
            }
            return Err(error);
        }
        if let Some((writer, _)) = rule
            && let Err(error) = writer.reload().await
        {
            tracing::error!(
                "a new rule is stored, but not in force until the rules are read again: {error}"
            );
        }
        self.recorder.count_in_metrics(&row.call, self.was_asked);
        self.recorder.log_decision(&row.call);
        self.recorder.publish(&row.call);
        Ok((row, record))
    }
}

impl Drop for PendingRecord {
    fn drop(&mut self) {
        let Some(mut row) = self.row.take() else {
            return;
        };
        // The client disconnected before a decision was written.
        row.call.waited_ms = elapsed_ms(self.started);
        row.call.decision = Decision::Abandoned;
        row.call.outcome = Outcome::NotSent;
        self.recorder.count_in_metrics(&row.call, self.was_asked);
        let recorder = self.recorder.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let row = Arc::new(row);
                if recorder.journal.record_decision(row.clone()).await.is_ok() {
                    recorder.log_decision(&row.call);
                    recorder.publish(&row.call);
                }
            });
        }
    }
}

/// The record of a running call. If it is dropped without an outcome, the call is recorded as
/// cancelled by its client.
pub(super) struct OpenRecord {
    recorder: Arc<Recorder>,
    started: Instant,
    row: Option<Arc<CallRow>>,
    /// The hooks that replaced the result.
    pub(super) result_hooks: Vec<String>,
    /// The flags of suspicious content in the result.
    pub(super) flags: Vec<ContentFlag>,
}

impl OpenRecord {
    pub(super) fn row(&self) -> &Arc<CallRow> {
        self.row.as_ref().expect(ROW_PRESENT)
    }

    /// Counts the tokens of the arguments and the result, by their sizes in bytes.
    pub(super) fn count_tokens(&self, arguments: usize, result: usize) {
        self.recorder
            .metrics
            .count_tokens(&self.row().call, arguments, result);
    }

    /// Keeps the result that the client gets, if the settings say that results are kept. The result
    /// is masked and written in the background.
    pub(super) fn keep_result(&self, result: &Json) {
        let Some(limit) = self.recorder.settings.result_limit() else {
            return;
        };
        let bytes = result.get().len();
        let result = (bytes <= MAX_MASKED_RESULT).then(|| result.clone());
        let logs = self.recorder.logs.clone();
        let id = self.row().call.id.clone();
        // The bytes that stay in memory until the result is masked and written.
        let waiting = result.as_ref().map_or(0, |_| bytes);
        self.recorder.journal.record_result(id, waiting, move || {
            let masked = result.as_ref().map(|result| logs.redact_json(result.get()));
            shorten_result(masked.as_deref().unwrap_or_default(), bytes, limit)
        });
    }

    pub(super) fn finish(mut self, outcome: Outcome, error: String) {
        self.write_outcome(outcome, error);
    }

    fn write_outcome(&mut self, outcome: Outcome, error: String) {
        let Some(row) = self.row.take() else { return };
        // The text may come from a server and contain a secret.
        let error = if error.is_empty() {
            error
        } else {
            self.recorder.logs.mask_text(&error)
        };
        self.recorder.log_missing_answer(&row.call, outcome, &error);
        let was_sent = !matches!(outcome, Outcome::NotSent | Outcome::Unreachable);
        let duration_ms = was_sent.then(|| elapsed_ms(self.started));
        let result_hooks = std::mem::take(&mut self.result_hooks);
        let flags = std::mem::take(&mut self.flags);
        let flags: Vec<_> = flags
            .iter()
            .map(|flag| mask_flag(&self.recorder.logs, flag))
            .collect();
        self.recorder
            .metrics
            .count_end(&row.call, outcome, duration_ms);
        self.recorder.journal.record_full_outcome(
            row.call.id.clone(),
            outcome,
            error.clone(),
            duration_ms,
            result_hooks.clone(),
            flags.clone(),
        );
        self.recorder.events.publish_with(|| Event::CallChanged {
            call: Arc::new(Call {
                outcome,
                error,
                duration_ms,
                result_hooks,
                flags,
                ..row.call.clone()
            }),
        });
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        self.write_outcome(Outcome::Cancelled, CANCELLED_BY_CLIENT.into());
    }
}

/// Returns the beginning of a masked result, of at most `limit` bytes. `bytes` is the length of the
/// result before it was masked.
fn shorten_result(masked: &str, bytes: usize, limit: usize) -> KeptResult {
    let text = &masked[..masked.floor_char_boundary(limit)];
    KeptResult {
        text: text.to_owned(),
        is_cut: text.len() < masked.len() || bytes > MAX_MASKED_RESULT,
        bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
    }
}

/// Describes a request for the log: its method, the tool, prompt or resource that it names, if any,
/// its client and its server.
fn describe(call: &Call) -> String {
    let method = call.method.name();
    let name = if call.exposed_name.is_empty() {
        method.to_owned()
    } else {
        format!("{method} '{}'", call.exposed_name)
    };
    match call.server.as_str() {
        "" => format!("{name} of client '{}'", call.client),
        server => format!("{name} of client '{}' to server '{server}'", call.client),
    }
}

/// Returns how a request was decided, as the log states it. A reason of Drawbridge itself is left
/// out if it may quote the arguments.
fn describe_decision(call: &Call) -> String {
    let by = match call.decided_by {
        DecidedBy::Person => "a person".to_owned(),
        DecidedBy::Rule => match &call.rule {
            Some(rule) => format!("the rule {rule}"),
            None => "a rule".to_owned(),
        },
        DecidedBy::Default => "the default".to_owned(),
        DecidedBy::Hub => "Drawbridge".to_owned(),
    };
    let reason = match (call.decision, call.decided_by) {
        (_, DecidedBy::Default) | (Decision::Denied, DecidedBy::Hub) => String::new(),
        _ if call.reason.is_empty() => String::new(),
        _ => format!(" ({})", call.reason),
    };
    match (call.decision, call.decided_by) {
        (Decision::Allowed, DecidedBy::Person) => format!("approved by {by}{reason}"),
        (Decision::Allowed, _) => format!("allowed by {by}{reason}"),
        (Decision::Denied, _) => format!("denied by {by}{reason}"),
        (Decision::TimedOut, _) => "missed, because nobody decided it in time".to_owned(),
        (Decision::NoScreen, _) => "missed, because no screen was open to show it".to_owned(),
        (Decision::Paused, _) => "refused, because all calls are paused".to_owned(),
        (Decision::QueueFull, _) => format!("refused, because too many requests wait{reason}"),
        (Decision::Muted, _) => format!("refused, because its client is muted{reason}"),
        (Decision::Abandoned, _) => "abandoned by the client before it was decided".to_owned(),
    }
}

pub(super) fn elapsed_ms(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_millis()).unwrap_or(u32::MAX)
}

/// Masks the secrets in a flag, which quotes text of a server.
pub(super) fn mask_flag(logs: &Logs, flag: &ContentFlag) -> ContentFlag {
    ContentFlag {
        kind: flag.kind,
        place: logs.mask_text(&flag.place),
        excerpt: logs.mask_text(&flag.excerpt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_cut_between_characters() {
        let kept = shorten_result("\"aä\"", 5, 3);
        assert_eq!(
            (kept.text.as_str(), kept.is_cut, kept.bytes),
            ("\"a", true, 5)
        );
        let whole = shorten_result("{}", 2, 2);
        assert_eq!((whole.text.as_str(), whole.is_cut), ("{}", false));
    }

    #[test]
    fn a_result_that_is_too_long_to_mask_is_kept_without_text() {
        let kept = shorten_result("", MAX_MASKED_RESULT + 1, 1_024);
        assert_eq!((kept.text.as_str(), kept.is_cut), ("", true));
    }
}
