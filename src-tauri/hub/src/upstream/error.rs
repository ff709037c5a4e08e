//! Why a server did not answer.

use std::time::Duration;

use crate::{secrets::SecretError, transport::TransportError};

/// A failure of a server or of the connection to it. The failure of a tool is a result, and not an
/// error of this type.
#[derive(Debug, Clone, thiserror::Error)]
pub enum UpstreamError {
    /// The server cannot be started or connected. Nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// The server's start takes longer than the request could wait, and goes on. Nothing was sent.
    #[error("it is still starting after {} s", .waited.as_secs_f32())]
    Starting { waited: Duration },
    /// A secret that the server needs is not available. Nothing was sent.
    #[error("{0}")]
    Secret(#[from] SecretError),
    /// The connection ended with the request in flight. The server may or may not have carried it
    /// out.
    #[error("{0}")]
    Lost(String),
    /// The server refused the request, and did not carry it out.
    #[error("{0}")]
    Refused(String),
    /// A person has to sign in to the server, which has not carried out the request.
    #[error("{0}")]
    NeedsSignIn(String),
    #[error("{0}")]
    TimedOut(String),
    /// The server does not speak the protocol.
    #[error("{0}")]
    Protocol(String),
}

/// The remedy if a person has to sign in.
pub const SIGN_IN_REMEDY: &str = "Sign in: choose Sign in at the server in Drawbridge, or run `drawbridge servers sign-in` \
    with its id. If it takes a token of yours instead, put that into its Authorization header.";

impl UpstreamError {
    /// Returns the error with its text changed, for instance to mask secrets in a server's text.
    #[must_use]
    pub fn map_text(self, change: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::Unreachable(text) => Self::Unreachable(change(&text)),
            Self::Lost(text) => Self::Lost(change(&text)),
            Self::Refused(text) => Self::Refused(change(&text)),
            Self::NeedsSignIn(text) => Self::NeedsSignIn(change(&text)),
            Self::TimedOut(text) => Self::TimedOut(change(&text)),
            Self::Protocol(text) => Self::Protocol(change(&text)),
            Self::Starting { .. } | Self::Secret(_) => self,
        }
    }

    /// Returns the error for a request that waited for a failed start, and was therefore not sent.
    #[must_use]
    pub(super) fn into_not_sent(self) -> Self {
        match self {
            Self::Lost(why) | Self::TimedOut(why) | Self::Protocol(why) => {
                Self::Unreachable(format!("it could not be started: {why}"))
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
        Self::TimedOut(format!(
            "it did not answer within {} s",
            time_limit.as_secs_f32()
        ))
    }

    /// Returns whether another try may help. A start that timed out has used up its time.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Lost(_) => true,
            Self::Starting { .. }
            | Self::Refused(_)
            | Self::TimedOut(_)
            | Self::Secret(_)
            | Self::NeedsSignIn(_)
            | Self::Protocol(_) => false,
        }
    }

    /// Returns whether the server certainly received nothing.
    pub fn was_not_sent(&self) -> bool {
        match self {
            Self::Unreachable(_)
            | Self::Starting { .. }
            | Self::Secret(_)
            | Self::NeedsSignIn(_) => true,
            Self::Lost(_) | Self::Refused(_) | Self::TimedOut(_) | Self::Protocol(_) => false,
        }
    }

    /// Returns what a person can do about the error.
    pub fn remedy(&self) -> String {
        match self {
            Self::Secret(error) => error.remedy(),
            Self::Unreachable(why) if why.contains("cannot find the command") => {
                "Install the program, or give its full path in the server's command.".into()
            }
            Self::Unreachable(_) | Self::Refused(_) => {
                "Check its command or URL and its log, then restart it.".into()
            }
            Self::Starting { .. } => "The start goes on. Try again in a moment.".into(),
            Self::NeedsSignIn(_) => SIGN_IN_REMEDY.into(),
            Self::Lost(_) => "See its log. The next call starts it again.".into(),
            Self::TimedOut(_) => {
                "See its log; give it more time in its spec (timeouts), or restart it.".into()
            }
            Self::Protocol(_) => {
                "Check that it is an MCP server: see its log for what it wrote.".into()
            }
        }
    }
}

impl From<TransportError> for UpstreamError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::NotSent(why) => Self::Unreachable(why),
            TransportError::Lost(why) => Self::Lost(why),
            TransportError::Refused { why, .. } => Self::Refused(why),
            TransportError::NeedsSignIn(why) => Self::NeedsSignIn(why),
            TransportError::Protocol(why) => Self::Protocol(why),
        }
    }
}
