//! The stream of messages that a server of the legacy era sends by itself. The stream is resumed
//! for as long as the connection lives.

use std::{sync::Weak, time::Duration};

use drawbridge_jsonrpc::{
    json::Json,
    server_message::{self, ServerMessage},
    sse::SseParser,
};
use http::StatusCode;
use tokio::time::sleep;

use super::{HttpTransport, MAX_RETRY_PAUSE, RETRY_PAUSE, is_stream};
use crate::{
    http::HttpResponse,
    transport::{
        EndReason, MAX_MESSAGE, TransportEvent,
        remote::{self, SendError},
    },
};

/// Reads the stream until the connection is gone, or the server answers that there is no such
/// stream.
pub(super) async fn listen(transport: Weak<HttpTransport>) {
    let mut parser = SseParser::new(MAX_MESSAGE);
    let mut pause = Duration::ZERO;
    let mut is_supported = false;
    loop {
        sleep(pause).await;
        let opened = open(&transport, parser.last_id(), is_supported).await;
        if matches!(opened, Opened::Unsupported) {
            return;
        }
        // If the stream is not available for now, the server is asked less and less often.
        pause = parser
            .retry()
            .unwrap_or((pause * 2).max(RETRY_PAUSE))
            .min(MAX_RETRY_PAUSE);
        let Opened::Stream(mut response) = opened else {
            continue;
        };
        parser.reset_for_reconnect();
        is_supported = true;
        while let Ok(Some(chunk)) = response.chunk().await {
            let Ok(complete) = parser.push(&chunk) else {
                return;
            };
            for event in complete {
                let Some(transport) = transport.upgrade() else {
                    return;
                };
                if let Some(ServerMessage::Incoming(message)) =
                    server_message::parse(&Json::new(event.data))
                {
                    transport
                        .events
                        .send(TransportEvent::Message {
                            message,
                            during: None,
                        })
                        .await;
                }
                pause = RETRY_PAUSE;
            }
        }
    }
}

/// The result of a request for the stream.
enum Opened {
    Stream(HttpResponse),
    /// The stream is not available for now.
    Unavailable,
    /// The stream must not be requested again.
    Unsupported,
}

/// Requests the stream. `is_supported` is set if the server is known to have it.
async fn open(
    transport: &Weak<HttpTransport>,
    last_id: Option<&str>,
    is_supported: bool,
) -> Opened {
    let Some(transport) = transport
        .upgrade()
        .filter(|transport| transport.end_reason().is_none())
    else {
        return Opened::Unsupported;
    };
    match transport
        .remote
        .send(transport.stream_request(last_id))
        .await
    {
        Ok(response) if response.status() == StatusCode::OK => {
            if is_stream(&response) {
                Opened::Stream(response)
            } else {
                Opened::Unsupported
            }
        }
        Ok(response) if response.status().is_client_error() => {
            let status = response.status();
            let text = transport.remote.read_text(response).await;
            // If the lost session is noticed here, it costs no call: the next call begins a new
            // session.
            if is_supported
                && transport.session.get().is_some()
                && remote::is_session_lost(status, &text)
            {
                transport.end_not_sent(EndReason::SessionLost);
            }
            Opened::Unsupported
        }
        // The authorization failed, for instance because a person has to sign in. The next request
        // reports that.
        Err(SendError::Unauthorized(_)) => Opened::Unsupported,
        Ok(_) | Err(SendError::Http(_)) => Opened::Unavailable,
    }
}
