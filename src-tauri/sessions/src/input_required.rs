//! Input required: requests of modern clients during which a legacy server asks the client a
//! question.
//!
//! A modern client cannot receive requests. Drawbridge answers its request with `input_required`,
//! and the client retries the request with the answers. The legacy server still works on the first
//! request and must not get it twice. The first request is therefore parked here, and the retry
//! finds it by the `requestState` that Drawbridge issued.
//!
//! A parked request continues in a task of its own. If the server answers it without the client's
//! answers, the request has ended at the server and in the records. Only its response is kept for
//! the client.

use drawbridge_model::{
    digest,
    ids::ClientName,
    protocol::{
        LogLevel, ProgressToken,
        input::{self, RetryInput},
        translate,
    },
    random,
};
use std::{
    collections::HashMap,
    future::ready,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_jsonrpc::{
    json::{self, RawObject},
    rpc::{RpcError, RpcResult, code},
};
use serde_json::value::RawValue;
use tokio::{
    sync::{mpsc, oneshot},
    time::sleep,
};

use super::{ClientHandle, ClientSession, MessageSender, PendingQuestion, RequestPermit};

/// How long a parked request waits for its client's retry.
const RETRY_TIMEOUT: Duration = Duration::from_secs(300);
/// The maximum number of parked requests of one client.
const MAX_PER_CLIENT: usize = 64;
/// The most bytes of responses that are kept for one client. If there are more, the oldest
/// responses are dropped with their requests.
const MAX_RESPONSE_BYTES: usize = 32 * 1024 * 1024;
/// The prefix of the states that Drawbridge issues. Other states belong to the servers.
const STATE_PREFIX: &str = "drawbridge:";

/// The parked requests, by the state that Drawbridge issued for each. Cheap to clone.
#[derive(Clone, Default)]
pub struct ParkedRequests(Arc<Mutex<HashMap<String, ParkedRequest>>>);

/// A request of a modern client, or its retry.
pub struct StatelessRequest {
    pub session: Arc<ClientSession>,
    pub stream: MessageSender,
    pub permit: RequestPermit,
    pub log_level: Option<LogLevel>,
    pub method: String,
    pub params: Box<RawValue>,
}

type ResponseFuture = Pin<Box<dyn Future<Output = RpcResult> + Send>>;

/// A request that runs, and the questions to its client.
struct ActiveRequest {
    client: ClientName,
    method: String,
    params: Box<RawValue>,
    handle: ClientHandle,
    response: ResponseFuture,
    /// Whether the response arrived while the request was parked. `response` then resolves at once.
    has_response: bool,
    questions: mpsc::Receiver<PendingQuestion>,
    /// The questions that the client has not answered, each with its key.
    unanswered: Vec<(String, PendingQuestion)>,
    last_key: u32,
    _permit: RequestPermit,
}

/// A request that waits for its client's retry. A task runs it in the meantime.
struct ParkedRequest {
    client: ClientName,
    /// Identifies the request, so that its state cannot be used for another request.
    digest: String,
    /// Asks the task to hand the request over. If this sender is dropped, the task ends the
    /// request.
    hand_over: oneshot::Sender<oneshot::Sender<ActiveRequest>>,
    /// The size of the response in bytes, or 0 until there is one.
    response_bytes: usize,
    /// The position of the response in the order in which responses arrived, or 0 until there is
    /// one.
    response_number: u64,
}

/// The map entry of a parked request. Dropping this value, at the end of the task, removes the
/// entry.
struct ParkedGuard {
    parked_requests: ParkedRequests,
    state: String,
}

impl Drop for ParkedGuard {
    fn drop(&mut self) {
        self.parked_requests.lock().remove(&self.state);
    }
}

impl ParkedRequests {
    /// Answers a request. Starts a new request with `start`, or resumes the parked request if
    /// `request` is a retry with a state that Drawbridge issued.
    ///
    /// # Errors
    /// Returns an error if the request itself fails, if too many requests of the client are parked,
    /// or (`-32602`) if the params are malformed, or the state is unknown or belongs to another
    /// request.
    pub async fn start_or_resume<F>(
        &self,
        request: StatelessRequest,
        start: impl FnOnce(ClientHandle, String, Box<RawValue>) -> F,
    ) -> RpcResult
    where
        F: Future<Output = RpcResult> + Send + 'static,
    {
        let active = match self.resume_parked(&request).await? {
            Some(active) => active,
            None => {
                let StatelessRequest {
                    session,
                    stream,
                    permit,
                    log_level,
                    method,
                    params,
                } = request;
                let client = session.client.clone();
                let (handle, questions) =
                    ClientHandle::for_stateless_request(session, stream, log_level);
                let response: ResponseFuture =
                    Box::pin(start(handle.clone(), method.clone(), params.clone()));
                ActiveRequest {
                    client,
                    method,
                    params,
                    handle,
                    response,
                    has_response: false,
                    questions,
                    unanswered: Vec::new(),
                    last_key: 0,
                    _permit: permit,
                }
            }
        };
        self.run_until_input(active).await
    }

    /// Returns the parked request that this request resumes, after delivering the client's answers
    /// to the questions. Returns `None` if this is a new request.
    async fn resume_parked(
        &self,
        request: &StatelessRequest,
    ) -> Result<Option<ActiveRequest>, RpcError> {
        if !translate::supports_input_required(&request.method)
            || !json::mentions(&request.params, STATE_PREFIX)
        {
            return Ok(None);
        }
        let mut params = RawObject::parse(&request.params)
            .map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("params: {e}")))?;
        let RetryInput { state, mut answers } = RetryInput::take_from(&mut params)?;
        let Some(state) = state.filter(|state| state.starts_with(STATE_PREFIX)) else {
            return Ok(None);
        };
        let digest = request_digest(&request.method, &request.params)?;
        let mut active = self
            .unpark(&state, &request.session.client, &digest)
            .await?;
        active
            .handle
            .switch_to_retry(request.stream.clone(), ProgressToken::read(&params));
        for (key, question) in std::mem::take(&mut active.unanswered) {
            match answers.remove(&key) {
                Some(answer) => drop(question.answer.send(Ok(answer.into()))),
                None => active.unanswered.push((key, question)),
            }
        }
        Ok(Some(active))
    }

    /// Takes a parked request over from its task.
    ///
    /// # Errors
    /// Returns an error (`-32602`) if no request of the client waits under that state, or if the
    /// state belongs to another request.
    async fn unpark(
        &self,
        state: &str,
        client: &ClientName,
        digest: &str,
    ) -> Result<ActiveRequest, RpcError> {
        let invalid_state = |reason: &str| {
            RpcError::new(
                code::INVALID_PARAMS,
                format!("params.requestState: {reason}"),
            )
        };
        let unknown =
            || invalid_state("no request is waiting for it; send the request again without it");
        let (sender, receiver) = oneshot::channel();
        let parked = {
            let mut parked_requests = self.lock();
            let parked = parked_requests
                .get(state)
                .filter(|parked| parked.client == *client)
                .ok_or_else(unknown)?;
            if parked.digest != digest {
                return Err(invalid_state("it belongs to another request"));
            }
            parked_requests.remove(state).ok_or_else(unknown)?
        };
        parked.hand_over.send(sender).map_err(|_| unknown())?;
        receiver.await.map_err(|_| unknown())
    }

    /// Runs a request until it is answered, or until the client has to answer a question.
    async fn run_until_input(&self, mut active: ActiveRequest) -> RpcResult {
        loop {
            while let Ok(question) = active.questions.try_recv() {
                active.add_question(question);
            }
            active.drop_withdrawn_questions();
            if !active.unanswered.is_empty() && !active.has_response {
                break;
            }
            tokio::select! {
                biased;
                response = &mut active.response => return response,
                Some(question) = active.questions.recv() => active.add_question(question),
            }
        }
        let state = format!("{STATE_PREFIX}{}", random::token());
        let result = input::input_required_result(
            active
                .unanswered
                .iter()
                .map(|(key, question)| (key.as_str(), &question.request)),
            Some(&state),
        );
        self.park(state, active)?;
        Ok(result.into())
    }

    fn park(&self, state: String, active: ActiveRequest) -> Result<(), RpcError> {
        let (hand_over, hand_over_request) = oneshot::channel();
        // Few requests are parked. The digest of the others is not needed.
        let digest = request_digest(&active.method, &active.params)?;
        let client = active.client.clone();
        let mut parked_requests = self.lock();
        let client_requests = parked_requests
            .values()
            .filter(|parked| parked.client == client);
        if client_requests.count() >= MAX_PER_CLIENT {
            return Err(RpcError::new(
                code::INTERNAL_ERROR,
                "too many requests are waiting for this client's answers",
            ));
        }
        parked_requests.insert(
            state.clone(),
            ParkedRequest {
                client,
                digest,
                hand_over,
                response_bytes: 0,
                response_number: 0,
            },
        );
        drop(parked_requests);
        tokio::spawn(run_parked(
            active,
            hand_over_request,
            ParkedGuard {
                parked_requests: self.clone(),
                state,
            },
        ));
        Ok(())
    }

    /// Records the size of a parked request's response. If the client's responses take too many
    /// bytes, drops its oldest requests with a response.
    fn record_response(&self, state: &str, length: usize) {
        let mut parked_requests = self.lock();
        let response_number = parked_requests
            .values()
            .map(|parked| parked.response_number)
            .max()
            .unwrap_or(0)
            + 1;
        let Some(parked) = parked_requests.get_mut(state) else {
            return;
        };
        (parked.response_bytes, parked.response_number) = (length, response_number);
        let client = parked.client.clone();
        let mut client_responses: Vec<_> = parked_requests
            .iter()
            .filter(|(_, parked)| parked.client == client && parked.response_bytes > 0)
            .collect();
        client_responses.sort_by_key(|(_, parked)| parked.response_number);
        let mut total_bytes: usize = client_responses
            .iter()
            .map(|(_, parked)| parked.response_bytes)
            .sum();
        let mut oldest = Vec::new();
        for (state, parked) in client_responses {
            if total_bytes <= MAX_RESPONSE_BYTES {
                break;
            }
            total_bytes -= parked.response_bytes;
            oldest.push(state.clone());
        }
        for state in &oldest {
            parked_requests.remove(state);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ParkedRequest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActiveRequest {
    fn add_question(&mut self, question: PendingQuestion) {
        self.last_key += 1;
        self.unanswered
            .push((format!("input-{}", self.last_key), question));
    }

    /// Drops the questions that their server has withdrawn: nobody waits for the answers.
    fn drop_withdrawn_questions(&mut self) {
        self.unanswered
            .retain(|(_, question)| !question.answer.is_closed());
    }
}

/// Runs a parked request until its client retries, and hands it over to the retry. Ends the request
/// if the client does not retry in time, if its session ends, or if the response is dropped because
/// the client's responses take too many bytes.
async fn run_parked(
    mut active: ActiveRequest,
    mut hand_over_request: oneshot::Receiver<oneshot::Sender<ActiveRequest>>,
    guard: ParkedGuard,
) {
    let session = active.handle.session().clone();
    let mut timeout = pin!(sleep(RETRY_TIMEOUT));
    loop {
        tokio::select! {
            biased;
            retry = &mut hand_over_request => {
                if let Ok(sender) = retry {
                    let _ = sender.send(active);
                }
                return;
            }
            () = session.ended.cancelled() => return,
            () = &mut timeout => return,
            response = &mut active.response, if !active.has_response => {
                guard.parked_requests.record_response(&guard.state, response_size(&response));
                active.has_response = true;
                active.response = Box::pin(ready(response));
            }
        }
    }
}

/// Returns the number of bytes that a stored response takes.
fn response_size(response: &RpcResult) -> usize {
    match response {
        Ok(result) => result.get().len(),
        Err(error) => {
            let other_members = error
                .other_members
                .iter()
                .map(|(key, value)| key.len() + value.get().len());
            error.message.len()
                + error.data.as_ref().map_or(0, |data| data.get().len())
                + other_members.sum::<usize>()
        }
    }
}

/// Returns a digest that is the same for a request and its retries. Fails if the params are not an
/// object.
fn request_digest(method: &str, params: &RawValue) -> Result<String, RpcError> {
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

#[cfg(test)]
mod tests;
