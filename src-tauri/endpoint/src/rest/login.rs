//! `POST /api/login`: exchanges the one-time code in a browser's link for a cookie.

use std::sync::Arc;

use axum::{
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde::Deserialize;

use crate::{auth::COOKIE, error_response::Refusal, headers::is_json, state::ListenerState};

/// The largest body that is accepted without authentication, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 4096;

#[derive(Deserialize)]
struct Login {
    code: String,
}

pub(crate) async fn redeem(
    State(state): State<Arc<ListenerState>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    if !is_json(&headers) {
        let message = "the header `Content-Type` must be application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    if !state.logins.try_acquire() {
        state.hub.record_refused_code();
        let message = "too many attempts to sign in; try again in a minute";
        return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, message));
    }
    let login: Login =
        serde_json::from_slice(&body?).map_err(|e| Refusal::bad_request(format!("body: {e}")))?;
    let Some(token) = state.hub.sign_in_browser(&login.code) else {
        let message = "this sign-in link was used already or has expired; run `drawbridge open` to get a new one";
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, message));
    };
    let cookie = format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/");
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}
