//! `drawbridge import`: moves servers from the files of clients into Drawbridge, and connects these
//! clients.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Subcommand;
use drawbridge_hub::api::config::{
    UndoConfig,
    import::{
        ChosenServer, FindServers, FoundServerView, FoundServersView, ImportPreview, ImportServers,
        ImportedView, PreviewImport,
    },
};
use serde::Serialize;

use super::config::{format_diff, read_environment, undo};
use crate::{
    confirm::confirm, context::Context, exit::Failure, output::print_answer, table::Table,
    text::escape,
};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Import {
    #[command(subcommand)]
    command: Option<ImportCommand>,
    /// Only from the files of this client, as shown by `config list`
    client: Option<String>,
    /// Also from the files of the project in this folder. May be repeated.
    #[arg(long, value_name = "DIR")]
    project: Vec<PathBuf>,
    /// Only this server, by the name that `--dry-run` shows. May be repeated.
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,
    /// A value that a server needs, as `--dry-run` shows. May be repeated.
    #[arg(long, value_name = "SERVER.ID=VALUE")]
    input: Vec<String>,
    /// Leave the clients' files as they are
    #[arg(long)]
    keep_files: bool,
    /// Let the clients ask as well, before Drawbridge asks
    #[arg(long)]
    ask_twice: bool,
    /// Restore the clients' entries if another program changes or removes them
    #[arg(long)]
    restore: bool,
    /// Show what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

#[derive(Subcommand)]
enum ImportCommand {
    /// Undo the latest import: remove its servers, and restore the clients' files
    Undo,
}

/// The servers that were found and the changes that an import would make, as `--json` prints them
/// with `--dry-run`, or if there is no server to import.
#[derive(Serialize)]
struct DryRun {
    found: FoundServersView,
    preview: Option<ImportPreview>,
}

impl Import {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        context.warn_about_remote_files();
        if let Some(ImportCommand::Undo) = self.command {
            return undo(context, UndoConfig::default()).await;
        }
        let hub = context.open_hub_handle().await?;
        let result = async {
            let projects = self.absolute_projects()?;
            let find = FindServers {
                kind: self.client.clone(),
                projects: projects.clone(),
                environment: read_environment(),
            };
            let found = hub.run(find).await?;
            let servers = self.choose_servers(&found)?;
            if servers.is_empty() {
                return Ok::<_, Failure>((found, None, None));
            }
            let preview = PreviewImport {
                servers,
                connect: !self.keep_files,
                ask_once: !self.ask_twice,
                kind: self.client.clone(),
                projects,
                environment: read_environment(),
            };
            let preview = hub.run(preview).await?;
            if self.dry_run {
                return Ok((found, Some(preview), None));
            }
            if !self.yes {
                let text = format!("{}\n\n{}", format_found(&found), format_preview(&preview));
                confirm(&text, "Import these servers?")?;
            }
            let import = ImportServers {
                id: preview.id.clone(),
                restores: self.restore,
            };
            let imported = hub.run(import).await?;
            Ok((found, Some(preview), Some(imported)))
        }
        .await;
        hub.close().await;
        match result? {
            (_, _, Some(imported)) => print_answer(context.json, &imported, format_imported),
            (found, preview, None) => {
                let dry_run = DryRun { found, preview };
                print_answer(context.json, &dry_run, |dry_run| {
                    let found = format_found(&dry_run.found);
                    match &dry_run.preview {
                        Some(preview) => format!("{found}\n\n{}", format_preview(preview)),
                        None => found,
                    }
                })
            }
        }
    }

    fn absolute_projects(&self) -> Result<Vec<PathBuf>, Failure> {
        let absolute = self.project.iter().map(std::path::absolute);
        Ok(absolute.collect::<Result<_, _>>()?)
    }

    /// Returns the servers to import: those that were named, or else all that can be imported.
    fn choose_servers(&self, found: &FoundServersView) -> Result<Vec<ChosenServer>, Failure> {
        let mut inputs = self.parse_inputs()?;
        check_inputs(&inputs, found)?;
        let is_ready = |server: &FoundServerView, inputs: &BTreeMap<String, String>| {
            let is_given = |id: &String| inputs.contains_key(id);
            server.problem.is_none() && server.inputs.iter().all(|input| is_given(&input.id))
        };
        let mut chosen = Vec::new();
        for server in &found.servers {
            let server_inputs = inputs.remove(&server.name).unwrap_or_default();
            let is_chosen = if self.server.is_empty() {
                is_ready(server, &server_inputs)
            } else {
                self.server.contains(&server.name)
            };
            if is_chosen {
                chosen.push(ChosenServer {
                    name: server.name.clone(),
                    inputs: server_inputs,
                });
            }
        }
        let is_found = |name: &&String| found.servers.iter().any(|server| server.name == **name);
        match self.server.iter().find(|name| !is_found(name)) {
            Some(name) => Err(Failure::NoSuchServer { name: name.clone() }),
            None => Ok(chosen),
        }
    }

    /// Returns the values of the option `--input`, by server and by the input's id.
    fn parse_inputs(&self) -> Result<BTreeMap<String, BTreeMap<String, String>>, Failure> {
        let mut inputs: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for input in &self.input {
            let (server, id, value) = input
                .split_once('=')
                .and_then(|(place, value)| {
                    // A server's name may contain dots, unlike the id of an input.
                    let (server, id) = place.rsplit_once('.')?;
                    Some((server, id, value))
                })
                .ok_or_else(|| Failure::BadInput {
                    input: input.clone(),
                })?;
            inputs
                .entry(server.to_owned())
                .or_default()
                .insert(id.to_owned(), value.to_owned());
        }
        Ok(inputs)
    }
}

