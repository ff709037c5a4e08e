//! Finds out which revision a server speaks, and introduces Drawbridge in it.
//!
//! Drawbridge sends `server/discover` first if it does not know the server's revision. If the
//! answer is an error, or does not arrive, Drawbridge sends `initialize`. If a URL takes no POST,
//! Drawbridge tries the HTTP+SSE transport of 2024-11-05. The negotiation that worked is remembered
//! for the server and for others of the same package. A spec can name the revision instead
//! (`protocol_version`).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::sleep;

use super::{UpstreamError, connection::Ids};
use crate::{
    model::{
        json::RawObject,
        rpc::{RpcError, code},
        spec::{RegisteredServer, ServerSpec, TransportKind},
    },
    protocol::{Era, ServerHello, handshake, headers, meta},
    transport::{Link, LinkError, Reply, Request},
};

/// How long a server may leave `server/discover` unanswered before `initialize` is sent too.
const DISCOVER_TIMEOUT: Duration = Duration::from_secs(3);

/// Packages that are known to leave `server/discover` unanswered.
const NEED_INITIALIZE: [&str; 1] = ["uvx chroma-mcp"];

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// `server/discover`, then `initialize` if that does not help.
    Discover,
    /// `initialize`, then `server/discover` if the server refuses that.
    Initialize,
    /// `initialize` only: the server offers the stateless revision, but refuses requests in it.
    OnlyInitialize,
    /// `initialize` over HTTP+SSE.
    LegacySse,
}

/// The negotiation that last worked with each server and package. Cheap to clone.
#[derive(Clone, Default)]
pub struct Known(Arc<Mutex<HashMap<String, Way>>>);

impl Known {
    /// Stores the revision that a server spoke when its lists were last read.
    pub fn remember(&self, identity: &str, package: Option<String>, protocol_version: &str) {
        let way = if Era::from_revision(protocol_version) == Some(Era::Legacy) {
            Way::Initialize
        } else {
            Way::Discover
        };
        self.put(identity, package, way);
    }

    /// Notes that a server requires `initialize`, whatever it answers to `server/discover`.
    pub(super) fn needs_initialize(&self, server: &RegisteredServer) {
        self.put(&server.identity, package(&server.spec), Way::OnlyInitialize);
    }

    pub(super) fn way(&self, server: &RegisteredServer) -> Way {
        if server.spec.transport == Some(TransportKind::Sse) {
            return Way::LegacySse;
        }
        match server
            .spec
            .protocol_version
            .as_deref()
            .and_then(Era::from_revision)
        {
            Some(Era::Legacy) => return Way::OnlyInitialize,
            Some(Era::Modern) => return Way::Discover,
            None => {}
        }
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let package = package(&server.spec);
        let of_package = || known.get(package.as_ref()?).copied();
        let built_in = || {
            NEED_INITIALIZE
                .contains(&package.as_deref()?)
                .then_some(Way::Initialize)
        };
        known
            .get(&server.identity)
            .copied()
            .or_else(of_package)
            .or_else(built_in)
            .unwrap_or(Way::Discover)
    }

    pub(super) fn note(&self, server: &RegisteredServer, way: Way, hello: &ServerHello) {
        let way = match (way, hello.era()) {
            (Way::LegacySse | Way::OnlyInitialize, _) => way,
            (Way::Discover | Way::Initialize, Era::Modern) => Way::Discover,
            (Way::Discover | Way::Initialize, Era::Legacy) => Way::Initialize,
        };
        self.put(&server.identity, package(&server.spec), way);
    }

    fn put(&self, identity: &str, package: Option<String>, way: Way) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(identity.to_owned(), way);
        known.extend(package.map(|package| (package, way)));
    }
}

/// Returns the program that a spec starts, without the parts that differ between two servers of the
/// same program: `uvx chroma-mcp`. Returns `None` if the command line does not show it.
pub fn package(spec: &ServerSpec) -> Option<String> {
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
    let first = spec
        .args
        .iter()
        .find(|argument| !argument.starts_with('-'))?;
    // Drop a version after the name, as in `name@1.2`, but keep a scope, as in `@scope/name`.
    let first = first
        .split_once("==")
        .map_or(first.as_str(), |(name, _)| name);
    let name = first
        .get(1..)?
        .split_once('@')
        .map_or(first, |(name, _)| &first[..=name.len()]);
    Some(format!("{program} {name}"))
}

/// Why a handshake failed.
pub(super) enum Failure {
    TooSlow(Duration),
    Link(LinkError),
    Refused(RpcError),
    Unreadable(String),
}

impl Failure {
    /// Returns another negotiation that may work with this server, if there is any.
    pub(super) fn next_way(
        &self,
        tried: Way,
        link: &Link,
        asked_for: Option<TransportKind>,
    ) -> Option<Way> {
        match (tried, link) {
            (Way::Discover | Way::Initialize | Way::OnlyInitialize, Link::Http(_))
                if self.takes_no_post() && asked_for.is_none() =>
            {
                Some(Way::LegacySse)
            }
            // Some servers exit if the first message that they receive is not `initialize`.
            (Way::Discover, Link::Stdio(_)) if link.ended().is_some() => Some(Way::Initialize),
            _ => None,
        }
    }
}

