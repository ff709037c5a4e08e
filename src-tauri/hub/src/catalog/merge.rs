//! Merges the offers of all servers into the lists that clients see.

pub(super) mod templates;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
};

use drawbridge_jsonrpc::json::Json;
use drawbridge_model::{
    capability::{CapabilityKind, ExcludedEntry},
    ids::ServerId,
    names,
    spec::{RegisteredServer, Visibility},
};
use drawbridge_sessions::{ClientScope, ServerScope};

use super::{Definition, deferred, profiles::AppliedProfiles, search::Index};
use crate::content::ConfusableNames;

/// The definitions that a server offers, by kind.
pub type Offered = BTreeMap<CapabilityKind, Vec<Arc<Definition>>>;

/// A tool, prompt, resource or template as clients see it.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    /// The name that a client uses: `server__name`, a name with a hash, the bare name, or the
    /// unchanged URI.
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
pub struct Exclusion {
    pub server: ServerId,
    pub entry: ExcludedEntry,
    /// Whether the user excluded the entry: a tool that the spec does not allow.
    pub is_intended: bool,
}

/// The whole catalog at one moment.
#[derive(Debug)]
pub struct Snapshot {
    all: Arc<CatalogView>,
    /// The length of the longest tool name in `all`, in bytes.
    longest_tool_name: usize,
    /// The servers, in the order in which they were passed.
    servers: Vec<ServerId>,
    /// Each server with the view of this server alone, which is made at the first use.
    per_server: HashMap<ServerId, PerServer>,
    /// The catalog views of clients that need shorter tool names, by the maximum length in bytes.
    /// Made at the first use.
    shortened: Mutex<HashMap<usize, Arc<CatalogView>>>,
    /// The catalog views of clients with profiles, made at the first use.
    per_profiles: Mutex<HashMap<ProfileKey, PerProfiles>>,
    /// The names of all tools in the form in which similar names are equal, computed at the first
    /// use.
    confusable_names: OnceLock<ConfusableNames>,
}

#[derive(Debug)]
struct PerServer {
    server: Arc<RegisteredServer>,
    offered: Offered,
    view: OnceLock<Arc<CatalogView>>,
}

/// The servers of an endpoint, the maximum length of a tool's name, and the names of profiles.
type ProfileKey = (ServerScope, usize, Vec<String>);

#[derive(Debug)]
struct PerProfiles {
    profiles: AppliedProfiles,
    view: Arc<CatalogView>,
}

/// A catalog view: all lists that a client sees.
#[derive(Debug)]
pub struct CatalogView {
    kinds: [List; CapabilityKind::ALL.len()],
    naming: Naming,
    /// The position of each server in the order in which the servers were accepted.
    ranks: Arc<HashMap<ServerId, usize>>,
    excluded: Vec<Exclusion>,
    index: OnceLock<Index>,
}

/// All entries of a kind.
#[derive(Debug, Default)]
struct List {
    entries: Vec<Arc<CatalogEntry>>,
    by_name: HashMap<String, Arc<CatalogEntry>>,
    list_result: OnceLock<Json>,
}

/// How exposed names are formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// `server__name`, in a view of all servers.
    WithServer,
    /// The server's own names, in a view of one server.
    Bare,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self::merge(&[])
    }
}

