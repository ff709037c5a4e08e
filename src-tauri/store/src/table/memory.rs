//! `memory` and `memory_index`: the entries of the memory, and their full-text index.

mod text_search;

use drawbridge_model::{
    clock,
    ids::{ClientName, Timestamp, UserName},
    memory::{MAX_ENTRIES, MemoryCategory, MemoryCursor, MemoryEntry, MemoryPage, MemoryText},
};
use sqlx::{QueryBuilder, Row, Sqlite, SqliteConnection, sqlite::SqliteRow};

use crate::{Store, StoreContext, StoreError};

pub use text_search::SearchQuery;

/// Which entries to read.
#[derive(Debug, Clone, Default)]
pub struct MemoryFilter {
    /// Only entries of this user.
    pub user: Option<UserName>,
    /// Only entries with one of these words, the best matches first. Without a query, the newest
    /// entries come first.
    pub query: Option<SearchQuery>,
    /// Only entries of this category, as it is stored.
    pub category: Option<String>,
    /// Only entries with all of these tags, as they are stored.
    pub tags: Vec<String>,
    /// Only entries that were stored or changed at or after this moment.
    pub since: Option<Timestamp>,
    /// Only entries that were last stored or changed before this moment.
    pub until: Option<Timestamp>,
}

/// The outcome of storing an entry.
#[derive(Debug)]
pub enum StoredMemory {
    New(MemoryEntry),
    /// The user already had an entry with this content in this category. The new tags replaced the
    /// tags of the entry.
    Known(MemoryEntry),
    /// The user has as many entries as are allowed. Nothing was stored.
    Full,
}

impl Store {
    /// Stores an entry for a user.
    pub async fn add_memory(
        &self,
        user: &UserName,
        client: Option<&ClientName>,
        text: &MemoryText,
    ) -> Result<StoredMemory, StoreError> {
        let stored = async {
            let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
            let outcome = insert_entry(&mut transaction, user, client, text).await?;
            transaction.commit().await?;
            Ok(outcome)
        };
        stored.await.context("cannot store an entry of the memory")
    }

    /// Returns a page of at most `limit` entries: the first page, or the page at `cursor`.
    pub async fn memory_page(
        &self,
        filter: &MemoryFilter,
        cursor: Option<MemoryCursor>,
        limit: u32,
    ) -> Result<MemoryPage, StoreError> {
        let cursor = match cursor {
            Some(cursor) => cursor,
            None => MemoryCursor {
                offset: 0,
                max_id: self.last_memory_id().await?,
            },
        };
        let mut query = QueryBuilder::new("SELECT memory.* FROM memory");
        if let Some(text) = &filter.query {
            query
                .push(" JOIN memory_index ON memory_index.rowid = memory.id WHERE memory_index MATCH ")
                .push_bind(text.as_str().to_owned());
        } else {
            query.push(" WHERE 1");
        }
        push_conditions(&mut query, filter);
        query.push(" AND memory.id <= ").push_bind(cursor.max_id);
        if filter.query.is_some() {
            // A word in a label counts more than a word in the content.
            query.push(" ORDER BY bm25(memory_index, 1.0, 2.0), memory.id DESC");
        } else {
            query.push(" ORDER BY memory.id DESC");
        }
        // One more entry than `limit` shows whether there is another page.
        query
            .push(" LIMIT ")
            .push_bind(limit.saturating_add(1))
            .push(" OFFSET ")
            .push_bind(cursor.offset);
        let rows = query.build().fetch_all(&self.pool).await;
        let mut entries: Vec<_> = rows
            .and_then(|rows| rows.iter().map(entry_from_row).collect())
            .context("cannot read the memory")?;
        let has_more = entries.len() > limit as usize;
        entries.truncate(limit as usize);
        let next = has_more.then(|| MemoryCursor {
            offset: cursor.offset.saturating_add(limit),
            max_id: cursor.max_id,
        });
        Ok(MemoryPage { entries, next })
    }

    /// Returns the highest id of an entry, or 0 if there are no entries.
    async fn last_memory_id(&self) -> Result<u32, StoreError> {
        sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM memory")
            .fetch_one(&self.pool)
            .await
            .context("cannot read the memory")
    }

    pub async fn memory_entry(&self, id: u32) -> Result<Option<MemoryEntry>, StoreError> {
        let row = sqlx::query("SELECT * FROM memory WHERE id = ?")
            .bind(id)
            .fetch_optional(&self.pool)
            .await;
        row.and_then(|row| row.as_ref().map(entry_from_row).transpose())
            .context("cannot read the memory")
    }

    /// Replaces the content, the category and the tags of an entry. Returns the changed entry,
    /// or `None` if no entry has this id.
    pub async fn update_memory(
        &self,
        id: u32,
        text: &MemoryText,
    ) -> Result<Option<MemoryEntry>, StoreError> {
        let updated = async {
            let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
            let updated = update_entry(&mut transaction, id, text).await?;
            transaction.commit().await?;
            Ok(updated)
        };
        updated
            .await
            .context("cannot change an entry of the memory")
    }

    /// Deletes entries. Returns how many of them existed.
    pub async fn delete_memory(&self, ids: &[u32]) -> Result<u32, StoreError> {
        let deleted = async {
            let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
            let mut deleted = 0;
            for id in ids {
                let done = sqlx::query("DELETE FROM memory WHERE id = ?")
                    .bind(id)
                    .execute(&mut *transaction)
                    .await?;
                if done.rows_affected() > 0 {
                    deleted += 1;
                    remove_from_index(&mut transaction, *id).await?;
                }
            }
            transaction.commit().await?;
            Ok(deleted)
        };
        deleted.await.context("cannot delete from the memory")
    }

