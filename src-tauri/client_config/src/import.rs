//! Finds servers in the configuration files of clients and in pasted text.
//!
//! A text is read in four steps: [`text`] finds its format and the entries in it, [`entry`] turns
//! each entry into a spec, [`merge`] merges equal servers and gives each server a unique name, and
//! [`finish`] finds the literal secrets.

mod command_line;
mod containers;
mod entry;
mod finish;
mod limits;
mod merge;
mod naming;
mod text;
mod variables;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
};

use drawbridge_model::{
    names,
    spec::{ServerSpec, SpecError},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    client::{Client, SERVER_NAME},
    connection::{self, Connection, Transport},
    format::{Format, Source, SyntaxError},
    literals::Place,
    machine::Machine,
};
use merge::Drafts;
use variables::InputDefinition;

/// The largest text that is read, in bytes. `~/.claude.json` is large, because it has a history.
const MAX_TEXT: usize = 64 * 1024 * 1024;

/// Returns whether two specs have the same command line or URL, and the same names of variables and
/// headers. The import does not add a server if Drawbridge has such a server.
pub fn is_same_server(one: &ServerSpec, other: &ServerSpec) -> bool {
    (&one.command, &one.args, &one.url) == (&other.command, &other.args, &other.url)
        && one.env.keys().eq(other.env.keys())
        && one.headers.keys().eq(other.headers.keys())
}

/// Reads servers from files and texts.
#[derive(Debug, Clone, Copy)]
pub struct Importer<'a> {
    pub machine: &'a Machine,
    /// The URL of Drawbridge's endpoint. Entries that lead to this endpoint are skipped.
    pub endpoint_url: &'a str,
    /// The servers that Drawbridge already has, by id. A server that was found may have one of these
    /// ids only if [`is_same_server`] says that Drawbridge has it already: it is not added then.
    pub registered: &'a BTreeMap<String, ServerSpec>,
}

/// The servers that were found.
#[derive(Debug, Default)]
pub struct FoundServers {
    /// No two servers have the same name or the same contents.
    pub servers: Vec<FoundServer>,
    /// The entries that are no servers to import.
    pub skipped: Vec<SkippedEntry>,
    /// The files that could not be read.
    pub unreadable: Vec<UnreadableFile>,
}

/// A server that was found.
#[derive(Debug)]
pub struct FoundServer {
    /// The name. Both the name and the id made from it are unique among the servers that were
    /// found.
    pub name: String,
    /// The spec, or the reason why the entry cannot be a server.
    ///
    /// A value that the person still has to give is a `${keyring:NAME}` in `env`, `headers` and the
    /// client secret of `oauth`, and `${input:ID}` anywhere else.
    pub spec: Result<ServerSpec, EntryError>,
    /// All places that have this server.
    pub found_at: Vec<FoundAt>,
    /// The values that look like secrets.
    pub secrets: Vec<LiteralSecret>,
    /// The values that the person still has to give.
    pub inputs: Vec<RequiredInput>,
    /// Sentences for the person: about the parts of the entry that are not in the spec, the
    /// server's names, and secrets in the arguments.
    pub notes: Vec<String>,
}

/// A place that has a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundAt {
    /// The id of the client to which the file belongs. `None` for a pasted text.
    pub client: Option<String>,
    pub file: Option<PathBuf>,
    /// The keys from the root of the file or text to the entry. Empty for a command line and for a
    /// text that consists of one entry.
    pub keys: Vec<String>,
    /// The line of the text, counted from 1, if the server is a command line.
    pub line: Option<usize>,
}

/// An entry that is no server to import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedEntry {
    pub name: String,
    pub found_at: FoundAt,
    pub reason: SkipReason,
}

/// The reason why an entry is no server to import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// The entry connects the client to Drawbridge.
    Drawbridge,
    /// The entry turns on a part of the client, or an extension that the client installs.
    BuiltIn,
}

/// A value in a spec that looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiteralSecret {
    pub place: Place,
    /// The name for the secret in the secret store.
    pub secret_name: String,
}

/// A value that the person still has to give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredInput {
    /// The `ID` of `${input:ID}`.
    pub id: String,
    /// A description for the person; empty if the entry has none.
    pub description: String,
    /// The values to choose from; empty if any value is possible.
    pub choices: Vec<String>,
    pub is_secret: bool,
    /// The name for the value in the secret store.
    pub secret_name: String,
    /// All places that need the value.
    pub places: Vec<Place>,
}

/// A file that could not be read.
#[derive(Debug)]
pub struct UnreadableFile {
    pub file: PathBuf,
    pub error: ImportError,
}

