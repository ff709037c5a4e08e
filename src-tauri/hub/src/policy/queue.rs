//! The queue: calls that wait for a person. The first decision wins.
//!
//! A call that nobody decided in time is denied, and remembered for a while: what a person says of it then holds for
//! an identical retry only, and never runs anything by itself.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::Instant};

use crate::{
    catalog::CatalogEntry,
    events::Events,
    model::{
        approval::{ApprovalRequest, Verdict},
        call::Call,
        event::Event,
        ids::{CallId, ClientName},
    },
};

/// Calls of one client that may wait at a time.
pub(super) const MAX_PER_CLIENT: usize = 20;
/// How long a call that nobody decided is remembered for an identical retry.
const LATE: Duration = Duration::from_secs(120);
const MAX_LATE: usize = 100;
/// After so many questions of a client in a row that nobody answered it is not asked for a while.
const MAX_UNANSWERED: u32 = 3;
const COOLDOWN: Duration = Duration::from_secs(60);

/// The waiting calls. Cheap to clone.
#[derive(Clone)]
pub struct Queue {
    events: Events,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    waiting: HashMap<CallId, Waiting>,
    /// Oldest first.
    late: VecDeque<Late>,
    unanswered: HashMap<ClientName, Unanswered>,
}

struct Waiting {
    request: ApprovalRequest,
    tool: Arc<CatalogEntry>,
    deadline: Instant,
    /// Somebody could have decided it: a screen heard of it, or asked.
    is_seen: bool,
    verdict: oneshot::Sender<Decided>,
}

/// A call that nobody decided in time.
struct Late {
    request: ApprovalRequest,
    until: Instant,
    is_approved: bool,
}

/// Questions of a client in a row that nobody answered.
#[derive(Clone, Copy)]
struct Unanswered {
    count: u32,
    last: Instant,
}

/// Why a call is not put into the queue.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Full {
    #[error("{MAX_PER_CLIENT} calls of {0} wait already; answer those first")]
    Waiting(ClientName),
    #[error(
        "nobody answered the last {MAX_UNANSWERED} questions of {client}; it may ask again in {seconds} s"
    )]
    Unanswered { client: ClientName, seconds: u64 },
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
        self.verdict
            .send(Decided { verdict, recorded })
            .map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }
}

impl Queue {
    pub fn new(events: Events) -> Self {
        Self {
            events,
            inner: Arc::default(),
        }
    }

    /// What waits, oldest first.
    pub fn list(&self) -> Vec<ApprovalRequest> {
        let mut requests: Vec<_> = self
            .lock()
            .waiting
            .values_mut()
            .map(Waiting::view)
            .collect();
        requests.sort_by(|a, b| (a.asked_at, &a.id).cmp(&(b.asked_at, &b.id)));
        requests
    }

    pub fn get(&self, id: &CallId) -> Option<ApprovalRequest> {
        self.lock().waiting.get_mut(id).map(Waiting::view)
    }

    /// The tool that a waiting call is of.
    pub fn tool(&self, id: &CallId) -> Option<Arc<CatalogEntry>> {
        self.lock()
            .waiting
            .get(id)
            .map(|waiting| waiting.tool.clone())
    }

    /// What nobody decided in time and may still be allowed for an identical retry, oldest first.
    pub fn missed(&self) -> Vec<ApprovalRequest> {
        let mut inner = self.lock();
        inner.forget_old();
        inner
            .late
            .iter()
            .filter(|late| !late.is_approved)
            .map(Late::view)
            .collect()
    }

    /// Lets an identical retry of a call through that nobody decided in time; for how long, in whole seconds.
    ///
    /// # Errors
    /// Where it is not remembered any more, or is not the one that was shown.
    pub fn allow_retry(&self, id: &CallId, digest: &str) -> Result<u64, DecideError> {
        let mut inner = self.lock();
        inner.forget_old();
        let late = inner.late.iter_mut().find(|late| late.request.id == *id);
        let late = late.ok_or_else(|| DecideError::Gone(id.clone()))?;
        if late.request.digest != digest {
            return Err(DecideError::Changed(id.clone()));
        }
        late.is_approved = true;
        let left = late
            .until
            .saturating_duration_since(Instant::now())
            .as_secs();
        drop(inner);
        self.events.tell(Event::ApprovalEnded { id: id.clone() });
        Ok(left)
    }

    /// Whether a person has let an identical retry of such a call through. It is asked once: the answer is used up.
    pub(super) fn takes_retry(&self, digest: &str) -> bool {
        let mut inner = self.lock();
        inner.forget_old();
        let Some(at) = inner
            .late
            .iter()
            .position(|late| late.request.digest == digest)
        else {
            return false;
        };
        inner.late.remove(at).is_some_and(|late| late.is_approved)
    }

