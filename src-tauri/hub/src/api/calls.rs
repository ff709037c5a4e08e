//! Calls: every `tools/call` that reached the door, its decision and its outcome.

use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::{
    hub::Hub,
    model::{
        call::{Call, Decision},
        ids::{CallId, ClientName, ServerId, Timestamp},
    },
    store::table::call::CallFilter,
};

/// `calls.list`: newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default, deny_unknown_fields)]
pub struct ListCalls {
    pub client: Option<ClientName>,
    pub server: Option<ServerId>,
    /// Only those decided by a person or by the clock: the history of approvals.
    pub asked: bool,
    /// Only those with this text in their tool, exposed name, reason, error or arguments; ASCII letters in any case.
    pub text: Option<String>,
    pub decision: Option<Decision>,
    /// Only those behind this call in the list: the next page.
    pub before: Option<CallId>,
    /// Only those from this moment on.
    pub since: Option<Timestamp>,
    /// Only those ahead of this moment.
    pub until: Option<Timestamp>,
    /// At most so many; 200 where it is not given, 1,000 at most.
    pub limit: Option<u32>,
}

/// `calls.show`: one call, with its arguments as they are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowCall {
    pub id: CallId,
}

impl Verb for ListCalls {
    const NAME: &'static str = "calls.list";
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
    const NAME: &'static str = "calls.show";
    type Answer = Call;

    async fn run(self, hub: &Hub) -> Result<Call, ApiError> {
        hub.journal.flush().await;
        let call = hub.store.call(&self.id).await?;
        call.ok_or_else(|| {
            ApiError::not_found(format!("there is no call with the id '{}'", self.id))
        })
    }
}