impl Snapshot {
    /// Merges the lists of servers. If two definitions have the same exposed name, the server that
    /// is earlier in `servers` keeps the name. The resulting lists are sorted by the servers' ids;
    /// the entries of a server stay in its own order.
    ///
    /// The later tool or prompt with a taken name gets a name with a hash, and is excluded if that
    /// name is taken too. The same servers always get the same names. Bare names and URIs cannot be
    /// changed, so the later entry with the same bare name or URI is excluded. A resource is also
    /// excluded if a template of an earlier server matches its URI.
    pub fn merge(servers: &[(Arc<RegisteredServer>, &Offered)]) -> Self {
        let per_server = servers.iter().map(|(server, offered)| {
            let entry = PerServer {
                server: server.clone(),
                offered: (*offered).clone(),
                view: OnceLock::new(),
            };
            (server.id.clone(), entry)
        });
        let all = CatalogView::merge(Naming::WithServer, servers);
        let tools = all.entries(CapabilityKind::Tools).iter();
        Self {
            longest_tool_name: tools.map(|tool| tool.exposed_name.len()).max().unwrap_or(0),
            all: Arc::new(all),
            servers: servers
                .iter()
                .map(|(server, _)| server.id.clone())
                .collect(),
            per_server: per_server.collect(),
            shortened: Mutex::default(),
            per_profiles: Mutex::default(),
            confusable_names: OnceLock::new(),
        }
    }

    /// Returns the names of all tools in the form in which similar names are equal.
    pub(crate) fn confusable_names(&self) -> &ConfusableNames {
        self.confusable_names.get_or_init(|| {
            let tools = self.all.entries(CapabilityKind::Tools).iter();
            ConfusableNames::new(tools.map(|tool| (&tool.server.id, tool.definition.name.as_str())))
        })
    }

    /// Returns whether the snapshot was made from the same servers and definitions.
    pub(super) fn is_merged_from(&self, servers: &[(Arc<RegisteredServer>, &Offered)]) -> bool {
        let is_same = |(id, (server, offered)): (&ServerId, &(Arc<RegisteredServer>, &Offered))| {
            let merged = self.per_server.get(id);
            merged.is_some_and(|merged| {
                merged.server == *server && have_same_definitions(&merged.offered, offered)
            })
        };
        self.servers.len() == servers.len() && self.servers.iter().zip(servers).all(is_same)
    }

    /// Returns the view of all servers together.
    pub fn all(&self) -> &Arc<CatalogView> {
        &self.all
    }

    /// Returns the view of one server alone, with its own names, or `None` if the snapshot does not
    /// contain the server.
    pub fn server_view(&self, id: &ServerId) -> Option<&Arc<CatalogView>> {
        let PerServer {
            server,
            offered,
            view,
        } = self.per_server.get(id)?;
        Some(view.get_or_init(|| {
            Arc::new(CatalogView::merge(
                Naming::Bare,
                &[(server.clone(), offered)],
            ))
        }))
    }

    /// Returns the view for a client of an endpoint, filtered by the profiles that apply to the
    /// client. In the view of all servers, a tool's name has at most `max_tool_name` bytes. The
    /// view of an unknown server is empty.
    pub fn client_view(
        &self,
        servers: &ServerScope,
        max_tool_name: usize,
        profiles: &AppliedProfiles,
    ) -> Arc<CatalogView> {
        static EMPTY_VIEW: LazyLock<Arc<CatalogView>> =
            LazyLock::new(|| Arc::new(CatalogView::merge(Naming::Bare, &[])));
        let view = match servers {
            ServerScope::All => self.view_with_names_up_to(max_tool_name),
            ServerScope::One(id) => self.server_view(id).unwrap_or(&EMPTY_VIEW).clone(),
        };
        if profiles.is_empty() {
            return view;
        }
        let key = (servers.clone(), max_tool_name, profiles.names());
        let mut per_profiles = self
            .per_profiles
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = per_profiles
            .get(&key)
            .filter(|cached| cached.profiles.is_same(profiles))
        {
            return cached.view.clone();
        }
        let entry = PerProfiles {
            profiles: profiles.clone(),
            view: Arc::new(view.filtered(profiles)),
        };
        let view = entry.view.clone();
        per_profiles.insert(key, entry);
        view
    }

    /// Returns the view of all servers together, in which a tool's name has at most `max` bytes.
    fn view_with_names_up_to(&self, max: usize) -> Arc<CatalogView> {
        if self.longest_tool_name <= max {
            return self.all.clone();
        }
        let mut shortened = self
            .shortened
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        shortened
            .entry(max)
            .or_insert_with(|| Arc::new(self.all.shortened(max)))
            .clone()
    }
}

