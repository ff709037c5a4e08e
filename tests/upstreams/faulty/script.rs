//! Answers and other output that a file defines. The server reads the file again for each request.
//!
//! ```json
//! {"initialize": {"result": {…}}, "prompts/list": {"error": {…}},
//!  "tools/call NAME": {"result": {…}}, "tools/call": {"result": {…}},
//!  "tools/list CLIENT": {"result": {…}}, "tools/list": {"result": {…}},
//!  "until": {"tools/list CLIENT": "FILE"},
//!  "stderr": ["a line at its start"], "notifications": [{…}]}
//! ```
//! CLIENT is the name of the client in the `_meta` of a request. An answer under `until` waits
//! until FILE exists. The notifications are sent before an answer of the file to `tools/call`. Text
//! that Rust's JSON types cannot hold, such as half a surrogate, is sent exactly as the file
//! contains it.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use serde_json::{Value, json, value::RawValue};

use crate::{floods::wait_until_released, output::write_line, recorder::Object};

pub(crate) struct Script(Object);

impl Script {
    pub(crate) fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file).expect("read the script");
        Self(serde_json::from_str(&text).expect("an object of answers"))
    }

    /// Writes the file's `stderr` lines.
    pub(crate) fn write_stderr_lines(&self) {
        let Some(lines) = self.0.get("stderr") else {
            return;
        };
        let lines: Vec<String> = serde_json::from_str(lines.get()).expect("a list of lines");
        // The reader of stderr may be gone.
        let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
    }

    /// Answers a request if the file has an answer to it. Returns whether the file has one.
    pub(crate) fn answer(&self, id: &str, method: &str, params: &Object) -> bool {
        let name: Option<String> = params
            .get("name")
            .and_then(|name| serde_json::from_str(name.get()).ok());
        let name = name.or_else(|| client_name(params));
        let key = name.map(|name| format!("{method} {name}"));
        let key = key.filter(|key| self.0.contains_key(key));
        let key = key.as_deref().unwrap_or(method);
        let Some(answer) = self.0.get(key) else {
            return false;
        };
        if let Some(files) = self.0.get("until") {
            let files: Value = serde_json::from_str(files.get()).expect("an object of files");
            wait_until_released(&json!({"until": files[key]}));
        }
        if method == "tools/call" {
            self.send_notifications();
        }
        let rest = answer
            .get()
            .trim_start()
            .strip_prefix('{')
            .expect("an object with result or error");
        write_line(format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}"#));
        true
    }

    fn send_notifications(&self) {
        let Some(list) = self.0.get("notifications") else {
            return;
        };
        let messages: Vec<Box<RawValue>> =
            serde_json::from_str(list.get()).expect("a list of notifications");
        messages
            .iter()
            .for_each(|message| write_line(message.get()));
    }
}

fn client_name(params: &Object) -> Option<String> {
    let meta: Value = serde_json::from_str(params.get("_meta")?.get()).ok()?;
    let name = &meta["io.modelcontextprotocol/clientInfo"]["name"];
    name.as_str().map(str::to_owned)
}
