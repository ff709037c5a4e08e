//! `drawbridge servers`: manages servers and shows their states.

mod add;
mod authorize;
mod manifests;
mod set;
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

use crate::{connection::Context, exit::Failure, text::shown};

#[derive(Subcommand)]
pub(crate) enum Servers {
    /// List servers
    List,
    /// Show a server and its tools
    Show { id: String },
    /// Add a server from a command, a URL, a preset or a manifest
    Add(Box<add::Add>),
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
    Authorize(authorize::Authorize),
    /// Sign out of a remote server
    SignOut { id: String },
}

impl Servers {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List => context.show(ListServers {}, view::list).await,
            Self::Show { id } => {
                context
                    .show(
                        ShowServer {
                            id: ServerId::new(id),
                        },
                        view::one,
                    )
                    .await
            }
            Self::Add(add) => add.run(context).await,
            Self::Presets => {
                context
                    .show(ListPresets {}, |presets| manifests::presets(presets))
                    .await
            }
            Self::Manifest { path } => {
                let source = add::manifest::source(path)?;
                context
                    .show(ReadManifest { source }, manifests::manifest)
                    .await
            }
            Self::Runtimes => {
                context
                    .show(CheckRuntimes {}, |found| manifests::runtimes(found))
                    .await
            }
            Self::Remove { id } => {
                let lines = format!("removed {}", shown(&id));
                context
                    .show(
                        RemoveServer {
                            id: ServerId::new(id),
                        },
                        |_| lines,
                    )
                    .await
            }
            Self::Set { id, fields } => {
                let verb = set::verb(context, id, &fields).await?;
                context.show(verb, |server| done("changed", server)).await
            }
            Self::Enable { id } => {
                context
                    .show(enable(id, true), |server| done("enabled", server))
                    .await
            }
            Self::Disable { id } => {
                context
                    .show(enable(id, false), |server| done("disabled", server))
                    .await
            }
            Self::Accept { id } => {
                let id = ServerId::new(id);
                let identity = context.ask(ShowServer { id: id.clone() }).await?.identity;
                context
                    .show(AcceptServer { id, identity }, |server| {
                        done("accepted", server)
                    })
                    .await
            }
            Self::History { id, tool } => {
                context
                    .show(
                        ShowToolHistory {
                            id: ServerId::new(id),
                            tool,
                        },
                        |versions| view::history(versions),
                    )
                    .await
            }
            Self::AcceptTools { id, tools } => {
                let id = ServerId::new(id);
                let server = context.ask(ShowServer { id: id.clone() }).await?;
                let tools = view::waiting(&server, &tools)?;
                context
                    .show(AcceptTools { id, tools }, |server| {
                        done("accepted the tools of", server)
                    })
                    .await
            }
            Self::Usage => context.show(ShowUsage {}, |used| view::usage(used)).await,
            Self::Verify { id } => {
                context
                    .show(
                        VerifyServer {
                            id: ServerId::new(id),
                        },
                        view::verified,
                    )
                    .await
            }
            Self::Sync { id } => {
                context
                    .show(
                        SyncServer {
                            id: ServerId::new(id),
                        },
                        |server| read("synced", server),
                    )
                    .await
            }
            Self::Restart { id } => {
                context
                    .show(
                        RestartServer {
                            id: ServerId::new(id),
                        },
                        |server| read("restarted", server),
                    )
                    .await
            }
            Self::Authorize(authorize) => authorize.run(context).await,
            Self::SignOut { id } => {
                context
                    .show(
                        SignOutServer {
                            id: ServerId::new(id),
                        },
                        |server| done("signed out of", server),
                    )
                    .await
            }
        }
    }
}

fn enable(id: String, enabled: bool) -> EnableServer {
    EnableServer {
        id: ServerId::new(id),
        enabled,
    }
}

fn done(what: &str, server: &ServerView) -> String {
    format!(
        "{what} {}: {}",
        shown(server.id.as_str()),
        view::state(server)
    )
}

/// Like [`done`], for a server whose lists were read. Adds the excluded entries.
fn read(what: &str, server: &ServerView) -> String {
    done(what, server) + &view::left_out(&server.excluded)
}
