//! `rule`: the rules of the policy. Only the journal writes rules.

use drawbridge_model::{
    audit::AuditKind,
    ids::{ClientName, RuleId, ServerId, Timestamp, UserName},
    policy::{Lifetime, Rule, RuleSpec, Scope},
};
use rusqlite::{Connection, params};
use serde::Serialize;
use sqlx::{Row, sqlite::SqliteRow};

use super::{
    from_enum_text,
    setting::{self, StoredSetting},
    to_enum_text,
};
use crate::{
    Journal, JournalError, Store, StoreContext, StoreError,
    audit::{Chain, Sealed},
};

impl Store {
    /// Returns all rules, oldest first.
    pub async fn rules(&self) -> Result<Vec<Rule>, StoreError> {
        let rows = sqlx::query("SELECT * FROM rule ORDER BY created_at, rowid")
            .fetch_all(&self.pool)
            .await;
        rows.and_then(|rows| rows.iter().map(rule_from_row).collect())
            .context("cannot read the rules")
    }
}

/// A change of the stored rules.
#[derive(Debug, Clone)]
pub enum RuleChange {
    Delete(RuleId),
    /// Deletes the rules with exactly this scope.
    DeleteInScope(Scope),
    DeleteForServer(ServerId),
    DeleteForClient(ClientName),
    Enable(RuleId),
    Disable(RuleId),
    /// Deletes the rules that have ended by this time, as [`Rule::has_ended`] says, and the rules
    /// that apply to a client session: no session outlives the hub.
    DeleteEnded(Timestamp),
    /// Binds the rules of a server to this identity, if they were bound to an earlier identity.
    BindToIdentity {
        server: ServerId,
        identity: String,
    },
    /// Binds rules to definitions, given by their digests.
    BindToDefinitions(Vec<(RuleId, String)>),
}

/// The body of the audit log's entry about a saved rule.
#[derive(Serialize)]
struct SavedNote<'a> {
    id: &'a RuleId,
    rule: &'a RuleSpec,
    /// The other rules that were deleted, because they had ended or had the same scope.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    replaced: &'a [RuleId],
}

/// A removed or imported rule in the body of an entry of the audit log. The numbers in its
/// conditions stay as they were written.
#[derive(Serialize)]
pub struct RuleNote<'a> {
    id: &'a RuleId,
    rule: &'a RuleSpec,
}

impl<'a> RuleNote<'a> {
    pub fn new(rule: &'a Rule) -> Self {
        Self {
            id: &rule.id,
            rule: &rule.spec,
        }
    }
}

/// A rule to add. A stored rule with the same id is replaced.
#[derive(Debug, Clone)]
pub struct NewRule {
    pub rule: Rule,
    /// The other rules that the rule replaces.
    pub replaced: Vec<RuleId>,
}

impl Journal {
    /// Saves a rule, together with an entry in the audit log.
    ///
    /// # Errors
    /// Returns an error if the rule cannot be written. Nothing is changed then.
    pub async fn save_rule(&self, new_rule: NewRule) -> Result<(), JournalError> {
        self.write(move |connection, chain| save(&new_rule, connection, chain))
            .await
    }

    /// Replaces all rules, and writes these settings, together with an entry in the audit log.
    /// `note` is the body of the entry, a JSON object.
    ///
    /// # Errors
    /// Returns an error if the rules cannot be written. Nothing is changed then.
    pub async fn replace_rules(
        &self,
        rules: Vec<Rule>,
        settings: Vec<StoredSetting>,
        note: String,
    ) -> Result<(), JournalError> {
        self.write(move |connection, chain| {
            connection.execute("DELETE FROM rule", [])?;
            for rule in &rules {
                insert_rule(rule, connection)?;
            }
            for setting in &settings {
                setting::put(setting, connection)?;
            }
            chain.append(AuditKind::PolicyChanged, None, &note, &Sealed::Nothing)
        })
        .await
    }

    /// Changes rules. `note` is the body of an entry in the audit log, a JSON object, or `None` for
    /// no entry.
    ///
    /// # Errors
    /// Returns an error if the change cannot be written. Nothing is changed then.
    pub async fn change_rules(
        &self,
        change: RuleChange,
        note: Option<String>,
    ) -> Result<(), JournalError> {
        self.write(move |connection, chain| {
            apply_change(&change, connection)?;
            match note {
                Some(note) => chain.append(AuditKind::PolicyChanged, None, &note, &Sealed::Nothing),
                None => Ok(()),
            }
        })
        .await
    }
}

