//! `drawbridge servers`: manages servers and shows their states.

mod accept;
mod access_report;
mod add;
mod definitions;
pub(super) mod manifests;
mod preflight;
mod sign_in;
mod view;

use std::path::PathBuf;

use clap::Subcommand;
use drawbridge_hub::api::servers::{
    AcceptDefinitions, CheckRuntimes, CheckServer, EnableServer, ListPresets, ListServers,
    MoveLiterals, PinServer, ReadManifest, RecordServer, RemoveServer, RestartServer, SecretValues,
    ServerView, ShowAccessReport, ShowDefinitionHistory, ShowServer, ShowUsage, SignOutServer,
    SyncServer, UpdateServer, VerifyServer,
};
use drawbridge_model::ids::ServerId;

use crate::{
    context::Context, exit::Failure, output::print_answer, spec_fields::apply_fields, text::escape,
};

#[derive(Subcommand)]
pub(crate) enum Servers {
    /// List servers
    List,
    /// Show a server, its tools, and the excluded entries of its lists
    Show {
        /// The server's id, as shown by `servers list`
        id: String,
    },
    /// Add a server from a command, a URL, a preset, a manifest, the official registry or an MCP
    /// bundle
    Add(Box<add::AddArgs>),
    /// List the presets for `add --preset`, and whether their runtimes are installed
    Presets,
    /// Show the packages and inputs of a server.json or plugin.json, or of a folder with one of
    /// these files
    Manifest {
        /// The file or folder
        path: PathBuf,
    },
    /// Show the runtimes that start packages, and whether they are installed
    Runtimes,
    /// Remove a server, its rules, its log, and the secrets of its own that nothing else uses
    Remove {
        /// The server's id, as shown by `servers list`
        id: String,
    },
    /// Change fields of a server's spec, and accept the new spec
    Set {
        /// The server's id, as shown by `servers list`
        id: String,
        /// A field and its new value, such as visibility=deferred or timeouts.call_ms=60000; null
        /// removes the field. May be repeated.
        #[arg(value_name = "FIELD=VALUE", required = true)]
        fields: Vec<String>,
        /// Let the server use this secret, which is not its own. May be repeated.
        #[arg(long, value_name = "NAME")]
        grant_secret: Vec<String>,
    },
    /// Enable a disabled server
    Enable {
        /// The server's id, as shown by `servers list`
        id: String,
    },
    /// Disable a server: stop it, and hide its tools from clients
    Disable {
        /// The server's id, as shown by `servers list`
        id: String,
    },
    /// Pin a server to the versions of its packages and images that are in use
    ///
    /// Writes the versions of the packages, or the digests of the images, into the server's spec.
    /// An accepted server stays accepted.
    Pin {
        /// The server's id, as shown by `servers list`
        id: String,
    },
    /// Move the values of a server's spec that look like secrets to the secret store
    MoveLiterals {
        /// The server's id, as shown by `servers list`
        id: String,
    },
    /// Show a new or changed server, and accept it
    Accept(accept::AcceptArgs),
    /// Show the versions of a definition and their differences
    History {
        /// The server's id, as shown by `servers list`
        id: String,
        /// The name of a tool or a prompt, the URI of a resource, a URI template, or `instructions`
        name: String,
        /// The kind of the definition
        #[arg(long, value_enum, default_value = "tool")]
        kind: definitions::Kind,
    },
    /// Accept new or changed definitions of a server: instructions, tools, prompts, templates, and
    /// names, titles and descriptions of resources
    #[command(alias = "accept-tools")]
    AcceptDefinitions {
        /// The server's id, as shown by `servers list`
        id: String,
        /// The names of the definitions [default: all new and changed definitions that need not be
        /// named]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Only definitions of this kind
        #[arg(long, value_enum)]
        kind: Option<definitions::Kind>,
    },
    /// Show processes, memory and CPU usage of the local servers that are running
    Usage,
    /// Check what a server needs to start, without starting it: its program, runtime, variables,
    /// secrets, address, sign-in, sandbox and acceptance
    Preflight {
        /// The server's id, as shown by `servers list`
        id: String,
    },
    /// Connect to a server in a separate session, and list its tools
    Verify {
        /// The server's id, as shown by `servers list`
        id: String,
    },
    /// Read a server's lists again
    Sync {
        /// The server's id, as shown by `servers list`
        id: String,
    },
    /// End a server's session and start a new one
    Restart {
        /// The server's id, as shown by `servers list`
        id: String,
    },
    /// Restart a local server, and record which files, addresses and programs it uses (Linux)
    Record {
        /// The server's id, as shown by `servers list`
        id: String,
    },
    /// Show what a local server used in its latest recorded run, and a sandbox that allows only
    /// these uses
    Report {
        /// The server's id, as shown by `servers list`
        id: String,
    },
    /// Sign in to a remote server in a browser
    #[command(alias = "authorize")]
    SignIn(sign_in::SignInArgs),
    /// Sign out of a remote server, and delete its tokens
    SignOut {
        /// The server's id, as shown by `servers list`
        id: String,
    },
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
                    .run_and_print(CheckRuntimes {}, |runtimes| {
                        manifests::format_runtimes(runtimes)
                    })
                    .await
            }
            Self::Remove { id } => {
                let message = format!("Server '{}' removed.", escape(&id));
                context
                    .run_and_print(
                        RemoveServer {
                            id: ServerId::new(id),
                        },
                        |_| message,
                    )
                    .await
            }
            Self::Set {
                id,
                fields,
                grant_secret,
            } => {
                let verb = build_update_verb(context, id, &fields, grant_secret).await?;
                context
                    .run_and_print(verb, |server| format_change("changed", server))
                    .await
            }
            Self::Enable { id } => {
                context
                    .run_and_print(build_enable_verb(id, true), |server| {
                        format_change("enabled", server)
                    })
                    .await
            }
            Self::Disable { id } => {
                context
                    .run_and_print(build_enable_verb(id, false), |server| {
                        format_change("disabled", server)
                    })
                    .await
            }
            Self::Pin { id } => {
                let id = ServerId::new(id);
                context
                    .run_and_print(PinServer { id }, |server| format_change("pinned", server))
                    .await
            }
            Self::MoveLiterals { id } => {
                let id = ServerId::new(id);
                context
                    .run_and_print(MoveLiterals { id }, |server| {
                        format_change("changed", server)
                    })
                    .await
            }
            Self::Accept(accept) => accept.run(context).await,
            Self::History { id, name, kind } => {
                let verb = ShowDefinitionHistory {
                    id: ServerId::new(id),
                    kind: kind.into(),
                    name,
                };
                context
                    .run_and_print(verb, |versions| definitions::format_history(versions))
                    .await
            }
            Self::AcceptDefinitions { id, names, kind } => {
                let id = ServerId::new(id);
                let server = context.run(ShowServer { id: id.clone() }).await?;
                let definitions = definitions::find_unaccepted(&server, &names, kind)?;
                if definitions.is_empty() {
                    return print_answer(context.json, &server, |server| {
                        definitions::format_none_accepted(server, kind)
                    });
                }
                context
                    .run_and_print(AcceptDefinitions { id, definitions }, |server| {
                        let id = escape(server.id.as_str());
                        let rest = definitions::format_unaccepted(server);
                        format!("Definitions of server '{id}' accepted.{rest}")
                    })
                    .await
            }
            Self::Usage => {
                context
                    .run_and_print(ShowUsage {}, |servers| view::format_usage(servers))
                    .await
            }
            Self::Preflight { id } => {
                let id = ServerId::new(id);
                let checks = context.run(CheckServer { id }).await?;
                print_answer(context.json, &checks, |checks| {
                    preflight::format_checks(checks)
                })?;
                if preflight::has_failures(&checks) {
                    return Err(Failure::ChecksFailed);
                }
                Ok(())
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
            Self::Record { id } => {
                let verb = RecordServer {
                    id: ServerId::new(id.clone()),
                };
                context
                    .run_and_print(verb, |_| {
                        let id = escape(&id);
                        format!(
                            "Server '{id}' restarted. Drawbridge records what the server uses until the server ends. To see the report, run `drawbridge servers report {id}`."
                        )
                    })
                    .await
            }
            Self::Report { id } => {
                let verb = ShowAccessReport {
                    id: ServerId::new(id.clone()),
                };
                context
                    .run_and_print(verb, |view| access_report::format_report(&id, view))
                    .await
            }
            Self::SignIn(sign_in) => sign_in.run(context).await,
            Self::SignOut { id } => {
                context
                    .run_and_print(
                        SignOutServer {
                            id: ServerId::new(id),
                        },
                        |server| format!("Signed out of server '{}'.", escape(server.id.as_str())),
                    )
                    .await
            }
        }
    }
}

/// Returns the verb that changes the fields, each given as `FIELD=VALUE`, of a server's current
/// spec, and accepts the new spec.
async fn build_update_verb(
    context: &Context,
    id: String,
    fields: &[String],
    grant_secrets: Vec<String>,
) -> Result<UpdateServer, Failure> {
    let id = ServerId::new(id);
    let spec = context.run(ShowServer { id: id.clone() }).await?.spec;
    Ok(UpdateServer {
        id,
        spec: apply_fields(&spec, fields)?,
        secrets: SecretValues::default(),
        pending: false,
        grant_secrets,
    })
}

fn build_enable_verb(id: String, enabled: bool) -> EnableServer {
    EnableServer {
        id: ServerId::new(id),
        enabled,
    }
}

/// Reports a change of a server, and the server's state.
fn format_change(change: &str, server: &ServerView) -> String {
    format!(
        "Server '{}' {change}.\nState: {}",
        escape(server.id.as_str()),
        view::format_state(server)
    )
}

/// Like [`format_change`], for a server whose lists were read. Adds the excluded entries.
fn format_synced(change: &str, server: &ServerView) -> String {
    format_change(change, server) + &view::format_excluded(&server.excluded)
}
