//! Why a request to a server has no answer, and why a connection ended. `map_text` changes the
//! texts in an error that may contain a server's words, for instance to mask secrets.

use std::time::Duration;

use drawbridge_jsonrpc::server_message::MalformedAnswer;
use drawbridge_model::{
    cause::{Cause, MapText},
    display_url::DisplayUrl,
};
use http::StatusCode;

use super::process::ProcessExit;
use crate::{
    http::HttpError,
    oauth::{InsufficientScope, SignInReason, TokenError},
};

/// Why a request has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TransportError {
    /// The request was not sent, or the server did not carry it out because it has lost the
    /// session.
    #[error(transparent)]
    NotSent(NotSentReason),
    /// The request may have been sent. The server may or may not have carried it out.
    #[error(transparent)]
    Lost(LostReason),
    /// The server refused the request, and certainly did not carry it out.
    #[error(transparent)]
    Refused(RefusedReason),
    /// The server did not carry out the request, because a person has to sign in.
    #[error(transparent)]
    NeedsSignIn(SignInReason),
    /// The server's answer breaks the protocol.
    #[error(transparent)]
    Protocol(InvalidAnswer),
}

/// Why a request was not sent.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotSentReason {
    #[error(transparent)]
    Ended(EndReason),
    #[error("The server does not read the messages that Drawbridge sends it")]
    NotReading,
    #[error("The params of {method} cannot be read: {source}")]
    Params { method: String, source: Cause },
    #[error("The value of the header '{name}' cannot be sent")]
    Header { name: String },
    #[error(transparent)]
    Token(TokenError),
}

/// Why the answer to a request was lost.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LostReason {
    #[error(transparent)]
    Ended(EndReason),
    #[error(transparent)]
    Remote(RemoteError),
    /// A gateway that timed out also answers with 5xx, and the server behind it may have carried
    /// out the request.
    #[error(transparent)]
    ServerError(HttpRefusal),
    #[error("The server did not accept the message within {} s", .time_limit.as_secs_f32())]
    SendTimedOut { time_limit: Duration },
    /// The program of a server with a URL ended before it listened there.
    #[error("{0}, before it listened at its URL")]
    ProgramEnded(ProcessExit),
}

/// Why a server refused a request.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RefusedReason {
    #[error(transparent)]
    Http(HttpRefusal),
    #[error(transparent)]
    Scope(InsufficientScope),
}

/// How an answer breaks the protocol.
#[derive(Debug, Clone, thiserror::Error)]
pub enum InvalidAnswer {
    #[error(transparent)]
    Malformed(MalformedAnswer),
    #[error(transparent)]
    Remote(RemoteError),
    #[error("{url} answered with a text that is not UTF-8")]
    NotUtf8 { url: DisplayUrl },
    #[error("{url} answered with a text that is not JSON-RPC: \"{text}\"")]
    NotJsonRpc { url: DisplayUrl, text: String },
}

/// Why a connection ended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EndReason {
    #[error("The server was stopped")]
    Stopped,
    /// `last_output` is the last line on stderr, or empty.
    #[error("{exit}{}", describe_last_output(.last_output))]
    Exited {
        exit: ProcessExit,
        last_output: String,
    },
    #[error("The server closed its stdout{}", describe_last_output(.last_output))]
    StdoutClosed { last_output: String },
    #[error("The server wrote more than {max} lines in a row that are not JSON-RPC")]
    NotJsonRpc { max: u32 },
    #[error(
        "The server has lost the session, as after a restart. The next call begins a new session"
    )]
    SessionLost,
    #[error("The server did not answer two pings in a row")]
    Unresponsive,
    #[error("The built-in server ended, which is a fault of Drawbridge")]
    BuiltInEnded,
    #[error(transparent)]
    Remote(RemoteError),
}

/// Why a URL gave no answer, or only a part of an answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RemoteError {
    /// Nothing was sent.
    #[error("Drawbridge cannot connect to {url}: {source}")]
    NotConnected { url: DisplayUrl, source: Cause },
    #[error("The connection to {url} broke: {source}")]
    Interrupted { url: DisplayUrl, source: Cause },
    #[error("{url} answered with more than {max} bytes")]
    TooLong { url: DisplayUrl, max: usize },
    #[error("{url} ended its stream of events")]
    StreamEnded { url: DisplayUrl },
}

