//! Formats the definitions of a server, and finds the definitions to accept.

use std::fmt::Write;

use clap::ValueEnum;
use drawbridge_hub::api::servers::{DefinitionVersion, ServerView};
use drawbridge_model::acceptance::{DefinitionId, DefinitionKind};

use crate::{
    exit::Failure,
    table::Table,
    text::{escape, format_count, format_flags},
    time::format_time,
};

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Kind {
    Instructions,
    Tool,
    Prompt,
    Template,
    Resource,
}

impl From<Kind> for DefinitionKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Instructions => Self::Instructions,
            Kind::Tool => Self::Tool,
            Kind::Prompt => Self::Prompt,
            Kind::Template => Self::Template,
            Kind::Resource => Self::Resource,
        }
    }
}

/// Returns the definitions to accept: the named definitions or, if `names` is empty, all new and
/// changed definitions except for those that a person has to accept by name. If `kind` is given,
/// considers only definitions of this kind.
///
/// # Errors
/// Returns an error if a name belongs to no new or changed definition.
pub(super) fn find_unaccepted(
    server: &ServerView,
    names: &[String],
    kind: Option<Kind>,
) -> Result<Vec<DefinitionId>, Failure> {
    let kind = kind.map(DefinitionKind::from);
    let unaccepted: Vec<_> = server
        .unaccepted
        .iter()
        .map(|definition| &definition.id)
        .filter(|id| kind.is_none_or(|kind| id.kind == kind))
        .collect();
    if let Some(name) = names
        .iter()
        .find(|name| unaccepted.iter().all(|id| id.name != **name))
    {
        return Err(Failure::NothingToAccept {
            server: server.id.clone(),
            name: name.clone(),
        });
    }
    Ok(unaccepted
        .into_iter()
        .filter(|id| {
            names.contains(&id.name) || (names.is_empty() && !needs_own_acceptance(server, id))
        })
        .cloned()
        .collect())
}

/// Says that no definition was accepted, because no definition of this kind waits, or because the
/// waiting definitions are flagged and have to be accepted by name.
pub(super) fn format_none_accepted(server: &ServerView, kind: Option<Kind>) -> String {
    let kind = kind.map(DefinitionKind::from);
    let is_flagged = server.unaccepted.iter().any(|definition| {
        definition.needs_own_acceptance && kind.is_none_or(|kind| definition.id.kind == kind)
    });
    let (id, rest) = (escape(server.id.as_str()), format_unaccepted(server));
    if is_flagged {
        format!(
            "No definition of server '{id}' was accepted: the waiting definitions are flagged. \
             Accept each of them by its name: `drawbridge servers accept-definitions {id} NAME`.{rest}"
        )
    } else {
        format!("Server '{id}' has no new or changed definition to accept.{rest}")
    }
}

/// Returns whether a person has to accept a definition by name, because it is flagged.
fn needs_own_acceptance(server: &ServerView, id: &DefinitionId) -> bool {
    let mut unaccepted = server.unaccepted.iter();
    unaccepted.any(|definition| definition.id == *id && definition.needs_own_acceptance)
}

/// Lists the new and changed definitions, to be appended to other lines. Returns an empty text if
/// there are none.
pub(super) fn format_unaccepted(server: &ServerView) -> String {
    if server.unaccepted.is_empty() {
        return String::new();
    }
    let mut table = Table::new(["KIND", "NAME", "ACCEPTANCE"]);
    for definition in &server.unaccepted {
        let id = &definition.id;
        table.add_row([id.kind.noun(), &id.name, definition.acceptance.label()]);
    }
    let subject = format_count(
        server.unaccepted.len(),
        "definition waits",
        "definitions wait",
    );
    let mut flags = String::new();
    for definition in server
        .unaccepted
        .iter()
        .filter(|definition| !definition.flags.is_empty())
    {
        let _ = write!(
            flags,
            "\n! {} '{}' contains {}",
            definition.id.kind.noun(),
            escape(&definition.id.name),
            escape(&format_flags(&definition.flags))
        );
    }
    format!(
        "\n\n{subject} for you: see `drawbridge servers history {0} NAME --kind KIND` and `accept-definitions {0}`.\n{1}{flags}",
        server.id,
        table.format_or("")
    )
}

/// Lists the versions of a definition, newest first, each with its differences from the version
/// accepted before.
pub(super) fn format_history(versions: &[DefinitionVersion]) -> String {
    let mut lines = String::new();
    for version in versions {
        let state = match (version.accepted_at, version.offered) {
            (None, true) => "not accepted yet, offered now",
            (None, false) => "never accepted",
            (Some(_), true) => "accepted, offered now",
            (Some(_), false) => "accepted",
        };
        let _ = writeln!(
            lines,
            "{}  {}  {state}",
            format_time(version.first_seen_at),
            &version.digest[..12]
        );
        for change in &version.changes {
            let _ = writeln!(
                lines,
                "    {}\n      - {}\n      + {}",
                escape(&change.field),
                format_value(change.before.as_ref()),
                format_value(change.after.as_ref())
            );
        }
    }
    lines.trim_end().to_owned()
}

pub(super) fn format_value(value: Option<&serde_json::Value>) -> String {
    value.map_or_else(|| "(none)".to_owned(), |value| escape(&value.to_string()))
}
