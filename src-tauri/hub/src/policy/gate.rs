//! The gate decides a call or another guarded request, records the decision, and only then lets the
//! request through. The gate may hold or mask the result.

use drawbridge_model::{
    approval::{ApprovalRequest, SuspendedAllow, Verdict},
    call::{Call, DecidedBy, Decision, Outcome},
    clock,
    content::{ContentDefence, ContentFlag},
    digest,
    event::Events,
    ids::{CallId, ClientName, Timestamp},
    policy::{Effect, RequestKind, ResultEffect, Rule, RuleSpec},
    protocol::{ProgressToken, tasks},
    random,
    spec::RegisteredServer,
};
use std::{borrow::Cow, sync::Arc, time::Duration};

use drawbridge_jsonrpc::{
    json::{self, Json},
    rpc::RpcError,
};
use drawbridge_sessions::ClientHandle;
use drawbridge_store::{JournalError, Store, logs::Logs, settings::Settings, table::call::CallRow};
use serde_json::value::RawValue;
use tokio::{
    sync::oneshot,
    time::{Instant, MissedTickBehavior, interval_at},
};

use crate::{
    clients::configs::ClientConfigs,
    content,
    metrics::Metrics,
    traces::{OpenSpan, Tracer},
};

use super::{
    denied_arguments_limit::DeniedArgumentsLimit,
    drawbridge::Drawbridge,
    guarded_request::GuardedRequest,
    permitted::{Permitted, PermittedRequest},
    queue::{PendingRequest, Queue, QueueError, RequestTarget, Subject, TakenRequest, Ticket},
    record::{PendingRecord, Recorder, elapsed_ms, mask_flag},
    refusal::{Refusal, Undecided, WithheldReason},
    rules::{RuleWriter, Rules, Ruling},
    verdict::{self, VerdictError},
};

/// The largest params or result about which a person is asked, in bytes.
const MAX_SHOWN: usize = 1024 * 1024;
/// The time that is reserved for the call itself: a person's time to decide ends this long before
/// the client stops waiting.
const CALL_TIME: Duration = Duration::from_secs(30);
/// The least time that a person has to fill in a form, if the client can get progress notifications
/// meanwhile. A request from a server waits for its answer for 300 s at most.
const FORM_TIME: Duration = Duration::from_secs(280);
/// The interval of progress notifications to a client while its request, or the result, waits for a
/// person. Some clients give up after a minute of silence.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Decides requests and results. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    pub(super) rules: Rules,
    pub(super) queue: Queue,
    pub(super) drawbridge: Drawbridge,
    store: Store,
    settings: Settings,
    client_configs: ClientConfigs,
    tracer: Tracer,
    pub(super) recorder: Arc<Recorder>,
}

/// The reason why a decision of a person is rejected.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Verdict(#[from] VerdictError),
    #[error("the decision could not be recorded: {0}. The call was not run")]
    NotRecorded(#[from] JournalError),
}

impl Gate {
    pub fn new(
        rules: Rules,
        queue: Queue,
        drawbridge: Drawbridge,
        store: Store,
        settings: Settings,
        client_configs: ClientConfigs,
        (events, logs, metrics, tracer): (Events, Logs, Metrics, Tracer),
    ) -> Self {
        let journal = store.journal();
        Self {
            rules,
            queue,
            drawbridge,
            store,
            settings: settings.clone(),
            client_configs,
            tracer,
            recorder: Arc::new(Recorder {
                journal,
                events,
                logs,
                metrics,
                denied_arguments: DeniedArgumentsLimit::default(),
                settings,
            }),
        }
    }

    /// Returns how long a person has to decide: the timeout in the settings, or longer if the
    /// client's configuration files tell the client to wait longer.
    fn approval_timeout(&self, client: &ClientName) -> Duration {
        let timeout = self.settings.get().approval_timeout;
        let raised = self.client_configs.ask_once_wait(client);
        raised.map_or(timeout, |seconds| {
            timeout.max(Duration::from_secs(seconds).saturating_sub(CALL_TIME))
        })
    }

    /// Returns how long a person has to decide a request, or to fill it in.
    fn timeout_of(&self, request: &GuardedRequest) -> Duration {
        let timeout = self.approval_timeout(&request.client);
        if request.is_filled_in_by_person() && request.progress_token.is_some() {
            timeout.max(FORM_TIME)
        } else {
            timeout
        }
    }