    /// Takes a request out, for a decision: from now on nobody else can decide it.
    ///
    /// # Errors
    /// Where it does not wait any more, or is not the one that was shown.
    pub fn take(&self, id: &CallId, digest: &str) -> Result<Taken, DecideError> {
        let mut inner = self.lock();
        let found = inner
            .waiting
            .get(id)
            .ok_or_else(|| DecideError::Gone(id.clone()))?;
        if found.request.digest != digest {
            return Err(DecideError::Changed(id.clone()));
        }
        let taken = inner
            .waiting
            .remove(id)
            .ok_or_else(|| DecideError::Gone(id.clone()))?;
        // Somebody is there.
        inner.unanswered.clear();
        drop(inner);
        self.events.tell(Event::ApprovalEnded { id: id.clone() });
        Ok(Taken {
            request: taken.request,
            verdict: taken.verdict,
        })
    }

    /// Puts a call into the queue. It leaves the queue when it is decided or the ticket is dropped.
    ///
    /// # Errors
    /// Where too many of its client wait, or nobody answered its last ones.
    pub(super) fn ask(
        &self,
        request: ApprovalRequest,
        tool: Arc<CatalogEntry>,
        patience: Duration,
    ) -> Result<Ticket, Full> {
        let (verdict, decided) = oneshot::channel();
        let id = request.id.clone();
        let mut inner = self.lock();
        inner.admits(&request.client)?;
        let deadline = Instant::now() + patience;
        let is_seen = self.events.is_heard();
        let waiting = Waiting {
            request: request.clone(),
            tool,
            deadline,
            is_seen,
            verdict,
        };
        inner.waiting.insert(id.clone(), waiting);
        drop(inner);
        self.events.tell(Event::ApprovalAsked {
            request: Box::new(request),
        });
        Ok(Ticket {
            queue: self.clone(),
            id,
            deadline,
            decided,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn admits(&self, client: &ClientName) -> Result<(), Full> {
        if self
            .waiting
            .values()
            .filter(|other| other.request.client == *client)
            .count()
            >= MAX_PER_CLIENT
        {
            return Err(Full::Waiting(client.clone()));
        }
        match self.unanswered.get(client) {
            Some(Unanswered {
                count: MAX_UNANSWERED..,
                last,
            }) if last.elapsed() < COOLDOWN => {
                let seconds = COOLDOWN.saturating_sub(last.elapsed()).as_secs() + 1;
                Err(Full::Unanswered {
                    client: client.clone(),
                    seconds,
                })
            }
            _ => Ok(()),
        }
    }

    fn forget_old(&mut self) {
        let now = Instant::now();
        self.late.retain(|late| now < late.until);
    }

    fn note_unanswered(&mut self, waiting: Waiting) {
        let client = waiting.request.client.clone();
        let unanswered = self.unanswered.entry(client).or_insert(Unanswered {
            count: 0,
            last: Instant::now(),
        });
        *unanswered = Unanswered {
            count: unanswered.count + 1,
            last: Instant::now(),
        };
        self.forget_old();
        if waiting.request.result.is_none() {
            if self.late.len() == MAX_LATE {
                self.late.pop_front();
            }
            let until = Instant::now() + LATE;
            self.late.push_back(Late {
                request: waiting.request,
                until,
                is_approved: false,
            });
        }
    }
}

impl Waiting {
    fn view(&mut self) -> ApprovalRequest {
        self.is_seen = true;
        ApprovalRequest {
            left_ms: left_ms(self.deadline),
            ..self.request.clone()
        }
    }
}

impl Late {
    fn view(&self) -> ApprovalRequest {
        ApprovalRequest {
            left_ms: left_ms(self.until),
            ..self.request.clone()
        }
    }
}

fn left_ms(until: Instant) -> u32 {
    u32::try_from(until.saturating_duration_since(Instant::now()).as_millis()).unwrap_or(u32::MAX)
}

/// A call's place in the queue.
pub(super) struct Ticket {
    queue: Queue,
    id: CallId,
    deadline: Instant,
    decided: oneshot::Receiver<Decided>,
}

/// What came of waiting.
pub(super) enum Waited {
    Decided(Decided),
    TimedOut,
    /// In time nobody could have decided it.
    NoScreen,
    /// Whoever took it left in the middle of deciding.
    Unfinished,
}

impl Ticket {
    /// Waits for a person.
    pub(super) async fn decided(&mut self) -> Waited {
        let done =
            |decided: Result<Decided, _>| decided.map_or(Waited::Unfinished, Waited::Decided);
        if let Ok(decided) = tokio::time::timeout_at(self.deadline, &mut self.decided).await {
            return done(decided);
        }
        let Some(waiting) = self.queue.lock().waiting.remove(&self.id) else {
            // Somebody has taken it, at the last moment.
            return done((&mut self.decided).await);
        };
        let is_seen = waiting.is_seen || self.queue.events.is_heard();
        self.queue.lock().note_unanswered(waiting);
        self.queue.events.tell(Event::ApprovalEnded {
            id: self.id.clone(),
        });
        if is_seen {
            Waited::TimedOut
        } else {
            Waited::NoScreen
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let removed = self.queue.lock().waiting.remove(&self.id);
        if removed.is_some() {
            self.queue.events.tell(Event::ApprovalEnded {
                id: self.id.clone(),
            });
        }
    }
}
