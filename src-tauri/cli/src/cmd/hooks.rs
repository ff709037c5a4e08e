//! `drawbridge hooks`: manages the programs and webhooks that run on the events of servers and
//! calls.

use std::collections::BTreeMap;

use clap::{Args, Subcommand, ValueEnum};
use drawbridge_hub::api::{
    ApiError,
    hooks::{
        AddHook, DisableHook, EditHook, EnableHook, HookTrial, HookView, ListHookRuns, ListHooks,
        RemoveHook, ReorderHook, TryHook,
    },
};
use drawbridge_model::{
    hook::{Hook, HookEffect, HookEvent, HookMode, HookRun, HookTarget, OnFailure},
    ids::ServerId,
};

use crate::{
    context::Context,
    exit::Failure,
    table::Table,
    text::{enum_text, escape, indent_json},
    time::format_time,
};

#[derive(Subcommand)]
pub(crate) enum Hooks {
    /// List hooks in the order in which they run
    List,
    /// Show a hook with its last run and the number of its runs and failures
    Show {
        /// The hook's name
        name: String,
    },
    /// Add a hook
    ///
    /// A program and its arguments follow `--`. No shell interprets them.
    Add {
        /// The hook's name
        name: String,
        #[command(flatten)]
        fields: Fields,
        /// The position, counted from 1 [default: the last]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        position: Option<u32>,
    },
    /// Change a hook
    ///
    /// Fields that are not given stay as they are. `--on` replaces all events of the hook, and
    /// `--header` and `--env` add to its headers and variables.
    Edit {
        /// The hook's name
        name: String,
        /// A new name
        #[arg(long, value_name = "NAME")]
        rename: Option<String>,
        #[command(flatten)]
        fields: Fields,
        /// Run the hook for every server and every tool
        #[arg(long, conflicts_with_all = ["server", "tool"])]
        everywhere: bool,
    },
    /// Remove a hook, and delete the secrets that only this hook uses
    Remove {
        /// The hook's name
        name: String,
    },
    /// Enable a disabled hook
    Enable {
        /// The hook's name
        name: String,
    },
    /// Disable a hook: keep it, but do not run it
    Disable {
        /// The hook's name
        name: String,
    },
    /// Move a hook to another position in the order
    Move {
        /// The hook's name
        name: String,
        /// The new position, counted from 1
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        position: u32,
    },
    /// Run a hook on a sample, and show what it would do
    ///
    /// No call is affected.
    Try {
        /// The hook's name
        name: String,
        /// The event [default: the hook's first event]
        #[arg(long, value_enum)]
        event: Option<EventArg>,
        /// The payload, a JSON object [default: a sample]
        #[arg(long, value_name = "JSON")]
        payload: Option<String>,
    },
    /// List the latest runs of hooks, newest first
    Log {
        /// Only runs of this hook
        name: Option<String>,
    },
}

/// The fields of a hook.
#[derive(Args)]
pub(crate) struct Fields {
    /// An event on which the hook runs. May be repeated
    #[arg(long = "on", value_enum, value_name = "EVENT")]
    on: Vec<EventArg>,
    /// Whether Drawbridge waits for the hook [default for a new hook: observe]
    #[arg(long, value_enum)]
    mode: Option<ModeArg>,
    /// Only events of this server
    #[arg(long, value_name = "ID")]
    server: Option<String>,
    /// Only calls of this tool: the name under which the server lists the tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// How long a run may take, in milliseconds: 100 to 60000 [default for a new hook: 5000]
    #[arg(long, value_name = "MS")]
    timeout: Option<u32>,
    /// The effect on a call if a blocking hook fails [default for a new hook: allow]
    #[arg(long, value_enum, value_name = "EFFECT")]
    on_failure: Option<OnFailureArg>,
    /// Give the contents of results to an observing hook
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    with_result: Option<bool>,
    /// The URL of a webhook: https, or http on this computer
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// A header of a webhook. The value may refer to a secret as ${keyring:NAME}. May be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    header: Vec<(String, String)>,
    /// A variable of a program's environment. The value may be ${keyring:NAME}. May be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    env: Vec<(String, String)>,
    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    command: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum EventArg {
    ServerConnected,
    ServerDisconnected,
    ToolRequested,
    ToolExecuted,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ModeArg {
    Observe,
    Blocking,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum OnFailureArg {
    Allow,
    Deny,
}

impl From<EventArg> for HookEvent {
    fn from(event: EventArg) -> Self {
        match event {
            EventArg::ServerConnected => Self::ServerConnected,
            EventArg::ServerDisconnected => Self::ServerDisconnected,
            EventArg::ToolRequested => Self::ToolRequested,
            EventArg::ToolExecuted => Self::ToolExecuted,
        }
    }
}

impl From<ModeArg> for HookMode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Observe => Self::Observe,
            ModeArg::Blocking => Self::Blocking,
        }
    }
}

