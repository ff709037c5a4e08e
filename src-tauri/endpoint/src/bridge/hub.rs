//! The bridge's side towards the hub: one client session, begun anew where the hub forgot it.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use drawbridge_hub::{
    api::ApiError,
    model::rpc::{RpcError, code},
};
use reqwest::{Method, RequestBuilder, StatusCode, header};
use tokio::time::timeout;

use crate::{
    auth::CLIENT_HEADER,
    client::{ApiClient, root_cause},
    mcp::streamable_http::SESSION,
    wire,
};

/// For what the hub answers at once.
const SHORT: Duration = Duration::from_secs(5);

/// A client session with the hub of a data folder.
#[derive(Clone)]
pub(super) struct HubSession {
    api: ApiClient,
    client: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default, Clone)]
struct State {
    session: Option<String>,
    /// The client's `initialize`, to begin anew with.
    opening: Option<Bytes>,
}

/// What came of a message.
enum Posted {
    Answered(Bytes),
    /// The hub does not know the session: it was started anew since. The message did not get further.
    Forgotten,
    /// The hub is not there.
    Unsent(String),
    /// The hub went away with it.
    Failed(String),
}

impl HubSession {
    pub(super) fn connect(data_dir: &Path, client: &str) -> Result<Self, ApiError> {
        let api = ApiClient::local(data_dir)?;
        Ok(Self { api, client: client.to_owned(), state: Arc::default() })
    }

    /// Opens the session; the answer to the client.
    pub(super) async fn initialize(&self, id: &str, message: Bytes) -> Bytes {
        self.with_state(|state| *state = State { session: None, opening: Some(message.clone()) });
        let posted = self.post(message).await;
        answer(id, posted)
    }

    /// The answer to a request, whatever happens.
    pub(super) async fn request(&self, id: &str, message: Bytes) -> Bytes {
        let mut posted = self.post(message.clone()).await;
        if matches!(posted, Posted::Forgotten) && self.open_anew().await {
            posted = self.post(message).await;
        }
        answer(id, posted)
    }

    /// Passes on what has no answer.
    pub(super) async fn notify(&self, message: Bytes) {
        let _ = timeout(SHORT, self.post(message)).await;
    }

    pub(super) async fn end(&self) {
        if self.with_state(|state| state.session.is_some()) {
            let _ = timeout(SHORT, self.to_hub(Method::DELETE).send()).await;
        }
    }

    /// Sends the client's `initialize` once more; whether there is a session then.
    async fn open_anew(&self) -> bool {
        let opening = self.with_state(|state| {
            state.session = None;
            state.opening.clone()
        });
        let Some(opening) = opening else { return false };
        self.post(opening).await;
        self.with_state(|state| state.session.is_some())
    }

    async fn post(&self, message: Bytes) -> Posted {
        let request = self.to_hub(Method::POST).header(header::CONTENT_TYPE, "application/json").body(message);
        let response = match request.send().await {
            Ok(response) => response,
            Err(e) if e.is_connect() => return Posted::Unsent(root_cause(&e)),
            Err(e) => return Posted::Failed(root_cause(&e)),
        };
        if response.status() == StatusCode::NOT_FOUND {
            return Posted::Forgotten;
        }
        if let Some(session) = response.headers().get(&SESSION).and_then(|session| session.to_str().ok()) {
            self.with_state(|state| state.session = Some(session.to_owned()));
        }
        match response.bytes().await {
            Ok(body) => Posted::Answered(body),
            Err(e) => Posted::Failed(root_cause(&e)),
        }
    }

    fn to_hub(&self, method: Method) -> RequestBuilder {
        let request = self
            .api
            .request(method, "/mcp")
            .header(CLIENT_HEADER, &self.client)
            .header(header::ACCEPT, "application/json, text/event-stream");
        match self.with_state(|state| state.session.clone()) {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    fn with_state<T>(&self, use_it: impl FnOnce(&mut State) -> T) -> T {
        use_it(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The line for the client: the hub's answer, or what to do where there is none.
fn answer(id: &str, posted: Posted) -> Bytes {
    let message = match posted {
        Posted::Answered(body) if wire::answers(&body, id) => return body,
        Posted::Answered(body) => refusal_of(&body),
        Posted::Forgotten => "the hub was started anew and this session ended: connect again".to_owned(),
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

/// The words of a refusal that is about the client rather than about one request.
fn refusal_of(body: &[u8]) -> String {
    let parsed = serde_json::from_slice::<serde_json::Value>(body).unwrap_or_default();
    match parsed.pointer("/error/message").and_then(serde_json::Value::as_str) {
        Some(message) => format!("Drawbridge refused this: {message}"),
        None => "Drawbridge gave no answer that can be read".to_owned(),
    }
}