/// Returns whether both offers have the same definitions in the same order.
fn have_same_definitions(left: &Offered, right: &Offered) -> bool {
    let is_same = |left: &Arc<Definition>, right: &Arc<Definition>| {
        Arc::ptr_eq(left, right) || left.is_same(right)
    };
    left.keys().eq(right.keys())
        && left.iter().zip(right).all(|((_, left), (_, right))| {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| is_same(left, right))
        })
}

impl CatalogView {
    fn merge(naming: Naming, servers: &[(Arc<RegisteredServer>, &Offered)]) -> Self {
        let mut excluded = Vec::new();
        let kinds =
            CapabilityKind::ALL.map(|kind| List::merge(kind, naming, servers, &mut excluded));
        let ranks = servers
            .iter()
            .enumerate()
            .map(|(rank, (server, _))| (server.id.clone(), rank));
        Self {
            kinds,
            naming,
            ranks: Arc::new(ranks.collect()),
            excluded,
            index: OnceLock::new(),
        }
    }

    /// Returns the view with names of at most `max` bytes: a tool with a longer name is listed
    /// under a name with a hash, and is still found under the longer name. If another tool already
    /// has the name with the hash, the tool with the long name is excluded.
    fn shortened(&self, max: usize) -> Self {
        let (mut entries, mut too_long) = (Vec::new(), Vec::new());
        let tools = self.entries(CapabilityKind::Tools);
        for (position, tool) in tools.iter().enumerate() {
            if tool.exposed_name.len() <= max {
                entries.push((position, tool.clone()));
            } else {
                too_long.push((position, tool));
            }
        }
        let mut taken: HashSet<_> = entries
            .iter()
            .map(|(_, tool)| tool.exposed_name.clone())
            .collect();
        let mut excluded = self.excluded.clone();
        let mut long_names = Vec::new();
        for (position, tool) in too_long {
            let CatalogEntry {
                server, definition, ..
            } = &**tool;
            let exposed_name =
                names::hashed_name(own_prefix(server), &server.id, &definition.name, max);
            if taken.insert(exposed_name.clone()) {
                let shortened = Arc::new(CatalogEntry {
                    exposed_name,
                    server: server.clone(),
                    definition: definition.clone(),
                });
                long_names.push((tool.exposed_name.clone(), shortened.clone()));
                entries.push((position, shortened));
            } else {
                excluded.push(Exclusion {
                    server: server.id.clone(),
                    entry: ExcludedEntry {
                        kind: CapabilityKind::Tools,
                        name: definition.name.clone(),
                        reason: "another tool has its shortened name".into(),
                    },
                    is_intended: false,
                });
            }
        }
        entries.sort_by_key(|(position, _)| *position);
        let mut kinds =
            CapabilityKind::ALL.map(|kind| List::from_entries(self.entries(kind).to_vec()));
        let tools = &mut kinds[CapabilityKind::Tools as usize];
        *tools = List::from_entries(entries.into_iter().map(|(_, tool)| tool).collect());
        tools.by_name.extend(long_names);
        Self {
            kinds,
            naming: self.naming,
            ranks: self.ranks.clone(),
            excluded,
            index: OnceLock::new(),
        }
    }

    /// Returns the part of the view that all profiles permit, under the same names. A tool with a
    /// shortened name is still found under its longer name.
    fn filtered(&self, profiles: &AppliedProfiles) -> Self {
        let permits = |kind, entry: &CatalogEntry| {
            profiles.permit(kind, &entry.server.id, &entry.definition.name)
        };
        let kinds = CapabilityKind::ALL.map(|kind| {
            let List {
                entries, by_name, ..
            } = self.list(kind);
            let entries = entries.iter().filter(|entry| permits(kind, entry));
            let by_name = by_name.iter().filter(|(_, entry)| permits(kind, entry));
            List {
                entries: entries.cloned().collect(),
                by_name: by_name
                    .map(|(name, entry)| (name.clone(), entry.clone()))
                    .collect(),
                list_result: OnceLock::new(),
            }
        });
        Self {
            kinds,
            naming: self.naming,
            ranks: self.ranks.clone(),
            excluded: Vec::new(),
            index: OnceLock::new(),
        }
    }

