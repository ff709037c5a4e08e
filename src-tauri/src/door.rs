//! The way to the hub, for everything in the shell: the hub inside this process, or one
//! elsewhere (`MCP_HUB_URL`). Verbs and events are the same; only this file knows which.

use std::{pin::pin, sync::Arc, time::Duration};

use drawbridge_endpoint::client::ApiClient;
use drawbridge_hub::{
    Hub,
    api::{ApiError, Verb},
    model::event::Event,
};
use futures_util::StreamExt;
use tokio::sync::{broadcast::error::RecvError, mpsc};

/// Events that may wait for the controller. What does not fit waits in the hub's own queue,
/// which turns into [`Event::Lagged`] when it overflows.
const QUEUE: usize = 64;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The way to the hub.
#[derive(Clone)]
pub(crate) enum Door {
    Embedded(Arc<Hub>),
    Remote(ApiClient),
}

impl Door {
    /// Runs a verb where the hub is.
    ///
    /// # Errors
    /// The verb's own, and `unavailable` where a remote hub cannot be reached.
    pub(crate) async fn run<V: Verb>(&self, verb: V) -> Result<V::Answer, ApiError> {
        match self {
            Self::Embedded(hub) => verb.run(hub).await,
            Self::Remote(client) => client.call(verb).await,
        }
    }

    /// What happens in the hub from now on. A remote hub that goes away and comes back is
    /// followed again, with [`Event::Lagged`] at either moment.
    pub(crate) fn events(&self) -> mpsc::Receiver<Event> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        match self {
            Self::Embedded(hub) => tokio::spawn(pass_on(hub.events(), sender)),
            Self::Remote(client) => tokio::spawn(follow(client.clone(), sender)),
        };
        receiver
    }
}

async fn pass_on(mut events: tokio::sync::broadcast::Receiver<Event>, sender: mpsc::Sender<Event>) {
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

/// Ends only when nobody listens any more.
async fn follow(client: ApiClient, sender: mpsc::Sender<Event>) {
    let mut pause = FIRST_PAUSE;
    while !sender.is_closed() {
        match client.events().await {
            Ok(stream) => {
                pause = FIRST_PAUSE;
                let mut stream = pin!(stream);
                let mut next = Some(Event::Lagged);
                while let Some(event) = next {
                    if sender.send(event).await.is_err() {
                        return;
                    }
                    next = stream.next().await;
                }
                tracing::warn!("the hub's events ended; connecting again");
                // The tray shows that the hub is away, rather than what was true before.
                let _ = sender.send(Event::Lagged).await;
            }
            Err(error) => tracing::warn!(%error, "the hub's events cannot be had"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
