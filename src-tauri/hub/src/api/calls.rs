//! Calls: every `tools/call` and every other guarded request, with its decision and its outcome.
//! Also the running calls of tools, which a person can cancel, and stats.

use drawbridge_model::{
    call::{Call, CallProgress, CallStats, Decision, Outcome},
    clock,
    ids::{CallId, ClientName, ServerId, SessionId, Timestamp},
};
use drawbridge_store::table::{
    call::CallFilter,
    call_stats::{CallGroup, CallStatsFilter, GroupStats, MAX_COUNTED_CALLS},
};
use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::{hub::Hub, live_calls::LiveCallView};

/// `calls.list`: calls and other guarded requests, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default, deny_unknown_fields)]
pub struct ListCalls {
    pub client: Option<ClientName>,
    /// Only calls of this client session.
    pub session: Option<SessionId>,
    pub server: Option<ServerId>,
    /// Only calls of tools that their server lists under this name. Also matches the name of a
    /// prompt and the URI of a resource.
    pub tool: Option<String>,
    /// Only calls that a person had to decide, including calls that nobody decided: the
    /// history of approvals.
    pub needed_approval: bool,
    /// Only calls that contain this text in their method, tool, exposed name, reason, error or
    /// params. ASCII letters match in either case.
    pub text: Option<String>,
    pub decision: Option<Decision>,
    pub outcome: Option<Outcome>,
    /// Only calls that are older than this call: the last call of the previous page.
    pub before: Option<CallId>,
    /// Only calls at or after this moment.
    pub since: Option<Timestamp>,
    /// Only calls before this moment.
    pub until: Option<Timestamp>,
    /// The maximum number of calls to return: 200 by default, and 1,000 at most.
    pub limit: Option<u32>,
}

/// `calls.show`: one call, with its arguments as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowCall {
    pub id: CallId,
}

impl Verb for ListCalls {
    type Answer = Vec<Call>;

    async fn run(self, hub: &Hub) -> Result<Vec<Call>, ApiError> {
        let limit = self.limit.unwrap_or(200).clamp(1, 1_000);
        let filter = CallFilter {
            client: self.client,
            session: self.session,
            server: self.server,
            tool: self.tool,
            needed_approval: self.needed_approval,
            text: self.text.filter(|text| !text.is_empty()),
            decision: self.decision,
            outcome: self.outcome,
            before: self.before,
            since: self.since,
            until: self.until,
            limit,
        };
        hub.journal.flush().await;
        Ok(hub.store.calls(&filter).await?)
    }
}

impl Verb for ShowCall {
    type Answer = Call;

    async fn run(self, hub: &Hub) -> Result<Call, ApiError> {
        hub.journal.flush().await;
        let call = hub.store.call(&self.id).await?;
        call.ok_or_else(|| {
            ApiError::not_found(format!("there is no call with the id '{}'", self.id))
        })
    }
}

/// `calls.running`: the running calls of tools, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListRunningCalls {}

/// A running call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RunningCallView {
    pub call: Call,
    /// How long the call has run, in milliseconds.
    pub running_ms: u32,
    /// The latest progress that the server reported. Servers report progress only if the client
    /// asks for it.
    pub progress: Option<CallProgress>,
}

/// `calls.cancel`: cancels a running call at its server. The client gets a failed result that says
/// that the user cancelled the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CancelCall {
    pub id: CallId,
}

/// `calls.stats`: the counts and durations of calls of tools in a period, in total, for each step
/// of the period, and by client, server or tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default, deny_unknown_fields)]
pub struct ShowCallStats {
    pub period: StatsPeriod,
    /// How the calls are grouped.
    pub group_by: StatsGroup,
    pub client: Option<ClientName>,
    pub server: Option<ServerId>,
    /// The server's own name of the tool.
    pub tool: Option<String>,
}

/// A span of time, and the steps of its series. The last step contains the present moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum StatsPeriod {
    /// 12 steps of five minutes.
    Hour,
    /// 24 steps of an hour.
    #[default]
    Day,
    /// 28 steps of six hours.
    Week,
    /// 30 steps of a day (UTC).
    Month,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum StatsGroup {
    Client,
    #[default]
    Server,
    /// Each tool of each server.
    Tool,
}

