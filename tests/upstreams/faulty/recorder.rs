//! Reads incoming messages, and records lines in a file.

use std::{collections::HashMap, fs::OpenOptions, io::Write, path::Path};

use drawbridge_tests::store;
use serde_json::value::RawValue;

use crate::Options;

/// The longest part of a line that is recorded, in bytes.
const MAX_RECORDED: usize = 4096;

/// An object whose values stay raw, because a value may be one that no JSON type can hold.
pub(crate) type Object = HashMap<String, Box<RawValue>>;

/// A request, or a notification if it has no id.
pub(crate) struct Message {
    pub(crate) id: Option<String>,
    pub(crate) method: String,
    pub(crate) params: Object,
}

impl Message {
    /// Reads a message. Returns `None` if the line is a response or not JSON-RPC.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let message: Object = serde_json::from_str(line).ok()?;
        let method = serde_json::from_str(message.get("method")?.get()).ok()?;
        let params = message
            .get("params")
            .and_then(|params| serde_json::from_str(params.get()).ok());
        Some(Self {
            id: message.get("id").map(|id| id.get().to_owned()),
            method,
            params: params.unwrap_or_default(),
        })
    }
}

/// Returns the id of a response, and its result or error. Returns `None` if the line is not a
/// response.
pub(crate) fn parse_response(line: &str) -> Option<(String, String)> {
    let message: Object = serde_json::from_str(line).ok()?;
    let content = message.get("result").or_else(|| message.get("error"))?;
    Some((
        message.get("id")?.get().to_owned(),
        content.get().to_owned(),
    ))
}

/// Appends a line with a single write, so that a process killed meanwhile leaves no partial line.
pub(crate) fn record_line(file: Option<&Path>, line: &str) {
    let Some(file) = file else { return };
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .expect("open the record");
    file.write_all(format!("{line}\n").as_bytes())
        .expect("write to the record");
}

pub(crate) fn truncate_line(line: &str) -> &str {
    &line[..line.floor_char_boundary(MAX_RECORDED)]
}

/// Records a violation if the store does not contain the decision on a call that arrives.
pub(crate) fn record_if_undecided(options: &Options, params: &Object) {
    let Some(data_dir) = &options.hub_data_dir else {
        return;
    };
    let arguments = params
        .get("arguments")
        .map_or("{}", |arguments| arguments.get());
    if let Some(undecided) = store::find_undecided(data_dir, arguments) {
        record_line(options.record.as_deref(), &undecided.to_string());
    }
}

/// Returns whether the call names this tool.
pub(crate) fn is_call_of(params: &Object, tool: &str) -> bool {
    params
        .get("name")
        .is_some_and(|name| name.get().trim_matches('"') == tool)
}
