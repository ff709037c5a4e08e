//! Events of the hub, which are published to every front end.

use serde::{Deserialize, Serialize};

use super::{
    approval::ApprovalRequest,
    call::Call,
    ids::{CallId, ServerId, SignInId},
    log::LogLine,
    server::Transition,
    sign_in::SignInState,
};

/// A change. A front end that missed events (`lagged`) reads everything again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// A server's spec, state or catalog changed, or the server was added or removed.
    ServerChanged {
        id: ServerId,
    },
    /// A server session changed its state.
    SessionChanged {
        server: ServerId,
        transition: Transition,
    },
    /// An attempt to sign in to a server began, made progress or ended.
    SignInChanged {
        id: SignInId,
        server: ServerId,
        state: SignInState,
    },
    /// A call or a result waits for a person.
    ApprovalRequested {
        request: Box<ApprovalRequest>,
    },
    /// An approval no longer waits: a person decided, nobody decided in time, all calls were
    /// paused, or the client disconnected.
    ApprovalEnded {
        id: CallId,
    },
    /// A call was decided, or ended.
    CallChanged {
        call: Call,
    },
    /// A client was added or revoked, connected or disconnected.
    ClientsChanged,
    PolicyChanged,
    /// All calls were paused or resumed.
    DrawbridgeChanged {
        paused: bool,
    },
    /// A profile changed, or was given to other clients.
    ProfilesChanged,
    SettingsChanged,
    LogAdded {
        line: LogLine,
    },
    /// Events were dropped because this front end reads too slowly.
    Lagged,
}