impl From<OnFailureArg> for OnFailure {
    fn from(on_failure: OnFailureArg) -> Self {
        match on_failure {
            OnFailureArg::Allow => Self::Allow,
            OnFailureArg::Deny => Self::Deny,
        }
    }
}

impl Hooks {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List => {
                context
                    .run_and_print(ListHooks {}, |hooks| format_hooks(hooks))
                    .await
            }
            Self::Show { name } => {
                let view = find_hook(context, &name).await?;
                crate::output::print_answer(context.json, &view, format_hook)
            }
            Self::Add {
                name,
                fields,
                position,
            } => {
                let message = format!("Hook '{}' added.", escape(&name));
                let mut hook = new_hook(name);
                fields.apply(&mut hook)?;
                let verb = AddHook {
                    hook,
                    position: position.map(|position| position - 1),
                    secret_values: BTreeMap::new(),
                };
                context.run_and_print(verb, |_| message).await
            }
            Self::Edit {
                name,
                rename,
                fields,
                everywhere,
            } => {
                let message = format!("Hook '{}' changed.", escape(&name));
                let mut hook = find_hook(context, &name).await?.hook;
                if everywhere {
                    (hook.server, hook.tool) = (None, None);
                }
                if let Some(rename) = rename {
                    hook.name = rename;
                }
                fields.apply(&mut hook)?;
                let verb = EditHook {
                    name,
                    hook,
                    secret_values: BTreeMap::new(),
                };
                context.run_and_print(verb, |_| message).await
            }
            Self::Remove { name } => {
                let message = format!("Hook '{}' removed.", escape(&name));
                context
                    .run_and_print(RemoveHook { name }, |_| message)
                    .await
            }
            Self::Enable { name } => {
                let message = format!("Hook '{}' enabled.", escape(&name));
                context
                    .run_and_print(EnableHook { name }, |_| message)
                    .await
            }
            Self::Disable { name } => {
                let message = format!("Hook '{}' disabled.", escape(&name));
                context
                    .run_and_print(DisableHook { name }, |_| message)
                    .await
            }
            Self::Move { name, position } => {
                let message = format!("Hook '{}' moved to position {position}.", escape(&name));
                let verb = ReorderHook {
                    name,
                    position: position - 1,
                };
                context.run_and_print(verb, |_| message).await
            }
            Self::Try {
                name,
                event,
                payload,
            } => {
                let hook = find_hook(context, &name).await?.hook;
                let verb = TryHook {
                    event: choose_event(&hook, event)?,
                    hook,
                    payload,
                };
                context.run_and_print(verb, format_trial).await
            }
            Self::Log { name } => {
                context
                    .run_and_print(ListHookRuns { name }, |runs| format_runs(runs))
                    .await
            }
        }
    }
}

impl Fields {
    /// Replaces the given fields of a hook. Adds the given headers and variables to the hook's own.
    ///
    /// # Errors
    /// Returns an error if a program gets headers, or a webhook gets variables.
    fn apply(self, hook: &mut Hook) -> Result<(), Failure> {
        if !self.on.is_empty() {
            hook.events = self.on.into_iter().map(HookEvent::from).collect();
        }
        if let Some(mode) = self.mode {
            hook.mode = mode.into();
        }
        if let Some(server) = self.server {
            hook.server = Some(ServerId::new(server));
        }
        if self.tool.is_some() {
            hook.tool = self.tool;
        }
        if let Some(timeout) = self.timeout {
            hook.timeout_ms = timeout;
        }
        if let Some(on_failure) = self.on_failure {
            hook.on_failure = on_failure.into();
        }
        if let Some(with_result) = self.with_result {
            hook.with_result = with_result;
        }
        let mut command = self.command.into_iter();
        if let Some(url) = self.url {
            let headers = match &hook.target {
                HookTarget::Webhook { headers, .. } => headers.clone(),
                HookTarget::Command { .. } => BTreeMap::new(),
            };
            hook.target = HookTarget::Webhook { url, headers };
        } else if let Some(program) = command.next() {
            let env = match &hook.target {
                HookTarget::Command { env, .. } => env.clone(),
                HookTarget::Webhook { .. } => BTreeMap::new(),
            };
            hook.target = HookTarget::Command {
                program,
                args: command.collect(),
                env,
            };
        }
        match &mut hook.target {
            HookTarget::Command { env, .. } => {
                if !self.header.is_empty() {
                    return Err(Failure::HeaderOfProgram);
                }
                env.extend(self.env);
            }
            HookTarget::Webhook { headers, .. } => {
                if !self.env.is_empty() {
                    return Err(Failure::VariableOfWebhook);
                }
                headers.extend(self.header);
            }
        }
        Ok(())
    }
}

