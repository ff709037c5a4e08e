//! The queue: calls that wait for a person. The first decision wins.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::Instant};

use crate::{
    events::Events,
    model::{
        approval::{ApprovalRequest, Verdict},
        call::Call,
        event::Event,
        ids::CallId,
    },
};

/// Calls of one client that may wait at a time.
pub(super) const MAX_PER_CLIENT: usize = 20;

/// The waiting calls. Cheap to clone.
#[derive(Clone)]
pub struct Queue {
    events: Events,
    waiting: Arc<Mutex<HashMap<CallId, Waiting>>>,
}

struct Waiting {
    request: ApprovalRequest,
    deadline: Instant,
    verdict: oneshot::Sender<Decided>,
}

/// A person's verdict, and where to say how the call was recorded.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) verdict: Verdict,
    pub(super) recorded: oneshot::Sender<Call>,
}

/// Why a decision was not taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecideError {
    #[error("no call with the id '{0}' waits: it was decided, timed out, or its client left")]
    Gone(CallId),
    #[error("the call '{0}' is not the one that was shown; look at it again")]
    Changed(CallId),
}

/// A request taken out of the queue, to be decided by whoever took it.
pub struct Taken {
    pub request: ApprovalRequest,
    verdict: oneshot::Sender<Decided>,
}

impl Taken {
    /// Decides it; the call as it was recorded.
    ///
    /// # Errors
    /// Where its client left in the meantime.
    pub async fn decide(self, verdict: Verdict) -> Result<Call, DecideError> {
        let (recorded, answer) = oneshot::channel();
        let gone = || DecideError::Gone(self.request.id.clone());
        self.verdict.send(Decided { verdict, recorded }).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }
}

impl Queue {
    pub fn new(events: Events) -> Self {
        Self { events, waiting: Arc::default() }
    }

    /// What waits, oldest first.
    pub fn list(&self) -> Vec<ApprovalRequest> {
        let mut requests: Vec<_> = self.lock().values().map(Waiting::view).collect();
        requests.sort_by(|a, b| (a.asked_at, &a.id).cmp(&(b.asked_at, &b.id)));
        requests
    }

    pub fn get(&self, id: &CallId) -> Option<ApprovalRequest> {
        self.lock().get(id).map(Waiting::view)
    }

    /// Takes a request out, for a decision: from now on nobody else can decide it.
    ///
    /// # Errors
    /// Where it does not wait any more, or is not the one that was shown.
    pub fn take(&self, id: &CallId, digest: &str) -> Result<Taken, DecideError> {
        let mut waiting = self.lock();
        let found = waiting.get(id).ok_or_else(|| DecideError::Gone(id.clone()))?;
        if found.request.digest != digest {
            return Err(DecideError::Changed(id.clone()));
        }
        let taken = waiting.remove(id).ok_or_else(|| DecideError::Gone(id.clone()))?;
        drop(waiting);
        self.events.tell(Event::ApprovalEnded { id: id.clone() });
        Ok(Taken { request: taken.request, verdict: taken.verdict })
    }

    /// Puts a call into the queue. It leaves the queue when it is decided or the ticket is dropped.
    pub(super) fn ask(&self, request: ApprovalRequest, patience: Duration) -> Option<Ticket> {
        let (verdict, decided) = oneshot::channel();
        let id = request.id.clone();
        let mut waiting = self.lock();
        if waiting.values().filter(|other| other.request.client == request.client).count() >= MAX_PER_CLIENT {
            return None;
        }
        let deadline = Instant::now() + patience;
        waiting.insert(id.clone(), Waiting { request: request.clone(), deadline, verdict });
        drop(waiting);
        self.events.tell(Event::ApprovalAsked { request });
        Some(Ticket { queue: self.clone(), id, deadline, decided: Some(decided) })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallId, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn view(&self) -> ApprovalRequest {
        let left = self.deadline.saturating_duration_since(Instant::now()).as_millis();
        ApprovalRequest { left_ms: u32::try_from(left).unwrap_or(u32::MAX), ..self.request.clone() }
    }
}

/// A call's place in the queue.
pub(super) struct Ticket {
    queue: Queue,
    id: CallId,
    deadline: Instant,
    decided: Option<oneshot::Receiver<Decided>>,
}

impl Ticket {
    /// Waits for a person; nothing where nobody decided in time.
    pub(super) async fn decided(mut self) -> Option<Decided> {
        let decided = self.decided.take()?;
        tokio::time::timeout_at(self.deadline, decided).await.ok()?.ok()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.queue.lock().remove(&self.id).is_some() {
            self.queue.events.tell(Event::ApprovalEnded { id: self.id.clone() });
        }
    }
}