/// An HTTP status that refuses a request, and the server's text.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{url} answered HTTP {status}{}{}", status_hint(*.status), quote_text(.text))]
pub struct HttpRefusal {
    pub url: DisplayUrl,
    pub status: StatusCode,
    pub text: String,
}

fn describe_last_output(last_output: &str) -> String {
    if last_output.is_empty() {
        return String::new();
    }
    format!(". Its last output was: \"{last_output}\"")
}

/// Returns a hint for a person, in parentheses, or an empty text.
fn status_hint(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            " (check the token in the server's headers)"
        }
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => " (check the URL's path)",
        _ if status.is_redirection() => {
            " (it redirects to another URL: enter that URL in the server's settings)"
        }
        _ => "",
    }
}

fn quote_text(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!(": \"{text}\""),
    }
}

impl RemoteError {
    pub(super) fn new(url: &DisplayUrl, error: HttpError) -> Self {
        let url = url.clone();
        match error {
            HttpError::NotSent { source } => Self::NotConnected { url, source },
            HttpError::Interrupted { source } => Self::Interrupted { url, source },
            HttpError::TooLong { max } => Self::TooLong { url, max },
        }
    }

    /// Returns whether the request was certainly not sent.
    pub(super) fn was_not_sent(&self) -> bool {
        matches!(self, Self::NotConnected { .. })
    }

    pub(super) fn is_too_long(&self) -> bool {
        matches!(self, Self::TooLong { .. })
    }

    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::NotConnected { url, source } => Self::NotConnected {
                url: url.map_text(change),
                source: source.map_text(change),
            },
            Self::Interrupted { url, source } => Self::Interrupted {
                url: url.map_text(change),
                source: source.map_text(change),
            },
            Self::TooLong { url, max } => Self::TooLong {
                url: url.map_text(change),
                max,
            },
            Self::StreamEnded { url } => Self::StreamEnded {
                url: url.map_text(change),
            },
        }
    }
}

impl HttpRefusal {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        Self {
            url: self.url.map_text(change),
            status: self.status,
            text: change(&self.text),
        }
    }
}

impl TransportError {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::NotSent(reason) => Self::NotSent(reason.map_text(change)),
            Self::Lost(reason) => Self::Lost(reason.map_text(change)),
            Self::Refused(reason) => Self::Refused(reason.map_text(change)),
            Self::NeedsSignIn(reason) => Self::NeedsSignIn(reason.map_text(change)),
            Self::Protocol(fault) => Self::Protocol(fault.map_text(change)),
        }
    }
}

impl NotSentReason {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Ended(reason) => Self::Ended(reason.map_text(change)),
            Self::Params { method, source } => Self::Params {
                method,
                source: source.map_text(change),
            },
            Self::Token(error) => Self::Token(error.map_text(change)),
            Self::NotReading | Self::Header { .. } => self,
        }
    }
}

impl LostReason {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Ended(reason) => Self::Ended(reason.map_text(change)),
            Self::Remote(error) => Self::Remote(error.map_text(change)),
            Self::ServerError(refusal) => Self::ServerError(refusal.map_text(change)),
            Self::SendTimedOut { .. } | Self::ProgramEnded(_) => self,
        }
    }
}

impl RefusedReason {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Http(refusal) => Self::Http(refusal.map_text(change)),
            Self::Scope(reason) => Self::Scope(reason.map_text(change)),
        }
    }
}

impl InvalidAnswer {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Malformed(rule) => Self::Malformed(rule.map_text(change)),
            Self::Remote(error) => Self::Remote(error.map_text(change)),
            Self::NotUtf8 { url } => Self::NotUtf8 {
                url: url.map_text(change),
            },
            Self::NotJsonRpc { url, text } => Self::NotJsonRpc {
                url: url.map_text(change),
                text: change(&text),
            },
        }
    }
}

impl EndReason {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Exited { exit, last_output } => Self::Exited {
                exit,
                last_output: change(&last_output),
            },
            Self::StdoutClosed { last_output } => Self::StdoutClosed {
                last_output: change(&last_output),
            },
            Self::Remote(error) => Self::Remote(error.map_text(change)),
            Self::Stopped
            | Self::NotJsonRpc { .. }
            | Self::SessionLost
            | Self::Unresponsive
            | Self::BuiltInEnded => self,
        }
    }
}
