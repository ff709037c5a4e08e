//! Merges equal servers, and gives each of the remaining servers a unique name.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_model::{
    names,
    spec::{ServerSpec, TransportKind},
};

use super::{
    Document, FoundAt, FoundServers, RawEntry, SkipReason, SkippedEntry, Surroundings,
    entry::{self, Draft},
    finish, is_same_server, naming,
};

/// The servers that were read so far.
pub(super) struct Drafts<'a> {
    registered: &'a BTreeMap<String, ServerSpec>,
    named: Vec<NamedDraft>,
    skipped: Vec<SkippedEntry>,
    /// The index of each valid server, by its contents.
    by_contents: BTreeMap<String, usize>,
}

struct NamedDraft {
    name: String,
    draft: Draft,
    found_at: Vec<FoundAt>,
}

impl<'a> Drafts<'a> {
    pub(super) fn new(registered: &'a BTreeMap<String, ServerSpec>) -> Self {
        Self {
            registered,
            named: Vec::new(),
            skipped: Vec::new(),
            by_contents: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, document: Document, surroundings: Surroundings<'_>) {
        for mut raw in document.entries {
            let found_at = FoundAt {
                client: surroundings.file.map(|(client, _)| client.id.to_owned()),
                file: surroundings.file.map(|(_, file)| file.to_owned()),
                keys: raw.keys.clone(),
                line: raw.line,
            };
            if let Some(reason) = skip_reason(&raw, surroundings) {
                self.skipped.push(SkippedEntry {
                    name: raw.name,
                    found_at,
                    reason,
                });
                continue;
            }
            let project = raw.project.take();
            let surroundings = Surroundings {
                project: project.as_deref().or(surroundings.project),
                ..surroundings
            };
            let draft = entry::read(&mut raw, surroundings, &document.inputs);
            self.add_draft(raw.name, draft, found_at);
        }
    }

    fn add_draft(&mut self, name: String, draft: Draft, found_at: FoundAt) {
        if let Ok(spec) = &draft.spec {
            let index = *self
                .by_contents
                .entry(contents(spec))
                .or_insert(self.named.len());
            if let Some(equal) = self.named.get_mut(index) {
                equal.absorb(&name, draft, found_at);
                return;
            }
        }
        self.named.push(NamedDraft {
            name,
            draft,
            found_at: vec![found_at],
        });
    }

    pub(super) fn finish(self) -> FoundServers {
        let mut ids = UniqueIds::default();
        let registered = self.registered;
        let servers = self.named.into_iter().map(|named| {
            let is_known = named
                .draft
                .spec
                .as_ref()
                .is_ok_and(|spec| registered.values().any(|known| is_same_server(known, spec)));
            let (name, note) =
                ids.choose(named.name, |id| !is_known && registered.contains_key(id));
            finish::finish(name, named.draft, named.found_at, note)
        });
        FoundServers {
            servers: servers.collect(),
            skipped: self.skipped,
            unreadable: Vec::new(),
        }
    }
}

impl NamedDraft {
    /// Adds the settings, notes and places of another entry for the same server.
    fn absorb(&mut self, name: &str, draft: Draft, found_at: FoundAt) {
        if let (Ok(spec), Ok(other)) = (&mut self.draft.spec, draft.spec) {
            spec.enabled |= other.enabled;
            let (timeouts, other) = (&mut spec.timeouts, other.timeouts);
            timeouts.initialize_ms = timeouts.initialize_ms.max(other.initialize_ms);
            timeouts.call_ms = timeouts.call_ms.max(other.call_ms);
            timeouts.total_ms = timeouts.total_ms.max(other.total_ms);
        }
        let mut notes = draft.notes;
        if name != self.name {
            notes.push(format!("The same server is also named '{name}'."));
        }
        notes.retain(|note| !self.draft.notes.contains(note));
        self.draft.notes.extend(notes);
        self.draft.inputs.extend(draft.inputs);
        if !self.found_at.contains(&found_at) {
            self.found_at.push(found_at);
        }
    }
}

fn skip_reason(raw: &RawEntry, surroundings: Surroundings<'_>) -> Option<SkipReason> {
    if surroundings
        .importer
        .leads_to_drawbridge(&raw.name, &raw.entry)
    {
        return Some(SkipReason::Drawbridge);
    }
    let member = |name: &str| raw.entry.get(name).and_then(serde_json::Value::as_str);
    let is_part = matches!(
        member("type"),
        Some("builtin" | "platform" | "frontend" | "inline_python")
    );
    let is_extension = member("source") == Some("extension") && raw.entry.get("command").is_none();
    (is_part || is_extension).then_some(SkipReason::BuiltIn)
}

/// Returns a text that is equal for two specs if they describe the same server with the same
/// account.
fn contents(spec: &ServerSpec) -> String {
    let oauth = spec.oauth.as_ref();
    let parts = (
        (&spec.command, &spec.args, &spec.cwd, &spec.env),
        spec.url.as_ref().map(|url| url.trim_end_matches('/')),
        &spec.headers,
        oauth.map(|client| (&client.client_id, &client.client_secret)),
        spec.transport == Some(TransportKind::Sse),
        &spec.allowed_tools,
    );
    serde_json::to_string(&parts).expect("texts can be written as JSON")
}

/// Chooses names whose ids are unique.
#[derive(Default)]
struct UniqueIds {
    /// The ids of the names that were chosen.
    used: BTreeSet<String>,
    /// The last number that was added to a name, by the id of the name without a number.
    numbers: BTreeMap<String, usize>,
}

impl UniqueIds {
    /// The most characters of a name to which a number is added. In a longer name, the id would be
    /// cut off before the number.
    const MAX_BASE: usize = 30;

    /// Returns a name whose id is not taken and was not chosen before, and a note if the name is
    /// not the preferred one.
    fn choose(
        &mut self,
        preferred: String,
        is_taken: impl Fn(&str) -> bool,
    ) -> (String, Option<String>) {
        let preferred = match names::server_id_from_name(&preferred) {
            Some(_) => preferred,
            None => naming::FALLBACK.to_owned(),
        };
        let mut claim = |id: String| !is_taken(&id) && self.used.insert(id);
        if claim(id_of(&preferred)) {
            return (preferred, None);
        }
        let base: String = preferred.chars().take(Self::MAX_BASE).collect();
        let number = self.numbers.entry(id_of(&base)).or_insert(1);
        let name = loop {
            *number += 1;
            let name = format!("{base}-{number}");
            if claim(id_of(&name)) {
                break name;
            }
        };
        let note =
            format!("Another server is named '{preferred}', so this server is named '{name}'.");
        (name, Some(note))
    }
}

fn id_of(name: &str) -> String {
    names::server_id_from_name(name)
        .map(|id| id.as_str().to_owned())
        .unwrap_or_default()
}
