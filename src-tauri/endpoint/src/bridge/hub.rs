//! The bridge's connection to the hub: one client session, opened again if the hub no longer knows
//! it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use drawbridge_hub::model::rpc::{RpcError, code};
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
    client::{ApiClient, events, root_cause},
    headers::is_events,
    mcp::streamable_http::{SESSION, VERSION},
    wire,
};

/// The timeout for requests that the hub answers at once.
const SHORT: Duration = Duration::from_secs(5);

const JSON: &str = "application/json";

/// The pause between two attempts to read the session's stream.
const RETRY: Duration = Duration::from_secs(1);

/// A client session with the hub of a data folder.
#[derive(Clone)]
pub(super) struct HubSession {
    api: ApiClient,
    client: String,
    /// Messages from the hub that are not answers.
    messages: mpsc::Sender<Bytes>,
    state: Arc<Mutex<State>>,
    /// Held while the session is opened, so that only one task opens it.
    turn: Arc<AsyncMutex<()>>,
}

#[derive(Default, Clone)]
struct State {
    session: Option<HeaderValue>,
    /// The client's `initialize` message, kept to open the session again.
    opening: Option<Bytes>,
}

/// The outcome of posting a message.
enum Posted {
    Answered(Bytes),
    /// The hub does not know the session, for example because the hub was restarted. The hub did
    /// not process the message.
    Forgotten,
    /// The client has not sent `initialize`.
    Unopened,
    /// The hub could not be reached, so the message was not sent.
    Unsent(String),
    /// The connection failed, and the message may have been processed.
    Failed(String),
}

impl HubSession {
    pub(super) fn new(api: ApiClient, client: &str, messages: mpsc::Sender<Bytes>) -> Self {
        Self {
            api,
            client: client.to_owned(),
            messages,
            state: Arc::default(),
            turn: Arc::default(),
        }
    }

    /// Opens the session, and returns the answer for the client.
    pub(super) async fn initialize(&self, id: &str, message: Bytes) -> Bytes {
        let _turn = self.turn.lock().await;
        self.with_state(|state| {
            *state = State {
                session: None,
                opening: Some(message.clone()),
            }
        });
        answer(id, self.post(id, message, None).await)
    }

    /// Returns the answer to a request. If the hub gives none, returns an error for the client.
    pub(super) async fn request(&self, id: &str, message: Bytes) -> Bytes {
        answer(id, self.deliver(id, message).await)
    }

    /// Returns the answer to a request that belongs to no session.
    pub(super) async fn request_stateless(&self, id: &str, message: Bytes, version: &str) -> Bytes {
        let request = self
            .to_hub(Method::POST, None)
            .header(VERSION, version)
            .header(header::CONTENT_TYPE, JSON);
        let posted = match request.body(message).send().await {
            Ok(response) if is_stream(&response) => self.follow(response, id).await,
            // The body is the answer, whatever the status is.
            Ok(response) => body_of(response).await,
            Err(error) => unsent(&error),
        };
        answer(id, posted)
    }

    /// Forwards a message that has no answer. A failure is ignored.
    pub(super) async fn notify(&self, message: Bytes) {
        let _ = timeout(SHORT, self.deliver("", message)).await;
    }

    /// Forwards the messages that belong to no request to the client, while the future is polled.
    pub(super) async fn listen(self) {
        let mut last = (None, String::new());
        loop {
            if let Some(session) = self.with_state(|state| state.session.clone()) {
                if last.0.as_ref() != Some(&session) {
                    last = (Some(session.clone()), String::new());
                }
                self.hear(&session, &mut last.1).await;
            }
            sleep(RETRY).await;
        }
    }

    pub(super) async fn end(&self) {
        if let Some(session) = self.with_state(|state| state.session.clone()) {
            let _ = timeout(SHORT, self.to_hub(Method::DELETE, Some(session)).send()).await;
        }
    }

    /// Posts a message whose answer has this id. If the hub no longer knows the session, opens a
    /// new one and posts the message again.
    async fn deliver(&self, id: &str, message: Bytes) -> Posted {
        let session = match self.open(None).await {
            Ok(session) => session,
            Err(posted) => return posted,
        };
        let posted = self.post(id, message.clone(), Some(session.clone())).await;
        if !matches!(posted, Posted::Forgotten) {
            return posted;
        }
        match self.open(Some(&session)).await {
            Ok(session) => self.post(id, message, Some(session)).await,
            Err(posted) => posted,
        }
    }

