//! Requests of clients without sessions that a server with sessions has a question about.
//!
//! Such a client cannot be asked: its request is answered with what is needed (`input_required`), and it asks again
//! with the answers. Meanwhile the server works on the first request and must not be asked twice. So that request
//! waits here, found again by the state that the client sends along.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

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
        input::{self, Retry},
        translate,
    },
    random,
};

/// How long a request waits for its client.
const PATIENCE: Duration = Duration::from_secs(300);
/// Requests of one client that may wait.
const MAX_PER_CLIENT: usize = 64;
/// What the states given out by Drawbridge begin with; others are the servers' own.
const OURS: &str = "drawbridge:";

/// The requests that wait. Cheap to clone.
#[derive(Clone, Default)]
pub struct Rounds(Arc<Mutex<HashMap<String, Waiting>>>);

/// One try of a client at a request.
pub struct Try {
    pub session: Arc<ClientSession>,
    pub stream: mpsc::Sender<Bytes>,
    pub log_level: Option<LogLevel>,
    pub method: String,
    pub params: Box<RawValue>,
}

type Running = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// A request on its way.
struct Waiting {
    client: ClientName,
    /// Which request it is: a state must not be used for another one.
    digest: String,
    back: Back,
    running: Running,
    asked: mpsc::Receiver<Ask>,
    /// What the client was asked and has not answered, by key.
    open: Vec<(String, Ask)>,
    keys: u32,
}

impl Rounds {
    /// Answers a try: begins the request with `begin`, or goes on with the one that waits for these answers.
    ///
    /// # Errors
    /// The request's own, and `-32602` for a state that belongs to no request, or to another one.
    pub async fn play<F>(&self, attempt: Try, begin: impl FnOnce(Back, String, Box<RawValue>) -> F) -> Reply
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let waiting = match self.find(&attempt)? {
            Some(waiting) => waiting,
            None => {
                let Try { session, stream, log_level, method, params } = attempt;
                let (client, digest) = (session.client.clone(), digest_of(&method, &params)?);
                let (back, asked) = Back::stateless(session, stream, log_level);
                let running: Running = Box::pin(begin(back.clone(), method, params));
                Waiting { client, digest, back, running, asked, open: Vec::new(), keys: 0 }
            }
        };
        self.go_on(waiting).await
    }

    /// The request that an attempt goes on with, given its answers; none where it begins a new one.
    fn find(&self, attempt: &Try) -> Result<Option<Waiting>, RpcError> {
        if !translate::may_ask(&attempt.method) || !json::mentions(&attempt.params, OURS) {
            return Ok(None);
        }
        let mut params = RawObject::parse(&attempt.params)
            .map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("params: {e}")))?;
        let Retry { state, mut answers } = Retry::take(&mut params)?;
        let Some(state) = state.filter(|state| state.starts_with(OURS)) else { return Ok(None) };
        let unknown = |why: &str| RpcError::new(code::INVALID_PARAMS, format!("params.requestState: {why}"));
        let mut all = self.lock();
        let waiting = all.get(&state).filter(|waiting| waiting.client == attempt.session.client);
        let waiting = waiting.ok_or_else(|| unknown("no request waits for it any more; begin anew without it"))?;
        if waiting.digest != digest_of(&attempt.method, &attempt.params)? {
            return Err(unknown("it belongs to another request"));
        }
        let Some(mut waiting) = all.remove(&state) else { return Ok(None) };
        drop(all);
        waiting.back.go_on(attempt.stream.clone(), progress_token(&params));
        for (key, ask) in std::mem::take(&mut waiting.open) {
            match answers.remove(&key) {
                Some(answer) => drop(ask.answer.send(Ok(answer.into()))),
                None => waiting.open.push((key, ask)),
            }
        }
        Ok(Some(waiting))
    }

    /// Runs a request until it is answered, or until its client has to answer something.
    async fn go_on(&self, mut waiting: Waiting) -> Reply {
        if waiting.open.is_empty() {
            tokio::select! {
                biased;
                reply = &mut waiting.running => return reply,
                Some(ask) = waiting.asked.recv() => waiting.ask(ask),
            }
        }
        while let Ok(ask) = waiting.asked.try_recv() {
            waiting.ask(ask);
        }
        let state = format!("{OURS}{}", random::token());
        let required =
            input::required(waiting.open.iter().map(|(key, ask)| (key.as_str(), &ask.request)), Some(&state));
        self.park(state, waiting)?;
        Ok(required.into())
    }

    fn park(&self, state: String, waiting: Waiting) -> Result<(), RpcError> {
        let mut all = self.lock();
        if all.values().filter(|other| other.client == waiting.client).count() >= MAX_PER_CLIENT {
            return Err(RpcError::new(code::INTERNAL_ERROR, "too many requests wait for this client's answers"));
        }
        all.insert(state.clone(), waiting);
        drop(all);
        let rounds = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            rounds.lock().remove(&state);
        });
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn ask(&mut self, ask: Ask) {
        self.keys += 1;
        self.open.push((format!("input-{}", self.keys), ask));
    }
}

/// What a request is, whichever try it is.
fn digest_of(method: &str, params: &RawValue) -> Result<String, RpcError> {
    let mut params =
        RawObject::parse(params).map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("params: {e}")))?;
    ["requestState", "inputResponses", "_meta"].into_iter().for_each(|member| params.remove(member));
    Ok(digest::sha256_of(&[method.as_bytes(), params.to_raw().get().as_bytes()]))
}

fn progress_token(params: &RawObject<'_>) -> Option<Box<RawValue>> {
    let meta = params.get("_meta")?.to_owned();
    RawObject::parse(&meta).ok()?.get("progressToken").map(ToOwned::to_owned)
}
