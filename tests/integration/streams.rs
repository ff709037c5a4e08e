//! Messages from the hub: in the response to a request, on a session's own stream, and over the
//! older HTTP+SSE transport. Also the answer to a call that a client resumes.

use std::{io, thread};

use drawbridge_tests::{
    Home, Hub,
    clients::{Client, Endpoint, Sdk},
    http::{Request, Url},
    mcp::{Events, McpClient, REVISION},
    wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const EVENTS: (&str, &str) = ("Accept", "text/event-stream");

#[test]
fn a_session_has_one_stream_that_ends_with_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let client = hub.connect_client("desk");
    let mut first_stream = client.listen(None);
    let second_stream = client.listen(Some("7"));
    assert!(first_stream.next().is_none(), "a second stream takes over");
    let listener = thread::spawn(move || second_stream.map(|event| event.data).collect::<Vec<_>>());
    client.end_session();
    assert_eq!(
        listener.join().expect("the stream ends"),
        Vec::<String>::new()
    );
    assert!(
        client.request("tools/list", "{}").error_code().is_some(),
        "the session has ended"
    );
}

#[test]
fn a_stream_ends_when_the_hub_stops() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let mut stream = hub.connect_client("desk").listen(None);
    hub.stop(nix::sys::signal::Signal::SIGTERM);
    assert!(stream.next().is_none());
}

#[test]
fn an_invalid_request_for_a_stream_is_rejected() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let url = Url::parse(&hub.url);
    let client = hub.connect_client("desk");
    let session = ("Mcp-Session-Id", client.session_id().expect("a session"));
    let (first_token, second_token) = (
        format!("Bearer {}", hub.add_client("one")),
        format!("Bearer {}", hub.add_client("two")),
    );
    let (first_token, second_token) = (
        ("Authorization", first_token.as_str()),
        ("Authorization", second_token.as_str()),
    );
    for (problem, path, headers, expected) in [
        ("no session", "/mcp", &[EVENTS, first_token][..], 400),
        (
            "another client's session",
            "/mcp",
            &[EVENTS, second_token, session],
            404,
        ),
        (
            "JSON",
            "/mcp",
            &[("Accept", "application/json"), first_token, session],
            406,
        ),
        ("no token", "/mcp", &[EVENTS, session], 401),
        ("no token", "/sse", &[EVENTS], 401),
    ] {
        let status = Request {
            method: "GET",
            url: &url.with_path(path),
            headers,
            body: &[],
        }
        .send()
        .expect("an answer")
        .status;
        assert_eq!(status, expected, "{path} with {problem}");
    }
}

#[test]
fn progress_of_a_call_reaches_the_client_that_asked_for_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_everything();
    let mut messages = hub.connect_client("desk").request_messages(
        "tools/call",
        r#"{"name":"everything__trigger-long-running-operation","arguments":{"duration":1,"steps":4},
            "_meta":{"progressToken":"the client's own"}}"#,
    );
    let answer = messages.pop().expect("an answer");
    assert_eq!(
        (&answer["id"], &answer["error"]),
        (&json!("streamed"), &Value::Null),
        "{answer}"
    );
    assert!(!messages.is_empty(), "the client receives progress");
    for message in messages {
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(
            message["params"]["progressToken"], "the client's own",
            "{message}"
        );
    }
}

/// A client of the older transport.
struct HttpSseClient {
    token: String,
    messages: Url,
    events: Events,
}

impl HttpSseClient {
    fn open(hub: &Hub<'_>, name: &str, path: &str) -> Self {
        let (url, token) = (Url::parse(&hub.url), hub.add_client(name));
        let bearer = format!("Bearer {token}");
        let headers = [EVENTS, ("Authorization", bearer.as_str())];
        let response = Request {
            method: "GET",
            url: &url.with_path(path),
            headers: &headers,
            body: &[],
        }
        .send();
        let mut events = Events::new(response.expect("an answer"));
        let first = events.next().expect("a first event");
        assert_eq!(first.name, "endpoint");
        assert!(
            first.data.starts_with("/messages/?session_id="),
            "the event contains a path: {}",
            first.data
        );
        Self {
            token,
            messages: url.with_path(&first.data),
            events,
        }
    }

    /// Opens the session.
    fn initialize(mut self) -> Self {
        let params = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
        let answer = self.request(0, "initialize", &params);
        assert_eq!(answer["result"]["protocolVersion"], REVISION, "{answer}");
        assert_eq!(
            self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})),
            (202, String::new())
        );
        self
    }

    fn request(&mut self, id: u64, method: &str, params: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        assert_eq!(self.post(&request), (202, String::new()), "{method}");
        let mut messages = self.events.by_ref().map(|event| event.message());
        messages
            .find(|message| message["id"] == id)
            .expect("an answer on the stream")
    }

    fn post(&self, message: &Value) -> (u16, String) {
        post(&self.messages, &self.token, message).expect("an answer")
    }
}

fn post(url: &Url, token: &str, message: &Value) -> io::Result<(u16, String)> {
    let bearer = format!("Bearer {token}");
    let (headers, body) = (
        [JSON, ("Authorization", bearer.as_str())],
        message.to_string(),
    );
    let response = Request {
        method: "POST",
        url,
        headers: &headers,
        body: body.as_bytes(),
    }
    .send()?;
    Ok((response.status, response.text()?))
}

