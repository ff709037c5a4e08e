//! The cells of the matrix, and the notes about them.

use crate::{clients::Client, servers::Server};

/// The result of one feature for one client with one server.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) client: Client,
    pub(crate) server: Server,
    pub(crate) feature: &'static str,
    /// The reason why the feature failed, or `None` if it works.
    pub(crate) failure: Option<String>,
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
        reason: "Impossible: elicitation was added to the protocol in revision 2025-06-18. A client that speaks 2024-11-05 \
                  can only declare the capabilities `experimental`, `roots` and `sampling`. The call ends with an error \
                  that says so.",
    },
    Note {
        client: Client::HttpSse,
        feature: "structured",
        is_possible: true,
        reason: "Revision 2024-11-05 does not define `structuredContent`, which was added in 2025-06-18. The client receives \
                  it as the server sent it, next to the same content as text.",
    },
    Note {
        client: Client::HttpSse,
        feature: "audio",
        is_possible: true,
        reason: "Revision 2024-11-05 does not define `audio` content, which was added in 2025-03-26. The client receives it \
                  as the server sent it.",
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
    let problem = match &cell.failure {
        None if is_possible => return None,
        None => "works, although its note says that it is impossible",
        // An unsupported feature must be refused at once with a protocol error.
        Some(failure) if !is_possible && failure.contains("MCP error -32") => return None,
        Some(failure) => failure,
    };
    Some(format!(
        "{} of {:?} with {:?}: {problem}",
        cell.feature, cell.client, cell.server
    ))
}
