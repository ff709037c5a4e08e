//! An entry of the list, reduced to the parts that the store keeps.

use drawbridge_model::{ids::Timestamp, published::PublishedKind};
use drawbridge_store::table::published_server::PublishedRow;
use serde_json::{Map, Value};

use crate::registry::manifest::{self, Manifest};

/// The maximum lengths of a `server.json` and of a server's name, in bytes.
const MAX_DOCUMENT_BYTES: usize = 64 * 1024;
const MAX_NAME_BYTES: usize = 200;
/// How much of a title and of a description is searched, in characters.
const MAX_SEARCHED_CHARS: usize = 1_000;
/// The member of `_meta` with the registry's own metadata about an entry.
const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";

#[derive(Debug, PartialEq)]
pub(super) enum Entry {
    Published(Box<PublishedRow>),
    /// The server with this name was deleted from the registry.
    Deleted(String),
    /// A version of a server that is not the latest.
    Outdated,
}

/// Returns an entry, or `None` if Drawbridge cannot use it.
pub(super) fn read(value: Value) -> Option<Entry> {
    let Value::Object(mut response) = value else {
        return None;
    };
    let official = response
        .remove("_meta")
        .and_then(|mut meta| meta.get_mut(OFFICIAL).map(Value::take));
    let Some(Value::Object(server)) = response.remove("server") else {
        return None;
    };
    let name = server.get("name")?.as_str()?.to_owned();
    if !is_server_name(&name) {
        return None;
    }
    let member = |name: &str| official.as_ref().and_then(|meta| meta.get(name));
    let status = member("status").and_then(Value::as_str).unwrap_or_default();
    if status == "deleted" {
        return Some(Entry::Deleted(name));
    }
    if member("isLatest").and_then(Value::as_bool) == Some(false) {
        return Some(Entry::Outdated);
    }
    let updated_at = member("updatedAt").and_then(Value::as_str);
    to_row(name, server, status == "deprecated", updated_at)
        .map(|row| Entry::Published(Box::new(row)))
}

fn to_row(
    name: String,
    mut server: Map<String, Value>,
    deprecated: bool,
    updated_at: Option<&str>,
) -> Option<PublishedRow> {
    server.remove("_meta");
    let document = serde_json::to_string(&server).ok()?;
    if document.len() > MAX_DOCUMENT_BYTES {
        return None;
    }
    let kinds = list_kinds(&server);
    let manifest = manifest::read_server_json(server).ok()?;
    if manifest.choices.is_empty() {
        return None;
    }
    let searched = |text: &str| text.chars().take(MAX_SEARCHED_CHARS).collect::<String>();
    let title = searched(manifest.server_name());
    let search_text = format!("{name} {title} {}", searched(&manifest.description));
    Some(PublishedRow {
        search_text: search_text.to_lowercase(),
        kinds: kinds
            .into_iter()
            .map(|kind| kind.name().to_owned())
            .collect(),
        needs_secret: needs_secret(&manifest),
        deprecated,
        updated_at: updated_at.and_then(parse_time),
        name,
        title,
        document,
    })
}

/// Returns whether a name has the form `namespace/server`.
fn is_server_name(name: &str) -> bool {
    let is_part = |part: &str, more: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    name.len() <= MAX_NAME_BYTES
        && name
            .split_once('/')
            .is_some_and(|(namespace, server)| is_part(namespace, ".-") && is_part(server, "._-"))
}

fn list_kinds(server: &Map<String, Value>) -> Vec<PublishedKind> {
    let members = |name: &str| {
        let list = server.get(name).and_then(Value::as_array);
        list.into_iter().flatten()
    };
    let packages = members("packages").map(|package| {
        let registry_type = package
            .get("registryType")
            .or_else(|| package.get("registry_type"));
        let registry_type = registry_type.and_then(Value::as_str).unwrap_or_default();
        PublishedKind::from_registry_type(registry_type)
    });
    let remotes = members("remotes").map(|_| PublishedKind::Remote);
    let mut kinds: Vec<_> = packages.chain(remotes).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Returns whether the first usable choice requires a secret.
fn needs_secret(manifest: &Manifest) -> bool {
    let inputs = &manifest.first_usable().inputs;
    inputs.iter().any(|input| input.secret && input.required)
}

fn parse_time(text: &str) -> Option<Timestamp> {
    let at: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp(at.as_millisecond()))
}
