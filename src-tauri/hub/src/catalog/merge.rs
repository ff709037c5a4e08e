//! From what each server offers to the lists at the door.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
};

use super::{Definition, deferred, search::Index};
use crate::{
    model::{
        capability::Kind,
        ids::ServerId,
        json::{self, Json, RawObject},
        names,
        profile::Profile,
        spec::{Registered, Visibility},
    },
    sessions::Reach,
};

/// What a server offers, by kind.
pub type Offered = BTreeMap<Kind, Vec<Arc<Definition>>>;

/// A tool, prompt, resource or template at the door.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    /// What a client asks with: `server__name`, or the URI as it is.
    pub exposed_name: String,
    pub server: Arc<Registered>,
    pub definition: Arc<Definition>,
}

impl CatalogEntry {
    fn is_same(&self, other: &Self) -> bool {
        self.exposed_name == other.exposed_name
            && self.definition.digest == other.definition.digest
            && self.server.spec.visibility == other.server.spec.visibility
    }
}

/// Something that is not at the door, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub server: ServerId,
    /// The server's own name of it.
    pub name: String,
    /// In plain words.
    pub why: String,
}

/// Everything at one moment.
#[derive(Debug)]
pub struct Snapshot {
    all: Arc<Lists>,
    /// Each server alone, made when somebody first looks.
    alone: HashMap<ServerId, Alone>,
    /// What clients with a profile see, made when one of them first looks.
    narrowed: Mutex<HashMap<(Reach, String), Narrowed>>,
}

#[derive(Debug)]
struct Alone {
    server: Arc<Registered>,
    offered: Offered,
    lists: OnceLock<Arc<Lists>>,
}

#[derive(Debug)]
struct Narrowed {
    profile: Arc<Profile>,
    lists: Arc<Lists>,
}

/// All lists that a client sees.
#[derive(Debug)]
pub struct Lists {
    kinds: [List; Kind::ALL.len()],
    naming: Naming,
    left_out: Vec<LeftOut>,
    index: OnceLock<Index>,
}

/// All entries of a kind.
#[derive(Debug, Default)]
struct List {
    entries: Vec<Arc<CatalogEntry>>,
    by_name: HashMap<String, Arc<CatalogEntry>>,
    listed: OnceLock<Json>,
}

/// How entries are called at the door.
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
    /// Merges the servers, each with what it offers in its own order. Of two that want the same name the one that comes
    /// first here has it; the lists are in the order of the servers' ids.
    ///
    /// A name that another one has is made distinct with a hash; the same servers always get the same names. A bare
    /// name and a URI cannot be changed: the second one is left out.
    pub fn merge(servers: &[(Arc<Registered>, &Offered)]) -> Self {
        let alone = servers.iter().map(|(server, offered)| {
            let alone = Alone { server: server.clone(), offered: (*offered).clone(), lists: OnceLock::new() };
            (server.id.clone(), alone)
        });
        Self {
            all: Arc::new(Lists::merge(Naming::WithServer, servers)),
            alone: alone.collect(),
            narrowed: Mutex::default(),
        }
    }

    /// All servers together.
    pub fn all(&self) -> &Arc<Lists> {
        &self.all
    }

    /// One server alone, with its own names; none where nothing of it is known.
    pub fn alone(&self, id: &ServerId) -> Option<&Arc<Lists>> {
        let Alone { server, offered, lists } = self.alone.get(id)?;
        Some(lists.get_or_init(|| Arc::new(Lists::merge(Naming::Bare, &[(server.clone(), offered)]))))
    }

    /// What a client with that reach sees, and no more than its profile has; nothing of a server that is not there.
    pub fn of(&self, reach: &Reach, profile: Option<&Arc<Profile>>) -> Arc<Lists> {
        static NOTHING: LazyLock<Arc<Lists>> = LazyLock::new(|| Arc::new(Lists::merge(Naming::Bare, &[])));
        let lists = match reach {
            Reach::All => &self.all,
            Reach::One(id) => self.alone(id).unwrap_or(&NOTHING),
        };
        let Some(profile) = profile else { return lists.clone() };
        let key = (reach.clone(), profile.name.clone());
        let mut all = self.narrowed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(&key).filter(|known| Arc::ptr_eq(&known.profile, profile)) {
            return known.lists.clone();
        }
        let narrowed = Narrowed { profile: profile.clone(), lists: Arc::new(lists.narrowed(profile)) };
        let lists = narrowed.lists.clone();
        all.insert(key, narrowed);
        lists
    }
}

