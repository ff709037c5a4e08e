//! Hooks: programs and webhooks that run on the events of servers and calls. Only a person can add
//! a hook; no file, server or client can.

use std::collections::BTreeMap;

use drawbridge_model::{
    audit::AuditKind,
    hook::{Hook, HookEffect, HookEvent, HookRun, HookState, HookTarget},
    random,
};
use drawbridge_store::secrets::{self, Secret};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ApiError, Done, Verb, secrets as secret_verbs};
use crate::{hooks::sample_payload, hub::Hub};

/// The maximum number of runs that `hooks.log` returns.
const MAX_LISTED_RUNS: usize = 200;

/// A hook, and how it has run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HookView {
    #[serde(flatten)]
    pub hook: Hook,
    pub state: HookState,
}

/// `hooks.list`: all hooks, in the order in which they run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListHooks {}

/// `hooks.add`: adds a hook.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AddHook {
    pub hook: Hook,
    /// The position in the order of all hooks, counted from 0; the end if absent.
    #[serde(default)]
    pub position: Option<u32>,
    /// Values of variables or headers, by their names. The values are stored in the secret store,
    /// and the hook refers to them.
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<BTreeMap<String, String>>", optional))]
    pub secret_values: BTreeMap<String, String>,
}

/// `hooks.edit`: replaces a hook, which keeps its position and may get another name. Removes the
/// secrets that Drawbridge stored for the hook and that no hook uses any more.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct EditHook {
    /// The present name of the hook.
    pub name: String,
    pub hook: Hook,
    /// As in `hooks.add`.
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<BTreeMap<String, String>>", optional))]
    pub secret_values: BTreeMap<String, String>,
}

/// `hooks.remove`: removes a hook, and the secrets that Drawbridge stored for the hook and that no
/// other hook uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RemoveHook {
    pub name: String,
}

/// `hooks.enable`: lets a disabled hook run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct EnableHook {
    pub name: String,
}

/// `hooks.disable`: stops running a hook, without removing the hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisableHook {
    pub name: String,
}

/// `hooks.reorder`: moves a hook to another position in the order in which hooks run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ReorderHook {
    pub name: String,
    /// The new position, counted from 0.
    pub position: u32,
}

/// `hooks.try`: runs a hook, which need not be saved, and shows what the hook would do to a call.
/// No call is affected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TryHook {
    pub hook: Hook,
    pub event: HookEvent,
    /// The payload as JSON text; a sample if absent.
    #[serde(default)]
    pub payload: Option<String>,
}

/// The result of a trial of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HookTrial {
    /// The input of the hook, as JSON text.
    pub input: String,
    /// The output of the hook, with secrets masked, up to 64 KiB.
    pub output: String,
    /// The effect that the hook would have on a call.
    pub effect: HookEffect,
    /// Why the hook would deny the call, or why the hook failed; empty otherwise.
    pub reason: String,
    pub duration_ms: u32,
}

/// `hooks.log`: the latest runs of hooks, at most 200, newest first. Drawbridge keeps the
/// latest 50 runs of each hook in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListHookRuns {
    /// Only runs of this hook.
    #[serde(default)]
    pub name: Option<String>,
}

/// `hooks.samples`: a payload of each event with made-up values, as JSON text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListHookSamples {}

/// A payload of an event with made-up values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HookSample {
    pub event: HookEvent,
    pub payload: String,
}

impl Verb for ListHooks {
    type Answer = Vec<HookView>;

    async fn run(self, hub: &Hub) -> Result<Vec<HookView>, ApiError> {
        let view = |(hook, state)| HookView { hook, state };
        Ok(hub.hooks.all().into_iter().map(view).collect())
    }
}

impl Verb for AddHook {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let (hook, values) = with_references(self.hook, self.secret_values)?;
        let note = audit_note("added", &hook);
        let position = self.position.and_then(|at| usize::try_from(at).ok());
        let added = hook.clone();
        store_values(hub, &added, values).await?;
        if let Err(error) = hub.hooks.add(hook, position).await {
            remove_unused_secrets(hub, &added).await;
            return Err(error.into());
        }
        hub.store.append_audit(AuditKind::HookChanged, &note);
        Ok(Done {})
    }
}

impl Verb for EditHook {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let before = hub.hooks.get(&self.name)?;
        let (hook, values) = with_references(self.hook, self.secret_values)?;
        let mut note = audit_note("edited", &hook);
        if hook.name != before.name {
            note["before"] = before.name.clone().into();
        }
        let edited = hook.clone();
        store_values(hub, &edited, values).await?;
        if let Err(error) = hub.hooks.replace(&self.name, hook).await {
            remove_unused_secrets(hub, &edited).await;
            return Err(error.into());
        }
        hub.store.append_audit(AuditKind::HookChanged, &note);
        remove_unused_secrets(hub, &before).await;
        Ok(Done {})
    }
}

impl Verb for RemoveHook {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let hook = hub.hooks.get(&self.name)?;
        hub.hooks.remove(&self.name).await?;
        let note = json!({ "hook": self.name, "change": "removed" });
        hub.store.append_audit(AuditKind::HookChanged, &note);
        remove_unused_secrets(hub, &hook).await;
        Ok(Done {})
    }
}

impl Verb for EnableHook {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        set_enabled(hub, &self.name, true).await
    }
}

impl Verb for DisableHook {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        set_enabled(hub, &self.name, false).await
    }
}

