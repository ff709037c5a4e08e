//! Finds out which revision of the protocol a server speaks, and performs the handshake of that
//! revision.
//!
//! If the server's revision is not known, Drawbridge sends `server/discover` first. If the answer
//! is an error, or does not arrive in time, Drawbridge sends `initialize`. If a URL rejects POST
//! requests, Drawbridge tries the HTTP+SSE transport of 2024-11-05. The negotiation that worked is
//! remembered for the server and for other servers of the same package. A spec can name the
//! revision instead (`protocol_version`).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use drawbridge_jsonrpc::{
    json::RawObject,
    rpc::{RpcError, code},
};
use drawbridge_model::{
    protocol::{Era, Extensions, InitializeError, ServerHello, handshake, headers, meta},
    spec::{RegisteredServer, ServerSpec, TransportKind},
};
use tokio::time::sleep;

use super::{
    UpstreamError,
    connection::RequestIds,
    error::{ProtocolFault, TimeoutReason},
};
use crate::transport::{RefusedReason, RpcResponse, Transport, TransportError, TransportRequest};

/// How long a server may leave `server/discover` unanswered before `initialize` is sent too.
const DISCOVER_TIMEOUT: Duration = Duration::from_secs(3);

/// Packages that are known to leave `server/discover` unanswered.
const PACKAGES_NEEDING_INITIALIZE: [&str; 1] = ["uvx chroma-mcp"];

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Negotiation {
    /// `server/discover`; if that fails, `initialize`, unless the spec names the modern revision.
    Discover,
    /// `initialize` first; if the server refuses it, `server/discover`.
    Initialize,
    /// `initialize` only: the spec names a legacy revision, or the server offers the modern
    /// revision but refuses requests in it.
    OnlyInitialize,
    /// `initialize` over HTTP+SSE.
    LegacySse,
}

/// The negotiation that last worked with each server and package. Cheap to clone.
#[derive(Clone, Default)]
pub struct NegotiationCache(Arc<Mutex<HashMap<String, Negotiation>>>);

impl NegotiationCache {
    /// Records the negotiation that fits the revision that a server spoke when its lists were last
    /// read.
    pub fn record_revision(&self, identity: &str, package: Option<String>, protocol_version: &str) {
        let negotiation = if Era::from_revision(protocol_version) == Some(Era::Legacy) {
            Negotiation::Initialize
        } else {
            Negotiation::Discover
        };
        self.insert(identity, package, negotiation);
    }

    /// Records that a server requires `initialize`, whatever it answers to `server/discover`.
    pub(super) fn require_initialize(&self, server: &RegisteredServer) {
        self.insert(
            &server.identity,
            package_name(&server.spec),
            Negotiation::OnlyInitialize,
        );
    }

    pub(super) fn negotiation_for(&self, server: &RegisteredServer) -> Negotiation {
        if server.spec.transport == Some(TransportKind::Sse) {
            return Negotiation::LegacySse;
        }
        match server
            .spec
            .protocol_version
            .as_deref()
            .and_then(Era::from_revision)
        {
            Some(Era::Legacy) => return Negotiation::OnlyInitialize,
            Some(Era::Modern) => return Negotiation::Discover,
            None => {}
        }
        let negotiations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let package = package_name(&server.spec);
        let of_package = || negotiations.get(package.as_ref()?).copied();
        let of_known_package = || {
            PACKAGES_NEEDING_INITIALIZE
                .contains(&package.as_deref()?)
                .then_some(Negotiation::Initialize)
        };
        negotiations
            .get(&server.identity)
            .copied()
            .or_else(of_package)
            .or_else(of_known_package)
            .unwrap_or(Negotiation::Discover)
    }

    /// Records how the next connection to a server begins, after a successful handshake.
    pub(super) fn record(
        &self,
        server: &RegisteredServer,
        negotiation: Negotiation,
        hello: &ServerHello,
    ) {
        let negotiation = match (negotiation, hello.era()) {
            (Negotiation::LegacySse | Negotiation::OnlyInitialize, _) => negotiation,
            (Negotiation::Discover | Negotiation::Initialize, Era::Modern) => Negotiation::Discover,
            (Negotiation::Discover | Negotiation::Initialize, Era::Legacy) => {
                Negotiation::Initialize
            }
        };
        self.insert(&server.identity, package_name(&server.spec), negotiation);
    }

