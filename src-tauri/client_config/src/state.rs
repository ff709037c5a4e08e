//! Whether a client is connected, and how its entry differs from the entry that Drawbridge writes.

use drawbridge_model::digest;
use serde_json::Value;

use crate::{
    Client, SERVER_NAME,
    client::{AskOnce, ConfigFile},
    connection::{Connection, may_be_own_entry},
    diff::show_member,
    edit::Container,
    file,
    format::Source,
};

/// The state of one configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// There is no file, or it has no entry of Drawbridge.
    NotConnected,
    /// The entry with this name is as Drawbridge writes it.
    Connected { entry: String },
    /// The entry with this name is not as Drawbridge writes it.
    Drifted {
        entry: String,
        /// The differences in words.
        differences: Vec<String>,
    },
    /// The file cannot be read or used, for this reason.
    Broken { reason: String },
}

/// An entry of Drawbridge in a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnEntry {
    pub(crate) name: String,
    pub(crate) value: Value,
}

impl Client {
    /// Returns the state of one of the client's files. With `ask_once`, an entry that does not
    /// leave approval to Drawbridge has drifted.
    pub fn inspect(
        &self,
        config: &ConfigFile,
        connection: &Connection,
        ask_once: Option<&AskOnce>,
    ) -> FileState {
        let broken = |reason: String| FileState::Broken { reason };
        if let Some(other) = &config.conflict {
            return broken(format!(
                "{} exists too, and the client reads only one of them",
                other.display()
            ));
        }
        let bytes = match file::read(&config.path) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(error) => return broken(error.to_string()),
        };
        let Some(source) = Source::decode(&bytes) else {
            return broken("the file is not text in UTF-8".to_owned());
        };
        let root = match self.format.parse(&source.text) {
            Ok(root) => root,
            Err(error) => return broken(error.to_string()),
        };
        let own_entry = match find_own_entry(&root, &self.container(), connection) {
            Ok(Some(own_entry)) => own_entry,
            Ok(None) => return FileState::NotConnected,
            Err(()) => {
                return broken(format!(
                    "the file has a server named '{SERVER_NAME}' that is not Drawbridge"
                ));
            }
        };
        let differences = self.differences(&own_entry.value, connection, ask_once);
        if differences.is_empty() {
            FileState::Connected {
                entry: own_entry.name,
            }
        } else {
            FileState::Drifted {
                entry: own_entry.name,
                differences,
            }
        }
    }

    /// Returns the SHA-256 of Drawbridge's entry in a file, in hex, or `None` if there is no entry.
    pub fn own_entry_digest(&self, config: &ConfigFile, connection: &Connection) -> Option<String> {
        let source = Source::decode(&file::read(&config.path).ok()??)?;
        let root = self.format.parse(&source.text).ok()?;
        let own_entry = find_own_entry(&root, &self.container(), connection).ok()??;
        Some(digest::sha256(own_entry.value.to_string().as_bytes()))
    }

    /// Returns how an entry differs from the entry that Drawbridge writes. Ignores further members,
    /// which are the person's own.
    fn differences(
        &self,
        value: &Value,
        connection: &Connection,
        ask_once: Option<&AskOnce>,
    ) -> Vec<String> {
        let mut differences = Vec::new();
        if value.get("disabled") == Some(&Value::Bool(true))
            || value.get("enabled") == Some(&Value::Bool(false))
        {
            differences.push("the entry is disabled".to_owned());
        }
        let Some(expected) = self.entry(connection, ask_once) else {
            return differences;
        };
        for (name, expected) in &expected.0 {
            if name == "name" || name == "enabled" {
                continue;
            }
            match value.get(name) {
                Some(found) if found == expected => {}
                Some(found) => differences.push(format!(
                    "'{name}' is {}, not {}",
                    show_member(name, found),
                    show_member(name, expected)
                )),
                None if is_empty(expected) => {}
                None => differences.push(format!("'{name}' is missing")),
            }
        }
        differences
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns the entry of Drawbridge in a file: the entry named [`SERVER_NAME`] if it leads to
/// Drawbridge, or else the first entry that reaches this endpoint. Returns an error if neither
/// exists, and the name belongs to another server.
pub(crate) fn find_own_entry(
    root: &Value,
    container: &Container,
    connection: &Connection,
) -> Result<Option<OwnEntry>, ()> {
    let entries = container.entries(root);
    let to_own_entry = |(name, value): &(String, &Value)| OwnEntry {
        name: name.clone(),
        value: (*value).clone(),
    };
    let reaches = |(_, value): &&(String, &Value)| connection.is_reached_by(value);
    let has_own_name = |(name, _): &&(String, &Value)| name == SERVER_NAME;
    // The entry with this name comes first, because a person may have further entries that start
    // the bridge, for other clients.
    if let Some(named) = entries.iter().find(has_own_name) {
        if connection.is_reached_by(named.1) || may_be_own_entry(named.1) {
            return Ok(Some(to_own_entry(named)));
        }
        return match entries.iter().find(reaches) {
            Some(other) => Ok(Some(to_own_entry(other))),
            None => Err(()),
        };
    }
    Ok(entries.iter().find(reaches).map(to_own_entry))
}
