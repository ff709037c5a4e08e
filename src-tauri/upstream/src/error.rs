//! Why a server did not answer.

use std::time::Duration;

use drawbridge_model::{
    cause::{Cause, MapText},
    program::ProgramChange,
    protocol::InitializeError,
};
use drawbridge_store::secrets::SecretError;
use tokio::task::JoinError;

use crate::{
    oauth::{SignInReason, TokenError},
    transport::{
        AddressInUse, EndpointTimeout, InvalidAnswer, LocalHttpServerError, LostReason,
        NotListening, NotSentReason, RefusedReason, SseError, TargetError, TransportError,
        process::SpawnError,
    },
};

/// A failure of a server or of the connection to it. The failure of a tool is a result, and not an
/// error of this type.
#[derive(Debug, Clone, thiserror::Error)]
pub enum UpstreamError {
    /// The server cannot be started or connected. Nothing was sent.
    #[error(transparent)]
    Unreachable(UnreachableReason),
    /// The server's start takes longer than the request could wait. The start continues. Nothing
    /// was sent.
    #[error("The server is still starting after {} s", .waited.as_secs_f32())]
    Starting { waited: Duration },
    /// A secret that the server needs is not available. Nothing was sent.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The connection ended while the request was in flight. The server may or may not have carried
    /// the request out.
    #[error(transparent)]
    Lost(LostReason),
    /// The server refused the request, and did not carry it out.
    #[error(transparent)]
    Refused(RefusedReason),
    /// A person has to sign in to the server, which has not carried out the request.
    #[error(transparent)]
    NeedsSignIn(SignInReason),
    #[error(transparent)]
    TimedOut(TimeoutReason),
    /// The server breaks the protocol.
    #[error(transparent)]
    Protocol(ProtocolFault),
}

/// Why a server cannot be started or connected.
#[derive(Debug, Clone, thiserror::Error)]
pub enum UnreachableReason {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The program is not the program that a person accepted.
    #[error(transparent)]
    Program(#[from] ProgramChange),
    /// Variables that the spec requires have no value.
    #[error("The server needs a value for {}, and its spec has none", .names.join(", "))]
    MissingVariables { names: Vec<String> },
    #[error(transparent)]
    AddressInUse(AddressInUse),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Sse(SseError),
    #[error(transparent)]
    NotSent(NotSentReason),
    #[error("The server was stopped")]
    Stopped,
    /// The breaker is open: the server crashed so often that it is not started for a while.
    #[error(
        "The server crashed too often. It will not be restarted for {} s. Last error: {last_error}",
        .retry_after.as_secs()
    )]
    CrashedOften {
        retry_after: Duration,
        #[source]
        last_error: Box<UpstreamError>,
    },
    /// The request waited for a start, which failed.
    #[error("The server did not start: {0}")]
    StartFailed(#[source] Box<UpstreamError>),
    #[error("The task that starts the server failed: {source}")]
    StartAborted { source: Cause },
}

/// The step that took too long.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TimeoutReason {
    #[error("The server did not answer within {} s", .time_limit.as_secs_f32())]
    NoAnswer { time_limit: Duration },
    #[error("The server did not answer initialize within {} s", .time_limit.as_secs_f32())]
    Initialize { time_limit: Duration },
    #[error(
        "The server did not finish its answer within {} s, the total timeout in its spec",
        .total.as_secs_f32()
    )]
    Total { total: Duration },
    #[error(transparent)]
    Endpoint(EndpointTimeout),
    #[error(transparent)]
    NotListening(NotListening),
}

/// How a server breaks the protocol.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ProtocolFault {
    #[error(transparent)]
    Answer(InvalidAnswer),
    #[error(transparent)]
    Initialize(#[from] InitializeError),
    #[error("The server refused initialize: \"{message}\"")]
    InitializeRefused { message: String },
    #[error("The server's answer to server/discover names no revision that Drawbridge supports")]
    UnknownRevision,
    #[error("The server required more input {times} times without answering the request")]
    EndlessInput { times: u32 },
}

/// The remedy if a person has to sign in.
pub const SIGN_IN_REMEDY: &str = "Sign in: choose Sign in on the server's page in Drawbridge, or run `drawbridge servers sign-in` \
    with its id. If the server accepts a token of yours instead, put the token into its Authorization header.";

