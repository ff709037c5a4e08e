//! `drawbridge approvals`: lists and decides the calls that wait for a person.

mod watch;

use std::time::Duration;

use clap::{Args, Subcommand};
use drawbridge_endpoint::ApiClient;
use drawbridge_hub::{
    api::approvals::{AllowRetry, DecideApproval, ListApprovals, ListMissed, ShowApproval},
    model::{
        approval::{ApprovalRequest, Verdict},
        call::Call,
        ids::CallId,
        policy::Condition,
    },
};

use super::policy::parse_condition;
use crate::{
    connection::Context,
    exit::Failure,
    output,
    text::{Table, enum_text, escape, escape_lines, indent_json},
};

#[cfg(test)]
mod tests;

#[derive(Subcommand)]
pub(crate) enum Approvals {
    /// List pending approvals, oldest first
    List,
    /// Show a request with its full arguments
    Show { id: String },
    /// List requests that nobody decided in time, whose identical retry can still be allowed
    Missed,
    /// Approve a call. For a missed call, allow an identical retry.
    Approve(Approve),
    /// Deny a call
    Deny {
        id: String,
        /// The reason, which is sent to the model
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Print requests as they arrive
    Watch,
}

#[derive(Args)]
pub(crate) struct Approve {
    id: String,
    #[command(flatten)]
    lifetime: LifetimeArgs,
    /// With --for, --calls, --session or --always: approve only calls whose arguments meet this
    /// condition, such as '/path in /home/me/notes'. May be repeated.
    #[arg(long, value_name = "CONDITION", value_parser = parse_condition, conflicts_with = "arguments")]
    when: Vec<Condition>,
}

/// The lifetime of an approval. If none is given, only this call is approved.
#[derive(Args)]
#[group(multiple = false)]
struct LifetimeArgs {
    /// Approve this client's calls of the tool for this time, such as 15m
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    time: Option<Duration>,
    /// Approve this client's calls of the tool from now on
    #[arg(long)]
    always: bool,
    /// Approve this client's calls of the tool until its session ends
    #[arg(long)]
    session: bool,
    /// Approve this many more of this client's calls of the tool
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    calls: Option<u32>,
    /// Approve this call with these arguments, a JSON object, instead of the client's
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
}

impl LifetimeArgs {
    fn to_verdict(&self, when: Vec<Condition>) -> Verdict {
        match self.time {
            Some(time) => Verdict::ApproveFor {
                seconds: u32::try_from(time.as_secs()).unwrap_or(u32::MAX),
                conditions: when,
            },
            None if self.always => Verdict::ApproveAlways { conditions: when },
            None if self.session => Verdict::ApproveSession { conditions: when },
            None => match self.calls {
                Some(count) => Verdict::ApproveCalls {
                    count,
                    conditions: when,
                },
                None => Verdict::ApproveOnce {
                    arguments: self.arguments.clone(),
                },
            },
        }
    }
}

impl Approvals {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let hub = context.running_hub()?;
        match self {
            Self::List => {
                output::print_answer(context.json, &hub.call(ListApprovals {}).await?, |all| {
                    format_pending(all)
                })
            }
            Self::Show { id } => output::print_answer(
                context.json,
                &hub.call(ShowApproval {
                    id: CallId::new(id),
                })
                .await?,
                format_request,
            ),
            Self::Missed => {
                output::print_answer(context.json, &hub.call(ListMissed {}).await?, |all| {
                    format_missed(all)
                })
            }
            Self::Approve(Approve { id, lifetime, when }) => {
                let verdict = lifetime.to_verdict(when.clone());
                if !when.is_empty() && verdict == Verdict::approve_once() {
                    return Err(Failure::new(
                        "--when needs --for, --calls, --session or --always",
                    ));
                }
                let missed = hub
                    .call(ListMissed {})
                    .await?
                    .into_iter()
                    .find(|request| request.id.as_str() == id);
                match missed {
                    Some(late) => allow_retry(context, &hub, late).await,
                    None => decide(context, &hub, id, verdict).await,
                }
            }
            Self::Deny { id, reason } => decide(context, &hub, id, Verdict::Deny { reason }).await,
            Self::Watch => watch::run(context, &hub).await,
        }
    }
}

