//! Hooks: a person's programs and webhooks, which run on the events of servers and calls.
//!
//! Each observing hook gets its events through its own queue, and no call waits for the hook
//! ([`observe`]). Blocking hooks may change or deny a call before it is decided, and replace its
//! result ([`review`]). A run that fails, hangs or writes garbage is logged and counted. The call
//! is denied, or its result withheld, only if the person has chosen that for the hook.

mod answer;
mod connections;
mod observe;
mod payload;
mod review;
mod runner;
mod trial;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use drawbridge_model::{
    event::{Event, Events},
    hook::{Hook, HookEvent, HookMode, HookRun, HookState, HookTarget, OnFailure},
    ids::ServerId,
    names::is_valid_label,
};
use drawbridge_store::{
    Store, StoreError,
    logs::Logs,
    secrets::{self, Secrets},
    table::hook::HookRow,
};
use drawbridge_upstream::{
    ConnectionChange, WebhookClient, WebhookError, check_header_name,
    transport::process::guard::Guard,
};
use tokio::sync::{Mutex, mpsc};

use observe::LoadedHook;
use runner::Runner;

pub use review::{Denial, WatchedCall};
pub use trial::{Trial, sample_payload};

/// The maximum number of hooks.
const MAX_HOOKS: usize = 50;
/// The bounds of a hook's timeout, in milliseconds.
const TIMEOUT_MS: std::ops::RangeInclusive<u32> = 100..=60_000;
/// The maximum number of arguments, variables or headers of a hook.
const MAX_PARTS: usize = 100;
/// The longest program, URL, argument, variable or header of a hook, in bytes.
const MAX_PART_LEN: usize = 8 * 1024;
/// Shown as the program of a stored hook that cannot be read. No program has this name.
const UNREADABLE_PROGRAM: &str = "(this hook cannot be read; save it again or remove it)";
/// How long the hub, when it closes, waits for the hooks to run on their queued events.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// All hooks, in their order. Cheap to clone.
#[derive(Clone)]
pub struct Hooks {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    events: Events,
    runner: Arc<Runner>,
    table: ArcSwap<Vec<Arc<LoadedHook>>>,
    /// The events for which enabled hooks exist, one bit each. Events without a hook cost only a
    /// read of these bits.
    hooked_events: AtomicU8,
    /// Held while the hooks are changed, so that changes are made one at a time.
    write_lock: Mutex<()>,
    /// The changes of connections. One task follows them, and `close` reads the rest.
    connection_changes: Mutex<mpsc::Receiver<ConnectionChange>>,
}

