//! The streams of sessions, and the last messages of each stream, so that a client whose connection
//! broke can resume.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use drawbridge_model::ids::SessionId;
use drawbridge_sessions::{ClientSession, MAX_WAITING_BYTES};
use futures_util::{Stream, StreamExt, stream};

/// The most messages of a session that are kept for a client that reconnects.
const MAX_REPLAY_MESSAGES: usize = 64;
/// The most bytes of these messages.
const MAX_REPLAY_BYTES: usize = MAX_WAITING_BYTES;

/// The streams, by session, with the last messages sent on each.
#[derive(Default)]
pub(crate) struct SessionStreams(Mutex<HashMap<SessionId, SessionStream>>);

struct SessionStream {
    session: Arc<ClientSession>,
    replay: Arc<Mutex<ReplayBuffer>>,
}

/// The last messages of a session, each with its event id.
#[derive(Default)]
struct ReplayBuffer {
    last_id: u64,
    messages: VecDeque<(u64, Bytes)>,
    bytes: usize,
}

impl SessionStreams {
    /// Returns a session's messages that belong to no request, with their ids. If `last_event_id`
    /// is given, the stored messages after this event come first. Ends the session's previous
    /// stream. The new stream ends if its client reads too slowly.
    pub(crate) fn open(
        &self,
        session: &Arc<ClientSession>,
        last_event_id: Option<u64>,
    ) -> impl Stream<Item = (u64, Bytes)> + use<> {
        let replay = self.replay_of(session);
        let missed = last_event_id
            .map(|id| lock(&replay).messages_after(id))
            .unwrap_or_default();
        let messages = session.listen();
        let live = stream::unfold((messages, replay), |(mut messages, replay)| async {
            let message = messages.next().await?;
            let id = lock(&replay).push(message.clone());
            Some(((id, message), (messages, replay)))
        });
        stream::iter(missed).chain(live)
    }

    fn replay_of(&self, session: &Arc<ClientSession>) -> Arc<Mutex<ReplayBuffer>> {
        let mut streams = lock(&self.0);
        streams.retain(|_, stream| !stream.session.ended.is_cancelled());
        let stream = streams
            .entry(session.id.clone())
            .or_insert_with(|| SessionStream {
                session: Arc::clone(session),
                replay: Arc::default(),
            });
        Arc::clone(&stream.replay)
    }
}

impl ReplayBuffer {
    fn push(&mut self, message: Bytes) -> u64 {
        self.last_id += 1;
        self.bytes += message.len();
        self.messages.push_back((self.last_id, message));
        while (self.messages.len() > MAX_REPLAY_MESSAGES || self.bytes > MAX_REPLAY_BYTES)
            && let Some((_, dropped)) = self.messages.pop_front()
        {
            self.bytes -= dropped.len();
        }
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
