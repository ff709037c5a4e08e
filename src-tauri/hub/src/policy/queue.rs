//! The queue of approvals: calls, other requests and held results that wait for a person. The first
//! decision wins.
//!
//! A call that nobody decides in time is denied and remembered for a while. If a person approves it
//! later, an identical retry is allowed; the approval itself runs no call.
//!
//! If several requests of a client in a row are missed, the client is muted: its requests that need
//! a decision are refused for a while, unless a person decides another request or unmutes the
//! client.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_model::{
    approval::{ApprovalRequest, ClientMute, Verdict},
    call::Call,
    clock,
    event::{Event, Events},
    ids::{CallId, ClientName, Timestamp},
    spec::RegisteredServer,
};
use tokio::{sync::oneshot, time::Instant};

use super::{
    deadline::Deadline,
    guarded_request::GuardedRequest,
    permitted::Permitted,
    queue_limits::{MAX_MISSED_IN_A_ROW, MAX_PER_CLIENT, NotQueued},
    record::PendingRecord,
    refusal::Refusal,
};
use crate::catalog::CatalogEntry;

/// How long a missed call is remembered for an identical retry.
const MISSED_TTL: Duration = Duration::from_secs(120);
const MAX_MISSED: usize = 100;
/// How long a client is muted.
const MUTE: Duration = Duration::from_secs(60);

/// The queue of approvals. Cheap to clone.
#[derive(Clone)]
pub struct Queue {
    events: Events,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    pending: HashMap<CallId, PendingApproval>,
    /// The missed calls, oldest first.
    missed: VecDeque<Missed>,
    missed_streaks: HashMap<ClientName, MissedStreak>,
}

/// An entry of the queue.
struct PendingApproval {
    request: ApprovalRequest,
    target: RequestTarget,
    deadline: Deadline,
    /// Whether a person could have decided the call: a front end received the event or read the
    /// queue.
    is_seen: bool,
    subject: Subject,
}

/// The server that a pending request names, and the tool, prompt or resource.
#[derive(Clone)]
pub(super) struct RequestTarget {
    pub(super) server: Arc<RegisteredServer>,
    pub(super) entry: Option<Arc<CatalogEntry>>,
}

/// The subject of a decision: a request, or the result of a request.
pub(crate) enum Subject {
    Request(Box<PendingRequest>),
    /// The result of a request that was sent.
    Result {
        call: Box<Call>,
        verdict: oneshot::Sender<Verdict>,
    },
}

/// A request that is not decided yet. If it is dropped, it is recorded as abandoned.
pub(crate) struct PendingRequest {
    pub(super) request: GuardedRequest,
    pub(super) record: PendingRecord,
    /// Continues the client's request with the permitted call, or with the refusal.
    pub(super) answer: oneshot::Sender<Result<Permitted, Refusal>>,
}

/// A copy of a pending request, and its target.
pub(super) struct PendingApprovalView {
    pub(super) request: ApprovalRequest,
    pub(super) target: RequestTarget,
}

/// A missed call: nobody decided it in time.
struct Missed {
    request: ApprovalRequest,
    until: Instant,
    is_approved: bool,
}

/// The consecutive approval requests of a client that were missed.
#[derive(Clone, Copy, Default)]
struct MissedStreak {
    count: u32,
    /// The last mute, which may be over.
    mute: Option<Mute>,
}

/// A period in which a client's requests that need a decision of a person are refused.
#[derive(Clone, Copy)]
struct Mute {
    until: Timestamp,
    /// The same moment, from which the remaining time is computed.
    deadline: Deadline,
}

/// The reason why a request cannot be decided, or a retry cannot be allowed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    #[error(
        "no call with the id '{0}' is waiting; it may have been decided or missed, or its client disconnected"
    )]
    Gone(CallId),
    #[error(
        "no missed call with the id '{0}' is remembered; it may have expired, or its client may have retried it already"
    )]
    NotRemembered(CallId),
    #[error("the call '{0}' has changed since it was shown; check it again")]
    Changed(CallId),
}

/// A request that was taken out of the queue. Only its holder can decide it.
pub(crate) struct TakenRequest {
    pub(super) request: ApprovalRequest,
    pub(super) subject: Subject,
}

impl Queue {
    pub fn new(events: Events) -> Self {
        Self {
            events,
            inner: Arc::default(),
        }
    }

    /// Returns the number of requests that wait. Does not mark them as seen.
    pub fn count(&self) -> usize {
        self.lock().pending.len()
    }

    /// Returns whether no request waits. Does not mark the requests as seen, unlike [`Self::list`].
    pub fn is_empty(&self) -> bool {
        self.lock().pending.is_empty()
    }

    /// Returns the pending requests, oldest first. Marks them as seen.
    pub fn list(&self) -> Vec<ApprovalRequest> {
        let mut requests: Vec<_> = self
            .lock()
            .pending
            .values_mut()
            .map(PendingApproval::view)
            .collect();
        requests.sort_by(|a, b| (a.asked_at, &a.id).cmp(&(b.asked_at, &b.id)));
        requests
    }

