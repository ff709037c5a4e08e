//! The stream of what a server with sessions says by itself, taken up again for as long as the link is there.

use std::{sync::Weak, time::Duration};

use http::StatusCode;
use tokio::time::sleep;

use super::{HttpLink, MAX_RETRY, RETRY, is_stream};
use crate::{
    http::Response,
    model::json::Json,
    transport::{
        FromServer, MAX_MESSAGE,
        message::{self, Message},
        remote,
        sse::Events,
    },
};

/// Listens until the link is gone, or the server says that there is no such stream.
pub(super) async fn listen(link: Weak<HttpLink>) {
    let mut events = Events::new(MAX_MESSAGE);
    let mut pause = Duration::ZERO;
    let mut has_it = false;
    loop {
        sleep(pause).await;
        let Some(response) = open(&link, events.last_id(), has_it).await else {
            return;
        };
        // One that cannot be had for now is asked for less and less often.
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

/// Asks for the stream, of which it may be known that the server has it: none where it is not to be asked for again.
async fn open(
    link: &Weak<HttpLink>,
    last_id: Option<&str>,
    has_it: bool,
) -> Option<Result<Response, ()>> {
    let link = link.upgrade().filter(|link| link.ended().is_none())?;
    match link.remote.send(link.listening(last_id)).await {
        Ok(Ok(response)) if response.status() == StatusCode::OK => {
            is_stream(&response).then_some(Ok(response))
        }
        Ok(Ok(response)) if response.status().is_client_error() => {
            let status = response.status();
            let text = link.remote.read_text(response).await;
            // Told now, it costs no call: the next one begins a new session.
            if has_it && link.session.get().is_some() && remote::is_about_the_session(status, &text)
            {
                link.lost(remote::FORGOTTEN);
            }
            None
        }
        // A person has to sign in: what is asked next says so.
        Err(_) => None,
        Ok(Ok(_) | Err(_)) => Some(Err(())),
    }
}