/// The stats of calls in a span of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CallStatsView {
    pub since: Timestamp,
    /// The length of a step of the series, in milliseconds.
    pub step_ms: u32,
    pub total: CallStats,
    /// One entry for each step, oldest first. The last step is not over yet.
    pub series: Vec<CallStats>,
    /// The groups with the most calls, at most 50.
    pub groups: Vec<CallGroupView>,
    /// The number of further groups.
    pub omitted_groups: u32,
    /// Whether the limit of 200,000 counted calls was reached, so that older calls may be missing.
    pub is_partial: bool,
}

/// The stats of the calls of a client, a server or a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CallGroupView {
    /// The client's name, the server's id, or the server's own name of the tool.
    pub name: String,
    /// The server of a tool. Empty if no server has the tool, or if the group is no tool.
    pub server: String,
    pub stats: CallStats,
    /// One entry for each step, oldest first. Only the six groups with the most calls have a
    /// series.
    pub series: Vec<CallStats>,
}

/// The maximum number of groups in an answer.
const MAX_GROUPS: usize = 50;
const MINUTE_MS: u32 = 60_000;

impl StatsPeriod {
    /// Returns the number of steps, and the length of a step in milliseconds.
    fn steps(self) -> (u32, u32) {
        match self {
            Self::Hour => (12, 5 * MINUTE_MS),
            Self::Day => (24, 60 * MINUTE_MS),
            Self::Week => (28, 6 * 60 * MINUTE_MS),
            Self::Month => (30, 24 * 60 * MINUTE_MS),
        }
    }
}

impl Verb for ListRunningCalls {
    type Answer = Vec<RunningCallView>;

    async fn run(self, hub: &Hub) -> Result<Vec<RunningCallView>, ApiError> {
        let view = |live: LiveCallView| RunningCallView {
            call: live.call,
            running_ms: u32::try_from(live.elapsed.as_millis()).unwrap_or(u32::MAX),
            progress: live.progress,
        };
        Ok(hub.live_calls.list().into_iter().map(view).collect())
    }
}

impl Verb for CancelCall {
    type Answer = Call;

    async fn run(self, hub: &Hub) -> Result<Call, ApiError> {
        hub.live_calls.cancel(&self.id).ok_or_else(|| {
            ApiError::not_found(format!(
                "the call '{}' is not running; it may have ended already",
                self.id
            ))
        })
    }
}

impl Verb for ShowCallStats {
    type Answer = CallStatsView;

    async fn run(self, hub: &Hub) -> Result<CallStatsView, ApiError> {
        let (steps, step_ms) = self.period.steps();
        let step = i64::from(step_ms);
        let now = clock::now().0;
        let until = now - now.rem_euclid(step) + step;
        let filter = CallStatsFilter {
            since: Timestamp(until - i64::from(steps) * step),
            steps,
            step_ms,
            client: self.client,
            server: self.server,
            tool: self.tool,
        };
        hub.journal.flush().await;
        hub.store_token_usage().await;
        let report = hub.store.call_stats(&filter, self.group_by.into()).await?;
        let omitted = report.groups.len().saturating_sub(MAX_GROUPS);
        let groups = report.groups.into_iter().take(MAX_GROUPS);
        Ok(CallStatsView {
            since: filter.since,
            step_ms,
            is_partial: report.total.calls >= MAX_COUNTED_CALLS.into(),
            total: report.total,
            series: report.series,
            groups: groups
                .map(|group| group_view(group, self.group_by))
                .collect(),
            omitted_groups: u32::try_from(omitted).unwrap_or(u32::MAX),
        })
    }
}

impl From<StatsGroup> for CallGroup {
    fn from(group: StatsGroup) -> Self {
        match group {
            StatsGroup::Client => Self::Client,
            StatsGroup::Server => Self::Server,
            StatsGroup::Tool => Self::Tool,
        }
    }
}

fn group_view(group: GroupStats, group_by: StatsGroup) -> CallGroupView {
    // The key of a tool is its server's id and its name, with a space between them.
    let (server, name) = match group.key.split_once(' ') {
        Some((server, tool)) if group_by == StatsGroup::Tool => {
            (server.to_owned(), tool.to_owned())
        }
        _ => (String::new(), group.key),
    };
    CallGroupView {
        name,
        server,
        stats: group.total,
        series: group.series,
    }
}