    /// Returns the session, if it is not `forgotten`. Otherwise the first task to miss the session
    /// opens a new one with the client's `initialize`, and the other tasks wait.
    async fn open(&self, forgotten: Option<&HeaderValue>) -> Result<HeaderValue, Posted> {
        let known = || {
            self.with_state(|state| state.session.clone())
                .filter(|known| Some(known) != forgotten)
        };
        if let Some(session) = known() {
            return Ok(session);
        }
        let _turn = self.turn.lock().await;
        if let Some(session) = known() {
            return Ok(session);
        }
        let opening = self
            .with_state(|state| state.opening.clone())
            .ok_or(Posted::Unopened)?;
        let posted = self.post("", opening, None).await;
        known().ok_or(posted)
    }

    /// Reads the session's stream to its end. `last` is the id of the last event received.
    async fn hear(&self, session: &HeaderValue, last: &mut String) {
        let mut request = self.to_hub(Method::GET, Some(session.clone()));
        if !last.is_empty() {
            request = request.header("Last-Event-ID", last.as_str());
        }
        let Ok(response) = request.send().await else {
            return;
        };
        if response.status() == StatusCode::NOT_FOUND {
            let _ = self.open(Some(session)).await;
        }
        if !is_stream(&response) {
            return;
        }
        let mut events = events::sent(response.bytes_stream());
        while let Some(event) = events.next().await {
            *last = event.id;
            if self.messages.send(event.data.into()).await.is_err() {
                return;
            }
        }
    }

    async fn post(&self, id: &str, message: Bytes, session: Option<HeaderValue>) -> Posted {
        let request = self
            .to_hub(Method::POST, session)
            .header(header::CONTENT_TYPE, JSON)
            .body(message);
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => return unsent(&error),
        };
        if response.status() == StatusCode::NOT_FOUND {
            return Posted::Forgotten;
        }
        if let Some(session) = response.headers().get(&SESSION) {
            self.with_state(|state| state.session = Some(session.clone()));
        }
        if is_stream(&response) {
            return self.follow(response, id).await;
        }
        body_of(response).await
    }

    /// Forwards the messages that precede the answer to this id, and returns the answer.
    async fn follow(&self, response: Response, id: &str) -> Posted {
        let mut events = events::sent(response.bytes_stream());
        while let Some(event) = events.next().await {
            if wire::answers(&event.data, id) {
                return Posted::Answered(event.data.into());
            }
            let _ = self.messages.send(event.data.into()).await;
        }
        Posted::Failed("the connection ended before the answer".to_owned())
    }

    fn to_hub(&self, method: Method, session: Option<HeaderValue>) -> RequestBuilder {
        let request = self
            .api
            .request(method, "/mcp")
            .header(CLIENT_HEADER, &self.client)
            .header(header::ACCEPT, "application/json, text/event-stream");
        match session {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    fn with_state<T>(&self, use_it: impl FnOnce(&mut State) -> T) -> T {
        use_it(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn body_of(response: Response) -> Posted {
    match response.bytes().await {
        Ok(body) => Posted::Answered(body),
        Err(error) => Posted::Failed(root_cause(&error)),
    }
}

fn unsent(error: &reqwest::Error) -> Posted {
    if error.is_connect() {
        Posted::Unsent(root_cause(error))
    } else {
        Posted::Failed(root_cause(error))
    }
}

fn is_stream(response: &Response) -> bool {
    response.status().is_success() && is_events(response.headers())
}

/// Returns the line for the client: the hub's answer or, if there is none, an error with what to
/// do.
fn answer(id: &str, posted: Posted) -> Bytes {
    let message = match posted {
        Posted::Answered(body) if wire::answers(&body, id) => return body,
        Posted::Answered(body) => refusal_of(&body),
        Posted::Forgotten => {
            "the hub was started anew and this session ended: connect again".to_owned()
        }
        Posted::Unopened => "there is no session yet: send `initialize` first".to_owned(),
        Posted::Unsent(cause) => format!(
            "Drawbridge's hub does not run ({cause}), so this request was not carried out. Start Drawbridge, or run \
             `drawbridge serve`, and try again"
        ),
        Posted::Failed(cause) => format!(
            "Drawbridge's hub went away ({cause}); whether this request was carried out is not known. Start \
             Drawbridge, or run `drawbridge serve`, before anything else is tried"
        ),
    };
    wire::error_for(id, &RpcError::new(code::INTERNAL_ERROR, message))
}

/// Returns the message of an error that concerns the client as a whole and not one request.
fn refusal_of(body: &[u8]) -> String {
    let parsed = serde_json::from_slice::<serde_json::Value>(body).unwrap_or_default();
    match parsed
        .pointer("/error/message")
        .and_then(serde_json::Value::as_str)
    {
        Some(message) => format!("Drawbridge refused this: {message}"),
        None => "Drawbridge gave no answer that can be read".to_owned(),
    }
}
