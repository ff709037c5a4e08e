//! Its ears: what it is told, and the note that it keeps of it.

use std::{collections::HashMap, fs::OpenOptions, io::Write, path::Path};

use drawbridge_tests::store;
use serde_json::value::RawValue;

use crate::Options;

/// What is kept of a line.
const KEPT: usize = 4096;

/// An object whose values are not looked into: they may be what no type of this program holds.
pub(crate) type Object = HashMap<String, Box<RawValue>>;

/// A request, or a notification where it has no id.
pub(crate) struct Message {
    pub(crate) id: Option<String>,
    pub(crate) method: String,
    pub(crate) params: Object,
}

impl Message {
    /// Nothing where it is an answer, or no JSON-RPC.
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

/// The id and the text of an answer; nothing where the line is none.
pub(crate) fn answer_of(line: &str) -> Option<(String, String)> {
    let message: Object = serde_json::from_str(line).ok()?;
    let reply = message.get("result").or_else(|| message.get("error"))?;
    Some((message.get("id")?.get().to_owned(), reply.get().to_owned()))
}

/// Appends a line in one piece: whoever ends it in the middle of its work leaves no half of one.
pub(crate) fn note(file: Option<&Path>, line: &str) {
    let Some(file) = file else { return };
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .expect("open what was heard");
    file.write_all(format!("{line}\n").as_bytes())
        .expect("write what was heard");
}

pub(crate) fn beginning(line: &str) -> &str {
    &line[..line.floor_char_boundary(KEPT)]
}

/// Looks whether the store holds the decision about this very call, now that it arrives.
pub(crate) fn look_up(options: &Options, params: &Object) {
    let Some(data_dir) = &options.store else {
        return;
    };
    let arguments = params
        .get("arguments")
        .map_or("{}", |arguments| arguments.get());
    if let Some(undecided) = store::undecided(data_dir, arguments) {
        note(options.heard.as_deref(), &undecided.to_string());
    }
}

/// Whether that tool is called.
pub(crate) fn names(params: &Object, tool: &str) -> bool {
    params
        .get("name")
        .is_some_and(|name| name.get().trim_matches('"') == tool)
}