    /// Waits until all calls are paused. Returns at once if they are paused already.
    pub async fn wait_until_paused(&self) {
        self.drawbridge.wait_until_paused().await;
    }

    /// Returns whether all calls are paused.
    pub fn is_paused(&self) -> bool {
        self.drawbridge.is_paused()
    }

    /// Begins the record of a request that the gate has not decided yet. If the record is dropped
    /// before it is discarded, the request is recorded as abandoned.
    pub fn record_if_abandoned(&self, request: &GuardedRequest) -> PendingRecord {
        PendingRecord::new(&self.recorder, request)
    }

    /// Decides a request by a rule, by the default or by asking a person, and records the decision.
    /// A person may edit the arguments of a call. The permitted call then has the edited arguments.
    ///
    /// # Errors
    /// Returns an error if the request is denied, if all calls are paused, if a person would have
    /// to decide but cannot be asked or does not decide in time, or if the decision cannot be
    /// recorded.
    pub async fn admit(
        &self,
        request: GuardedRequest,
        handle: Option<&ClientHandle>,
    ) -> Result<Permitted, Refusal> {
        let mut record = PendingRecord::new(&self.recorder, &request);
        if self.drawbridge.is_paused() {
            record.decide(Decision::Paused, DecidedBy::Hub, String::new());
        } else {
            let ruling = self.ruling(&request);
            match ruling.effect {
                Effect::Allow => record.decide_by_ruling(Decision::Allowed, ruling),
                Effect::Deny => record.decide_by_ruling(Decision::Denied, ruling),
                Effect::Ask => return Box::pin(self.ask_person(request, record, handle)).await,
            }
        }
        self.record_decision(request, record).await
    }

    /// Decides a request about a task. The request is allowed, because the call that started the
    /// task was allowed, unless all calls are paused or a rule now denies that call.
    ///
    /// # Errors
    /// Returns an error if the request is denied, if all calls are paused, or if the decision
    /// cannot be recorded.
    pub async fn admit_for_task(
        &self,
        request: GuardedRequest,
        started_by: &PermittedRequest,
    ) -> Result<Permitted, Refusal> {
        let mut record = PendingRecord::new(&self.recorder, &request);
        if self.drawbridge.is_paused() {
            record.decide(Decision::Paused, DecidedBy::Hub, String::new());
        } else if let Some(denial) = self.rules.find_denial(&started_by.request.match_input()) {
            record.decide_by_ruling(Decision::Denied, denial);
        } else {
            let reason = format!("the task was started by the call {}", started_by.call.id);
            record.decide(Decision::Allowed, DecidedBy::Hub, reason);
        }
        self.record_decision(request, record).await
    }

    /// Records a request that Drawbridge answers without sending it anywhere: `reason` says why.
    ///
    /// # Errors
    /// Returns an error if the request cannot be recorded.
    pub async fn record_answered(
        &self,
        request: &GuardedRequest,
        decision: Decision,
        reason: String,
    ) -> Result<(), Refusal> {
        let mut record = PendingRecord::new(&self.recorder, request);
        record.decide(decision, DecidedBy::Hub, reason);
        let (_, open) = record.write(None).await?;
        if let Some(open) = open {
            open.finish(Outcome::Ok, String::new());
        }
        Ok(())
    }

    /// Records a decision that makes no rule.
    async fn record_decision(
        &self,
        request: GuardedRequest,
        record: PendingRecord,
    ) -> Result<Permitted, Refusal> {
        self.write_decision(request, record, None).await?.1
    }

