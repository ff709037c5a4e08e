//! `published_server`: the servers that the official registry published, as the registry listed
//! them last.

use drawbridge_model::ids::Timestamp;
use sqlx::{QueryBuilder, Row, Sqlite, sqlite::SqliteRow};

use crate::{Store, StoreContext, StoreError};

/// A published server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedRow {
    /// The full name, such as `io.github.owner/server`.
    pub name: String,
    pub title: String,
    /// The text that a search matches, in lower case.
    pub search_text: String,
    /// The names of the kinds of its packages and remotes.
    pub kinds: Vec<String>,
    /// Whether the server cannot be used without a secret.
    pub needs_secret: bool,
    pub deprecated: bool,
    /// When the registry changed the entry last.
    pub updated_at: Option<Timestamp>,
    /// The `server.json`.
    pub document: String,
}

/// Which published servers to read.
#[derive(Debug, Clone, Default)]
pub struct PublishedFilter {
    /// The words, in lower case, all of which have to occur. With words, the best matches come
    /// first; without words, the servers that changed last.
    pub words: Vec<String>,
    /// Only servers with a package or remote of this kind.
    pub kind: Option<String>,
    /// Only servers that cannot (`true`) or can (`false`) be used without a secret.
    pub needs_secret: Option<bool>,
}

impl Store {
    /// Adds or replaces servers, and deletes others, in one transaction. `generation` is the number
    /// of the complete read that listed the servers. Servers from a list of changes get the number
    /// of the last complete read.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written. Nothing is changed then.
    pub async fn put_published_servers(
        &self,
        rows: &[PublishedRow],
        deleted: &[String],
        generation: i64,
    ) -> Result<(), StoreError> {
        let written = async {
            let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
            for row in rows {
                sqlx::query(
                    "INSERT OR REPLACE INTO published_server
                     (name, title, search_text, kinds, needs_key, deprecated, updated_at, document,
                      generation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )
                .bind(&row.name)
                .bind(&row.title)
                .bind(&row.search_text)
                .bind(format!(" {} ", row.kinds.join(" ")))
                .bind(row.needs_secret)
                .bind(row.deprecated)
                .bind(row.updated_at.map(|at| at.0))
                .bind(&row.document)
                .bind(generation)
                .execute(&mut *transaction)
                .await?;
            }
            for name in deleted {
                sqlx::query("DELETE FROM published_server WHERE name = ?")
                    .bind(name)
                    .execute(&mut *transaction)
                    .await?;
            }
            transaction.commit().await
        };
        written
            .await
            .context("cannot store the servers of the official registry")
    }

    /// Deletes the servers that the complete read with this number has not listed.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn delete_other_published_servers(&self, generation: i64) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM published_server WHERE generation <> ?")
            .bind(generation)
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot delete the old servers of the official registry")
    }

    /// Returns a published server by its full name.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn published_server(&self, name: &str) -> Result<Option<PublishedRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM published_server WHERE name = ?")
            .bind(name)
            .fetch_optional(&self.pool)
            .await;
        row.and_then(|row| row.as_ref().map(published_from_row).transpose())
            .context("cannot read the servers of the official registry")
    }

    /// Returns at most `limit` published servers after the first `offset` servers. Deprecated
    /// servers come last.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn published_servers(
        &self,
        filter: &PublishedFilter,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<PublishedRow>, StoreError> {
        let mut query = QueryBuilder::new("SELECT * FROM published_server WHERE 1");
        push_conditions(&mut query, filter);
        query.push(" ORDER BY deprecated");
        if let Some(word) = filter.words.first() {
            // Servers with the first word in the name or the title come before servers that have
            // the word only in the description.
            query
                .push(", instr(lower(name || ' ' || title), ")
                .push_bind(word.clone())
                .push(") = 0, length(name)");
        } else {
            query.push(", updated_at DESC");
        }
        query
            .push(", name LIMIT ")
            .push_bind(limit)
            .push(" OFFSET ")
            .push_bind(offset);
        let rows = query.build().fetch_all(&self.pool).await;
        rows.and_then(|rows| rows.iter().map(published_from_row).collect())
            .context("cannot read the servers of the official registry")
    }

    /// Returns how many published servers match the filter.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn count_published_servers(
        &self,
        filter: &PublishedFilter,
    ) -> Result<u32, StoreError> {
        let mut query = QueryBuilder::new("SELECT count(*) FROM published_server WHERE 1");
        push_conditions(&mut query, filter);
        query
            .build_query_scalar()
            .fetch_one(&self.pool)
            .await
            .context("cannot count the servers of the official registry")
    }
}

