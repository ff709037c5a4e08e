//! The stream of messages that a server of the legacy era sends by itself. The stream is resumed
//! for as long as the connection lives and the server offers the stream.

use std::{sync::Weak, time::Duration};

use drawbridge_jsonrpc::{
    json::Json,
    server_message::{self, ServerMessage},
    sse::SseParser,
};
use http::StatusCode;
use tokio::time::sleep;

use super::{
    HttpTransport, MAX_BREAKS, MAX_RETRY_PAUSE, RETRY_PAUSE, is_stream, limit_retry_pause,
};
use crate::{
    http::HttpResponse,
    transport::{
        EndReason, MAX_MESSAGE,
        remote::{self, SendError},
    },
};

/// Reads the stream until the connection has ended, the server refuses the stream, or too many
/// events in a row are too long.
pub(super) async fn listen(transport: Weak<HttpTransport>) {
    let mut parser = SseParser::new(MAX_MESSAGE);
    let mut pause = Duration::ZERO;
    let mut is_supported = false;
    // The number of events that were too long since the last other event.
    let mut too_long_events = 0;
    loop {
        sleep(pause).await;
        let opened = open_stream(&transport, parser.last_id(), is_supported).await;
        if matches!(opened, Opened::Unsupported) {
            return;
        }
        // As long as the stream is not available, the server is asked less and less often.
        pause = (pause * 2).clamp(RETRY_PAUSE, MAX_RETRY_PAUSE);
        let Opened::Stream(mut response) = opened else {
            continue;
        };
        parser.reset_for_reconnect();
        is_supported = true;
        while let Ok(Some(chunk)) = response.chunk().await {
            let Ok(complete) = parser.push(&chunk) else {
                too_long_events += 1;
                if !report_long_event(&transport, too_long_events) {
                    return;
                }
                break;
            };
            for event in complete {
                let Some(transport) = transport.upgrade() else {
                    return;
                };
                if let Some(ServerMessage::Incoming(message)) =
                    server_message::parse(&Json::new(event.data))
                {
                    transport.events.send_message(message, None).await;
                }
                (pause, too_long_events) = (RETRY_PAUSE, 0);
            }
        }
        // The server may have asked for another pause.
        pause = limit_retry_pause(parser.retry().unwrap_or(pause));
    }
}

/// Logs that an event was too long. `in_a_row` is the number of events in a row that were too long,
/// including this event. Returns whether the stream is opened again.
fn report_long_event(transport: &Weak<HttpTransport>, in_a_row: u32) -> bool {
    let Some(transport) = transport.upgrade() else {
        return false;
    };
    let opens_again = in_a_row < MAX_BREAKS;
    let outcome = if opens_again {
        "The stream is opened again"
    } else {
        "The stream is not opened again"
    };
    tracing::warn!(
        "{} sent a message of more than {MAX_MESSAGE} bytes that belongs to no request, and the \
         message is lost. {outcome}",
        transport.remote.url
    );
    opens_again
}

/// The result of a request for the stream.
enum Opened {
    Stream(HttpResponse),
    /// The stream is not available for now.
    Unavailable,
    /// The stream must not be requested again.
    Unsupported,
}

/// Requests the stream. `is_supported` says whether the server has opened it before.
async fn open_stream(
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
            // No call fails if the lost session is noticed here: the next call begins a new
            // session.
            if is_supported
                && transport.session().is_some()
                && remote::is_session_lost(status, &text)
            {
                transport.end_not_sent(EndReason::SessionLost);
            }
            Opened::Unsupported
        }
        // The authorization failed, for instance because a person has to sign in. The next request
        // reports the failure.
        Err(SendError::Unauthorized(_)) => Opened::Unsupported,
        Ok(_) | Err(SendError::Http(_)) => Opened::Unavailable,
    }
}