impl Lists {
    fn merge(naming: Naming, servers: &[(Arc<Registered>, &Offered)]) -> Self {
        let mut left_out = Vec::new();
        let kinds = Kind::ALL.map(|kind| List::merge(kind, naming, servers, &mut left_out));
        Self { kinds, naming, left_out, index: OnceLock::new() }
    }

    /// What of these lists is in a profile, under the same names.
    fn narrowed(&self, profile: &Profile) -> Self {
        let has = |kind, entry: &CatalogEntry| match kind {
            Kind::Tools => profile.has_tool(&entry.server.id, &entry.definition.name),
            Kind::Prompts | Kind::Resources | Kind::Templates => profile.has(&entry.server.id),
        };
        let kinds = Kind::ALL.map(|kind| {
            let entries = self.entries(kind).iter().filter(|entry| has(kind, entry)).cloned();
            List::of(entries.collect())
        });
        Self { kinds, naming: self.naming, left_out: Vec::new(), index: OnceLock::new() }
    }

    /// All entries of a kind, in the order clients get them.
    pub fn entries(&self, kind: Kind) -> &[Arc<CatalogEntry>] {
        &self.list(kind).entries
    }

    /// What a server offers that is not among the entries.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The entry of that name, or URI, at the door.
    pub fn find(&self, kind: Kind, exposed_name: &str) -> Option<&Arc<CatalogEntry>> {
        self.list(kind).by_name.get(exposed_name)
    }

    /// A server's tools.
    pub fn of_server(&self, id: &ServerId) -> &[Arc<CatalogEntry>] {
        let tools = self.entries(Kind::Tools);
        let begin = tools.partition_point(|tool| tool.server.id < *id);
        let end = tools.partition_point(|tool| tool.server.id <= *id);
        &tools[begin..end]
    }

    /// A server's tool, by its own name.
    pub fn tool_of(&self, server: &ServerId, name: &str) -> Option<&Arc<CatalogEntry>> {
        self.of_server(server).iter().find(|tool| tool.definition.name == name)
    }

    /// The resource of that URI, or the template that it fits.
    pub fn find_resource(&self, uri: &str) -> Option<&Arc<CatalogEntry>> {
        let fits = |entry: &&Arc<CatalogEntry>| fits_template(uri, &entry.definition.name);
        self.find(Kind::Resources, uri).or_else(|| self.entries(Kind::Templates).iter().find(fits))
    }

    /// The result of the kind's list method, ready to send.
    pub fn listed(&self, kind: Kind) -> &Json {
        self.list(kind).listed.get_or_init(|| self.render(kind))
    }

    /// Whether a tool is not listed, but found with `tool_search`.
    pub fn defers(&self, tool: &CatalogEntry) -> bool {
        // Who asks for one server alone has chosen it.
        self.naming == Naming::WithServer && tool.server.spec.visibility == Visibility::Deferred
    }

    /// The tools that are not listed, to search in.
    pub fn index(&self) -> &Index {
        let deferred = || self.entries(Kind::Tools).iter().filter(|tool| self.defers(tool)).cloned();
        self.index.get_or_init(|| Index::new(deferred().collect()))
    }

    /// Whether a client would be shown the same entries of a kind.
    pub fn same(&self, other: &Self, kind: Kind) -> bool {
        let (ours, theirs) = (self.entries(kind), other.entries(kind));
        ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(one, other)| one.is_same(other))
    }

    fn render(&self, kind: Kind) -> Json {
        let entries = self.entries(kind).iter();
        if kind != Kind::Tools {
            return Json::new(render(kind, entries.filter_map(|entry| definition(kind, entry))));
        }
        let own = if deferred::offered(self) { deferred::definitions().to_vec() } else { Vec::new() };
        let visible = entries.filter(|tool| !self.defers(tool)).filter_map(|tool| definition(kind, tool));
        Json::new(render(kind, own.into_iter().chain(visible)))
    }

    fn list(&self, kind: Kind) -> &List {
        &self.kinds[kind as usize]
    }
}