    /// Returns the categories of a user, or of all users, by user and name.
    pub async fn memory_categories(
        &self,
        user: Option<&UserName>,
    ) -> Result<Vec<MemoryCategory>, StoreError> {
        let mut query = QueryBuilder::new(
            "SELECT user, category, count(*) AS entries, max(updated_at) AS updated_at FROM memory",
        );
        if let Some(user) = user {
            query
                .push(" WHERE user = ")
                .push_bind(user.as_str().to_owned());
        }
        query.push(" GROUP BY user, category ORDER BY user, category");
        let rows = query.build().fetch_all(&self.pool).await;
        let category_from_row = |row: &SqliteRow| {
            Ok(MemoryCategory {
                user: UserName::new(row.try_get::<String, _>("user")?),
                name: row.try_get("category")?,
                entries: row.try_get("entries")?,
                updated_at: Timestamp(row.try_get("updated_at")?),
            })
        };
        rows.and_then(|rows| rows.iter().map(category_from_row).collect())
            .context("cannot read the memory")
    }
}

fn push_conditions(query: &mut QueryBuilder<Sqlite>, filter: &MemoryFilter) {
    if let Some(user) = &filter.user {
        query
            .push(" AND memory.user = ")
            .push_bind(user.as_str().to_owned());
    }
    if let Some(category) = &filter.category {
        query
            .push(" AND memory.category = ")
            .push_bind(category.clone());
    }
    for tag in &filter.tags {
        query
            .push(" AND EXISTS (SELECT 1 FROM json_each(memory.tags) WHERE value = ")
            .push_bind(tag.clone())
            .push(")");
    }
    if let Some(since) = filter.since {
        query.push(" AND memory.updated_at >= ").push_bind(since.0);
    }
    if let Some(until) = filter.until {
        query.push(" AND memory.updated_at < ").push_bind(until.0);
    }
}

async fn insert_entry(
    connection: &mut SqliteConnection,
    user: &UserName,
    client: Option<&ClientName>,
    text: &MemoryText,
) -> Result<StoredMemory, sqlx::Error> {
    let existing_id: Option<u32> =
        sqlx::query_scalar("SELECT id FROM memory WHERE user = ? AND category = ? AND content = ?")
            .bind(user.as_str())
            .bind(text.category())
            .bind(text.content())
            .fetch_optional(&mut *connection)
            .await?;
    if let Some(id) = existing_id
        && let Some(entry) = update_entry(connection, id, text).await?
    {
        return Ok(StoredMemory::Known(entry));
    }
    let entries: u32 = sqlx::query_scalar("SELECT count(*) FROM memory WHERE user = ?")
        .bind(user.as_str())
        .fetch_one(&mut *connection)
        .await?;
    if entries >= MAX_ENTRIES {
        return Ok(StoredMemory::Full);
    }
    let now = clock::now();
    let id: u32 = sqlx::query_scalar(
        "INSERT INTO memory (user, client, content, category, tags, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
    )
    .bind(user.as_str())
    .bind(client.map(ClientName::as_str))
    .bind(text.content())
    .bind(text.category())
    .bind(to_json(text.tags()))
    .bind(now.0)
    .bind(now.0)
    .fetch_one(&mut *connection)
    .await?;
    let entry = MemoryEntry {
        id,
        user: user.clone(),
        client: client.cloned(),
        content: text.content().to_owned(),
        category: text.category().to_owned(),
        tags: text.tags().to_vec(),
        created_at: now,
        updated_at: now,
    };
    index_entry(connection, &entry).await?;
    Ok(StoredMemory::New(entry))
}

async fn update_entry(
    connection: &mut SqliteConnection,
    id: u32,
    text: &MemoryText,
) -> Result<Option<MemoryEntry>, sqlx::Error> {
    let row = sqlx::query(
        "UPDATE memory SET content = ?, category = ?, tags = ?, updated_at = ? WHERE id = ? RETURNING *",
    )
    .bind(text.content())
    .bind(text.category())
    .bind(to_json(text.tags()))
    .bind(clock::now().0)
    .bind(id)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(entry) = row.as_ref().map(entry_from_row).transpose()? else {
        return Ok(None);
    };
    remove_from_index(connection, id).await?;
    index_entry(connection, &entry).await?;
    Ok(Some(entry))
}

async fn index_entry(
    connection: &mut SqliteConnection,
    entry: &MemoryEntry,
) -> Result<(), sqlx::Error> {
    let labels = format!("{} {}", entry.category, entry.tags.join(" "));
    sqlx::query("INSERT INTO memory_index (rowid, content, labels) VALUES (?, ?, ?)")
        .bind(entry.id)
        .bind(text_search::separate_words(&entry.content))
        .bind(text_search::separate_words(&labels))
        .execute(connection)
        .await
        .map(drop)
}

async fn remove_from_index(connection: &mut SqliteConnection, id: u32) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM memory_index WHERE rowid = ?")
        .bind(id)
        .execute(connection)
        .await
        .map(drop)
}

fn to_json(tags: &[String]) -> String {
    serde_json::to_string(tags).expect("a list of text is valid JSON")
}

fn entry_from_row(row: &SqliteRow) -> Result<MemoryEntry, sqlx::Error> {
    let tags: &str = row.try_get("tags")?;
    Ok(MemoryEntry {
        id: row.try_get("id")?,
        user: UserName::new(row.try_get::<String, _>("user")?),
        client: row
            .try_get::<Option<String>, _>("client")?
            .map(ClientName::new),
        content: row.try_get("content")?,
        category: row.try_get("category")?,
        tags: serde_json::from_str(tags).map_err(|e| sqlx::Error::Decode(e.into()))?,
        created_at: Timestamp(row.try_get("created_at")?),
        updated_at: Timestamp(row.try_get("updated_at")?),
    })
}

#[cfg(test)]
mod tests;