impl Failure {
    fn needs_sign_in(&self) -> bool {
        matches!(self, Self::Link(LinkError::NeedsSignIn(_)))
    }

    /// Returns whether the URL may belong to an HTTP+SSE server, which takes no POST. Statuses
    /// about the client's rights or its request rate do not show that.
    fn takes_no_post(&self) -> bool {
        let Self::Link(LinkError::Refused { status, .. }) = self else {
            return false;
        };
        (400..500).contains(status) && ![401, 403, 407, 408, 429].contains(status)
    }
}

impl From<Failure> for UpstreamError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::TooSlow(patience) => Self::TimedOut(format!(
                "it did not answer initialize within {} s",
                patience.as_secs_f32()
            )),
            Failure::Link(error) => error.into(),
            Failure::Refused(error) => {
                Self::Protocol(format!("it refused initialize: {}", error.message))
            }
            Failure::Unreadable(why) => Self::Protocol(why),
        }
    }
}

impl From<LinkError> for Failure {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

/// Performs the handshake, without a timeout of its own. `revision` is the one that the spec names,
/// if any.
pub(super) async fn shake(
    link: &Link,
    ids: &Ids,
    way: Way,
    revision: Option<&str>,
) -> Result<ServerHello, Failure> {
    let is_modern_only = revision.and_then(Era::from_revision) == Some(Era::Modern);
    let hello = match way {
        Way::Discover if is_modern_only => discover(link, ids).await,
        Way::Discover => discover_first(link, ids).await,
        Way::Initialize => initialize_first(link, ids).await,
        Way::OnlyInitialize | Way::LegacySse => initialize(link, ids, revision).await,
    }?;
    link.begin(&hello);
    if hello.era() == Era::Legacy {
        link.notify("notifications/initialized", None).await?;
    }
    Ok(hello)
}

async fn discover_first(link: &Link, ids: &Ids) -> Result<ServerHello, Failure> {
    let mut discovery = std::pin::pin!(discover(link, ids));
    tokio::select! {
        discovered = &mut discovery => return match discovered {
            Ok(hello) => Ok(hello),
            // Without a connection, `initialize` cannot be sent. If a person has to sign in,
            // `initialize` would be refused too.
            Err(error) if link.ended().is_some() || error.needs_sign_in() => Err(error),
            Err(_) => initialize(link, ids, None).await,
        },
        () = sleep(DISCOVER_TIMEOUT) => {}
    }
    // The server may still be starting, and read both requests when it is ready. The first request
    // that succeeds counts.
    let mut initialization = std::pin::pin!(initialize(link, ids, None));
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

async fn initialize_first(link: &Link, ids: &Ids) -> Result<ServerHello, Failure> {
    match initialize(link, ids, None).await {
        Err(refused @ (Failure::Refused(_) | Failure::Link(LinkError::Refused { .. }))) => {
            discover(link, ids).await.map_err(|_| refused)
        }
        other => other,
    }
}

async fn discover(link: &Link, ids: &Ids) -> Result<ServerHello, Failure> {
    const METHOD: &str = "server/discover";
    let params = meta::own_params();
    let headers = headers::standard_headers(METHOD, &RawObject::default());
    let mut reply = ask(link, ids, METHOD, &params, &headers).await?;
    // Drawbridge has already named the revision that the error names. A server that negotiates in
    // two steps accepts it the second time.
    if reply.as_ref().is_err_and(meta::names_modern_revision) {
        reply = ask(link, ids, METHOD, &params, &headers).await?;
    }
    let result = reply.map_err(Failure::Refused)?;
    let unknown = || {
        Failure::Unreadable(
            "its answer to server/discover names no revision that Drawbridge knows".into(),
        )
    };
    handshake::read_discover_result(&result).ok_or_else(unknown)
}

async fn initialize(
    link: &Link,
    ids: &Ids,
    revision: Option<&str>,
) -> Result<ServerHello, Failure> {
    let reply = ask(
        link,
        ids,
        "initialize",
        handshake::initialize_params(revision).get(),
        &[],
    )
    .await?;
    let result = reply.map_err(Failure::Refused)?;
    handshake::read_initialize_result(&result).map_err(Failure::Unreadable)
}

async fn ask(
    link: &Link,
    ids: &Ids,
    method: &str,
    params: &str,
    headers: &[(String, String)],
) -> Result<Reply, LinkError> {
    link.request(Request {
        id: ids.next(),
        method,
        params: Some(params),
        headers,
    })
    .await
}

/// Returns whether a server refuses a request because nobody has sent `initialize`. If so, the
/// server has not carried out the request.
pub(super) fn asks_for_initialize(error: &RpcError) -> bool {
    const NOT_INITIALIZED: i64 = -32002;
    let message = error.message.to_ascii_lowercase();
    matches!(error.code, code::INVALID_REQUEST | NOT_INITIALIZED)
        && (message.contains("initialize") || message.contains("session id"))
}

#[cfg(test)]
mod tests;
