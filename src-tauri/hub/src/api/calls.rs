//! Calls: every `tools/call` that reached the endpoint, with its decision and its outcome.

use drawbridge_model::{
    call::{Call, Decision},
    ids::{CallId, ClientName, ServerId, Timestamp},
};
use drawbridge_store::table::call::CallFilter;
use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::hub::Hub;

/// `calls.list`: calls, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default, deny_unknown_fields)]
pub struct ListCalls {
    pub client: Option<ClientName>,
    pub server: Option<ServerId>,
    /// Only calls that waited for a person, including those that timed out: the history of
    /// approvals.
    pub asked: bool,
    /// Only calls that contain this text in their tool, exposed name, reason, error or arguments.
    /// ASCII letters match in either case.
    pub text: Option<String>,
    pub decision: Option<Decision>,
    /// Only calls that follow this call in the list: the next page.
    pub before: Option<CallId>,
    /// Only calls at or after this moment.
    pub since: Option<Timestamp>,
    /// Only calls before this moment.
    pub until: Option<Timestamp>,
    /// The most calls to return: 200 by default, and 1,000 at most.
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
            server: self.server,
            asked: self.asked,
            text: self.text.filter(|text| !text.is_empty()),
            decision: self.decision,
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
