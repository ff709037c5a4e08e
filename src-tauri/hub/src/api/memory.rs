//! The memory: the entries that AI clients and people stored for users. The entries are the users'
//! data, so the audit log does not record their changes, and only a person can delete an entry.

use drawbridge_model::{
    event::Event,
    ids::{Timestamp, UserName},
    memory::{
        self, MemoryCategory, MemoryCursor, MemoryEntry, MemoryError, MemoryPage, MemoryText,
    },
};
use drawbridge_store::table::memory::{MemoryFilter, SearchQuery, StoredMemory};
use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::{access, hub::Hub};

/// The maximum number of entries in one page, and in one deletion.
const MAX_ENTRIES: u32 = 500;

/// `memory.list`: a page of entries, the newest first or, with a query, the best matches first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct ListMemory {
    /// Only entries of this user.
    pub user: Option<UserName>,
    /// Only entries whose content, category or tags contain at least one of these words. A word of
    /// three letters or more also finds longer words that begin with this word.
    pub query: Option<String>,
    /// Only entries of this category.
    pub category: Option<String>,
    /// Only entries with all of these tags.
    pub tags: Vec<String>,
    /// Only entries that were last stored or changed at or after this moment.
    pub since: Option<Timestamp>,
    /// Only entries that were last stored or changed before this moment.
    pub until: Option<Timestamp>,
    /// The `next` of the previous page.
    pub cursor: Option<MemoryCursor>,
    /// The maximum number of entries to return: 500 by default, and 500 at most.
    pub limit: Option<u32>,
}

/// `memory.categories`: the categories of all users, by user and name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListMemoryCategories {}

/// `memory.show`: one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowMemory {
    pub id: u32,
}

/// `memory.add`: stores an entry for a user. If the user has an entry with the same content in the
/// same category already, the new tags replace the tags of that entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AddMemory {
    #[serde(default)]
    pub user: UserName,
    pub content: String,
    /// `general` if absent.
    #[serde(default)]
    pub category: Option<String>,
    #[serde(default)]
    pub tags: Vec<String>,
}

/// `memory.edit`: changes an entry. A parameter that is absent leaves its part of the entry as it
/// is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct EditMemory {
    pub id: u32,
    #[serde(default)]
    pub content: Option<String>,
    #[serde(default)]
    pub category: Option<String>,
    #[serde(default)]
    pub tags: Option<Vec<String>>,
}

/// `memory.delete`: deletes at most 500 entries for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DeleteMemory {
    pub ids: Vec<u32>,
}

/// The result of deleting entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MemoryDeleted {
    /// The number of entries that were deleted. Ids without an entry are ignored.
    pub deleted: u32,
}

impl Verb for ListMemory {
    type Answer = MemoryPage;

    async fn run(self, hub: &Hub) -> Result<MemoryPage, ApiError> {
        let query = self.query.as_deref().map(str::trim);
        let query = query.filter(|query| !query.is_empty()).map(|query| {
            SearchQuery::new(query).ok_or_else(|| {
                ApiError::invalid("'query' has no letters and no digits to search for")
            })
        });
        let category = self.category.as_deref().map(memory::normalize_category);
        let filter = MemoryFilter {
            user: self.user,
            query: query.transpose()?,
            category: category.transpose()?,
            tags: memory::normalize_tags(&self.tags)?,
            since: self.since,
            until: self.until,
        };
        let limit = self.limit.unwrap_or(MAX_ENTRIES).clamp(1, MAX_ENTRIES);
        Ok(hub.store.memory_page(&filter, self.cursor, limit).await?)
    }
}

impl Verb for ListMemoryCategories {
    type Answer = Vec<MemoryCategory>;

    async fn run(self, hub: &Hub) -> Result<Vec<MemoryCategory>, ApiError> {
        Ok(hub.store.memory_categories(None).await?)
    }
}

impl Verb for ShowMemory {
    type Answer = MemoryEntry;

    async fn run(self, hub: &Hub) -> Result<MemoryEntry, ApiError> {
        find_entry(hub, self.id).await
    }
}

impl Verb for AddMemory {
    type Answer = MemoryEntry;

    async fn run(self, hub: &Hub) -> Result<MemoryEntry, ApiError> {
        access::check_user(&self.user)?;
        let text = MemoryText::new(&self.content, self.category.as_deref(), &self.tags)?;
        // A person stores the entry, not a client.
        match hub.store.add_memory(&self.user, None, &text).await? {
            StoredMemory::New(entry) | StoredMemory::Known(entry) => {
                hub.events.publish(Event::MemoryChanged);
                Ok(entry)
            }
            StoredMemory::Full => Err(MemoryError::Full(self.user).into()),
        }
    }
}

impl Verb for EditMemory {
    type Answer = MemoryEntry;

    async fn run(self, hub: &Hub) -> Result<MemoryEntry, ApiError> {
        let before = find_entry(hub, self.id).await?;
        let text = MemoryText::new(
            &self.content.unwrap_or(before.content),
            Some(&self.category.unwrap_or(before.category)),
            &self.tags.unwrap_or(before.tags),
        )?;
        let edited = hub.store.update_memory(self.id, &text).await?;
        let edited = edited.ok_or_else(|| unknown_entry(self.id))?;
        hub.events.publish(Event::MemoryChanged);
        Ok(edited)
    }
}

impl Verb for DeleteMemory {
    type Answer = MemoryDeleted;

    async fn run(self, hub: &Hub) -> Result<MemoryDeleted, ApiError> {
        if self.ids.len() > MAX_ENTRIES as usize {
            return Err(ApiError::invalid(format!(
                "'ids' has {} ids, but at most {MAX_ENTRIES} entries can be deleted at once",
                self.ids.len()
            )));
        }
        let deleted = hub.store.delete_memory(&self.ids).await?;
        if deleted > 0 {
            hub.events.publish(Event::MemoryChanged);
        }
        Ok(MemoryDeleted { deleted })
    }
}

async fn find_entry(hub: &Hub, id: u32) -> Result<MemoryEntry, ApiError> {
    let entry = hub.store.memory_entry(id).await?;
    entry.ok_or_else(|| unknown_entry(id))
}

fn unknown_entry(id: u32) -> ApiError {
    ApiError::not_found(format!("the memory has no entry with the id {id}"))
}
