//! `drawbridge calls`: shows calls and other requests with their decisions and outcomes, cancels
//! calls, and counts them.

use clap::{Subcommand, ValueEnum};
use drawbridge_hub::api::calls::{
    CallStatsView, CancelCall, ListCalls, ListRunningCalls, RunningCallView, ShowCall,
    ShowCallStats, StatsGroup, StatsPeriod,
};
use drawbridge_model::{
    call::{Call, CallProgress, Decision, Outcome},
    ids::{CallId, ClientName, ServerId, SessionId, Timestamp},
};

use crate::{
    context::Context,
    exit::Failure,
    output::print_answer,
    table::Table,
    text::{escape, format_flags},
    time::{format_time, parse_time},
};

#[derive(Subcommand)]
pub(crate) enum Calls {
    /// List calls and other requests, newest first
    List {
        /// Only calls of this client
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
        /// Only calls and other requests to or from this server
        #[arg(long, value_name = "ID")]
        server: Option<String>,
        /// Only calls of this client session, as shown by `calls show`
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Only calls of tools that their server lists under this name; also matches the name of a
        /// prompt and the URI of a resource
        #[arg(long, value_name = "NAME")]
        tool: Option<String>,
        /// Only calls that needed a person's decision, including those that nobody decided, such as
        /// calls that timed out and calls of a muted client
        #[arg(long)]
        asked: bool,
        /// Only calls that contain this text in their method, tool, exposed name, reason, error,
        /// arguments or other params
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,
        /// Only calls with this decision
        #[arg(long, value_name = "DECISION", value_enum)]
        decision: Option<DecisionArg>,
        /// Only calls with this outcome
        #[arg(long, value_name = "OUTCOME", value_enum)]
        outcome: Option<OutcomeArg>,
        /// Only calls that the list shows after the call with this id, to get the next page
        #[arg(long, value_name = "ID")]
        before: Option<String>,
        /// Only calls since this time: a day (2026-11-21), a local time (2026-11-21T03:18), a time
        /// with a UTC offset (2026-11-21T03:18:46Z) or an age (7d)
        #[arg(long, value_name = "TIME", value_parser = parse_time)]
        since: Option<Timestamp>,
        /// Only calls before this time
        #[arg(long, value_name = "TIME", value_parser = parse_time)]
        until: Option<Timestamp>,
        /// The maximum number of calls, at most 1000 [default: 200]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: Option<u32>,
    },
    /// Show a call with its arguments
    Show {
        /// The call's id, as shown by `calls list`
        id: String,
    },
    /// List the running calls, with their progress
    Running,
    /// Cancel a running call; its client gets an error that says so
    Cancel {
        /// The call's id, as shown by `calls running`
        id: String,
    },
    /// Count calls, errors, approvals and tokens, and show how long calls took
    Stats {
        /// The span of time until now
        #[arg(long, value_enum, default_value = "day")]
        period: PeriodArg,
        /// How to group the calls into rows
        #[arg(long, value_enum, default_value = "server")]
        by: GroupArg,
        /// Only calls of this client
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
        /// Only calls of this server's tools
        #[arg(long, value_name = "ID")]
        server: Option<String>,
        /// Only calls of tools that their server lists under this name
        #[arg(long, value_name = "NAME")]
        tool: Option<String>,
    },
}