/// The reason why the hooks were not changed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error(
        "a hook's name must have 1 to 64 characters, without commas, braces and control characters, and without white space at its beginning or end"
    )]
    BadName,
    #[error("there is already a hook '{0}'; choose another name")]
    NameTaken(String),
    #[error("there is no hook '{0}'")]
    Unknown(String),
    #[error("the hook '{0}' cannot be read; save it again or remove it")]
    Unreadable(String),
    #[error("there can be at most {MAX_HOOKS} hooks; remove one first")]
    TooMany,
    #[error("a hook needs at least one event")]
    NoEvent,
    #[error(
        "Drawbridge never waits for a hook on '{}'; use the mode observe, or a hook on tool_requested or tool_executed",
        .0.as_str()
    )]
    CannotBlock(HookEvent),
    #[error("'tool' needs an event of a call: tool_requested or tool_executed")]
    ToolOfServerEvent,
    #[error("'timeout_ms' must be 100 to 60000, not {0}")]
    Timeout(u32),
    #[error("'program' must not be empty")]
    NoProgram,
    #[error(
        "a hook may have at most {MAX_PARTS} arguments, variables or headers; its program or URL, and each of these, may have at most {MAX_PART_LEN} bytes and no zero bytes"
    )]
    TooLong,
    #[error("the name of a variable must not be empty or contain '=', but it is '{0}'")]
    BadVariable(String),
    #[error("the webhook cannot be used: {0}")]
    Webhook(#[from] WebhookError),
    #[error("a hook may not use the secret '{0}', which Drawbridge keeps for itself")]
    ReservedSecret(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Hooks {
    /// Reads the hooks, and starts their queues.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn load(
        store: Store,
        events: Events,
        logs: Logs,
        secrets: Secrets,
        guard: Guard,
        connection_changes: mpsc::Receiver<ConnectionChange>,
    ) -> Result<Self, StoreError> {
        let runner = Arc::new(Runner::new(secrets, logs, events.clone(), guard));
        let hooks = Self {
            shared: Arc::new(Shared {
                store,
                events,
                runner,
                table: ArcSwap::default(),
                hooked_events: AtomicU8::new(0),
                write_lock: Mutex::default(),
                connection_changes: Mutex::new(connection_changes),
            }),
        };
        let rows = hooks.shared.store.hooks().await?;
        hooks.install(rows.into_iter().map(parse_row).collect());
        Ok(hooks)
    }

    /// Returns the hooks in their order, each with the counts and the last of its runs.
    pub fn all(&self) -> Vec<(Hook, HookState)> {
        let state = |hook: &Arc<LoadedHook>| {
            let hook = &hook.prepared.hook;
            (hook.clone(), self.shared.runner.state(&hook.name))
        };
        self.shared.table.load().iter().map(state).collect()
    }

    /// Returns the latest runs of a hook, or of all hooks, newest first.
    pub fn runs(&self, name: Option<&str>) -> Vec<HookRun> {
        self.shared.runner.runs(name)
    }

    /// Returns a hook.
    ///
    /// # Errors
    /// Returns [`HookError::Unknown`] if there is no hook with this name.
    pub fn get(&self, name: &str) -> Result<Hook, HookError> {
        let hooks = self.hooks();
        let hook = hooks.into_iter().find(|hook| hook.name == name);
        hook.ok_or_else(|| HookError::Unknown(name.to_owned()))
    }

    /// Adds a hook at a position, counted from 0, or at the end.
    ///
    /// # Errors
    /// Returns an error if the hook is invalid, if its name is taken, if there are too many hooks,
    /// or if the store cannot be written. In this case, nothing has changed.
    pub async fn add(&self, hook: Hook, position: Option<usize>) -> Result<(), HookError> {
        check_hook(&hook)?;
        self.change_hooks(|hooks| {
            if hooks.iter().any(|other| other.name == hook.name) {
                return Err(HookError::NameTaken(hook.name));
            }
            if hooks.len() >= MAX_HOOKS {
                return Err(HookError::TooMany);
            }
            hooks.insert(position.unwrap_or(usize::MAX).min(hooks.len()), hook);
            Ok(())
        })
        .await
    }

    /// Replaces the hook `name` by `hook`, which takes the same position and may have another name.
    ///
    /// # Errors
    /// Returns an error if `hook` is invalid, if another hook has its name, if there is no hook
    /// `name`, or if the store cannot be written. In this case, nothing has changed.
    pub async fn replace(&self, name: &str, hook: Hook) -> Result<(), HookError> {
        check_hook(&hook)?;
        self.change_hooks(|hooks| {
            let is_taken = hooks
                .iter()
                .any(|other| other.name == hook.name && other.name != name);
            if is_taken {
                return Err(HookError::NameTaken(hook.name));
            }
            let position = find_position(hooks, name)?;
            hooks[position] = hook;
            Ok(())
        })
        .await
    }

    /// Enables or disables a hook.
    ///
    /// # Errors
    /// Returns an error if there is no such hook, if it cannot be read, or if the store cannot be
    /// written.
    pub async fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), HookError> {
        self.change_hooks(|hooks| {
            let position = find_position(hooks, name)?;
            let hook = &mut hooks[position];
            if is_unreadable(hook) {
                return Err(HookError::Unreadable(name.to_owned()));
            }
            hook.enabled = enabled;
            Ok(())
        })
        .await
    }

    /// Moves a hook to a position, counted from 0.
    ///
    /// # Errors
    /// Returns an error if there is no such hook, or if the store cannot be written.
    pub async fn move_to(&self, name: &str, position: usize) -> Result<(), HookError> {
        self.change_hooks(|hooks| {
            let moved = hooks.remove(find_position(hooks, name)?);
            hooks.insert(position.min(hooks.len()), moved);
            Ok(())
        })
        .await
    }

    /// Removes a hook. Its queued events are dropped, and a run on an event from the queue ends at
    /// once. A call that already waits for the hook still gets the hook's answer.
    ///
    /// # Errors
    /// Returns an error if there is no such hook, or if the store cannot be written.
    pub async fn remove(&self, name: &str) -> Result<(), HookError> {
        self.change_hooks(|hooks| {
            hooks.remove(find_position(hooks, name)?);
            Ok(())
        })
        .await
    }

    /// Returns the names of the secrets to which the hooks refer, each with the name of the hook.
    pub fn referenced_secrets(&self) -> Vec<(String, String)> {
        let of_hook = |hook: Hook| {
            let names: BTreeSet<_> = referenced_secrets(&hook.target);
            names
                .into_iter()
                .map(move |secret| (secret, hook.name.clone()))
        };
        self.hooks().into_iter().flat_map(of_hook).collect()
    }

    /// Ends all hooks. Reports the connections that have ended. Hooks still run on the events that
    /// are queued, for two seconds at most. No hook runs on later events.
    pub async fn close(&self) {
        let mut changes = self.shared.connection_changes.lock().await;
        while let Ok(change) = changes.try_recv() {
            self.report_disconnected(&change);
        }
        drop(changes);
        let hooks = self.shared.table.load_full();
        let flushed = futures_util::future::join_all(hooks.iter().map(|hook| hook.flush()));
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, flushed).await;
        drop(hooks);
        self.install(Vec::new());
    }

    /// Changes the hooks in the store, and then in memory. A hook that cannot be read keeps its
    /// stored spec, which a later version may be able to read.
    async fn change_hooks(
        &self,
        change: impl FnOnce(&mut Vec<Hook>) -> Result<(), HookError>,
    ) -> Result<(), HookError> {
        let _guard = self.shared.write_lock.lock().await;
        let mut hooks = self.hooks();
        change(&mut hooks)?;
        let stored = self.shared.store.hooks().await?;
        let row = |hook: &Hook| {
            let unread = stored
                .iter()
                .find(|row| row.name == hook.name && is_unreadable(hook));
            unread.cloned().unwrap_or_else(|| HookRow {
                name: hook.name.clone(),
                spec: serde_json::to_string(hook).expect("a hook can be written as JSON"),
            })
        };
        let rows: Vec<_> = hooks.iter().map(row).collect();
        self.shared.store.put_hooks(&rows).await?;
        self.install(hooks);
        self.shared.events.publish(Event::HooksChanged);
        Ok(())
    }

    fn hooks(&self) -> Vec<Hook> {
        let table = self.shared.table.load();
        table
            .iter()
            .map(|hook| hook.prepared.hook.clone())
            .collect()
    }

    /// Replaces the hooks in memory. Unchanged hooks keep their queues.
    fn install(&self, hooks: Vec<Hook>) {
        let before = self.shared.table.load_full();
        let reuse_or_start = |hook: Hook| {
            let same = before.iter().find(|other| other.prepared.hook == hook);
            same.cloned()
                .unwrap_or_else(|| Arc::new(LoadedHook::start(hook, &self.shared.runner)))
        };
        let table: Vec<_> = hooks.into_iter().map(reuse_or_start).collect();
        let enabled = table.iter().filter(|hook| hook.prepared.hook.enabled);
        let hooked_events = enabled
            .flat_map(|hook| &hook.prepared.hook.events)
            .fold(0, |bits, event| bits | event_bit(*event));
        self.shared
            .runner
            .keep_runs_of(table.iter().map(|hook| hook.prepared.hook.name.as_str()));
        self.shared.table.store(Arc::new(table));
        self.shared
            .hooked_events
            .store(hooked_events, Ordering::Relaxed);
    }

    /// Returns whether there is an enabled hook for this event.
    fn has_hook_for_event(&self, event: HookEvent) -> bool {
        self.shared.hooked_events.load(Ordering::Relaxed) & event_bit(event) != 0
    }

    /// Returns the enabled hooks for an event, in their order.
    fn hooks_for_event(
        &self,
        event: HookEvent,
        server: &ServerId,
        tool: Option<&str>,
    ) -> Vec<Arc<LoadedHook>> {
        let table = self.shared.table.load();
        let matches = |hook: &&Arc<LoadedHook>| hook.prepared.hook.matches(event, server, tool);
        table.iter().filter(matches).cloned().collect()
    }
}

