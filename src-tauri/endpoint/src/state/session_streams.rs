//! The streams of sessions, and the last messages of each, so that a client whose connection broke
//! can resume.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use drawbridge_model::ids::SessionId;
use drawbridge_sessions::ClientSession;
use futures_util::{Stream, StreamExt, stream};
use tokio_util::sync::CancellationToken;

/// The number of messages of a session that are kept for a client that reconnects.
const MAX_REPLAY_MESSAGES: usize = 64;

/// The streams, by session, with the last messages sent on each.
#[derive(Default)]
pub(crate) struct SessionStreams(Mutex<HashMap<SessionId, SessionStream>>);

struct SessionStream {
    session: Arc<ClientSession>,
    replay: Arc<Mutex<ReplayBuffer>>,
    replaced: CancellationToken,
}

/// The last messages of a session, each with its event id.
#[derive(Default)]
struct ReplayBuffer {
    last_id: u64,
    messages: VecDeque<(u64, Bytes)>,
}

impl SessionStreams {
    /// Returns the messages of a session with their ids, beginning with the stored ones after
    /// `last_event_id`. Ends the session's previous stream.
    pub(crate) fn open(
        &self,
        session: Arc<ClientSession>,
        last_event_id: Option<u64>,
    ) -> impl Stream<Item = (u64, Bytes)> + use<> {
        let replaced = CancellationToken::new();
        let replay = self.replace_stream(&session, &replaced);
        let missed = last_event_id
            .map(|id| lock(&replay).messages_after(id))
            .unwrap_or_default();
        let live = stream::unfold((session, replay), |(session, replay)| async {
            let message = session.next_message().await;
            let id = lock(&replay).push(message.clone());
            Some(((id, message), (session, replay)))
        });
        stream::iter(missed)
            .chain(live)
            .take_until(replaced.cancelled_owned())
    }

    fn replace_stream(
        &self,
        session: &Arc<ClientSession>,
        replaced: &CancellationToken,
    ) -> Arc<Mutex<ReplayBuffer>> {
        let mut streams = lock(&self.0);
        streams.retain(|_, stream| !stream.session.ended.is_cancelled());
        let stream = streams
            .entry(session.id.clone())
            .or_insert_with(|| SessionStream {
                session: Arc::clone(session),
                replay: Arc::default(),
                replaced: CancellationToken::new(),
            });
        std::mem::replace(&mut stream.replaced, replaced.clone()).cancel();
        Arc::clone(&stream.replay)
    }
}

impl ReplayBuffer {
    fn push(&mut self, message: Bytes) -> u64 {
        self.last_id += 1;
        if self.messages.len() == MAX_REPLAY_MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back((self.last_id, message));
        self.last_id
    }

    fn messages_after(&self, last_event_id: u64) -> Vec<(u64, Bytes)> {
        self.messages
            .iter()
            .filter(|(id, _)| *id > last_event_id)
            .cloned()
            .collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
