//! The ids of servers, and the exposed names of their tools.

use super::{digest, ids::ServerId};

/// The longest name of a tool that models accept, in bytes.
pub const MAX_TOOL_NAME: usize = 64;

/// The built-in tool that finds deferred tools.
pub const TOOL_SEARCH: &str = "tool_search";
/// The built-in tool that calls a deferred tool.
pub const TOOL_CALL: &str = "tool_call";
/// The names of Drawbridge's own tools.
const BUILT_IN: [&str; 7] = [
    TOOL_SEARCH,
    TOOL_CALL,
    "store_memory",
    "retrieve_memory",
    "list_categories",
    "convert_document_from_content",
    "sync_docling_models",
];

const MAX_PREFIX: usize = 32;
const MAX_SERVER_ID: usize = 40;
/// The number of hex digits at the end of a hashed name.
const HASH_LEN: usize = 8;

/// Makes a server's id from the name that a person gave the server. Returns `None` if the name has
/// no letter or digit of ASCII. An id has at most 40 characters of `[a-z0-9_-]`, without `__` and
/// without `_` or `-` at either end, so that `server__tool` splits in one way only.
pub fn server_id_from_name(name: &str) -> Option<ServerId> {
    let mut id = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        let c = match c {
            'a'..='z' | '0'..='9' | '-' => c,
            '_' => '_',
            _ => '-',
        };
        let doubled = matches!(c, '_' | '-') && id.ends_with(['_', '-']);
        if id.len() < MAX_SERVER_ID && !doubled {
            id.push(c);
        }
    }
    let id = id.trim_matches(['_', '-']);
    (!id.is_empty()).then(|| ServerId::new(id))
}

/// Returns whether a person may give this name to a profile or a hook: it has 1 to 64 characters,
/// no control characters, and no white space at its ends.
pub fn is_valid_label(name: &str) -> bool {
    (1..=64).contains(&name.chars().count())
        && name.trim() == name
        && !name.contains(char::is_control)
}

/// Returns whether a text is a valid id of a server.
pub fn is_server_id(id: &str) -> bool {
    server_id_from_name(id).is_some_and(|valid_id| valid_id.as_str() == id)
}

/// Returns `prefix__tool`, or [`hashed_name`] if that name is too long, or if the tool's name is
/// empty or has other characters than `[A-Za-z0-9_-]`.
pub fn exposed_name(prefix: &str, server: &ServerId, tool: &str) -> String {
    let plain = format!("{prefix}__{tool}");
    let fits = plain.len() <= MAX_TOOL_NAME && !tool.is_empty() && tool.chars().all(is_name_char);
    if fits {
        plain
    } else {
        hashed_name(prefix, server, tool, MAX_TOOL_NAME)
    }
}

/// Returns a name of at most `max` bytes that ends with a hash of server and tool, for a tool that
/// cannot have its plain name.
pub fn hashed_name(prefix: &str, server: &ServerId, tool: &str, max: usize) -> String {
    let hash = digest::sha256_parts(&[server.as_str().as_bytes(), tool.as_bytes()]);
    let mut name: String = format!("{prefix}__{tool}")
        .chars()
        .map(|c| if is_name_char(c) { c } else { '_' })
        .collect();
    name.truncate(max.saturating_sub(HASH_LEN + 1));
    name.push('_');
    name.push_str(&hash[..HASH_LEN]);
    name
}

/// Returns whether a tool's own name can be its exposed name.
pub fn is_valid_exposed_name(tool: &str) -> bool {
    (1..=MAX_TOOL_NAME).contains(&tool.len()) && tool.chars().all(is_name_char)
}

/// Returns whether a bare name equals the name of a built-in tool, apart from case and punctuation.
pub fn is_reserved(name: &str) -> bool {
    let folded: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    BUILT_IN
        .iter()
        .any(|built_in| built_in.replace('_', "") == folded)
}

/// Returns whether `prefix` can precede `__` in an exposed name. An empty prefix stands for bare
/// names.
pub fn is_valid_prefix(prefix: &str) -> bool {
    prefix.is_empty()
        || (prefix.len() <= MAX_PREFIX
            && prefix.chars().all(is_name_char)
            && !prefix.contains("__")
            && !prefix.starts_with('_')
            && !prefix.ends_with('_'))
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests;
