//! Records in the audit log which spec files were added, changed and removed by a person, by
//! Drawbridge or by another program, even if Drawbridge did not run at the time.
//!
//! The store has a digest of each member of each spec as it was last recorded. The values are not
//! stored, because a spec file may contain secrets.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_model::{
    audit::AuditKind,
    digest,
    ids::ServerId,
    spec::{RegisteredServer, ServerSpec},
};
use drawbridge_store::{Store, StoreError};
use serde::Serialize;
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};

use crate::registry::Specs;

const SETTING: &str = "recorded_specs";

/// Who changed a spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChangedBy {
    Person,
    /// Another program, such as an editor, wrote or removed the spec file.
    File,
    /// Drawbridge added a spec that it keeps up to date, or raised the version of its package.
    Drawbridge,
}

/// The digests of the members of a spec, by their names.
type Members = BTreeMap<String, String>;
type RecordedSpecs = BTreeMap<ServerId, Members>;

/// The specs as they were last recorded.
pub(crate) struct SpecRecord {
    store: Store,
    /// Held from the change of a spec by a person or Drawbridge until the change is recorded, so
    /// that the task for changed files does not record it as a change of the file.
    recorded: Mutex<RecordedSpecs>,
}

/// The right to change specs, while no other task changes or records them.
pub(crate) struct SpecWriter<'a> {
    store: &'a Store,
    recorded: MutexGuard<'a, RecordedSpecs>,
}

impl SpecRecord {
    /// Reads the specs as they were last recorded.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub(crate) async fn load(store: Store) -> Result<Self, StoreError> {
        let recorded = store.json_setting(SETTING).await?.unwrap_or_default();
        Ok(Self {
            store,
            recorded: Mutex::new(recorded),
        })
    }

    /// Waits until no other task has the right to change specs, and returns this right.
    pub(crate) async fn writer(&self) -> SpecWriter<'_> {
        SpecWriter {
            store: &self.store,
            recorded: self.recorded.lock().await,
        }
    }
}

impl SpecWriter<'_> {
    /// Records the change that a person or Drawbridge made to this server's spec.
    pub(crate) async fn record_change(mut self, id: &ServerId, specs: &Specs, by: ChangedBy) {
        if self.record(id, specs, by) {
            self.save().await;
        }
    }

    /// Records all changes that other programs made to spec files.
    pub(crate) async fn record_files(mut self, specs: &Specs) {
        let ids: BTreeSet<_> = self.recorded.keys().chain(specs.servers.keys()).collect();
        let ids: Vec<_> = ids.into_iter().cloned().collect();
        let mut has_changed = false;
        for id in ids {
            has_changed |= self.record(&id, specs, ChangedBy::File);
        }
        if has_changed {
            self.save().await;
        }
    }

    /// Appends an entry if the server's spec differs from the recorded spec. Returns whether the
    /// spec differs.
    fn record(&mut self, id: &ServerId, specs: &Specs, by: ChangedBy) -> bool {
        // A file that exists but cannot be read has not been removed.
        let is_broken = || {
            let mut files = specs
                .broken
                .iter()
                .filter_map(|broken| broken.file.file_stem());
            files.any(|stem| stem == id.as_str())
        };
        // A built-in server has no file, and its changes have entries of their own.
        let spec = specs.servers.get(id);
        let spec = spec.filter(|server| server.spec.builtin.is_none());
        match (self.recorded.get(id), spec) {
            (Some(_), None) if is_broken() => false,
            (None, None) => false,
            (Some(_), None) => {
                let note = json!({ "server": id, "by": by });
                self.store.append_audit(AuditKind::ServerRemoved, &note);
                self.recorded.remove(id);
                true
            }
            (before, Some(server)) => self.record_spec(before.cloned(), server, by),
        }
    }

    fn record_spec(
        &mut self,
        before: Option<Members>,
        server: &RegisteredServer,
        by: ChangedBy,
    ) -> bool {
        let after = digest_members(&server.spec);
        let (id, identity) = (&server.id, &server.identity);
        match &before {
            None => {
                let note = json!({ "server": id, "by": by, "identity": identity });
                self.store.append_audit(AuditKind::ServerAdded, &note);
            }
            Some(before) if *before == after => return false,
            Some(before) => {
                let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
                let changed = names
                    .into_iter()
                    .filter(|name| before.get(*name) != after.get(*name));
                let note = json!({
                    "server": id,
                    "by": by,
                    "fields": changed.collect::<Vec<_>>(),
                    "identity": identity,
                });
                self.store.append_audit(AuditKind::ServerChanged, &note);
            }
        }
        self.recorded.insert(id.clone(), after);
        true
    }

    async fn save(&self) {
        let text = serde_json::to_string(&*self.recorded).expect("maps of text are valid JSON");
        if let Err(error) = self.store.set_setting(SETTING, &text).await {
            tracing::warn!(
                "cannot store which specs were recorded, so the next start records them again: {error}"
            );
        }
    }
}

fn digest_members(spec: &ServerSpec) -> Members {
    let members = serde_json::to_value(spec).expect("a spec is plain data");
    let members = members.as_object().expect("a spec is written as an object");
    let digested = |(name, value): (&String, &serde_json::Value)| {
        (name.clone(), digest::sha256(value.to_string().as_bytes()))
    };
    members.iter().map(digested).collect()
}
