//! The kinds of capabilities that a server lists, and the excluded entries of its lists.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum CapabilityKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl CapabilityKind {
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// Returns the method that lists this kind.
    pub fn list_method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// Returns the notification of a changed list. Resources and templates share a notification.
    pub fn list_changed_method(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources | Self::Templates => "notifications/resources/list_changed",
        }
    }

    /// Returns the member of the list's result that holds the definitions.
    pub fn list_member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// Returns the member of a definition to which requests refer.
    pub fn key_member(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// Returns the noun for one item of this kind.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Prompts => "prompt",
            Self::Resources => "resource",
            Self::Templates => "resource template",
        }
    }
}

/// The maximum number of a server's excluded entries that are kept with their names.
const MAX_ENTRIES: usize = 100;
/// The longest name of an excluded entry, in characters.
const MAX_NAME: usize = 200;
/// The longest reason, in characters.
const MAX_REASON: usize = 500;

/// An excluded entry of a server's list, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct ExcludedEntry {
    pub kind: CapabilityKind,
    /// The server's own name of the entry, or the entry's place in the list if it has no name, such
    /// as `entry 3 of tools/list`.
    pub name: String,
    /// The reason in plain words.
    // Databases of earlier versions have the name `why`.
    #[serde(alias = "why")]
    pub reason: String,
}

impl ExcludedEntry {
    /// Creates an entry, and shortens a long name and a long reason.
    pub fn new(kind: CapabilityKind, name: &str, reason: &str) -> Self {
        Self {
            kind,
            name: truncate(name, MAX_NAME),
            reason: truncate(reason, MAX_REASON),
        }
    }
}

impl fmt::Display for ExcludedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.kind.noun(), self.name, self.reason)
    }
}

/// Up to 100 excluded entries of a server's lists, and the number of further entries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct ExcludedEntries {
    pub entries: Vec<ExcludedEntry>,
    /// The number of excluded entries that are not named here.
    pub more: u32,
}

impl ExcludedEntries {
    pub fn push(&mut self, entry: ExcludedEntry) {
        if self.entries.len() < MAX_ENTRIES {
            self.entries.push(entry);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// Adds an entry before the others, so that it is named even if there are many. If there are too
    /// many, the last named entry is only counted from then on.
    pub fn push_first(&mut self, entry: ExcludedEntry) {
        self.entries.insert(0, entry);
        if self.entries.len() > MAX_ENTRIES {
            self.entries.pop();
            self.more = self.more.saturating_add(1);
        }
    }

    pub fn extend(&mut self, other: Self) {
        other.entries.into_iter().for_each(|entry| self.push(entry));
        self.more = self.more.saturating_add(other.more);
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
