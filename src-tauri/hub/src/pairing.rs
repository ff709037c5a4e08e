//! The requests of unknown clients to be paired, which wait for a person. The first answer wins.
//!
//! All memory is bounded: the number of waiting requests is limited, and so is the number of
//! requests in a period. Together, these limits also bound the remembered denials.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_model::{
    audit::AuditKind,
    clock,
    event::{Event, Events},
    ids::{ClientName, PairingId},
    pairing::{PairingProgram, PairingRequest},
    random,
};
use drawbridge_store::{Store, secrets::Secret};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

/// How long a request waits for a person.
const TIMEOUT: Duration = Duration::from_secs(300);
const MAX_WAITING: usize = 4;
/// How long a client that was denied cannot ask again.
const DENIAL_PERIOD: Duration = Duration::from_secs(600);
/// The maximum number of requests within [`DENIAL_PERIOD`]. A program that sends another token each
/// time, or closes its connections, cannot ask more often.
const MAX_REQUESTS: usize = 20;

/// The clients that ask to be paired. Cheap to clone.
#[derive(Clone)]
pub struct Pairings {
    store: Store,
    events: Events,
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    /// The requests and the reserved places, oldest first.
    waiting: Vec<Waiting>,
    /// The denied clients: at most [`MAX_REQUESTS`] + [`MAX_WAITING`], because each of them has
    /// asked within the period, or was waiting when the period began.
    denied: Vec<(Asker, Instant)>,
    request_times: VecDeque<Instant>,
}

struct Waiting {
    id: PairingId,
    /// The token that the client sent. It becomes the client's token if the client is paired.
    token: Option<Secret>,
    /// `None` until the program behind the connection is known.
    question: Option<Question>,
}

struct Question {
    asker: Asker,
    request: PairingRequest,
    deadline: Instant,
    answer: oneshot::Sender<PairingAnswer>,
}

/// The client behind a request, so that it is recognized if it asks again.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Asker {
    /// The SHA-256 hash of the token that the client sent.
    Token([u8; 32]),
    /// The executable file of a program that sent no token; `None` if the system does not reveal
    /// it.
    Program(Option<String>),
}

/// A client that asks: the name that it gives itself, its program if the system reveals it, and the
/// facts that the hub adds.
pub struct UnpairedClient {
    pub name: String,
    pub program: Option<PairingProgram>,
    /// The client's own name, with a number if another client has that name.
    pub suggested_name: ClientName,
    /// The revoked client to which the token belonged, if there is one.
    pub revoked_client: Option<ClientName>,
}

/// How a request ended.
pub enum PairingAnswer {
    Approved(PairedClient),
    Denied,
    TimedOut,
    /// A person answered, but the client was not added because of an error.
    Failed,
}

/// A client that was paired.
pub struct PairedClient {
    pub name: ClientName,
    /// The new token; `None` if the client keeps the token that it sent.
    pub token: Option<String>,
    /// The URL at which the client reaches Drawbridge.
    pub url: String,
}

/// Why a client cannot ask to be paired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PairingRefusal {
    #[error("this client already waits to be paired")]
    AlreadyWaiting,
    #[error("the user denied this client less than 10 minutes ago")]
    Denied,
    #[error(
        "too many clients ask to be paired; answer the waiting clients in Drawbridge, or try again in 10 minutes"
    )]
    TooMany,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no client with the id '{0}' waits to be paired; it was answered, timed out or disconnected"
)]
pub struct UnknownPairing(PairingId);

impl Pairings {
    pub fn new(store: Store, events: Events) -> Self {
        Self {
            store,
            events,
            table: Arc::default(),
        }
    }

    /// Returns the requests that wait, oldest first.
    pub fn list(&self) -> Vec<PairingRequest> {
        let table = self.lock();
        let questions = table
            .waiting
            .iter()
            .filter_map(|entry| entry.question.as_ref());
        questions.map(Question::view).collect()
    }