impl Calls {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List {
                client,
                server,
                session,
                tool,
                asked,
                text,
                decision,
                outcome,
                before,
                since,
                until,
                limit,
            } => {
                let (client, server) = (client.map(ClientName::new), server.map(ServerId::new));
                let before = before.map(CallId::new);
                let verb = ListCalls {
                    client,
                    session: session.map(SessionId::new),
                    server,
                    tool,
                    needed_approval: asked,
                    text,
                    decision: decision.map(Decision::from),
                    outcome: outcome.map(Outcome::from),
                    before,
                    since,
                    until,
                    limit,
                };
                context
                    .run_and_print(verb, |calls| format_calls(calls))
                    .await
            }
            Self::Show { id } => {
                context
                    .run_and_print(
                        ShowCall {
                            id: CallId::new(id),
                        },
                        format_call,
                    )
                    .await
            }
            Self::Running => {
                let calls = context.running_hub()?.call(ListRunningCalls {}).await?;
                print_answer(context.json, &calls, |calls| format_running(calls))
            }
            Self::Cancel { id } => {
                let id = CallId::new(id);
                let call = context.running_hub()?.call(CancelCall { id }).await?;
                print_answer(context.json, &call, |call| {
                    format!("Cancelled the call of {}.", escape(&call.tool))
                })
            }
            Self::Stats {
                period,
                by,
                client,
                server,
                tool,
            } => {
                let verb = ShowCallStats {
                    period: period.into(),
                    group_by: by.into(),
                    client: client.map(ClientName::new),
                    server: server.map(ServerId::new),
                    tool,
                };
                context.run_and_print(verb, format_stats).await
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum DecisionArg {
    /// A person, a rule, the default or Drawbridge allowed the call
    Allowed,
    /// A person, a rule, the default or Drawbridge denied the call
    Denied,
    /// Nobody decided in time
    TimedOut,
    /// There was no screen on which a person could have decided
    NoScreen,
    /// All calls were paused
    // The alias is the name of this decision in earlier versions.
    #[value(alias = "raised")]
    Paused,
    /// Too many requests of the client were pending
    QueueFull,
    /// The client was muted, because nobody had decided its last requests
    Muted,
    /// The client disconnected or cancelled the call before the decision
    Abandoned,
}

impl From<DecisionArg> for Decision {
    fn from(decision: DecisionArg) -> Self {
        match decision {
            DecisionArg::Allowed => Self::Allowed,
            DecisionArg::Denied => Self::Denied,
            DecisionArg::TimedOut => Self::TimedOut,
            DecisionArg::NoScreen => Self::NoScreen,
            DecisionArg::Paused => Self::Paused,
            DecisionArg::QueueFull => Self::QueueFull,
            DecisionArg::Muted => Self::Muted,
            DecisionArg::Abandoned => Self::Abandoned,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum OutcomeArg {
    /// The call was not allowed, or its tool changed after the decision
    NotSent,
    /// The call has no answer yet
    Running,
    /// The server answered with a result
    Ok,
    /// The server reported an error, or gave an invalid answer
    ServerError,
    /// The client, or Drawbridge in its place, answered a server's request with an error, or not at
    /// all
    ClientError,
    /// The server could not be reached
    Unreachable,
    /// The connection was lost or the hub ended during the call
    Unknown,
    /// The server did not answer in time
    TimedOut,
    /// The client or a person cancelled the call, or Drawbridge aborted it
    Cancelled,
    /// The client did not get the result: a person did not release it, it was too large to show or
    /// could not be marked as data, or a hook failed
    Withheld,
}

impl From<OutcomeArg> for Outcome {
    fn from(outcome: OutcomeArg) -> Self {
        match outcome {
            OutcomeArg::NotSent => Self::NotSent,
            OutcomeArg::Running => Self::Running,
            OutcomeArg::Ok => Self::Ok,
            OutcomeArg::ServerError => Self::ServerError,
            OutcomeArg::ClientError => Self::ClientError,
            OutcomeArg::Unreachable => Self::Unreachable,
            OutcomeArg::Unknown => Self::Unknown,
            OutcomeArg::TimedOut => Self::TimedOut,
            OutcomeArg::Cancelled => Self::Cancelled,
            OutcomeArg::Withheld => Self::Withheld,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum PeriodArg {
    Hour,
    Day,
    Week,
    Month,
}

impl From<PeriodArg> for StatsPeriod {
    fn from(period: PeriodArg) -> Self {
        match period {
            PeriodArg::Hour => Self::Hour,
            PeriodArg::Day => Self::Day,
            PeriodArg::Week => Self::Week,
            PeriodArg::Month => Self::Month,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum GroupArg {
    Client,
    Server,
    Tool,
}

impl From<GroupArg> for StatsGroup {
    fn from(group: GroupArg) -> Self {
        match group {
            GroupArg::Client => Self::Client,
            GroupArg::Server => Self::Server,
            GroupArg::Tool => Self::Tool,
        }
    }
}

fn format_running(calls: &[RunningCallView]) -> String {
    let mut table = Table::new(["ID", "CLIENT", "SERVER", "TOOL", "SECONDS", "PROGRESS"]);
    for RunningCallView {
        call,
        running_ms,
        progress,
    } in calls
    {
        table.add_row([
            call.id.as_str(),
            call.client.as_str(),
            call.server.as_str(),
            &call.tool,
            &(running_ms / 1_000).to_string(),
            &progress
                .as_ref()
                .map_or_else(|| "-".to_owned(), format_progress),
        ]);
    }
    table.format_or("No call is running.")
}

fn format_progress(progress: &CallProgress) -> String {
    let amount = match progress.total {
        Some(total) => format!("{} of {total}", progress.progress),
        None => progress.progress.to_string(),
    };
    format!("{amount} {}", progress.message)
        .trim_end()
        .to_owned()
}

fn format_stats(view: &CallStatsView) -> String {
    let mut table = Table::new([
        "NAME",
        "CALLS",
        "ERRORS",
        "P50 MS",
        "P95 MS",
        "ASKED",
        "APPROVED",
        "DENIED",
        "TIMED OUT",
        "TOKENS",
    ]);
    let groups = view.groups.iter().map(|group| {
        let name = if group.server.is_empty() {
            group.name.clone()
        } else {
            format!("{} {}", group.server, group.name)
        };
        (name, &group.stats)
    });
    for (name, stats) in groups.chain([("total".to_owned(), &view.total)]) {
        let milliseconds = |ms: Option<u32>| ms.map_or_else(|| "-".to_owned(), |ms| ms.to_string());
        table.add_row([
            &name,
            &stats.calls.to_string(),
            &stats.errors.to_string(),
            &milliseconds(stats.p50_ms),
            &milliseconds(stats.p95_ms),
            &stats.asked.to_string(),
            &stats.approved.to_string(),
            &stats.denied.to_string(),
            &stats.timed_out.to_string(),
            &(stats.sent_tokens + stats.received_tokens).to_string(),
        ]);
    }
    table.format_or("")
}

fn format_calls(calls: &[Call]) -> String {
    let mut table = Table::new([
        "ID", "AT", "CLIENT", "SERVER", "TOOL", "DECISION", "BY", "OUTCOME", "MS",
    ]);
    for call in calls {
        table.add_row([
            call.id.as_str(),
            &format_time(call.at),
            call.client.as_str(),
            call.server.as_str(),
            &call.method.subject(&call.tool),
            call.decision.label(),
            format_author(call),
            call.outcome.label(),
            &call
                .duration_ms
                .map_or_else(|| "-".to_owned(), |ms| ms.to_string()),
        ]);
    }
    table.format_or("No calls.")
}

/// Returns the label of the decision's author, without the "by" at its beginning.
fn format_author(call: &Call) -> &'static str {
    let label = call.decided_by.label();
    label.strip_prefix("by ").unwrap_or(label)
}

fn format_call(call: &Call) -> String {
    let lines = [
        ("id", call.id.to_string()),
        ("at", format_time(call.at)),
        ("method", call.method.name().to_owned()),
        ("client", call.client.to_string()),
        (
            "session",
            call.session
                .as_ref()
                .map(SessionId::to_string)
                .unwrap_or_default(),
        ),
        ("server", call.server.to_string()),
        ("name", call.tool.clone()),
        ("exposed name", call.exposed_name.clone()),
        (
            "decision",
            format!(
                "{} {}, after {} ms",
                call.decision.label(),
                call.decided_by.label(),
                call.waited_ms
            ),
        ),
        ("reason", call.reason.clone()),
        (
            "client's arguments",
            call.original_arguments.clone().unwrap_or_default(),
        ),
        ("arguments", call.arguments.clone().unwrap_or_default()),
        ("also sent", call.extra.clone().unwrap_or_default()),
        ("arguments changed by hook", call.request_hooks.join(", ")),
        ("outcome", call.outcome.label().to_owned()),
        ("error", call.error.clone()),
        ("result replaced by hook", call.result_hooks.join(", ")),
        ("result contains", format_flags(&call.flags)),
        (
            "duration",
            call.duration_ms
                .map(|ms| format!("{ms} ms"))
                .unwrap_or_default(),
        ),
        (
            "result",
            call.result
                .as_ref()
                .map(|kept| kept.text.clone())
                .unwrap_or_default(),
        ),
        (
            "result cut",
            call.result
                .as_ref()
                .filter(|kept| kept.is_cut)
                .map(|kept| format!("{} of {} bytes are kept", kept.text.len(), kept.bytes))
                .unwrap_or_default(),
        ),
    ];
    lines
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| format!("{key:25} {}", escape(value)))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::enum_text;

    #[test]
    fn each_decision_can_be_chosen_by_its_name_in_the_api() {
        for decision in Decision::ALL {
            let name = enum_text(decision);
            let arg = DecisionArg::from_str(&name, false).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(Decision::from(arg), *decision);
        }
    }

    #[test]
    fn the_error_about_an_unknown_decision_lists_all_decisions() {
        use clap::Parser;
        let arguments = ["drawbridge", "calls", "list", "--decision", "maybe"];
        let Err(error) = crate::args::Args::try_parse_from(arguments) else {
            panic!("an unknown decision was accepted")
        };
        for decision in Decision::ALL {
            let name = enum_text(decision);
            assert!(error.to_string().contains(&name), "{error}");
        }
    }
}
