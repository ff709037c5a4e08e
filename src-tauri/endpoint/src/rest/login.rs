//! `POST /api/login`: exchanges a one-time code, from a sign-in link or typed by a person, for a
//! browser's token.

use std::sync::Arc;

use axum::{
    Json,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header},
};
use bytes::Bytes;
use drawbridge_model::ids::BrowserId;
use serde::{Deserialize, Serialize};

use super::JsonResult;
use crate::{
    auth::web_ui_address,
    error_response::Refusal,
    headers::{header_text, is_json},
    state::ListenerState,
};

/// The largest body of a sign-in, in bytes. The limit is low, because the route needs no
/// authentication.
pub(crate) const MAX_BODY_BYTES: usize = 4096;

#[derive(Deserialize)]
struct Login {
    code: String,
}

/// The browser's id and token. The page keeps the token in the storage of its origin, and sends it
/// as a bearer token. The token is no cookie, because browsers send a cookie to every port of a
/// host.
#[derive(Serialize)]
pub(crate) struct SignedIn {
    id: BrowserId,
    token: String,
}

pub(crate) async fn redeem(
    State(state): State<Arc<ListenerState>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> JsonResult<SignedIn> {
    if !is_json(&headers) {
        let message = "the header `Content-Type` must be application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    if !state.login_attempts.try_acquire() {
        state.hub.record_refused_code();
        let message = "too many attempts to sign in; try again in a minute";
        return Err(Refusal::too_many(message, 60));
    }
    let login: Login =
        serde_json::from_slice(&body?).map_err(|e| Refusal::bad_request(format!("body: {e}")))?;
    let user_agent = header_text(&headers, &header::USER_AGENT);
    let signed_in =
        state
            .hub
            .sign_in_browser(&login.code, web_ui_address(&headers), user_agent.as_deref());
    let Some(signed_in) = signed_in else {
        let message = "this sign-in link or code was used already, has expired or is wrong; run `drawbridge open` to get a new link";
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, message));
    };
    Ok(Json(SignedIn {
        id: signed_in.browser.id,
        token: signed_in.token,
    }))
}