/// Returns a new hook with the defaults, and without a program or a URL.
fn new_hook(name: String) -> Hook {
    Hook {
        name,
        events: Vec::new(),
        mode: HookMode::Observe,
        server: None,
        tool: None,
        timeout_ms: 5_000,
        on_failure: OnFailure::Allow,
        with_result: false,
        enabled: true,
        target: HookTarget::Command {
            program: String::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
        },
    }
}

async fn find_hook(context: &Context, name: &str) -> Result<HookView, Failure> {
    let hooks = context.run(ListHooks {}).await?;
    let found = hooks.into_iter().find(|view| view.hook.name == name);
    found.ok_or_else(|| {
        let message = format!("there is no hook '{name}'; see `drawbridge hooks list`");
        ApiError::not_found(message).into()
    })
}

/// Returns the event on which a hook is tried: the given event, or the hook's first event.
///
/// # Errors
/// Returns an error if no event is given and the hook has none.
fn choose_event(hook: &Hook, event: Option<EventArg>) -> Result<HookEvent, Failure> {
    if let Some(event) = event {
        return Ok(event.into());
    }
    hook.events.first().copied().ok_or_else(|| {
        let message = format!(
            "the hook '{}' has no event; add one with `drawbridge hooks edit NAME --on EVENT`",
            hook.name
        );
        ApiError::invalid(message).into()
    })
}

/// The error if a text is not a name with its value.
#[derive(Debug, thiserror::Error)]
#[error("expected NAME=VALUE, not '{0}'")]
struct ParsePairError(String);

fn parse_pair(text: &str) -> Result<(String, String), ParsePairError> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| ParsePairError(text.to_owned()))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn format_hooks(hooks: &[HookView]) -> String {
    let mut table = Table::new([
        "#", "NAME", "MODE", "EVENTS", "FOR", "STATE", "RUNS", "FAILURES", "TARGET",
    ]);
    for (position, HookView { hook, state }) in (1..).zip(hooks) {
        let last = state.last.as_ref().map(|run| run.effect);
        let status = match (hook.enabled, last) {
            (false, _) => "disabled",
            (true, Some(HookEffect::Failed)) => "failing",
            (true, _) => "enabled",
        };
        table.add_row([
            &position.to_string(),
            &hook.name,
            &enum_text(hook.mode),
            &format_events(hook),
            &format_scope(hook),
            status,
            &state.runs.to_string(),
            &state.failures.to_string(),
            &format_target(&hook.target),
        ]);
    }
    table.format_or("No hooks. Add one with `drawbridge hooks add`.")
}

fn format_events(hook: &Hook) -> String {
    let events: Vec<_> = hook.events.iter().map(|event| event.as_str()).collect();
    events.join(", ")
}

fn format_scope(hook: &Hook) -> String {
    match (&hook.server, &hook.tool) {
        (None, None) => "everything".to_owned(),
        (Some(server), None) => server.to_string(),
        (None, Some(tool)) => format!("tool {tool}"),
        (Some(server), Some(tool)) => format!("{server}/{tool}"),
    }
}

fn format_target(target: &HookTarget) -> String {
    match target {
        HookTarget::Command { program, args, .. } => {
            let words: Vec<_> = std::iter::once(program).chain(args).collect();
            let quoted = |word: &&String| match word.contains(char::is_whitespace) {
                true => format!("'{word}'"),
                false => (*word).clone(),
            };
            words.iter().map(quoted).collect::<Vec<_>>().join(" ")
        }
        HookTarget::Webhook { url, .. } => format!("POST {url}"),
    }
}

fn format_hook(view: &HookView) -> String {
    let HookView { hook, state } = view;
    let (values, title) = match &hook.target {
        HookTarget::Command { env, .. } => (env, "variables"),
        HookTarget::Webhook { headers, .. } => (headers, "headers"),
    };
    let pairs: Vec<_> = values
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let last = state.last.as_ref().map(format_run).unwrap_or_default();
    let lines = [
        ("name", hook.name.clone()),
        ("runs", format_target(&hook.target)),
        (title, pairs.join(", ")),
        ("events", format_events(hook)),
        ("mode", enum_text(hook.mode)),
        ("for", format_scope(hook)),
        ("timeout", format!("{} ms", hook.timeout_ms)),
        ("on failure", enum_text(hook.on_failure)),
        ("with result", hook.with_result.to_string()),
        ("enabled", hook.enabled.to_string()),
        ("runs so far", state.runs.to_string()),
        ("failures", state.failures.to_string()),
        ("dropped events", state.dropped.to_string()),
        ("last run", last),
    ];
    lines
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| format!("{key:18} {}", escape(value)))
        .collect::<Vec<_>>()
        .join("\n")
}