fn event_bit(event: HookEvent) -> u8 {
    match event {
        HookEvent::ServerConnected => 1,
        HookEvent::ServerDisconnected => 2,
        HookEvent::ToolRequested => 4,
        HookEvent::ToolExecuted => 8,
    }
}

fn find_position(hooks: &[Hook], name: &str) -> Result<usize, HookError> {
    let position = hooks.iter().position(|hook| hook.name == name);
    position.ok_or_else(|| HookError::Unknown(name.to_owned()))
}

fn referenced_secrets(target: &HookTarget) -> BTreeSet<String> {
    let values = target.values_with_references();
    values
        .values()
        .flat_map(|text| secrets::referenced_names(text))
        .collect()
}

/// Checks a hook that a person wrote.
fn check_hook(hook: &Hook) -> Result<(), HookError> {
    let name = hook.name.as_str();
    if !is_valid_label(name) || name.contains([',', '{', '}']) {
        return Err(HookError::BadName);
    }
    if hook.events.is_empty() {
        return Err(HookError::NoEvent);
    }
    if hook.mode == HookMode::Blocking
        && let Some(event) = hook.events.iter().find(|event| !event.can_block())
    {
        return Err(HookError::CannotBlock(*event));
    }
    if hook.tool.is_some() && !hook.events.iter().any(|event| event.can_block()) {
        return Err(HookError::ToolOfServerEvent);
    }
    if !TIMEOUT_MS.contains(&hook.timeout_ms) {
        return Err(HookError::Timeout(hook.timeout_ms));
    }
    let fits = |text: &String| text.len() <= MAX_PART_LEN && !text.contains('\0');
    let all_fit = |map: &BTreeMap<String, String>| {
        map.len() <= MAX_PARTS && map.iter().all(|(name, value)| fits(name) && fits(value))
    };
    match &hook.target {
        HookTarget::Command { program, args, env } => {
            if program.trim().is_empty() {
                return Err(HookError::NoProgram);
            }
            if !fits(program) || args.len() > MAX_PARTS || !args.iter().all(fits) || !all_fit(env) {
                return Err(HookError::TooLong);
            }
            let bad_name = env
                .keys()
                .find(|name| name.is_empty() || name.contains('='));
            if let Some(name) = bad_name {
                return Err(HookError::BadVariable(name.clone()));
            }
        }
        HookTarget::Webhook { url, headers } => {
            if !fits(url) || !all_fit(headers) {
                return Err(HookError::TooLong);
            }
            WebhookClient::new(url)?;
            headers
                .keys()
                .try_for_each(|name| check_header_name(name))?;
        }
    }
    let reserved = referenced_secrets(&hook.target)
        .into_iter()
        .find(|name| secrets::is_reserved(name));
    reserved.map_or(Ok(()), |name| Err(HookError::ReservedSecret(name)))
}

/// Reads a stored hook. A hook that cannot be read may have guarded calls, so it is replaced by a
/// hook that always fails and thereby denies all calls.
fn parse_row(row: HookRow) -> Hook {
    serde_json::from_str(&row.spec).unwrap_or_else(|error| {
        tracing::error!(
            "the hook '{}' cannot be read, and calls are denied until it is saved again or removed: {error}",
            row.name
        );
        unreadable_hook(row.name)
    })
}

/// Returns the hook that stands for a stored hook that cannot be read. It denies all calls.
fn unreadable_hook(name: String) -> Hook {
    Hook {
        name,
        events: vec![HookEvent::ToolRequested],
        mode: HookMode::Blocking,
        server: None,
        tool: None,
        timeout_ms: *TIMEOUT_MS.end(),
        on_failure: OnFailure::Deny,
        with_result: false,
        enabled: true,
        target: HookTarget::Command {
            program: UNREADABLE_PROGRAM.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
        },
    }
}

fn is_unreadable(hook: &Hook) -> bool {
    *hook == unreadable_hook(hook.name.clone())
}

#[cfg(test)]
mod tests;