    /// Writes a decision, and the rule that it makes. Returns the recorded request, and the
    /// permission or the refusal.
    async fn write_decision(
        &self,
        request: GuardedRequest,
        record: PendingRecord,
        rule: Option<(&RuleWriter<'_>, &Rule)>,
    ) -> Result<(Arc<CallRow>, Result<Permitted, Refusal>), JournalError> {
        let (row, open) = record.write(rule).await?;
        let answer = match open {
            Some(open) if self.drawbridge.is_paused() => {
                let reason = "all calls were paused before the request was sent";
                Permitted::new(request, open).record_outcome(Outcome::NotSent, reason.into());
                Err(Refusal::Paused)
            }
            Some(open) => Ok(Permitted::new(request, open)),
            None => Err(Refusal::from_call(
                &row.call,
                self.approval_timeout(&row.call.client).as_secs(),
            )),
        };
        Ok((row, answer))
    }

    /// Returns the ruling of the policy. Two kinds of requests are never allowed without a person:
    /// calls of a tool that has changed since a person accepted it, and requests that a person
    /// fills in. For these, an allow becomes an ask, and the request does not count towards the
    /// limit of a rule for a number of calls. A request to the sampling provider may cost the user
    /// money, so a rule can allow it, but the default cannot.
    fn ruling(&self, request: &GuardedRequest) -> Ruling {
        let is_changed = request.kind == RequestKind::Tools
            && request
                .definition()
                .is_some_and(|definition| definition.offered.is_some());
        if !is_changed && !request.is_filled_in_by_person() {
            let ruling = self.rules.decide(&request.match_input());
            let is_default = ruling.decided_by == DecidedBy::Default;
            return match ruling.effect {
                Effect::Allow if is_default && request.sampling_provider().is_some() => Ruling {
                    effect: Effect::Ask,
                    ..ruling
                },
                Effect::Allow | Effect::Ask | Effect::Deny => ruling,
            };
        }
        let ruling = self.rules.evaluate(&request.match_input());
        if ruling.effect == Effect::Allow {
            Ruling {
                effect: Effect::Ask,
                ..ruling
            }
        } else {
            ruling
        }
    }

    /// Asks a person about a request, and waits for the answer.
    async fn ask_person(
        &self,
        request: GuardedRequest,
        mut record: PendingRecord,
        handle: Option<&ClientHandle>,
    ) -> Result<Permitted, Refusal> {
        if request.params.get().len() > MAX_SHOWN {
            let reason = format!(
                "its arguments have more than {MAX_SHOWN} bytes, too many to show to a person; only a rule can allow it"
            );
            record.decide(Decision::Denied, DecidedBy::Hub, reason);
            return self.record_decision(request, record).await;
        }
        if self.queue.take_approved_retry(&request.digest()) {
            let reason = "identical retry of a missed call, which a person approved".into();
            record.decide(Decision::Allowed, DecidedBy::Person, reason);
            return self.record_decision(request, record).await;
        }
        let timeout = self.timeout_of(&request);
        let mut approval = approval_request(&request, record.id(), timeout);
        (approval.is_first, approval.suspended) = (
            self.is_first(&request).await,
            self.find_suspended_allow(&request).await,
        );
        let waiting = WaitingClient::new(&request, handle);
        let span = self.tracer.begin_approval(request.trace, &request.name);
        record.mark_asked();
        let (answer, answered) = oneshot::channel();
        let target = target_of(&request);
        let subject = Subject::Request(Box::new(PendingRequest {
            request,
            record,
            answer,
        }));
        // The client may disconnect from here on. The request then leaves the queue undecided, and
        // is recorded as abandoned.
        let unanswered = match self.queue.enqueue(approval, target, timeout, subject) {
            Ok(ticket) => match self.wait_for_answer(&ticket, answered, waiting).await {
                Ok(answer) => {
                    end_span(span, decision_of(&answer));
                    return answer;
                }
                Err(unanswered) => unanswered,
            },
            Err((reason, subject)) => Unanswered {
                reason: reason.into(),
                subject: Some(subject),
            },
        };
        let (decision, reason) = unanswered.reason.to_decision();
        end_span(span, decision);
        match unanswered.subject {
            Some(Subject::Request(pending)) => {
                let PendingRequest {
                    request,
                    mut record,
                    ..
                } = *pending;
                record.decide(decision, DecidedBy::Hub, reason);
                self.record_decision(request, record).await
            }
            Some(Subject::Result { .. }) | None => Err(Refusal::DeniedByHub { reason }),
        }
    }

    /// Waits until a person has answered a request, and keeps the client's request alive meanwhile.
    /// Stops waiting at the deadline, and when all calls are paused.
    async fn wait_for_answer<T>(
        &self,
        ticket: &Ticket,
        mut answered: oneshot::Receiver<T>,
        waiting: WaitingClient<'_>,
    ) -> Result<T, Unanswered> {
        let mut keepalive = interval_at(Instant::now() + KEEPALIVE, KEEPALIVE);
        keepalive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut notifications = 0;
        let unanswered = loop {
            tokio::select! {
                biased;
                () = self.drawbridge.wait_until_paused() => {
                    break ticket.withdraw().map(|subject| (Undecided::Paused, subject));
                }
                answer = &mut answered => return answer.map_err(|_| Unanswered::interrupted()),
                () = ticket.deadline.wait() => {
                    break ticket.expire().map(|missed| {
                        let reason = if missed.is_seen {
                            Undecided::TimedOut
                        } else {
                            Undecided::NoScreen
                        };
                        (reason, missed.subject)
                    });
                }
                _ = keepalive.tick() => {
                    notifications += 1;
                    waiting.notify(notifications);
                }
            }
        };
        match unanswered {
            Some((reason, subject)) => Err(Unanswered {
                reason,
                subject: Some(subject),
            }),
            // A person took the request at the last moment.
            None => answered.await.map_err(|_| Unanswered::interrupted()),
        }
    }

    /// Decides a waiting request with a person's verdict, and saves the rule that the verdict
    /// makes. Returns the call as it is recorded. The first decision wins.
    ///
    /// # Errors
    /// Returns an error if the request no longer waits, if its digest differs from `digest`, if the
    /// verdict cannot be applied to it (it keeps waiting), or if the decision cannot be recorded
    /// (the call is denied).
    pub async fn decide(
        &self,
        id: &CallId,
        digest: &str,
        verdict: Verdict,
    ) -> Result<Call, DecideError> {
        verdict::check(&self.rules, &self.queue.view(id)?, &verdict)?;
        self.decide_taken(self.queue.take_request(id, digest)?, verdict)
            .await
    }

    /// Returns the rule that a verdict on a request in the queue would make, if any. Decides
    /// nothing.
    ///
    /// # Errors
    /// Returns an error if the request no longer waits, or if the verdict cannot be applied to it.
    pub fn preview(&self, id: &CallId, verdict: &Verdict) -> Result<Option<RuleSpec>, DecideError> {
        let waiting = self.queue.view(id)?;
        verdict::check(&self.rules, &waiting, verdict)?;
        Ok(verdict::rule_from(&waiting.request, verdict))
    }

    /// Decides a request that was taken out of the queue.
    pub(crate) async fn decide_taken(
        &self,
        taken: TakenRequest,
        verdict: Verdict,
    ) -> Result<Call, DecideError> {
        let TakenRequest { request, subject } = taken;
        let gone = QueueError::Gone(request.id.clone());
        match subject {
            Subject::Result {
                call,
                verdict: sender,
            } => {
                sender.send(verdict).map_err(|_| gone)?;
                Ok(*call)
            }
            Subject::Request(pending) if pending.answer.is_closed() => Err(gone.into()),
            Subject::Request(pending) => {
                let gate = self.clone();
                // A task of its own completes a decision that has begun, even if the caller is
                // dropped.
                let decision =
                    tokio::spawn(
                        async move { gate.decide_request(request, *pending, verdict).await },
                    );
                decision.await.map_err(|_| gone)?
            }
        }
    }

    async fn decide_request(
        &self,
        approval: ApprovalRequest,
        pending: PendingRequest,
        verdict: Verdict,
    ) -> Result<Call, DecideError> {
        let PendingRequest {
            mut request,
            mut record,
            answer,
        } = pending;
        let rule =
            verdict::rule_from(&approval, &verdict).map(|spec| verdict::bind_rule(&approval, spec));
        // No rule changes between the check below and the moment when the new rule is in force.
        let writer = match &rule {
            Some(_) => Some(self.rules.writer().await),
            None => None,
        };
        let is_dismissed = matches!(verdict, Verdict::Dismiss);
        let is_approved = self.apply_verdict(&mut request, &mut record, verdict, rule.as_ref());
        let new_rule = writer.as_ref().zip(rule.as_ref()).filter(|_| is_approved);
        // The rule is in force before the client gets its answer, because the client's next call
        // may follow at once.
        match self.write_decision(request, record, new_rule).await {
            Ok((row, permitted)) => {
                let _ = answer.send(if is_dismissed {
                    Err(Refusal::Dismissed)
                } else {
                    permitted
                });
                Ok(row.call.clone())
            }
            Err(error) => {
                let _ = answer.send(Err(Refusal::NotRecorded(error.clone())));
                Err(error.into())
            }
        }
    }

    /// Enters a person's verdict into the record, after the same checks as for any call. Returns
    /// whether the call is approved.
    fn apply_verdict(
        &self,
        request: &mut GuardedRequest,
        record: &mut PendingRecord,
        verdict: Verdict,
        rule: Option<&Rule>,
    ) -> bool {
        let (reason, edited_arguments) = match verdict {
            Verdict::Deny { reason } => {
                record.decide(Decision::Denied, DecidedBy::Person, reason);
                return false;
            }
            Verdict::Dismiss => {
                let reason = "closed without an answer".to_owned();
                record.decide(Decision::Denied, DecidedBy::Person, reason);
                return false;
            }
            Verdict::FillIn { content } => match request.fill_in(content) {
                Ok(reason) => (reason, None),
                Err(error) => {
                    record.decide(Decision::Denied, DecidedBy::Hub, error.to_string());
                    return false;
                }
            },
            Verdict::ApproveOnce { arguments: None } => ("once".to_owned(), None),
            Verdict::ApproveOnce { arguments } => {
                ("once, with edited arguments".to_owned(), arguments)
            }
            Verdict::ApproveFor { seconds, .. } => (format!("for {seconds} s"), None),
            Verdict::ApproveCalls { count, .. } => (format!("and the next {count} calls"), None),
            Verdict::ApproveSession { .. } => ("for this session".to_owned(), None),
            Verdict::ApproveAlways { .. } => ("always".to_owned(), None),
        };
        if let Some(arguments) = edited_arguments {
            if let Err(error) = request.edit_arguments(&self.rules, arguments) {
                record.decide(Decision::Denied, DecidedBy::Hub, error.to_string());
                return false;
            }
            record.mark_edited(request);
        }
        if let Some(Err(error)) = rule.map(Rules::check_conditions) {
            record.decide(Decision::Denied, DecidedBy::Hub, error.to_string());
            return false;
        }
        // A rule may have been added while the call waited.
        if let Some(ruling) = self.rules.find_denial(&request.match_input()) {
            record.decide_by_ruling(Decision::Denied, ruling);
            return false;
        }
        record.decide(Decision::Allowed, DecidedBy::Person, reason);
        true
    }

    /// Returns whether a rule denies the request. The request does not count towards a rule's limit
    /// of calls, and is not recorded.
    pub fn is_denied(&self, request: &GuardedRequest) -> bool {
        self.rules.find_denial(&request.match_input()).is_some()
    }

    /// Returns whether the policy denies every request of this kind between this client and this
    /// server.
    pub fn denies_all(
        &self,
        kind: RequestKind,
        client: &ClientName,
        server: &RegisteredServer,
    ) -> bool {
        self.rules.denies_all(kind, client, server)
    }

    /// Returns whether the client names this tool, prompt or resource for the first time. Returns
    /// `false` if the history cannot be read, because an earlier request may then exist.
    async fn is_first(&self, request: &GuardedRequest) -> bool {
        self.store
            .has_called(&request.client, &request.server.id, &request.name)
            .await
            .is_ok_and(|called| !called)
    }

    async fn find_suspended_allow(&self, request: &GuardedRequest) -> Option<SuspendedAllow> {
        let rule = self.rules.find_suspended_allow(&request.match_input())?;
        let server = &request.server;
        let current = request.definition()?;
        // If the tool has changed since its acceptance, the approval request shows that change in
        // `changed`, so `definitions` omits it.
        let earlier_digest = rule
            .definition_digest
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

    /// Returns the result of a permitted request, unchanged or masked. If the result is held, waits
    /// until a person releases it. `call` is the record of the request, and `flags` are the flags
    /// of the result.
    ///
    /// # Errors
    /// Returns an error if the result is withheld.
    pub async fn release_result(
        &self,
        request: &GuardedRequest,
        call: &Call,
        result: Json,
        flags: &[ContentFlag],
        handle: Option<&ClientHandle>,
    ) -> Result<Json, Refusal> {
        let asks = !flags.is_empty() && request.server.spec.content_defence == ContentDefence::Ask;
        let (result, rule) = match self.rules.result_effect(&request.match_input()) {
            None if !asks => return Ok(result),
            Some((ResultEffect::Mask, _)) if !asks => return Ok(self.mask_result(result)),
            None => (result, content::RULE.to_owned()),
            Some((ResultEffect::Mask, _)) => (self.mask_result(result), content::RULE.to_owned()),
            Some((ResultEffect::Hold, rule)) => (result, rule),
        };
        // The result of a task is held when the client fetches it.
        if tasks::is_status_only(&result) {
            return Ok(result);
        }
        let withheld = |reason| Refusal::Withheld { rule, reason };
        if result.get().len() > MAX_SHOWN {
            return Err(withheld(WithheldReason::TooLarge(MAX_SHOWN)));
        }
        let timeout = self.approval_timeout(&request.client);
        let id = CallId::new(random::ordered_id());
        let mut approval = approval_request(request, id, timeout);
        approval.digest =
            digest::sha256_parts(&[approval.digest.as_bytes(), result.get().as_bytes()]);
        approval.result = Some(result.get().to_owned());
        approval.flags = flags
            .iter()
            .map(|flag| mask_flag(&self.recorder.logs, flag))
            .collect();
        let waiting = WaitingClient::new(request, handle);
        let (verdict, decided) = oneshot::channel();
        let subject = Subject::Result {
            call: Box::new(call.clone()),
            verdict,
        };
        let ticket = match self
            .queue
            .enqueue(approval, target_of(request), timeout, subject)
        {
            Ok(ticket) => ticket,
            Err((reason, _)) => return Err(withheld(Undecided::from(reason).into())),
        };
        let span = self.tracer.begin_approval(request.trace, &request.name);
        let metrics = &self.recorder.metrics;
        metrics.count_asked(call);
        let asked_at = Instant::now();
        let answer = Box::pin(self.wait_for_answer(&ticket, decided, waiting)).await;
        let decision = match &answer {
            Ok(Verdict::Deny { .. }) => Decision::Denied,
            Ok(_) => Decision::Allowed,
            Err(unanswered) => unanswered.reason.to_decision().0,
        };
        metrics.count_decision(call, decision, elapsed_ms(asked_at));
        let reason = answer
            .as_ref()
            .err()
            .map(|unanswered| unanswered.reason.to_string());
        self.recorder
            .log_result_decision(call, decision, reason.as_deref().unwrap_or_default());
        end_span(span, decision);
        match answer {
            Ok(Verdict::Deny { reason }) => Err(withheld(WithheldReason::Denied(reason))),
            Ok(
                Verdict::ApproveOnce { .. }
                | Verdict::ApproveFor { .. }
                | Verdict::ApproveCalls { .. }
                | Verdict::ApproveSession { .. }
                | Verdict::ApproveAlways { .. }
                | Verdict::FillIn { .. }
                | Verdict::Dismiss,
            ) => Ok(result),
            Err(unanswered) => Err(withheld(unanswered.reason.into())),
        }
    }

    /// Returns the server's error as the answer to a permitted request. The rules for results apply
    /// to the error, because its message and data are text of the server too.
    ///
    /// # Errors
    /// Returns an error if the server's error is withheld.
    pub async fn release_error(
        &self,
        request: &GuardedRequest,
        call: &Call,
        error: RpcError,
        flags: &[ContentFlag],
        handle: Option<&ClientHandle>,
    ) -> Result<RpcError, Refusal> {
        let text = json::to_raw(&error).get().to_owned();
        let released = self
            .release_result(request, call, Json::new(text), flags, handle)
            .await?;
        Ok(RpcError::parse_or_wrap(&released.to_raw(), "server"))
    }

    /// Returns the params of a notification about the task that a request started, masked if a rule
    /// says so. Returns `None` if the client must not get the notification.
    pub fn release_notification<'a>(
        &self,
        request: &GuardedRequest,
        params: &'a RawValue,
    ) -> Option<Cow<'a, RawValue>> {
        let input = request.match_input();
        if self.drawbridge.is_paused() || self.rules.find_denial(&input).is_some() {
            return None;
        }
        // The client gets a flagged result only as an answer, with its notice.
        if tasks::may_contain_result(params)
            && content::may_be_flagged(&request.server, &Json::new(params.get()))
        {
            return None;
        }
        match self.rules.result_effect(&input) {
            None => Some(Cow::Borrowed(params)),
            Some((ResultEffect::Mask, _)) => {
                Some(match self.recorder.logs.redact_json(params.get()) {
                    Cow::Borrowed(_) => Cow::Borrowed(params),
                    Cow::Owned(masked) => Cow::Owned(json::raw(masked)),
                })
            }
            // The client gets a held result only as an answer, after a person has seen it.
            Some((ResultEffect::Hold, _)) => {
                (!tasks::may_contain_result(params)).then_some(Cow::Borrowed(params))
            }
        }
    }

