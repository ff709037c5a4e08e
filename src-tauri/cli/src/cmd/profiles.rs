//! `drawbridge profiles`: manages which servers and tools a client sees.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal},
    path::{self, Path, PathBuf},
};

use clap::Subcommand;
use drawbridge_hub::api::profiles::{ListProfiles, ProfileView, PutProfile, RemoveProfile};
use drawbridge_model::{ids::ServerId, profile::Profile};

use crate::{
    confirm::confirm,
    context::Context,
    exit::{Failure, print_stderr},
    table::Table,
    text::escape,
};

#[derive(Subcommand)]
pub(crate) enum Profiles {
    /// List profiles
    List,
    /// Create or replace a profile
    Set {
        /// The profile's name
        name: String,
        /// A server with all its tools, or one tool of a server. May be repeated.
        #[arg(value_name = "SERVER[/TOOL]", required = true, value_parser = parse_entry)]
        scope: Vec<ScopeEntry>,
        /// A project folder. The profile then also applies to clients that work there
        #[arg(long, value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Remove a profile
    ///
    /// Its clients see nothing until you choose another profile, or none, for them.
    Remove {
        /// The profile's name
        name: String,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
}

impl Profiles {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List => {
                context
                    .run_and_print(ListProfiles {}, |profiles| format_profiles(profiles))
                    .await
            }
            Self::Set {
                name,
                scope,
                folder,
            } => {
                let message = format!("Profile '{}' saved.", escape(&name));
                let profile = Profile {
                    name,
                    servers: collect_scope(scope),
                    folder: folder.map(|folder| resolve_folder(&folder)).transpose()?,
                };
                context
                    .run_and_print(PutProfile { profile }, |_| message)
                    .await
            }
            Self::Remove { name, yes } => {
                confirm_removal(context, &name, yes).await?;
                let message = format!("Profile '{}' removed.", escape(&name));
                context
                    .run_and_print(RemoveProfile { name }, |_| message)
                    .await
            }
        }
    }
}

/// Shows the effect of the profile's removal on clients, even if there is no terminal, and asks for
/// confirmation. Does neither if `yes` is set, or if the profile does not affect any client.
///
/// # Errors
/// Returns an error if the answer is not yes, or if there is no terminal.
async fn confirm_removal(context: &Context, name: &str, yes: bool) -> Result<(), Failure> {
    let profiles = context.run(ListProfiles {}).await?;
    let Some(view) = profiles.iter().find(|view| view.profile.name == name) else {
        return Ok(());
    };
    let mut lines = Vec::new();
    if !view.clients.is_empty() {
        let clients: Vec<_> = view
            .clients
            .iter()
            .map(|client| escape(client.as_str()))
            .collect();
        lines.push(format!(
            "these clients see nothing without the profile, until you choose another profile with \
             `drawbridge clients profile NAME [PROFILE]`: {}",
            clients.join(", ")
        ));
    }
    if let Some(folder) = &view.profile.folder {
        lines.push(format!(
            "clients that work in {} are no longer limited to the profile there",
            escape(folder)
        ));
    }
    if lines.is_empty() || yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        lines.iter().for_each(|line| print_stderr(line));
    }
    confirm(
        &lines.join("\n"),
        &format!("Remove the profile '{}'?", escape(name)),
    )
}

/// Returns the path of a folder with all links resolved, or its absolute path if it does not exist.
fn resolve_folder(folder: &Path) -> Result<String, Failure> {
    let folder = folder.canonicalize().or_else(|_| path::absolute(folder))?;
    Ok(folder.display().to_string())
}

/// A server with all its tools, or one tool of a server.
#[derive(Debug, Clone)]
pub(crate) struct ScopeEntry {
    server: ServerId,
    tool: Option<String>,
}

/// The error if a text is not a [`ScopeEntry`].
#[derive(Debug, thiserror::Error)]
#[error("expected SERVER or SERVER/TOOL, not '{entry}'")]
struct ParseEntryError {
    entry: String,
}

fn parse_entry(entry: &str) -> Result<ScopeEntry, ParseEntryError> {
    // A server's id contains no slash, but a tool's name may.
    let (server, tool) = entry
        .split_once('/')
        .map_or((entry, None), |(server, tool)| (server, Some(tool)));
    if server.is_empty() || tool.is_some_and(str::is_empty) {
        return Err(ParseEntryError {
            entry: entry.to_owned(),
        });
    }
    Ok(ScopeEntry {
        server: ServerId::new(server),
        tool: tool.map(str::to_owned),
    })
}

/// Returns the tools of each server, or `None` for all of them. A server named without a tool
/// includes all its tools, even if single tools are named too.
fn collect_scope(scope: Vec<ScopeEntry>) -> BTreeMap<ServerId, Option<Vec<String>>> {
    let mut servers: BTreeMap<ServerId, Option<Vec<String>>> = BTreeMap::new();
    for ScopeEntry { server, tool } in scope {
        let tools = servers.entry(server).or_insert_with(|| Some(Vec::new()));
        match (tool, tools.as_mut()) {
            (Some(tool), Some(tools)) => tools.push(tool),
            (None, _) => *tools = None,
            (Some(_), None) => {}
        }
    }
    servers
}

fn format_profiles(profiles: &[ProfileView]) -> String {
    let mut table = Table::new(["NAME", "TOOLS", "TOKENS", "CLIENTS", "FOLDER", "SERVERS"]);
    for view in profiles {
        let clients: Vec<_> = view.clients.iter().map(|client| client.as_str()).collect();
        let servers: Vec<_> = view
            .profile
            .servers
            .iter()
            .map(|(server, tools)| match tools {
                None => server.to_string(),
                Some(tools) => format!("{server} ({})", tools.join(", ")),
            })
            .collect();
        let (tools, tokens) = (view.tools.to_string(), format!("about {}", view.tokens));
        table.add_row([
            &view.profile.name,
            &tools,
            &tokens,
            &clients.join(", "),
            view.profile.folder.as_deref().unwrap_or_default(),
            &servers.join("; "),
        ]);
    }
    table.format_or("No profiles. Every client sees every server.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_includes_all_its_tools_and_a_tool_only_itself() {
        let scope = ["a", "b/x", "b/y", "c/z", "c"].map(|entry| parse_entry(entry).expect(entry));
        let servers = collect_scope(scope.into());
        assert_eq!(servers[&ServerId::new("a")], None);
        assert_eq!(
            servers[&ServerId::new("b")],
            Some(vec!["x".into(), "y".into()])
        );
        assert_eq!(servers[&ServerId::new("c")], None);
    }

    #[test]
    fn an_entry_without_a_server_or_a_tool_is_rejected() {
        for entry in ["", "/", "/x", "demo/"] {
            assert_eq!(
                parse_entry(entry).expect_err(entry).to_string(),
                format!("expected SERVER or SERVER/TOOL, not '{entry}'")
            );
        }
    }
}