/// The reason why no server can be read from a text or file.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(
        "nothing to read: paste a client's configuration (JSON, TOML or YAML), a command line, or the URL of a server"
    )]
    Empty,
    #[error("the text is larger than 64 MiB; paste only the part with the servers")]
    TooLarge,
    #[error("this is not valid {}: {source}. Correct it, and try again", format_name(*.format))]
    Syntax { format: Format, source: SyntaxError },
    #[error(
        "this YAML is nested too deeply, or its aliases make it too large; paste only the part with the servers"
    )]
    TooComplex,
    #[error(
        "this {} contains no server: it has no 'mcpServers', 'servers', 'command' or 'url'. Paste the part of the file with the servers",
        format_name(*.0)
    )]
    NoServer(Format),
    #[error("line {line} is not a valid command line: {source}. Close the quotation mark")]
    CommandLine {
        line: usize,
        source: shell_words::ParseError,
    },
    #[error(
        "line {line} is neither a command line nor JSON, TOML or YAML with a server: '{word}' is not a program. Paste a client's configuration, a command line, or the URL of a server"
    )]
    NotACommand { line: usize, word: String },
    #[error(
        "line {line} needs a shell, because it contains '{operator}'. Paste the command that starts the server, and nothing else"
    )]
    NeedsShell { line: usize, operator: String },
    #[error("line {line}: {source}")]
    Add { line: usize, source: AddError },
    #[error("cannot read the file: {0}")]
    File(#[from] io::Error),
    #[error("the file is not UTF-8 text; save it as UTF-8, and try again")]
    NotText,
}

/// The reason why a command line such as `claude mcp add …` adds no server.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    #[error(
        "'{0}' adds no server. Paste a command that adds a server, such as '{1} mcp add NAME -- COMMAND'"
    )]
    OtherCommand(String, String),
    #[error("the option '{0}' is unknown. Remove it, and try again")]
    UnknownOption(String),
    #[error("the option '{0}' has no value. Add the value, and try again")]
    NoValue(String),
    #[error("'{0}' is not a variable of the form NAME=VALUE")]
    BadVariable(String),
    #[error("'{0}' is not a header of the form NAME: VALUE")]
    BadHeader(String),
    #[error("the name of the server is missing")]
    NoName,
    #[error("the command or URL of the server is missing")]
    NoCommand,
    #[error("the server is not valid JSON: {0}. Correct it, and try again")]
    Json(#[source] SyntaxError),
    #[error("the JSON contains no server: it has no 'command' or 'url'")]
    NoServer,
}

/// The reason why an entry of a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadEntryError {
    #[error(transparent)]
    File(#[from] ImportError),
    #[error("the file has no server named '{0}'")]
    Missing(String),
    #[error(transparent)]
    Entry(#[from] EntryError),
}

/// The reason why an entry cannot be a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    #[error("a server must be an object with a 'command' or a 'url', not {0}")]
    NotAnObject(&'static str),
    #[error("'{member}' must be {expected}, not {found}")]
    WrongType {
        member: String,
        expected: &'static str,
        found: &'static str,
    },
    #[error("the transport '{0}' is unknown; use 'stdio', 'http' or 'sse'")]
    UnknownTransport(String),
    #[error(transparent)]
    Spec(#[from] SpecError),
}

/// The surroundings of an entry, which determine the values of its variables.
#[derive(Clone, Copy)]
struct Surroundings<'a> {
    importer: Importer<'a>,
    /// The client and the file. `None` for a pasted text.
    file: Option<(&'a Client, &'a Path)>,
    /// The folder of the project to which the file belongs.
    project: Option<&'a Path>,
}

impl Surroundings<'_> {
    /// Returns whether a plain `url` means HTTP+SSE, as it does in Gemini CLI and Qwen Code.
    fn url_means_sse(&self) -> bool {
        self.file
            .is_some_and(|(client, _)| ["gemini-cli", "qwen-code"].contains(&client.id))
    }
}

/// An entry of a text.
struct RawEntry {
    /// Empty if the entry has no name.
    name: String,
    entry: Value,
    /// See [`FoundAt::keys`].
    keys: Vec<String>,
    /// See [`FoundAt::line`].
    line: Option<usize>,
    /// The folder of the project to which the entry belongs, if the file contains entries of
    /// several projects.
    project: Option<PathBuf>,
}

/// A parsed text.
#[derive(Default)]
struct Document {
    entries: Vec<RawEntry>,
    /// The inputs that a configuration of VS Code defines.
    inputs: Vec<InputDefinition>,
}

impl<'a> Importer<'a> {
    /// Returns the servers in a pasted text: the configuration of any client or a part of it,
    /// command lines, or a URL. Does not read the variables of the environment, because a stranger
    /// may have written the text: the person has to give the values.
    ///
    /// # Errors
    /// Returns an error if the text is too large, does not parse, or contains no entry.
    pub fn read_text(&self, text: &str) -> Result<FoundServers, ImportError> {
        let document = text::read(&decode(text.as_bytes())?.text)?;
        let mut drafts = Drafts::new(self.registered);
        drafts.add(
            document,
            Surroundings {
                importer: *self,
                file: None,
                project: None,
            },
        );
        Ok(drafts.finish())
    }