/// Allows an identical retry of a missed call. The call does not run now: the client has to send it
/// again.
async fn allow_retry(
    context: &Context,
    hub: &ApiClient,
    missed: ApprovalRequest,
) -> Result<(), Failure> {
    let allowed = hub
        .call(AllowRetry {
            id: missed.id,
            digest: missed.digest,
        })
        .await?;
    output::print_answer(context.json, &allowed, |allowed| {
        format!(
            "it timed out; an identical retry within {} s will be let through",
            allowed.seconds
        )
    })
}

/// Decides a pending request. A decision names the digest of the request, so the request is read
/// first.
async fn decide(
    context: &Context,
    hub: &ApiClient,
    id: String,
    verdict: Verdict,
) -> Result<(), Failure> {
    let request = hub
        .call(ShowApproval {
            id: CallId::new(id),
        })
        .await?;
    let call = hub
        .call(DecideApproval {
            id: request.id,
            digest: request.digest,
            verdict,
        })
        .await?;
    output::print_answer(context.json, &call, format_decision)
}

fn format_decision(call: &Call) -> String {
    format!(
        "{}: {} of {}",
        enum_text(call.decision),
        escape(&call.tool),
        escape(call.client.as_str())
    )
}

fn format_pending(requests: &[ApprovalRequest]) -> String {
    build_table(requests).lines_or("nothing waits")
}

fn format_missed(requests: &[ApprovalRequest]) -> String {
    build_table(requests).lines_or("nothing was missed lately")
}

fn build_table(requests: &[ApprovalRequest]) -> Table {
    let mut table = Table::new(["ID", "CLIENT", "SERVER", "TOOL", "LEFT", "ARGUMENTS"]);
    for request in requests {
        let left = format!("{} s", request.remaining_ms / 1000);
        let (client, server) = (request.client.as_str(), request.server.as_str());
        let subject = request
            .result
            .as_ref()
            .map(|result| format!("its result: {result}"));
        let shown = subject.as_ref().unwrap_or(&request.arguments);
        table.row([
            request.id.as_str(),
            client,
            server,
            &request.tool,
            &left,
            shown,
        ]);
    }
    table
}

/// Returns the text of a request with everything that a decision needs. Nothing is shortened.
fn format_request(request: &ApprovalRequest) -> String {
    format!(
        "{id}\n{client} {wants} {tool} of {server}; {left} s are left\n\narguments\n{arguments}\n\n{result}\
         the server's words about the tool\n{description}\n\ndigest {digest}",
        wants = if request.result.is_some() {
            "waits for the result of"
        } else {
            "wants to call"
        },
        result = request
            .result
            .as_ref()
            .map(|result| format!(
                "the result that is held\n{}\n\n",
                escape_lines(&indent_json(result))
            ))
            .unwrap_or_default(),
        id = escape(request.id.as_str()),
        client = escape(request.client.as_str()),
        tool = escape(&request.tool),
        server = escape(&request.server_name),
        left = request.remaining_ms / 1000,
        arguments = escape_lines(&indent_json(&request.arguments)),
        description = escape_lines(&request.description),
        digest = escape(&request.digest),
    )
}

pub(super) fn parse_duration(text: &str) -> Result<Duration, &'static str> {
    const WRONG: &str = "this must be a time such as 90s, 15m, 8h or 2d";
    let unit = text.chars().last().ok_or(WRONG)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(WRONG),
    };
    let count: u32 = text[..text.len() - 1].parse().map_err(|_| WRONG)?;
    if count == 0 {
        Err(WRONG)
    } else {
        Ok(Duration::from_secs(u64::from(count) * seconds))
    }
}
