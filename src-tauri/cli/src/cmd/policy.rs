//! `drawbridge policy`: manages the rules and the defaults, applies presets, exports and imports
//! the policy, and shows stats of approvals.

mod conditions;
mod rule;
mod warnings;

use std::{
    borrow::Cow,
    fmt, fs, io,
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::{Subcommand, ValueEnum};
use drawbridge_hub::api::policy::{
    ApplyPreset, DeleteRule, DisableRule, DryRun, EnableRule, ExportPolicy, ImportPolicy,
    ListPolicy, PolicyPreset, PolicyStats, PolicyView, PreviewRule, RemovePolicy, RuleView,
    SaveRule, SetDefaultPolicy, SetPolicy, ShowPolicyStats,
};
use drawbridge_model::{
    ids::{ClientName, RuleId, ServerId, UserName},
    policy::{Effect, Lifetime, RequestKind, RuleSpec, Scope},
};

pub(crate) use conditions::parse_condition;

use crate::{
    context::Context,
    exit::Failure,
    output,
    table::Table,
    text::{escape, escape_json, format_count},
    time::{format_time, format_utc_day},
};
use rule::RuleArgs;

#[cfg(test)]
mod tests;

#[derive(Subcommand)]
pub(crate) enum Policy {
    /// List the rules, and the default of each kind of request
    List,
    /// Set the rule of a server, of one of its tools, or of all servers
    Set {
        /// A server, one tool of a server, or * for all servers
        #[arg(value_name = "SERVER[/TOOL]")]
        target: Target,
        /// The effect on these requests
        effect: EffectArg,
        /// Only requests of this client
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
        /// Only requests of the clients of this user
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        /// Only requests of this kind [default: calls of tools; a deny without a tool covers all
        /// kinds]
        #[arg(long, value_name = "KIND", value_enum)]
        kind: Option<KindArg>,
        /// Do not ask if the rule allows calls of all tools of all servers, or names an unknown
        /// server or tool
        #[arg(long)]
        yes: bool,
    },
    /// Remove the rules with exactly this scope
    Remove {
        /// A server, one tool of a server, or * for all servers
        #[arg(value_name = "SERVER[/TOOL]")]
        target: Target,
        /// Only the rules for this client
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
        /// Only the rules for the clients of this user
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        /// Only the rules for this kind of requests
        #[arg(long, value_name = "KIND", value_enum)]
        kind: Option<KindArg>,
    },
    /// Add a rule with conditions, a result effect or a lifetime
    Add {
        #[command(flatten)]
        rule: RuleArgs,
        /// Show which past calls the rule would have matched, but do not add the rule
        #[arg(long)]
        dry_run: bool,
        /// Do not ask if the rule allows calls of all tools of all servers, or names an unknown
        /// server or tool
        #[arg(long)]
        yes: bool,
    },
    /// Enable a rule
    Enable {
        /// The rule's id, as shown by `policy list`
        id: String,
    },
    /// Disable a rule: it matches nothing until it is enabled again
    Disable {
        /// The rule's id, as shown by `policy list`
        id: String,
    },
    /// Delete a rule
    Delete {
        /// The rule's id, as shown by `policy list`
        id: String,
    },
    /// Set the default of a kind of requests: the effect on those that no rule matches
    Default {
        /// The effect on these requests
        effect: EffectArg,
        /// The kind of requests
        #[arg(long, value_name = "KIND", value_enum, default_value = "tools")]
        kind: KindArg,
        /// Do not ask if calls of all tools would be allowed
        #[arg(long)]
        yes: bool,
    },
    /// Set the default for calls of tools and the rules for whole servers in one step
    ///
    /// Removes the other rules that allow or ask about a whole server or all servers. With
    /// ask-listed, also replaces a rule that denies a server given with --server. Other rules stay:
    /// other deny rules, rules for single tools, clients, users or kinds of requests, rules with
    /// conditions, and rules with an effect on results.
    Preset {
        /// The preset to apply
        preset: PresetArg,
        /// With ask-writes: a server whose read-only tools run without asking. With ask-listed: a
        /// server to ask about. May be repeated.
        #[arg(long = "server", value_name = "ID")]
        servers: Vec<String>,
        /// Do not ask if the preset allows the tools of all other servers
        #[arg(long)]
        yes: bool,
    },
    /// Print the policy, without the rules for a single session, as a file for `policy import`
    Export,
    /// Add the rules of a file: all of them, or none if any is invalid
    Import {
        /// The file, or - for stdin
        file: PathBuf,
        /// Replace all rules and, if the file has defaults, the defaults
        #[arg(long)]
        replace: bool,
        /// Do not ask if the file allows calls of all tools of all servers
        #[arg(long)]
        yes: bool,
    },
    /// Show how many calls were asked about and how they were decided, and suggest rules
    Stats {
        /// The number of days to include, at most 90
        #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..))]
        days: u32,
    },
}

impl Policy {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List => context.run_and_print(ListPolicy {}, format_policy).await,
            Self::Set {
                target,
                effect,
                client,
                user,
                kind,
                yes,
            } => {
                let verb = SetPolicy {
                    scope: target.into_scope(client, user, kind),
                    effect: effect.into(),
                };
                let rule = RuleSpec {
                    scope: verb.scope.clone(),
                    effect: Some(verb.effect),
                    ..RuleSpec::default()
                };
                warnings::confirm_rule(context, &rule, yes).await?;
                let message = format!("Rule set: {}.", escape(&rule.to_string()));
                context.run_and_print(verb, |_| message).await
            }
            Self::Remove {
                target,
                client,
                user,
                kind,
            } => {
                let client_text = client
                    .as_ref()
                    .map(|name| format!(" and the client '{name}'"));
                let user_text = user.as_ref().map(|name| format!(" and the user '{name}'"));
                let message = format!(
                    "Rules for {target}{}{} removed.",
                    client_text.unwrap_or_default(),
                    user_text.unwrap_or_default()
                );
                let verb = RemovePolicy {
                    scope: target.into_scope(client, user, kind),
                };
                context.run_and_print(verb, |_| escape(&message)).await
            }
            Self::Add {
                rule,
                dry_run: true,
                yes: _,
            } => {
                context
                    .run_and_print(
                        PreviewRule {
                            rule: rule.into_spec(),
                        },
                        format_dry_run,
                    )
                    .await
            }
            Self::Add {
                rule,
                dry_run: false,
                yes,
            } => {
                let rule = rule.into_spec();
                warnings::confirm_rule(context, &rule, yes).await?;
                context
                    .run_and_print(SaveRule { id: None, rule }, |rule| {
                        format!("Rule {} added: {}.", rule.id, escape(&rule.text))
                    })
                    .await
            }
            Self::Enable { id } => {
                let id = RuleId::new(id);
                context
                    .run_and_print(EnableRule { id }, |rule| {
                        format!("Rule {} enabled: {}.", rule.id, escape(&rule.text))
                    })
                    .await
            }
            Self::Disable { id } => {
                let id = RuleId::new(id);
                context
                    .run_and_print(DisableRule { id }, |rule| {
                        format!("Rule {} disabled: {}.", rule.id, escape(&rule.text))
                    })
                    .await
            }
            Self::Delete { id } => {
                let message = format!("Rule {} deleted.", escape(&id));
                context
                    .run_and_print(
                        DeleteRule {
                            id: RuleId::new(id),
                        },
                        |_| message,
                    )
                    .await
            }
            Self::Default { effect, kind, yes } => {
                let (effect, kind) = (Effect::from(effect), RequestKind::from(kind));
                warnings::confirm_default(kind, effect, yes)?;
                let verb = SetDefaultPolicy {
                    effect,
                    kind: Some(kind),
                };
                let message = format!(
                    "Default for {} set to {}.",
                    kind.label().to_lowercase(),
                    effect.label()
                );
                context.run_and_print(verb, |_| message).await
            }
            Self::Preset {
                preset,
                servers,
                yes,
            } => {
                let name = preset.name();
                let preset =
                    preset.into_preset(servers.into_iter().map(ServerId::new).collect())?;
                warnings::confirm_preset(&preset, yes)?;
                context
                    .run_and_print(ApplyPreset { preset }, |_| {
                        format!("Preset '{name}' applied. See `drawbridge policy list`.")
                    })
                    .await
            }
            Self::Export => {
                let file = context.run(ExportPolicy {}).await?;
                // The file is JSON already, so `--json` changes nothing.
                output::print_answer(false, &file, |file| {
                    file.text
                        .lines()
                        .map(escape_json)
                        .collect::<Vec<_>>()
                        .join("\n")
                })
            }
            Self::Import { file, replace, yes } => {
                let text = read_file(&file)?;
                let verb = ImportPolicy { text, replace };
                warnings::confirm_import(context, &verb, yes).await?;
                context
                    .run_and_print(verb, |result| {
                        format!("{} imported.", format_count(result.rules, "rule", "rules"))
                    })
                    .await
            }
            Self::Stats { days } => {
                context
                    .run_and_print(ShowPolicyStats { days: Some(days) }, format_stats)
                    .await
            }
        }
    }
}

