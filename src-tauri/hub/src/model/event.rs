//! What happens in the hub, told to every screen.

use serde::{Deserialize, Serialize};

use super::{
    approval::ApprovalRequest,
    authorization::SignInState,
    call::Call,
    ids::{CallId, ServerId, SignInId},
    log::LogLine,
    server::Transition,
};

/// Something changed. A screen that missed events (`lagged`) reads everything anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// A server's spec, state or catalog changed, or it was added or removed.
    ServerChanged {
        id: ServerId,
    },
    /// A session with a server took a step.
    SessionChanged {
        server: ServerId,
        transition: Transition,
    },
    /// An attempt to sign in to a server began, went on or ended.
    AuthorizationChanged {
        id: SignInId,
        server: ServerId,
        state: SignInState,
    },
    /// A call waits for a person.
    ApprovalAsked {
        request: Box<ApprovalRequest>,
    },
    /// A call no longer waits: decided, timed out, or its client left.
    ApprovalEnded {
        id: CallId,
    },
    /// A call was decided, or ended.
    CallChanged {
        call: Call,
    },
    /// A client was added, revoked, came or went.
    ClientsChanged,
    PolicyChanged,
    /// The drawbridge was raised or lowered.
    DrawbridgeChanged {
        raised: bool,
    },
    /// A profile changed, or who has which.
    ProfilesChanged,
    SettingsChanged,
    LogAdded {
        line: LogLine,
    },
    /// Events were dropped on the way to a slow screen.
    Lagged,
}