impl UpstreamError {
    /// Returns the error with `change` applied to all texts that come from a server or a spec and
    /// may contain a secret, for instance to mask the secret.
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Unreachable(reason) => Self::Unreachable(reason.map_text(change)),
            Self::Lost(reason) => Self::Lost(reason.map_text(change)),
            Self::Refused(reason) => Self::Refused(reason.map_text(change)),
            Self::NeedsSignIn(reason) => Self::NeedsSignIn(reason.map_text(change)),
            Self::TimedOut(reason) => Self::TimedOut(reason.map_text(change)),
            Self::Protocol(fault) => Self::Protocol(fault.map_text(change)),
            Self::Secret(error) => Self::Secret(error.map_text(change)),
            Self::Starting { .. } => self,
        }
    }

    /// Returns the error for a request that waited for a failed start, and was therefore not sent.
    #[must_use]
    pub(super) fn into_not_sent(self) -> Self {
        match self {
            Self::Lost(_) | Self::TimedOut(_) | Self::Protocol(_) => {
                Self::Unreachable(UnreachableReason::StartFailed(Box::new(self)))
            }
            Self::Unreachable(_)
            | Self::Starting { .. }
            | Self::Refused(_)
            | Self::Secret(_)
            | Self::NeedsSignIn(_) => self,
        }
    }

    /// Returns the error for a request that was not answered in time.
    pub(super) fn no_answer(time_limit: Duration) -> Self {
        Self::TimedOut(TimeoutReason::NoAnswer { time_limit })
    }

    /// Returns the error for a session that was stopped before its server was ready.
    pub(super) fn stopped() -> Self {
        Self::Unreachable(UnreachableReason::Stopped)
    }

    /// Returns the error for a start whose task ended early.
    pub(super) fn start_aborted(error: JoinError) -> Self {
        Self::Unreachable(UnreachableReason::StartAborted {
            source: Cause::new(error),
        })
    }

    /// Returns whether a start that failed with this error may succeed if it is tried again. A
    /// start that timed out is not tried again, because it took all the time that the spec allows.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(
                UnreachableReason::Program(_) | UnreachableReason::MissingVariables { .. },
            ) => false,
            Self::Unreachable(UnreachableReason::Spawn(error)) => error.is_transient(),
            Self::Unreachable(_) | Self::Lost(_) => true,
            Self::Starting { .. }
            | Self::Refused(_)
            | Self::TimedOut(_)
            | Self::Secret(_)
            | Self::NeedsSignIn(_)
            | Self::Protocol(_) => false,
        }
    }

    /// Returns whether the server was unavailable, so that it has certainly not carried out the
    /// request: it cannot be reached, is still starting, or lacks a secret or a sign-in.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Unreachable(_)
            | Self::Starting { .. }
            | Self::Secret(_)
            | Self::NeedsSignIn(_) => true,
            Self::Lost(_) | Self::Refused(_) | Self::TimedOut(_) | Self::Protocol(_) => false,
        }
    }

    /// Returns the remedy: how a person can solve the error.
    pub fn remedy(&self) -> String {
        match self {
            Self::Secret(error) => error.remedy(),
            Self::Unreachable(reason) => reason.remedy(),
            Self::Refused(RefusedReason::Http(_)) => {
                "Check the server's URL and its headers, then restart the server.".into()
            }
            Self::Refused(RefusedReason::Scope(_)) => {
                "Ask the administrator of the server for these rights, then sign in again.".into()
            }
            Self::Starting { .. } => "The start goes on. Try again in a moment.".into(),
            Self::NeedsSignIn(_) => SIGN_IN_REMEDY.into(),
            Self::Lost(_) => {
                "See the server's log. If the connection has ended, the next call connects again."
                    .into()
            }
            Self::TimedOut(_) => {
                "See the server's log. Raise the timeouts in its spec, or restart the server."
                    .into()
            }
            Self::Protocol(_) => {
                "Check that the server speaks MCP. The server's log shows its output.".into()
            }
        }
    }
}

