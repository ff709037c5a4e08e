//! `GET /ws/progress`: the calls that run now, and their progress, over a WebSocket. Each message
//! is a JSON text.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{
        State,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code, rejection},
    },
    response::Response,
};
use drawbridge_hub::api::{
    ListedVerb,
    calls::{ListRunningCalls, RunningCallView},
};
use drawbridge_model::{
    call::{Call, CallProgress, Outcome},
    event::Event,
    ids::CallId,
    protocol::guarded::GuardedMethod,
};
use serde::Serialize;
use tokio::{
    sync::broadcast::error::RecvError,
    time::{MissedTickBehavior, interval, timeout},
};

use super::SharedState;
use crate::{auth::AdminAccess, error_response::Refusal, state::ListenerState};

/// The largest message that a reader may send, in bytes. Readers have nothing to send.
const MAX_INCOMING: usize = 4 * 1024;
/// How long a reader may take to accept a message.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval of pings, which detect readers that have disconnected.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// A message to the reader.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ProgressMessage {
    /// The first message: the calls that run now.
    Running {
        calls: Vec<RunningCallView>,
    },
    /// A call was allowed and recorded, and is about to be sent. Calls of `tool_search`, which
    /// Drawbridge answers itself, are reported too.
    Started {
        call: Arc<Call>,
    },
    Progress {
        id: CallId,
        #[serde(flatten)]
        progress: CallProgress,
    },
    Ended {
        id: CallId,
        outcome: Outcome,
    },
}

pub(crate) async fn show(
    State(state): SharedState,
    Extension(access): Extension<AdminAccess>,
    upgrade: Result<WebSocketUpgrade, rejection::WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    let upgrade = upgrade.map_err(|rejected| {
        Refusal::bad_request(format!(
            "this path requires a WebSocket: {}",
            rejected.body_text()
        ))
    })?;
    Ok(upgrade
        .max_message_size(MAX_INCOMING)
        .max_frame_size(MAX_INCOMING)
        .on_upgrade(move |socket| serve_reader(state, access, socket)))
}

/// Reports calls until the reader disconnects, reads too slowly or is signed out, or the listener
/// stops.
async fn serve_reader(state: Arc<ListenerState>, access: AdminAccess, mut socket: WebSocket) {
    let ended = tokio::select! {
        ended = report_calls(&state, &mut socket) => ended,
        () = access.ended() => Ended::SignedOut,
    };
    let (code, reason) = match ended {
        Ended::Disconnected => return,
        Ended::ReaderTooSlow => (close_code::AGAIN, "events were missed; connect again"),
        Ended::SignedOut => (close_code::POLICY, "the browser was signed out"),
        Ended::Stopping => (
            close_code::AWAY,
            "Drawbridge ends, or listens on another port",
        ),
    };
    let frame = CloseFrame {
        code,
        reason: reason.into(),
    };
    let _ = timeout(WRITE_TIMEOUT, socket.send(Message::Close(Some(frame)))).await;
}

/// The reason why a connection ends.
enum Ended {
    Disconnected,
    ReaderTooSlow,
    SignedOut,
    Stopping,
}

async fn report_calls(state: &ListenerState, socket: &mut WebSocket) -> Ended {
    // Subscribe first, so that no call is missed between the list and the first event.
    let mut events = state.hub.events();
    let Ok(calls) = ListRunningCalls {}.run_boxed(&state.hub).await else {
        return Ended::Stopping;
    };
    let mut running: BTreeSet<_> = calls.iter().map(|live| live.call.id.clone()).collect();
    let mut pings = interval(PING_INTERVAL);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next = Some(ProgressMessage::Running { calls });
    loop {
        if let Some(message) = next.take() {
            let text = serde_json::to_string(&message).expect("a message is plain data");
            match send_message(socket, Message::Text(text.into())).await {
                Ok(()) => {}
                Err(ended) => return ended,
            }
        }
        tokio::select! {
            () = state.stopping.cancelled() => return Ended::Stopping,
            event = events.recv() => match event {
                Ok(event) => next = progress_message(event, &mut running),
                Err(RecvError::Lagged(_)) => return Ended::ReaderTooSlow,
                Err(RecvError::Closed) => return Ended::Stopping,
            },
            _ = pings.tick() => {
                if let Err(ended) = send_message(socket, Message::Ping(Vec::new().into())).await {
                    return ended;
                }
            }
            received = socket.recv() => match received {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Ended::Disconnected,
                Some(Ok(_)) => {}
            },
        }
    }
}

async fn send_message(socket: &mut WebSocket, message: Message) -> Result<(), Ended> {
    match timeout(WRITE_TIMEOUT, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Ended::Disconnected),
        Err(_) => Err(Ended::ReaderTooSlow),
    }
}

/// Returns the message about an event, if the event is about a call that was reported as running or
/// has just started to run. Updates the set of running calls.
fn progress_message(event: Event, running: &mut BTreeSet<CallId>) -> Option<ProgressMessage> {
    if let Event::CallProgressed { id, progress } = event {
        return running
            .contains(&id)
            .then_some(ProgressMessage::Progress { id, progress });
    }
    let Event::CallChanged { call } = event else {
        return None;
    };
    if call.method != GuardedMethod::CallTool {
        return None;
    }
    if call.outcome != Outcome::Running {
        if !running.remove(&call.id) {
            return None;
        }
        return Some(ProgressMessage::Ended {
            id: call.id.clone(),
            outcome: call.outcome,
        });
    }
    running
        .insert(call.id.clone())
        .then_some(ProgressMessage::Started { call })
}
