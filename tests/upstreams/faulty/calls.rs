//! Its tools. What they are told is in their arguments.

use std::{
    process::exit,
    sync::{PoisonError, mpsc},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{Server, answer, floods, hearing::Object, voice::say};

pub(crate) const TOOLS: [&str; 12] = [
    "echo", "nonce", "hang", "ask", "die", "deafen", "flood", "noise", "large", "deep", "measure",
    "say",
];

impl Server {
    /// Answers a call, or does not.
    pub(crate) fn call(&self, id: &str, params: &Object) {
        let raw = params
            .get("arguments")
            .map_or("{}", |arguments| arguments.get());
        // Too deep for this type it is nothing.
        let arguments: Value = serde_json::from_str(raw).unwrap_or_default();
        let name: String = params
            .get("name")
            .and_then(|name| serde_json::from_str(name.get()).ok())
            .unwrap_or_default();
        match name.as_str() {
            // After `ms` milliseconds.
            "echo" => {
                pause(&arguments);
                answer(id, &text(raw));
            }
            // After `steps` messages of progress.
            "nonce" => nonce(id, params, &arguments),
            // Not before it is cancelled.
            "hang" => drop(
                self.hanging
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(id.to_owned()),
            ),
            // What a person says, or that nobody did within `ms` milliseconds.
            "ask" => self.ask(id, &arguments),
            "die" => {
                pause(&arguments);
                exit(3);
            }
            // And reads nothing any more.
            "deafen" => answer(id, &text("nothing is read any more")),
            "flood" => {
                floods::flood(&arguments, progress_token(params).as_deref());
                answer(id, &text("the flood is over"));
            }
            "noise" => {
                floods::noise(&arguments);
                answer(id, &text("after the noise"));
            }
            // A text of `bytes`.
            "large" => {
                let bytes = number(&arguments, "bytes");
                say(format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{}"}}]}}}}"#,
                    "x".repeat(bytes)
                ));
            }
            // Structured content with so many `levels`.
            "deep" => {
                let levels = number(&arguments, "levels");
                say(format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{{"deep":{}{}}}}}}}"#,
                    "[".repeat(levels),
                    "]".repeat(levels)
                ));
            }
            // The `line`, with the id of the call in the place of `$ID`.
            "say" => say(arguments["line"]
                .as_str()
                .unwrap_or_default()
                .replace("$ID", id)),
            // How long the arguments are.
            "measure" => answer(id, &text(&raw.len().to_string())),
            other if self.options.tools.is_none() => {
                panic!("the hub called {other}, which is not there")
            }
            // One of its file.
            _ => answer(
                id,
                &text(
                    &json!({"called": name, "with": arguments, "pid": std::process::id()})
                        .to_string(),
                ),
            ),
        }
    }
}

impl Server {
    fn ask(&self, id: &str, arguments: &Value) {
        let (sender, answered) = mpsc::channel();
        let question = format!("\"question-{}\"", id.trim_matches('"'));
        self.asking
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(question.clone(), sender);
        let form =
            json!({"message": "Well?", "requestedSchema": {"type": "object", "properties": {}}});
        say(format!(
            r#"{{"jsonrpc":"2.0","id":{question},"method":"elicitation/create","params":{form}}}"#
        ));
        let patience = Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0));
        if let Ok(said) = answered.recv_timeout(patience) {
            return answer(id, &text(&said));
        }
        if arguments["withdraw"] == true {
            say(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{question},"reason":"too late"}}}}"#
            ));
        }
        answer(id, &text("nobody answered"));
    }
}

fn nonce(id: &str, params: &Object, arguments: &Value) {
    for step in 0..number(arguments, "steps") {
        if let Some(token) = progress_token(params) {
            let message = &arguments["nonce"];
            say(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step},"message":{message}}}}}"#
            ));
        }
        pause(arguments);
    }
    answer(id, &text(&arguments["nonce"].to_string()));
}

pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub(crate) fn number(arguments: &Value, name: &str) -> usize {
    usize::try_from(arguments[name].as_u64().unwrap_or(0)).expect("a small number")
}

fn pause(arguments: &Value) {
    thread::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0)));
}

fn progress_token(params: &Object) -> Option<String> {
    let meta: Object = serde_json::from_str(params.get("_meta")?.get()).ok()?;
    Some(meta.get("progressToken")?.get().to_owned())
}