impl List {
    fn of(entries: Vec<Arc<CatalogEntry>>) -> Self {
        let by_name = entries.iter().map(|entry| (entry.exposed_name.clone(), entry.clone())).collect();
        Self { entries, by_name, listed: OnceLock::new() }
    }

    fn merge(kind: Kind, naming: Naming, servers: &[(Arc<Registered>, &Offered)], left_out: &mut Vec<LeftOut>) -> Self {
        let mut list = Self::default();
        let offered = servers.iter().flat_map(|(server, offered)| {
            offered.get(&kind).into_iter().flatten().map(move |definition| (server, definition))
        });
        for (server, definition) in offered {
            match free_name(kind, naming, server, definition, &list.by_name) {
                Ok(exposed_name) => {
                    let (server, definition) = (server.clone(), definition.clone());
                    let entry = Arc::new(CatalogEntry { exposed_name, server, definition });
                    list.by_name.insert(entry.exposed_name.clone(), entry.clone());
                    list.entries.push(entry);
                }
                Err(why) => {
                    left_out.push(LeftOut { server: server.id.clone(), name: definition.name.clone(), why });
                }
            }
        }
        // Stable: each server's own order stays.
        list.entries.sort_by(|one, other| one.server.id.cmp(&other.server.id));
        list
    }
}

/// The name at the door.
///
/// # Errors
/// In plain words, why there is none.
fn free_name(
    kind: Kind,
    naming: Naming,
    server: &Registered,
    definition: &Definition,
    taken: &HashMap<String, Arc<CatalogEntry>>,
) -> Result<String, String> {
    let (id, name) = (&server.id, &definition.name);
    if kind == Kind::Tools && !server.spec.allows(name) {
        return Err("it is not among the server's allowed tools".into());
    }
    let candidates = match (kind, naming, server.spec.prefix.as_deref()) {
        (Kind::Resources | Kind::Templates, ..) | (_, Naming::Bare, _) => vec![name.clone()],
        (_, _, Some("")) if names::is_reserved(name) => {
            return Err(format!(
                "'{name}' is, or looks like, a name of Drawbridge's own tools: give the server a prefix"
            ));
        }
        (_, _, Some("")) if names::is_plain(name) => vec![name.clone()],
        (_, _, Some("")) => vec![names::hashed_name(id.as_str(), id, name)],
        (_, _, prefix) => {
            let prefix = prefix.unwrap_or(id.as_str());
            vec![names::exposed_name(prefix, id, name), names::hashed_name(prefix, id, name)]
        }
    };
    let holder = candidates.last().and_then(|name| taken.get(name)).map(|entry| entry.server.id.clone());
    let contested = || match holder {
        Some(holder) if holder != *id => format!("'{holder}' has that name already: give one of them a prefix"),
        _ => "the server offers it twice".into(),
    };
    candidates.into_iter().find(|name| !taken.contains_key(name)).ok_or_else(contested)
}

/// A definition with its name at the door.
fn definition(kind: Kind, entry: &CatalogEntry) -> Option<String> {
    let mut definition = RawObject::parse(&entry.definition.raw).ok()?;
    definition.set(kind.key(), json::raw(json::string(&entry.exposed_name)));
    Some(definition.to_raw().get().to_owned())
}

/// The result of a list method.
fn render(kind: Kind, definitions: impl Iterator<Item = String>) -> String {
    let mut text = format!(r#"{{"{}":["#, kind.member());
    for (at, definition) in definitions.enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&definition);
    }
    text.push_str("]}");
    text
}

/// Whether a URI can come of a template (RFC 6570), seen by what stands between its expressions.
fn fits_template(uri: &str, template: &str) -> bool {
    let mut literals = template
        .split('{')
        .enumerate()
        .map(|(index, part)| if index == 0 { part } else { part.split_once('}').map_or("", |(_, literal)| literal) });
    let Some(mut rest) = literals.next().and_then(|first| uri.strip_prefix(first)) else { return false };
    let mut last = None;
    for literal in literals {
        let Some(at) = rest.find(literal) else { return false };
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
