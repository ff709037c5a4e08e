//! Input required: requests of modern clients to which a legacy server has a question.
//!
//! A modern client cannot receive requests. Its request is answered with `input_required`, and the
//! client retries with the answers. Meanwhile the server works on the first request and must not
//! get it twice. So that request waits here, and the retry finds it by its state.
//!
//! A waiting request continues in a task of its own. If the server answers without the client, or
//! withdraws its question, the request ends at the server and in the records, and only its reply is
//! kept for the client.

use std::{
    collections::HashMap,
    future::ready,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::{
    sync::{mpsc, oneshot},
    time::sleep,
};

use super::{Ask, Back, ClientSession};
use crate::{
    model::{
        digest,
        ids::ClientName,
        json::{self, RawObject},
        rpc::{Reply, RpcError, code},
    },
    protocol::{
        LogLevel,
        input::{self, RetryInput},
        translate,
    },
    random,
};

/// How long a request waits for its client.
const PATIENCE: Duration = Duration::from_secs(300);
/// Requests of one client that may wait.
const MAX_PER_CLIENT: usize = 64;
/// Bytes of replies that are kept for one client. If there are more, the oldest replies are dropped
/// with their requests.
const MAX_KEPT: usize = 32 * 1024 * 1024;
/// The prefix of the states that Drawbridge issues. Other states belong to the servers.
const OURS: &str = "drawbridge:";

/// The waiting requests. Cheap to clone.
#[derive(Clone, Default)]
pub struct Rounds(Arc<Mutex<HashMap<String, Parked>>>);

/// A request of a modern client, or its retry.
pub struct Try {
    pub session: Arc<ClientSession>,
    pub stream: mpsc::Sender<Bytes>,
    pub log_level: Option<LogLevel>,
    pub method: String,
    pub params: Box<RawValue>,
}

type Running = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// A request whose answer is in progress.
struct Waiting {
    client: ClientName,
    /// Identifies the request: its state must not be used for another one.
    digest: String,
    back: Back,
    running: Running,
    /// Whether the reply has arrived. `running` is ready then.
    has_reply: bool,
    asked: mpsc::Receiver<Ask>,
    /// The questions that the client has received and not answered, by key.
    open: Vec<(String, Ask)>,
    keys: u32,
}

/// A request that waits for its client's retry. A task runs it in the meantime.
struct Parked {
    client: ClientName,
    digest: String,
    /// Asks the task to hand the request over. If this sender is dropped, the task ends the
    /// request.
    take: oneshot::Sender<oneshot::Sender<Waiting>>,
    /// The size of the reply in bytes, or 0 until there is one.
    kept: usize,
    /// The position of the reply in the order in which replies arrived.
    replied: u64,
}

/// The map entry of a parked request. Dropping this value, at the end of the task, removes the
/// entry.
struct Place {
    rounds: Rounds,
    state: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.rounds.lock().remove(&self.state);
    }
}

