//! Authentication. Over TCP, a request to a path that is not public needs a bearer token: a
//! client's token, the admin token, or the token of a signed-in browser. A browser's token is valid
//! only at the address at which the browser signed in. Cookies are ignored, because browsers send
//! them to every port of a host. Only this user and root can open the local socket, so a request
//! over the socket needs no token, and a client sends its name instead.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{Extensions, HeaderMap, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use drawbridge_hub::access::{BrowserSession, TokenRefusal, WebUiAddress};
use drawbridge_model::ids::ClientName;

use crate::{
    error_response::Refusal,
    headers::header_text,
    pairing::{self, Peer},
    state::{ListenerKind, ListenerState},
    unauthenticated::UnauthenticatedConnection,
};

/// The header in which a client on the local socket sends its name.
pub(crate) const CLIENT_HEADER: &str = "drawbridge-client";

const MAX_CLIENT_NAME_BYTES: usize = 64;

const NO_CLIENT_TOKEN: &str = "the request has no bearer token. Add the client on Drawbridge's Clients screen, or with \
    `drawbridge clients add NAME`, and send the token shown there in the header Authorization: Bearer TOKEN. Or run \
    `drawbridge config connect CLIENT`, or send `POST /pair` to ask Drawbridge's user for a token";
const WRONG_CLIENT_TOKEN: &str = "the token is wrong or was revoked; add the client again on Drawbridge's Clients screen, \
    or with `drawbridge clients add NAME`, and use the token shown there";
const EXPIRED_CLIENT_TOKEN: &str = "the token has expired; give the client a new one on Drawbridge's Clients screen, or with \
    `drawbridge clients rotate NAME`, and use the token shown there";
const ASKED_TO_PAIR: &str = "the token is wrong or was revoked. Drawbridge has asked its user to pair this client: after the \
    user has approved it, connect again with the same token";
const NO_ADMIN_TOKEN: &str = "this path requires the admin token; open the web UI with `drawbridge open`, or send \
    the token that DRAWBRIDGE_ADMIN_TOKEN or DRAWBRIDGE_ADMIN_TOKEN_FILE sets";
const WRONG_ADMIN_TOKEN: &str = "the token is wrong; send the token that DRAWBRIDGE_ADMIN_TOKEN or \
    DRAWBRIDGE_ADMIN_TOKEN_FILE sets";

/// Returns the client that sent the request. If the token is unknown and the client runs on this
/// computer, asks a person whether to pair the client, and may read `body` to find its name.
///
/// # Errors
/// Returns 401 if the token is missing, unknown or expired, and 429 if the client's address has
/// sent too many unknown tokens. Over the local socket, returns an error if the name is not valid,
/// if the client was revoked, or if a new client cannot be stored.
pub(crate) async fn authenticate_client(
    state: &ListenerState,
    parts: &Parts,
    body: Option<&mut Body>,
) -> Result<ClientName, Refusal> {
    match state.kind {
        ListenerKind::Tcp => authenticate_by_token(state, parts, body).await,
        ListenerKind::Local => admit_by_name(state, &parts.headers).await,
    }
}

/// An administrator's access. [`require_administrator`] adds it to the extensions of a request.
#[derive(Clone, Default)]
pub(crate) struct AdminAccess {
    /// `None` if the request did not come from a signed-in browser.
    browser: Option<BrowserSession>,
}

impl AdminAccess {
    /// Resolves when the browser is signed out or its token expires. Never resolves for access
    /// without a browser.
    pub(crate) async fn ended(self) {
        match self.browser {
            Some(browser) => browser.ended().await,
            None => std::future::pending().await,
        }
    }
}

