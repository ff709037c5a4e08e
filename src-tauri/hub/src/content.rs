//! The content defence: finds instructions to a model, hidden characters and names that look alike
//! in the texts of servers, and says in front of a flagged result that it is data. No text is ever
//! changed, and nothing more is promised: a text without flags may persuade a model too.

mod frame;
mod hidden;
mod patterns;
mod scan;

use drawbridge_jsonrpc::json::Json;
use drawbridge_model::{
    content::{ContentDefence, ContentFlag, FlagKind},
    invisible_chars::is_hidden,
    spec::RegisteredServer,
};
use unicode_security::skeleton;

pub(crate) use frame::frame;

/// The most text of one result or definition that is checked, in bytes. Data in base64 does not
/// count.
const MAX_CHECKED: usize = 512 * 1024;
/// The most flags of one text.
const MAX_FLAGS: usize = 10;
/// The maximum length of an excerpt, and of a place, in characters.
const MAX_EXCERPT: usize = 120;
/// The number of bytes before and after a match that its excerpt includes.
const EXCERPT_MARGIN: usize = 20;

/// Returns what is suspicious in the result, or in other JSON, of a server: nothing if its spec
/// turns the content defence off.
pub(crate) fn find_flags(server: &RegisteredServer, result: &Json) -> Vec<ContentFlag> {
    match server.spec.content_defence {
        ContentDefence::Off => Vec::new(),
        ContentDefence::Mark | ContentDefence::Ask => scan::scan(result.get(), MAX_CHECKED),
    }
}

/// Returns what is suspicious in a definition, which is JSON text.
pub(crate) fn find_definition_flags(definition: &str) -> Vec<ContentFlag> {
    scan::scan(definition, MAX_CHECKED)
}

/// Returns the flag of a tool whose name looks like one of `others` without being the same. Equal
/// names are normal: servers' names keep their tools apart.
pub(crate) fn find_look_alike<'a>(
    name: &str,
    mut others: impl Iterator<Item = &'a str>,
) -> Option<ContentFlag> {
    // Only these names can look like another one that a server would choose.
    if name.is_ascii() && !name.contains(['0', '1', 'I', '|']) {
        return None;
    }
    let (plain, looks) = (plain_name(name), look_of_name(name));
    let other = others.find(|other| plain_name(other) != plain && look_of_name(other) == looks)?;
    Some(ContentFlag {
        kind: FlagKind::LookAlike,
        place: "/name".to_owned(),
        excerpt: excerpt_of(&format!("{name} looks like {other}")),
    })
}

/// Returns a name without the differences that programmers mean: case, hyphens and underscores.
fn plain_name(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_' | '.'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns a text that is the same for names that look the same.
fn look_of_name(name: &str) -> String {
    let seen: String = name
        .chars()
        .filter(|c| !is_hidden(*c) && !matches!(c, '-' | '_' | '.'))
        .map(|c| match c {
            'I' | '1' | '|' => 'l',
            '0' => 'o',
            c => c,
        })
        .collect();
    let lower: String = seen.to_lowercase();
    skeleton(&lower).collect()
}

/// Returns the beginning of a text with its hidden characters written out.
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
        length += excerpt[start..].len();
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