fn read_file(file: &Path) -> Result<String, Failure> {
    let text = if file.as_os_str() == "-" {
        io::read_to_string(io::stdin())
    } else {
        fs::read_to_string(file)
    };
    text.map_err(|source| Failure::ReadFile {
        file: file.to_owned(),
        source,
    })
}

/// The servers and tools that a rule covers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    server: Option<ServerId>,
    tool: Option<String>,
}

impl Target {
    fn into_scope(
        self,
        client: Option<String>,
        user: Option<String>,
        kind: Option<KindArg>,
    ) -> Scope {
        Scope {
            server: self.server,
            tool: self.tool,
            client: client.map(ClientName::new),
            user: user.map(UserName::new),
            kind: kind.map(Into::into),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.server, &self.tool) {
            (Some(server), Some(tool)) => write!(f, "{server}/{tool}"),
            (Some(server), None) => write!(f, "{server}"),
            (None, _) => f.write_str("all servers"),
        }
    }
}

/// The error if a text is not a [`Target`].
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum ParseTargetError {
    #[error("expected SERVER, SERVER/TOOL or *")]
    Syntax,
    #[error("a tool belongs to one server, so * cannot be followed by a tool")]
    ToolOfAllServers,
}

impl FromStr for Target {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A server's id contains no slash, but a tool's name may.
        match text.split_once('/') {
            None if text == "*" => Ok(Self {
                server: None,
                tool: None,
            }),
            None if !text.is_empty() => Ok(Self {
                server: Some(ServerId::new(text)),
                tool: None,
            }),
            Some(("*", _)) => Err(ParseTargetError::ToolOfAllServers),
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => Ok(Self {
                server: Some(ServerId::new(server)),
                tool: Some(tool.to_owned()),
            }),
            _ => Err(ParseTargetError::Syntax),
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum EffectArg {
    /// Send the request
    Allow,
    /// Deny the request
    Deny,
    /// Ask a person
    Ask,
}

impl From<EffectArg> for Effect {
    fn from(effect: EffectArg) -> Self {
        match effect {
            EffectArg::Allow => Self::Allow,
            EffectArg::Deny => Self::Deny,
            EffectArg::Ask => Self::Ask,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum KindArg {
    /// Calls of tools, and requests about their tasks
    Tools,
    /// Prompts, and completions of their arguments
    Prompts,
    /// Reads of resources, subscriptions to them, and completions of their templates
    Resources,
    /// Requests of servers for a message from the client's model
    Sampling,
    /// Requests of servers for input of the user
    Elicitation,
    /// Requests of servers for the client's folders
    Roots,
}

impl From<KindArg> for RequestKind {
    fn from(kind: KindArg) -> Self {
        match kind {
            KindArg::Tools => Self::Tools,
            KindArg::Prompts => Self::Prompts,
            KindArg::Resources => Self::Resources,
            KindArg::Sampling => Self::Sampling,
            KindArg::Elicitation => Self::Elicitation,
            KindArg::Roots => Self::Roots,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum PresetArg {
    /// Ask about every call
    #[value(name = "ask-all")]
    All,
    /// Ask about every call except for tools that the given servers mark read-only
    #[value(name = "ask-writes")]
    Writes,
    /// Ask only about the tools of the given servers, and allow all other calls
    #[value(name = "ask-listed")]
    Listed,
}

impl PresetArg {
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no preset is hidden");
        value.get_name().to_owned()
    }

    fn into_preset(self, servers: Vec<ServerId>) -> Result<PolicyPreset, Failure> {
        match self {
            Self::All if !servers.is_empty() => Err(Failure::NeedlessServer),
            Self::All => Ok(PolicyPreset::AskAll),
            Self::Writes if servers.is_empty() => Err(Failure::MissingServer),
            Self::Writes => Ok(PolicyPreset::AskWrites { trusted: servers }),
            Self::Listed if servers.is_empty() => Err(Failure::MissingServer),
            Self::Listed => Ok(PolicyPreset::AskListed { listed: servers }),
        }
    }
}

fn format_policy(policy: &PolicyView) -> String {
    let mut table = Table::new([
        "ID", "SERVER", "COVERS", "CLIENT", "USER", "EFFECT", "UNTIL", "",
    ]);
    for rule in &policy.rules {
        let (scope, details) = (&rule.scope, format_details(rule));
        let until = match &rule.lifetime {
            Lifetime::UntilDeleted => "-".to_owned(),
            Lifetime::Until { at } => format_time(*at),
            Lifetime::Session { session } => format!("session {session}"),
            Lifetime::Calls { .. } => format_count(
                rule.remaining.unwrap_or_default(),
                "more call",
                "more calls",
            ),
        };
        let effect = match (rule.effect, rule.result) {
            (Some(effect), None) => effect.label().to_owned(),
            (Some(effect), Some(result)) => {
                let result = result.label().to_lowercase();
                format!("{}, {result} result", effect.label())
            }
            (None, Some(result)) => format!("{} result", result.label()),
            (None, None) => String::new(),
        };
        table.add_row([
            rule.id.as_str(),
            scope.server.as_ref().map_or("*", ServerId::as_str),
            scope
                .tool
                .as_deref()
                .map_or_else(|| format_covered(rule), Cow::Borrowed)
                .as_ref(),
            scope.client.as_ref().map_or("*", ClientName::as_str),
            scope.user.as_ref().map_or("*", UserName::as_str),
            &effect,
            &until,
            &details,
        ]);
    }
    let defaults: Vec<_> = RequestKind::ALL
        .iter()
        .map(|kind| {
            let effect = policy.defaults.get(*kind).label().to_lowercase();
            format!("{} {effect}", kind.label().to_lowercase())
        })
        .collect();
    format!(
        "{}\n\nDefaults: {}",
        table.format_or("No rules."),
        defaults.join(", ")
    )
}

/// Returns the requests that a rule without a tool covers: a kind of requests, calls of read-only
/// tools, or `*` if the rule names neither.
fn format_covered(rule: &RuleView) -> Cow<'static, str> {
    match rule.scope.kind {
        Some(kind) => format!("({})", kind.label().to_lowercase()).into(),
        None if rule.read_only => "read-only".into(),
        None => "*".into(),
    }
}

/// Returns the parts of a rule that have no column of their own: its conditions, its note, and
/// whether it is disabled or suspended.
fn format_details(rule: &RuleView) -> String {
    let conditions: Vec<_> = rule.conditions.iter().map(ToString::to_string).collect();
    let condition = if conditions.is_empty() {
        String::new()
    } else {
        format!("if {}", conditions.join(" and "))
    };
    let note = if rule.note.is_empty() {
        String::new()
    } else {
        format!("({})", rule.note)
    };
    let state = if rule.disabled {
        "disabled"
    } else if rule.suspended {
        "suspended until you accept the change"
    } else {
        ""
    };
    [condition.as_str(), &note, state]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

fn format_dry_run(dry_run: &DryRun) -> String {
    let mut table = Table::new(["AT", "ID", "CLIENT", "SERVER", "TOOL", "DECISION"]);
    for call in &dry_run.newest {
        let (client, server) = (call.client.as_str(), call.server.as_str());
        table.add_row([
            &format_time(call.at),
            call.id.as_str(),
            client,
            server,
            &call.tool,
            call.decision.label(),
        ]);
    }
    let mut summary = format!(
        "This rule would have matched {} of {}.",
        dry_run.matched,
        format_count(dry_run.examined, "past call", "past calls")
    );
    if dry_run.unknown > 0 {
        summary.push_str(&format!(
            " {} could not be checked, because the arguments were not stored, the server was removed, \
             or the rule refers to the project folder, which is not stored.",
            format_count(dry_run.unknown, "call", "calls")
        ));
    }
    if dry_run.newest.is_empty() {
        summary
    } else {
        format!("{summary}\n\n{}", table.format_or(""))
    }
}

fn format_stats(stats: &PolicyStats) -> String {
    let mut table = Table::new(["DAY", "APPROVED", "DENIED", "MISSED"]);
    for day in stats
        .days
        .iter()
        .filter(|day| day.approved + day.denied + day.missed > 0)
    {
        table.add_row([
            &format_utc_day(day.at),
            &day.approved.to_string(),
            &day.denied.to_string(),
            &day.missed.to_string(),
        ]);
    }
    let mut sections = vec![table.format_or("No call was asked about.")];
    if stats.is_partial {
        sections.push(
            "There were too many calls to count all of them. Older calls are missing.".into(),
        );
    }
    for suggestion in &stats.suggestions {
        sections.push(format!(
            "Suggested rule: {}. You approved {} like this.",
            escape(&suggestion.text),
            format_count(suggestion.approved, "call", "calls")
        ));
    }
    sections.join("\n\n")
}
