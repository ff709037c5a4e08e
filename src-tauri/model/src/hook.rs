//! Hooks: programs and webhooks that Drawbridge runs on the events of servers and calls.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ids::{ServerId, Timestamp};

/// An event on which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    /// A server has completed its handshake, and its lists are read.
    ServerConnected,
    /// The connection to a server ended, or could not be made.
    ServerDisconnected,
    /// A client calls a tool, and nothing is decided yet.
    ToolRequested,
    /// A call that may have reached its server, or that got a cached result, has ended.
    ToolExecuted,
}

impl HookEvent {
    pub const ALL: [Self; 4] = [
        Self::ServerConnected,
        Self::ServerDisconnected,
        Self::ToolRequested,
        Self::ToolExecuted,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ServerConnected => "server_connected",
            Self::ServerDisconnected => "server_disconnected",
            Self::ToolRequested => "tool_requested",
            Self::ToolExecuted => "tool_executed",
        }
    }

    /// Returns whether Drawbridge may wait for a hook on this event.
    pub fn can_block(self) -> bool {
        matches!(self, Self::ToolRequested | Self::ToolExecuted)
    }
}

/// Whether Drawbridge waits for a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum HookMode {
    /// Drawbridge never waits for the hook, and ignores its answer.
    Observe,
    /// The hook may change or deny a call, or replace its result, and the call waits for it.
    Blocking,
}

/// Whether a call continues if a blocking hook fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The call continues as if the hook did not exist.
    #[default]
    Allow,
    /// The call is denied, or its result withheld.
    Deny,
}

/// The program or webhook that a hook runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HookTarget {
    /// A program, started without a shell. It reads the event as JSON from its stdin, and writes
    /// its answer as JSON to its stdout.
    Command {
        program: String,
        #[serde(default)]
        args: Vec<String>,
        /// Variables of its environment. A value may contain `${keyring:NAME}`.
        #[serde(default)]
        env: BTreeMap<String, String>,
    },
    /// A URL to which the event is sent with POST. The body of the response is the answer.
    Webhook {
        /// An https URL, or an http URL of this computer. It may contain `${keyring:NAME}`.
        url: String,
        /// Headers of the request. A value may contain `${keyring:NAME}`.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
}

impl HookTarget {
    /// Returns the texts that may refer to secrets, by the names of the variables or headers. The
    /// URL has an empty name.
    pub fn values_with_references(&self) -> BTreeMap<String, String> {
        match self {
            Self::Command { env, .. } => env.clone(),
            Self::Webhook { url, headers } => {
                let url = (String::new(), url.clone());
                headers.clone().into_iter().chain([url]).collect()
            }
        }
    }
}

/// A hook as a person wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct Hook {
    /// Unique among the hooks: 1 to 64 characters, without commas, braces and control characters,
    /// and without white space at its beginning or end.
    pub name: String,
    /// The events on which the hook runs, at least one.
    pub events: Vec<HookEvent>,
    pub mode: HookMode,
    /// The server whose events the hook gets; all servers if it is absent.
    #[serde(default)]
    pub server: Option<ServerId>,
    /// The server's own name of the tool whose calls the hook gets; all events if it is absent.
    #[serde(default)]
    pub tool: Option<String>,
    /// How long one run may take, in milliseconds: 100 to 60,000.
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u32,
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Whether an observing hook gets the contents of results. A blocking hook always gets them.
    #[serde(default)]
    pub with_result: bool,
    #[serde(default = "default_enabled")]
    pub enabled: bool,
    pub target: HookTarget,
}

fn default_timeout_ms() -> u32 {
    5_000
}

fn default_enabled() -> bool {
    true
}

impl Hook {
    /// Returns whether the hook runs on this event of this server and tool. An event of a server
    /// has no tool, so a hook for one tool does not run on it.
    pub fn matches(&self, event: HookEvent, server: &ServerId, tool: Option<&str>) -> bool {
        self.enabled
            && self.events.contains(&event)
            && self.server.as_ref().is_none_or(|id| id == server)
            && self.tool.as_deref().is_none_or(|name| tool == Some(name))
    }
}

/// The effect of a run of a hook on its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum HookEffect {
    /// Nothing: the call or its result went on unchanged.
    Continued,
    ChangedArguments,
    Denied,
    ReplacedResult,
    /// The run failed.
    Failed,
}

/// One run of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct HookRun {
    pub at: Timestamp,
    pub hook: String,
    pub event: HookEvent,
    pub server: ServerId,
    /// The server's own name of the tool; empty for an event of a server.
    pub tool: String,
    pub effect: HookEffect,
    /// Why the run failed, or why the hook denied the call; empty otherwise.
    pub reason: String,
    pub duration_ms: u32,
    /// Whether a person tried the hook, so that no call was affected.
    pub is_trial: bool,
}

/// How a hook has run since Drawbridge started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct HookState {
    pub runs: u32,
    pub failures: u32,
    /// How many events an observing hook missed because the hook is too slow.
    pub dropped: u32,
    pub last: Option<HookRun>,
}
