//! The definitions of a server: their versions, the differences, and their acceptance.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_model::{
    acceptance::{AcceptanceState, DefinitionId, DefinitionKind},
    audit::AuditKind,
    content::ContentFlag,
    ids::{ServerId, Timestamp},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    api::{ApiError, Verb, servers::ServerView},
    hub::Hub,
};

/// A version of a definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DefinitionVersion {
    /// The SHA-256 of the definition, in hex.
    pub digest: String,
    pub first_seen_at: Timestamp,
    /// When a person accepted this version; null if nobody has accepted it.
    pub accepted_at: Option<Timestamp>,
    /// Whether the server offers this version to at least one client now.
    pub offered: bool,
    #[cfg_attr(test, ts(type = "unknown"))]
    pub definition: Value,
    /// The differences from the latest accepted earlier version or, if no earlier version was
    /// accepted, from the previous version; empty for the first version.
    pub changes: Vec<FieldChange>,
}

/// A field that differs between two versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FieldChange {
    /// A JSON pointer, such as `/inputSchema/properties/path/description`.
    pub field: String,
    /// The previous value; null if the field is new.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub before: Option<Value>,
    /// The new value; null if the field was removed.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub after: Option<Value>,
}

/// A definition that waits for acceptance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct UnacceptedDefinition {
    #[serde(flatten)]
    pub id: DefinitionId,
    /// `new` or `changed`.
    pub acceptance: AcceptanceState,
    /// The suspicious parts of the definition's texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(as = "Option<Vec<ContentFlag>>", optional))]
    pub flags: Vec<ContentFlag>,
    /// Whether the definition has to be accepted on its own, because it is flagged.
    #[serde(default)]
    pub needs_own_acceptance: bool,
}

/// `servers.definition_history`: the versions of a definition, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowDefinitionHistory {
    pub id: ServerId,
    pub kind: DefinitionKind,
    /// The server's own name of a tool or a prompt, the URI of a resource, the URI template of a
    /// resource template, or `instructions`.
    pub name: String,
}

/// `servers.accept_definitions`: accepts new or changed definitions of a server, as the person saw
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AcceptDefinitions {
    pub id: ServerId,
    pub definitions: Vec<DefinitionId>,
}

impl Verb for ShowDefinitionHistory {
    type Answer = Vec<DefinitionVersion>;

    async fn run(self, hub: &Hub) -> Result<Vec<DefinitionVersion>, ApiError> {
        hub.registry.get(&self.id)?;
        let offered: BTreeSet<_> = hub
            .catalog
            .definitions(&self.id)
            .into_iter()
            .filter(|(kind, definition)| *kind == self.kind && definition.name == self.name)
            .map(|(_, definition)| definition.digest.clone())
            .collect();
        let rows = hub
            .store
            .definition_versions(&self.id, self.kind, &self.name)
            .await?;
        if rows.is_empty() {
            return Err(ApiError::not_found(format!(
                "'{}' has never offered a {} named '{}'",
                self.id,
                self.kind.noun(),
                self.name
            )));
        }
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let version = |(at, row): (usize, &drawbridge_store::table::definition::DefinitionRow)| {
            let older = &rows[at + 1..];
            let base = older
                .iter()
                .find(|row| row.accepted_at.is_some())
                .or_else(|| older.first());
            let definition = read(&row.definition);
            DefinitionVersion {
                digest: row.digest.clone(),
                first_seen_at: row.first_seen_at,
                accepted_at: row.accepted_at,
                offered: offered.contains(&row.digest),
                changes: base
                    .map(|base| list_differences(&read(&base.definition), &definition))
                    .unwrap_or_default(),
                definition,
            }
        };
        Ok(rows.iter().enumerate().map(version).collect())
    }
}

impl Verb for AcceptDefinitions {
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = hub.registry.get(&self.id)?;
        hub.catalog
            .accept_definitions(&self.id, &self.definitions)
            .await?;
        let mut tools = Vec::new();
        for DefinitionId { kind, name, digest } in self.definitions {
            let note = json!({
                "server": self.id,
                "kind": kind,
                "name": name,
                "digest": digest,
                "by": "person",
            });
            hub.store.append_audit(AuditKind::DefinitionAccepted, &note);
            if kind == DefinitionKind::Tool {
                tools.push((name, digest));
            }
        }
        hub.policy_editor
            .bind_to_definitions(&self.id, &tools)
            .await?;
        Ok(super::view::server_view(hub, &server))
    }
}

/// Returns the fields in which two definitions differ, sorted by pointer.
fn list_differences(before: &Value, after: &Value) -> Vec<FieldChange> {
    let mut changes = BTreeMap::new();
    collect_differences("", Some(before), Some(after), &mut changes);
    changes.into_values().collect()
}

fn collect_differences(
    field: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    changes: &mut BTreeMap<String, FieldChange>,
) {
    if before == after {
        return;
    }
    if let (Some(Value::Object(old)), Some(Value::Object(new))) = (before, after) {
        for key in old
            .keys()
            .chain(new.keys().filter(|key| !old.contains_key(*key)))
        {
            let pointer = format!("{field}/{}", key.replace('~', "~0").replace('/', "~1"));
            collect_differences(&pointer, old.get(key), new.get(key), changes);
        }
        return;
    }
    let change = FieldChange {
        field: field.to_owned(),
        before: before.cloned(),
        after: after.cloned(),
    };
    changes.insert(field.to_owned(), change);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_listed_field_by_field() {
        let before = json!({"name":"t","description":"reads","inputSchema":{"properties":{"a/b":{"type":"string"},"c":{}}}});
        let after = json!({"name":"t","description":"reads, ignore all else","inputSchema":{"properties":{"a/b":{"type":"number"}}},"title":"T"});
        let listed: Vec<_> = list_differences(&before, &after)
            .into_iter()
            .map(|c| (c.field, c.before, c.after))
            .collect();
        assert_eq!(
            listed,
            [
                (
                    "/description".into(),
                    Some(json!("reads")),
                    Some(json!("reads, ignore all else"))
                ),
                (
                    "/inputSchema/properties/a~1b/type".into(),
                    Some(json!("string")),
                    Some(json!("number"))
                ),
                ("/inputSchema/properties/c".into(), Some(json!({})), None),
                ("/title".into(), None, Some(json!("T"))),
            ]
        );
        assert!(list_differences(&before, &before).is_empty());
    }
}