    fn insert(&self, identity: &str, package: Option<String>, negotiation: Negotiation) {
        let mut negotiations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        negotiations.insert(identity.to_owned(), negotiation);
        negotiations.extend(package.map(|package| (package, negotiation)));
    }
}

/// Returns the program that a spec starts, without its folder. For a runtime, the package (without
/// its version) or the path of the script follows, as in `uvx chroma-mcp`. Returns `None` for a
/// URL, for a runtime without a package or script, and for any other program with arguments,
/// because the arguments may decide what the program starts.
pub fn package_name(spec: &ServerSpec) -> Option<String> {
    let command = spec.command.as_deref().filter(|_| spec.url.is_none())?;
    let program = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let program = program.trim_end_matches(".exe").trim_end_matches(".cmd");
    let starts_packages = matches!(
        program,
        "npx" | "uvx" | "bunx" | "pnpx" | "node" | "bun" | "python" | "python3"
    );
    if !starts_packages {
        return spec.args.is_empty().then(|| program.to_owned());
    }
    let package = spec
        .args
        .iter()
        .find(|argument| !argument.starts_with('-'))?;
    // Drop the version, as in `name==1.2` and `name@1.2`, but keep a scope, as in `@scope/name`.
    let package = package
        .split_once("==")
        .map_or(package.as_str(), |(name, _)| name);
    let name = package
        .get(1..)?
        .split_once('@')
        .map_or(package, |(name, _)| &package[..=name.len()]);
    Some(format!("{program} {name}"))
}

/// Why a handshake failed.
pub(super) enum HandshakeError {
    TimedOut(Duration),
    Transport(TransportError),
    Refused(RpcError),
    Initialize(InitializeError),
    /// The answer to `server/discover` names no revision that Drawbridge supports.
    UnknownRevision,
}

impl HandshakeError {
    /// Returns another negotiation that may work with this server, if there is any.
    /// `spec_transport` is the transport that the spec names.
    pub(super) fn next_negotiation(
        &self,
        tried: Negotiation,
        transport: &Transport,
        spec_transport: Option<TransportKind>,
    ) -> Option<Negotiation> {
        match (tried, transport) {
            (
                Negotiation::Discover | Negotiation::Initialize | Negotiation::OnlyInitialize,
                Transport::Http(_),
            ) if self.rejects_post() && spec_transport.is_none() => Some(Negotiation::LegacySse),
            // Some servers exit if the first message that they receive is not `initialize`.
            (Negotiation::Discover, Transport::Stdio(_)) if transport.end_reason().is_some() => {
                Some(Negotiation::Initialize)
            }
            _ => None,
        }
    }
}

impl HandshakeError {
    fn needs_sign_in(&self) -> bool {
        matches!(self, Self::Transport(TransportError::NeedsSignIn(_)))
    }

    /// Returns whether the URL may be the event stream of an HTTP+SSE server, which accepts POST
    /// requests only at another URL. Statuses that are about the client's rights, a proxy, a
    /// timeout or the request rate do not show this.
    fn rejects_post(&self) -> bool {
        let Self::Transport(TransportError::Refused(RefusedReason::Http(refusal))) = self else {
            return false;
        };
        refusal.status.is_client_error()
            && ![401, 403, 407, 408, 429].contains(&refusal.status.as_u16())
    }
}

impl From<HandshakeError> for UpstreamError {
    fn from(failure: HandshakeError) -> Self {
        match failure {
            HandshakeError::TimedOut(time_limit) => {
                Self::TimedOut(TimeoutReason::Initialize { time_limit })
            }
            HandshakeError::Transport(error) => error.into(),
            HandshakeError::Refused(error) => Self::Protocol(ProtocolFault::InitializeRefused {
                message: error.message,
            }),
            HandshakeError::Initialize(error) => Self::Protocol(error.into()),
            HandshakeError::UnknownRevision => Self::Protocol(ProtocolFault::UnknownRevision),
        }
    }
}

