//! The tools. Their arguments control their behaviour.

use std::{
    process::exit,
    sync::{PoisonError, mpsc},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    Server, answer, floods,
    output::{write_line, write_piece},
    recorder::Object,
};

pub(crate) const TOOLS: [&str; 12] = [
    "echo",
    "nonce",
    "hang",
    "ask",
    "die",
    "stop_reading",
    "flood",
    "non_jsonrpc_lines",
    "large",
    "deep",
    "measure",
    "say",
];

impl Server {
    /// Answers a call, unless the tool leaves it unanswered.
    pub(crate) fn answer_call(&self, id: &str, params: &Object) {
        let raw = params
            .get("arguments")
            .map_or("{}", |arguments| arguments.get());
        // `null` if the arguments are nested more deeply than serde_json reads.
        let arguments: Value = serde_json::from_str(raw).unwrap_or_default();
        let name: String = params
            .get("name")
            .and_then(|name| serde_json::from_str(name.get()).ok())
            .unwrap_or_default();
        match name.as_str() {
            // Answers with the arguments after `ms` milliseconds.
            "echo" => {
                sleep_for_ms(&arguments);
                answer(id, &text_result(raw));
            }
            // Answers with `nonce` after `steps` progress notifications.
            "nonce" => answer_with_progress(id, params, &arguments),
            // Answers only after the call is cancelled.
            "hang" => drop(
                self.hanging
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(id.to_owned()),
            ),
            // Sends a request to the client, and answers with the client's answer. If the client
            // does not answer within `ms` milliseconds, says so. Also withdraws the request if
            // `withdraw` is true.
            "ask" => self.ask_client(id, &arguments),
            "die" => {
                sleep_for_ms(&arguments);
                exit(3);
            }
            // The main loop stops reading after this call.
            "stop_reading" => answer(id, &text_result("nothing is read any more")),
            "flood" => {
                floods::write_flood(&arguments, progress_token(params).as_deref());
                answer(id, &text_result("the flood is over"));
            }
            "non_jsonrpc_lines" => {
                floods::write_non_jsonrpc_lines(&arguments);
                answer(id, &text_result("after the lines"));
            }
            // Answers with a text of `bytes` bytes. Writes the end of the answer only when the file
            // that `until` names exists.
            "large" => {
                let bytes = number(&arguments, "bytes");
                write_piece(format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{}"#,
                    "x".repeat(bytes)
                ));
                floods::wait_until_released(&arguments);
                write_line(r#""}]}}"#);
            }
            // Answers with structured content in which `levels` lists are nested.
            "deep" => {
                let levels = number(&arguments, "levels");
                write_line(format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{{"deep":{}{}}}}}}}"#,
                    "[".repeat(levels),
                    "]".repeat(levels)
                ));
            }
            // Writes `line` with `$ID` replaced by the id of the call.
            "say" => write_line(
                arguments["line"]
                    .as_str()
                    .unwrap_or_default()
                    .replace("$ID", id),
            ),
            // Answers with the length of the arguments in bytes.
            "measure" => answer(id, &text_result(&raw.len().to_string())),
            other if self.options.tools.is_none() => {
                panic!("the hub called the unknown tool {other}")
            }
            // A tool from the file that `--tools` names.
            _ => answer(
                id,
                &text_result(
                    &json!({"called": name, "with": arguments, "pid": std::process::id()})
                        .to_string(),
                ),
            ),
        }
    }
}

impl Server {
    fn ask_client(&self, id: &str, arguments: &Value) {
        let (sender, answered) = mpsc::channel();
        let request_id = format!("\"question-{}\"", id.trim_matches('"'));
        self.pending_requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(request_id.clone(), sender);
        let form =
            json!({"message": "Well?", "requestedSchema": {"type": "object", "properties": {}}});
        write_line(format!(
            r#"{{"jsonrpc":"2.0","id":{request_id},"method":"elicitation/create","params":{form}}}"#
        ));
        let timeout = Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0));
        if let Ok(response) = answered.recv_timeout(timeout) {
            return answer(id, &text_result(&response));
        }
        if arguments["withdraw"] == true {
            write_line(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{request_id},"reason":"too late"}}}}"#
            ));
        }
        answer(id, &text_result("nobody answered"));
    }
}

fn answer_with_progress(id: &str, params: &Object, arguments: &Value) {
    for step in 0..number(arguments, "steps") {
        if let Some(token) = progress_token(params) {
            let message = &arguments["nonce"];
            write_line(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step},"message":{message}}}}}"#
            ));
        }
        sleep_for_ms(arguments);
    }
    answer(id, &text_result(&arguments["nonce"].to_string()));
}

pub(crate) fn text_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub(crate) fn number(arguments: &Value, name: &str) -> usize {
    usize::try_from(arguments[name].as_u64().unwrap_or(0)).expect("a small number")
}

fn sleep_for_ms(arguments: &Value) {
    thread::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0)));
}

fn progress_token(params: &Object) -> Option<String> {
    let meta: Object = serde_json::from_str(params.get("_meta")?.get()).ok()?;
    Some(meta.get("progressToken")?.get().to_owned())
}
