//! One call: how it was decided and how it ended.

use serde::{Deserialize, Serialize};

use super::ids::{CallId, ClientName, RuleId, ServerId, Timestamp};

/// One call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Call {
    pub id: CallId,
    pub at: Timestamp,
    pub client: ClientName,
    pub server: ServerId,
    /// The server's own name of the tool.
    pub tool: String,
    pub exposed_name: String,
    pub decision: Decision,
    /// Who or what decided: a person, a rule, the default, the clock.
    pub decided_by: DecidedBy,
    /// The rule that decided, where one did.
    #[serde(default)]
    pub rule: Option<RuleId>,
    /// A person changed the arguments, and approved what came of that.
    #[serde(default)]
    pub is_edited: bool,
    /// The person's reason, or the rule in words; may be empty.
    pub reason: String,
    /// What came of it; `running` until it ended.
    pub outcome: Outcome,
    /// What went wrong; empty where nothing did.
    pub error: String,
    /// From the client's request until the decision, in milliseconds.
    pub waited_ms: u32,
    /// From sending it to the server until its answer; none while it runs and where it was not sent.
    pub duration_ms: Option<u32>,
    /// The arguments as JSON text with what is secret replaced by `•••`. Only where one call is shown and in an export;
    /// never in lists and events, and none where they are longer than 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub arguments: Option<String>,
}

/// Whether a call may cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allowed,
    Denied,
    /// Nobody decided in time; the call did not cross.
    TimedOut,
    /// There was no screen on which anybody could have decided.
    NoScreen,
    /// The drawbridge was raised: nothing crossed.
    Raised,
    /// Too many calls of the client waited already, or its last ones were not answered.
    QueueFull,
    /// The client went away while the call waited; it did not cross.
    Abandoned,
}

/// Who or what decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    Person,
    Rule,
    Default,
    /// The time to decide ran out, the client left, or too many calls wait.
    Hub,
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Not sent, as it was not allowed.
    NotSent,
    Running,
    /// The server answered with a result.
    Ok,
    /// The server answered that the tool failed (`isError`), or with a JSON-RPC error.
    ServerError,
    /// The server could not be reached; the call was not sent.
    Unreachable,
    /// The server went away with the call in flight: whether it ran is unknown.
    Unknown,
    /// The server did not answer in time.
    TimedOut,
    /// The client cancelled it or went away.
    Cancelled,
    /// The server answered, and a person did not let the result through.
    Withheld,
}
