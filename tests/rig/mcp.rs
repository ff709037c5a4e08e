//! A small client of streamable HTTP that keeps every response byte for byte.

use std::{
    collections::BTreeMap,
    io::{self, BufReader},
    net::{Shutdown, TcpStream},
    sync::atomic::{AtomicU64, Ordering},
    thread::{self, JoinHandle},
};

use serde_json::{Value, json, value::RawValue};

pub use crate::events::{Event, Events};
use crate::http::{Request, Response, Url};

/// The protocol revision of this client.
pub const REVISION: &str = "2025-06-18";

const JSON_ONLY: [(&str, &str); 2] = [
    ("Content-Type", "application/json"),
    ("Accept", "application/json"),
];

const JSON_OR_EVENTS: [(&str, &str); 2] = [
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
];

/// A client session.
pub struct McpClient {
    url: Url,
    token: String,
    session: Option<String>,
    instructions: Option<String>,
    server_capabilities: Value,
    next_id: AtomicU64,
}

/// A JSON-RPC response, with its original text.
#[derive(Debug, Clone)]
pub struct Answer {
    pub raw: String,
    parts: BTreeMap<String, Box<RawValue>>,
}

impl Answer {
    /// Reads a JSON-RPC message.
    #[track_caller]
    pub fn parse(raw: String) -> Self {
        let parts = serde_json::from_str(&raw)
            .unwrap_or_else(|e| panic!("an answer that is no JSON ({e}): {raw}"));
        Self { raw, parts }
    }

    /// Reads the message in a JSON body, or the response with this id in an event stream.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such message.
    pub fn read_from(response: Response, id: u64) -> io::Result<Self> {
        read_message(response, id)
    }

    /// Returns whether this is the response to the request with this id.
    pub fn has_id(&self, id: u64) -> bool {
        !self.parts.contains_key("method")
            && self
                .parts
                .get("id")
                .is_some_and(|response_id| response_id.get() == id.to_string())
    }

    /// Returns the text of the result. Fails if the response is an error.
    #[track_caller]
    pub fn result_text(&self) -> &str {
        self.parts
            .get("result")
            .unwrap_or_else(|| panic!("an error instead of a result: {}", self.raw))
            .get()
    }

    /// Returns the result. Fails if the response is an error.
    #[track_caller]
    pub fn result(&self) -> Value {
        let text = self.result_text();
        serde_json::from_str(text)
            .unwrap_or_else(|e| panic!("a result that cannot be read ({e}): {text}"))
    }

    /// Returns the items of a list in the result, byte for byte. Returns an empty list if the
    /// result has no such member.
    #[track_caller]
    pub fn result_items(&self, key: &str) -> Vec<Box<RawValue>> {
        let mut result: BTreeMap<String, Box<RawValue>> = serde_json::from_str(self.result_text())
            .unwrap_or_else(|e| panic!("not an object ({e}): {}", self.raw));
        let list = result.remove(key);
        list.map_or_else(Vec::new, |list| {
            serde_json::from_str(list.get())
                .unwrap_or_else(|e| panic!("{key} is not a list ({e}): {}", self.raw))
        })
    }

    /// Returns the error, or `None` for a result.
    pub fn error(&self) -> Option<Value> {
        self.parts
            .get("error")
            .and_then(|error| serde_json::from_str(error.get()).ok())
    }

    /// Returns the code of the error, or `None` for a result.
    pub fn error_code(&self) -> Option<i64> {
        self.error()?["code"].as_i64()
    }

    /// Returns whether the tool result has `isError` set.
    #[track_caller]
    pub fn is_error(&self) -> bool {
        self.result()["isError"].as_bool().unwrap_or(false)
    }

    /// Returns the text blocks of a tool result, joined.
    #[track_caller]
    pub fn text(&self) -> String {
        join_text_blocks(&self.result())
    }

    /// Returns the names in a result of `tools/list`.
    #[track_caller]
    pub fn tool_names(&self) -> Vec<String> {
        let result = self.result();
        let tools = result["tools"]
            .as_array()
            .unwrap_or_else(|| panic!("no list of tools: {}", self.raw));
        tools
            .iter()
            .map(|tool| tool["name"].as_str().expect("a tool has a name").to_owned())
            .collect()
    }
}

