//! Calls: every `tools/call` that reached the door, its decision and its outcome.

use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::{
    hub::Hub,
    model::{
        call::Call,
        ids::{CallId, ClientName, ServerId},
    },
    store::table::call::CallFilter,
};

/// `calls.list`: newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct ListCalls {
    pub client: Option<ClientName>,
    pub server: Option<ServerId>,
    /// Only those decided by a person or by the clock: the history of approvals.
    pub asked: bool,
    /// At most so many; 200 where it is not given, 1,000 at most.
    pub limit: Option<u32>,
}

/// `calls.show`: one call.
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
        let filter = CallFilter { client: self.client, server: self.server, asked: self.asked, limit };
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
        call.ok_or_else(|| ApiError::not_found(format!("there is no call with the id '{}'", self.id)))
    }
}
