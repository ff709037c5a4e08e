//! Authentication. Over TCP, a client sends its token; an administrator sends a token, or a browser
//! its cookie. Only this user can open the local socket, so every request is authorized there, and
//! a client names itself.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{Extensions, HeaderMap, Method, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use drawbridge_model::ids::ClientName;

use crate::{
    error_response::Refusal,
    headers::is_json,
    pairing,
    state::{ListenerKind, ListenerState},
    strangers::Stranger,
};

/// The cookie that holds the token of a browser after it redeemed a login code.
pub(crate) const COOKIE: &str = "drawbridge";

/// The header in which a client on the local socket sends its name.
pub(crate) const CLIENT_HEADER: &str = "drawbridge-client";

const MAX_CLIENT_NAME_BYTES: usize = 64;

const NO_CLIENT_TOKEN: &str = "the request has no bearer token; set the header Authorization: Bearer TOKEN with the token that \
    Drawbridge's Clients screen, or `drawbridge clients add NAME`, shows for this client, run \
    `drawbridge config connect CLIENT`, or send `POST /pair` to ask Drawbridge's user for a token";
const WRONG_CLIENT_TOKEN: &str = "the token is wrong or was revoked; add the client again on Drawbridge's Clients screen, \
    or with `drawbridge clients add NAME`, and use the token shown there";
const ASKED_TO_PAIR: &str = "the token is wrong or was revoked. Drawbridge has asked its user to pair this client: after the \
    user has approved it, connect again with the same token";
const NO_ADMIN_TOKEN: &str = "this path requires the administrator's token; open the screens with `drawbridge open`, or send \
    the token that DRAWBRIDGE_ADMIN_TOKEN sets";
const WRONG_ADMIN_TOKEN: &str = "the token is wrong; send the one that DRAWBRIDGE_ADMIN_TOKEN sets";

/// Returns the client that sent the request. If its token is unknown, a person is asked whether the
/// client may be paired; `body` may then be read for the client's name.
///
/// # Errors
/// Returns 401 if the token is missing or unknown. Over the local socket, returns an error if the
/// name is not valid or was revoked.
pub(crate) async fn authenticate_client(
    state: &ListenerState,
    parts: &Parts,
    body: Option<&mut Body>,
) -> Result<ClientName, Refusal> {
    match state.kind {
        ListenerKind::Tcp => client_by_token(state, parts, body).await,
        ListenerKind::Local => client_by_name(state, &parts.headers).await,
    }
}

/// Passes a request on if an administrator sent it.
pub(crate) async fn require_administrator(
    State(state): State<Arc<ListenerState>>,
    request: Request,
    next: Next,
) -> Response {
    let access = match state.kind {
        ListenerKind::Tcp => check_administrator(&state, request.method(), request.headers()),
        ListenerKind::Local => Ok(()),
    };
    match access {
        Ok(()) => {
            introduce(request.extensions());
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Notes that the connection of a request is that of a known client.
fn introduce(extensions: &Extensions) {
    if let Some(stranger) = extensions.get::<Arc<Stranger>>() {
        stranger.introduce();
    }
}

/// Returns whether an administrator sent a request that anyone may send.
pub(crate) fn is_administrator(state: &ListenerState, headers: &HeaderMap) -> bool {
    let access = state.hub.access();
    match state.kind {
        ListenerKind::Local => true,
        ListenerKind::Tcp => bearer_token(headers)
            .or_else(|| cookie_token(headers))
            .is_some_and(|token| access.is_admin(token)),
    }
}

async fn client_by_token(
    state: &ListenerState,
    parts: &Parts,
    body: Option<&mut Body>,
) -> Result<ClientName, Refusal> {
    let token = bearer_token(&parts.headers).ok_or_else(|| Refusal::no_token(NO_CLIENT_TOKEN))?;
    if let Some(client) = state.hub.access().find_client(token) {
        introduce(&parts.extensions);
        return Ok(client);
    }
    state.hub.record_unknown_token(token);
    let is_asked = Box::pin(pairing::ask_about_token(state, parts, token, body)).await;
    Err(Refusal::invalid_token(if is_asked {
        ASKED_TO_PAIR
    } else {
        WRONG_CLIENT_TOKEN
    }))
}

async fn client_by_name(state: &ListenerState, headers: &HeaderMap) -> Result<ClientName, Refusal> {
    let name = match headers.get(CLIENT_HEADER) {
        None => "stdio",
        Some(value) => value
            .to_str()
            .ok()
            .filter(|name| !name.trim().is_empty() && name.len() <= MAX_CLIENT_NAME_BYTES)
            .ok_or_else(|| {
                Refusal::bad_request(
                    "the header `Drawbridge-Client` must have 1 to 64 ASCII characters",
                )
            })?,
    };
    let name = ClientName::new(name);
    state.hub.admit_local_client(&name).await?;
    Ok(name)
}

fn check_administrator(
    state: &ListenerState,
    method: &Method,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    let access = state.hub.access();
    if let Some(token) = bearer_token(headers) {
        return if access.is_admin(token) {
            Ok(())
        } else if let Some(client) = access.find_client(token) {
            state.hub.record_refused_token(&client);
            Err(Refusal::forbidden(
                "a client's token does not give access to this path; send the administrator's token",
            ))
        } else {
            state.hub.record_unknown_token(token);
            Err(Refusal::invalid_token(WRONG_ADMIN_TOKEN))
        };
    }
    let cookie = cookie_token(headers);
    if !cookie.is_some_and(|token| access.is_admin(token)) {
        if let Some(token) = cookie {
            state.hub.record_unknown_token(token);
        }
        return Err(Refusal::no_token(NO_ADMIN_TOKEN));
    }
    if method != Method::GET && !is_json(headers) {
        return Err(Refusal::forbidden(
            "a request with a cookie must have the header `Content-Type: application/json`",
        ));
    }
    Ok(())
}

/// Returns the token of the `Authorization: Bearer` header, if there is exactly one such header.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim())
        .filter(|token| !token.is_empty())
}

fn cookie_token(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, token)| (name == COOKIE).then_some(token))
}
