//! `drawbridge approvals`: lists, shows and decides the requests that wait for a person, and allows
//! retries of missed calls.

mod fill_in;
mod watch;

use std::time::Duration;

use clap::{Args, Subcommand};
use drawbridge_endpoint::ApiClient;
use drawbridge_hub::api::approvals::{
    AllowRetry, DecideApproval, ListApprovals, ListMissed, ShowApproval,
};
use drawbridge_model::{
    approval::{ApprovalRequest, Verdict},
    call::Call,
    ids::CallId,
    policy::Condition,
};

use super::policy::parse_condition;
use crate::{
    context::Context,
    exit::Failure,
    output,
    table::Table,
    text::{escape, escape_lines, format_flags, indent_json},
    time::parse_duration,
};

#[derive(Subcommand)]
pub(crate) enum Approvals {
    /// List pending approvals, oldest first
    List,
    /// Show a pending approval with its full arguments
    Show {
        /// The id, as shown by `approvals list`
        id: String,
    },
    /// List requests that nobody decided in time, and whose identical retry can still be allowed
    Missed,
    /// Approve a call or another request, release a held result, or allow an identical retry of a
    /// missed call
    Approve(Approve),
    /// Deny a call or another request, withhold a held result, or decline a server's request for
    /// input
    Deny {
        /// The id, as shown by `approvals list`
        id: String,
        /// The reason, which the model receives
        #[arg(
            long,
            value_name = "TEXT",
            default_value = "",
            hide_default_value = true
        )]
        reason: String,
    },
    /// Answer a server's request for input
    ///
    /// Asks for each field at a terminal, or reads the values from stdin as a JSON object. For a
    /// URL, accepts the visit and prints the URL. To decline, use `approvals deny`.
    FillIn {
        /// The id, as shown by `approvals list`
        id: String,
    },
    /// Close a server's request for input without an answer
    Dismiss {
        /// The id, as shown by `approvals list`
        id: String,
    },
    /// Print the pending approvals, and then new approvals as they arrive
    Watch,
}

#[derive(Args)]
pub(crate) struct Approve {
    /// The id, as shown by `approvals list` or `approvals missed`
    id: String,
    #[command(flatten)]
    lifetime: LifetimeArgs,
    /// With --for, --calls, --session or --always: approve only calls whose arguments meet this
    /// condition, such as '/path in /home/me/notes'. May be repeated.
    #[arg(long, value_name = "CONDITION", value_parser = parse_condition, requires = "lifetime", conflicts_with = "arguments")]
    when: Vec<Condition>,
}

/// The lifetime of an approval, or the arguments with which this one call is approved. Without an
/// option, only this call is approved, as the client sent it.
#[derive(Args)]
#[group(id = "lifetime", multiple = false)]
struct LifetimeArgs {
    /// Approve this client's calls of the tool for this duration, such as 15m or 1h30m
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    time: Option<Duration>,
    /// Approve this client's calls of the tool from now on
    #[arg(long)]
    always: bool,
    /// Approve this client's calls of the tool until its session ends
    #[arg(long)]
    session: bool,
    /// Approve this many more of this client's calls of the tool
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    calls: Option<u32>,
    /// Approve this call with these arguments, a JSON object, instead of the client's
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
}

impl LifetimeArgs {
    /// Returns whether any option is given.
    fn is_given(&self) -> bool {
        let Self {
            time,
            always,
            session,
            calls,
            arguments,
        } = self;
        time.is_some() || *always || *session || calls.is_some() || arguments.is_some()
    }

    fn into_verdict(self, when: Vec<Condition>) -> Verdict {
        match self.time {
            Some(time) => Verdict::ApproveFor {
                seconds: u32::try_from(time.as_secs()).expect("a duration has at most MAX_DAYS"),
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
                    arguments: self.arguments,
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
                let missed = hub
                    .call(ListMissed {})
                    .await?
                    .into_iter()
                    .find(|request| request.id.as_str() == id);
                match missed {
                    Some(_) if !when.is_empty() || lifetime.is_given() => Err(Failure::MissedCall),
                    Some(missed) => allow_retry(context, &hub, missed).await,
                    None => decide(context, &hub, id, lifetime.into_verdict(when)).await,
                }
            }
            Self::Deny { id, reason } => decide(context, &hub, id, Verdict::Deny { reason }).await,
            Self::FillIn { id } => fill_in::run(context, &hub, id).await,
            Self::Dismiss { id } => decide(context, &hub, id, Verdict::Dismiss).await,
            Self::Watch => watch::run(context, &hub).await,
        }
    }
}

/// Allows an identical retry of a missed call. The call does not run now: its sender has to send
/// the call again.
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
            "The call timed out. An identical retry within {} s is allowed.",
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
        "{}: {} of {}, for {}.",
        call.decision.label(),
        escape(&call.tool),
        escape(call.server.as_str()),
        escape(call.client.as_str())
    )
}

fn format_pending(requests: &[ApprovalRequest]) -> String {
    build_table(requests).format_or("No pending approvals.")
}

