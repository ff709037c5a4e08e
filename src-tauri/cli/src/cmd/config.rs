//! `drawbridge config`: connects and disconnects clients, and shows, tests and restores their
//! configuration files.

use std::{collections::BTreeMap, env, path::PathBuf};

use clap::Subcommand;
use drawbridge_client_config::variable_names;
use drawbridge_hub::api::config::{
    ApplyConfig, ClientChangeView, ClientFileView, ClientKindView, ConfigAction, ConfigOverview,
    ConfigPreview, ConfigSnippet, Environment, FileDiffView, FileOutcome, ListConfigs,
    PreviewConfig, ShowConfig, UndoConfig, UndoneView,
    entry::{ConfigTestView, TestConfig},
};
use drawbridge_model::{
    client_file::{ClientFileState, ClientTransport},
    ids::ClientName,
};
use serde::Serialize;

use crate::{
    confirm::confirm,
    context::Context,
    exit::Failure,
    output::print_answer,
    table::Table,
    text::{escape, format_count},
};

#[derive(Subcommand)]
pub(crate) enum Config {
    /// List the clients on this computer, and whether they are connected
    List {
        /// Also list the clients that were not found
        #[arg(long)]
        all: bool,
        /// Also list the files of the project in this folder
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
    },
    /// Print the configuration for a client, to paste into its settings
    Show {
        /// The client, as shown by `config list --all`; `standard` fits most other clients
        client: String,
    },
    /// Show what connecting a client would change
    Diff(ConnectArgs),
    /// Connect a client, or repair its entry
    Connect {
        #[command(flatten)]
        connect: ConnectArgs,
        /// Restore the entry if another program changes or removes it; not with --http
        #[arg(long)]
        restore: bool,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Remove Drawbridge from a client's file
    Disconnect {
        #[command(flatten)]
        file: FileArgs,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Undo the latest change of a client's files
    Undo {
        /// The client, as shown by `config list`
        client: String,
    },
    /// Connect with the entry in a client's file, as the client would, and list the tools
    Test(FileArgs),
}

/// A client, and one of its files.
#[derive(clap::Args)]
pub(crate) struct FileArgs {
    /// The client, as shown by `config list`
    client: String,
    /// The file of the project in this folder, instead of the client's global file
    #[arg(long, value_name = "DIR", conflicts_with = "path")]
    project: Option<PathBuf>,
    /// Another file of the client, as shown by `config list`
    #[arg(long, value_name = "FILE")]
    path: Option<PathBuf>,
}

/// How to connect a client.
#[derive(clap::Args)]
pub(crate) struct ConnectArgs {
    #[command(flatten)]
    file: FileArgs,
    /// The client's name in Drawbridge [default: CLIENT]
    #[arg(long)]
    name: Option<String>,
    /// Connect by URL, with a token in the file, instead of by `drawbridge stdio`
    #[arg(long)]
    http: bool,
    /// Let the client ask as well, before Drawbridge asks
    #[arg(long)]
    ask_twice: bool,
}

/// The changes of a command, as `--json` prints them.
#[derive(Serialize)]
struct Changed {
    files: Vec<FileDiffView>,
    notes: Vec<String>,
    /// `None` if nothing had to change.
    change: Option<ClientChangeView>,
}

impl Config {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        context.warn_about_remote_files();
        match self {
            Self::List { all, project } => {
                let verb = ListConfigs {
                    project: absolute(project)?,
                    environment: read_environment(),
                };
                let overview = context.run(verb).await?;
                print_answer(context.json, &overview, |overview| {
                    format_overview(overview, all)
                })
            }
            Self::Show { client } => {
                context
                    .run_and_print(ShowConfig { kind: client }, format_snippet)
                    .await
            }
            Self::Diff(connect) => {
                let preview = connect.preview()?;
                context.run_and_print(preview, format_preview).await
            }
            Self::Connect {
                connect,
                restore,
                yes,
            } => {
                if restore && connect.http {
                    return Err(Failure::RestoreNeedsToken);
                }
                let success = format!("Client '{}' connected.", escape(&connect.file.client));
                confirm_and_apply(context, connect.preview()?, restore, yes, &success).await
            }
            Self::Disconnect { file, yes } => {
                let success = format!("Client '{}' disconnected.", escape(&file.client));
                let preview = file.preview(ConfigAction::Disconnect)?;
                confirm_and_apply(context, preview, false, yes, &success).await
            }
            Self::Undo { client } => {
                let verb = UndoConfig {
                    change: None,
                    kind: Some(client),
                };
                undo(context, verb).await
            }
            Self::Test(file) => {
                let verb = TestConfig {
                    kind: file.client,
                    path: absolute(file.path)?,
                    project: absolute(file.project)?,
                    environment: read_environment(),
                };
                let tested = context.run(verb).await?;
                print_answer(context.json, &tested, format_test)?;
                match tested.problem {
                    None => Ok(()),
                    Some(_) => Err(Failure::TestFailed),
                }
            }
        }
    }
}

impl FileArgs {
    fn preview(self, action: ConfigAction) -> Result<PreviewConfig, Failure> {
        Ok(PreviewConfig {
            kind: self.client,
            action,
            path: absolute(self.path)?,
            project: absolute(self.project)?,
            name: None,
            transport: ClientTransport::Bridge,
            ask_once: false,
            environment: read_environment(),
        })
    }
}

impl ConnectArgs {
    fn preview(self) -> Result<PreviewConfig, Failure> {
        Ok(PreviewConfig {
            name: self.name.map(ClientName::new),
            transport: if self.http {
                ClientTransport::Http
            } else {
                ClientTransport::Bridge
            },
            ask_once: !self.ask_twice,
            ..self.file.preview(ConfigAction::Connect)?
        })
    }
}

/// Shows a change and asks for confirmation, unless `yes` is set. Then makes the change, and prints
/// `success`. If nothing has to change, only says so. With `restores`, Drawbridge later restores
/// the entry when another program changes or removes it.
async fn confirm_and_apply(
    context: &Context,
    preview: PreviewConfig,
    restores: bool,
    yes: bool,
    success: &str,
) -> Result<(), Failure> {
    let hub = context.open_hub_handle().await?;
    let result = async {
        let preview = hub.run(preview).await?;
        let change = match &preview.id {
            None => None,
            Some(id) => {
                if !yes {
                    confirm(&format_preview(&preview), "Make these changes?")?;
                }
                let apply = ApplyConfig {
                    id: id.clone(),
                    restores,
                };
                Some(hub.run(apply).await?)
            }
        };
        Ok::<_, Failure>(Changed {
            files: preview.files,
            notes: preview.notes,
            change,
        })
    }
    .await;
    hub.close().await;
    let changed = result?;
    print_answer(context.json, &changed, |changed| match &changed.change {
        None => NOTHING_TO_CHANGE.to_owned(),
        Some(change) => {
            let mut lines = vec![success.to_owned()];
            lines.extend(
                change
                    .files
                    .iter()
                    .map(|file| format!("  {}", escape(file))),
            );
            lines.extend(changed.notes.iter().cloned());
            lines.join("\n")
        }
    })
}

const NOTHING_TO_CHANGE: &str = "Nothing has to change.";

/// Undoes a change, and prints the outcome for each file.
pub(super) async fn undo(context: &Context, verb: UndoConfig) -> Result<(), Failure> {
    let undone = context.run(verb).await?;
    print_answer(context.json, &undone, format_undone)?;
    if undone.files.iter().any(|file| file.error.is_some()) {
        return Err(Failure::NotUndone);
    }
    Ok(())
}

/// Returns the environment variables of this process that say where clients keep their files.
pub(super) fn read_environment() -> Environment {
    variable_names()
        .filter_map(|name| Some((name.to_owned(), env::var(name).ok()?)))
        .collect::<BTreeMap<_, _>>()
}

/// Returns the absolute path, because the hub may have another working folder.
pub(super) fn absolute(path: Option<PathBuf>) -> Result<Option<PathBuf>, Failure> {
    Ok(path.map(std::path::absolute).transpose()?)
}

fn format_overview(overview: &ConfigOverview, all: bool) -> String {
    let mut table = Table::new(["CLIENT", "STATE", "FILE"]);
    let kinds = overview
        .kinds
        .iter()
        .filter(|kind| all || kind.is_installed);
    for kind in kinds {
        if kind.files.is_empty() {
            table.add_row([kind.id.as_str(), "-", "-"]);
        }
        for file in &kind.files {
            table.add_row([kind.id.as_str(), state_text(kind, file), &file.path]);
        }
    }
    let mut text = table.format_or(
        "No known client was found on this computer. `drawbridge config list --all` lists all clients that Drawbridge knows.",
    );
    let problems = overview.kinds.iter().flat_map(|kind| &kind.files);
    for file in problems.filter(|file| !file.problems.is_empty()) {
        text.push_str(&format!("\n\n{}:", escape(&file.path)));
        for problem in &file.problems {
            text.push_str(&format!("\n  {}", escape(problem)));
        }
    }
    text
}

fn state_text(kind: &ClientKindView, file: &ClientFileView) -> &'static str {
    match file.state {
        ClientFileState::NotConnected if !kind.is_installed => "not found",
        ClientFileState::NotConnected => "not connected",
        ClientFileState::Connected => "connected",
        ClientFileState::Outdated => "needs an update",
        ClientFileState::Changed => "changed by another program",
        ClientFileState::Removed => "removed by another program",
        ClientFileState::Broken => "cannot be read",
    }
}

