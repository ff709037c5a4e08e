//! `drawbridge calls`: shows calls with their decisions and outcomes.

use clap::Subcommand;
use drawbridge_hub::{
    api::calls::{ListCalls, ShowCall},
    model::{
        call::{Call, Decision},
        ids::{CallId, ClientName, ServerId, Timestamp},
    },
};

use crate::{
    connection::Context,
    exit::Failure,
    moment,
    text::{Table, enum_text, escape, moment},
};

#[derive(Subcommand)]
pub(crate) enum Calls {
    /// List calls, newest first
    List {
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
        #[arg(long, value_name = "ID")]
        server: Option<String>,
        /// Only calls that waited for a person, including those that timed out
        #[arg(long)]
        asked: bool,
        /// Only calls that contain this text in their tool, exposed name, reason, error or
        /// arguments
        #[arg(long)]
        text: Option<String>,
        /// Only calls with this decision: allowed, denied, timed_out, no_screen, paused,
        /// queue_full, abandoned
        #[arg(long, value_name = "DECISION", value_parser = parse_decision)]
        decision: Option<Decision>,
        /// Only calls that follow this call in the list: the next page
        #[arg(long, value_name = "ID")]
        before: Option<String>,
        /// Only calls since this moment: a day, a time, or an age such as 7d
        #[arg(long, value_name = "WHEN", value_parser = moment::read)]
        since: Option<Timestamp>,
        /// Only calls before this moment
        #[arg(long, value_name = "WHEN", value_parser = moment::read)]
        until: Option<Timestamp>,
        /// The maximum number of calls
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
    /// Show a call
    Show { id: String },
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
                let wanted = ListCalls {
                    client,
                    server,
                    asked,
                    text,
                    decision,
                    before,
                    since,
                    until,
                    limit,
                };
                context
                    .run_and_print(wanted, |calls| format_calls(calls))
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

fn parse_decision(word: &str) -> Result<Decision, String> {
    serde_json::from_value(word.into())
        .map_err(|_| "it is allowed, denied, timed_out or abandoned".to_owned())
}

fn format_calls(calls: &[Call]) -> String {
    let mut table = Table::new([
        "ID", "AT", "CLIENT", "SERVER", "TOOL", "DECISION", "BY", "OUTCOME", "MS",
    ]);
    for call in calls {
        let took = format_duration(call);
        table.row([
            call.id.as_str(),
            &moment(call.at),
            call.client.as_str(),
            call.server.as_str(),
            &call.tool,
            &enum_text(call.decision),
            &enum_text(call.decided_by),
            &enum_text(call.outcome),
            &took,
        ]);
    }
    table.lines_or("no calls")
}

fn format_call(call: &Call) -> String {
    let lines = [
        ("id", call.id.to_string()),
        ("at", moment(call.at)),
        ("client", call.client.to_string()),
        ("server", call.server.to_string()),
        ("tool", call.tool.clone()),
        ("at the door", call.exposed_name.clone()),
        (
            "decision",
            format!(
                "{} by {}, after {} ms",
                enum_text(call.decision),
                enum_text(call.decided_by),
                call.waited_ms
            ),
        ),
        ("reason", call.reason.clone()),
        ("arguments", call.arguments.clone().unwrap_or_default()),
        ("outcome", enum_text(call.outcome)),
        ("error", call.error.clone()),
        ("took", format!("{} ms", format_duration(call))),
    ];
    let said = lines.iter().filter(|(_, value)| !value.is_empty());
    said.map(|(key, value)| format!("{key:12} {}", escape(value)))
        .collect::<Vec<_>>()
        .join("\n")
}

fn format_duration(call: &Call) -> String {
    call.duration_ms
        .map_or_else(|| "-".to_owned(), |ms| ms.to_string())
}
