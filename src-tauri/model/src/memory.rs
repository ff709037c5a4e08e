//! Entries of the built-in memory server, which AI clients and people store for a user.

use serde::{Deserialize, Serialize};

use super::ids::{ClientName, Timestamp, UserName};

/// The longest content of an entry, in bytes.
pub const MAX_CONTENT_BYTES: usize = 16 * 1024;
/// The most entries of a user.
pub const MAX_ENTRIES: u32 = 5_000;
/// The most tags of an entry.
pub const MAX_TAGS: usize = 16;
/// The longest name of a category or tag, in characters.
pub const MAX_LABEL_CHARS: usize = 64;
/// The category of an entry for which no category is given.
pub const DEFAULT_CATEGORY: &str = "general";

/// An entry of the memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct MemoryEntry {
    /// No other entry ever gets this id, even after the entry is deleted.
    pub id: u32,
    pub user: UserName,
    /// The client that stored the entry; null if a person did.
    pub client: Option<ClientName>,
    pub content: String,
    pub category: String,
    /// Sorted, without duplicates.
    pub tags: Vec<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A category of a user's entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct MemoryCategory {
    pub user: UserName,
    pub name: String,
    /// The number of entries.
    pub entries: u32,
    /// When an entry of the category was last stored or changed.
    pub updated_at: Timestamp,
}

/// The position of the next page of entries. Entries that are stored later do not appear on the
/// pages and do not shift them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct MemoryCursor {
    pub offset: u32,
    /// The highest id that existed when the first page was read.
    pub max_id: u32,
}

/// A page of entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct MemoryPage {
    pub entries: Vec<MemoryEntry>,
    /// The position of the next page; null if this page is the last.
    pub next: Option<MemoryCursor>,
}

/// The content of an entry with its labels, within the limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryText {
    content: String,
    category: String,
    tags: Vec<String>,
}

/// The reason why an entry cannot be stored, for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    #[error("the content is empty")]
    Empty,
    #[error(
        "the content has {0} bytes, and an entry may have at most {MAX_CONTENT_BYTES}; shorten it, or split it into several \
         entries"
    )]
    TooLong(usize),
    #[error(
        "{noun} must have 1 to {MAX_LABEL_CHARS} characters and no control characters, not {found:?}"
    )]
    BadLabel { noun: &'static str, found: String },
    #[error("{0} tags were given, and an entry may have at most {MAX_TAGS}")]
    TooManyTags(usize),
    #[error(
        "the user '{0}' already has {MAX_ENTRIES} entries, the most that are allowed; delete some on the Memory screen or \
         with `drawbridge memory delete`"
    )]
    Full(UserName),
}

impl MemoryText {
    /// Checks the content and its labels. Trims the labels and puts them in lower case, so that two
    /// spellings do not become two categories. Sorts the tags and removes duplicates.
    ///
    /// # Errors
    /// Returns an error if a limit is exceeded, if the content or a label is empty, or if a label
    /// contains a control character.
    pub fn new(
        content: &str,
        category: Option<&str>,
        tags: &[String],
    ) -> Result<Self, MemoryError> {
        if content.trim().is_empty() {
            return Err(MemoryError::Empty);
        }
        if content.len() > MAX_CONTENT_BYTES {
            return Err(MemoryError::TooLong(content.len()));
        }
        if tags.len() > MAX_TAGS {
            return Err(MemoryError::TooManyTags(tags.len()));
        }
        let category = normalize_label("a category", category.unwrap_or(DEFAULT_CATEGORY))?;
        let mut tags = normalize_tags(tags)?;
        tags.sort_unstable();
        tags.dedup();
        Ok(Self {
            content: content.to_owned(),
            category,
            tags,
        })
    }

    pub fn content(&self) -> &str {
        &self.content
    }

    pub fn category(&self) -> &str {
        &self.category
    }

    pub fn tags(&self) -> &[String] {
        &self.tags
    }
}

/// Returns a category as it is stored.
///
/// # Errors
/// Returns an error if the name is empty, too long, or contains a control character.
pub fn normalize_category(category: &str) -> Result<String, MemoryError> {
    normalize_label("a category", category)
}

/// Returns each tag as it is stored, in the given order and with duplicates.
///
/// # Errors
/// Returns an error if a tag is empty, too long, or contains a control character.
pub fn normalize_tags(tags: &[String]) -> Result<Vec<String>, MemoryError> {
    tags.iter()
        .map(|tag| normalize_label("a tag", tag))
        .collect()
}

fn normalize_label(noun: &'static str, label: &str) -> Result<String, MemoryError> {
    let normal = label.trim().to_lowercase();
    let is_valid = (1..=MAX_LABEL_CHARS).contains(&normal.chars().count())
        && !normal.contains(char::is_control);
    if is_valid {
        return Ok(normal);
    }
    let found = label.chars().take(MAX_LABEL_CHARS + 1).collect();
    Err(MemoryError::BadLabel { noun, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|tag| (*tag).to_owned()).collect()
    }

    #[test]
    fn labels_are_trimmed_lowercased_and_sorted() {
        let text = MemoryText::new("x", Some(" Work "), &tags(&["b", "A", "B"])).expect("valid");
        assert_eq!(text.category(), "work");
        assert_eq!(text.tags(), ["a", "b"]);
        let text = MemoryText::new("x", None, &[]).expect("valid");
        assert_eq!(text.category(), DEFAULT_CATEGORY);
    }

    #[test]
    fn an_invalid_entry_is_refused_with_the_reason() {
        let long = "x".repeat(MAX_CONTENT_BYTES + 1);
        let label = "x".repeat(MAX_LABEL_CHARS + 1);
        let many: Vec<_> = (0..=MAX_TAGS).map(|tag| tag.to_string()).collect();
        let refused = [
            (MemoryText::new(" \n", None, &[]), "empty"),
            (MemoryText::new(&long, None, &[]), "16385"),
            (MemoryText::new("x", Some(&label), &[]), "a category"),
            (MemoryText::new("x", Some(""), &[]), "a category"),
            (MemoryText::new("x", None, &tags(&["a\nb"])), "a tag"),
            (MemoryText::new("x", None, &many), "17 tags"),
        ];
        for (refused, reason) in refused {
            let error = refused.expect_err("refused").to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
