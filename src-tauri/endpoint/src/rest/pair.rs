//! `POST /pair`: an unknown client on this computer asks to be added, and waits for a person.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode},
};
use bytes::Bytes;
use drawbridge_hub::{
    access::MIN_TOKEN_CHARS,
    pairing::{PairedClient, PairingAnswer, PairingRefusal},
};
use drawbridge_model::{ids::ClientName, invisible_chars::is_hidden};
use serde::{Deserialize, Serialize};

use super::{JsonResult, read_json};
use crate::{
    auth::bearer_token,
    error_response::Refusal,
    headers::is_json,
    pairing::{self, MAX_NAME_CHARS, Peer},
    state::ListenerState,
};

/// The largest body of a request to be paired, in bytes. The limit is low, because the route needs
/// no authentication.
pub(crate) const MAX_BODY_BYTES: usize = 4096;

#[derive(Deserialize)]
struct PairBody {
    name: String,
}

/// A client that a person approved.
#[derive(Serialize)]
pub(crate) struct PairResult {
    client_id: ClientName,
    name: ClientName,
    /// The new token; null if the client sent its own token.
    token: Option<String>,
    /// The endpoint, such as `http://127.0.0.1:8765/mcp`.
    url: String,
}

pub(crate) async fn pair(
    State(state): State<Arc<ListenerState>>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> JsonResult<PairResult> {
    let Some(Extension(peer)) = peer.filter(|peer| peer.is_local()) else {
        return Err(Refusal::forbidden(
            "only a program that connects from this computer over HTTP can ask to be paired",
        ));
    };
    if !is_json(&headers) {
        let message = "the header `Content-Type` must be application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let PairBody { name } = read_json(&body?)?;
    check_name(&name)?;
    let token = bearer_token(&headers);
    check_token(&state, token)?;
    let reservation = state.hub.reserve_pairing(token).map_err(to_refusal)?;
    let ticket = pairing::ask_person(&state, reservation, name, token, peer)
        .await
        .map_err(to_refusal)?;
    let answer = tokio::select! {
        answer = ticket.wait() => answer,
        () = state.stopping.cancelled() => PairingAnswer::Failed,
    };
    match answer {
        PairingAnswer::Approved(PairedClient { name, token, url }) => Ok(Json(PairResult {
            client_id: name.clone(),
            name,
            token,
            url,
        })),
        PairingAnswer::Denied => Err(Refusal::forbidden(
            "the user denied this client, which can ask again after 10 minutes",
        )),
        PairingAnswer::TimedOut => Err(Refusal::new(
            StatusCode::REQUEST_TIMEOUT,
            "nobody answered within 5 minutes; ask again when the user is there",
        )),
        PairingAnswer::Failed => Err(Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Drawbridge stopped, or could not add this client; ask again",
        )),
    }
}

fn check_name(name: &str) -> Result<(), Refusal> {
    let is_valid = !name.trim().is_empty()
        && name.chars().count() <= MAX_NAME_CHARS
        && !name.chars().any(is_hidden);
    if is_valid {
        return Ok(());
    }
    Err(Refusal::bad_request(format!(
        "body: name: must have 1 to {MAX_NAME_CHARS} printable characters"
    )))
}

fn check_token(state: &ListenerState, token: Option<&str>) -> Result<(), Refusal> {
    let Some(token) = token else {
        return Ok(());
    };
    if state.hub.access().is_token_in_use(token) {
        return Err(Refusal::new(
            StatusCode::CONFLICT,
            "this token gives access already; there is nothing to pair",
        ));
    }
    if pairing::has_token_length(token) {
        return Ok(());
    }
    Err(Refusal::bad_request(format!(
        "the bearer token must have {MIN_TOKEN_CHARS} characters or more, and at most 1 KiB; without a token, the client gets a new one"
    )))
}

fn to_refusal(refusal: PairingRefusal) -> Refusal {
    let status = match refusal {
        PairingRefusal::Denied => StatusCode::FORBIDDEN,
        PairingRefusal::AlreadyWaiting | PairingRefusal::TooMany => StatusCode::TOO_MANY_REQUESTS,
    };
    Refusal::new(status, refusal.to_string())
}
