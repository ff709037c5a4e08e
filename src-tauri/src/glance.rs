//! A waiting call at a glance, as it fits into a menu or a notification. There is no room to
//! read a long call: what cannot be seen whole is not approved there, but in the windows.

use drawbridge_hub::model::{approval::ApprovalRequest, hidden::is_hidden, ids::CallId};

/// Characters of a name that others chose.
const NAME: usize = 40;
/// Characters of arguments that can be read in one line.
pub(crate) const LINE: usize = 120;

/// The call that a person saw. A decision holds for this one only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: CallId,
    pub(crate) digest: String,
}

impl Seen {
    pub(crate) fn of(request: &ApprovalRequest) -> Self {
        Self {
            id: request.id.clone(),
            digest: request.digest.clone(),
        }
    }
}

/// A name that a client or a server chose, cut, with what would hide or reorder text made visible.
pub(crate) fn name(text: &str) -> String {
    let mut name: String = text
        .chars()
        .take(NAME)
        .map(|c| if is_hidden(c) { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(NAME).is_some() {
        name.push('…');
    }
    name
}

/// The exact arguments in one line, with hidden characters as `⟨U+202E⟩`; none where they are longer than `most`.
pub(crate) fn arguments(request: &ApprovalRequest, most: usize) -> Option<String> {
    let reveal = |c: char| {
        if is_hidden(c) {
            format!("⟨U+{:04X}⟩", u32::from(c))
        } else {
            c.to_string()
        }
    };
    let line: String = request
        .arguments
        .chars()
        .take(most + 1)
        .map(reveal)
        .collect();
    (line.chars().count() <= most).then_some(line)
}

/// Whether names and one line of arguments are all there is to see: nothing is cut or hidden, nothing is sent
/// along, and nothing has changed that has to be read first.
pub(crate) fn is_whole(request: &ApprovalRequest) -> bool {
    let names = [request.client.as_str(), &request.server_name, &request.tool];
    request.extra.is_none()
        && request.result.is_none()
        && request.suspended.is_none()
        && request.changed.is_none()
        && request.arguments.chars().count() <= LINE
        && names.iter().all(|name| name.chars().count() <= NAME)
        && names
            .iter()
            .chain([&request.arguments.as_str()])
            .all(|text| is_plain(text))
}

/// Whether it looks the same wherever it is drawn. Some desktops draw several spaces as one.
fn is_plain(text: &str) -> bool {
    !text.contains("  ") && text.chars().all(shows_as_itself)
}

/// Letters, digits and signs that stand where they are written. Scripts that run from right to left turn the
/// order of what is around them, and marks change what is before them: correct, but not to be read at a glance.
fn shows_as_itself(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{24f}' | '\u{391}'..='\u{3ce}' | '\u{400}'..='\u{482}')
        || matches!(c, '\u{48a}'..='\u{52f}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}')
        || matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

#[cfg(test)]
mod tests;
