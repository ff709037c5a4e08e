//! Reads the client, the scope, the session and the revision of a request, and checks its
//! `Content-Type`.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderMap, StatusCode, request::Parts},
};
use drawbridge_jsonrpc::{
    client_message::Id,
    headers::{PROTOCOL_VERSION, SESSION_ID},
    rpc::{RpcError, code},
};
use drawbridge_model::{
    builtin::BuiltIn,
    ids::{ClientName, ServerId},
    protocol::{self, Era},
};
use drawbridge_sessions::{ClientScope, ClientSession, ServerScope};

use crate::{
    auth,
    error_response::{Refusal, RpcRefusal},
    headers::{header_text, is_json},
    project_folder::read_project_folder,
    state::ListenerState,
};

/// The client that sent a request, and the scope that the path and the project folder give.
pub(super) struct Caller {
    pub(super) client: ClientName,
    pub(super) scope: ClientScope,
}

impl Caller {
    /// Returns the caller of a request. The body is read only if the client is unknown.
    ///
    /// # Errors
    /// Returns an error if the client is not authenticated, if the project folder is invalid, or if
    /// the path names a server that has no endpoint of its own.
    pub(super) async fn from_request(
        state: &ListenerState,
        parts: &Parts,
        body: Option<&mut Body>,
    ) -> Result<Self, RpcRefusal> {
        let client = auth::authenticate_client(state, parts, body).await?;
        let Parts { uri, headers, .. } = parts;
        let server = uri
            .path()
            .strip_prefix("/mcp")
            .map(|rest| rest.trim_matches('/'))
            .unwrap_or_default();
        let folder = read_project_folder(uri, headers)?;
        let project = folder.and_then(|folder| state.hub.find_project(&folder));
        let in_scope = |servers| Self {
            client,
            scope: ClientScope { servers, project },
        };
        if server.is_empty() {
            return Ok(in_scope(ServerScope::All));
        }
        let id = ServerId::new(server);
        if state.hub.has_own_endpoint(&id) {
            return Ok(in_scope(ServerScope::One(id)));
        }
        Err(Refusal::new(
            StatusCode::NOT_FOUND,
            if BuiltIn::from_id(&id).is_some() {
                format!("'{id}' is built into Drawbridge, and its tools are only at /mcp and /sse")
            } else {
                format!(
                    "there is no server '{id}' that is enabled and accepted; see `drawbridge servers list`"
                )
            },
        )
        .into())
    }

    /// Returns the session that the request names.
    ///
    /// # Errors
    /// Returns 400 if the request names no session. Returns 404 if there is no such session, or if
    /// it belongs to another client or scope.
    pub(super) fn find_session(
        &self,
        state: &ListenerState,
        headers: &HeaderMap,
        id: Option<Id<'_>>,
    ) -> Result<Arc<ClientSession>, RpcRefusal> {
        let refusal = |status, message: &str| {
            RpcRefusal::new(status, id, &RpcError::new(code::INVALID_REQUEST, message))
        };
        let Some(name) = header_text(headers, &SESSION_ID) else {
            return Err(refusal(
                StatusCode::BAD_REQUEST,
                "the header `Mcp-Session-Id` is missing; send `initialize` first, then repeat the session id of its answer",
            ));
        };
        let session = state.hub.sessions().get(&name);
        let session =
            session.filter(|session| session.client == self.client && session.scope == self.scope);
        session.ok_or_else(|| {
            refusal(
                StatusCode::NOT_FOUND,
                "this session does not exist or has ended; send `initialize` again",
            )
        })
    }
}

/// Checks the `Content-Type` of a message.
///
/// # Errors
/// Returns 415 if `Content-Type` is not JSON.
pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    if is_json(headers) {
        return Ok(());
    }
    let message = "the header `Content-Type` must be application/json";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
}

/// Checks the `MCP-Protocol-Version` header, if there is one.
///
/// # Errors
/// Returns 400 if the header names an unknown revision.
pub(super) fn check_version(headers: &HeaderMap) -> Result<(), Refusal> {
    match header_text(headers, &PROTOCOL_VERSION) {
        Some(version) if !protocol::is_known_revision(&version) => Err(Refusal::bad_request(
            "the header `MCP-Protocol-Version` names a revision that Drawbridge does not know",
        )),
        _ => Ok(()),
    }
}

/// Returns the refusal of a client's response whose `error` is malformed.
pub(super) fn malformed_error(error: serde_json::Error) -> RpcRefusal {
    Refusal::bad_request(format!("'error' must be a JSON-RPC error: {error}")).into()
}

/// Returns whether the headers name a revision without sessions.
pub(super) fn names_modern_revision(headers: &HeaderMap) -> bool {
    header_text(headers, &PROTOCOL_VERSION)
        .is_some_and(|version| Era::from_revision(&version) == Some(Era::Modern))
}

/// Checks the revision that a GET or DELETE request names.
///
/// # Errors
/// Returns 405 if the headers name a revision without sessions, because it supports only POST.
pub(super) fn refuse_modern_revision(headers: &HeaderMap) -> Result<(), Refusal> {
    if names_modern_revision(headers) {
        return Err(Refusal::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this revision of MCP supports only POST",
        ));
    }
    Ok(())
}
