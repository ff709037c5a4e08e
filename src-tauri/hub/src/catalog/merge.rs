//! Merges the offers of all servers into the lists that clients see.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
};

use super::{Definition, deferred, search::Index};
use crate::{
    model::{
        capability::{CapabilityKind, ExcludedEntry},
        ids::ServerId,
        json::Json,
        names,
        profile::Profile,
        spec::{RegisteredServer, Visibility},
    },
    sessions::Reach,
};

/// The definitions that a server offers, by kind.
pub type Offered = BTreeMap<CapabilityKind, Vec<Arc<Definition>>>;

/// A tool, prompt, resource or template as clients see it.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    /// The name that a client uses: `server__name`, or the unchanged URI.
    pub exposed_name: String,
    pub server: Arc<RegisteredServer>,
    pub definition: Arc<Definition>,
}

impl CatalogEntry {
    fn is_same(&self, other: &Self) -> bool {
        self.exposed_name == other.exposed_name
            && self.definition.is_same(&other.definition)
            && self.server.spec.visibility == other.server.spec.visibility
    }
}

/// An entry that clients cannot see, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlisted {
    pub server: ServerId,
    pub entry: ExcludedEntry,
    /// True if the person excluded it: it is not among the allowed tools.
    pub is_wanted: bool,
}

/// The whole catalog at one moment.
#[derive(Debug)]
pub struct Snapshot {
    all: Arc<Lists>,
    /// The servers, in the order in which they were passed.
    servers: Vec<ServerId>,
    /// Each server alone. Its lists are made at the first use.
    alone: HashMap<ServerId, Alone>,
    /// The catalog views of clients with a profile, made at the first use.
    narrowed: Mutex<HashMap<(Reach, String), Narrowed>>,
}

#[derive(Debug)]
struct Alone {
    server: Arc<RegisteredServer>,
    offered: Offered,
    lists: OnceLock<Arc<Lists>>,
}

#[derive(Debug)]
struct Narrowed {
    profile: Arc<Profile>,
    lists: Arc<Lists>,
}

/// A catalog view: all lists that a client sees.
#[derive(Debug)]
pub struct Lists {
    kinds: [List; CapabilityKind::ALL.len()],
    naming: Naming,
    left_out: Vec<Unlisted>,
    index: OnceLock<Index>,
}

/// All entries of a kind.
#[derive(Debug, Default)]
struct List {
    entries: Vec<Arc<CatalogEntry>>,
    by_name: HashMap<String, Arc<CatalogEntry>>,
    listed: OnceLock<Json>,
}

/// How exposed names are formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    WithServer,
    Bare,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self::merge(&[])
    }
}

impl Snapshot {
    /// Merges the servers, each with its definitions in its own order. If two definitions have the
    /// same name, the one that comes first here gets it. The resulting lists are sorted by the
    /// servers' ids.
    ///
    /// If a name is taken, the second entry gets a name with a hash. The same servers always get
    /// the same names. Bare names and URIs cannot be changed, so the second entry is excluded.
    pub fn merge(servers: &[(Arc<RegisteredServer>, &Offered)]) -> Self {
        let alone = servers.iter().map(|(server, offered)| {
            let alone = Alone {
                server: server.clone(),
                offered: (*offered).clone(),
                lists: OnceLock::new(),
            };
            (server.id.clone(), alone)
        });
        Self {
            all: Arc::new(Lists::merge(Naming::WithServer, servers)),
            servers: servers
                .iter()
                .map(|(server, _)| server.id.clone())
                .collect(),
            alone: alone.collect(),
            narrowed: Mutex::default(),
        }
    }

    /// Returns true if the snapshot was made from the same servers and definitions.
    pub(super) fn is_of(&self, servers: &[(Arc<RegisteredServer>, &Offered)]) -> bool {
        let same = |(id, (server, offered)): (&ServerId, &(Arc<RegisteredServer>, &Offered))| {
            let alone = self.alone.get(id);
            alone.is_some_and(|alone| {
                alone.server == *server && same_definitions(&alone.offered, offered)
            })
        };
        self.servers.len() == servers.len() && self.servers.iter().zip(servers).all(same)
    }

