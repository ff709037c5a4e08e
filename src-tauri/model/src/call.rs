//! Calls and other guarded requests: how each was decided and how it ended.

use serde::{Deserialize, Serialize};

use super::{
    ids::{CallId, ClientName, RuleId, ServerId, Timestamp},
    protocol::guarded::GuardedMethod,
};

/// A call, or another guarded request, with its decision and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct Call {
    pub id: CallId,
    pub at: Timestamp,
    pub method: GuardedMethod,
    /// The client that sent the request. For a request of a server, the client that it is sent to.
    pub client: ClientName,
    /// The server, or an empty id if no server has the tool.
    pub server: ServerId,
    /// The server's own name of the tool or prompt, the URI of the resource, the id of the task, or
    /// empty if the request names nothing.
    pub tool: String,
    /// The name or URI as the client knows it.
    pub exposed_name: String,
    pub decision: Decision,
    /// Whether a person, a rule, the default or the hub decided.
    pub decided_by: DecidedBy,
    /// The rule that decided, if one did.
    #[serde(default)]
    pub rule: Option<RuleId>,
    /// Whether a person changed the arguments and approved the changed ones.
    #[serde(default)]
    pub is_edited: bool,
    /// The person's reason, or the rule in words; may be empty.
    pub reason: String,
    /// The outcome; `running` until the call ends.
    pub outcome: Outcome,
    /// The error in words; empty if there is none.
    pub error: String,
    /// The time from the client's request to the decision, in milliseconds.
    pub waited_ms: u32,
    /// The time from sending the call to the server's answer, in milliseconds. `None` while the
    /// call runs, and if it was not sent.
    pub duration_ms: Option<u32>,
    /// The arguments as JSON text, with secrets replaced by `•••`. They are set only in exports and
    /// in the view of a single call, never in lists and events, and only up to 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub arguments: Option<String>,
    /// The params beside the name and the arguments, and the arguments that the client sent if a
    /// person changed them. They are kept and shown as `arguments` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub extra: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub original_arguments: Option<String>,
}

/// Whether a call may be sent, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allowed,
    Denied,
    /// Nobody decided in time; the call was not sent.
    TimedOut,
    /// There was no front end on which a person could have decided.
    NoScreen,
    /// All calls were paused.
    #[serde(alias = "raised")]
    Paused,
    /// Too many calls of the client waited already, or its last ones were not answered.
    QueueFull,
    /// The client disconnected while the call waited; the call was not sent.
    Abandoned,
}

/// The author of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    Person,
    Rule,
    Default,
    /// Drawbridge itself: the deadline passed, the client disconnected, too many calls waited, the
    /// calls were paused, or a step of the decision failed.
    Hub,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Not sent, because the call was not allowed or its tool changed after the decision.
    NotSent,
    Running,
    /// The server answered with a result.
    Ok,
    /// The server reported that the tool failed (`isError`), answered with a JSON-RPC
    /// error, or gave an invalid answer.
    ServerError,
    /// The client answered a server's request with an error, or not at all.
    ClientError,
    /// The server could not be reached; the call was not sent.
    Unreachable,
    /// The connection was lost, or the hub ended, with the call in flight. Whether the call ran is
    /// unknown.
    Unknown,
    /// The server did not answer in time.
    TimedOut,
    /// The client cancelled the call or disconnected, or Drawbridge aborted the call because all calls
    /// were paused.
    Cancelled,
    /// The server answered, and a person did not release the result.
    Withheld,
}
