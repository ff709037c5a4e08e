//! The connection events that hooks receive: a server connected, its connection ended, or it could
//! not be connected.

use drawbridge_model::{
    clock,
    ids::{ServerId, Timestamp},
    spec::{ServerSpec, TransportKind},
};

use super::connection::Connection;

/// A server connected, its connection ended, or it could not be connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionChange {
    pub at: Timestamp,
    pub server: ServerId,
    /// `stdio`, `streamable_http`, `sse` or `in_memory`.
    pub transport: &'static str,
    pub kind: ConnectionChangeKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionChangeKind {
    Connected {
        protocol_version: String,
    },
    Disconnected {
        reason: String,
        /// The session of the connection that ended, or `None` if the server could not be
        /// connected.
        session: Option<EndedSession>,
    },
}

/// The session of a connection that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedSession {
    pub protocol_version: String,
    /// The id that the server gave the session over HTTP.
    pub session_id: Option<String>,
}

/// Follows the states of one session, so that each connection, each end of a connection and each
/// failed attempt to connect is reported once.
#[derive(Default)]
pub(super) enum ReportedConnection {
    #[default]
    None,
    Starting,
    Connected {
        transport: &'static str,
        session: EndedSession,
    },
}

impl ReportedConnection {
    pub(super) fn begin(&mut self) {
        *self = Self::Starting;
    }

    /// Returns the change to report for a connection that is ready.
    pub(super) fn connect(
        &mut self,
        server: &ServerId,
        connection: &Connection,
    ) -> ConnectionChange {
        let transport = connection.transport().name();
        let protocol_version = connection.hello.protocol_version.to_string();
        *self = Self::Connected {
            transport,
            session: EndedSession {
                protocol_version: protocol_version.clone(),
                session_id: connection.transport().session_id(),
            },
        };
        let kind = ConnectionChangeKind::Connected { protocol_version };
        ConnectionChange::new(server, transport, kind)
    }

    /// Returns the change to report for the end of a connection or of an attempt to connect, or
    /// `None` if the session was neither connected nor connecting.
    pub(super) fn end(
        &mut self,
        server: &ServerId,
        spec: &ServerSpec,
        reason: &str,
    ) -> Option<ConnectionChange> {
        let (transport, session) = match std::mem::take(self) {
            Self::None => return None,
            Self::Starting => (spec_transport(spec), None),
            Self::Connected { transport, session } => (transport, Some(session)),
        };
        let reason = reason.to_owned();
        let kind = ConnectionChangeKind::Disconnected { reason, session };
        Some(ConnectionChange::new(server, transport, kind))
    }
}

/// Returns the name of the transport for a server that could not be connected, according to its
/// spec.
fn spec_transport(spec: &ServerSpec) -> &'static str {
    if spec.builtin.is_some() {
        return "in_memory";
    }
    match (&spec.url, spec.transport) {
        (None, _) => "stdio",
        (Some(_), Some(TransportKind::Sse)) => "sse",
        (Some(_), _) => "streamable_http",
    }
}

impl ConnectionChange {
    fn new(server: &ServerId, transport: &'static str, kind: ConnectionChangeKind) -> Self {
        Self {
            at: clock::now(),
            server: server.clone(),
            transport,
            kind,
        }
    }
}
