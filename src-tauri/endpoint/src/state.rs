//! The state that the handlers of a listener share.

mod login_attempts;
mod refused_tokens;
mod session_streams;
mod sse_streams;
mod suspended_answers;

use std::sync::Arc;

use drawbridge_hub::Hub;
use tokio_util::sync::CancellationToken;

pub(crate) use sse_streams::Outlet;
pub(crate) use suspended_answers::ResumeRequest;

use login_attempts::LoginAttempts;
use refused_tokens::RefusedTokens;
use session_streams::SessionStreams;
use sse_streams::SseStreams;
use suspended_answers::SuspendedAnswers;

/// The state that the handlers of a listener share.
pub(crate) struct ListenerState {
    pub(crate) hub: Arc<Hub>,
    pub(crate) kind: ListenerKind,
    pub(crate) session_streams: SessionStreams,
    pub(crate) sse_streams: SseStreams,
    pub(crate) suspended_answers: SuspendedAnswers,
    pub(crate) login_attempts: LoginAttempts,
    pub(crate) refused_tokens: RefusedTokens,
    /// Cancelled when the endpoint stops.
    pub(crate) stopping: CancellationToken,
}

/// The kind of listener over which a request arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListenerKind {
    Tcp,
    Local,
}

impl ListenerState {
    pub(crate) fn new(hub: Arc<Hub>, kind: ListenerKind, stopping: CancellationToken) -> Self {
        Self {
            hub,
            kind,
            session_streams: SessionStreams::default(),
            sse_streams: SseStreams::default(),
            suspended_answers: SuspendedAnswers::default(),
            login_attempts: LoginAttempts::default(),
            refused_tokens: RefusedTokens::default(),
            stopping,
        }
    }
}