    /// Returns all entries of a kind, in the order in which clients get them.
    pub fn entries(&self, kind: CapabilityKind) -> &[Arc<CatalogEntry>] {
        &self.list(kind).entries
    }

    /// Returns the excluded entries.
    pub fn excluded(&self) -> &[Exclusion] {
        &self.excluded
    }

    /// Returns the entry with this exposed name or URI.
    pub fn find(&self, kind: CapabilityKind, exposed_name: &str) -> Option<&Arc<CatalogEntry>> {
        self.list(kind).by_name.get(exposed_name)
    }

    /// Returns a server's tools.
    pub fn server_tools(&self, id: &ServerId) -> &[Arc<CatalogEntry>] {
        let tools = self.entries(CapabilityKind::Tools);
        let begin = tools.partition_point(|tool| tool.server.id < *id);
        let end = tools.partition_point(|tool| tool.server.id <= *id);
        &tools[begin..end]
    }

    /// Returns a server's tool with this name, which is the server's own name of the tool.
    pub fn find_server_tool(&self, server: &ServerId, name: &str) -> Option<&Arc<CatalogEntry>> {
        self.server_tools(server)
            .iter()
            .find(|tool| tool.definition.name == name)
    }

    /// Returns the resource with this URI, or the template that the URI matches. If several entries
    /// match, returns an entry of the server that was accepted first: its resource, or else its
    /// template with the most literal text.
    pub fn find_resource(&self, uri: &str) -> Option<&Arc<CatalogEntry>> {
        let resource = self.find(CapabilityKind::Resources, uri);
        // `None` is less than any `Some`, so a server's resource precedes its templates.
        let resource = resource.map(|entry| (self.rank(&entry.server.id), None, entry));
        let templates = self.matching_templates(uri).map(|entry| {
            let literal_length = templates::literal_length(&entry.definition.name);
            (
                self.rank(&entry.server.id),
                Some(Reverse(literal_length)),
                entry,
            )
        });
        resource
            .into_iter()
            .chain(templates)
            .min_by_key(|(rank, precedence, _)| (*rank, *precedence))
            .map(|(.., entry)| entry)
    }

    /// Returns whether `server` was accepted before `other`.
    pub fn was_accepted_before(&self, server: &ServerId, other: &ServerId) -> bool {
        self.rank(server) < self.rank(other)
    }

    /// Returns the templates that a URI matches.
    fn matching_templates(&self, uri: &str) -> impl Iterator<Item = &Arc<CatalogEntry>> {
        self.entries(CapabilityKind::Templates)
            .iter()
            .filter(move |entry| templates::matches(uri, &entry.definition.name))
    }

    fn rank(&self, server: &ServerId) -> usize {
        self.ranks.get(server).copied().unwrap_or(usize::MAX)
    }

    /// Returns the result of the kind's list method, ready to send.
    pub fn list_result(&self, kind: CapabilityKind) -> &Json {
        self.list(kind)
            .list_result
            .get_or_init(|| self.render(kind))
    }

    /// Returns whether a tool is not listed, but found with `tool_search`.
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