    /// Masks known secrets and anything that looks like one. Returns the result unchanged if it
    /// contains neither.
    fn mask_result(&self, result: Json) -> Json {
        let masked = match self.recorder.logs.redact_json(result.get()) {
            Cow::Borrowed(_) => return result,
            Cow::Owned(masked) => masked,
        };
        Json::new(masked)
    }
}

fn decision_of(answer: &Result<Permitted, Refusal>) -> Decision {
    if answer.is_ok() {
        Decision::Allowed
    } else {
        Decision::Denied
    }
}

fn end_span(span: Option<Box<OpenSpan>>, decision: Decision) {
    if let Some(span) = span {
        span.end_with_decision(decision);
    }
}

/// A request that no person answered.
struct Unanswered {
    reason: Undecided,
    /// The subject, or `None` if the task that was to decide it has failed.
    subject: Option<Subject>,
}

impl Unanswered {
    fn interrupted() -> Self {
        Self {
            reason: Undecided::Interrupted,
            subject: None,
        }
    }
}

/// The client whose request waits for a person.
struct WaitingClient<'a> {
    handle: Option<&'a ClientHandle>,
    progress_token: Option<ProgressToken>,
}

impl<'a> WaitingClient<'a> {
    fn new(request: &GuardedRequest, handle: Option<&'a ClientHandle>) -> Self {
        Self {
            handle,
            progress_token: request.progress_token.clone(),
        }
    }