fn push_conditions(query: &mut QueryBuilder<Sqlite>, filter: &PublishedFilter) {
    for word in &filter.words {
        query
            .push(" AND instr(search_text, ")
            .push_bind(word.clone())
            .push(") > 0");
    }
    if let Some(kind) = &filter.kind {
        query
            .push(" AND instr(kinds, ")
            .push_bind(format!(" {kind} "))
            .push(") > 0");
    }
    if let Some(needs_secret) = filter.needs_secret {
        query.push(" AND needs_key = ").push_bind(needs_secret);
    }
}

fn published_from_row(row: &SqliteRow) -> Result<PublishedRow, sqlx::Error> {
    let kinds: String = row.try_get("kinds")?;
    Ok(PublishedRow {
        name: row.try_get("name")?,
        title: row.try_get("title")?,
        search_text: row.try_get("search_text")?,
        kinds: kinds.split_whitespace().map(str::to_owned).collect(),
        needs_secret: row.try_get("needs_key")?,
        deprecated: row.try_get("deprecated")?,
        updated_at: row.try_get::<Option<i64>, _>("updated_at")?.map(Timestamp),
        document: row.try_get("document")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, title: &str, description: &str) -> PublishedRow {
        PublishedRow {
            name: name.into(),
            title: title.into(),
            search_text: format!("{name} {title} {description}").to_lowercase(),
            kinds: vec!["npm".into()],
            needs_secret: false,
            deprecated: false,
            updated_at: Some(Timestamp(1)),
            document: "{}".into(),
        }
    }

    async fn names(store: &Store, filter: &PublishedFilter) -> Vec<String> {
        let rows = store.published_servers(filter, 9, 0).await.expect("read");
        let count = store.count_published_servers(filter).await.expect("count");
        assert_eq!(count as usize, rows.len());
        rows.into_iter().map(|row| row.name).collect()
    }

    #[tokio::test]
    async fn a_search_matches_every_word_and_puts_names_before_descriptions() {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, _) = Store::open(&folder.path().join("db")).await.expect("open");
        let mut remote = row("a.b/notes", "Notes", "Talks to Jira and 100% more");
        remote.kinds = vec!["remote".into()];
        remote.needs_secret = true;
        remote.updated_at = Some(Timestamp(7));
        let rows = [row("a.b/jira", "Issues", "Tickets"), remote];
        store
            .put_published_servers(&rows, &[], 1)
            .await
            .expect("write");
        let search = |words: &[&str]| PublishedFilter {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            ..PublishedFilter::default()
        };
        assert_eq!(
            names(&store, &search(&["jira"])).await,
            ["a.b/jira", "a.b/notes"]
        );
        assert_eq!(
            names(&store, &search(&["jira", "tickets"])).await,
            ["a.b/jira"]
        );
        assert_eq!(names(&store, &search(&["100%"])).await, ["a.b/notes"]);
        assert_eq!(names(&store, &search(&[])).await, ["a.b/notes", "a.b/jira"]);
        let filter = PublishedFilter {
            kind: Some("remote".into()),
            needs_secret: Some(true),
            ..PublishedFilter::default()
        };
        assert_eq!(names(&store, &filter).await, ["a.b/notes"]);
    }

    #[tokio::test]
    async fn a_complete_read_removes_the_servers_that_it_did_not_list() {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, _) = Store::open(&folder.path().join("db")).await.expect("open");
        let (old, kept) = (row("a/old", "", ""), row("a/kept", "", ""));
        let put = async |rows: &[PublishedRow], deleted: &[String], generation| {
            let put = store.put_published_servers(rows, deleted, generation);
            put.await.expect("write");
        };
        put(&[old, kept.clone(), row("a/withdrawn", "", "")], &[], 1).await;
        put(std::slice::from_ref(&kept), &["a/withdrawn".into()], 2).await;
        let all = PublishedFilter::default();
        assert_eq!(names(&store, &all).await, ["a/kept", "a/old"]);
        store
            .delete_other_published_servers(2)
            .await
            .expect("delete");
        assert_eq!(names(&store, &all).await, ["a/kept"]);
        assert_eq!(
            store.published_server("a/kept").await.expect("read"),
            Some(kept)
        );
    }
}