    /// Returns whether both views show a client the same entries of a kind.
    pub fn has_same_entries(&self, other: &Self, kind: CapabilityKind) -> bool {
        let (left, right) = (self.entries(kind), other.entries(kind));
        left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(left, right)| left.is_same(right))
    }

    fn render(&self, kind: CapabilityKind) -> Json {
        let is_listed =
            |entry: &&Arc<CatalogEntry>| kind != CapabilityKind::Tools || !self.defers(entry);
        let listed = || self.entries(kind).iter().filter(is_listed);
        let own_definitions = if kind == CapabilityKind::Tools && deferred::is_offered(self) {
            &deferred::definitions()[..]
        } else {
            &[]
        };
        let length = |entry: &Arc<CatalogEntry>| {
            entry.definition.raw.get().len() + entry.exposed_name.len() + 1
        };
        let mut text = String::with_capacity(
            64 + own_definitions.concat().len() + listed().map(length).sum::<usize>(),
        );
        text.extend(["{\"", kind.list_member(), "\":["]);
        own_definitions
            .iter()
            .for_each(|definition| text.extend([definition, ","]));
        for entry in listed() {
            entry
                .definition
                .write_renamed(&entry.exposed_name, &mut text);
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
    fn from_entries(entries: Vec<Arc<CatalogEntry>>) -> Self {
        let by_name = entries
            .iter()
            .map(|entry| (entry.exposed_name.clone(), entry.clone()))
            .collect();
        Self {
            entries,
            by_name,
            list_result: OnceLock::new(),
        }
    }

    fn merge(
        kind: CapabilityKind,
        naming: Naming,
        servers: &[(Arc<RegisteredServer>, &Offered)],
        excluded: &mut Vec<Exclusion>,
    ) -> Self {
        let mut list = Self::default();
        let offered = servers
            .iter()
            .enumerate()
            .flat_map(|(rank, (server, offered))| {
                offered
                    .get(&kind)
                    .into_iter()
                    .flatten()
                    .map(move |definition| (&servers[..rank], server, definition))
            });
        for (earlier_servers, server, definition) in offered {
            let name = &definition.name;
            let chosen = match describe_covering_template(kind, &server.id, name, earlier_servers) {
                Some(reason) => Err(reason),
                None => choose_name(kind, naming, server, name, &list.by_name),
            };
            match chosen {
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
                Err(reason) => {
                    let is_intended =
                        kind == CapabilityKind::Tools && !server.spec.allows_tool(&definition.name);
                    let entry = ExcludedEntry {
                        kind,
                        name: definition.name.clone(),
                        reason,
                    };
                    excluded.push(Exclusion {
                        server: server.id.clone(),
                        entry,
                        is_intended,
                    });
                }
            }
        }
        // The sort is stable, so each server's own order stays.
        list.entries
            .sort_by(|left, right| left.server.id.cmp(&right.server.id));
        list
    }
}

/// Returns whether clients with this scope may see an entry of a server under an exposed name.
/// The name may still belong to another entry.
pub(super) fn may_be_exposed_as(
    kind: CapabilityKind,
    scope: &ClientScope,
    server: &RegisteredServer,
    name: &str,
    exposed_name: &str,
) -> bool {
    let naming = match scope.servers {
        ServerScope::One(_) => Naming::Bare,
        ServerScope::All => Naming::WithServer,
    };
    let is_hashed_name = || {
        let hashed = |max| names::hashed_name(own_prefix(server), &server.id, name, max);
        naming == Naming::WithServer
            && [exposed_name.len(), names::MAX_TOOL_NAME]
                .into_iter()
                .any(|max| hashed(max) == exposed_name)
    };
    choose_name(kind, naming, server, name, &HashMap::new())
        .is_ok_and(|preferred| preferred == exposed_name || is_hashed_name())
}

/// Returns whether an exposed name looks like the name of a tool or prompt of this server. The
/// scope has to include the server. At the endpoint of one server, every name does. At the endpoint
/// of all servers, a name does if it begins with the server's prefix or, if the prefix is empty,
/// with the server's id.
pub(super) fn has_prefix_of(
    scope: &ClientScope,
    server: &RegisteredServer,
    exposed_name: &str,
) -> bool {
    match scope.servers {
        ServerScope::One(_) => true,
        ServerScope::All => exposed_name
            .strip_prefix(own_prefix(server))
            .is_some_and(|rest| rest.starts_with("__")),
    }
}

/// Returns the text before `__` in the names of a server's tools and prompts, if the names have a
/// prefix.
fn own_prefix(server: &RegisteredServer) -> &str {
    let prefix = server.spec.prefix.as_deref();
    prefix
        .filter(|prefix| !prefix.is_empty())
        .unwrap_or(server.id.as_str())
}

/// Returns the exposed name.
///
/// # Errors
/// Returns an error, the reason for people, if the entry is excluded.
fn choose_name(
    kind: CapabilityKind,
    naming: Naming,
    server: &RegisteredServer,
    name: &str,
    taken: &HashMap<String, Arc<CatalogEntry>>,
) -> Result<String, String> {
    let id = &server.id;
    if kind == CapabilityKind::Tools && !server.spec.allows_tool(name) {
        return Err("not in the server's list of allowed tools".into());
    }
    let with_hash = |prefix: &str| names::hashed_name(prefix, id, name, names::MAX_TOOL_NAME);
    // The preferred name, and the prefix for a name with a hash, if such a name is possible.
    let (preferred, prefix) = match (kind, naming, server.spec.prefix.as_deref()) {
        (CapabilityKind::Resources | CapabilityKind::Templates, ..) | (_, Naming::Bare, _) => {
            (name.to_owned(), None)
        }
        (_, _, Some("")) if names::is_reserved(name) && server.spec.builtin.is_none() => {
            return Err(format!(
                "'{name}' is too similar to the name of one of Drawbridge's own tools; give the server a prefix"
            ));
        }
        (_, _, Some("")) if names::is_valid_exposed_name(name) => (name.to_owned(), None),
        (_, _, Some("")) => (with_hash(id.as_str()), None),
        (_, _, prefix) => {
            let prefix = prefix.unwrap_or(id.as_str());
            (names::exposed_name(prefix, id, name), Some(prefix))
        }
    };
    let Some(mut holder) = taken.get(&preferred) else {
        return Ok(preferred);
    };
    if let Some(hashed_name) = prefix.map(with_hash) {
        let Some(hashed_holder) = taken.get(&hashed_name) else {
            return Ok(hashed_name);
        };
        holder = hashed_holder;
    }
    Err(match (&holder.server.id, kind) {
        (holder, _) if holder == id => "the server offers two entries with this name".into(),
        (holder, CapabilityKind::Resources | CapabilityKind::Templates) => {
            format!(
                "'{holder}', which you accepted earlier, offers the same {}; {}",
                kind.noun(),
                at_endpoint_of(id)
            )
        }
        (holder, CapabilityKind::Tools | CapabilityKind::Prompts) => {
            format!("'{holder}' already uses this name; give one of the servers a prefix")
        }
    })
}

/// Returns the reason, for people, why a resource is excluded: a template of a server that was
/// accepted earlier matches the resource's URI, so that server answers requests for it. Returns
/// `None` if no template covers the entry.
fn describe_covering_template(
    kind: CapabilityKind,
    server: &ServerId,
    name: &str,
    earlier: &[(Arc<RegisteredServer>, &Offered)],
) -> Option<String> {
    if kind != CapabilityKind::Resources {
        return None;
    }
    earlier.iter().find_map(|(holder, offered)| {
        let mut templates = offered.get(&CapabilityKind::Templates)?.iter();
        let template = templates.find(|template| templates::matches(name, &template.name))?;
        Some(format!(
            "the template '{}' of '{}', which you accepted earlier, covers this URI; {}",
            template.name,
            holder.id,
            at_endpoint_of(server)
        ))
    })
}

/// Returns a hint for people: the endpoint at which clients see an entry, although another server
/// has its URI at the endpoint of all servers.
fn at_endpoint_of(server: &ServerId) -> String {
    format!("clients of the endpoint /mcp/{server} see it")
}

#[cfg(test)]
mod tests;
