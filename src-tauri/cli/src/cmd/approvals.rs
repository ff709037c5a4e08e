//! `drawbridge approvals`: the calls that wait for a person.

mod watch;

use std::time::Duration;

use clap::{Args, Subcommand};
use drawbridge_endpoint::ApiClient;
use drawbridge_hub::{
    api::approvals::{DecideApproval, ListApprovals, ShowApproval},
    model::{
        approval::{ApprovalRequest, Verdict},
        call::Call,
        ids::CallId,
    },
};

use crate::{
    connection::Context,
    exit::Failure,
    output,
    text::{Table, indented, shown, shown_lines, word},
};

#[cfg(test)]
mod tests;

#[derive(Subcommand)]
pub(crate) enum Approvals {
    /// What waits, oldest first.
    List,
    /// One request, with its arguments in full.
    Show { id: String },
    /// Let a call through.
    Approve(Approve),
    /// Refuse a call.
    Deny {
        id: String,
        /// Why; the model gets to read it.
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Print requests as they come.
    Watch,
}

#[derive(Args)]
pub(crate) struct Approve {
    id: String,
    #[command(flatten)]
    life: Life,
}

/// How long the approval holds; for this one call where nothing is given.
#[derive(Args)]
#[group(multiple = false)]
struct Life {
    /// Approve this client's calls of the tool for so long, such as 15m.
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,
    /// Approve this client's calls of the tool from now on.
    #[arg(long)]
    always: bool,
    /// Approve this client's calls of the tool until its session ends.
    #[arg(long)]
    session: bool,
}

impl Life {
    fn verdict(&self) -> Verdict {
        match self.time {
            Some(time) => Verdict::ApproveFor { seconds: u32::try_from(time.as_secs()).unwrap_or(u32::MAX) },
            None if self.always => Verdict::ApproveAlways,
            None if self.session => Verdict::ApproveSession,
            None => Verdict::ApproveOnce,
        }
    }
}

impl Approvals {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let hub = context.running()?;
        match self {
            Self::List => output::answer(context.json, &hub.call(ListApprovals {}).await?, |all| list(all)),
            Self::Show { id } => {
                output::answer(context.json, &hub.call(ShowApproval { id: CallId::new(id) }).await?, one)
            }
            Self::Approve(approve) => decide(context, &hub, approve.id, approve.life.verdict()).await,
            Self::Deny { id, reason } => decide(context, &hub, id, Verdict::Deny { reason }).await,
            Self::Watch => watch::run(context, &hub).await,
        }
    }
}

/// A decision is about the request of a digest, so that one must be read first.
async fn decide(context: &Context, hub: &ApiClient, id: String, verdict: Verdict) -> Result<(), Failure> {
    let request = hub.call(ShowApproval { id: CallId::new(id) }).await?;
    let call = hub.call(DecideApproval { id: request.id, digest: request.digest, verdict }).await?;
    output::answer(context.json, &call, decided)
}

fn decided(call: &Call) -> String {
    format!("{}: {} of {}", word(call.decision), shown(&call.tool), shown(call.client.as_str()))
}

fn list(requests: &[ApprovalRequest]) -> String {
    let mut table = Table::new(["ID", "CLIENT", "SERVER", "TOOL", "LEFT", "ARGUMENTS"]);
    for request in requests {
        let left = format!("{} s", request.left_ms / 1000);
        let (client, server) = (request.client.as_str(), request.server.as_str());
        table.row([request.id.as_str(), client, server, &request.tool, &left, &request.arguments]);
    }
    table.lines_or("nothing waits")
}

/// A request with all that a decision needs, nothing shortened.
fn one(request: &ApprovalRequest) -> String {
    format!(
        "{id}\n{client} wants to call {tool} of {server}; {left} s are left\n\narguments\n{arguments}\n\n\
         the server's words about the tool\n{description}\n\ndigest {digest}",
        id = shown(request.id.as_str()),
        client = shown(request.client.as_str()),
        tool = shown(&request.tool),
        server = shown(&request.server_name),
        left = request.left_ms / 1000,
        arguments = shown_lines(&indented(&request.arguments)),
        description = shown_lines(&request.description),
        digest = shown(&request.digest),
    )
}

fn duration(text: &str) -> Result<Duration, &'static str> {
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
    if count == 0 { Err(WRONG) } else { Ok(Duration::from_secs(u64::from(count) * seconds)) }
}