fn format_snippet(snippet: &ConfigSnippet) -> String {
    let mut text = snippet.text.trim_end().to_owned();
    if let Some(link) = &snippet.install_link {
        text.push_str(&format!("\n\nOr open this link: {link}"));
    }
    for note in &snippet.notes {
        text.push_str(&format!("\n\n{note}"));
    }
    text
}

fn format_preview(preview: &ConfigPreview) -> String {
    if preview.id.is_none() {
        return NOTHING_TO_CHANGE.to_owned();
    }
    if preview.files.is_empty() {
        return "The file has the right entry already. Drawbridge will check this entry and keep it up to date.".into();
    }
    let notes = preview.notes.iter().cloned();
    let parts: Vec<String> = preview.files.iter().map(format_diff).chain(notes).collect();
    parts.join("\n\n")
}

pub(super) fn format_diff(file: &FileDiffView) -> String {
    let state = if file.is_new { "new file" } else { "changed" };
    let lines: Vec<String> = file.diff.trim_end().lines().map(escape).collect();
    format!("{} ({state})\n{}", escape(&file.path), lines.join("\n"))
}

fn format_undone(undone: &UndoneView) -> String {
    let mut lines: Vec<String> = undone
        .files
        .iter()
        .map(|file| {
            let text = match (&file.outcome, &file.error) {
                (Some(FileOutcome::Restored), _) => "restored",
                (Some(FileOutcome::Removed), _) => "removed, as it did not exist before",
                (Some(FileOutcome::OwnChangesUndone), _) => {
                    "has changed since, so only Drawbridge's own part was undone"
                }
                (Some(FileOutcome::Gone), _) => "no longer exists",
                (None, Some(error)) => error,
                (None, None) => "unknown",
            };
            format!("{}: {}", escape(&file.path), escape(text))
        })
        .collect();
    if !undone.change.servers.is_empty() {
        let names: Vec<&str> = undone.change.servers.iter().map(|id| id.as_str()).collect();
        let names = names.join(", ");
        lines.push(if undone.change.undone_at.is_some() {
            format!("Servers removed: {names}")
        } else {
            format!("Servers kept until every file is restored: {names}")
        });
    }
    lines.join("\n")
}

fn format_test(test: &ConfigTestView) -> String {
    let heading = format!("{}\n  {}", escape(&test.path), escape(&test.command_or_url));
    match &test.problem {
        Some(problem) => format!("{heading}\n{}", escape(problem)),
        None => format!(
            "{heading}\nThe client gets {} ({} ms).",
            format_count(test.tools, "tool", "tools"),
            test.duration_ms
        ),
    }
}