/// Returns the text blocks of a tool result, joined.
pub fn join_text_blocks(result: &Value) -> String {
    let blocks = result["content"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

impl McpClient {
    /// Opens a session.
    #[track_caller]
    pub fn connect(url: &str, token: &str) -> Self {
        Self::connect_as(
            url,
            token,
            &json!({"name": "drawbridge-tests", "version": "1"}),
        )
    }

    /// Opens a session with this `clientInfo`.
    #[track_caller]
    pub fn connect_as(url: &str, token: &str, client_info: &Value) -> Self {
        Self::initialize(url, token, client_info, &json!({}))
    }

    /// Opens a session with these client capabilities.
    #[track_caller]
    pub fn connect_with(url: &str, token: &str, capabilities: &Value) -> Self {
        Self::initialize(
            url,
            token,
            &json!({"name": "drawbridge-tests", "version": "1"}),
            capabilities,
        )
    }

    #[track_caller]
    fn initialize(url: &str, token: &str, client_info: &Value, capabilities: &Value) -> Self {
        let mut client = Self {
            url: Url::parse(url),
            token: token.to_owned(),
            session: None,
            instructions: None,
            server_capabilities: Value::Null,
            next_id: AtomicU64::new(1),
        };
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": REVISION, "capabilities": capabilities, "clientInfo": client_info
        }});
        let response = client
            .post(&initialize)
            .unwrap_or_else(|e| panic!("connect to {url}: {e}"));
        let status = response.status;
        client.session = response.header("Mcp-Session-Id").map(str::to_owned);
        let answer = read_message(response, 0)
            .unwrap_or_else(|e| panic!("initialize was answered with {status}: {e}"));
        assert!(
            status == 200,
            "initialize was answered with {status}: {}",
            answer.raw
        );
        let result = answer.result();
        assert_eq!(
            result["protocolVersion"], REVISION,
            "the hub knows the revision"
        );
        client.instructions = result["instructions"].as_str().map(str::to_owned);
        client.server_capabilities = result["capabilities"].clone();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let response = client
            .post(&initialized)
            .expect("notify that the client is ready");
        assert_eq!(
            response.status, 202,
            "a notification is accepted without an answer"
        );
        client
    }

    /// Returns the session id that the hub assigned.
    pub fn session_id(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Returns the instructions in the answer to `initialize`.
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// Returns the capabilities in the answer to `initialize`.
    pub fn server_capabilities(&self) -> &Value {
        &self.server_capabilities
    }

    /// Sends a request and waits for its response. `params` is JSON text that is sent unchanged.
    #[track_caller]
    pub fn request(&self, method: &str, params: &str) -> Answer {
        self.try_request(method, params)
            .unwrap_or_else(|e| panic!("{method}: {e}"))
    }

    /// Like [`McpClient::request`], for a connection that may break.
    ///
    /// # Errors
    ///
    /// Returns an error if no response arrives.
    pub fn try_request(&self, method: &str, params: &str) -> io::Result<Answer> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        read_message(self.post_text(&body)?, id)
    }

    /// Sends `tools/list` and returns the names of the tools on the first page.
    #[track_caller]
    pub fn list_tools(&self) -> Vec<String> {
        self.request("tools/list", "{}").tool_names()
    }

    /// Sends `tools/call`. `arguments` is JSON text that is sent unchanged.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: &str) -> Answer {
        self.request(
            "tools/call",
            &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#),
        )
    }

    /// Returns a second handle on the same session, whose request ids do not overlap.
    pub fn second_handle(&self) -> Self {
        let next_id = (self.next_id.fetch_add(1, Ordering::Relaxed) + 1) * 1_000_000;
        let (url, token, session) = (self.url.clone(), self.token.clone(), self.session.clone());
        Self {
            url,
            token,
            session,
            instructions: self.instructions.clone(),
            server_capabilities: self.server_capabilities.clone(),
            next_id: AtomicU64::new(next_id),
        }
    }

    /// Like [`McpClient::call`], on a thread of its own, so that the test can decide the call
    /// meanwhile.
    pub fn spawn_call(&self, tool: &str, arguments: &str) -> JoinHandle<Answer> {
        let client = self.second_handle();
        let (tool, arguments) = (tool.to_owned(), arguments.to_owned());
        thread::spawn(move || client.call(&tool, &arguments))
    }

    /// Sends a request and returns all messages of the event stream, up to the response.
    #[track_caller]
    pub fn request_messages(&self, method: &str, params: &str) -> Vec<Value> {
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":"streamed","method":"{method}","params":{params}}}"#);
        let response = self
            .post_text(&body)
            .unwrap_or_else(|e| panic!("{method}: {e}"));
        Events::new(response).map(|event| event.message()).collect()
    }

    /// Sends a message and reads the head of the response.
    ///
    /// # Errors
    ///
    /// Returns an error if the connection breaks.
    pub fn post(&self, message: &Value) -> io::Result<Response> {
        self.post_text(&message.to_string())
    }

    /// Sends a message as a client that does not accept event streams, and reads the body of the
    /// response.
    ///
    /// # Errors
    ///
    /// Returns an error if the connection breaks.
    pub fn post_for_json(&self, message: &Value) -> io::Result<String> {
        self.send("POST", &JSON_ONLY, &message.to_string())?.text()
    }

    /// Opens the stream of the messages that the hub initiates, without reading it.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing listens.
    pub fn begin_listen(&self) -> io::Result<TcpStream> {
        let headers = [("Accept", "text/event-stream")];
        self.with_request("GET", &headers, "", |request| request.begin())
    }

    /// Sends a message without waiting for a response. Dropping the connection withdraws the
    /// message.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing listens.
    pub fn begin_post(&self, message: &Value) -> io::Result<TcpStream> {
        self.with_request("POST", &JSON_OR_EVENTS, &message.to_string(), |request| {
            request.begin()
        })
    }

    /// Begins a call that can be abandoned.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing listens.
    pub fn begin_call(&self, tool: &str, arguments: &str) -> io::Result<PendingCall> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        let connection =
            self.with_request("POST", &JSON_OR_EVENTS, &body, |request| request.begin())?;
        let stream = BufReader::new(connection.try_clone()?);
        let answer = thread::spawn(move || read_message(Response::read(stream)?, id));
        Ok(PendingCall { connection, answer })
    }

    /// Opens the stream of the messages that the hub initiates. If `last_event_id` is given, the
    /// stream resumes after the event with that id.
    #[track_caller]
    pub fn listen(&self, last_event_id: Option<&str>) -> Events {
        let mut headers = vec![("Accept", "text/event-stream")];
        headers.extend(last_event_id.map(|last_event_id| ("Last-Event-ID", last_event_id)));
        Events::new(
            self.send("GET", &headers, "")
                .unwrap_or_else(|e| panic!("listen: {e}")),
        )
    }

    /// Returns the status of the response to a request for the events after `last_event_id`.
    #[track_caller]
    pub fn resume_status(&self, last_event_id: &str) -> u16 {
        let headers = [
            ("Accept", "text/event-stream"),
            ("Last-Event-ID", last_event_id),
        ];
        let response = self.send("GET", &headers, "");
        response.unwrap_or_else(|e| panic!("resume: {e}")).status
    }

    /// Ends the session.
    #[track_caller]
    pub fn end_session(&self) {
        let response = self
            .send("DELETE", &[], "")
            .unwrap_or_else(|e| panic!("end the session: {e}"));
        assert_eq!(response.status, 204, "a session can be ended");
    }

    fn post_text(&self, body: &str) -> io::Result<Response> {
        self.send("POST", &JSON_OR_EVENTS, body)
    }

    fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> io::Result<Response> {
        self.with_request(method, headers, body, |request| request.send())
    }

    fn with_request<T>(
        &self,
        method: &str,
        headers: &[(&str, &str)],
        body: &str,
        act: impl FnOnce(&Request<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = [headers, &[("Authorization", bearer.as_str())]].concat();
        if let Some(session) = &self.session {
            headers.push(("Mcp-Session-Id", session));
            headers.push(("MCP-Protocol-Version", REVISION));
        }
        act(&Request {
            method,
            url: &self.url,
            headers: &headers,
            body: body.as_bytes(),
        })
    }
}