    /// Returns a pending request, or `None` if the request no longer waits. Marks the request as
    /// seen.
    pub fn get(&self, id: &CallId) -> Option<ApprovalRequest> {
        self.lock().pending.get_mut(id).map(PendingApproval::view)
    }

    /// Returns a pending request with its target. Marks the request as seen.
    ///
    /// # Errors
    /// Returns an error if the request no longer waits.
    pub(super) fn view(&self, id: &CallId) -> Result<PendingApprovalView, QueueError> {
        let mut inner = self.lock();
        let pending = inner.pending.get_mut(id);
        let pending = pending.ok_or_else(|| QueueError::Gone(id.clone()))?;
        Ok(PendingApprovalView {
            request: pending.view(),
            target: pending.target.clone(),
        })
    }

    /// Returns the missed calls for which an identical retry can still be allowed, oldest first.
    pub fn list_missed(&self) -> Vec<ApprovalRequest> {
        let mut inner = self.lock();
        inner.remove_expired();
        inner
            .missed
            .iter()
            .filter(|missed| !missed.is_approved)
            .map(Missed::view)
            .collect()
    }

    /// Allows an identical retry of a missed call. Returns the number of whole seconds for which
    /// the retry is allowed.
    ///
    /// # Errors
    /// Returns an error if the call is no longer remembered, or differs from the call that was
    /// shown.
    pub fn allow_retry(&self, id: &CallId, digest: &str) -> Result<u64, QueueError> {
        let mut inner = self.lock();
        inner.remove_expired();
        let missed = inner
            .missed
            .iter_mut()
            .find(|missed| missed.request.id == *id);
        let missed = missed.ok_or_else(|| QueueError::NotRemembered(id.clone()))?;
        if missed.request.digest != digest {
            return Err(QueueError::Changed(id.clone()));
        }
        missed.is_approved = true;
        let remaining = missed
            .until
            .saturating_duration_since(Instant::now())
            .as_secs();
        drop(inner);
        self.events.publish(Event::ApprovalEnded { id: id.clone() });
        Ok(remaining)
    }

    /// Removes the missed call with this digest, so that an approval allows one retry. Returns
    /// whether a person has approved a retry of the call.
    pub(super) fn take_approved_retry(&self, digest: &str) -> bool {
        let mut inner = self.lock();
        inner.remove_expired();
        let Some(at) = inner
            .missed
            .iter()
            .position(|missed| missed.request.digest == digest)
        else {
            return false;
        };
        inner
            .missed
            .remove(at)
            .is_some_and(|missed| missed.is_approved)
    }

    /// Returns the mute of a client, or `None` if the client is not muted.
    pub fn find_mute(&self, client: &ClientName) -> Option<ClientMute> {
        self.lock().missed_streaks.get(client)?.view_mute()
    }

    /// Unmutes a client, and counts its missed requests from zero again. Returns whether the
    /// client was muted.
    pub fn unmute(&self, client: &ClientName) -> bool {
        let streak = self.lock().missed_streaks.remove(client);
        let is_muted = streak.is_some_and(|streak| streak.view_mute().is_some());
        if is_muted {
            self.events.publish(Event::ClientUnmuted {
                client: client.clone(),
            });
        }
        is_muted
    }

    /// Takes a request out of the queue. From now on only the caller can decide the request. Also
    /// unmutes all clients.
    ///
    /// # Errors
    /// Returns an error if the request no longer waits, or differs from the request that was shown.
    pub(crate) fn take_request(
        &self,
        id: &CallId,
        digest: &str,
    ) -> Result<TakenRequest, QueueError> {
        let mut inner = self.lock();
        let Entry::Occupied(found) = inner.pending.entry(id.clone()) else {
            return Err(QueueError::Gone(id.clone()));
        };
        if found.get().request.digest != digest {
            return Err(QueueError::Changed(id.clone()));
        }
        let taken = found.remove();
        // A person is present, so the counts of missed requests start again.
        let streaks = std::mem::take(&mut inner.missed_streaks);
        drop(inner);
        self.events.publish(Event::ApprovalEnded { id: id.clone() });
        for (client, streak) in streaks {
            if streak.view_mute().is_some() {
                self.events.publish(Event::ClientUnmuted { client });
            }
        }
        Ok(TakenRequest {
            request: taken.request,
            subject: taken.subject,
        })
    }

