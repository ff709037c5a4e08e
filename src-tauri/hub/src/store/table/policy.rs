//! `policy`: rules.

use sqlx::{Row, sqlite::SqliteRow};

use super::{from_word, word};
use crate::{
    model::{
        ids::{ClientName, ServerId, SessionId, Timestamp},
        policy::{Effect, Scope},
    },
    store::{Store, StoreError, While},
};

/// A rule as stored.
#[derive(Debug, Clone)]
pub struct RuleRow {
    pub scope: Scope,
    pub session: Option<SessionId>,
    pub effect: Effect,
    /// The server's identity when the rule was made; an allow holds for that one only.
    pub identity: Option<String>,
    /// The digest of the tool's definition when the rule was made; an allow holds for that one only.
    pub definition: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

impl Store {
    pub async fn rules(&self) -> Result<Vec<RuleRow>, StoreError> {
        let rows =
            sqlx::query("SELECT * FROM policy ORDER BY server, tool, client, session").fetch_all(&self.pool).await;
        rows.and_then(|rows| rows.iter().map(read).collect()).doing("cannot read the rules")
    }

    /// Adds the rule, or replaces the one of that scope, session and kind of life.
    pub async fn put_rule(&self, rule: &RuleRow) -> Result<(), StoreError> {
        let (server, tool, client) = columns(&rule.scope);
        sqlx::query("INSERT OR REPLACE INTO policy (server, tool, client, session, effect, identity, definition, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
            .bind(server)
            .bind(tool)
            .bind(client)
            .bind(rule.session.as_ref().map_or("", SessionId::as_str))
            .bind(word(&rule.effect))
            .bind(&rule.identity)
            .bind(&rule.definition)
            .bind(rule.created_at.0)
            .bind(rule.expires_at.map(|t| t.0))
            .execute(&self.pool)
            .await
            .map(drop)
            .doing("cannot write a rule")
    }

    /// Removes the rules of exactly that scope; how many there were.
    pub async fn remove_rules(&self, scope: &Scope) -> Result<u64, StoreError> {
        let (server, tool, client) = columns(scope);
        sqlx::query("DELETE FROM policy WHERE server = ? AND tool = ? AND client = ?")
            .bind(server)
            .bind(tool)
            .bind(client)
            .execute(&self.pool)
            .await
            .map(|done| done.rows_affected())
            .doing("cannot remove a rule")
    }

    /// Removes every rule about a server.
    pub async fn remove_rules_of(&self, server: &ServerId) -> Result<(), StoreError> {
        let done = sqlx::query("DELETE FROM policy WHERE server = ?").bind(server.as_str()).execute(&self.pool).await;
        done.map(drop).doing("cannot remove a server's rules")
    }

    /// Removes every rule about a client.
    pub async fn remove_rules_for(&self, client: &ClientName) -> Result<(), StoreError> {
        let done = sqlx::query("DELETE FROM policy WHERE client = ?").bind(client.as_str()).execute(&self.pool).await;
        done.map(drop).doing("cannot remove a client's rules")
    }

    /// Removes the rules whose time is over, and those of client sessions: no session outlives the hub.
    pub async fn remove_ended_rules(&self, now: Timestamp) -> Result<(), StoreError> {
        let done = sqlx::query("DELETE FROM policy WHERE session <> '' OR expires_at <= ?")
            .bind(now.0)
            .execute(&self.pool)
            .await;
        done.map(drop).doing("cannot remove ended rules")
    }
}

fn columns(scope: &Scope) -> (&str, &str, &str) {
    (
        scope.server.as_ref().map_or("", ServerId::as_str),
        scope.tool.as_deref().unwrap_or(""),
        scope.client.as_ref().map_or("", ClientName::as_str),
    )
}

fn read(row: &SqliteRow) -> Result<RuleRow, sqlx::Error> {
    let text = |column: &str| row.try_get::<String, _>(column).map(|text| (!text.is_empty()).then_some(text));
    Ok(RuleRow {
        scope: Scope {
            server: text("server")?.map(ServerId::new),
            tool: text("tool")?,
            client: text("client")?.map(ClientName::new),
        },
        session: text("session")?.map(SessionId::new),
        effect: from_word(row.try_get("effect")?)?,
        identity: row.try_get("identity")?,
        definition: row.try_get("definition")?,
        created_at: Timestamp(row.try_get("created_at")?),
        expires_at: row.try_get::<Option<i64>, _>("expires_at")?.map(Timestamp),
    })
}