/// A call in flight.
pub struct PendingCall {
    connection: TcpStream,
    answer: JoinHandle<io::Result<Answer>>,
}

impl PendingCall {
    /// Returns whether the call was answered or its connection broke.
    pub fn has_ended(&self) -> bool {
        self.answer.is_finished()
    }

    /// Disconnects the client.
    pub fn disconnect(&self) {
        // The connection may be broken already.
        let _ = self.connection.shutdown(Shutdown::Both);
    }

    /// Waits for the response.
    ///
    /// # Errors
    ///
    /// Returns an error if no response arrives.
    pub fn wait_for_answer(self) -> io::Result<Answer> {
        self.answer.join().expect("the answer is read")
    }
}

/// Returns the message in a JSON body, or the response with this id in an event stream.
pub(crate) fn read_message(response: Response, id: u64) -> io::Result<Answer> {
    if !response
        .header("Content-Type")
        .is_some_and(|kind| kind.starts_with("text/event-stream"))
    {
        let status = response.status;
        let text = response.text()?;
        if text.trim().is_empty() {
            return Err(io::Error::other(format!("HTTP {status} without a body")));
        }
        return Ok(Answer::parse(text));
    }
    let mut answers = Events::new(response).map(|event| Answer::parse(event.data));
    answers
        .find(|answer| answer.has_id(id))
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
