//! The overview: stats of the latest calls of tools.

use drawbridge_model::{call::CallStats, clock, ids::Timestamp};
use drawbridge_store::table::call_stats::{CallGroup, CallStatsFilter, MAX_COUNTED_CALLS};
use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::hub::Hub;

/// `overview.show`: the calls of tools since a moment, such as the beginning of the person's day.
/// The hub does not know the person's time zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct ShowOverview {
    /// At most two days ago; an earlier moment counts as two days ago.
    pub since: Timestamp,
}

/// The calls of tools since a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OverviewView {
    pub since: Timestamp,
    pub calls: CallStats,
    /// Whether the limit of 200,000 counted calls was reached, so that older calls may be missing.
    pub is_partial: bool,
}

const MAX_SPAN_MS: u32 = 2 * 24 * 60 * 60 * 1_000;

impl Verb for ShowOverview {
    type Answer = OverviewView;

    async fn run(self, hub: &Hub) -> Result<OverviewView, ApiError> {
        let now = clock::now();
        let since = self.since.0.clamp(now.0 - i64::from(MAX_SPAN_MS), now.0);
        let filter = CallStatsFilter {
            since: Timestamp(since),
            // One step, which ends just after the present moment.
            steps: 1,
            step_ms: u32::try_from(now.0 - since)
                .unwrap_or(MAX_SPAN_MS)
                .saturating_add(1),
            client: None,
            server: None,
            tool: None,
        };
        hub.journal.flush().await;
        hub.store_token_usage().await;
        let calls = hub
            .store
            .call_stats(&filter, CallGroup::Client)
            .await?
            .total;
        Ok(OverviewView {
            since: filter.since,
            is_partial: calls.calls >= MAX_COUNTED_CALLS.into(),
            calls,
        })
    }
}