/// Checks that each input belongs to a server that was found.
fn check_inputs(
    inputs: &BTreeMap<String, BTreeMap<String, String>>,
    found: &FoundServersView,
) -> Result<(), Failure> {
    let known: Vec<String> = found
        .servers
        .iter()
        .flat_map(|server| {
            server
                .inputs
                .iter()
                .map(move |input| (&server.name, &input.id))
        })
        .map(|(server, id)| format!("{server}.{id}"))
        .collect();
    let unknown = inputs
        .iter()
        .flat_map(|(server, values)| values.keys().map(move |id| format!("{server}.{id}")))
        .find(|input| !known.contains(input));
    match unknown {
        Some(input) => Err(Failure::UnknownInput { input, known }),
        None => Ok(()),
    }
}

fn format_found(found: &FoundServersView) -> String {
    let mut table = Table::new(["SERVER", "FOUND IN", "PROCESSES", "COMMAND", "NOTE"]);
    for server in &found.servers {
        let mut clients: Vec<&str> = server
            .found_at
            .iter()
            .map(|place| place.kind.as_str())
            .collect();
        clients.dedup();
        let processes = match server.processes {
            0 => "-".to_owned(),
            processes => format!("{processes} ({} MiB)", server.memory_kib / 1024),
        };
        table.add_row([
            server.name.as_str(),
            &clients.join(", "),
            &processes,
            &server.command,
            &format_note(server),
        ]);
    }
    let mut text = table.format_or("No servers were found in the files of clients.");
    if found.saved_kib > 0 {
        text.push_str(&format!(
            "\n\nOne shared process of each server saves about {} MiB.",
            found.saved_kib / 1024
        ));
    }
    for file in &found.unreadable {
        text.push_str(&format!(
            "\n\n{} cannot be read: {}",
            escape(&file.file),
            escape(&file.reason)
        ));
    }
    text
}

/// Returns the facts that a person has to know about a server that was found.
fn format_note(server: &FoundServerView) -> String {
    if let Some(problem) = &server.problem {
        return problem.clone();
    }
    let mut notes = Vec::new();
    if let Some(id) = &server.known_as {
        notes.push(format!("is already the server '{id}'"));
    }
    if !server.inputs.is_empty() {
        let ids: Vec<String> = server
            .inputs
            .iter()
            .map(|input| format!("--input {}.{}=VALUE", server.name, input.id))
            .collect();
        notes.push(format!("needs {}", ids.join(" ")));
    }
    if !server.secrets.is_empty() {
        notes.push(format!(
            "moves {} to the secret store",
            server.secrets.join(", ")
        ));
    }
    notes.extend(server.notes.iter().cloned());
    notes.join("; ")
}

fn format_preview(preview: &ImportPreview) -> String {
    let servers = if preview.servers.is_empty() {
        "No server is added.".to_owned()
    } else {
        format!("Servers to add: {}", escape(&preview.servers.join(", ")))
    };
    let problems = preview.problems.iter().map(|problem| escape(problem));
    let parts: Vec<String> = [servers]
        .into_iter()
        .chain(preview.files.iter().map(format_diff))
        .chain(problems)
        .collect();
    parts.join("\n\n")
}

fn format_imported(imported: &ImportedView) -> String {
    let names: Vec<&str> = imported.servers.iter().map(|id| id.as_str()).collect();
    let mut lines = vec![match names.as_slice() {
        [] => "No server was added.".to_owned(),
        names => format!("Servers added: {}", names.join(", ")),
    }];
    if !imported.change.files.is_empty() {
        lines.push("Files changed:".to_owned());
        lines.extend(
            imported
                .change
                .files
                .iter()
                .map(|file| format!("  {}", escape(file))),
        );
    }
    lines.push("To undo the import, run `drawbridge import undo`.".to_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(inputs: &[&str]) -> FoundServersView {
        let inputs: Vec<_> = inputs
            .iter()
            .map(|id| json!({"id": id, "description": "", "choices": [], "is_secret": true}))
            .collect();
        serde_json::from_value(json!({
            "servers": [{
                "name": "github", "command": "npx", "found_at": [], "secrets": [],
                "inputs": inputs, "notes": [], "processes": 0, "memory_kib": 0
            }],
            "unreadable": [],
            "saved_kib": 0
        }))
        .expect("servers")
    }

    fn import(input: &str) -> Import {
        Import {
            command: None,
            client: None,
            project: Vec::new(),
            server: Vec::new(),
            input: vec![input.to_owned()],
            keep_files: false,
            ask_twice: false,
            restore: false,
            dry_run: false,
            yes: false,
        }
    }

    #[test]
    fn an_input_that_no_server_has_is_refused_with_the_known_inputs() {
        let servers = found(&["token", "host"]);
        let message = |input: &str, servers: &FoundServersView| {
            let chosen = import(input).choose_servers(servers);
            chosen.err().map(|failure| failure.to_string())
        };
        for unknown in ["gitlab.token", "github.key"] {
            assert_eq!(
                message(&format!("{unknown}=1"), &servers),
                Some(format!(
                    "no server that was found has the input '{unknown}'; the inputs are \
                     github.token, github.host"
                ))
            );
        }
        assert_eq!(message("github.token=1", &servers), None);
        assert_eq!(
            message("github.token=1", &found(&[])),
            Some(
                "no server that was found has the input 'github.token'; the servers need no inputs"
                    .to_owned()
            )
        );
    }
}
