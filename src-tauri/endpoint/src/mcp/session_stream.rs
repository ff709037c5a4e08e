//! `GET /mcp`: the stream of a session's messages that belong to no request.
//!
//! A session has one such stream, and a new stream replaces the old one. Events have ids, and the
//! last ones are kept, so that a client whose connection broke can resume after its
//! `Last-Event-ID`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
};
use drawbridge_jsonrpc::headers::LAST_EVENT_ID;
use futures_util::StreamExt;

use super::{
    events,
    request::{Caller, check_version, refuse_method},
    response::McpResult,
};
use crate::{
    error_response::Refusal,
    headers::{accepts_events, header_text},
    state::ListenerState,
};

/// `GET /mcp`: streams a session's messages until the session ends, the endpoint stops or another
/// stream replaces this one.
pub(crate) async fn get(
    State(state): State<Arc<ListenerState>>,
    uri: Uri,
    headers: HeaderMap,
) -> McpResult {
    let caller = Caller::from_request(&state, &uri, &headers).await?;
    refuse_method(&headers)?;
    if !accepts_events(&headers) {
        let message = "the header `Accept` must allow text/event-stream";
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message).into());
    }
    check_version(&headers)?;
    let session = caller.find_session(&state, &headers, None)?;
    let last_event_id = header_text(&headers, &LAST_EVENT_ID).and_then(|id| id.parse().ok());
    let (stopping, ended) = (state.stopping.clone(), session.ended.clone());
    let messages = state.session_streams.open(session, last_event_id);
    let messages = messages
        .take_until(stopping.cancelled_owned())
        .take_until(ended.cancelled_owned());
    Ok(events::sse_response(messages.map(|(id, message)| {
        events::message_event(&message).id(id.to_string())
    })))
}
