//! The kinds of things that a server offers in lists.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// The method that lists them.
    pub fn list_method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The notification that their list has changed. Resources and templates share one.
    pub fn list_changed(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources | Self::Templates => "notifications/resources/list_changed",
        }
    }

    /// The member of the list's result that holds them.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The member of a definition by which it is asked for.
    pub fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// What one of them is called.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Prompts => "prompt",
            Self::Resources => "resource",
            Self::Templates => "resource template",
        }
    }
}

/// Entries left out of a server's lists that are kept and shown by name.
const MAX_NAMED: usize = 100;
/// Of an entry's name, and of the reason, in characters.
const MAX_NAME: usize = 200;
const MAX_WHY: usize = 500;

/// An entry of a server's list that no client sees, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LeftOut {
    pub kind: Kind,
    /// The server's own name of it, or its place in the list if it has none, such as `entry 3 of tools/list`.
    pub name: String,
    /// In plain words.
    pub why: String,
}

impl LeftOut {
    /// Cuts the name and the reason if they are long.
    pub fn new(kind: Kind, name: &str, why: &str) -> Self {
        Self {
            kind,
            name: cut(name, MAX_NAME),
            why: cut(why, MAX_WHY),
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.kind.noun(), self.name, self.why)
    }
}

/// The first hundred entries left out of a server's lists, and how many more there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LeftOutEntries {
    pub entries: Vec<LeftOut>,
    /// Left out too, and not named here.
    pub more: u32,
}

impl LeftOutEntries {
    pub fn push(&mut self, entry: LeftOut) {
        if self.entries.len() < MAX_NAMED {
            self.entries.push(entry);
        } else {
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

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
