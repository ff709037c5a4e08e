//! The deliberate differences between Drawbridge's answers and the servers' own answers.

use crate::{compare::ClientView, peer::Era, servers::Server};

/// An answer that differs.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The names of the servers whose answers differ.
    pub(crate) servers: &'static [&'static str],
    pub(crate) eras: &'static [Era],
    /// A definition or a request, as [`ClientView`] names it.
    pub(crate) entry: &'static str,
    /// A text that Drawbridge's answer contains.
    pub(crate) answer_part: &'static str,
    /// The reason why the difference is correct.
    pub(crate) reason: &'static str,
}

pub(crate) const ALL: &[Difference] = &[
    invalid_call(
        &[
            "typescript_sdk_1_over_stdio",
            "typescript_sdk_1_over_http",
            "typescript_sdk_1_over_stateless_http",
        ],
        &[Era::Legacy],
        r#"tools/call {"name":"shape","arguments":{"shape":{"kind":"square"}}}"#,
    ),
    invalid_call(
        &["typescript_sdk_2_over_stdio", "typescript_sdk_2_over_http"],
        &[Era::Legacy, Era::Modern],
        r#"tools/call {"name":"sum","arguments":{"numbers":[]}}"#,
    ),
    invalid_call(
        &["mcp_time_over_http"],
        &[Era::Legacy],
        r#"tools/call {"name":"add_time","arguments":{}}"#,
    ),
    invalid_call(
        &["cortex_mcp"],
        &[Era::Legacy],
        r#"tools/call {"name":"adjust_timestamp","arguments":{}}"#,
    ),
];

/// Returns the difference for a call whose arguments do not match the tool's schema.
const fn invalid_call(
    servers: &'static [&'static str],
    eras: &'static [Era],
    request: &'static str,
) -> Difference {
    Difference {
        servers,
        eras,
        entry: request,
        answer_part: "This call was not run: its arguments do not match the schema",
        reason: "Drawbridge does not send a call whose arguments do not match the tool's schema. \
                 Drawbridge's error names the argument and the violated schema keyword.",
    }
}

/// Describes each difference between the two views that is not in [`ALL`], and each row of [`ALL`]
/// that no longer applies.
pub(crate) fn find_unexplained(
    server: &Server,
    era: Era,
    direct_view: &ClientView,
    drawbridge_view: &ClientView,
) -> Vec<String> {
    let expected = ALL
        .iter()
        .filter(|row| row.servers.contains(&server.name) && row.eras.contains(&era));
    let expected: Vec<&Difference> = expected.collect();
    let mut unused_entries: Vec<&str> = expected.iter().map(|row| row.entry).collect();
    let mut problems = vec![];
    let mut entries: Vec<&String> = direct_view
        .texts
        .keys()
        .chain(drawbridge_view.texts.keys())
        .collect();
    entries.sort();
    entries.dedup();
    for entry in entries {
        let text_in = |view: &ClientView| {
            view.texts
                .get(entry)
                .cloned()
                .unwrap_or_else(|| "nothing".to_owned())
        };
        let (direct_text, drawbridge_text) = (text_in(direct_view), text_in(drawbridge_view));
        if direct_text == drawbridge_text {
            continue;
        }
        if expected
            .iter()
            .any(|row| row.entry == entry && drawbridge_text.contains(row.answer_part))
        {
            unused_entries.retain(|unused| unused != entry);
            continue;
        }
        problems.push(format!(
            "  {era:?}, {entry}:\n    directly:           {direct_text}\n    through Drawbridge: {drawbridge_text}"
        ));
    }
    problems.extend(unused_entries.into_iter().map(|entry| {
        format!(
            "  {era:?}, {entry}: no longer differs as the table says: remove its row from differences.rs"
        )
    }));
    problems
}
