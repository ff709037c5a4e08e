//! The answers whose connections broke, until their clients resume them or a timeout passes.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::response::Response;
use drawbridge_model::ids::SessionId;
use tokio::sync::oneshot;

/// The most answers of one session that can be suspended. If the connection of a further answer
/// breaks, its request is cancelled.
const MAX_PER_SESSION: usize = 16;

/// The answers, by the numbers of their streams.
#[derive(Default)]
pub(crate) struct SuspendedAnswers {
    last_number: AtomicU64,
    answers: Mutex<HashMap<u64, SuspendedAnswer>>,
}

struct SuspendedAnswer {
    session: SessionId,
    /// Asks the task that keeps the answer to resume it.
    resume: oneshot::Sender<ResumeRequest>,
}

/// A client's request for the rest of an answer.
pub(crate) struct ResumeRequest {
    /// The index of the last event that the client has.
    pub(crate) last_index: u64,
    /// Takes the response with the later events, or `None` if some of these events are lost.
    pub(crate) response: oneshot::Sender<Option<Response>>,
}

impl SuspendedAnswers {
    /// Returns a number for a new stream.
    pub(crate) fn next_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Adds an answer. Returns the receiver of the request to resume it, or `None` if the session
    /// has too many suspended answers.
    pub(crate) fn suspend(
        &self,
        number: u64,
        session: &SessionId,
    ) -> Option<oneshot::Receiver<ResumeRequest>> {
        let mut answers = self.lock();
        let in_session = answers.values().filter(|answer| answer.session == *session);
        if in_session.count() >= MAX_PER_SESSION {
            return None;
        }
        let (resume, receiver) = oneshot::channel();
        let session = session.clone();
        answers.insert(number, SuspendedAnswer { session, resume });
        Some(receiver)
    }

    /// Removes an answer that ended without being resumed.
    pub(crate) fn remove(&self, number: u64) {
        self.lock().remove(&number);
    }

    /// Resumes an answer of a session. Returns `None` if the answer is not suspended, or if events
    /// after `last_index` are lost.
    pub(crate) async fn resume(
        &self,
        number: u64,
        last_index: u64,
        session: &SessionId,
    ) -> Option<Response> {
        let suspended = {
            let mut answers = self.lock();
            let answer = answers.get(&number)?;
            if answer.session != *session {
                return None;
            }
            answers.remove(&number)?
        };
        let (response, receiver) = oneshot::channel();
        let request = ResumeRequest {
            last_index,
            response,
        };
        suspended.resume.send(request).ok()?;
        receiver.await.ok()?
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, SuspendedAnswer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
