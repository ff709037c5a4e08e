//! Messages from the hub: in the response to a request, on a session's own stream, and over the
//! older HTTP+SSE.

use std::{io, thread};

use drawbridge_tests::{
    Home, Hub,
    clients::{Client, Door, Sdk},
    http::{Request, Url},
    mcp::{Events, REVISION},
    places, until,
    wait::yes,
};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const EVENTS: (&str, &str) = ("Accept", "text/event-stream");

#[test]
fn a_session_has_one_stream_of_its_own_which_ends_with_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let client = hub.client("desk");
    let mut first = client.listen(None);
    let second = client.listen(Some("7"));
    assert!(first.next().is_none(), "a second stream takes over");
    let told = thread::spawn(move || second.map(|event| event.data).collect::<Vec<_>>());
    client.end();
    assert_eq!(told.join().expect("the stream ends"), Vec::<String>::new());
    assert!(
        client.request("tools/list", "{}").error_code().is_some(),
        "the session has ended"
    );
}

#[test]
fn a_stream_ends_when_the_hub_stops() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let mut stream = hub.client("desk").listen(None);
    hub.end(nix::sys::signal::Signal::SIGTERM);
    assert!(stream.next().is_none());
}

#[test]
fn who_asks_wrongly_for_a_stream_is_told_so() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let url = Url::of(&hub.url);
    let client = hub.client("desk");
    let session = ("Mcp-Session-Id", client.session().expect("a session"));
    let (one, two) = (
        format!("Bearer {}", hub.token("one")),
        format!("Bearer {}", hub.token("two")),
    );
    let (one, two) = (
        ("Authorization", one.as_str()),
        ("Authorization", two.as_str()),
    );
    for (what, path, headers, expected) in [
        ("no session", "/mcp", &[EVENTS, one][..], 400),
        (
            "another client's session",
            "/mcp",
            &[EVENTS, two, session],
            404,
        ),
        (
            "JSON",
            "/mcp",
            &[("Accept", "application/json"), one, session],
            406,
        ),
        ("no token", "/mcp", &[EVENTS, session], 401),
        ("no token", "/sse", &[EVENTS], 401),
    ] {
        let status = Request {
            method: "GET",
            url: &url.at(path),
            headers,
            body: &[],
        }
        .send()
        .expect("an answer")
        .status;
        assert_eq!(status, expected, "{path} with {what}");
    }
}

#[test]
fn progress_of_a_call_reaches_the_client_that_asked_for_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let everything = places::text(places::npm(
        "@modelcontextprotocol/server-everything/dist/index.js",
    ));
    hub.add_server("everything", &[], &["node", &everything]);
    hub.until_synced("everything");
    hub.policy("everything", "allow");
    let mut told = hub.client("desk").stream(
        "tools/call",
        r#"{"name":"everything__trigger-long-running-operation","arguments":{"duration":1,"steps":4},
            "_meta":{"progressToken":"the client's own"}}"#,
    );
    let answer = told.pop().expect("an answer");
    assert_eq!(
        (&answer["id"], &answer["error"]),
        (&json!("streamed"), &Value::Null),
        "{answer}"
    );
    assert!(!told.is_empty(), "it is told how far the call is");
    for message in told {
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(
            message["params"]["progressToken"], "the client's own",
            "{message}"
        );
    }
}

/// A client of the older transport.
struct Legacy {
    token: String,
    messages: Url,
    events: Events,
}

impl Legacy {
    fn open(hub: &Hub<'_>, name: &str, path: &str) -> Self {
        let (url, token) = (Url::of(&hub.url), hub.token(name));
        let bearer = format!("Bearer {token}");
        let headers = [EVENTS, ("Authorization", bearer.as_str())];
        let response = Request {
            method: "GET",
            url: &url.at(path),
            headers: &headers,
            body: &[],
        }
        .send();
        let mut events = Events::of(response.expect("an answer"));
        let first = events.next().expect("a first event");
        assert_eq!(first.name, "endpoint");
        assert!(
            first.data.starts_with("/messages/?session_id="),
            "a plain path: {}",
            first.data
        );
        Self {
            token,
            messages: url.at(&first.data),
            events,
        }
    }

    /// Opens the session.
    fn begin(mut self) -> Self {
        let hello = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
        let answer = self.ask(0, "initialize", &hello);
        assert_eq!(answer["result"]["protocolVersion"], REVISION, "{answer}");
        assert_eq!(
            self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})),
            (202, String::new())
        );
        self
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
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
fn the_older_transport_lists_and_calls_with_and_without_a_slash() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.policy("probe", "allow");
    for (name, path, messages) in [
        ("one", "/sse", "/messages/?"),
        ("two", "/sse/", "/messages?"),
    ] {
        let mut client = Legacy::open(&hub, name, path).begin();
        client.messages.path = client.messages.path.replace("/messages/?", messages);
        let tools = client.ask(1, "tools/list", &json!({}));
        assert!(tools.to_string().contains("probe__echo"), "{tools}");
        let answer = client.ask(
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
fn a_message_without_its_stream_is_refused() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let mut client = Legacy::open(&hub, "desk", "/sse");
    let early = client.ask(1, "tools/list", &json!({}));
    assert!(
        early["error"]["message"].to_string().contains("initialize"),
        "{early}"
    );
    let client = client.begin();
    let ping = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"});
    let url = Url::of(&hub.url);
    for (path, expected) in [
        ("/messages/", 400),
        ("/messages", 400),
        ("/messages/?session=1", 400),
        ("/messages/?session_id=no", 404),
    ] {
        assert_eq!(
            post(&url.at(path), &client.token, &ping)
                .expect("an answer")
                .0,
            expected,
            "{path}"
        );
    }
    let other = hub.token("other");
    assert_eq!(
        post(&client.messages, &other, &ping).expect("an answer").0,
        404,
        "another client's stream"
    );
    assert_eq!(client.post(&json!("no message")).0, 400);
}

#[test]
fn a_session_of_the_older_transport_ends_with_its_stream_and_so_do_its_calls() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = Legacy::open(&hub, "desk", "/sse").begin();
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "probe__echo", "arguments": {}}});
    assert_eq!(client.post(&call).0, 202);
    hub.approval();
    let Legacy {
        token,
        messages,
        events,
    } = client;
    drop(events);
    until("the call waits no more", || {
        yes(home
            .cli(&["approvals", "list", "--json"])
            .json()
            .as_array()
            .is_some_and(Vec::is_empty))
    });
    assert_eq!(
        post(&messages, &token, &call).expect("an answer").0,
        404,
        "the session has ended"
    );
}

#[test]
fn a_real_client_lists_and_calls_over_the_older_transport() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.policy("probe", "allow");
    let door = Door {
        url: hub.url.replace("/mcp", "/sse"),
        token: hub.token("desk"),
    };
    let tools = Client::tools(&home, Sdk::TypeScript, &door);
    assert!(tools.contains(&"probe__echo".to_owned()), "{tools:?}");
    let call = Client::call(
        &home,
        Sdk::TypeScript,
        &door,
        "probe__echo",
        &json!({"a": 1}),
    );
    assert_eq!(call.result().text, r#"{"a":1}"#);
}
