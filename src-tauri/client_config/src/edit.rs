//! The changes that Drawbridge makes to a file. A change concerns an entry among the servers
//! (Drawbridge's own, or one that was imported) or Drawbridge's text in a list of permissions. Each
//! change is defined by its effect on the parsed file, and every format has to produce exactly this
//! effect or refuse the change.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A server in a client's notation. The members keep their order, because people read them.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Entry(pub(crate) Vec<(String, Value)>);

impl Entry {
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    /// Returns the entry as JSON.
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.iter().cloned().collect())
    }
}

/// The part of a file that has the servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// The keys from the root of the file.
    pub path: Vec<String>,
    /// Whether the servers are a list, whose entries have a member `name`, and not a map by name.
    pub is_list: bool,
}

impl Container {
    /// Returns the names and entries of the servers in a parsed file.
    pub(crate) fn entries<'a>(&self, root: &'a Value) -> Vec<(String, &'a Value)> {
        match value_at(root, &self.path) {
            Some(Value::Object(map)) if !self.is_list => map
                .iter()
                .map(|(name, entry)| (name.clone(), entry))
                .collect(),
            Some(Value::Array(list)) if self.is_list => list
                .iter()
                .filter_map(|entry| Some((name_of(entry)?.to_owned(), entry)))
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// One change to a file.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Edit {
    SetEntry {
        container: Container,
        name: String,
        entry: Entry,
    },
    RemoveEntry {
        container: Container,
        name: String,
    },
    /// Adds a text to a list of texts. The list is created if it is missing.
    AddText {
        list: Vec<String>,
        text: String,
    },
    RemoveText {
        list: Vec<String>,
        text: String,
    },
}

/// Shows only the place of the change, because an entry may contain a secret.
impl fmt::Debug for Edit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Edit({})", self.path().join("."))
    }
}

impl Edit {
    /// Performs the change on a parsed file. Returns false if an entry or a text cannot be added,
    /// because the file has another value where the servers or texts should be.
    pub(crate) fn apply(&self, root: &mut Value) -> bool {
        match self {
            Self::SetEntry {
                container,
                name,
                entry,
            } => set_entry(root, container, name, entry),
            Self::RemoveEntry { container, name } => {
                match value_at_mut(root, &container.path) {
                    Some(Value::Object(map)) => drop(map.remove(name)),
                    Some(Value::Array(list)) => {
                        list.retain(|entry| name_of(entry) != Some(name));
                    }
                    _ => {}
                }
                true
            }
            Self::AddText { list, text } => {
                let Some(Value::Array(texts)) = get_or_create(root, list, Value::Array(Vec::new()))
                else {
                    return false;
                };
                if !texts.iter().any(|other| other == text) {
                    texts.push(text.clone().into());
                }
                true
            }
            Self::RemoveText { list, text } => {
                if let Some(Value::Array(texts)) = value_at_mut(root, list) {
                    texts.retain(|other| other != text);
                }
                true
            }
        }
    }

    /// Returns the keys from the root to the map or list that is changed.
    pub(crate) fn path(&self) -> &[String] {
        match self {
            Self::SetEntry { container, .. } | Self::RemoveEntry { container, .. } => {
                &container.path
            }
            Self::AddText { list, .. } | Self::RemoveText { list, .. } => list,
        }
    }
}

fn set_entry(root: &mut Value, container: &Container, name: &str, entry: &Entry) -> bool {
    let empty = if container.is_list {
        Value::Array(Vec::new())
    } else {
        Value::Object(Map::new())
    };
    match get_or_create(root, &container.path, empty) {
        Some(Value::Object(map)) if !container.is_list => {
            map.insert(name.to_owned(), entry.to_value());
            true
        }
        Some(Value::Array(list)) if container.is_list => {
            match list.iter_mut().find(|other| name_of(other) == Some(name)) {
                Some(other) => *other = entry.to_value(),
                None => list.push(entry.to_value()),
            }
            true
        }
        _ => false,
    }
}

/// Returns the name of an entry in a list.
pub(crate) fn name_of(entry: &Value) -> Option<&str> {
    entry.get("name").and_then(Value::as_str)
}

fn value_at<'a>(root: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(root, |value, key| value.get(key))
}

fn value_at_mut<'a>(root: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter()
        .try_fold(root, |value, key| value.get_mut(key.as_str()))
}

/// Returns the value at a path. Creates the parts of the path that are missing or `null`; the last
/// part becomes `empty`. Returns `None` if the root, or a part of the path before the last, is no
/// map.
fn get_or_create<'a>(root: &'a mut Value, path: &[String], empty: Value) -> Option<&'a mut Value> {
    let mut value = root;
    for key in path {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        value = value
            .as_object_mut()?
            .entry(key.clone())
            .or_insert(Value::Null);
    }
    if value.is_null() {
        *value = empty;
    }
    Some(value)
}

/// Removes the empty maps, empty lists and nulls at the end of a path, because not every format can
/// write them.
pub(crate) fn prune(root: &mut Value, path: &[String]) {
    for length in (1..=path.len()).rev() {
        let is_empty = match value_at(root, &path[..length]) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if !is_empty {
            return;
        }
        if let Some(Value::Object(parent)) = value_at_mut(root, &path[..length - 1]) {
            parent.remove(&path[length - 1]);
        }
    }
}
