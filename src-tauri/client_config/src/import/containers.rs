//! Finds the entries of servers in a text in a known format, wherever a client keeps them.

use std::path::PathBuf;

use serde_json::Value;

use super::{Document, ImportError, RawEntry, limits, variables::InputDefinition};
use crate::{
    connection::URL_MEMBERS,
    edit,
    format::{Format, SyntaxError},
};

/// The keys that lead to servers in the files of clients.
const CONTAINERS: [(&[&str], Contents); 10] = [
    (&["mcpServers"], Contents::Servers),
    (&["context_servers"], Contents::Servers),
    (&["mcp_servers"], Contents::Servers),
    (&["amp.mcpServers"], Contents::Servers),
    (&["mcp", "servers"], Contents::Servers),
    (&["settings", "mcp", "servers"], Contents::Servers),
    (&["extensions"], Contents::Extensions),
    (&["servers"], Contents::Mixed),
    (&["mcp"], Contents::Mixed),
    (&["amp", "mcpServers"], Contents::Mixed),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    Servers,
    /// Servers, and other extensions, which have a `type`.
    Extensions,
    /// Servers and other members.
    Mixed,
}

/// Returns the entries of a text in a known format.
pub(super) fn read_as(format: Format, text: &str) -> Result<Document, ImportError> {
    if format == Format::Yaml && !limits::is_within_limits(text) {
        return Err(ImportError::TooComplex);
    }
    let root = format
        .parse(text)
        .map_err(|source| ImportError::Syntax { format, source })?;
    Ok(read(root))
}

/// Returns the entries of a JSON text that a command line contains.
pub(super) fn read_json(text: &str) -> Result<Vec<RawEntry>, SyntaxError> {
    let root = Format::Jsonc.parse(text)?;
    Ok(read(root).entries)
}

pub(super) fn read(root: Value) -> Document {
    let mut entries = Vec::new();
    if is_entry(&root) {
        entries.push(raw_entry(String::new(), root, Vec::new()));
        return Document {
            entries,
            ..Document::default()
        };
    }
    collect(&root, &mut entries);
    collect_from_projects(&root, &mut entries);
    if entries.is_empty() {
        add_members(&root, &[], Contents::Mixed, &mut entries);
    }
    let inputs = [&root["inputs"], &root["mcp"]["inputs"]];
    Document {
        entries,
        inputs: inputs
            .into_iter()
            .filter_map(Value::as_array)
            .flatten()
            .filter_map(InputDefinition::read)
            .collect(),
    }
}

fn collect(root: &Value, entries: &mut Vec<RawEntry>) {
    for (path, contents) in CONTAINERS {
        let found = path.iter().try_fold(root, |value, key| value.get(*key));
        if let Some(container) = found {
            add_members(container, path, contents, entries);
        }
    }
}

/// Collects the servers of single projects, which Claude Code keeps in its global file.
fn collect_from_projects(root: &Value, entries: &mut Vec<RawEntry>) {
    let projects = root.get("projects").and_then(Value::as_object);
    for (folder, settings) in projects.into_iter().flatten() {
        let Some(servers) = settings.get("mcpServers") else {
            continue;
        };
        let start = entries.len();
        let path = ["projects", folder, "mcpServers"];
        add_members(servers, &path, Contents::Servers, entries);
        for entry in &mut entries[start..] {
            entry.project = Some(PathBuf::from(folder));
        }
    }
}

fn add_members(value: &Value, path: &[&str], contents: Contents, entries: &mut Vec<RawEntry>) {
    let is_listed = |entry: &Value| match contents {
        Contents::Servers => true,
        Contents::Extensions => is_entry(entry) || entry.get("type").is_some(),
        Contents::Mixed => is_entry(entry),
    };
    let keys = |name: &str| {
        let path = path.iter().map(|key| (*key).to_owned());
        path.chain([name.to_owned()]).collect()
    };
    match value {
        Value::Object(members) => {
            for (name, entry) in members.iter().filter(|(_, entry)| is_listed(entry)) {
                entries.push(raw_entry(name.clone(), entry.clone(), keys(name)));
            }
        }
        Value::Array(list) => {
            for (index, entry) in list
                .iter()
                .enumerate()
                .filter(|(_, entry)| is_listed(entry))
            {
                let name = edit::name_of(entry).unwrap_or_default().to_owned();
                let key = if name.is_empty() {
                    index.to_string()
                } else {
                    name.clone()
                };
                entries.push(raw_entry(name, entry.clone(), keys(&key)));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn raw_entry(name: String, entry: Value, keys: Vec<String>) -> RawEntry {
    let name = if name.is_empty() {
        edit::name_of(&entry).unwrap_or_default().to_owned()
    } else {
        name
    };
    RawEntry {
        name,
        entry,
        keys,
        line: None,
        project: None,
    }
}

/// Returns whether a value describes a server.
fn is_entry(value: &Value) -> bool {
    let is_command = |value: &Value| {
        value.is_string() || value.is_array() || value.get("path").is_some_and(Value::is_string)
    };
    let has_command = ["command", "cmd"]
        .iter()
        .any(|name| value.get(*name).is_some_and(is_command));
    has_command
        || URL_MEMBERS
            .iter()
            .any(|name| value.get(*name).is_some_and(Value::is_string))
}
