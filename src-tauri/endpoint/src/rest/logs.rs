//! `GET /api/logs`: lines of the log, for scripts. The query has the fields of the verb
//! `logs.list`. The answer has up to `limit` lines, from as many pages as necessary.

use axum::{Json, extract::State};
use drawbridge_hub::api::logs::ListLogs;
use drawbridge_model::log::LogLine;

use super::{JsonResult, QueryResult, SharedState, read_query, run_verb};

pub(crate) async fn list(
    State(state): SharedState,
    query: QueryResult<ListLogs>,
) -> JsonResult<Vec<LogLine>> {
    let read_page = |filter| {
        let page = run_verb(state.clone(), filter);
        async { page.await.map(|page| page.0) }
    };
    Ok(Json(read_query(query)?.collect_pages(read_page).await?))
}
