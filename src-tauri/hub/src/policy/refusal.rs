//! The reasons why a call is refused or its result is withheld, as short instructions for the
//! model.

use drawbridge_jsonrpc::rpc::{RpcError, code};
use drawbridge_model::call::{Call, DecidedBy, Decision};
use drawbridge_store::JournalError;

use super::queue_limits::NotQueued;

/// The reason why a call is refused or its result is withheld, in words for the model.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("All calls are paused. This call was not run. Do not retry it unless the user asks.")]
    Paused,
    #[error(
        "The user denied this call{}. It was not run. Do not retry it unless the user asks.",
        after_colon(.reason)
    )]
    DeniedByUser { reason: String },
    /// A person closed a request for input.
    #[error("The user closed this request without an answer.")]
    Dismissed,
    #[error(
        "The policy denied this call ({reason}). It was not run. Do not retry it unless the user asks."
    )]
    DeniedByPolicy { reason: String },
    #[error("Drawbridge denied this call{}. It was not run.", after_colon(.reason))]
    DeniedByHub { reason: String },
    #[error(
        "Timed out: nobody approved this call within {timeout_s} s. It was not run. Ask the user before you retry it."
    )]
    TimedOut { timeout_s: u64 },
    #[error(
        "No screen: nobody could be asked to approve this call within {timeout_s} s, because no screen of \
         Drawbridge was open. The call was not run. Ask the user to open Drawbridge before you retry it."
    )]
    NoScreen { timeout_s: u64 },
    #[error("Queue full{}. This call was not run. Ask the user before you retry it.", after_colon(.reason))]
    QueueFull { reason: String },
    #[error("Muted{}. This call was not run. Ask the user before you retry it.", after_colon(.reason))]
    Muted { reason: String },
    #[error(
        "Drawbridge denied this call: its decision could not be recorded: {0}. It was not run."
    )]
    NotRecorded(#[from] JournalError),
    #[error(
        "This call was run, but its result was withheld ({rule}): {reason}. Do not repeat the call unless the user \
         asks."
    )]
    Withheld {
        /// The rule that holds results, the hook that failed or the content defence, in words.
        rule: String,
        reason: WithheldReason,
    },
}

impl Refusal {
    /// Returns the error for a request that is no call of a tool.
    pub fn to_rpc_error(&self) -> RpcError {
        let text = match self {
            Self::Paused => "All calls are paused. This request was not sent.".to_owned(),
            Self::DeniedByUser { reason } => format!(
                "The user denied this request{}. It was not sent.",
                after_colon(reason)
            ),
            Self::Dismissed => self.to_string(),
            Self::DeniedByPolicy { reason } => {
                format!("The policy denied this request ({reason}). It was not sent.")
            }
            Self::DeniedByHub { reason } => format!(
                "Drawbridge denied this request{}. It was not sent.",
                after_colon(reason)
            ),
            Self::TimedOut { timeout_s } => format!(
                "Timed out: nobody approved this request within {timeout_s} s. It was not sent."
            ),
            Self::NoScreen { timeout_s } => format!(
                "No screen: nobody could be asked to approve this request within {timeout_s} s, because no \
                 screen of Drawbridge was open. It was not sent."
            ),
            Self::QueueFull { reason } => format!(
                "Queue full{}. This request was not sent.",
                after_colon(reason)
            ),
            Self::Muted { reason } => {
                format!("Muted{}. This request was not sent.", after_colon(reason))
            }
            Self::NotRecorded(error) => format!(
                "Drawbridge denied this request: its decision could not be recorded: {error}. It was not sent."
            ),
            Self::Withheld { rule, reason } => {
                format!("The answer to this request was withheld ({rule}): {reason}.")
            }
        };
        RpcError::new(code::INTERNAL_ERROR, text)
    }

    /// Returns the refusal for a result that is withheld because a hook failed.
    pub fn withheld_by_hook(hook: &str) -> Self {
        Self::Withheld {
            rule: format!("hook '{hook}'"),
            reason: WithheldReason::HookFailed,
        }
    }

    /// Returns the refusal of a recorded call whose decision is not `Allowed`.
    pub(super) fn from_call(call: &Call, timeout_s: u64) -> Self {
        let reason = call.reason.clone();
        match (call.decision, call.decided_by) {
            (Decision::Paused, _) => Self::Paused,
            (Decision::TimedOut, _) => Self::TimedOut { timeout_s },
            (Decision::NoScreen, _) => Self::NoScreen { timeout_s },
            (Decision::QueueFull, _) => Self::QueueFull { reason },
            (Decision::Muted, _) => Self::Muted { reason },
            (_, DecidedBy::Person) => Self::DeniedByUser { reason },
            (_, DecidedBy::Rule | DecidedBy::Default) => Self::DeniedByPolicy { reason },
            (_, DecidedBy::Hub) => Self::DeniedByHub { reason },
        }
    }
}

/// The reason why the result of a call that was run is withheld.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum WithheldReason {
    #[error("it has more than {0} bytes, too many to show to a person")]
    TooLarge(usize),
    #[error("the user denied it{}", after_colon(.0))]
    Denied(String),
    #[error("the hook failed")]
    HookFailed,
    #[error(
        "it cannot be marked as data of its server, because it is not an object, repeats \
         a key, has a malformed key or has contents that are not a list"
    )]
    Unmarkable,
    #[error(transparent)]
    Undecided(#[from] Undecided),
}

/// The reason why no person decided a request or a result.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecided {
    #[error("all calls are paused")]
    Paused,
    #[error("nobody decided it in time")]
    TimedOut,
    #[error("no screen of Drawbridge was open to show it")]
    NoScreen,
    #[error(transparent)]
    NotQueued(#[from] NotQueued),
    #[error("the approval was interrupted by an error in Drawbridge")]
    Interrupted,
}

impl Undecided {
    /// Returns the decision and its reason as they are recorded. The reason is empty if the
    /// decision says everything.
    pub(super) fn to_decision(&self) -> (Decision, String) {
        match self {
            Self::Paused => (Decision::Paused, String::new()),
            Self::TimedOut => (Decision::TimedOut, String::new()),
            Self::NoScreen => (Decision::NoScreen, String::new()),
            Self::NotQueued(reason @ NotQueued::QueueFull(_)) => {
                (Decision::QueueFull, reason.to_string())
            }
            Self::NotQueued(reason @ NotQueued::Muted { .. }) => {
                (Decision::Muted, reason.to_string())
            }
            Self::Interrupted => (Decision::Denied, format!("{self}; you may retry")),
        }
    }
}

fn after_colon(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}