    /// Returns the view of all servers together.
    pub fn all(&self) -> &Arc<Lists> {
        &self.all
    }

    /// Returns the view of one server alone, with its own names, or `None` if the snapshot does not
    /// contain the server.
    pub fn alone(&self, id: &ServerId) -> Option<&Arc<Lists>> {
        let Alone {
            server,
            offered,
            lists,
        } = self.alone.get(id)?;
        Some(
            lists
                .get_or_init(|| Arc::new(Lists::merge(Naming::Bare, &[(server.clone(), offered)]))),
        )
    }

    /// Returns the view for a client with this scope, filtered by its profile. The view of an
    /// unknown server is empty.
    pub fn of(&self, reach: &Reach, profile: Option<&Arc<Profile>>) -> Arc<Lists> {
        static NOTHING: LazyLock<Arc<Lists>> =
            LazyLock::new(|| Arc::new(Lists::merge(Naming::Bare, &[])));
        let lists = match reach {
            Reach::All => &self.all,
            Reach::One(id) => self.alone(id).unwrap_or(&NOTHING),
        };
        let Some(profile) = profile else {
            return lists.clone();
        };
        let key = (reach.clone(), profile.name.clone());
        let mut all = self.narrowed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all
            .get(&key)
            .filter(|known| Arc::ptr_eq(&known.profile, profile))
        {
            return known.lists.clone();
        }
        let narrowed = Narrowed {
            profile: profile.clone(),
            lists: Arc::new(lists.narrowed(profile)),
        };
        let lists = narrowed.lists.clone();
        all.insert(key, narrowed);
        lists
    }
}

/// Returns true if both offers have the same definitions in the same order.
fn same_definitions(one: &Offered, other: &Offered) -> bool {
    let same = |one: &Arc<Definition>, other: &Arc<Definition>| {
        Arc::ptr_eq(one, other) || one.is_same(other)
    };
    one.keys().eq(other.keys())
        && one.iter().zip(other).all(|((_, one), (_, other))| {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        })
}

impl Lists {
    fn merge(naming: Naming, servers: &[(Arc<RegisteredServer>, &Offered)]) -> Self {
        let mut left_out = Vec::new();
        let kinds =
            CapabilityKind::ALL.map(|kind| List::merge(kind, naming, servers, &mut left_out));
        Self {
            kinds,
            naming,
            left_out,
            index: OnceLock::new(),
        }
    }

    /// Returns the part of the view that the profile permits, under the same names.
    fn narrowed(&self, profile: &Profile) -> Self {
        let has = |kind, entry: &CatalogEntry| match kind {
            CapabilityKind::Tools => profile.has_tool(&entry.server.id, &entry.definition.name),
            CapabilityKind::Prompts | CapabilityKind::Resources | CapabilityKind::Templates => {
                profile.has_server(&entry.server.id)
            }
        };
        let kinds = CapabilityKind::ALL.map(|kind| {
            let entries = self
                .entries(kind)
                .iter()
                .filter(|entry| has(kind, entry))
                .cloned();
            List::of(entries.collect())
        });
        Self {
            kinds,
            naming: self.naming,
            left_out: Vec::new(),
            index: OnceLock::new(),
        }
    }

    /// Returns all entries of a kind, in the order in which clients get them.
    pub fn entries(&self, kind: CapabilityKind) -> &[Arc<CatalogEntry>] {
        &self.list(kind).entries
    }

    /// Returns the excluded entries.
    pub fn left_out(&self) -> &[Unlisted] {
        &self.left_out
    }

    /// Returns the entry with this exposed name or URI.
    pub fn find(&self, kind: CapabilityKind, exposed_name: &str) -> Option<&Arc<CatalogEntry>> {
        self.list(kind).by_name.get(exposed_name)
    }