fn format_run(run: &HookRun) -> String {
    let reason = if run.reason.is_empty() {
        String::new()
    } else {
        format!(": {}", run.reason)
    };
    format!(
        "{} {} {} after {} ms{reason}",
        format_time(run.at),
        run.event.as_str(),
        effect_text(run.effect),
        run.duration_ms
    )
}

fn format_runs(runs: &[HookRun]) -> String {
    let mut table = Table::new([
        "TIME", "HOOK", "EVENT", "SERVER", "TOOL", "EFFECT", "MS", "REASON",
    ]);
    for run in runs {
        let effect = effect_text(run.effect);
        let effect = if run.is_trial {
            format!("{effect} (trial)")
        } else {
            effect.to_owned()
        };
        table.add_row([
            &format_time(run.at),
            &run.hook,
            run.event.as_str(),
            run.server.as_str(),
            &run.tool,
            &effect,
            &run.duration_ms.to_string(),
            &run.reason,
        ]);
    }
    table.format_or("No hook has run since Drawbridge started.")
}

fn format_trial(trial: &HookTrial) -> String {
    let reason = if trial.reason.is_empty() {
        String::new()
    } else {
        format!(": {}", escape(&trial.reason))
    };
    let output = trial.output.lines().map(escape).collect::<Vec<_>>();
    format!(
        "The hook {} after {} ms{reason}\n\nInput\n{}\n\nOutput\n{}",
        effect_text(trial.effect),
        trial.duration_ms,
        indent_json(&trial.input),
        if output.is_empty() {
            "(nothing)".to_owned()
        } else {
            output.join("\n")
        }
    )
}

fn effect_text(effect: HookEffect) -> &'static str {
    match effect {
        HookEffect::Continued => "changed nothing",
        HookEffect::ChangedArguments => "changed the arguments",
        HookEffect::Denied => "denied the call",
        HookEffect::ReplacedResult => "replaced the result",
        HookEffect::Failed => "failed",
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        hooks: Hooks,
    }

    #[test]
    fn everything_after_the_dashes_is_the_program_with_its_arguments() {
        let line = [
            "x",
            "add",
            "log",
            "--on",
            "tool_executed",
            "--",
            "tee",
            "-a",
            "/tmp/log",
        ];
        let Hooks::Add { fields, .. } = Line::try_parse_from(line).expect("parsed").hooks else {
            panic!("not add")
        };
        assert_eq!(fields.command, ["tee", "-a", "/tmp/log"]);
    }

    #[test]
    fn a_program_takes_no_headers_and_a_webhook_no_variables() {
        for (line, message) in [
            (
                &["--header", "A=b", "--", "tee"][..],
                "--header is for webhooks",
            ),
            (
                &["--env", "A=b", "--url", "https://a.example"],
                "--env is for programs",
            ),
        ] {
            let line = [&["x", "add", "log", "--on", "tool_executed"], line].concat();
            let Hooks::Add { fields, .. } = Line::try_parse_from(line).expect("parsed").hooks
            else {
                panic!("not add")
            };
            let mut hook = new_hook("log".to_owned());
            let error = fields.apply(&mut hook).expect_err(message);
            assert!(error.to_string().starts_with(message), "{error}");
        }
    }

    #[test]
    fn a_hook_is_tried_on_its_first_event_and_needs_an_event() {
        let mut hook = new_hook("log".to_owned());
        let error = choose_event(&hook, None).expect_err("the hook has no event");
        assert!(error.to_string().contains("--on EVENT"), "{error}");
        hook.events.push(HookEvent::ToolExecuted);
        let event = choose_event(&hook, None).expect("the hook's first event");
        assert_eq!(event, HookEvent::ToolExecuted);
    }

    #[test]
    fn a_header_or_variable_needs_a_name_and_an_equals_sign() {
        assert!(parse_pair("Authorization=Bearer a=b").is_ok());
        for wrong in ["", "=x", "name"] {
            let error = parse_pair(wrong).expect_err(wrong).to_string();
            assert_eq!(error, format!("expected NAME=VALUE, not '{wrong}'"));
        }
    }
}