/// Middleware that passes on only requests of an administrator.
pub(crate) async fn require_administrator(
    State(state): State<Arc<ListenerState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let access = match state.kind {
        ListenerKind::Tcp => check_administrator(&state, request.headers(), request.extensions()),
        ListenerKind::Local => Ok(AdminAccess::default()),
    };
    match access {
        Ok(access) => {
            mark_authenticated(request.extensions());
            request.extensions_mut().insert(access);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Records that a known token was sent on the connection of a request.
fn mark_authenticated(extensions: &Extensions) {
    if let Some(connection) = extensions.get::<Arc<UnauthenticatedConnection>>() {
        connection.mark_authenticated();
    }
}

/// Returns whether an administrator sent the request. The handlers of public paths call this
/// function, because [`require_administrator`] does not apply to these paths.
pub(crate) fn is_administrator(state: &ListenerState, headers: &HeaderMap) -> bool {
    match state.kind {
        ListenerKind::Local => true,
        ListenerKind::Tcp => bearer_token(headers)
            .is_some_and(|token| find_administrator(state, token, headers).is_some()),
    }
}

/// Returns the access of a token, if it is the admin token or the token of a signed-in browser.
fn find_administrator(
    state: &ListenerState,
    token: &str,
    headers: &HeaderMap,
) -> Option<AdminAccess> {
    let access = state.hub.access();
    if access.is_admin(token) {
        return Some(AdminAccess::default());
    }
    let browser = access.use_browser_token(token, &web_ui_address(headers))?;
    Some(AdminAccess {
        browser: Some(browser),
    })
}

/// Returns the address of the web UI that a browser's request names.
pub(crate) fn web_ui_address(headers: &HeaderMap) -> WebUiAddress {
    let text = |name| header_text(headers, name).map(|text| text.into_owned());
    WebUiAddress {
        host: text(&header::HOST).unwrap_or_default(),
        origin: text(&header::ORIGIN),
    }
}

async fn authenticate_by_token(
    state: &ListenerState,
    parts: &Parts,
    body: Option<&mut Body>,
) -> Result<ClientName, Refusal> {
    let token = bearer_token(&parts.headers).ok_or_else(|| Refusal::no_token(NO_CLIENT_TOKEN))?;
    let user_agent = header_text(&parts.headers, &header::USER_AGENT);
    match state
        .hub
        .access()
        .authenticate(token, user_agent.as_deref())
    {
        Ok(client) => {
            mark_authenticated(&parts.extensions);
            return Ok(client);
        }
        Err(TokenRefusal::Expired(client)) => {
            state.hub.record_expired_token(&client);
            return Err(Refusal::invalid_token(EXPIRED_CLIENT_TOKEN));
        }
        Err(TokenRefusal::Unknown) => {}
    }
    count_unknown_token(state, &parts.extensions)?;
    state.hub.record_unknown_token(token);
    let asked_user = Box::pin(pairing::ask_about_token(state, parts, token, body)).await;
    Err(Refusal::invalid_token(if asked_user {
        ASKED_TO_PAIR
    } else {
        WRONG_CLIENT_TOKEN
    }))
}

async fn admit_by_name(state: &ListenerState, headers: &HeaderMap) -> Result<ClientName, Refusal> {
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
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Result<AdminAccess, Refusal> {
    let token = bearer_token(headers).ok_or_else(|| Refusal::no_token(NO_ADMIN_TOKEN))?;
    if let Some(access) = find_administrator(state, token, headers) {
        return Ok(access);
    }
    if let Some(client) = state.hub.access().find_client(token) {
        state.hub.record_refused_token(&client);
        return Err(Refusal::forbidden(
            "a client's token does not give access to this path; send the admin token",
        ));
    }
    count_unknown_token(state, extensions)?;
    state.hub.record_unknown_token(token);
    Err(Refusal::invalid_token(WRONG_ADMIN_TOKEN))
}

/// Counts an unknown token that the address of a request has sent.
///
/// # Errors
/// Returns 429 if the address has sent too many unknown tokens.
fn count_unknown_token(state: &ListenerState, extensions: &Extensions) -> Result<(), Refusal> {
    let address = extensions.get::<Peer>().map(Peer::ip);
    state.unknown_tokens.count(address).map_err(|seconds| {
        Refusal::too_many(
            format!(
                "too many wrong tokens from this address; wait {seconds} s, and send a valid one"
            ),
            seconds,
        )
    })
}

/// Returns the bearer token if the request has exactly one `Authorization` header, and the header
/// has one.
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
