//! The bridge's connection to the hub: one client session. If the hub does not know the session,
//! for example after a restart, the bridge opens a new session.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use drawbridge_jsonrpc::{
    client_message, encode,
    headers::{LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID},
    rpc::{RpcError, code},
};
use futures_util::StreamExt;
use reqwest::{
    Method, RequestBuilder, Response, StatusCode,
    header::{self, HeaderValue},
};
use tokio::{
    sync::{Mutex as AsyncMutex, mpsc},
    time::{sleep, timeout},
};

use crate::{
    auth::CLIENT_HEADER,
    client::{ApiClient, events, root_cause_message},
    headers::is_event_stream,
    project_folder::{PROJECT_HEADER, encode_project_folder},
};

/// The timeout for requests that the hub answers at once.
const SHORT_TIMEOUT: Duration = Duration::from_secs(5);

const JSON: &str = "application/json";

/// The pause between two attempts to read the session's stream.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// A client session with the hub of a data folder, or with a remote hub.
#[derive(Clone)]
pub(super) struct HubSession {
    api: ApiClient,
    client: String,
    /// The folder in which the client works, encoded for its header.
    project: Option<String>,
    /// Messages from the hub that are not answers.
    messages: mpsc::Sender<Bytes>,
    state: Arc<Mutex<State>>,
    /// Held while the session is opened, so that only one task opens it.
    open_lock: Arc<AsyncMutex<()>>,
}

#[derive(Default, Clone)]
struct State {
    /// The id of the session, as the hub's header states it.
    session: Option<HeaderValue>,
    /// The client's `initialize` message, kept to open the session again.
    initialize_message: Option<Bytes>,
}

/// The outcome of posting a message.
enum PostOutcome {
    Answered(Bytes),
    /// The hub does not know the session, for example because the hub was restarted. The hub did
    /// not process the message.
    UnknownSession,
    /// The client has not sent `initialize`.
    NotInitialized,
    /// The hub could not be reached, so the message was not sent.
    NotSent(String),
    /// The connection failed, and the message may have been processed.
    Failed(String),
}

impl HubSession {
    pub(super) fn new(
        api: ApiClient,
        client: &str,
        project: Option<&str>,
        messages: mpsc::Sender<Bytes>,
    ) -> Self {
        Self {
            api,
            client: client.to_owned(),
            project: project.map(encode_project_folder),
            messages,
            state: Arc::default(),
            open_lock: Arc::default(),
        }
    }

    /// Opens the session, and returns the answer for the client.
    pub(super) async fn initialize(&self, id: &str, message: Bytes) -> Bytes {
        let _open_guard = self.open_lock.lock().await;
        self.with_state(|state| {
            *state = State {
                session: None,
                initialize_message: Some(message.clone()),
            }
        });
        answer_or_error(id, self.post(id, message, None).await)
    }

    /// Returns the answer to a request, or an error for the client if the hub does not answer.
    pub(super) async fn request(&self, id: &str, message: Bytes) -> Bytes {
        answer_or_error(id, self.post_in_session(id, message).await)
    }

    /// Returns the answer to a request that belongs to no session.
    pub(super) async fn request_stateless(&self, id: &str, message: Bytes, version: &str) -> Bytes {
        let request = self
            .build_request(Method::POST, None)
            .header(PROTOCOL_VERSION, version)
            .header(header::CONTENT_TYPE, JSON);
        let outcome = match request.body(message).send().await {
            Ok(response) if is_successful_stream(&response) => self.read_answer(response, id).await,
            // The body is the answer, whatever the status is.
            Ok(response) => read_body(response).await,
            Err(error) => send_failure(&error),
        };
        answer_or_error(id, outcome)
    }

    /// Forwards a message that has no answer. Ignores failures.
    pub(super) async fn notify(&self, message: Bytes) {
        let _ = timeout(SHORT_TIMEOUT, self.post_in_session("", message)).await;
    }

