//! `drawbridge servers`: manages servers and shows their states.

mod add;
mod manifests;
mod set;
mod sign_in;
mod view;

use std::path::PathBuf;

use clap::Subcommand;
use drawbridge_hub::{
    api::servers::{
        AcceptServer, AcceptTools, CheckRuntimes, EnableServer, ListPresets, ListServers,
        ReadManifest, RemoveServer, RestartServer, ServerView, ShowServer, ShowToolHistory,
        ShowUsage, SignOutServer, SyncServer, VerifyServer,
    },
    model::ids::ServerId,
};

use crate::{connection::Context, exit::Failure, text::escape};

#[derive(Subcommand)]
pub(crate) enum Servers {
    /// List servers
    List,
    /// Show a server and its tools
    Show { id: String },
    /// Add a server from a command, a URL, a preset or a manifest
    Add(Box<add::AddArgs>),
    /// List presets for `add --preset`, and whether their runtimes are installed
    Presets,
    /// Show the packages and inputs of a server.json or plugin.json, or of a folder that contains
    /// one
    Manifest { path: PathBuf },
    /// Show the runtimes that start packages, and whether they are installed
    Runtimes,
    /// Remove a server, its secrets and its rules
    Remove { id: String },
    /// Change fields of a server's spec, such as `visibility=deferred timeouts.call_ms=60000`; null
    /// removes a field
    Set {
        id: String,
        #[arg(value_name = "FIELD=VALUE", required = true)]
        fields: Vec<String>,
    },
    /// Enable a server
    Enable { id: String },
    /// Disable a server
    Disable { id: String },
    /// Accept a new or changed server
    Accept { id: String },
    /// Show the versions of a tool's definition and their differences
    History { id: String, tool: String },
    /// Accept new or changed tools of a server: all of them, or those named
    AcceptTools { id: String, tools: Vec<String> },
    /// Show memory and CPU usage of local servers
    Usage,
    /// Connect to a server apart from its session, and list its tools
    Verify { id: String },
    /// Refresh a server's capabilities
    Sync { id: String },
    /// Restart a server's session
    Restart { id: String },
    /// Sign in to a remote server in a browser
    #[command(alias = "authorize")]
    SignIn(sign_in::SignInArgs),
    /// Sign out of a remote server
    SignOut { id: String },
}

impl Servers {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List => {
                context
                    .run_and_print(ListServers {}, view::format_servers)
                    .await
            }
            Self::Show { id } => {
                context
                    .run_and_print(
                        ShowServer {
                            id: ServerId::new(id),
                        },
                        view::format_server,
                    )
                    .await
            }
            Self::Add(add) => add.run(context).await,
            Self::Presets => {
                context
                    .run_and_print(ListPresets {}, |presets| manifests::format_presets(presets))
                    .await
            }
            Self::Manifest { path } => {
                let source = add::manifest::path_source(path)?;
                context
                    .run_and_print(ReadManifest { source }, manifests::format_manifest)
                    .await
            }
            Self::Runtimes => {
                context
                    .run_and_print(CheckRuntimes {}, |found| manifests::format_runtimes(found))
                    .await
            }
            Self::Remove { id } => {
                let lines = format!("removed {}", escape(&id));
                context
                    .run_and_print(
                        RemoveServer {
                            id: ServerId::new(id),
                        },
                        |_| lines,
                    )
                    .await
            }
            Self::Set { id, fields } => {
                let verb = set::build_update(context, id, &fields).await?;
                context
                    .run_and_print(verb, |server| format_done("changed", server))
                    .await
            }
            Self::Enable { id } => {
                context
                    .run_and_print(enable_server(id, true), |server| {
                        format_done("enabled", server)
                    })
                    .await
            }
            Self::Disable { id } => {
                context
                    .run_and_print(enable_server(id, false), |server| {
                        format_done("disabled", server)
                    })
                    .await
            }
            Self::Accept { id } => {
                let id = ServerId::new(id);
                let identity = context.run(ShowServer { id: id.clone() }).await?.identity;
                context
                    .run_and_print(AcceptServer { id, identity }, |server| {
                        format_done("accepted", server)
                    })
                    .await
            }
            Self::History { id, tool } => {
                context
                    .run_and_print(
                        ShowToolHistory {
                            id: ServerId::new(id),
                            tool,
                        },
                        |versions| view::format_history(versions),
                    )
                    .await
            }
            Self::AcceptTools { id, tools } => {
                let id = ServerId::new(id);
                let server = context.run(ShowServer { id: id.clone() }).await?;
                let tools = view::tools_to_accept(&server, &tools)?;
                context
                    .run_and_print(AcceptTools { id, tools }, |server| {
                        format_done("accepted the tools of", server)
                    })
                    .await
            }
            Self::Usage => {
                context
                    .run_and_print(ShowUsage {}, |used| view::format_usage(used))
                    .await
            }
            Self::Verify { id } => {
                context
                    .run_and_print(
                        VerifyServer {
                            id: ServerId::new(id),
                        },
                        view::format_verified,
                    )
                    .await
            }
            Self::Sync { id } => {
                context
                    .run_and_print(
                        SyncServer {
                            id: ServerId::new(id),
                        },
                        |server| format_synced("synced", server),
                    )
                    .await
            }
            Self::Restart { id } => {
                context
                    .run_and_print(
                        RestartServer {
                            id: ServerId::new(id),
                        },
                        |server| format_synced("restarted", server),
                    )
                    .await
            }
            Self::SignIn(authorize) => authorize.run(context).await,
            Self::SignOut { id } => {
                context
                    .run_and_print(
                        SignOutServer {
                            id: ServerId::new(id),
                        },
                        |server| format_done("signed out of", server),
                    )
                    .await
            }
        }
    }
}

fn enable_server(id: String, enabled: bool) -> EnableServer {
    EnableServer {
        id: ServerId::new(id),
        enabled,
    }
}

fn format_done(what: &str, server: &ServerView) -> String {
    format!(
        "{what} {}: {}",
        escape(server.id.as_str()),
        view::format_state(server)
    )
}

/// Like [`format_done`], for a server whose lists were read. Adds the excluded entries.
fn format_synced(what: &str, server: &ServerView) -> String {
    format_done(what, server) + &view::format_excluded(&server.excluded)
}
