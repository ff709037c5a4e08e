//! Everything that the gate decides besides plain calls: a prompt, resources, completions, tasks,
//! and requests to the client. Each text of a prompt, a resource or a task contains a token.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    sync::Mutex,
};

use serde_json::{Value, json};

use super::{Object, Options, read_line, record_line, string_member, text_result};

/// A text with a token that looks like a secret.
const TEXT: &str = "the token is ghp_0123456789abcdefghijABCDEFGHIJ456789";
/// The id of the only task.
const TASK: &str = "task-1";

pub(crate) fn capabilities() -> Value {
    json!({
        "tools": {}, "prompts": {}, "resources": {"subscribe": true}, "completions": {},
        "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
    })
}

/// Answers a request other than a call.
pub(crate) fn answer(options: &Options, method: &str, params: &Object) -> Option<String> {
    if !options.guarded {
        return None;
    }
    let uri = || string_member(params, "uri").unwrap_or_default();
    let task = |status: &str| {
        json!({"taskId": TASK, "status": status, "createdAt": "2026-01-01T00:00:00Z",
               "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": null})
    };
    let result = match method {
        "prompts/list" => json!({"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]}),
        "prompts/get" => {
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": TEXT}}]})
        }
        "resources/list" => json!({"resources": [{"uri": "probe://a", "name": "a"}]}),
        "resources/templates/list" => {
            json!({"resourceTemplates": [{"uriTemplate": "probe://t/{x}", "name": "t"}]})
        }
        "resources/read" => json!({"contents": [{"uri": uri(), "text": TEXT}]}),
        "resources/subscribe" | "resources/unsubscribe" => json!({}),
        "completion/complete" => json!({"completion": {"values": ["x"]}}),
        "tasks/get" => task("completed"),
        "tasks/cancel" => task("cancelled"),
        "tasks/result" => json!({"content": [{"type": "text", "text": TEXT}]}),
        _ => return None,
    };
    Some(result.to_string())
}

/// Returns the error that requires a visit to a URL, if the tool is `ask` and the arguments have a
/// URL. Only the first call with each URL gets this error.
pub(crate) fn required_url(options: &Options, params: &Object) -> Option<Value> {
    static VISITED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if !options.guarded || string_member(params, "name").as_deref() != Some("ask") {
        return None;
    }
    let arguments: Value = serde_json::from_str(params.get("arguments")?.get()).expect("JSON");
    let url = arguments["url"].as_str()?;
    let is_new = VISITED.lock().expect("no panic").insert(url.to_owned());
    is_new.then(|| {
        let elicitation = json!({"mode": "url", "elicitationId": url, "url": url,
                                 "message": "Sign in first"});
        json!({"code": -32042, "message": "A URL must be visited first",
               "data": {"elicitations": [elicitation]}})
    })
}

/// Answers a call of `ask`, or a call that asks for a task. Returns `None` for any other call.
pub(crate) fn call(options: &Options, params: &Object) -> Option<String> {
    if !options.guarded {
        return None;
    }
    if params.contains_key("task") {
        let task = json!({"taskId": TASK, "status": "working", "createdAt": "2026-01-01T00:00:00Z",
                          "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": null});
        return Some(json!({"task": task}).to_string());
    }
    if string_member(params, "name").as_deref() != Some("ask") {
        return None;
    }
    let arguments: Value = serde_json::from_str(params.get("arguments")?.get()).expect("JSON");
    if arguments["url"].is_string() {
        return Some(text_result("the URL was visited"));
    }
    let request = json!({"jsonrpc": "2.0", "id": "ask-1", "method": arguments["method"], "params": arguments["params"]});
    println!("{request}");
    io::stdout().flush().expect("write to stdout");
    while let Some(line) = read_line() {
        record_line(options, &line);
        let message: Value = serde_json::from_str(&line).expect("JSON");
        if message["id"] == "ask-1" {
            return Some(text_result(&message.to_string()));
        }
    }
    None
}