    /// Returns a server's tools.
    pub fn of_server(&self, id: &ServerId) -> &[Arc<CatalogEntry>] {
        let tools = self.entries(CapabilityKind::Tools);
        let begin = tools.partition_point(|tool| tool.server.id < *id);
        let end = tools.partition_point(|tool| tool.server.id <= *id);
        &tools[begin..end]
    }

    /// Returns a server's tool, by the server's own name.
    pub fn tool_of(&self, server: &ServerId, name: &str) -> Option<&Arc<CatalogEntry>> {
        self.of_server(server)
            .iter()
            .find(|tool| tool.definition.name == name)
    }

    /// Returns the resource with this URI, or the first template that the URI matches.
    pub fn find_resource<'a>(&'a self, uri: &'a str) -> Option<&'a Arc<CatalogEntry>> {
        self.find(CapabilityKind::Resources, uri)
            .or_else(|| self.templates_of(uri).next())
    }

    /// Returns the templates that a URI matches.
    pub fn templates_of<'a>(&'a self, uri: &'a str) -> impl Iterator<Item = &'a Arc<CatalogEntry>> {
        self.entries(CapabilityKind::Templates)
            .iter()
            .filter(move |entry| fits_template(uri, &entry.definition.name))
    }

    /// Returns the result of the kind's list method, ready to send.
    pub fn listed(&self, kind: CapabilityKind) -> &Json {
        self.list(kind).listed.get_or_init(|| self.render(kind))
    }

    /// Returns true if a tool is not listed, but found with `tool_search`.
    pub fn defers(&self, tool: &CatalogEntry) -> bool {
        // A client that asks for one server has chosen that server, so it gets the whole list.
        self.naming == Naming::WithServer && tool.server.spec.visibility == Visibility::Deferred
    }

    /// Returns the search index of the tools that are not listed.
    pub fn index(&self) -> &Index {
        let deferred = || {
            self.entries(CapabilityKind::Tools)
                .iter()
                .filter(|tool| self.defers(tool))
                .cloned()
        };
        self.index.get_or_init(|| Index::new(deferred().collect()))
    }

    /// Returns true if both views show a client the same entries of a kind.
    pub fn same(&self, other: &Self, kind: CapabilityKind) -> bool {
        let (ours, theirs) = (self.entries(kind), other.entries(kind));
        ours.len() == theirs.len()
            && ours
                .iter()
                .zip(theirs)
                .all(|(one, other)| one.is_same(other))
    }

    fn render(&self, kind: CapabilityKind) -> Json {
        let is_listed =
            |entry: &&Arc<CatalogEntry>| kind != CapabilityKind::Tools || !self.defers(entry);
        let listed = || self.entries(kind).iter().filter(is_listed);
        let own = if kind == CapabilityKind::Tools && deferred::offered(self) {
            &deferred::definitions()[..]
        } else {
            &[]
        };
        let length = |entry: &Arc<CatalogEntry>| {
            entry.definition.raw.get().len() + entry.exposed_name.len() + 1
        };
        let mut text =
            String::with_capacity(64 + own.concat().len() + listed().map(length).sum::<usize>());
        text.extend(["{\"", kind.list_member(), "\":["]);
        own.iter().for_each(|own| text.extend([own, ","]));
        for entry in listed() {
            entry.definition.write_as(&entry.exposed_name, &mut text);
            text.push(',');
        }
        if text.ends_with(',') {
            text.pop();
        }
        text.push_str("]}");
        Json::new(text)
    }

    fn list(&self, kind: CapabilityKind) -> &List {
        &self.kinds[kind as usize]
    }
}

impl List {
    fn of(entries: Vec<Arc<CatalogEntry>>) -> Self {
        let by_name = entries
            .iter()
            .map(|entry| (entry.exposed_name.clone(), entry.clone()))
            .collect();
        Self {
            entries,
            by_name,
            listed: OnceLock::new(),
        }
    }

