//! The content defence: finds instructions to a model, hidden characters and names that look alike
//! in the texts of servers, and adds to a flagged result the notice that the result is data. The
//! texts themselves are never changed. Nothing more is promised: a text without flags may persuade
//! a model too.

mod hidden;
mod notice;
mod patterns;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
mod scan;

use std::collections::HashMap;

use drawbridge_jsonrpc::{
    json::{self, Json},
    rpc::RpcError,
};
use drawbridge_model::{
    content::{ContentDefence, ContentFlag, FlagKind},
    ids::ServerId,
    invisible_chars::is_hidden,
    spec::RegisteredServer,
};
use tokio::task::spawn_blocking;
use unicode_security::skeleton;

#[cfg(test)]
use notice::MalformedObject;
pub(crate) use notice::add_notice;

/// How much text one scan checks, in bytes. Long data in base64 or hex does not count.
const MAX_CHECKED: usize = 512 * 1024;
/// The maximum number of flags that one scan returns.
const MAX_FLAGS: usize = 10;
/// The maximum length of an excerpt, and of each name in a place, in characters. A longer text is
/// cut and gets a `…`, which does not count.
const MAX_EXCERPT: usize = 120;
/// The most bytes before a match, and after it, that an excerpt includes.
const EXCERPT_MARGIN: usize = 20;

/// The longest result, error or notification that is scanned on the thread of the caller, in bytes.
/// The scan of hostile text of this length takes some milliseconds.
const MAX_SCANNED_IN_PLACE: usize = 16 * 1024;
/// Named in place of a rule if the content defence holds or withholds a result.
pub(crate) const RULE: &str = "the content defence";

/// Returns the flags of a server's result, or no flags if the server's spec turns the content
/// defence off. Scans a long result on another thread.
pub(crate) async fn scan_result(server: &RegisteredServer, result: &Json) -> Vec<ContentFlag> {
    if server.spec.content_defence == ContentDefence::Off
        || result.get().len() <= MAX_SCANNED_IN_PLACE
    {
        return find_flags(server, result);
    }
    let result = result.clone();
    let scanning = spawn_blocking(move || scan::scan(result.get(), MAX_CHECKED));
    scanning.await.unwrap_or_else(|_| vec![unchecked_flag()])
}

/// Returns the flags of a server's error, as [`scan_result`] does for a result.
pub(crate) async fn scan_error(server: &RegisteredServer, error: &RpcError) -> Vec<ContentFlag> {
    if server.spec.content_defence == ContentDefence::Off {
        return Vec::new();
    }
    scan_result(server, &Json::from(json::to_raw(error))).await
}

/// Returns whether a server's JSON has flags, or is too long to be scanned on the thread of the
/// caller. Returns false if the server's spec turns the content defence off.
pub(crate) fn may_be_flagged(server: &RegisteredServer, json: &Json) -> bool {
    server.spec.content_defence != ContentDefence::Off
        && (json.get().len() > MAX_SCANNED_IN_PLACE || !find_flags(server, json).is_empty())
}

/// Returns the flag of a result whose scan failed.
fn unchecked_flag() -> ContentFlag {
    ContentFlag {
        kind: FlagKind::Unchecked,
        place: String::new(),
        excerpt: "the scan failed".to_owned(),
    }
}

/// Returns the flags of a server's JSON, or no flags if the server's spec turns the content defence
/// off.
pub(crate) fn find_flags(server: &RegisteredServer, json: &Json) -> Vec<ContentFlag> {
    match server.spec.content_defence {
        ContentDefence::Off => Vec::new(),
        ContentDefence::Mark | ContentDefence::Ask => scan::scan(json.get(), MAX_CHECKED),
    }
}

/// Returns the flags of a definition, which is JSON text.
pub(crate) fn find_definition_flags(definition: &str) -> Vec<ContentFlag> {
    scan::scan(definition, MAX_CHECKED)
}

/// The names of all tools, by their look (see [`look_of_name`]).
#[derive(Debug, Default)]
pub(crate) struct ConfusableNames(HashMap<String, Vec<(ServerId, String)>>);

impl ConfusableNames {
    pub(crate) fn new<'a>(tools: impl Iterator<Item = (&'a ServerId, &'a str)>) -> Self {
        let mut names: HashMap<_, Vec<_>> = HashMap::new();
        for (server, name) in tools {
            let alike = names.entry(look_of_name(name)).or_default();
            alike.push((server.clone(), name.to_owned()));
        }
        Self(names)
    }

    /// Returns the flag of a server's tool if its name looks like the name of another server's tool
    /// without being the same. Equal names are normal: servers' names keep their tools apart.
    pub(crate) fn find_look_alike(&self, server: &ServerId, name: &str) -> Option<ContentFlag> {
        // A name can imitate another name only with these characters, or with characters outside
        // ASCII.
        if name.is_ascii() && !name.contains(['0', '1', 'I', '|']) {
            return None;
        }
        let plain = plain_name(name);
        let alike = self.0.get(&look_of_name(name))?;
        let (_, other) = alike
            .iter()
            .find(|(owner, other)| owner != server && plain_name(other) != plain)?;
        Some(ContentFlag {
            kind: FlagKind::LookAlike,
            place: "/name".to_owned(),
            excerpt: excerpt_of(&format!("{name} looks like {other}")),
        })
    }
}

/// Returns a name in lower case, without hyphens, underscores and dots. Names with the same plain
/// name, such as `read_file` and `readFile`, do not imitate each other.
fn plain_name(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_' | '.'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns a text that is the same for names that look the same.
fn look_of_name(name: &str) -> String {
    let visible: String = name
        .chars()
        .filter(|c| !is_hidden(*c) && !matches!(c, '-' | '_' | '.'))
        .map(|c| match c {
            'I' | '1' | '|' => 'l',
            '0' => 'o',
            c => c,
        })
        .collect();
    let lower: String = visible.to_lowercase();
    skeleton(&lower).collect()
}

/// Returns the beginning of a text, with line breaks and tabs as spaces, and with its hidden
/// characters written out.
fn excerpt_of(text: &str) -> String {
    let mut excerpt = String::new();
    let mut length = 0;
    for c in text.chars() {
        let start = excerpt.len();
        if is_hidden(c) && !matches!(c, '\n' | '\t') {
            excerpt.push_str(&format!("U+{:04X}", u32::from(c)));
        } else {
            excerpt.push(if c.is_whitespace() { ' ' } else { c });
        }
        length += excerpt[start..].chars().count();
        if length > MAX_EXCERPT {
            excerpt.truncate(start);
            excerpt.push('…');
            break;
        }
    }
    excerpt
}

#[cfg(test)]
mod tests;