async fn set_enabled(hub: &Hub, name: &str, enabled: bool) -> Result<Done, ApiError> {
    hub.hooks.set_enabled(name, enabled).await?;
    let change = if enabled { "enabled" } else { "disabled" };
    let note = json!({ "hook": name, "change": change });
    hub.store.append_audit(AuditKind::HookChanged, &note);
    Ok(Done {})
}

impl Verb for ReorderHook {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let position = usize::try_from(self.position).unwrap_or(usize::MAX);
        hub.hooks.move_to(&self.name, position).await?;
        let note = json!({ "hook": self.name, "change": "moved", "position": self.position });
        hub.store.append_audit(AuditKind::HookChanged, &note);
        Ok(Done {})
    }
}

impl Verb for TryHook {
    type Answer = HookTrial;

    async fn run(self, hub: &Hub) -> Result<HookTrial, ApiError> {
        let payload = match self.payload {
            Some(text) => {
                let payload = serde_json::value::RawValue::from_string(text);
                Some(payload.map_err(|e| ApiError::invalid(format!("'payload': {e}")))?)
            }
            None => None,
        };
        let note = audit_note("tried", &self.hook);
        let trial = hub.hooks.run_trial(self.hook, self.event, payload).await?;
        hub.store.append_audit(AuditKind::HookChanged, &note);
        Ok(HookTrial {
            input: trial.input,
            output: trial.output,
            effect: trial.effect,
            reason: trial.reason,
            duration_ms: trial.duration_ms,
        })
    }
}

impl Verb for ListHookRuns {
    type Answer = Vec<HookRun>;

    async fn run(self, hub: &Hub) -> Result<Vec<HookRun>, ApiError> {
        if let Some(name) = &self.name {
            hub.hooks.get(name)?;
        }
        let mut runs = hub.hooks.runs(self.name.as_deref());
        runs.truncate(MAX_LISTED_RUNS);
        Ok(runs)
    }
}

impl Verb for ListHookSamples {
    type Answer = Vec<HookSample>;

    async fn run(self, _: &Hub) -> Result<Vec<HookSample>, ApiError> {
        let sample = |event: HookEvent| {
            let payload: Value = serde_json::from_str(sample_payload(event).get())
                .expect("a sample was written as JSON");
            HookSample {
                event,
                payload: serde_json::to_string_pretty(&payload).expect("JSON can be written"),
            }
        };
        Ok(HookEvent::ALL.map(sample).into())
    }
}

/// Returns the body of the audit log's entry about a new or changed hook, or about a trial. The
/// body names the program or the host, but has no arguments and no values of variables and headers,
/// which may be secrets.
fn audit_note(change: &str, hook: &Hook) -> Value {
    let target = match &hook.target {
        HookTarget::Command { program, args, env } => json!({
            "program": program,
            "arguments": args.len(),
            "variables": env.keys().collect::<Vec<_>>(),
        }),
        HookTarget::Webhook { url, headers } => json!({
            // The path and the query may contain a token.
            "host": url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)),
            "headers": headers.keys().collect::<Vec<_>>(),
        }),
    };
    json!({
        "hook": hook.name, "change": change, "events": hook.events, "mode": hook.mode,
        "server": hook.server, "tool": hook.tool, "on_failure": hook.on_failure,
        "enabled": hook.enabled, "target": target,
    })
}

/// Returns the hook with references to new secrets in place of `values`, and each secret's name and
/// value.
fn with_references(
    mut hook: Hook,
    values: BTreeMap<String, String>,
) -> Result<(Hook, Vec<(String, String)>), ApiError> {
    let texts = match &mut hook.target {
        HookTarget::Command { env, .. } => env,
        HookTarget::Webhook { headers, .. } => headers,
    };
    let mut named = Vec::new();
    for (key, value) in values {
        if key.contains(['{', '}']) {
            return Err(ApiError::invalid(format!(
                "'{key}' is not a valid name of a variable or header: it contains {{ or }}"
            )));
        }
        // The secret's name has a random id instead of the hook's name, because a hook can be
        // renamed, and another hook can then get the old name.
        let secret = format!("hook:{}.{key}", random::id());
        texts.insert(key, secrets::format_reference(&secret));
        named.push((secret, value));
    }
    Ok((hook, named))
}

/// Stores the values to which a hook refers. If a value cannot be stored, removes the others.
async fn store_values(
    hub: &Hub,
    hook: &Hook,
    values: Vec<(String, String)>,
) -> Result<(), ApiError> {
    for (name, value) in values {
        if let Err(error) = secret_verbs::store_secret(hub, &name, Secret::new(value)).await {
            remove_unused_secrets(hub, hook).await;
            return Err(error.into());
        }
    }
    Ok(())
}

/// Removes the secrets that Drawbridge stored for a hook and that no hook uses now. If the secret
/// store cannot be used, the secrets stay there.
async fn remove_unused_secrets(hub: &Hub, hook: &Hook) {
    let used = hub.hooks.referenced_secrets();
    let values = hook.target.values_with_references();
    let own = values
        .values()
        .flat_map(|text| secrets::referenced_names(text))
        .filter(|name| name.starts_with("hook:"));
    for name in own {
        if used.iter().any(|(secret, _)| *secret == name) {
            continue;
        }
        if let Err(error) = secret_verbs::remove_secret(hub, &name).await {
            tracing::warn!("the secret {name} of a hook stays in the secret store: {error}");
        }
    }
}
