//! Pairing: an unknown client on this computer asks a person to add it, with `POST /pair` or by
//! sending an unknown token to an MCP route.

mod peer;
mod program;

#[cfg(test)]
mod tests;

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderMap, Method, header, request::Parts},
};
use drawbridge_hub::{
    access::MIN_TOKEN_CHARS,
    methods,
    pairing::{PairingRefusal, PairingReservation, PairingTicket},
};
use drawbridge_jsonrpc::client_message::{self, ClientMessage};
use drawbridge_model::{
    invisible_chars::is_hidden,
    protocol::{ClientHello, handshake, meta},
};
use http_body_util::{BodyExt, Limited};
use tokio::time::timeout;

pub(crate) use peer::Peer;

use crate::{
    headers::{header_text, is_json},
    state::ListenerState,
};

/// The most characters of the name of a client that asks to be paired.
pub(crate) const MAX_NAME_CHARS: usize = 64;
/// The most bytes of a token, which is kept in memory while its client waits to be paired.
const MAX_TOKEN_BYTES: usize = 1024;

/// The body of an unknown client is read only to find the client's name, up to this length and
/// within [`BODY_TIMEOUT`].
const MAX_BODY_BYTES: usize = 64 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(1);

const UNKNOWN_CLIENT: &str = "Unknown client";

/// Returns whether a token has a length that a client's token may have.
pub(crate) fn has_token_length(token: &str) -> bool {
    token.len() <= MAX_TOKEN_BYTES && token.chars().count() >= MIN_TOKEN_CHARS
}

/// Asks a person about the client that sent an unknown token, and does not wait for the answer.
/// Returns whether the person has been asked, because of this request or an earlier request.
pub(crate) async fn ask_about_token(
    state: &ListenerState,
    parts: &Parts,
    token: &str,
    body: Option<&mut Body>,
) -> bool {
    let peer = parts.extensions.get::<Peer>().copied();
    let Some(peer) = peer.filter(Peer::is_local) else {
        return false;
    };
    if !has_token_length(token) || state.hub.access().is_token_in_use(token) {
        return false;
    }
    let pairing_request = async {
        let reservation = state.hub.reserve_pairing(Some(token))?;
        let name = find_name(parts, body).await;
        ask_person(state, reservation, name, Some(token), peer).await
    };
    match pairing_request.await {
        Ok(ticket) => {
            let stopping = state.stopping.clone();
            tokio::spawn(async move {
                tokio::select! {
                    _ = ticket.wait() => {}
                    () = stopping.cancelled() => {}
                }
            });
            true
        }
        Err(refusal) => refusal == PairingRefusal::AlreadyWaiting,
    }
}

/// Finds the program behind the connection, and asks a person.
///
/// # Errors
/// For a client that sent no token, returns an error if a client of the same program waits already
/// or was denied recently.
pub(crate) async fn ask_person(
    state: &ListenerState,
    reservation: PairingReservation,
    name: String,
    token: Option<&str>,
    peer: Peer,
) -> Result<PairingTicket, PairingRefusal> {
    let program = program::find_program(peer).await;
    state.hub.ask_to_pair(reservation, name, token, program)
}

/// Returns the name of a client that sent an unknown token instead of `POST /pair`: the name in its
/// introduction, or else its `User-Agent`, or else [`UNKNOWN_CLIENT`].
async fn find_name(parts: &Parts, body: Option<&mut Body>) -> String {
    let introduced = match body {
        Some(body) if parts.method == Method::POST && is_json(&parts.headers) => {
            read_introduction(body).await
        }
        Some(_) | None => None,
    };
    introduced
        .and_then(|name| clean_name(&name))
        .or_else(|| clean_name(&user_agent(&parts.headers)?))
        .unwrap_or_else(|| UNKNOWN_CLIENT.to_owned())
}

/// Returns the client's name in an `initialize`, or in the `_meta` of another request.
async fn read_introduction(body: &mut Body) -> Option<String> {
    let whole = Limited::new(body, MAX_BODY_BYTES).collect();
    let body = timeout(BODY_TIMEOUT, whole).await.ok()?.ok()?.to_bytes();
    let hello = match client_message::parse(&body).ok()? {
        ClientMessage::Request { method, params, .. } if methods::opens_session(&method) => {
            handshake::read_initialize(params).ok()?
        }
        ClientMessage::Request { params, .. } => {
            let mut params = meta::parse_params(params).ok()?;
            meta::take_request_meta(&mut params).ok()?.hello
        }
        ClientMessage::Notification { .. } | ClientMessage::Response { .. } => return None,
    };
    hello_name(&hello)
}

fn hello_name(hello: &ClientHello) -> Option<String> {
    let info: serde_json::Value = serde_json::from_str(hello.info.as_ref()?.get()).ok()?;
    Some(info.get("name")?.as_str()?.to_owned())
}

fn user_agent(headers: &HeaderMap) -> Option<String> {
    Some(header_text(headers, &header::USER_AGENT)?.into_owned())
}

/// Returns the beginning of a name, with each hidden character replaced by U+FFFD, or `None` if the
/// name is blank.
fn clean_name(name: &str) -> Option<String> {
    let name: String = name
        .trim()
        .chars()
        .take(MAX_NAME_CHARS)
        .map(|c| if is_hidden(c) { '\u{fffd}' } else { c })
        .collect();
    (!name.is_empty()).then_some(name)
}
