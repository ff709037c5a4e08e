//! The event stream that answers a POST. Its events have ids. If the connection breaks, the request
//! goes on for a while, and the client can resume with `Last-Event-ID`.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::response::Response;
use bytes::Bytes;
use drawbridge_sessions::ClientSession;
use futures_util::{Stream, StreamExt, stream};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};

use super::{events, response::ResponseMessages};
use crate::state::{ListenerState, ResumeRequest};

/// How long a request goes on after its connection broke.
const RESUME_TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of sent messages that are kept, because these messages may have been lost.
const MAX_SENT_BYTES: usize = 64 * 1024;
/// The most bytes of messages that wait for a client that may resume. If there are more, the
/// request is cancelled.
const MAX_UNSENT_BYTES: usize = 1024 * 1024;

/// The messages of an answer, each with the index of its event.
pub(crate) struct AnswerStream {
    state: Arc<ListenerState>,
    session: Arc<ClientSession>,
    /// The number of this stream, which begins the ids of its events.
    number: u64,
    /// `None` once the last message is taken.
    messages: Option<ResponseMessages>,
    /// The latest messages, for a client that resumes.
    kept: VecDeque<(u64, Bytes)>,
    kept_bytes: usize,
    last_index: u64,
}

/// An answer that is being sent. If it is dropped before its end, because the connection broke or
/// the client read too slowly, the answer is suspended.
struct Sending(Option<AnswerStream>);

impl AnswerStream {
    /// Returns the response that sends `first` and then `messages`.
    pub(super) fn respond(
        state: Arc<ListenerState>,
        session: Arc<ClientSession>,
        first: Bytes,
        messages: ResponseMessages,
    ) -> Response {
        let mut answer = Self {
            number: state.suspended_answers.next_number(),
            state,
            session,
            messages: Some(messages),
            kept: VecDeque::new(),
            kept_bytes: 0,
            last_index: 0,
        };
        let first = answer.keep(first, MAX_SENT_BYTES);
        let first_event = answer.event(&first);
        events::sse_response(stream::iter([first_event]).chain(answer.into_events()))
    }

    /// Returns the response that goes on after the event with this index. Returns `None` if there
    /// is no such event, or if later events are lost.
    fn resume(self, last_index: u64) -> Option<Response> {
        let oldest = self
            .kept
            .front()
            .map_or(self.last_index + 1, |(index, _)| *index);
        let next = last_index.checked_add(1)?;
        if !(oldest..=self.last_index + 1).contains(&next) {
            return None;
        }
        let is_missed = |(index, _): &&(u64, Bytes)| *index > last_index;
        let missed = self.kept.iter().filter(is_missed);
        let missed: Vec<_> = missed.map(|message| self.event(message)).collect();
        Some(events::sse_response(
            stream::iter(missed).chain(self.into_events()),
        ))
    }

    fn into_events(self) -> impl Stream<Item = Bytes> + Send {
        stream::unfold(Sending(Some(self)), |mut sending| async {
            let answer = sending.0.as_mut()?;
            let message = answer.next(MAX_SENT_BYTES).await;
            let event = message.map(|message| answer.event(&message));
            // After the last message, there is nothing to suspend. If the stream ends earlier, the
            // client was too slow and may resume.
            if answer.messages.is_none() {
                sending.0 = None;
            }
            event.map(|event| (event, sending))
        })
    }

    /// Returns the next message with its index, and keeps a copy. Returns `None` after the last
    /// message, or if the stream has to be closed because the client reads too slowly.
    async fn next(&mut self, max_kept_bytes: usize) -> Option<(u64, Bytes)> {
        let messages = self.messages.as_mut()?;
        let message = messages.next().await;
        if message.is_none() && messages.is_finished() {
            self.messages = None;
        }
        message.map(|message| self.keep(message, max_kept_bytes))
    }

    fn keep(&mut self, message: Bytes, max_kept_bytes: usize) -> (u64, Bytes) {
        self.last_index += 1;
        self.kept_bytes += message.len();
        self.kept.push_back((self.last_index, message.clone()));
        while self.kept_bytes > max_kept_bytes
            && let Some((_, dropped)) = self.kept.pop_front()
        {
            self.kept_bytes -= dropped.len();
        }
        (self.last_index, message)
    }

    fn event(&self, (index, message): &(u64, Bytes)) -> Bytes {
        events::message_event_with_id(message, &format_args!("{}-{index}", self.number))
    }

    /// Keeps the request going until the client resumes. Cancels the request after
    /// [`RESUME_TIMEOUT`], if more than [`MAX_UNSENT_BYTES`] wait for the client, if the session
    /// ends, or if the listener stops.
    async fn wait_for_client(mut self, mut resume_receiver: oneshot::Receiver<ResumeRequest>) {
        let deadline = Instant::now() + RESUME_TIMEOUT;
        let (ended, stopping) = (self.session.ended.clone(), self.state.stopping.clone());
        let mut unsent_bytes = 0;
        while unsent_bytes <= MAX_UNSENT_BYTES {
            let has_more = self.messages.is_some();
            tokio::select! {
                biased;
                request = &mut resume_receiver => {
                    if let Ok(ResumeRequest { last_index, response }) = request {
                        let _ = response.send(self.resume(last_index));
                    }
                    return;
                }
                () = sleep_until(deadline) => break,
                () = ended.cancelled() => break,
                () = stopping.cancelled() => break,
                message = self.next(MAX_SENT_BYTES + MAX_UNSENT_BYTES), if has_more => {
                    unsent_bytes += message.map_or(0, |(_, message)| message.len());
                }
            }
        }
        self.state.suspended_answers.remove(self.number);
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let Some(answer) = self.0.take() else { return };
        let suspended_answers = &answer.state.suspended_answers;
        let runtime = tokio::runtime::Handle::try_current();
        if let (Ok(runtime), Some(resume_receiver)) = (
            runtime,
            suspended_answers.suspend(answer.number, &answer.session.id),
        ) {
            runtime.spawn(answer.wait_for_client(resume_receiver));
        }
    }
}
