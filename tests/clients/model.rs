//! A stand-in for a language model: it calls one tool, and then answers "Done.". The stand-in
//! implements the four protocols that client programs use with models, so that each program can use
//! it without an account.

use std::{
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::{Uri, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use crate::protocols::{Protocol, Turn};

/// The largest body of a request. Programs send long instructions and many definitions.
const MAX_BODY_BYTES: usize = 64 << 20;

/// The names of the tools that load the definitions of other tools. Both take the same arguments.
const SEARCH_TOOLS: [&str; 2] = ["tool_search", "ToolSearch"];

/// The requests that the model has received since [`Model::reset`].
#[derive(Debug, Default, Clone)]
pub(crate) struct ModelRecord {
    /// The name under which the program offered the tool to call.
    pub(crate) tool_name: Option<String>,
    /// Whether the program sent the model the tool's result.
    pub(crate) has_result: bool,
    /// The path and body of each request, for the report of a failure.
    pub(crate) requests: Vec<String>,
}

/// The tool that the model calls, and the text with which the tool answers.
pub(crate) struct Task {
    /// The tool's exposed name. Programs put a prefix of their own before it, and some replace
    /// several underscores with one underscore.
    pub(crate) tool: &'static str,
    pub(crate) arguments: &'static str,
    pub(crate) result: &'static str,
}

/// A running model.
pub(crate) struct Model {
    /// The address, `http://HOST:PORT`.
    pub(crate) url: String,
    record: Arc<Mutex<ModelRecord>>,
}

#[derive(Clone)]
struct ModelState {
    task: Arc<Task>,
    record: Arc<Mutex<ModelRecord>>,
}

impl Model {
    /// Starts the model, which runs until this program ends.
    pub(crate) fn start(task: Task) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener
            .set_nonblocking(true)
            .expect("a listener for tokio");
        let address = listener.local_addr().expect("a bound listener");
        let record = Arc::new(Mutex::new(ModelRecord::default()));
        let state = ModelState {
            task: Arc::new(task),
            record: Arc::clone(&record),
        };
        let router = Router::new()
            .fallback(answer)
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(state);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                axum::serve(listener, router).await.expect("serve");
            });
        });
        Self {
            url: format!("http://{address}"),
            record,
        }
    }

    /// Deletes the record of the requests, so that the next program starts with an empty record.
    pub(crate) fn reset(&self) {
        *self.record.lock().expect("no holder panics") = ModelRecord::default();
    }

    pub(crate) fn read_record(&self) -> ModelRecord {
        self.record.lock().expect("no holder panics").clone()
    }
}

async fn answer(State(state): State<ModelState>, uri: Uri, body: String) -> Response {
    let request: Value = serde_json::from_str(&body).unwrap_or_default();
    let mut record = state.record.lock().expect("no holder panics");
    record.requests.push(format!("{uri} {body}"));
    let Some(protocol) = Protocol::of_path(uri.path()) else {
        let models = json!({"object": "list", "data": [{"id": "model", "object": "model"}]});
        return json_response(&models);
    };
    let mut tools = Vec::new();
    find_tools(&request["tools"], None, state.task.tool, &mut tools);
    let tool = tools.into_iter().next();
    if let Some(tool) = &tool {
        record.tool_name = Some(tool.full_name());
    }
    if body.contains(state.task.result) {
        record.has_result = true;
    }
    let search_tool = find_search_tool(&request["tools"]);
    let turn = match (tool, search_tool) {
        _ if record.has_result => Turn::End,
        (Some(tool), _) => Turn::Call {
            tool,
            arguments: state.task.arguments.to_owned(),
        },
        // The program names its tools only in a text, and offers a tool after the model has asked
        // for its definition.
        (None, Some(search_tool)) => match find_name(&request, state.task.tool) {
            Some(name) => Turn::Call {
                tool: search_tool,
                arguments: json!({"query": format!("select:{name}")}).to_string(),
            },
            None => Turn::End,
        },
        (None, None) => Turn::End,
    };
    let is_stream = request["stream"] == true || uri.path().contains("stream");
    if is_stream {
        let events = protocol.stream(&turn);
        ([(CONTENT_TYPE, "text/event-stream")], events).into_response()
    } else {
        json_response(&protocol.whole(&turn))
    }
}

fn json_response(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// A tool as a program offers it.
#[derive(Debug, Clone)]
pub(crate) struct OfferedTool {
    pub(crate) name: String,
    /// The group of the tool, in the protocol that groups tools.
    pub(crate) namespace: Option<String>,
}

impl OfferedTool {
    fn full_name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Returns the offered tool that loads the definitions of other tools, if there is one.
fn find_search_tool(tools: &Value) -> Option<OfferedTool> {
    let mut found = Vec::new();
    for name in SEARCH_TOOLS {
        find_tools(tools, None, name, &mut found);
    }
    found.into_iter().next()
}

/// Returns the first word in any text of the value that may be a name of `tool`.
fn find_name(value: &Value, tool: &str) -> Option<String> {
    match value {
        Value::String(text) => text
            .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
            .find(|word| is_name_of(word, tool))
            .map(str::to_owned),
        Value::Array(values) => values.iter().find_map(|value| find_name(value, tool)),
        Value::Object(members) => members.values().find_map(|value| find_name(value, tool)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns whether a program may offer the tool `tool` under the name `name`.
fn is_name_of(name: &str, tool: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    words(name).ends_with(&words(tool))
}

/// Adds to `found` each offered tool that may be `tool`. Searches every place where one of the
/// protocols lists tools.
fn find_tools(value: &Value, namespace: Option<&str>, tool: &str, found: &mut Vec<OfferedTool>) {
    match value {
        Value::Array(values) => {
            for value in values {
                find_tools(value, namespace, tool, found);
            }
        }
        Value::Object(members) => {
            let name = members.get("name").and_then(Value::as_str);
            if let Some(name) = name.filter(|name| is_name_of(name, tool)) {
                found.push(OfferedTool {
                    name: name.to_owned(),
                    namespace: namespace.map(str::to_owned),
                });
                return;
            }
            let namespace = name.filter(|_| members.contains_key("tools")).or(namespace);
            for key in ["function", "functionDeclarations", "tools"] {
                find_tools(
                    members.get(key).unwrap_or(&Value::Null),
                    namespace,
                    tool,
                    found,
                );
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
