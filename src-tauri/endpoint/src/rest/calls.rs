//! `/api/calls`: past calls, for scripts. The query has the fields of the verb `calls.list`.

use axum::extract::{Path, State};
use drawbridge_hub::{
    api::calls::{ListCalls, ShowCall},
    model::{call::Call, ids::CallId},
};

use super::{Answer, Asked, At, Id, asked, run};

pub(crate) async fn list(State(door): At, query: Asked<ListCalls>) -> Answer<Vec<Call>> {
    run(door, asked(query)?).await
}

pub(crate) async fn show(State(door): At, id: Id) -> Answer<Call> {
    let Path(id) = id?;
    run(
        door,
        ShowCall {
            id: CallId::new(id),
        },
    )
    .await
}
