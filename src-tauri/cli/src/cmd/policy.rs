//! `drawbridge policy`: manages the rules that allow, deny or ask, and the default.

mod conditions;
mod rule;

use std::{fs, io::Read, path::PathBuf, str::FromStr};

use clap::{Subcommand, ValueEnum};
use drawbridge_hub::{
    api::policy::{
        ApplyPreset, DeleteRule, DryRun, ExportPolicy, ImportPolicy, ListPolicy, PolicyPreset,
        PolicyStats, PolicyView, PreviewRule, RemovePolicy, RuleView, SaveRule, SetDefaultPolicy,
        SetPolicy, ShowPolicyStats,
    },
    model::{
        ids::{ClientName, RuleId, ServerId},
        policy::{Effect, Lifetime, Scope},
    },
};

pub(crate) use conditions::parse_condition;

use crate::{
    connection::Context,
    exit::Failure,
    output,
    text::{Table, enum_text, escape, escape_json, moment},
};
use rule::RuleArgs;

#[cfg(test)]
mod tests;

#[derive(Subcommand)]
pub(crate) enum Policy {
    /// List the rules and the default
    List,
    /// Set the policy of a server or of one of its tools
    Set {
        /// SERVER, SERVER/TOOL, or * for all servers
        target: Target,
        effect: EffectArg,
        /// Only calls of this client
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
    },
    /// Remove the rules with exactly this scope
    Remove {
        /// SERVER, SERVER/TOOL, or * for all servers
        target: Target,
        /// Only calls of this client
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
    },
    /// Add a rule with conditions, a result effect or a lifetime
    Add {
        #[command(flatten)]
        rule: RuleArgs,
        /// Show which past calls the rule would have matched, without adding it
        #[arg(long)]
        dry_run: bool,
    },
    /// Delete a rule
    #[command(alias = "forget")]
    Delete {
        /// The rule's id, as shown by `policy list`
        id: String,
    },
    /// Set the policy for calls that no rule matches
    Default { effect: EffectArg },
    /// Set the default and the rules of whole servers. Deny rules, and rules for single tools or
    /// clients, stay.
    Preset {
        preset: PresetArg,
        /// With ask-writes: a server whose read-only marks are trusted. With ask-listed: a server
        /// to ask about. May be repeated.
        #[arg(long = "server", value_name = "ID")]
        servers: Vec<String>,
    },
    /// Print the policy as a file for `policy import`
    Export,
    /// Add the rules of a file: all of them, or none if any is invalid
    Import {
        /// The file, or - for stdin
        file: PathBuf,
        /// Replace all rules and the default
        #[arg(long)]
        replace: bool,
    },
    /// Show recent approvals and suggested rules
    #[command(alias = "figures")]
    Stats {
        /// The number of days to include
        #[arg(long, default_value_t = 14)]
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
            } => {
                let verb = SetPolicy {
                    scope: target.into_scope(client),
                    effect: effect.into(),
                };
                context.run_and_print(verb, |_| "set".to_owned()).await
            }
            Self::Remove { target, client } => {
                context
                    .run_and_print(
                        RemovePolicy {
                            scope: target.into_scope(client),
                        },
                        |_| "removed".to_owned(),
                    )
                    .await
            }
            Self::Add {
                rule,
                dry_run: true,
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
            } => {
                context
                    .run_and_print(
                        SaveRule {
                            id: None,
                            rule: rule.into_spec(),
                        },
                        |rule| format!("{}: {}", rule.id, format_rule(rule)),
                    )
                    .await
            }
            Self::Delete { id } => {
                context
                    .run_and_print(
                        DeleteRule {
                            id: RuleId::new(id),
                        },
                        |_| "removed".to_owned(),
                    )
                    .await
            }
            Self::Default { effect } => {
                context
                    .run_and_print(
                        SetDefaultPolicy {
                            effect: effect.into(),
                        },
                        |_| "set".to_owned(),
                    )
                    .await
            }
            Self::Preset { preset, servers } => {
                let preset =
                    preset.into_preset(servers.into_iter().map(ServerId::new).collect())?;
                context
                    .run_and_print(ApplyPreset { preset }, |_| "set".to_owned())
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
            Self::Import { file, replace } => {
                let text = read_file(&file)?;
                context
                    .run_and_print(ImportPolicy { text, replace }, |done| {
                        format!("{} rules taken", done.rules)
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

fn read_file(file: &PathBuf) -> Result<String, Failure> {
    let cannot = |e: std::io::Error| Failure::new(format!("cannot read {}: {e}", file.display()));
    if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(cannot)?;
        return Ok(text);
    }
    fs::read_to_string(file).map_err(cannot)
}

/// The servers and tools that a rule covers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    server: Option<ServerId>,
    tool: Option<String>,
}

impl Target {
    fn into_scope(self, client: Option<String>) -> Scope {
        Scope {
            server: self.server,
            tool: self.tool,
            client: client.map(ClientName::new),
        }
    }
}

impl FromStr for Target {
    type Err = &'static str;

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
            Some(("*", _)) => Err("a tool belongs to one server, so * has none"),
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => Ok(Self {
                server: Some(ServerId::new(server)),
                tool: Some(tool.to_owned()),
            }),
            _ => Err("this must be SERVER, SERVER/TOOL or *"),
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum EffectArg {
    Allow,
    Deny,
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
pub(crate) enum PresetArg {
    /// Ask about every call
    #[value(name = "ask-all")]
    All,
    /// Ask about every call except for tools that the given servers mark read-only
    #[value(name = "ask-writes")]
    Writes,
    /// Ask only about the tools of the given servers
    #[value(name = "ask-listed")]
    Listed,
}

impl PresetArg {
    fn into_preset(self, servers: Vec<ServerId>) -> Result<PolicyPreset, Failure> {
        match self {
            Self::All if !servers.is_empty() => {
                Err(Failure::new("ask-all takes no --server: it asks for all"))
            }
            Self::All => Ok(PolicyPreset::AskAll),
            Self::Writes => Ok(PolicyPreset::AskWrites { trusted: servers }),
            Self::Listed => Ok(PolicyPreset::AskListed { listed: servers }),
        }
    }
}

fn format_policy(policy: &PolicyView) -> String {
    let mut table = Table::new(["ID", "SERVER", "TOOL", "CLIENT", "EFFECT", "UNTIL", ""]);
    for rule in &policy.rules {
        let (scope, more) = (&rule.scope, format_details(rule));
        let until = match &rule.lifetime {
            Lifetime::UntilRevoked => "-".to_owned(),
            Lifetime::Until { at } => moment(*at),
            Lifetime::Session { session } => format!("session {session}"),
            Lifetime::Calls { .. } => format!("{} calls", rule.remaining.unwrap_or_default()),
        };
        let effect = match (rule.effect, rule.result) {
            (Some(effect), None) => enum_text(effect),
            (Some(effect), Some(result)) => format!("{}, {}", enum_text(effect), enum_text(result)),
            (None, result) => result.map(enum_text).unwrap_or_default(),
        };
        table.row([
            rule.id.as_str(),
            scope.server.as_ref().map_or("*", ServerId::as_str),
            scope
                .tool
                .as_deref()
                .unwrap_or(if rule.read_only { "read-only" } else { "*" }),
            scope.client.as_ref().map_or("*", ClientName::as_str),
            &effect,
            &until,
            &more,
        ]);
    }
    format!(
        "{}\n\ndefault: {}",
        table.lines_or("no rules"),
        enum_text(policy.default)
    )
}

/// Returns the rest of a rule: its conditions, its note, and whether it is suspended.
fn format_details(rule: &RuleView) -> String {
    let conditions: Vec<_> = rule.conditions.iter().map(ToString::to_string).collect();
    let when = if conditions.is_empty() {
        String::new()
    } else {
        format!("where {}", conditions.join(" and "))
    };
    let note = if rule.note.is_empty() {
        String::new()
    } else {
        format!("({})", rule.note)
    };
    let stands = if rule.suspended {
        "suspended: it asks until the change was accepted"
    } else {
        ""
    };
    [when.as_str(), note.as_str(), stands]
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join("; ")
}

fn format_rule(rule: &RuleView) -> String {
    escape(&rule.words)
}

fn format_dry_run(past: &DryRun) -> String {
    let mut table = Table::new(["AT", "ID", "CLIENT", "SERVER", "TOOL", "DECISION"]);
    for call in &past.newest {
        let (client, server) = (call.client.as_str(), call.server.as_str());
        table.row([
            &moment(call.at),
            call.id.as_str(),
            client,
            server,
            &call.tool,
            &enum_text(call.decision),
        ]);
    }
    let unknown = match past.unknown {
        0 => String::new(),
        unknown => format!("; of {unknown} the arguments were not kept"),
    };
    let matched = format!(
        "it would have matched {} of {} past calls{unknown}",
        past.matched, past.examined
    );
    if past.newest.is_empty() {
        matched
    } else {
        format!("{matched}\n\n{}", table.lines_or(""))
    }
}

fn format_stats(figures: &PolicyStats) -> String {
    let mut table = Table::new(["DAY", "APPROVED", "DENIED", "UNANSWERED"]);
    for day in figures
        .days
        .iter()
        .filter(|day| day.approved + day.denied + day.unanswered > 0)
    {
        let date = moment(day.at);
        let date = date.split(' ').next().unwrap_or(&date);
        table.row([
            date,
            &day.approved.to_string(),
            &day.denied.to_string(),
            &day.unanswered.to_string(),
        ]);
    }
    let mut lines = vec![table.lines_or("nothing was asked")];
    for suggestion in &figures.suggestions {
        let words = escape(&suggestion.words);
        lines.push(format!(
            "suggested: {words} (you approved {} like it)",
            suggestion.approved
        ));
    }
    lines.join("\n\n")
}