impl From<TransportError> for HandshakeError {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

/// Performs the handshake. The handshake as a whole has no timeout. `revision` is the revision that
/// the spec names, if any. `extensions` are the extensions that Drawbridge declares to the server.
pub(super) async fn perform(
    transport: &Transport,
    ids: &RequestIds,
    negotiation: Negotiation,
    revision: Option<&str>,
    extensions: &Extensions,
) -> Result<ServerHello, HandshakeError> {
    let is_modern_only = revision.and_then(Era::from_revision) == Some(Era::Modern);
    let handshake = Handshake {
        transport,
        ids,
        extensions,
    };
    let hello = match negotiation {
        Negotiation::Discover if is_modern_only => handshake.discover().await,
        Negotiation::Discover => handshake.discover_first().await,
        Negotiation::Initialize => handshake.initialize_first().await,
        Negotiation::OnlyInitialize | Negotiation::LegacySse => {
            handshake.initialize(revision).await
        }
    }?;
    transport.complete_handshake(&hello);
    if hello.era() == Era::Legacy {
        transport.notify("notifications/initialized", None).await?;
    }
    Ok(hello)
}

/// A handshake that is in progress.
#[derive(Clone, Copy)]
struct Handshake<'a> {
    transport: &'a Transport,
    ids: &'a RequestIds,
    extensions: &'a Extensions,
}

impl Handshake<'_> {
    async fn discover_first(self) -> Result<ServerHello, HandshakeError> {
        let mut discovery = std::pin::pin!(self.discover());
        tokio::select! {
            discovered = &mut discovery => return match discovered {
                Ok(hello) => Ok(hello),
                // Without a connection, `initialize` cannot be sent. If a person has to sign in,
                // `initialize` would be refused too.
                Err(error) if self.transport.end_reason().is_some() || error.needs_sign_in() => Err(error),
                Err(_) => self.initialize(None).await,
            },
            () = sleep(DISCOVER_TIMEOUT) => {}
        }
        // The server may still be starting, and may read both requests when it is ready. The first
        // request that succeeds counts.
        let mut initialization = std::pin::pin!(self.initialize(None));
        tokio::select! {
            discovered = &mut discovery => match discovered {
                Ok(hello) => Ok(hello),
                Err(_) => initialization.await,
            },
            initialized = &mut initialization => match initialized {
                Ok(hello) => Ok(hello),
                Err(refused) => discovery.await.map_err(|_| refused),
            },
        }
    }

    async fn initialize_first(self) -> Result<ServerHello, HandshakeError> {
        match self.initialize(None).await {
            Err(
                refused @ (HandshakeError::Refused(_)
                | HandshakeError::Transport(TransportError::Refused(_))),
            ) => self.discover().await.map_err(|_| refused),
            other => other,
        }
    }

    async fn discover(self) -> Result<ServerHello, HandshakeError> {
        const METHOD: &str = "server/discover";
        let params = meta::own_params(self.extensions);
        let headers = headers::standard_headers(METHOD, &RawObject::default());
        let mut response = self.send_request(METHOD, &params, &headers).await?;
        // The request already named the revision that the error lists as supported. A server that
        // negotiates in two steps accepts the revision the second time.
        if matches!(&response, RpcResponse::Error(error) if meta::names_modern_revision(error)) {
            response = self.send_request(METHOD, &params, &headers).await?;
        }
        let result = response.into_result().map_err(HandshakeError::Refused)?;
        handshake::read_discover_result(&result).ok_or(HandshakeError::UnknownRevision)
    }

    async fn initialize(self, revision: Option<&str>) -> Result<ServerHello, HandshakeError> {
        let response = self
            .send_request(
                "initialize",
                handshake::initialize_params(revision, self.extensions).get(),
                &[],
            )
            .await?;
        let result = response.into_result().map_err(HandshakeError::Refused)?;
        handshake::read_initialize_result(&result).map_err(HandshakeError::Initialize)
    }

    async fn send_request(
        self,
        method: &str,
        params: &str,
        headers: &[(String, String)],
    ) -> Result<RpcResponse, TransportError> {
        self.transport
            .request(TransportRequest {
                id: self.ids.next(),
                method,
                params: Some(params),
                headers,
            })
            .await
    }
}

/// Returns whether a server refuses a request because nobody has sent `initialize`. If so, the
/// server has not carried out the request.
pub(super) fn is_initialize_required(error: &RpcError) -> bool {
    const NOT_INITIALIZED: i64 = -32002;
    let message = error.message.to_ascii_lowercase();
    matches!(error.code, code::INVALID_REQUEST | NOT_INITIALIZED)
        && (message.contains("initialize") || message.contains("session id"))
}

#[cfg(test)]
mod tests;
