//! Access to a hub, in this process or in another process, for the desktop app and the command
//! line. Both kinds of hub have the same verbs and events, so few callers need to know in which
//! process the hub runs.

use std::{pin::pin, sync::Arc, time::Duration};

use drawbridge_hub::{
    Hub,
    api::{self, ApiError, Verb},
};
use drawbridge_model::event::Event;
use futures_util::StreamExt;
use serde_json::value::RawValue;
use tokio::sync::{broadcast::error::RecvError, mpsc};

use super::ApiClient;

/// How many events may wait for the receiver. Further events wait in the hub's own queue, which
/// yields [`Event::Lagged`] if it overflows.
const QUEUE_LEN: usize = 64;
const FIRST_RECONNECT_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_RECONNECT_PAUSE: Duration = Duration::from_secs(30);

/// A handle to a hub. Cheap to clone.
#[derive(Clone)]
pub enum HubHandle {
    Embedded(Arc<Hub>),
    OtherProcess(ApiClient),
}

impl HubHandle {
    /// Returns whether the hub is reached by its URL, so that it may have other files than this
    /// computer.
    pub fn is_remote(&self) -> bool {
        match self {
            Self::Embedded(_) => false,
            Self::OtherProcess(client) => client.remote_origin().is_some(),
        }
    }

    /// Runs a verb on the hub and returns its answer.
    ///
    /// # Errors
    /// Returns an error if the verb fails, or if the hub is in another process and cannot be
    /// reached (`unavailable`) or does not answer in time (`timeout`).
    pub async fn run<V: Verb>(&self, verb: V) -> Result<V::Answer, ApiError> {
        match self {
            Self::Embedded(hub) => verb.run_boxed(hub).await,
            Self::OtherProcess(client) => client.call(verb).await,
        }
    }

    /// Runs the verb called `name`, with its parameters as JSON, and returns its answer as JSON.
    ///
    /// # Errors
    /// Returns an error if there is no such verb (`not_found`), if the verb does not accept the
    /// parameters (`invalid`), and in the cases of [`HubHandle::run`].
    pub async fn run_by_name(&self, name: &str, params: String) -> Result<Box<RawValue>, ApiError> {
        match self {
            Self::Embedded(hub) => api::dispatch(hub, name, params.as_bytes()).await,
            Self::OtherProcess(client) => client.call_by_name(name, params).await,
        }
    }

    /// Closes the hub if it is in this process: ends its servers and closes its store.
    pub async fn close(self) {
        match self {
            Self::Embedded(hub) => hub.close().await,
            Self::OtherProcess(_) => {}
        }
    }

    /// Returns the hub's events from now on. If the hub is in another process, reconnects after
    /// each disconnection, and sends [`Event::Lagged`] at each connection and disconnection.
    pub fn events(&self) -> mpsc::Receiver<Event> {
        let (sender, receiver) = mpsc::channel(QUEUE_LEN);
        match self {
            Self::Embedded(hub) => tokio::spawn(forward_events(hub.events(), sender)),
            Self::OtherProcess(client) => {
                tokio::spawn(forward_remote_events(client.clone(), sender))
            }
        };
        receiver
    }
}

async fn forward_events(
    mut events: tokio::sync::broadcast::Receiver<Event>,
    sender: mpsc::Sender<Event>,
) {
    loop {
        let event = match events.recv().await {
            Ok(event) => event,
            Err(RecvError::Lagged(_)) => Event::Lagged,
            Err(RecvError::Closed) => return,
        };
        if sender.send(event).await.is_err() {
            return;
        }
    }
}

/// Follows the events of a hub in another process, and reconnects until the receiver is dropped.
async fn forward_remote_events(client: ApiClient, sender: mpsc::Sender<Event>) {
    let mut pause = FIRST_RECONNECT_PAUSE;
    while !sender.is_closed() {
        match client.events().await {
            Ok(stream) => {
                pause = FIRST_RECONNECT_PAUSE;
                let mut stream = pin!(stream);
                let mut next = Some(Event::Lagged);
                while let Some(event) = next {
                    if sender.send(event).await.is_err() {
                        return;
                    }
                    next = stream.next().await;
                }
                tracing::warn!("the hub's events ended; connecting again");
                // Makes the tray show that the hub is unreachable, instead of its last known state.
                let _ = sender.send(Event::Lagged).await;
            }
            Err(error) => tracing::warn!(%error, "the hub's events cannot be received"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_RECONNECT_PAUSE);
    }
}
