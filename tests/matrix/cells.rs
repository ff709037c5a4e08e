//! The cells of the matrix, and the notes about them.

use crate::{clients::Client, servers::Server};

/// The result of one feature for one client with one server.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) client: Client,
    pub(crate) server: Server,
    pub(crate) feature: &'static str,
    /// The reason of the failure, or `None` if the feature works.
    pub(crate) failed: Option<String>,
}

/// A note about a feature, for a client with any server.
pub(crate) struct Note {
    client: Client,
    feature: &'static str,
    pub(crate) is_possible: bool,
    pub(crate) reason: &'static str,
}

pub(crate) const NOTES: &[Note] = &[
    Note {
        client: Client::HttpSse,
        feature: "elicitation",
        is_possible: false,
        reason: "Impossible: a client of 2024-11-05 cannot offer it. Its capabilities are `experimental`, `roots` and \
                  `sampling`; `elicitation/create` came with 2025-06-18. The call ends with an error that says so.",
    },
    Note {
        client: Client::HttpSse,
        feature: "structured",
        is_possible: true,
        reason: "2024-11-05 does not know `structuredContent` (2025-06-18). It arrives as the server sent it, beside \
                  the text that says the same.",
    },
    Note {
        client: Client::HttpSse,
        feature: "audio",
        is_possible: true,
        reason: "2024-11-05 does not know `audio` (2025-03-26). It arrives as the server sent it.",
    },
];

/// Returns the note about a feature, with its number.
pub(crate) fn find_note(client: Client, feature: &str) -> Option<(usize, &'static Note)> {
    (1..)
        .zip(NOTES)
        .find(|(_, note)| note.client == client && note.feature == feature)
}

/// Returns the problem with a cell, if there is one.
pub(crate) fn find_problem(cell: &Cell) -> Option<String> {
    let is_possible = find_note(cell.client, cell.feature).is_none_or(|(_, note)| note.is_possible);
    let why = match &cell.failed {
        None if is_possible => return None,
        None => "it works, though it should be impossible",
        // An unsupported feature must be refused at once with a protocol error.
        Some(why) if !is_possible && why.contains("MCP error -32") => return None,
        Some(why) => why,
    };
    Some(format!(
        "{} of {:?} with {:?}: {why}",
        cell.feature, cell.client, cell.server
    ))
}
