//! A short form of a waiting call for menus and notifications, which have no room for a long call.
//! A call that a menu or a notification cannot show completely can be approved only in the windows.

use drawbridge_model::{
    approval::ApprovalRequest,
    ids::{CallId, ServerId},
    invisible_chars::is_hidden,
    protocol::guarded::GuardedMethod,
};

use crate::texts;

/// The maximum number of characters of a name that a client or a server chose.
const MAX_NAME_CHARS: usize = 40;
/// The maximum number of characters of arguments that a person can read in one line.
pub(crate) const MAX_LINE_CHARS: usize = 120;

/// The call that a person saw. A decision applies to this call only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallRef {
    pub(crate) id: CallId,
    pub(crate) digest: String,
}

impl CallRef {
    pub(crate) fn new(request: &ApprovalRequest) -> Self {
        Self {
            id: request.id.clone(),
            digest: request.digest.clone(),
        }
    }
}

/// Returns a name that a client or a server chose, truncated, with each character that hides or
/// reorders text replaced by U+FFFD.
pub(crate) fn display_name(text: &str) -> String {
    truncate(text, MAX_NAME_CHARS)
}

/// Returns a server's name like [`display_name`], with the server's id if the two differ. The id
/// shows which server is meant if its name looks like another server's.
pub(crate) fn display_server(name: &str, id: &ServerId) -> String {
    let (shown, id) = (display_name(name), id.as_str());
    if name == id {
        shown
    } else {
        texts::server_with_id(&shown, &display_name(id))
    }
}

/// Returns a text for one line of the menu or of a notification, like [`display_name`] but longer.
pub(crate) fn display_line(text: &str) -> String {
    truncate(text, MAX_LINE_CHARS)
}

fn truncate(text: &str, max_chars: usize) -> String {
    let mut truncated: String = text
        .chars()
        .take(max_chars)
        .map(|c| if is_hidden(c) { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(max_chars).is_some() {
        truncated.push('…');
    }
    truncated
}

/// Returns a sentence that names the client and its request, with names as [`display_name`] returns
/// them.
pub(crate) fn format_sentence(
    request: &ApprovalRequest,
    client: &str,
    server: &str,
    tool: &str,
) -> String {
    match &request.sampling_provider {
        Some(provider) => {
            let provider = display_name(provider);
            request.method.bridged_sentence(client, server, &provider)
        }
        None if request.is_filled_in_by_person => {
            request.method.bridged_sentence(client, server, "")
        }
        None => request.method.sentence(client, server, tool),
    }
}

/// Returns the exact arguments in one line, with hidden characters as `⟨U+202E⟩`, or `None` if the
/// line is longer than `max_chars` characters.
pub(crate) fn format_arguments(request: &ApprovalRequest, max_chars: usize) -> Option<String> {
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
        .take(max_chars + 1)
        .map(reveal)
        .collect();
    (line.chars().count() <= max_chars).then_some(line)
}

/// Returns whether the names and one line of arguments show the whole call: no text is truncated or
/// hidden, nothing is sent besides the arguments, and there is no change, no result and no
/// suspicious text that a person has to read first. A request that is no call of a tool is never
/// shown in full.
pub(crate) fn is_shown_in_full(request: &ApprovalRequest) -> bool {
    let names = [
        request.client.as_str(),
        &request.server_name,
        request.server.as_str(),
        &request.tool,
    ];
    request.method == GuardedMethod::CallTool
        && request.extra.is_none()
        && request.result.is_none()
        && request.suspended.is_none()
        && request.changed.is_none()
        && request.flags.is_empty()
        && request.arguments.chars().count() <= MAX_LINE_CHARS
        && names
            .iter()
            .all(|name| name.chars().count() <= MAX_NAME_CHARS)
        && names
            .iter()
            .chain([&request.arguments.as_str()])
            .all(|text| is_plain(text))
}

/// Returns whether the text looks the same on every desktop. Some desktops draw several spaces as
/// one space.
fn is_plain(text: &str) -> bool {
    !text.contains("  ") && text.chars().all(is_plain_char)
}

/// Returns whether the character is a letter, digit or sign that is drawn in its place.
/// Right-to-left scripts reorder the text around them, and combining marks change the character
/// before them. Such text is correct, but too hard to check in a short line.
fn is_plain_char(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{24f}' | '\u{391}'..='\u{3ce}' | '\u{400}'..='\u{482}')
        || matches!(c, '\u{48a}'..='\u{52f}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}')
        || matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

#[cfg(test)]
mod tests;