    /// Sends the client a progress notification, if it asked for progress notifications.
    fn notify(&self, count: u32) {
        let Some(handle) = self.handle else { return };
        let Some(token) = handle
            .progress_token()
            .or_else(|| self.progress_token.clone())
        else {
            return;
        };
        let params = token.early_progress(count, "Waiting for the user's decision");
        handle.notify("notifications/progress", Some(&params));
    }
}

fn target_of(request: &GuardedRequest) -> RequestTarget {
    RequestTarget {
        server: request.server.clone(),
        entry: request.entry.clone(),
    }
}

/// Returns the flags of the params of a sampling or elicitation request, or of the definition of
/// the tool, prompt or resource that any other request names.
fn flags_of(request: &GuardedRequest) -> Vec<ContentFlag> {
    let server = &request.server;
    match request.kind {
        RequestKind::Sampling | RequestKind::Elicitation => {
            content::find_flags(server, &Json::new(request.params.get()))
        }
        RequestKind::Tools | RequestKind::Prompts | RequestKind::Resources | RequestKind::Roots => {
            request
                .definition()
                .filter(|_| server.spec.content_defence != ContentDefence::Off)
                .map(|definition| definition.flags().to_vec())
                .unwrap_or_default()
        }
    }
}

fn approval_request(request: &GuardedRequest, id: CallId, timeout: Duration) -> ApprovalRequest {
    let definition = request.definition();
    let asked_at = clock::now();
    let timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    ApprovalRequest {
        id,
        method: request.method,
        kind: request.kind,
        client: request.client.clone(),
        server: request.server.id.clone(),
        server_name: request.server.name().to_owned(),
        project: request
            .project
            .as_ref()
            .map(|folder| folder.display().to_string()),
        tool: request.name.clone(),
        tool_title: definition.and_then(|definition| definition.title.clone()),
        exposed_name: request.exposed_name.clone(),
        description: definition
            .map(|definition| definition.description.clone())
            .unwrap_or_default(),
        annotations: definition
            .map(|definition| definition.annotations.clone())
            .unwrap_or_default(),
        arguments: request.arguments.get().to_owned(),
        request_hooks: request.request_hooks().to_vec(),
        extra: request.extra.as_ref().map(|extra| extra.get().to_owned()),
        result: None,
        flags: flags_of(request),
        sampling_provider: request.sampling_provider().map(str::to_owned),
        is_filled_in_by_person: request.is_filled_in_by_person(),
        is_first: false,
        suspended: None,
        changed: definition.and_then(|definition| {
            let offered = definition.offered.as_ref()?;
            Some([definition.raw.get(), &offered.text].map(str::to_owned))
        }),
        session: request.session.clone(),
        identity: request.server.identity.clone(),
        definition_digest: request.definition_digest().to_owned(),
        digest: request.digest(),
        asked_at,
        expires_at: Timestamp(asked_at.0 + i64::from(timeout_ms)),
        timeout_ms,
        remaining_ms: timeout_ms,
    }
}

#[cfg(test)]
mod tests;