fn format_missed(requests: &[ApprovalRequest]) -> String {
    build_table(requests).format_or("No missed calls.")
}

fn build_table(requests: &[ApprovalRequest]) -> Table {
    let mut table = Table::new(["ID", "CLIENT", "SERVER", "TOOL", "TIME LEFT", "ARGUMENTS"]);
    for request in requests {
        let time_left = format!("{} s", request.remaining_ms / 1000);
        let (client, server) = (request.client.as_str(), request.server.as_str());
        let result = request
            .result
            .as_ref()
            .map(|result| format!("result: {result}"));
        table.add_row([
            request.id.as_str(),
            client,
            server,
            &request.method.subject(&request.tool),
            &time_left,
            result.as_ref().unwrap_or(&request.arguments),
        ]);
    }
    table
}

/// Returns the text of a request with everything that a decision needs. Nothing is shortened.
fn format_request(request: &ApprovalRequest) -> String {
    let (client, tool) = (escape(request.client.as_str()), escape(&request.tool));
    let server = escape(&request.server_name);
    let sentence = if request.result.is_some() {
        format!("{client} waits for the result of {tool} of {server}")
    } else if let Some(stand_in) = find_stand_in(request) {
        request
            .method
            .bridged_sentence(&client, &server, &escape(stand_in))
    } else {
        request.method.sentence(&client, &server, &tool)
    };
    let seconds = request.remaining_ms / 1000;
    let headline = format!("{sentence}; {seconds} s left to decide");
    let json = |title: &str, text: &str| format!("{title}:\n{}", escape_lines(&indent_json(text)));
    let mut sections = vec![format!("{}\n{headline}", escape(request.id.as_str()))];
    let notes = list_notes(request);
    if !notes.is_empty() {
        sections.push(notes.join("\n"));
    }
    sections.push(json("Arguments", &request.arguments));
    if let Some(extra) = &request.extra {
        sections.push(json("Sent along with the arguments", extra));
    }
    if !request.flags.is_empty() {
        let subject = match request.result {
            Some(_) => "The result contains",
            None => "The request or the tool's definition contains",
        };
        sections.push(format!(
            "! {subject} {}",
            escape(&format_flags(&request.flags))
        ));
    }
    if let Some(result) = &request.result {
        sections.push(json("Held result", result));
    }
    let definitions = [
        ("accepted", "offered", request.changed.as_ref()),
        (
            "allowed",
            "current",
            request
                .suspended
                .as_ref()
                .and_then(|suspended| suspended.definitions.as_ref()),
        ),
    ];
    for (before, after, texts) in definitions {
        let Some([old, new]) = texts else { continue };
        sections.push(json(&format!("The {before} definition"), old));
        sections.push(json(&format!("The {after} definition"), new));
    }
    if !request.description.is_empty() {
        sections.push(format!(
            "The server's description:\n{}",
            escape_lines(&request.description)
        ));
    }
    sections.push(format!("digest {}", escape(&request.digest)));
    sections.join("\n\n")
}

/// Returns who answers a server's request in place of the client: the model and its provider, or an
/// empty text if a person fills in a form. Returns `None` if the client answers.
fn find_stand_in(request: &ApprovalRequest) -> Option<&str> {
    let provider = request.sampling_provider.as_deref();
    provider.or_else(|| request.is_filled_in_by_person.then_some(""))
}

/// Returns the facts that a person should know before the details, one sentence each.
fn list_notes(request: &ApprovalRequest) -> Vec<String> {
    let server = escape(request.server.as_str());
    let mut notes = vec![format!("The server's id is {server}.")];
    if !request.request_hooks.is_empty() {
        let hooks = escape(&request.request_hooks.join(", "));
        notes.push(format!("The arguments were changed by the hook {hooks}."));
    }
    if request.is_filled_in_by_person {
        notes.push(
            "Answer the request with `approvals fill-in`, or decline it with `approvals deny`."
                .into(),
        );
    }
    if request.is_first {
        notes.push("This is the client's first request of this kind to this server.".into());
    }
    let claims = [
        (request.annotations.read_only, "only reads"),
        (request.annotations.destructive, "may delete or overwrite"),
        (
            request.annotations.idempotent,
            "may be repeated without harm",
        ),
        (request.annotations.open_world, "reaches other systems"),
    ];
    let claims: Vec<_> = claims
        .iter()
        .filter_map(|(claim, words)| match claim {
            Some(true) => Some((*words).to_owned()),
            Some(false) => Some(format!("not: {words}")),
            None => None,
        })
        .collect();
    if !claims.is_empty() {
        notes.push(format!(
            "The server says of the tool: {}.",
            claims.join("; ")
        ));
    }
    if request.changed.is_some() {
        notes.push(
            "The tool has changed since you accepted it. Its calls can only be approved once."
                .into(),
        );
    }
    if let Some(suspended) = &request.suspended {
        let changed = if suspended.is_server_changed {
            "the server"
        } else {
            "the tool"
        };
        notes.push(format!(
            "A rule would allow this request ({}), but {changed} has changed since.",
            escape(&suspended.rule_text)
        ));
    }
    notes
}
