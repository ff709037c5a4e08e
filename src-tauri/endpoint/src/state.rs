//! The state of a listener: the hub, the streams of clients, the answers whose connections broke,
//! and the counters that limit attempts.

mod login_attempts;
mod session_streams;
mod sse_streams;
mod suspended_answers;
mod unknown_tokens;

use std::sync::Arc;

use drawbridge_hub::Hub;
use tokio_util::sync::CancellationToken;

pub(crate) use sse_streams::Outlet;
pub(crate) use suspended_answers::ResumeRequest;

use login_attempts::LoginAttempts;
use session_streams::SessionStreams;
use sse_streams::SseStreams;
use suspended_answers::SuspendedAnswers;
use unknown_tokens::UnknownTokens;

/// The state that the handlers of a listener share.
pub(crate) struct ListenerState {
    pub(crate) hub: Arc<Hub>,
    pub(crate) kind: ListenerKind,
    /// The streams of clients that use Streamable HTTP.
    pub(crate) session_streams: SessionStreams,
    /// The streams of clients that use the older HTTP+SSE transport.
    pub(crate) sse_streams: SseStreams,
    /// The answers whose connections broke, until their clients resume them or a timeout passes.
    pub(crate) suspended_answers: SuspendedAnswers,
    pub(crate) login_attempts: LoginAttempts,
    pub(crate) unknown_tokens: UnknownTokens,
    /// Cancelled when the listener stops.
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
            unknown_tokens: UnknownTokens::default(),
            stopping,
        }
    }
}