    /// Forwards to the client the messages that belong to no request, while the future is polled.
    pub(super) async fn forward_messages(self) {
        let mut last_session = None;
        let mut last_event_id = String::new();
        loop {
            if let Some(session) = self.with_state(|state| state.session.clone()) {
                if last_session.as_ref() != Some(&session) {
                    last_session = Some(session.clone());
                    last_event_id.clear();
                }
                self.read_stream(&session, &mut last_event_id).await;
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    pub(super) async fn close(&self) {
        if let Some(session) = self.with_state(|state| state.session.clone()) {
            let _ = timeout(
                SHORT_TIMEOUT,
                self.build_request(Method::DELETE, Some(session)).send(),
            )
            .await;
        }
    }

    /// Posts a message, and returns the answer with this id. The id is empty for a message without
    /// an answer. If the hub does not know the session, opens a new session and posts the message
    /// again.
    async fn post_in_session(&self, id: &str, message: Bytes) -> PostOutcome {
        let session = match self.open_session(None).await {
            Ok(session) => session,
            Err(outcome) => return outcome,
        };
        let outcome = self.post(id, message.clone(), Some(session.clone())).await;
        if !matches!(outcome, PostOutcome::UnknownSession) {
            return outcome;
        }
        match self.open_session(Some(&session)).await {
            Ok(session) => self.post(id, message, Some(session)).await,
            Err(outcome) => outcome,
        }
    }

    /// Returns the current session. If there is none, or if the hub does not know it
    /// (`unknown_session`), one task opens a new session with the client's `initialize`, and the
    /// other tasks wait for that session.
    async fn open_session(
        &self,
        unknown_session: Option<&HeaderValue>,
    ) -> Result<HeaderValue, PostOutcome> {
        let current_session = || {
            self.with_state(|state| state.session.clone())
                .filter(|session| Some(session) != unknown_session)
        };
        if let Some(session) = current_session() {
            return Ok(session);
        }
        let _open_guard = self.open_lock.lock().await;
        if let Some(session) = current_session() {
            return Ok(session);
        }
        let initialize_message = self
            .with_state(|state| state.initialize_message.clone())
            .ok_or(PostOutcome::NotInitialized)?;
        let outcome = self.post("", initialize_message, None).await;
        current_session().ok_or(outcome)
    }

    /// Reads the session's stream to its end, from the event after `last_event_id`, and updates
    /// `last_event_id`. If the hub does not know the session, opens a new session instead.
    async fn read_stream(&self, session: &HeaderValue, last_event_id: &mut String) {
        let mut request = self.build_request(Method::GET, Some(session.clone()));
        if !last_event_id.is_empty() {
            request = request.header(LAST_EVENT_ID, last_event_id.as_str());
        }
        let Ok(response) = request.send().await else {
            return;
        };
        if response.status() == StatusCode::NOT_FOUND {
            let _ = self.open_session(Some(session)).await;
        }
        if !is_successful_stream(&response) {
            return;
        }
        let mut events = events::read_events(response.bytes_stream());
        while let Some(event) = events.next().await {
            *last_event_id = event.id;
            if self.messages.send(event.data.into()).await.is_err() {
                return;
            }
        }
    }

    async fn post(&self, id: &str, message: Bytes, session: Option<HeaderValue>) -> PostOutcome {
        let request = self
            .build_request(Method::POST, session)
            .header(header::CONTENT_TYPE, JSON)
            .body(message);
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => return send_failure(&error),
        };
        if response.status() == StatusCode::NOT_FOUND {
            return PostOutcome::UnknownSession;
        }
        if let Some(session) = response.headers().get(&SESSION_ID) {
            self.with_state(|state| state.session = Some(session.clone()));
        }
        if is_successful_stream(&response) {
            return self.read_answer(response, id).await;
        }
        read_body(response).await
    }

    /// Forwards the messages that precede the answer with this id, and returns the answer.
    async fn read_answer(&self, response: Response, id: &str) -> PostOutcome {
        let mut events = events::read_events(response.bytes_stream());
        while let Some(event) = events.next().await {
            if client_message::is_answer_to(event.data.as_bytes(), id) {
                return PostOutcome::Answered(event.data.into());
            }
            let _ = self.messages.send(event.data.into()).await;
        }
        PostOutcome::Failed("the connection ended before the answer".to_owned())
    }

    fn build_request(&self, method: Method, session: Option<HeaderValue>) -> RequestBuilder {
        let request = self
            .api
            .request(method, "/mcp")
            .header(CLIENT_HEADER, &self.client)
            .header(header::ACCEPT, "application/json, text/event-stream");
        let request = match &self.project {
            Some(project) => request.header(PROJECT_HEADER, project),
            None => request,
        };
        match session {
            Some(session) => request.header(SESSION_ID, session),
            None => request,
        }
    }

    fn with_state<T>(&self, access: impl FnOnce(&mut State) -> T) -> T {
        access(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn read_body(response: Response) -> PostOutcome {
    match response.bytes().await {
        Ok(body) => PostOutcome::Answered(body),
        Err(error) => PostOutcome::Failed(root_cause_message(&error)),
    }
}

fn send_failure(error: &reqwest::Error) -> PostOutcome {
    if error.is_connect() {
        PostOutcome::NotSent(root_cause_message(error))
    } else {
        PostOutcome::Failed(root_cause_message(error))
    }
}

fn is_successful_stream(response: &Response) -> bool {
    response.status().is_success() && is_event_stream(response.headers())
}

/// Returns the message for the client: the hub's answer or, if there is none, an error that says
/// what to do.
fn answer_or_error(id: &str, outcome: PostOutcome) -> Bytes {
    let message = match outcome {
        PostOutcome::Answered(body) if client_message::is_answer_to(&body, id) => return body,
        PostOutcome::Answered(body) => refusal_message(&body),
        PostOutcome::UnknownSession => {
            "Drawbridge was restarted, and this session has ended; connect again".to_owned()
        }
        PostOutcome::NotInitialized => {
            "there is no session yet; send `initialize` first".to_owned()
        }
        PostOutcome::NotSent(cause) => format!(
            "Drawbridge is not running ({cause}), so this request was not sent. Start Drawbridge, or run \
             `drawbridge serve`, and try again."
        ),
        PostOutcome::Failed(cause) => format!(
            "The connection to Drawbridge broke ({cause}). The request may have run: check that before you send it \
             again. If Drawbridge is not running, start it or run `drawbridge serve`."
        ),
    };
    encode::encode_error_with_raw_id(id, &RpcError::new(code::INTERNAL_ERROR, message))
}

/// Returns the error message for a body that answers no request, such as the refusal of a token.
fn refusal_message(body: &[u8]) -> String {
    let parsed = serde_json::from_slice::<serde_json::Value>(body).unwrap_or_default();
    match parsed
        .pointer("/error/message")
        .and_then(serde_json::Value::as_str)
    {
        Some(message) => format!("Drawbridge refused the request: {message}"),
        None => "Drawbridge refused the request without a reason; see its log".to_owned(),
    }
}
