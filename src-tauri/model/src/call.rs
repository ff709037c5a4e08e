//! Calls and other guarded requests: how each was decided and how it ended.

use serde::{Deserialize, Serialize};

use super::{
    content::ContentFlag,
    ids::{CallId, ClientName, RuleId, ServerId, SessionId, Timestamp},
    protocol::guarded::GuardedMethod,
};

/// A call, or another guarded request, with its decision and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct Call {
    pub id: CallId,
    pub at: Timestamp,
    pub method: GuardedMethod,
    /// The client that sent the request. For a request of a server, the client that receives it.
    pub client: ClientName,
    /// The client's session, as in "approve for this session". `None` if the request belongs to no
    /// session, and for calls that an earlier version recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub session: Option<SessionId>,
    /// The server, or an empty id if no server has the tool.
    pub server: ServerId,
    /// The server's own name of the tool or prompt, the URI of the resource, or empty if the
    /// request names nothing. For a request about a task, the tool of the call that started it.
    pub tool: String,
    /// The name or URI as the client knows it.
    pub exposed_name: String,
    pub decision: Decision,
    /// Whether a person, a rule, the default or the hub decided.
    pub decided_by: DecidedBy,
    /// The rule that decided; `None` if no rule did.
    #[serde(default)]
    pub rule: Option<RuleId>,
    /// Whether a person changed the arguments and approved the changed arguments.
    #[serde(default)]
    pub is_edited: bool,
    /// The reason for the decision: the person's, the rule in words, or Drawbridge's; may be empty.
    pub reason: String,
    /// The outcome; `running` until the call ends.
    pub outcome: Outcome,
    /// The error in words; empty if there is none.
    pub error: String,
    /// The time from the client's request to the decision, in milliseconds.
    pub waited_ms: u32,
    /// The time from the decision to the end of the call, in milliseconds. `None` while the call
    /// runs, and if it was not sent.
    pub duration_ms: Option<u32>,
    /// The arguments as JSON text, with secrets replaced by `•••`. They are set only in exports and
    /// in the view of a single call, never in lists and events, and only up to 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub arguments: Option<String>,
    /// The params besides the name and the arguments, stored and shown like `arguments`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub extra: Option<String>,
    /// The arguments that the client sent, if a person or a hook changed them; stored and shown
    /// like `arguments`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub original_arguments: Option<String>,
    /// The hooks that changed the arguments before the decision, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "bindings", ts(as = "Option<Vec<String>>", optional))]
    pub request_hooks: Vec<String>,
    /// The hooks that replaced the result, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "bindings", ts(as = "Option<Vec<String>>", optional))]
    pub result_hooks: Vec<String>,
    /// The flags of suspicious content in the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "bindings", ts(as = "Option<Vec<ContentFlag>>", optional))]
    pub flags: Vec<ContentFlag>,
    /// The result, if the settings say that results are kept. It is set only in exports and in the
    /// view of a single call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub result: Option<Box<KeptResult>>,
}

/// The result of a call as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct KeptResult {
    /// The result that the client got, as JSON text with secrets replaced by `•••`. If the result
    /// was cut, the beginning of this text; empty if the result was so long that none of it was
    /// kept.
    pub text: String,
    pub is_cut: bool,
    /// The length of the whole result in bytes.
    pub bytes: u32,
}

/// The latest progress of a running call, as its server reported it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct CallProgress {
    /// How much is done, in the server's own unit.
    pub progress: f64,
    /// How much there is to do, if the server knows.
    pub total: Option<f64>,
    /// The server's text, of at most 500 characters; may be empty.
    pub message: String,
}

/// Counts and durations of calls of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct CallStats {
    #[cfg_attr(feature = "bindings", ts(type = "number"))]
    pub calls: u64,
    /// Calls that failed: the tool reported an error, or there was no usable answer.
    #[cfg_attr(feature = "bindings", ts(type = "number"))]
    pub errors: u64,
    /// Calls that were cancelled while they ran.
    #[cfg_attr(feature = "bindings", ts(type = "number"))]
    pub cancelled: u64,
    /// Calls that were not sent, because a rule, a person or Drawbridge did not allow them, or
    /// because nobody decided.
    #[cfg_attr(feature = "bindings", ts(type = "number"))]
    pub not_allowed: u64,
    /// Calls that needed a person's decision. Not all of them count as `approved`, `denied` or
    /// `timed_out`, for instance if the client disconnected.
    #[cfg_attr(feature = "bindings", ts(type = "number"))]
    pub asked: u64,
    #[cfg_attr(feature = "bindings", ts(type = "number"))]
    pub approved: u64,
    #[cfg_attr(feature = "bindings", ts(type = "number"))]
    pub denied: u64,
    /// Calls that nobody decided in time, or that no screen showed.
    #[cfg_attr(feature = "bindings", ts(type = "number"))]
    pub timed_out: u64,
    /// The median duration of the calls that were sent and have ended, in milliseconds. `None` if
    /// there was no such call.
    pub p50_ms: Option<u32>,
    /// The 95th percentile of the durations of the same calls, in milliseconds. `None` if there was
    /// no such call.
    pub p95_ms: Option<u32>,
    /// The median wait of the calls that needed a person's decision, in milliseconds. `None` if
    /// there was no such call.
    pub wait_p50_ms: Option<u32>,
    /// About how many tokens the arguments had: a quarter of their bytes.
    #[cfg_attr(feature = "bindings", ts(type = "number"))]
    pub sent_tokens: u64,
    /// About how many tokens the results had: a quarter of their bytes.
    #[cfg_attr(feature = "bindings", ts(type = "number"))]
    pub received_tokens: u64,
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
    /// Too many requests of the client waited already. In calls of earlier versions, the client
    /// may also have been muted.
    QueueFull,
    /// The client was muted, because nobody had decided its last requests.
    Muted,
    /// The client disconnected or cancelled the call while it waited. The call was not sent.
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
    /// Drawbridge itself, for instance because the deadline passed, the client was muted, all calls
    /// were paused, or a step of the decision failed. Drawbridge also allows requests about the
    /// task of an allowed call.
    Hub,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Not sent: the call was not allowed, or could not be sent after the decision, for instance
    /// because its tool had changed or all calls had been paused.
    NotSent,
    Running,
    /// The server answered with a result.
    Ok,
    /// The server reported that the tool failed (`isError`), answered with a JSON-RPC error, or
    /// gave an invalid answer.
    ServerError,
    /// The client, or Drawbridge in its place, answered a server's request with an error, or not at
    /// all.
    ClientError,
    /// The server could not be reached; the call was not sent.
    Unreachable,
    /// The connection was lost, or the hub ended, with the call in flight. Whether the call ran is
    /// unknown.
    Unknown,
    /// The server did not answer in time.
    TimedOut,
    /// The client cancelled the call or disconnected, a person cancelled the call, or Drawbridge
    /// aborted the call because all calls were paused. The call's error says which.
    Cancelled,
    /// The server answered, but the client did not get the result: a person did not release it, it
    /// was too large to show to a person or could not be marked as data, or a hook failed.
    Withheld,
}
