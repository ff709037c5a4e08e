//! From what each server offers to the lists at the door.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock, OnceLock},
};

use super::Definition;
use crate::{
    model::{
        capability::Kind,
        ids::ServerId,
        json::{self, Json, RawObject},
        names,
        spec::Registered,
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

/// Everything at one moment.
#[derive(Debug)]
pub struct Snapshot {
    all: Lists,
    /// Each server alone, made when somebody first looks.
    alone: HashMap<ServerId, Alone>,
}

#[derive(Debug)]
struct Alone {
    server: Arc<Registered>,
    offered: Offered,
    lists: OnceLock<Lists>,
}

/// All lists that a client sees.
#[derive(Debug)]
pub struct Lists {
    kinds: [List; Kind::ALL.len()],
}

/// All entries of a kind.
#[derive(Debug)]
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
    /// Merges the servers in their order, each with what it offers in its own.
    ///
    /// A name that another one has is made distinct with a hash; the same servers always get the same names. A URI
    /// cannot be changed: of two servers that offer the same one, the first has it.
    pub fn merge(servers: &[(Arc<Registered>, &Offered)]) -> Self {
        let alone = servers.iter().map(|(server, offered)| {
            let alone = Alone { server: server.clone(), offered: (*offered).clone(), lists: OnceLock::new() };
            (server.id.clone(), alone)
        });
        Self { all: Lists::merge(Naming::WithServer, servers), alone: alone.collect() }
    }

    /// All servers together.
    pub fn all(&self) -> &Lists {
        &self.all
    }

    /// One server alone, with its own names; none where nothing of it is known.
    pub fn alone(&self, id: &ServerId) -> Option<&Lists> {
        let Alone { server, offered, lists } = self.alone.get(id)?;
        Some(lists.get_or_init(|| Lists::merge(Naming::Bare, &[(server.clone(), offered)])))
    }

    /// What a client with that reach sees; nothing of a server that is not there.
    pub fn of(&self, reach: &Reach) -> &Lists {
        static NOTHING: LazyLock<Lists> = LazyLock::new(|| Lists::merge(Naming::Bare, &[]));
        match reach {
            Reach::All => &self.all,
            Reach::One(id) => self.alone(id).unwrap_or(&NOTHING),
        }
    }
}

impl Lists {
    fn merge(naming: Naming, servers: &[(Arc<Registered>, &Offered)]) -> Self {
        Self { kinds: Kind::ALL.map(|kind| List::merge(kind, naming, servers)) }
    }

    /// All entries of a kind, in the order clients get them.
    pub fn entries(&self, kind: Kind) -> &[Arc<CatalogEntry>] {
        &self.list(kind).entries
    }

    /// The entry of that name, or URI, at the door.
    pub fn find(&self, kind: Kind, exposed_name: &str) -> Option<&Arc<CatalogEntry>> {
        self.list(kind).by_name.get(exposed_name)
    }

    /// The resource of that URI, or the template that it fits.
    pub fn find_resource(&self, uri: &str) -> Option<&Arc<CatalogEntry>> {
        let fits = |entry: &&Arc<CatalogEntry>| fits_template(uri, &entry.definition.name);
        self.find(Kind::Resources, uri).or_else(|| self.entries(Kind::Templates).iter().find(fits))
    }

    /// The result of the kind's list method, ready to send.
    pub fn listed(&self, kind: Kind) -> &Json {
        let list = self.list(kind);
        list.listed.get_or_init(|| render(kind, &list.entries))
    }

    fn list(&self, kind: Kind) -> &List {
        &self.kinds[kind as usize]
    }
}

impl List {
    fn merge(kind: Kind, naming: Naming, servers: &[(Arc<Registered>, &Offered)]) -> Self {
        let mut entries = Vec::new();
        let mut by_name: HashMap<String, Arc<CatalogEntry>> = HashMap::new();
        let offered = servers.iter().flat_map(|(server, offered)| {
            offered.get(&kind).into_iter().flatten().map(move |definition| (server, definition))
        });
        for (server, definition) in offered {
            let Some(exposed_name) = free_name(kind, naming, server, definition, &by_name) else {
                tracing::warn!("server {}: a second '{}' is left out", server.id, definition.name);
                continue;
            };
            let entry = Arc::new(CatalogEntry { exposed_name, server: server.clone(), definition: definition.clone() });
            by_name.insert(entry.exposed_name.clone(), entry.clone());
            entries.push(entry);
        }
        Self { entries, by_name, listed: OnceLock::new() }
    }
}

fn free_name(
    kind: Kind,
    naming: Naming,
    server: &Registered,
    definition: &Definition,
    taken: &HashMap<String, Arc<CatalogEntry>>,
) -> Option<String> {
    let candidates = match (kind, naming) {
        (Kind::Tools | Kind::Prompts, Naming::WithServer) => {
            vec![names::exposed_name(&server.id, &definition.name), names::hashed_name(&server.id, &definition.name)]
        }
        (Kind::Resources | Kind::Templates, _) | (_, Naming::Bare) => vec![definition.name.clone()],
    };
    candidates.into_iter().find(|name| !taken.contains_key(name))
}

fn render(kind: Kind, entries: &[Arc<CatalogEntry>]) -> Json {
    let mut text = format!(r#"{{"{}":["#, kind.member());
    for entry in entries {
        if let Ok(mut definition) = RawObject::parse(&entry.definition.raw) {
            if !text.ends_with('[') {
                text.push(',');
            }
            definition.set(kind.key(), json::raw(json::string(&entry.exposed_name)));
            text.push_str(definition.to_raw().get());
        }
    }
    text.push_str("]}");
    Json::new(text)
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
