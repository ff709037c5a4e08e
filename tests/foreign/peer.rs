//! A client that keeps the text of each answer, so that two answers can be compared byte by byte.
//! Supports stdio, streamable HTTP and HTTP+SSE.

use std::{
    io::Write,
    process::{ChildStdin, Stdio},
};

use drawbridge_tests::{
    Home, Hub,
    http::{Request, Response, Url},
    mcp::{Answer, Events},
    process::Process,
};
use serde_json::{Value, json};

use crate::servers::{Running, Server, TableRequest, Transport};

/// The era of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With `initialize`, in a session.
    Legacy,
    /// Without a session, with the revision in each request.
    Modern,
}

const LEGACY_REVISION: &str = "2025-11-25";
const MODERN_REVISION: &str = "2026-07-28";

enum Wire {
    Stdio {
        process: Process,
        stdin: ChildStdin,
    },
    Http {
        url: Url,
        headers: Vec<(&'static str, String)>,
    },
    Sse {
        post: Url,
        events: Events,
    },
}

pub(crate) struct Peer {
    era: Era,
    wire: Wire,
    last_id: u64,
}

impl Peer {
    /// Connects to the server itself.
    #[track_caller]
    pub(crate) fn connect_directly(
        home: &Home,
        server: &Server,
        running: &Running,
        era: Era,
    ) -> Self {
        let wire = match (&server.transport, &running.url) {
            (Transport::Stdio, _) => {
                let mut command = server.command(home, "direct", None);
                let mut process = Process::start(home, "direct", command.stdin(Stdio::piped()));
                Wire::Stdio {
                    stdin: process.take_stdin(),
                    process,
                }
            }
            (Transport::Sse, Some(url)) => Wire::open_sse(&Url::parse(url)),
            (_, Some(url)) => Wire::Http {
                url: Url::parse(url),
                headers: vec![],
            },
            (_, None) => panic!("{} is reached over HTTP, but has no URL", server.name),
        };
        Self::initialize(wire, era)
    }

    /// Connects to Drawbridge's endpoint for the server.
    #[track_caller]
    pub(crate) fn connect_through_drawbridge(
        hub: &Hub<'_>,
        server: &Server,
        token: &str,
        era: Era,
    ) -> Self {
        let url = Url::parse(&format!("{}/{}", hub.url, server.id()));
        Self::initialize(
            Wire::Http {
                url,
                headers: vec![("Authorization", format!("Bearer {token}"))],
            },
            era,
        )
    }

    #[track_caller]
    fn initialize(wire: Wire, era: Era) -> Self {
        let mut peer = Self {
            era,
            wire,
            last_id: 0,
        };
        if era == Era::Legacy {
            let params = json!({
                "protocolVersion": LEGACY_REVISION, "capabilities": {}, "clientInfo": {"name": "foreign", "version": "1"}
            });
            let answer = peer.request("initialize", None, &params.to_string());
            let revision = answer.result()["protocolVersion"]
                .as_str()
                .expect("the result of initialize has a protocolVersion")
                .to_owned();
            if let Wire::Http { headers, .. } = &mut peer.wire {
                headers.push(("MCP-Protocol-Version", revision));
            }
            peer.wire
                .notify(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        }
        peer
    }

    /// Sends a request of the table.
    #[track_caller]
    pub(crate) fn send_table_request(&mut self, request: &TableRequest) -> Answer {
        self.request(request.method, request.name(), request.params)
    }

    /// Sends a request; `params` is the text of a JSON object.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, name: Option<&str>, params: &str) -> Answer {
        self.last_id += 1;
        let id = self.last_id;
        let mut params = params.to_owned();
        let mut headers = vec![];
        if self.era == Era::Modern {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN_REVISION,
                "io.modelcontextprotocol/clientInfo": {"name": "foreign", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let members = params
                .strip_prefix('{')
                .expect("the params are an object")
                .trim_start();
            let comma = if members == "}" { "" } else { "," };
            params = format!(r#"{{"_meta":{meta}{comma}{members}"#);
            headers = vec![
                ("MCP-Protocol-Version", MODERN_REVISION),
                ("Mcp-Method", method),
            ];
            headers.extend(name.map(|name| ("Mcp-Name", name)));
        }
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        self.wire.exchange(&body, id, &headers)
    }
}

impl Wire {
    /// Opens the stream of an HTTP+SSE server, whose first event contains the URL for messages.
    #[track_caller]
    fn open_sse(url: &Url) -> Self {
        let request = Request {
            method: "GET",
            url,
            headers: &[("Accept", "text/event-stream")],
            body: &[],
        };
        let mut events =
            Events::new(request.send().unwrap_or_else(|e| {
                panic!("cannot open the event stream of {}: {e}", url.authority)
            }));
        let first = events.next().expect("the stream has an event");
        assert_eq!(
            first.name, "endpoint",
            "the first event names the endpoint: {first:?}"
        );
        Self::Sse {
            post: url.with_path(&first.data),
            events,
        }
    }

    #[track_caller]
    fn notify(&mut self, body: &str) {
        match self {
            Self::Stdio { stdin, .. } => {
                writeln!(stdin, "{body}").expect("the server reads its stdin")
            }
            Self::Http { url, headers } => {
                assert_eq!(
                    post(url, headers, &[], body).status,
                    202,
                    "the server accepts the notification {body}"
                );
            }
            Self::Sse { post: url, .. } => drop(post(url, &[], &[], body)),
        }
    }

    #[track_caller]
    fn exchange(&mut self, body: &str, id: u64, extra_headers: &[(&str, &str)]) -> Answer {
        match self {
            Self::Stdio { process, stdin } => {
                writeln!(stdin, "{body}").expect("the server reads its stdin");
                loop {
                    // Programs print other lines on stdout too.
                    let line = process.read_line();
                    if let Some(answer) = line
                        .starts_with('{')
                        .then(|| Answer::parse(line))
                        .filter(|answer| answer.has_id(id))
                    {
                        return answer;
                    }
                }
            }
            Self::Http { url, headers } => {
                let response = post(url, headers, extra_headers, body);
                if let Some(session) = response.header("Mcp-Session-Id") {
                    let is_stored = headers.iter().any(|(name, _)| *name == "Mcp-Session-Id");
                    if !is_stored {
                        headers.push(("Mcp-Session-Id", session.to_owned()));
                    }
                }
                Answer::read_from(response, id).unwrap_or_else(|e| panic!("{body}: {e}"))
            }
            Self::Sse { post: url, events } => {
                drop(post(url, &[], &[], body));
                let answers = events.map(|event| Answer::parse(event.data));
                answers
                    .into_iter()
                    .find(|answer| answer.has_id(id))
                    .expect("the stream contains the answer")
            }
        }
    }
}

#[track_caller]
fn post(
    url: &Url,
    headers: &[(&'static str, String)],
    extra_headers: &[(&str, &str)],
    body: &str,
) -> Response {
    let mut all_headers = vec![
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    all_headers.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
    all_headers.extend(extra_headers);
    let request = Request {
        method: "POST",
        url,
        headers: &all_headers,
        body: body.as_bytes(),
    };
    request.send().unwrap_or_else(|e| panic!("{body}: {e}"))
}

/// Returns the definitions in a page of a list, and the cursor of the next page.
pub(crate) fn read_page(answer: &Answer, key: &str) -> (Vec<String>, Option<Value>) {
    let items = answer
        .result_items(key)
        .into_iter()
        .map(|item| item.get().to_owned())
        .collect();
    (
        items,
        answer
            .result()
            .get("nextCursor")
            .cloned()
            .filter(Value::is_string),
    )
}