fn apply_change(change: &RuleChange, connection: &Connection) -> Result<(), rusqlite::Error> {
    match change {
        RuleChange::Delete(id) => {
            connection.execute("DELETE FROM rule WHERE id = ?", [id.as_str()])?;
        }
        RuleChange::DeleteInScope(scope) => {
            let (server, tool, client, user, kind) = scope_columns(scope);
            connection.execute(
                "DELETE FROM rule WHERE server = ? AND tool = ? AND client = ? AND user = ? AND kind = ?",
                params![server, tool, client, user, kind],
            )?;
        }
        RuleChange::DeleteForServer(server) => {
            connection.execute("DELETE FROM rule WHERE server = ?", [server.as_str()])?;
        }
        RuleChange::DeleteForClient(client) => {
            connection.execute("DELETE FROM rule WHERE client = ?", [client.as_str()])?;
        }
        RuleChange::Enable(id) => {
            connection.execute("UPDATE rule SET disabled = 0 WHERE id = ?", [id.as_str()])?;
        }
        RuleChange::Disable(id) => {
            connection.execute("UPDATE rule SET disabled = 1 WHERE id = ?", [id.as_str()])?;
        }
        RuleChange::DeleteEnded(now) => {
            connection.execute(
                "DELETE FROM rule WHERE lifetime ->> 'kind' = 'session'
                 OR (lifetime ->> 'kind' = 'until'
                     AND (lifetime ->> 'at' <= ?1 OR created_at > ?1))
                 OR lifetime ->> 'count' <= used",
                [now.0],
            )?;
        }
        RuleChange::BindToIdentity { server, identity } => {
            connection.execute(
                "UPDATE rule SET identity = ? WHERE server = ? AND identity IS NOT NULL",
                params![identity, server.as_str()],
            )?;
        }
        RuleChange::BindToDefinitions(rules) => {
            let mut statement =
                connection.prepare("UPDATE rule SET definition = ? WHERE id = ?")?;
            for (id, digest) in rules {
                statement.execute(params![digest, id.as_str()])?;
            }
        }
    }
    Ok(())
}

/// Saves a rule, together with an entry in the audit log.
pub(crate) fn save(
    new_rule: &NewRule,
    connection: &Connection,
    chain: &mut Chain<'_>,
) -> Result<(), rusqlite::Error> {
    let NewRule { rule, replaced } = new_rule;
    for id in replaced {
        apply_change(&RuleChange::Delete(id.clone()), connection)?;
    }
    insert_rule(rule, connection)?;
    let note = SavedNote {
        id: &rule.id,
        rule: &rule.spec,
        replaced,
    };
    let note = serde_json::to_string(&note).expect("a rule is plain data");
    chain.append(AuditKind::PolicyChanged, None, &note, &Sealed::Nothing)
}

fn insert_rule(rule: &Rule, connection: &Connection) -> Result<(), rusqlite::Error> {
    let (server, tool, client, user, kind) = scope_columns(&rule.spec.scope);
    let json = |value: Result<String, serde_json::Error>| {
        value.map_err(|e| rusqlite::Error::ToSqlConversionFailure(e.into()))
    };
    connection
        .execute(
            "INSERT OR REPLACE INTO rule (id, server, tool, client, read_only, conditions, effect, result, lifetime,
             note, identity, definition, created_at, used, kind, user, disabled)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                rule.id.as_str(),
                server,
                tool,
                client,
                rule.spec.read_only,
                json(serde_json::to_string(&rule.spec.conditions))?,
                rule.spec.effect.as_ref().map(to_enum_text),
                rule.spec.result.as_ref().map(to_enum_text),
                json(serde_json::to_string(&rule.spec.lifetime))?,
                rule.spec.note,
                rule.identity,
                rule.definition_digest,
                rule.created_at.0,
                rule.used,
                kind,
                user,
                rule.spec.disabled,
            ],
        )
        .map(drop)
}

/// Counts a call against the limit of its rule. The journal counts the call together with its
/// decision.
pub(crate) fn count_call(rule: &RuleId, connection: &Connection) -> Result<(), rusqlite::Error> {
    let mut statement =
        connection.prepare_cached("UPDATE rule SET used = used + 1 WHERE id = ?")?;
    statement.execute(params![rule.as_str()]).map(drop)
}

fn scope_columns(scope: &Scope) -> (&str, &str, &str, &str, String) {
    (
        scope.server.as_ref().map_or("", ServerId::as_str),
        scope.tool.as_deref().unwrap_or(""),
        scope.client.as_ref().map_or("", ClientName::as_str),
        scope.user.as_ref().map_or("", UserName::as_str),
        scope.kind.as_ref().map_or_else(String::new, to_enum_text),
    )
}

fn rule_from_row(row: &SqliteRow) -> Result<Rule, sqlx::Error> {
    let text = |column: &str| {
        row.try_get::<String, _>(column)
            .map(|text| (!text.is_empty()).then_some(text))
    };
    let decode = |e: serde_json::Error| sqlx::Error::Decode(e.into());
    let lifetime: Lifetime = serde_json::from_str(row.try_get("lifetime")?).map_err(decode)?;
    Ok(Rule {
        id: RuleId::new(row.try_get::<String, _>("id")?),
        spec: RuleSpec {
            scope: Scope {
                server: text("server")?.map(ServerId::new),
                tool: text("tool")?,
                client: text("client")?.map(ClientName::new),
                user: text("user")?.map(UserName::new),
                kind: text("kind")?.as_deref().map(from_enum_text).transpose()?,
            },
            read_only: row.try_get("read_only")?,
            conditions: serde_json::from_str(row.try_get("conditions")?).map_err(decode)?,
            effect: row
                .try_get::<Option<&str>, _>("effect")?
                .map(from_enum_text)
                .transpose()?,
            result: row
                .try_get::<Option<&str>, _>("result")?
                .map(from_enum_text)
                .transpose()?,
            lifetime,
            note: row.try_get("note")?,
            disabled: row.try_get("disabled")?,
        },
        identity: row.try_get("identity")?,
        definition_digest: row.try_get("definition")?,
        created_at: Timestamp(row.try_get("created_at")?),
        used: row.try_get("used")?,
    })
}