impl Rounds {
    /// Answers a request: starts it with `begin`, or continues the one that waits for these
    /// answers.
    ///
    /// # Errors
    /// Returns an error if the request itself fails, or (`-32602`) if the state is unknown or
    /// belongs to another request.
    pub async fn play<F>(
        &self,
        attempt: Try,
        begin: impl FnOnce(Back, String, Box<RawValue>) -> F,
    ) -> Reply
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let waiting = match self.find(&attempt).await? {
            Some(waiting) => waiting,
            None => {
                let Try {
                    session,
                    stream,
                    log_level,
                    method,
                    params,
                } = attempt;
                let (client, digest) = (session.client.clone(), digest_of(&method, &params)?);
                let (back, asked) = Back::stateless(session, stream, log_level);
                let running: Running = Box::pin(begin(back.clone(), method, params));
                Waiting {
                    client,
                    digest,
                    back,
                    running,
                    has_reply: false,
                    asked,
                    open: Vec::new(),
                    keys: 0,
                }
            }
        };
        self.go_on(waiting).await
    }

    /// Returns the waiting request that this attempt continues, after delivering the answers to it.
    /// Returns `None` if the attempt starts a new request.
    async fn find(&self, attempt: &Try) -> Result<Option<Waiting>, RpcError> {
        if !translate::supports_input_required(&attempt.method)
            || !json::mentions(&attempt.params, OURS)
        {
            return Ok(None);
        }
        let mut params = RawObject::parse(&attempt.params)
            .map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("params: {e}")))?;
        let RetryInput { state, mut answers } = RetryInput::take_from(&mut params)?;
        let Some(state) = state.filter(|state| state.starts_with(OURS)) else {
            return Ok(None);
        };
        let digest = digest_of(&attempt.method, &attempt.params)?;
        let mut waiting = self
            .take_back(&state, &attempt.session.client, &digest)
            .await?;
        waiting
            .back
            .go_on(attempt.stream.clone(), progress_token(&params));
        for (key, ask) in std::mem::take(&mut waiting.open) {
            match answers.remove(&key) {
                Some(answer) => drop(ask.answer.send(Ok(answer.into()))),
                None => waiting.open.push((key, ask)),
            }
        }
        Ok(Some(waiting))
    }

    /// Takes a parked request over from its task.
    ///
    /// # Errors
    /// Returns an error (`-32602`) if no request of the client waits under that state, or if the
    /// state belongs to another request.
    async fn take_back(
        &self,
        state: &str,
        client: &ClientName,
        digest: &str,
    ) -> Result<Waiting, RpcError> {
        let refused =
            |why: &str| RpcError::new(code::INVALID_PARAMS, format!("params.requestState: {why}"));
        let unknown = || refused("no request waits for it any more; begin anew without it");
        let (hand_over, handed_over) = oneshot::channel();
        let parked = {
            let mut all = self.lock();
            let parked = all
                .get(state)
                .filter(|parked| parked.client == *client)
                .ok_or_else(unknown)?;
            if parked.digest != digest {
                return Err(refused("it belongs to another request"));
            }
            all.remove(state).ok_or_else(unknown)?
        };
        parked.take.send(hand_over).map_err(|_| unknown())?;
        handed_over.await.map_err(|_| unknown())
    }

    /// Runs a request until it is answered, or until the client has to answer a question.
    async fn go_on(&self, mut waiting: Waiting) -> Reply {
        loop {
            while let Ok(ask) = waiting.asked.try_recv() {
                waiting.ask(ask);
            }
            waiting.drop_withdrawn();
            if !waiting.open.is_empty() && !waiting.has_reply {
                break;
            }
            tokio::select! {
                biased;
                reply = &mut waiting.running => return reply,
                Some(ask) = waiting.asked.recv() => waiting.ask(ask),
            }
        }
        let state = format!("{OURS}{}", random::token());
        let required = input::input_required_result(
            waiting
                .open
                .iter()
                .map(|(key, ask)| (key.as_str(), &ask.request)),
            Some(&state),
        );
        self.park(state, waiting)?;
        Ok(required.into())
    }

    fn park(&self, state: String, waiting: Waiting) -> Result<(), RpcError> {
        let (take, taken) = oneshot::channel();
        let (client, digest) = (waiting.client.clone(), waiting.digest.clone());
        let mut all = self.lock();
        if all.values().filter(|other| other.client == client).count() >= MAX_PER_CLIENT {
            return Err(RpcError::new(
                code::INTERNAL_ERROR,
                "too many requests wait for this client's answers",
            ));
        }
        all.insert(
            state.clone(),
            Parked {
                client,
                digest,
                take,
                kept: 0,
                replied: 0,
            },
        );
        drop(all);
        tokio::spawn(keep(
            waiting,
            taken,
            Place {
                rounds: self.clone(),
                state,
            },
        ));
        Ok(())
    }

    /// Records the size of a parked request's reply. If the client's replies take too many bytes,
    /// drops its oldest requests with a reply.
    fn note_reply(&self, state: &str, length: usize) {
        let mut all = self.lock();
        let replied = all.values().map(|parked| parked.replied).max().unwrap_or(0) + 1;
        let Some(parked) = all.get_mut(state) else {
            return;
        };
        (parked.kept, parked.replied) = (length, replied);
        let client = parked.client.clone();
        let mut of_client: Vec<_> = all
            .iter()
            .filter(|(_, parked)| parked.client == client && parked.kept > 0)
            .collect();
        of_client.sort_by_key(|(_, parked)| parked.replied);
        let mut kept: usize = of_client.iter().map(|(_, parked)| parked.kept).sum();
        let mut oldest = Vec::new();
        for (state, parked) in of_client {
            if kept <= MAX_KEPT {
                break;
            }
            kept -= parked.kept;
            oldest.push(state.clone());
        }
        oldest.iter().for_each(|state| drop(all.remove(state)));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Parked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn ask(&mut self, ask: Ask) {
        self.keys += 1;
        self.open.push((format!("input-{}", self.keys), ask));
    }

    /// Drops the questions that their server has withdrawn: nobody waits for the answers.
    fn drop_withdrawn(&mut self) {
        self.open.retain(|(_, ask)| !ask.answer.is_closed());
    }
}

/// Runs a parked request until its client takes it back. Ends the request if the client does not
/// return in time, or if its session ends.
async fn keep(
    mut waiting: Waiting,
    mut taken: oneshot::Receiver<oneshot::Sender<Waiting>>,
    place: Place,
) {
    let session = waiting.back.session().clone();
    let mut patience = pin!(sleep(PATIENCE));
    loop {
        tokio::select! {
            biased;
            taker = &mut taken => {
                if let Ok(taker) = taker {
                    let _ = taker.send(waiting);
                }
                return;
            }
            () = session.ended.cancelled() => return,
            () = &mut patience => return,
            reply = &mut waiting.running, if !waiting.has_reply => {
                place.rounds.note_reply(&place.state, length(&reply));
                waiting.has_reply = true;
                waiting.running = Box::pin(ready(reply));
            }
        }
    }
}

/// Returns the number of bytes that a stored reply takes.
fn length(reply: &Reply) -> usize {
    match reply {
        Ok(result) => result.get().len(),
        Err(error) => {
            let more = error
                .other_members
                .iter()
                .map(|(key, value)| key.len() + value.get().len());
            error.message.len()
                + error.data.as_ref().map_or(0, |data| data.get().len())
                + more.sum::<usize>()
        }
    }
}

/// Returns a digest that is the same for a request and its retries.
fn digest_of(method: &str, params: &RawValue) -> Result<String, RpcError> {
    let mut params = RawObject::parse(params)
        .map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("params: {e}")))?;
    ["requestState", "inputResponses", "_meta"]
        .into_iter()
        .for_each(|member| params.remove(member));
    Ok(digest::sha256_parts(&[
        method.as_bytes(),
        params.to_raw().get().as_bytes(),
    ]))
}

fn progress_token(params: &RawObject<'_>) -> Option<Box<RawValue>> {
    let meta = params.get("_meta")?.to_owned();
    RawObject::parse(&meta)
        .ok()?
        .get("progressToken")
        .map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests;