    /// Returns the servers in a configuration file of a client. `project` is the folder of the
    /// project to which the file belongs. A file may have no servers.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or does not parse.
    pub fn read_file(
        &self,
        client: &Client,
        file: &Path,
        project: Option<&Path>,
    ) -> Result<FoundServers, ImportError> {
        let mut drafts = Drafts::new(self.registered);
        self.add_file(&mut drafts, client, file, project)?;
        Ok(drafts.finish())
    }

    /// Returns the servers in the files of these clients, globally and in these projects.
    pub fn find_servers(&self, clients: &'static [Client], projects: &[PathBuf]) -> FoundServers {
        let mut drafts = Drafts::new(self.registered);
        let mut unreadable = Vec::new();
        for client in clients {
            let global_files = client
                .files(self.machine)
                .into_iter()
                .map(|file| (file, None));
            let project_files = projects.iter().filter_map(|project| {
                Some((client.project_file(project)?, Some(project.as_path())))
            });
            for (file, project) in global_files
                .chain(project_files)
                .filter(|(file, _)| file.path.exists())
            {
                if let Err(error) = self.add_file(&mut drafts, client, &file.path, project) {
                    unreadable.push(UnreadableFile {
                        file: file.path,
                        error,
                    });
                }
            }
        }
        FoundServers {
            unreadable,
            ..drafts.finish()
        }
    }

    /// Returns the spec of the entry with this name in a client's file: the command that the client
    /// would start, or the URL to which it would connect. Entries that lead to Drawbridge are not
    /// skipped.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or does not parse, or if the entry is missing or
    /// is no server.
    pub fn read_entry(
        &self,
        client: &Client,
        file: &Path,
        project: Option<&Path>,
        name: &str,
    ) -> Result<ServerSpec, ReadEntryError> {
        let text = decode(&fs::read(file).map_err(ImportError::from)?)?.text;
        let document = containers::read_as(client.format, &text)?;
        let surroundings = Surroundings {
            importer: *self,
            file: Some((client, file)),
            project,
        };
        let mut entries = document.entries.into_iter();
        let mut raw = entries
            .find(|entry| entry.name == name && entry.project.is_none())
            .ok_or_else(|| ReadEntryError::Missing(name.to_owned()))?;
        Ok(entry::read(&mut raw, surroundings, &document.inputs).spec?)
    }

    fn add_file(
        &self,
        drafts: &mut Drafts,
        client: &'a Client,
        file: &'a Path,
        project: Option<&'a Path>,
    ) -> Result<(), ImportError> {
        let document = containers::read_as(client.format, &decode(&fs::read(file)?)?.text)?;
        drafts.add(
            document,
            Surroundings {
                importer: *self,
                file: Some((client, file)),
                project,
            },
        );
        Ok(())
    }

    /// Returns whether an entry connects the client to Drawbridge: to its endpoint, or through its
    /// bridge.
    fn leads_to_drawbridge(&self, name: &str, entry: &Value) -> bool {
        let connection = Connection {
            command: String::new(),
            url: self.endpoint_url.to_owned(),
            client: String::new(),
            data_dir: None,
            transport: Transport::Bridge,
        };
        connection.is_reached_by(entry)
            || (name == SERVER_NAME && connection::may_be_own_entry(entry))
    }
}

impl FoundServer {
    /// Moves the literal secrets out of the spec, and leaves references to the secret store.
    /// Returns the names and values to store there.
    pub fn move_secrets(&mut self) -> Vec<(String, String)> {
        let Ok(spec) = &mut self.spec else {
            return Vec::new();
        };
        self.secrets.clear();
        let id = names::server_id_from_name(&self.name)
            .expect("the name was chosen so that it has an id");
        crate::literals::move_literals(id.as_str(), spec, BTreeSet::new())
    }

    /// Replaces `${input:ID}` with a value that the person gave, in the command, the arguments, the
    /// folder and the URL. All other places get the value from the secret store.
    pub fn fill_input(&mut self, id: &str, value: &str) {
        let Ok(spec) = &mut self.spec else { return };
        let marker = variables::marker(id);
        for text in entry::plain_values(spec) {
            *text = text.replace(&marker, value);
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Drawbridge => "This entry connects the client to Drawbridge.",
            Self::BuiltIn => "This entry is a part of the client, not a server to import.",
        })
    }
}

/// Returns a text without its byte order mark, and with `\n` as line ends.
fn decode(bytes: &[u8]) -> Result<Source, ImportError> {
    if bytes.len() > MAX_TEXT {
        return Err(ImportError::TooLarge);
    }
    Source::decode(bytes).ok_or(ImportError::NotText)
}

fn format_name(format: Format) -> &'static str {
    match format {
        Format::Jsonc => "JSON",
        Format::Toml => "TOML",
        Format::Yaml => "YAML",
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
