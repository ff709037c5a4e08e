//! Runs hooks, and remembers how their latest runs ended.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use drawbridge_model::{
    clock,
    event::{Event, Events},
    hook::{Hook, HookEffect, HookEvent, HookRun, HookState, HookTarget},
    ids::ServerId,
};
use drawbridge_store::{
    logs::Logs,
    secrets::{SecretError, SecretScope, Secrets},
};
use drawbridge_upstream::{
    WebhookClient, WebhookError,
    transport::{
        MAX_MESSAGE,
        process::{
            Launch,
            guard::Guard,
            run::{RunError, RunLimits, run_with_limits},
        },
    },
};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use super::{answer::AnswerError, referenced_secrets};

/// The maximum number of runs of one hook at the same time. Further runs wait.
const MAX_PARALLEL: usize = 8;
/// How many runs of a hook are remembered.
const MAX_RUNS: usize = 50;

/// A hook, and the state that its runs share.
pub(super) struct PreparedHook {
    pub(super) hook: Hook,
    slots: Semaphore,
    webhook: OnceLock<Result<WebhookClient, WebhookError>>,
}

/// Why a run of a hook failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HookFailure {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Program(#[from] RunError),
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    #[error("it did not answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

/// The event that starts a run of a hook.
#[derive(Debug, Clone)]
pub(super) struct HookTrigger {
    pub(super) event: HookEvent,
    pub(super) server: ServerId,
    /// Empty for an event of a server.
    pub(super) tool: String,
    /// Whether the run is a person's trial of the hook.
    pub(super) is_trial: bool,
}

/// Runs hooks, and keeps the latest runs of each hook.
pub(super) struct Runner {
    secrets: Secrets,
    logs: Logs,
    events: Events,
    guard: Guard,
    /// The runs of the saved hooks, by their names.
    history: Mutex<BTreeMap<String, HookHistory>>,
    /// Whether a front end has read states or runs since the last [`Event::HooksChanged`]. Without
    /// a reader, no further event is needed.
    is_read: AtomicBool,
}

#[derive(Default)]
struct HookHistory {
    state: HookState,
    /// The latest runs, oldest first.
    runs: VecDeque<HookRun>,
}

impl PreparedHook {
    pub(super) fn new(hook: Hook) -> Self {
        Self {
            hook,
            slots: Semaphore::new(MAX_PARALLEL),
            webhook: OnceLock::new(),
        }
    }

    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.hook.timeout_ms.into())
    }
}

impl Runner {
    pub(super) fn new(secrets: Secrets, logs: Logs, events: Events, guard: Guard) -> Self {
        Self {
            secrets,
            logs,
            events,
            guard,
            history: Mutex::default(),
            is_read: AtomicBool::new(false),
        }
    }

