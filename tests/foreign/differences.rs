//! The deliberate differences between Drawbridge's answers and those of the server behind it.

use crate::{compare::ClientView, peer::Era, servers::Server};

/// An answer that differs.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The names of the servers.
    pub(crate) servers: &'static [&'static str],
    pub(crate) eras: &'static [Era],
    /// A definition or a request, as [`ClientView`] names it.
    pub(crate) entry: &'static str,
    /// A part of Drawbridge's answer.
    pub(crate) through: &'static str,
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

/// Returns a difference for a call whose arguments are invalid for every server.
const fn invalid_call(
    servers: &'static [&'static str],
    eras: &'static [Era],
    what: &'static str,
) -> Difference {
    Difference {
        servers,
        eras,
        entry: what,
        through: "This call was not run: its arguments do not match the schema",
        reason: "Drawbridge does not send arguments that break the tool's schema. Its error names the member and the \
                  rule.",
    }
}

/// Returns the differences between two views of a server that the table does not list, and the rows
/// of the table that no longer apply.
pub(crate) fn find_unexplained(
    server: &Server,
    era: Era,
    direct: &ClientView,
    through: &ClientView,
) -> Vec<String> {
    const NONE: &str = "nothing";
    let known = ALL
        .iter()
        .filter(|row| row.servers.contains(&server.name) && row.eras.contains(&era));
    let known: Vec<&Difference> = known.collect();
    let mut stale: Vec<&str> = known.iter().map(|row| row.entry).collect();
    let mut wrong = vec![];
    let mut names: Vec<&String> = direct.texts.keys().chain(through.texts.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let side = |seen: &ClientView| {
            seen.texts
                .get(name)
                .cloned()
                .unwrap_or_else(|| NONE.to_owned())
        };
        let (before, after) = (side(direct), side(through));
        if before == after {
            continue;
        }
        if known
            .iter()
            .any(|row| row.entry == name && after.contains(row.through))
        {
            stale.retain(|what| what != name);
            continue;
        }
        wrong.push(format!(
            "  {era:?}, {name}:\n    directly {before}\n    through  {after}"
        ));
    }
    let stale = stale
        .into_iter()
        .map(|what| format!("  {era:?}, {what}: is as the table says no longer: remove its row"));
    wrong.extend(stale);
    wrong
}
