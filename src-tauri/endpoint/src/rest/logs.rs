//! `GET /api/logs`: lines of the log, for scripts. The query has the fields of the verb
//! `logs.list`.

use axum::extract::State;
use drawbridge_hub::api::logs::ListLogs;
use drawbridge_model::log::LogLine;

use super::{JsonResult, QueryResult, SharedState, read_query, run_verb};

pub(crate) async fn list(
    State(state): SharedState,
    query: QueryResult<ListLogs>,
) -> JsonResult<Vec<LogLine>> {
    run_verb(state, read_query(query)?).await
}