    /// Runs a hook on its input, and interprets its output with `read`. Records the run with the
    /// effect and the reason that `describe` returns. If the future is dropped, the program is
    /// ended, and the run is not recorded.
    ///
    /// # Errors
    /// Returns the reason, with secrets masked, if the run fails, if it takes longer than the
    /// hook's timeout, or if its answer is invalid. The reason is also logged.
    pub(super) async fn run<T>(
        &self,
        hook: &PreparedHook,
        trigger: &HookTrigger,
        input: &str,
        read: impl FnOnce(&[u8]) -> Result<T, AnswerError>,
        describe: impl FnOnce(&T) -> (HookEffect, String),
    ) -> Result<T, String> {
        let started = Instant::now();
        let outcome = timeout(hook.timeout(), self.execute(hook, input)).await;
        let outcome = outcome
            .unwrap_or(Err(HookFailure::TimedOut(hook.timeout())))
            .and_then(|output| Ok(read(&output)?));
        let outcome = outcome.map_err(|failure| self.logs.mask_text(&failure.to_string()));
        let (effect, reason) = match &outcome {
            Ok(answer) => describe(answer),
            Err(failure) => {
                tracing::warn!(
                    "hook {} failed on {}: {failure}",
                    hook.hook.name,
                    trigger.event.as_str()
                );
                (HookEffect::Failed, failure.clone())
            }
        };
        self.record(HookRun {
            at: clock::now(),
            hook: hook.hook.name.clone(),
            event: trigger.event,
            server: trigger.server.clone(),
            tool: trigger.tool.clone(),
            effect,
            reason: self.logs.mask_text(&reason),
            duration_ms: u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX),
            is_trial: trigger.is_trial,
        });
        outcome
    }

    /// Runs a hook, and returns its output.
    pub(super) async fn execute(
        &self,
        hook: &PreparedHook,
        input: &str,
    ) -> Result<Vec<u8>, HookFailure> {
        let _slot = hook
            .slots
            .acquire()
            .await
            .expect("the semaphore is never closed");
        let target = &hook.hook.target;
        // The hook may use every secret that it names, because a person wrote it.
        let scope = SecretScope::new(
            ServerId::new(format!("hook:{}", hook.hook.name)),
            referenced_secrets(target),
        );
        let values = target.values_with_references();
        let (mut values, used) = self.secrets.resolve(&values, &scope).await?;
        used.iter().for_each(|secret| self.logs.add_secret(secret));
        match target {
            HookTarget::Command { program, args, .. } => {
                let launch = Launch {
                    command: program.clone(),
                    args: args.clone(),
                    env: values,
                    cwd: None,
                    sandbox: None,
                    recording: None,
                    stop_timeout: Duration::ZERO,
                };
                let limits = RunLimits {
                    timeout: hook.timeout(),
                    max_output: MAX_MESSAGE,
                };
                Ok(run_with_limits(&launch, &self.guard, input.as_bytes(), limits).await?)
            }
            HookTarget::Webhook { url, .. } => {
                let client = hook.webhook.get_or_init(|| WebhookClient::new(url));
                let client = client.as_ref().map_err(Clone::clone)?;
                // `values_with_references` has the URL under the empty name.
                let url = values.remove("").unwrap_or_default();
                let body = input.as_bytes().to_vec();
                let answer = client.post(&url, &values, body, hook.timeout(), MAX_MESSAGE);
                Ok(answer.await?)
            }
        }
    }

    /// Masks the secrets in a text of any length.
    pub(super) fn redact(&self, text: &str) -> String {
        self.logs.redactor(&[]).redact(text).into_owned()
    }

    /// Returns a hook's counts and its last run.
    pub(super) fn state(&self, name: &str) -> HookState {
        self.is_read.store(true, Ordering::Relaxed);
        let history = self.history();
        history
            .get(name)
            .map(|history| history.state.clone())
            .unwrap_or_default()
    }

    /// Returns the latest runs of a hook, or of all hooks, newest first.
    pub(super) fn runs(&self, name: Option<&str>) -> Vec<HookRun> {
        self.is_read.store(true, Ordering::Relaxed);
        let history = self.history();
        let selected = history
            .iter()
            .filter(|(hook, _)| name.is_none_or(|name| name == *hook));
        let mut runs: Vec<_> = selected
            .flat_map(|(_, history)| history.runs.iter().rev().cloned())
            .collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.at));
        runs
    }

    /// Keeps the runs of the hooks with these names, and deletes the runs of all other hooks.
    pub(super) fn keep_runs_of<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let mut history = self.history();
        let mut before = std::mem::take(&mut *history);
        *history = names
            .map(|name| (name.to_owned(), before.remove(name).unwrap_or_default()))
            .collect();
    }

    /// Counts an event for which a hook's queue had no room. Returns how many such events the hook
    /// has missed.
    pub(super) fn count_dropped(&self, name: &str) -> u32 {
        let mut history = self.history();
        let state = &mut history.entry(name.to_owned()).or_default().state;
        state.dropped = state.dropped.saturating_add(1);
        let dropped = state.dropped;
        drop(history);
        self.publish();
        dropped
    }

    /// Records a run. A trial is not counted. The runs of a hook that is not saved are not
    /// recorded.
    fn record(&self, run: HookRun) {
        let mut history = self.history();
        let Some(HookHistory { state, runs }) = history.get_mut(&run.hook) else {
            return;
        };
        if !run.is_trial {
            state.runs = state.runs.saturating_add(1);
            state.failures = state
                .failures
                .saturating_add((run.effect == HookEffect::Failed).into());
            state.last = Some(run.clone());
        }
        if runs.len() >= MAX_RUNS {
            runs.pop_front();
        }
        runs.push_back(run);
        drop(history);
        self.publish();
    }

    /// Publishes that the states have changed, if a front end has read them since the last
    /// publication.
    fn publish(&self) {
        if self.is_read.swap(false, Ordering::Relaxed) {
            self.events.publish(Event::HooksChanged);
        }
    }

    fn history(&self) -> MutexGuard<'_, BTreeMap<String, HookHistory>> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