    fn merge(
        kind: CapabilityKind,
        naming: Naming,
        servers: &[(Arc<RegisteredServer>, &Offered)],
        left_out: &mut Vec<Unlisted>,
    ) -> Self {
        let mut list = Self::default();
        let offered = servers.iter().flat_map(|(server, offered)| {
            offered
                .get(&kind)
                .into_iter()
                .flatten()
                .map(move |definition| (server, definition))
        });
        for (server, definition) in offered {
            match free_name(kind, naming, server, definition, &list.by_name) {
                Ok(exposed_name) => {
                    let (server, definition) = (server.clone(), definition.clone());
                    let entry = Arc::new(CatalogEntry {
                        exposed_name,
                        server,
                        definition,
                    });
                    list.by_name
                        .insert(entry.exposed_name.clone(), entry.clone());
                    list.entries.push(entry);
                }
                Err(why) => {
                    let is_wanted =
                        kind == CapabilityKind::Tools && !server.spec.allows_tool(&definition.name);
                    let entry = ExcludedEntry {
                        kind,
                        name: definition.name.clone(),
                        why,
                    };
                    left_out.push(Unlisted {
                        server: server.id.clone(),
                        entry,
                        is_wanted,
                    });
                }
            }
        }
        // The sort is stable, so each server's own order stays.
        list.entries
            .sort_by(|one, other| one.server.id.cmp(&other.server.id));
        list
    }
}

/// Returns the exposed name.
///
/// # Errors
/// Returns the reason, for people, if the entry is excluded.
fn free_name(
    kind: CapabilityKind,
    naming: Naming,
    server: &RegisteredServer,
    definition: &Definition,
    taken: &HashMap<String, Arc<CatalogEntry>>,
) -> Result<String, String> {
    let (id, name) = (&server.id, &definition.name);
    if kind == CapabilityKind::Tools && !server.spec.allows_tool(name) {
        return Err("it is not among the server's allowed tools".into());
    }
    let with_hash = |prefix: &str| names::hashed_name(prefix, id, name);
    // The preferred name, and the prefix for a name with a hash, if one is possible.
    let (wanted, prefix) = match (kind, naming, server.spec.prefix.as_deref()) {
        (CapabilityKind::Resources | CapabilityKind::Templates, ..) | (_, Naming::Bare, _) => {
            (name.clone(), None)
        }
        (_, _, Some("")) if names::is_reserved(name) => {
            return Err(format!(
                "'{name}' is, or looks like, a name of Drawbridge's own tools: give the server a prefix"
            ));
        }
        (_, _, Some("")) if names::is_valid_exposed_name(name) => (name.clone(), None),
        (_, _, Some("")) => (with_hash(id.as_str()), None),
        (_, _, prefix) => {
            let prefix = prefix.unwrap_or(id.as_str());
            (names::exposed_name(prefix, id, name), Some(prefix))
        }
    };
    let Some(mut holder) = taken.get(&wanted) else {
        return Ok(wanted);
    };
    if let Some(other) = prefix.map(with_hash) {
        let Some(its_holder) = taken.get(&other) else {
            return Ok(other);
        };
        holder = its_holder;
    }
    Err(match &holder.server.id {
        holder if holder != id => {
            format!("'{holder}' has that name already: give one of them a prefix")
        }
        _ => "the server offers it twice".into(),
    })
}

/// Returns true if a URI may result from a template (RFC 6570). Compares only the literal texts
/// between the expressions.
fn fits_template(uri: &str, template: &str) -> bool {
    let mut literals = template.split('{').enumerate().map(|(index, part)| {
        if index == 0 {
            part
        } else {
            part.split_once('}').map_or("", |(_, literal)| literal)
        }
    });
    let Some(mut rest) = literals.next().and_then(|first| uri.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for literal in literals {
        let Some(at) = rest.find(literal) else {
            return false;
        };
        rest = &rest[at + literal.len()..];
        last = Some(literal);
    }
    match last {
        None => rest.is_empty(),
        Some(literal) => literal.is_empty() || uri.ends_with(literal),
    }
}

#[cfg(test)]
mod tests;