impl UnreachableReason {
    fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Spawn(error) => Self::Spawn(error.map_text(change)),
            Self::AddressInUse(AddressInUse { url }) => Self::AddressInUse(AddressInUse {
                url: url.map_text(change),
            }),
            Self::Target(error) => Self::Target(error.map_text(change)),
            Self::Sse(error) => Self::Sse(error.map_text(change)),
            Self::NotSent(reason) => Self::NotSent(reason.map_text(change)),
            Self::CrashedOften {
                retry_after,
                last_error,
            } => Self::CrashedOften {
                retry_after,
                last_error: Box::new(last_error.map_text(change)),
            },
            Self::StartFailed(error) => Self::StartFailed(Box::new(error.map_text(change))),
            Self::Program(_)
            | Self::MissingVariables { .. }
            | Self::Stopped
            | Self::StartAborted { .. } => self,
        }
    }

    fn remedy(&self) -> String {
        match self {
            Self::Spawn(SpawnError::CommandNotFound { .. }) => {
                "Install the program, or enter its full path in the server's command. \
                 `drawbridge doctor` shows the PATH of servers."
                    .into()
            }
            Self::Spawn(SpawnError::ProgramNotFound { .. }) => {
                "Install the program, or correct its path in the server's command.".into()
            }
            Self::Spawn(SpawnError::Sandbox { .. }) => {
                "Change the sandbox of the server, or remove it if you trust the server.".into()
            }
            Self::AddressInUse(_) => {
                "End the other program, or choose another port for the server and its URL.".into()
            }
            Self::Program(_) => "Check what the server would start now, then accept it.".into(),
            Self::MissingVariables { .. } => "Edit the server: add the variables to its environment. If the server does not \
                need these variables, run `drawbridge servers set` with its id and `required_env=null`."
                .into(),
            Self::NotSent(NotSentReason::Token(TokenError::Secret(error))) => error.remedy(),
            Self::CrashedOften { .. } => {
                "See the server's log for the reason of the crashes. Restart the server to try at once.".into()
            }
            Self::Spawn(_)
            | Self::Target(_)
            | Self::Sse(_)
            | Self::NotSent(_)
            | Self::Stopped
            | Self::StartFailed(_)
            | Self::StartAborted { .. } => {
                "Check the server's command or URL and its log, then restart the server.".into()
            }
        }
    }
}

impl TimeoutReason {
    fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Endpoint(timeout) => Self::Endpoint(timeout.map_text(change)),
            Self::NotListening(NotListening { url, timeout }) => Self::NotListening(NotListening {
                url: url.map_text(change),
                timeout,
            }),
            Self::NoAnswer { .. } | Self::Initialize { .. } | Self::Total { .. } => self,
        }
    }
}

impl ProtocolFault {
    fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Answer(answer) => Self::Answer(answer.map_text(change)),
            Self::Initialize(error) => Self::Initialize(error.map_text(change)),
            Self::InitializeRefused { message } => Self::InitializeRefused {
                message: change(&message),
            },
            Self::UnknownRevision | Self::EndlessInput { .. } => self,
        }
    }
}

impl From<TransportError> for UpstreamError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::NotSent(reason) => {
                Self::Unreachable(UnreachableReason::NotSent(reason))
            }
            TransportError::Lost(reason) => Self::Lost(reason),
            TransportError::Refused(reason) => Self::Refused(reason),
            TransportError::NeedsSignIn(reason) => Self::NeedsSignIn(reason),
            TransportError::Protocol(answer) => Self::Protocol(ProtocolFault::Answer(answer)),
        }
    }
}

impl From<SpawnError> for UpstreamError {
    fn from(error: SpawnError) -> Self {
        Self::Unreachable(error.into())
    }
}

impl From<TargetError> for UpstreamError {
    fn from(error: TargetError) -> Self {
        Self::Unreachable(error.into())
    }
}

impl From<SseError> for UpstreamError {
    fn from(error: SseError) -> Self {
        match error {
            SseError::TimedOut(timeout) => Self::TimedOut(TimeoutReason::Endpoint(timeout)),
            SseError::NeedsSignIn(reason) => Self::NeedsSignIn(reason),
            SseError::Target(_)
            | SseError::Transport(_)
            | SseError::Remote(_)
            | SseError::Http(_)
            | SseError::Rpc { .. }
            | SseError::NotStream { .. }
            | SseError::Ended { .. }
            | SseError::NoEndpoint { .. }
            | SseError::EmptyEndpoint { .. }
            | SseError::NotUrl { .. }
            | SseError::OtherOrigin { .. } => Self::Unreachable(UnreachableReason::Sse(error)),
        }
    }
}

impl From<LocalHttpServerError> for UpstreamError {
    fn from(error: LocalHttpServerError) -> Self {
        match error {
            LocalHttpServerError::Spawn(error) => error.into(),
            LocalHttpServerError::AddressInUse(error) => {
                Self::Unreachable(UnreachableReason::AddressInUse(error))
            }
            LocalHttpServerError::Ended(exit) => Self::Lost(LostReason::ProgramEnded(exit)),
            LocalHttpServerError::NotListening(error) => {
                Self::TimedOut(TimeoutReason::NotListening(error))
            }
        }
    }
}

#[cfg(test)]
mod tests;
