//! `drawbridge calls`: shows calls and other requests with their decisions and outcomes.

use clap::{Subcommand, ValueEnum};
use drawbridge_hub::api::calls::{ListCalls, ShowCall};
use drawbridge_model::{
    call::{Call, Decision},
    ids::{CallId, ClientName, ServerId, Timestamp},
};

use crate::{
    context::Context,
    exit::Failure,
    table::Table,
    text::escape,
    time::{format_time, parse_time},
};

#[derive(Subcommand)]
pub(crate) enum Calls {
    /// List calls and other requests, newest first
    List {
        /// Only calls of this client
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
        /// Only calls of tools of this server
        #[arg(long, value_name = "ID")]
        server: Option<String>,
        /// Only calls that waited for a person, including those that timed out
        #[arg(long)]
        asked: bool,
        /// Only calls that contain this text in their method, tool, exposed name, reason, error,
        /// arguments or other params
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,
        /// Only calls with this decision
        #[arg(long, value_name = "DECISION", value_enum)]
        decision: Option<DecisionArg>,
        /// Only calls that are older than the call with this id; for the next page
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
}

impl Calls {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List {
                client,
                server,
                asked,
                text,
                decision,
                before,
                since,
                until,
                limit,
            } => {
                let (client, server) = (client.map(ClientName::new), server.map(ServerId::new));
                let before = before.map(CallId::new);
                let verb = ListCalls {
                    client,
                    server,
                    asked,
                    text,
                    decision: decision.map(Decision::from),
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
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum DecisionArg {
    /// A person, a rule or the default allowed the call
    Allowed,
    /// A person, a rule or the default denied the call
    Denied,
    /// Nobody decided in time
    TimedOut,
    /// There was no screen on which a person could have decided
    NoScreen,
    /// All calls were paused
    #[value(alias = "raised")]
    Paused,
    /// Too many calls of the client were pending, or nobody decided its last ones
    QueueFull,
    /// The client disconnected before the decision
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
            DecisionArg::Abandoned => Self::Abandoned,
        }
    }
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

/// Returns the author of the decision without "by".
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
        ("outcome", call.outcome.label().to_owned()),
        ("error", call.error.clone()),
        (
            "duration",
            call.duration_ms
                .map(|ms| format!("{ms} ms"))
                .unwrap_or_default(),
        ),
    ];
    lines
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| format!("{key:18} {}", escape(value)))
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
    fn the_error_of_a_wrong_decision_lists_all() {
        use clap::Parser;
        let arguments = ["drawbridge", "calls", "list", "--decision", "maybe"];
        let Err(error) = crate::args::Args::try_parse_from(arguments) else {
            panic!("a wrong decision was accepted")
        };
        for decision in Decision::ALL {
            let name = enum_text(decision);
            assert!(error.to_string().contains(&name), "{error}");
        }
    }
}
