//! Events of the hub, which are published to every front end. No publisher waits for a
//! subscriber.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use super::{
    approval::{ApprovalRequest, ClientMute},
    call::{Call, CallProgress},
    ids::{CallId, ClientName, PairingId, ServerId, SignInId, Timestamp},
    log::LogLine,
    pairing::PairingRequest,
    server::Transition,
    sign_in::SignInState,
};

/// How many events a subscriber may fall behind before it misses events.
const CAPACITY: usize = 1024;

/// An event. A front end that missed events (`lagged`) reads everything again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
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
    /// A request or a result waits for a person.
    ApprovalRequested {
        request: Box<ApprovalRequest>,
    },
    /// An approval no longer waits: a person decided, nobody decided in time, all calls were
    /// paused, or the client cancelled the request or disconnected. Also published if a person
    /// allows a retry of a request that timed out.
    ApprovalEnded {
        id: CallId,
    },
    /// A call was decided, or ended.
    CallChanged {
        call: Arc<Call>,
    },
    /// A running call made progress, at most four times a second for each call.
    CallProgressed {
        id: CallId,
        progress: CallProgress,
    },
    /// A client was added, changed or revoked, or it connected or disconnected.
    ClientsChanged,
    /// A client was muted: its requests that need a decision are refused until the mute ends,
    /// because nobody decided its last requests.
    ClientMuted {
        client: ClientName,
        mute: ClientMute,
    },
    /// A person unmuted the client, or decided a request of any client, which unmutes all clients.
    /// A mute that ends by itself has no event.
    ClientUnmuted {
        client: ClientName,
    },
    /// An entry of the memory was stored, changed or deleted.
    MemoryChanged,
    /// An unknown client asks to be paired.
    PairingRequested {
        request: Box<PairingRequest>,
    },
    /// A client no longer asks to be paired: a person answered, nobody answered in time, or the
    /// client disconnected.
    PairingEnded {
        id: PairingId,
    },
    /// Drawbridge's entry was added to or removed from a client's configuration file, or another
    /// program changed the file.
    ClientFilesChanged,
    PolicyChanged,
    /// All calls were paused or resumed.
    DrawbridgeChanged {
        paused: bool,
        /// When the pause ends by itself; null if calls are not paused, or if a person has to
        /// resume them.
        #[serde(default)]
        resumes_at: Option<Timestamp>,
    },
    /// A profile changed, or was assigned to other clients.
    ProfilesChanged,
    /// The copy of the official registry's list changed, or a refresh of it began or ended.
    OfficialRegistryChanged,
    /// A hook was added, changed, moved or removed, or has run.
    HooksChanged,
    /// A browser signed in, or was signed out.
    BrowsersChanged,
    SettingsChanged,
    LogAdded {
        line: LogLine,
    },
    /// Events were dropped because this front end reads too slowly.
    Lagged,
}

/// The channel on which the hub's modules publish events. Cheap to clone.
#[derive(Clone)]
pub struct Events(broadcast::Sender<Event>);

impl Events {
    pub fn new() -> Self {
        Self(broadcast::channel(CAPACITY).0)
    }

    /// Publishes an event to all current subscribers.
    pub fn publish(&self, event: Event) {
        let _ = self.0.send(event);
    }

    /// Publishes an event that is expensive to make. Calls `event` only if there is a subscriber.
    pub fn publish_with(&self, event: impl FnOnce() -> Event) {
        if self.has_subscribers() {
            self.publish(event());
        }
    }

    /// Returns whether there is a subscriber.
    pub fn has_subscribers(&self) -> bool {
        self.0.receiver_count() > 0
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.0.subscribe()
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}