    /// Returns whether no client waits to be paired, and no place is reserved.
    pub fn is_empty(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    /// Reserves a place for a client that is about to ask with [`PairingReservation::ask`]. `token`
    /// is the token that the client sent, if any.
    ///
    /// # Errors
    /// Returns an error if a client with this token already waits or was denied within
    /// the last 10 minutes, or if too many clients ask.
    pub fn reserve(&self, token: Option<&str>) -> Result<PairingReservation, PairingRefusal> {
        let mut table = self.lock();
        table.remove_expired();
        if let Some(token) = token {
            table.check_asker(&Asker::from_token(token))?;
        }
        table.check_count()?;
        let id = PairingId::new(random::id());
        table.waiting.push(Waiting {
            id: id.clone(),
            token: token.map(|token| Secret::new(token.to_owned())),
            question: None,
        });
        Ok(PairingReservation {
            pairings: self.clone(),
            id,
        })
    }

    /// Returns a request that waits.
    ///
    /// # Errors
    /// Returns an error if there is no such request.
    pub(crate) fn find(&self, id: &PairingId) -> Result<PairingRequest, UnknownPairing> {
        let table = self.lock();
        let found = table.waiting.iter().find(|waiting| waiting.id == *id);
        found
            .and_then(|waiting| waiting.question.as_ref())
            .map(Question::view)
            .ok_or_else(|| UnknownPairing(id.clone()))
    }

    /// Takes a request out of the list. From now on only the caller can answer it.
    ///
    /// # Errors
    /// Returns an error if there is no such request.
    pub(crate) fn take_request(&self, id: &PairingId) -> Result<TakenPairing, UnknownPairing> {
        let (token, question) = self
            .lock()
            .remove_question(id)
            .ok_or_else(|| UnknownPairing(id.clone()))?;
        self.publish_end(id);
        Ok(TakenPairing {
            request: question.request,
            token,
            answer: question.answer,
        })
    }

    /// Denies a request. The client cannot ask again within 10 minutes.
    ///
    /// # Errors
    /// Returns an error if there is no such request.
    pub(crate) fn deny(&self, id: &PairingId) -> Result<(), UnknownPairing> {
        let mut table = self.lock();
        let (_, question) = table
            .remove_question(id)
            .ok_or_else(|| UnknownPairing(id.clone()))?;
        table.denied.push((question.asker, Instant::now()));
        drop(table);
        let note = audit_note(&question.request);
        self.store.append_audit(AuditKind::PairingDenied, &note);
        let _ = question.answer.send(PairingAnswer::Denied);
        self.publish_end(id);
        Ok(())
    }

    /// Records that a request was approved, and under which name.
    pub(crate) fn record_approval(&self, request: &PairingRequest, client: &ClientName) {
        let mut note = audit_note(request);
        note["client"] = json!(client);
        self.store.append_audit(AuditKind::PairingApproved, &note);
    }

    fn publish_end(&self, id: &PairingId) {
        self.events.publish(Event::PairingEnded { id: id.clone() });
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the body of an entry in the audit log about a request.
fn audit_note(request: &PairingRequest) -> serde_json::Value {
    json!({
        "name": request.name,
        "has_token": request.has_token,
        "revoked_client": request.revoked_client,
        "program": request.program,
    })
}

impl Table {
    fn remove_expired(&mut self) {
        let is_recent = |at: &Instant| at.elapsed() < DENIAL_PERIOD;
        self.denied.retain(|(_, at)| is_recent(at));
        self.request_times.retain(is_recent);
    }

    fn check_asker(&self, asker: &Asker) -> Result<(), PairingRefusal> {
        let is_waiting = self.waiting.iter().any(|waiting| waiting.is_of(asker));
        if is_waiting {
            return Err(PairingRefusal::AlreadyWaiting);
        }
        if self.denied.iter().any(|(denied, _)| denied == asker) {
            return Err(PairingRefusal::Denied);
        }
        Ok(())
    }

    /// Checks that one more client may ask. A reserved place counts as a request.
    fn check_count(&self) -> Result<(), PairingRefusal> {
        let reserved = self.waiting.iter().filter(|entry| entry.question.is_none());
        let requests = self.request_times.len() + reserved.count();
        if self.waiting.len() >= MAX_WAITING || requests >= MAX_REQUESTS {
            return Err(PairingRefusal::TooMany);
        }
        Ok(())
    }

    fn remove(&mut self, id: &PairingId) -> Option<Waiting> {
        let at = self.waiting.iter().position(|waiting| waiting.id == *id)?;
        Some(self.waiting.remove(at))
    }

    /// Removes a request. A reserved place that has no request yet stays.
    fn remove_question(&mut self, id: &PairingId) -> Option<(Option<Secret>, Question)> {
        let is_asked = |waiting: &Waiting| waiting.id == *id && waiting.question.is_some();
        let at = self.waiting.iter().position(is_asked)?;
        let Waiting {
            token, question, ..
        } = self.waiting.remove(at);
        Some((token, question?))
    }
}

impl Waiting {
    fn is_of(&self, asker: &Asker) -> bool {
        match (&self.question, &self.token) {
            (Some(question), _) => question.asker == *asker,
            (None, Some(token)) => Asker::from_token(token.expose()) == *asker,
            (None, None) => false,
        }
    }
}

impl Question {
    fn view(&self) -> PairingRequest {
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        PairingRequest {
            remaining_ms: u32::try_from(remaining.as_millis()).unwrap_or(u32::MAX),
            ..self.request.clone()
        }
    }
}

impl Asker {
    fn from_token(token: &str) -> Self {
        Self::Token(Sha256::digest(token.as_bytes()).into())
    }
}

/// A place among the clients that wait. Dropping it frees the place.
pub struct PairingReservation {
    pairings: Pairings,
    id: PairingId,
}

impl PairingReservation {
    /// Asks a person whether the client may be paired.
    ///
    /// # Errors
    /// Returns an error if the client sent no token, and a client of the same program already waits
    /// or was denied within the last 10 minutes.
    pub fn ask(self, client: UnpairedClient) -> Result<PairingTicket, PairingRefusal> {
        let UnpairedClient {
            name,
            program,
            suggested_name,
            revoked_client,
        } = client;
        let deadline = Instant::now() + TIMEOUT;
        let (sender, answer) = oneshot::channel();
        let mut table = self.pairings.lock();
        let table_ref = &mut *table;
        let at = table_ref
            .waiting
            .iter()
            .position(|entry| entry.id == self.id);
        let at = at.expect("until a request is made, only this reservation frees its place");
        let token = table_ref.waiting[at].token.as_ref();
        let has_token = token.is_some();
        let asker = match token {
            Some(token) => Asker::from_token(token.expose()),
            None => {
                let asker =
                    Asker::Program(program.as_ref().map(|program| program.executable.clone()));
                table_ref.check_asker(&asker)?;
                asker
            }
        };
        let request = PairingRequest {
            id: self.id.clone(),
            name,
            suggested_name,
            has_token,
            revoked_client,
            program,
            asked_at: clock::now(),
            remaining_ms: u32::try_from(TIMEOUT.as_millis()).unwrap_or(u32::MAX),
        };
        table_ref.waiting[at].question = Some(Question {
            asker,
            request: request.clone(),
            deadline,
            answer: sender,
        });
        table_ref.request_times.push_back(Instant::now());
        drop(table);
        let note = audit_note(&request);
        let pairings = &self.pairings;
        pairings
            .store
            .append_audit(AuditKind::PairingRequested, &note);
        pairings.events.publish(Event::PairingRequested {
            request: Box::new(request),
        });
        Ok(PairingTicket {
            answer,
            deadline,
            _reservation: self,
        })
    }
}

impl Drop for PairingReservation {
    fn drop(&mut self) {
        let removed = self.pairings.lock().remove(&self.id);
        if removed.is_some_and(|waiting| waiting.question.is_some()) {
            self.pairings.publish_end(&self.id);
        }
    }
}

/// A request that waits for a person. Dropping it withdraws the request.
pub struct PairingTicket {
    answer: oneshot::Receiver<PairingAnswer>,
    deadline: Instant,
    _reservation: PairingReservation,
}

impl PairingTicket {
    /// Waits for the answer.
    pub async fn wait(mut self) -> PairingAnswer {
        match timeout_at(self.deadline, &mut self.answer).await {
            Ok(answer) => answer.unwrap_or(PairingAnswer::Failed),
            // After `close`, no answer can be given. An answer that was just given still counts.
            Err(_) => {
                self.answer.close();
                self.answer.try_recv().unwrap_or(PairingAnswer::TimedOut)
            }
        }
    }
}

/// A request that was taken out of the list. If it is dropped without an answer, the client learns
/// that pairing has failed.
pub(crate) struct TakenPairing {
    pub(crate) request: PairingRequest,
    pub(crate) token: Option<Secret>,
    answer: oneshot::Sender<PairingAnswer>,
}

impl TakenPairing {
    /// Tells the client that it was paired. Returns whether the client was still waiting.
    pub(crate) fn approve(self, client: PairedClient) -> bool {
        self.answer.send(PairingAnswer::Approved(client)).is_ok()
    }
}

#[cfg(test)]
mod tests;