#[test]
fn http_sse_lists_and_calls_with_and_without_a_trailing_slash() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    for (name, path, messages) in [
        ("one", "/sse", "/messages/?"),
        ("two", "/sse/", "/messages?"),
    ] {
        let mut client = HttpSseClient::open(&hub, name, path).initialize();
        client.messages.path = client.messages.path.replace("/messages/?", messages);
        let tools = client.request(1, "tools/list", &json!({}));
        assert!(tools.to_string().contains("probe__echo"), "{tools}");
        let answer = client.request(
            2,
            "tools/call",
            &json!({"name": "probe__echo", "arguments": {"via": path}}),
        );
        assert_eq!(
            answer["result"]["content"][0]["text"],
            json!({"via": path}).to_string(),
            "{answer}"
        );
    }
}

#[test]
fn an_invalid_http_sse_message_is_rejected() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let mut client = HttpSseClient::open(&hub, "desk", "/sse");
    let early_answer = client.request(1, "tools/list", &json!({}));
    assert!(
        early_answer["error"]["message"]
            .to_string()
            .contains("initialize"),
        "{early_answer}"
    );
    let client = client.initialize();
    let ping = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"});
    let url = Url::parse(&hub.url);
    for (path, expected) in [
        ("/messages/", 400),
        ("/messages", 400),
        ("/messages/?session=1", 400),
        ("/messages/?session_id=no", 404),
    ] {
        assert_eq!(
            post(&url.with_path(path), &client.token, &ping)
                .expect("an answer")
                .0,
            expected,
            "{path}"
        );
    }
    let other_token = hub.add_client("other");
    assert_eq!(
        post(&client.messages, &other_token, &ping)
            .expect("an answer")
            .0,
        404,
        "another client's stream"
    );
    assert_eq!(client.post(&json!("no message")).0, 400);
}

#[test]
fn an_http_sse_session_and_its_calls_end_with_the_stream() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = HttpSseClient::open(&hub, "desk", "/sse").initialize();
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "probe__echo", "arguments": {}}});
    assert_eq!(client.post(&call).0, 202);
    hub.wait_for_approval();
    let HttpSseClient {
        token,
        messages,
        events,
    } = client;
    drop(events);
    wait_until("no approval is pending", || {
        some_if(
            home.cli(&["approvals", "list", "--json"])
                .expect_json()
                .as_array()
                .is_some_and(Vec::is_empty),
        )
    });
    assert_eq!(
        post(&messages, &token, &call).expect("an answer").0,
        404,
        "the session has ended"
    );
}

#[test]
fn a_real_client_lists_and_calls_over_http_sse() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let endpoint = Endpoint {
        url: hub.url.replace("/mcp", "/sse"),
        token: hub.add_client("desk"),
    };
    let tools = Client::list_tools(&home, Sdk::TypeScript, &endpoint);
    assert!(tools.contains(&"probe__echo".to_owned()), "{tools:?}");
    let call = Client::begin_call(
        &home,
        Sdk::TypeScript,
        &endpoint,
        "probe__echo",
        &json!({"a": 1}),
    );
    assert_eq!(call.wait_for_result().text, r#"{"a":1}"#);
}

/// Begins a call that reports its progress, and returns its events. Dropping them closes the
/// connection.
fn begin_long_call(client: &McpClient) -> Events {
    let call = json!({"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": {
        "name": "everything__trigger-long-running-operation",
        "arguments": {"duration": 2, "steps": 4}, "_meta": {"progressToken": "p"}
    }});
    Events::new(client.post(&call).expect("send the call"))
}

#[test]
fn a_client_whose_connection_broke_resumes_its_call() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_everything();
    let client = hub.connect_client("desk");
    let mut stream = begin_long_call(&client);
    let first = stream.next().expect("progress");
    assert!(!first.id.is_empty(), "an event has an id: {first:?}");
    drop(stream);
    let rest: Vec<_> = client.listen(Some(&first.id)).collect();
    let answer = rest.last().expect("the answer").message();
    assert_eq!(
        (&answer["id"], &answer["error"]),
        (&json!("long"), &Value::Null),
        "{answer}"
    );
    let progress = |message: &Value| message["params"]["progress"].as_u64();
    let progress: Vec<_> = std::iter::once(&first)
        .chain(&rest)
        .filter_map(|event| progress(&event.message()))
        .collect();
    assert_eq!(progress, [1, 2, 3, 4], "no progress is lost or repeated");
    wait_until("the outcome of the call is ok", || {
        let calls = home.cli(&["calls", "list", "--json"]).expect_json();
        some_if(calls[0]["outcome"] == "ok")
    });
    let status = client.resume_status(&first.id);
    assert_eq!(status, 400, "an ended answer cannot be resumed");
}

#[test]
fn only_its_own_session_resumes_a_call() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_everything();
    let client = hub.connect_client("desk");
    let mut stream = begin_long_call(&client);
    let id = stream.next().expect("progress").id;
    drop(stream);
    let other_client = hub.connect_client("other");
    assert_eq!(other_client.resume_status(&id), 400);
    client.end_session();
    wait_until("the end of the session cancels the call", || {
        let calls = home.cli(&["calls", "list", "--json"]).expect_json();
        some_if(calls[0]["outcome"] == "cancelled")
    });
}
