//! `GET /mcp`: the stream of a session's messages that belong to no request.
//!
//! If `Last-Event-ID` names an event of an answer whose connection broke, the stream is the rest of
//! that answer instead; see [`answer_stream`](super::answer_stream).
//!
//! A session has at most one stream of messages that belong to no request: a new stream replaces
//! the old stream. Events have ids, and the last events are kept, so that a client whose connection
//! broke can resume after its `Last-Event-ID`.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{StatusCode, request::Parts},
};
use drawbridge_jsonrpc::headers::LAST_EVENT_ID;
use drawbridge_sessions::ClientSession;
use futures_util::StreamExt;

use super::{
    events,
    request::{Caller, check_version, refuse_modern_revision},
    response::McpResult,
};
use crate::{
    error_response::Refusal,
    headers::{accepts_events, header_text},
    state::ListenerState,
};

/// `GET /mcp`: streams a session's messages until the session ends, the listener stops or another
/// stream replaces this stream.
pub(crate) async fn get(State(state): State<Arc<ListenerState>>, request: Request) -> McpResult {
    let (parts, _) = request.into_parts();
    let caller = Caller::from_request(&state, &parts, None).await?;
    let Parts { headers, .. } = parts;
    refuse_modern_revision(&headers)?;
    if !accepts_events(&headers) {
        let message = "the header `Accept` must allow text/event-stream";
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message).into());
    }
    check_version(&headers)?;
    let session = caller.find_session(&state, &headers, None)?;
    let last_event_id = header_text(&headers, &LAST_EVENT_ID);
    if let Some((number, index)) = last_event_id.as_deref().and_then(parse_answer_event_id) {
        return resume_answer(&state, &session, number, index).await;
    }
    let last_event_id = last_event_id.and_then(|id| id.parse().ok());
    let (stopping, ended) = (state.stopping.clone(), session.ended.clone());
    let messages = state.session_streams.open(&session, last_event_id);
    let messages = messages
        .take_until(stopping.cancelled_owned())
        .take_until(ended.cancelled_owned());
    Ok(events::sse_response(messages.map(|(id, message)| {
        events::message_event_with_id(&message, &id)
    })))
}

/// Parses the id of an event in an answer: the number of its stream and its index.
fn parse_answer_event_id(id: &str) -> Option<(u64, u64)> {
    let (number, index) = id.split_once('-')?;
    Some((number.parse().ok()?, index.parse().ok()?))
}

async fn resume_answer(
    state: &ListenerState,
    session: &ClientSession,
    number: u64,
    index: u64,
) -> McpResult {
    let resumed = state
        .suspended_answers
        .resume(number, index, &session.id)
        .await;
    let message =
        "this answer cannot be resumed: its request has ended, or its last messages are lost";
    Ok(resumed.ok_or_else(|| Refusal::bad_request(message))?)
}
