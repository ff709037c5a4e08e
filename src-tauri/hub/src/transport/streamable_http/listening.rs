//! The stream of messages that a server of the legacy era sends by itself. The stream is resumed
//! for as long as the connection lives.

use std::{sync::Weak, time::Duration};

use http::StatusCode;
use tokio::time::sleep;

use super::{HttpLink, MAX_RETRY, RETRY, is_stream};
use crate::{
    http::HttpResponse,
    model::json::Json,
    transport::{
        FromServer, MAX_MESSAGE,
        message::{self, Message},
        remote,
        sse::Events,
    },
};

/// Reads the stream until the connection is gone, or the server answers that there is no such
/// stream.
pub(super) async fn listen(link: Weak<HttpLink>) {
    let mut events = Events::new(MAX_MESSAGE);
    let mut pause = Duration::ZERO;
    let mut has_it = false;
    loop {
        sleep(pause).await;
        let Some(response) = open(&link, events.last_id(), has_it).await else {
            return;
        };
        // If the stream is not available for now, the server is asked less and less often.
        pause = events
            .retry()
            .unwrap_or((pause * 2).max(RETRY))
            .min(MAX_RETRY);
        let Ok(mut response) = response else { continue };
        events.reconnected();
        has_it = true;
        while let Ok(Some(chunk)) = response.chunk().await {
            let Ok(complete) = events.push(&chunk) else {
                return;
            };
            for event in complete {
                let Some(link) = link.upgrade() else { return };
                if let Some(Message::Incoming(message)) = message::parse(&Json::new(event.data)) {
                    link.upstream
                        .tell(FromServer::Message {
                            message,
                            during: None,
                        })
                        .await;
                }
                pause = RETRY;
            }
        }
    }
}

/// Requests the stream. `has_it` is set if the server is known to have it. Returns `None` if the
/// stream must not be requested again.
async fn open(
    link: &Weak<HttpLink>,
    last_id: Option<&str>,
    has_it: bool,
) -> Option<Result<HttpResponse, ()>> {
    let link = link.upgrade().filter(|link| link.ended().is_none())?;
    match link.remote.send(link.listening(last_id)).await {
        Ok(Ok(response)) if response.status() == StatusCode::OK => {
            is_stream(&response).then_some(Ok(response))
        }
        Ok(Ok(response)) if response.status().is_client_error() => {
            let status = response.status();
            let text = link.remote.read_text(response).await;
            // If the lost session is noticed here, it costs no call: the next call begins a new
            // session.
            if has_it && link.session.get().is_some() && remote::is_about_the_session(status, &text)
            {
                link.lost(remote::FORGOTTEN);
            }
            None
        }
        // The authorization failed, for instance because a person has to sign in. The next request
        // reports that.
        Err(_) => None,
        Ok(Ok(_) | Err(_)) => Some(Err(())),
    }
}
