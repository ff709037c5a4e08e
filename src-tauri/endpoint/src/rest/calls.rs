//! `/api/calls`: past calls, for scripts. The query has the fields of the verb `calls.list`.

use axum::extract::{Path, State};
use drawbridge_hub::api::calls::{ListCalls, ShowCall};
use drawbridge_model::{call::Call, ids::CallId};

use super::{IdPath, JsonResult, QueryResult, SharedState, read_query, run_verb};

pub(crate) async fn list(
    State(state): SharedState,
    query: QueryResult<ListCalls>,
) -> JsonResult<Vec<Call>> {
    run_verb(state, read_query(query)?).await
}

pub(crate) async fn show(State(state): SharedState, id: IdPath) -> JsonResult<Call> {
    let Path(id) = id?;
    run_verb(
        state,
        ShowCall {
            id: CallId::new(id),
        },
    )
    .await
}
