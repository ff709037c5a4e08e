//! `drawbridge profiles`: manages which servers and tools a client sees.

use std::collections::BTreeMap;

use clap::Subcommand;
use drawbridge_hub::{
    api::profiles::{ListProfiles, ProfileView, PutProfile, RemoveProfile},
    model::{ids::ServerId, profile::Profile},
};

use crate::{context::Context, exit::Failure, table::Table, text::escape};

#[derive(Subcommand)]
pub(crate) enum Profiles {
    /// List profiles
    List,
    /// Create or replace a profile
    Set {
        /// The profile's name
        name: String,
        /// A server with all its tools, or one tool of a server. May be repeated.
        #[arg(value_name = "SERVER[/TOOL]", required = true)]
        scope: Vec<String>,
    },
    /// Remove a profile. Its clients see everything again.
    Remove {
        /// The profile's name
        name: String,
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
            Self::Set { name, scope } => {
                let lines = format!("Profile '{}' saved.", escape(&name));
                let profile = Profile {
                    name,
                    servers: parse_scope(&scope),
                };
                context
                    .run_and_print(PutProfile { profile }, |_| lines)
                    .await
            }
            Self::Remove { name } => {
                let lines = format!("Profile '{}' removed.", escape(&name));
                context
                    .run_and_print(RemoveProfile { name }, |_| lines)
                    .await
            }
        }
    }
}

/// Returns the tools of each server. A server named without a tool includes all its tools, even if
/// single tools are named too.
fn parse_scope(scope: &[String]) -> BTreeMap<ServerId, Option<Vec<String>>> {
    let mut servers: BTreeMap<ServerId, Option<Vec<String>>> = BTreeMap::new();
    for entry in scope {
        let (server, tool) = entry
            .split_once('/')
            .map_or((entry.as_str(), None), |(server, tool)| {
                (server, Some(tool))
            });
        let tools = servers
            .entry(ServerId::new(server))
            .or_insert_with(|| Some(Vec::new()));
        match (tool, tools.as_mut()) {
            (Some(tool), Some(tools)) => tools.push(tool.to_owned()),
            (None, _) => *tools = None,
            (Some(_), None) => {}
        }
    }
    servers
}

fn format_profiles(profiles: &[ProfileView]) -> String {
    let mut table = Table::new(["NAME", "TOOLS", "TOKENS", "CLIENTS", "SERVERS"]);
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
        let scope = ["a", "b/x", "b/y", "c/z", "c"].map(str::to_owned);
        let servers = parse_scope(&scope);
        assert_eq!(servers[&ServerId::new("a")], None);
        assert_eq!(
            servers[&ServerId::new("b")],
            Some(vec!["x".into(), "y".into()])
        );
        assert_eq!(servers[&ServerId::new("c")], None);
    }
}
