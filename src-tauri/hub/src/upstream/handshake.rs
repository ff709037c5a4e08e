//! Finds out which revision a server speaks, and introduces Drawbridge in it.
//!
//! A server of unknown revision is asked `server/discover` first. What is no answer of the modern era, or none at all,
//! means `initialize`; a URL that takes no POST means the stream of the oldest servers. What was found is remembered.

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
        spec::{Registered, TransportKind},
    },
    protocol::{Era, ServerHello, handshake, headers, meta},
    transport::{Link, LinkError, Reply, Request},
};

/// How long a server may be silent before it is asked in the other way too.
const SILENCE: Duration = Duration::from_secs(3);

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// `server/discover`, and `initialize` where that does not help.
    Discover,
    /// `initialize`, and `server/discover` where that is refused.
    Initialize,
    /// `initialize` over the stream of the oldest servers.
    LegacySse,
}

/// How each server was spoken to last, by identity. Cheap to clone.
#[derive(Clone, Default)]
pub struct Known(Arc<Mutex<HashMap<String, Way>>>);

impl Known {
    /// Notes the revision that a server spoke when it was last read.
    pub fn remember(&self, identity: &str, protocol_version: &str) {
        let way = if Era::of(protocol_version) == Some(Era::Legacy) { Way::Initialize } else { Way::Discover };
        self.put(identity, way);
    }

    pub(super) fn way(&self, server: &Registered) -> Way {
        if server.spec.transport == Some(TransportKind::Sse) {
            return Way::LegacySse;
        }
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&server.identity).copied().unwrap_or(Way::Discover)
    }

    pub(super) fn note(&self, server: &Registered, way: Way, hello: &ServerHello) {
        let way = match (way, hello.era()) {
            (Way::LegacySse, _) => Way::LegacySse,
            (_, Era::Modern) => Way::Discover,
            (_, Era::Legacy) => Way::Initialize,
        };
        self.put(&server.identity, way);
    }

    fn put(&self, identity: &str, way: Way) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(identity.to_owned(), way);
    }
}

/// Why there was no handshake.
pub(super) enum Failure {
    TooSlow(Duration),
    Link(LinkError),
    Refused(String),
    Unreadable(String),
}

impl Failure {
    /// What else may work with this server.
    pub(super) fn next_way(&self, tried: Way, link: &Link, asked_for: Option<TransportKind>) -> Option<Way> {
        let takes_no_post = matches!(self, Self::Link(LinkError::Refused { status: 400 | 404 | 405, .. }));
        match (tried, link) {
            (Way::Discover | Way::Initialize, Link::Http(_)) if takes_no_post && asked_for.is_none() => {
                Some(Way::LegacySse)
            }
            // Some servers end when the first thing they are told is not `initialize`.
            (Way::Discover, Link::Stdio(_)) if link.ended().is_some() => Some(Way::Initialize),
            _ => None,
        }
    }
}

impl From<Failure> for UpstreamError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::TooSlow(patience) => {
                Self::TimedOut(format!("it did not answer initialize within {} s", patience.as_secs_f32()))
            }
            Failure::Link(error) => error.into(),
            Failure::Refused(why) => Self::Protocol(format!("it refused initialize: {why}")),
            Failure::Unreadable(why) => Self::Protocol(why),
        }
    }
}

impl From<LinkError> for Failure {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

/// Shakes hands; does not end where the server says nothing.
pub(super) async fn shake(link: &Link, ids: &Ids, way: Way) -> Result<ServerHello, Failure> {
    let hello = match way {
        Way::Discover => discover_first(link, ids).await,
        Way::Initialize => initialize_first(link, ids).await,
        Way::LegacySse => initialize(link, ids).await,
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
            // With the connection gone there is nobody to say `initialize` to.
            Err(error) if link.ended().is_some() => Err(error),
            Err(_) => initialize(link, ids).await,
        },
        () = sleep(SILENCE) => {}
    }
    // It may still be starting, and read both when it is done: whichever it understands first counts.
    let mut initialization = std::pin::pin!(initialize(link, ids));
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
    match initialize(link, ids).await {
        Err(Failure::Refused(why)) => discover(link, ids).await.map_err(|_| Failure::Refused(why)),
        other => other,
    }
}

async fn discover(link: &Link, ids: &Ids) -> Result<ServerHello, Failure> {
    const METHOD: &str = "server/discover";
    let params = meta::own_params();
    let headers = headers::standard(METHOD, &RawObject::default());
    let reply = ask(link, ids, METHOD, &params, &headers).await?;
    let result = reply.map_err(|error| Failure::Refused(error.message))?;
    let unknown =
        || Failure::Unreadable("its answer to server/discover names no revision that Drawbridge knows".into());
    handshake::discovered(&result).ok_or_else(unknown)
}

async fn initialize(link: &Link, ids: &Ids) -> Result<ServerHello, Failure> {
    let reply = ask(link, ids, "initialize", handshake::initialize_params().get(), &[]).await?;
    let result = reply.map_err(|error| Failure::Refused(error.message))?;
    handshake::initialized(&result).map_err(Failure::Unreadable)
}

async fn ask(
    link: &Link,
    ids: &Ids,
    method: &str,
    params: &str,
    headers: &[(String, String)],
) -> Result<Reply, LinkError> {
    link.request(Request { id: ids.next(), method, params: Some(params), headers }).await
}