    /// Adds a request to the queue. The request leaves the queue when a person decides it, or when
    /// its ticket expires, is withdrawn or is dropped.
    ///
    /// # Errors
    /// Returns an error, and the subject, if too many requests of the client wait, or if the client
    /// is muted.
    pub(super) fn enqueue(
        &self,
        request: ApprovalRequest,
        target: RequestTarget,
        timeout: Duration,
        subject: Subject,
    ) -> Result<Ticket, (NotQueued, Subject)> {
        let id = request.id.clone();
        let mut inner = self.lock();
        if let Err(reason) = inner.check_limits(&request.client) {
            return Err((reason, subject));
        }
        let deadline = Deadline::after(timeout);
        let is_seen = self.events.has_subscribers();
        let pending = PendingApproval {
            request: request.clone(),
            target,
            deadline,
            is_seen,
            subject,
        };
        inner.pending.insert(id.clone(), pending);
        drop(inner);
        self.events.publish(Event::ApprovalRequested {
            request: Box::new(request),
        });
        Ok(Ticket {
            queue: self.clone(),
            id,
            deadline,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn check_limits(&self, client: &ClientName) -> Result<(), NotQueued> {
        if self
            .pending
            .values()
            .filter(|other| other.request.client == *client)
            .count()
            >= MAX_PER_CLIENT
        {
            return Err(NotQueued::QueueFull(client.clone()));
        }
        let mute = self
            .missed_streaks
            .get(client)
            .and_then(MissedStreak::view_mute);
        match mute {
            Some(mute) => Err(NotQueued::Muted {
                client: client.clone(),
                seconds: u64::from(mute.remaining_ms).div_ceil(1000),
            }),
            None => Ok(()),
        }
    }

    fn remove_expired(&mut self) {
        let now = Instant::now();
        self.missed.retain(|missed| now < missed.until);
    }

    /// Records a missed request. Returns the mute of its client if this request causes one.
    fn record_missed(&mut self, request: ApprovalRequest) -> Option<ClientMute> {
        let client = request.client.clone();
        let mute = self
            .missed_streaks
            .entry(client)
            .or_default()
            .count_missed();
        self.remove_expired();
        // A held result and a request for input cannot be retried: the result is gone, and the
        // server has got its answer.
        if request.result.is_none() && !request.is_filled_in_by_person {
            if self.missed.len() == MAX_MISSED {
                self.missed.pop_front();
            }
            let until = Instant::now() + MISSED_TTL;
            self.missed.push_back(Missed {
                request,
                until,
                is_approved: false,
            });
        }
        mute
    }
}

impl MissedStreak {
    /// Counts a missed request. Returns the mute if this request causes one. A mute does not get
    /// longer if requests that were queued before the mute are missed too.
    fn count_missed(&mut self) -> Option<ClientMute> {
        self.count = self.count.saturating_add(1);
        if self.count < MAX_MISSED_IN_A_ROW || self.view_mute().is_some() {
            return None;
        }
        self.mute = Some(Mute {
            until: Timestamp(clock::now().0 + i64::from(to_ms(MUTE))),
            deadline: Deadline::after(MUTE),
        });
        self.view_mute()
    }

    /// Returns the mute, or `None` if no mute is in force.
    fn view_mute(&self) -> Option<ClientMute> {
        let mute = self.mute?;
        let remaining = mute.deadline.remaining();
        (!remaining.is_zero()).then(|| ClientMute {
            until: mute.until,
            remaining_ms: to_ms(remaining),
        })
    }
}

impl PendingApproval {
    fn view(&mut self) -> ApprovalRequest {
        self.is_seen = true;
        ApprovalRequest {
            remaining_ms: to_ms(self.deadline.remaining()),
            ..self.request.clone()
        }
    }
}

impl Missed {
    fn view(&self) -> ApprovalRequest {
        ApprovalRequest {
            remaining_ms: to_ms(self.until.saturating_duration_since(Instant::now())),
            ..self.request.clone()
        }
    }
}

fn to_ms(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// A request's place in the queue. Dropping the ticket removes the request from the queue.
pub(super) struct Ticket {
    queue: Queue,
    id: CallId,
    pub(super) deadline: Deadline,
}

/// A request that left the queue because nobody decided it in time.
pub(super) struct MissedRequest {
    pub(super) subject: Subject,
    /// Whether a front end could show the request before the deadline.
    pub(super) is_seen: bool,
}

impl Ticket {
    /// Takes the request out of the queue after its deadline. Returns `None` if a person has taken
    /// it.
    pub(super) fn expire(&self) -> Option<MissedRequest> {
        let mut inner = self.queue.lock();
        let pending = inner.pending.remove(&self.id)?;
        let client = pending.request.client.clone();
        let mute = inner.record_missed(pending.request);
        drop(inner);
        let is_seen = pending.is_seen || self.queue.events.has_subscribers();
        self.publish_end();
        if let Some(mute) = mute {
            self.queue
                .events
                .publish(Event::ClientMuted { client, mute });
        }
        Some(MissedRequest {
            subject: pending.subject,
            is_seen,
        })
    }

    /// Takes the request out of the queue without a decision. Returns `None` if a person has taken
    /// it.
    pub(super) fn withdraw(&self) -> Option<Subject> {
        let pending = self.queue.lock().pending.remove(&self.id)?;
        self.publish_end();
        Some(pending.subject)
    }

    fn publish_end(&self) {
        self.queue.events.publish(Event::ApprovalEnded {
            id: self.id.clone(),
        });
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        drop(self.withdraw());
    }
}
