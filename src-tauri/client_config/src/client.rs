//! A client: where its files are, and how it writes a server in them.

mod install_link;
mod locate;
pub(crate) mod shape;

use std::path::{Path, PathBuf};

pub use install_link::LinkForm;
pub use locate::{ConfigFile, FileScope};

use drawbridge_model::names::MAX_TOOL_NAME;

use crate::{
    connection::{Connection, Transport},
    edit::{Container, Edit, Entry},
    format::Format,
    machine::{Machine, Os},
};

/// The name of Drawbridge's entry in the files of clients.
pub const SERVER_NAME: &str = "drawbridge";

/// The systems on which a file has a certain place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Systems {
    Any,
    Linux,
    MacOs,
    Windows,
    /// Linux and macOS.
    Unix,
}

impl Systems {
    pub(crate) fn includes(self, os: Os) -> bool {
        match self {
            Self::Any => true,
            Self::Linux => os == Os::Linux,
            Self::MacOs => os == Os::MacOs,
            Self::Windows => os == Os::Windows,
            Self::Unix => os != Os::Windows,
        }
    }
}

/// The value of a member that "ask once" adds to Drawbridge's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberValue {
    True,
    Text(&'static str),
    /// [`WAIT_SECONDS`] in milliseconds.
    WaitMilliseconds,
    /// [`WAIT_SECONDS`], or `max`, the most seconds that the client allows, if `max` is less.
    WaitSeconds {
        max: u64,
    },
    /// The names of all tools.
    ToolNames,
}

/// A list of the tools about which the client does not ask, in another JSON file.
#[derive(Clone, Copy)]
pub(crate) struct ToolAllowList {
    /// The place of the file in words.
    pub(crate) place: &'static str,
    /// Returns the path of the file that belongs to a configuration file.
    pub(crate) file: fn(&Machine, &Path) -> PathBuf,
    /// The keys from the root of the file to the list.
    pub(crate) path: &'static [&'static str],
    /// The element of the list that stands for Drawbridge's tools.
    pub(crate) element: &'static str,
}

/// A client, as a row of the table of clients.
pub struct Client {
    /// The id in commands and URLs, such as `claude-code`.
    pub id: &'static str,
    /// The name for people.
    pub name: &'static str,
    pub format: Format,
    /// Sentences for the screen: steps that only the person can take, and facts that the person
    /// should know.
    pub notes: &'static [&'static str],
    /// The form of a link that opens the client and adds a server.
    pub link: Option<LinkForm>,
    /// Templates of paths that exist only if the client is installed. [`Machine::resolve`] explains
    /// the templates.
    pub(crate) install_paths: &'static [&'static str],
    /// Programs that are in the `PATH` only if the client is installed.
    pub(crate) programs: &'static [&'static str],
    /// Templates of the global file's path, each with an environment variable. The first template
    /// whose variable is set replaces `files`.
    pub(crate) overrides: &'static [&'static str],
    /// Templates of the global file's path. The first file with content counts, or else the first
    /// file that exists, or else the first path.
    pub(crate) files: &'static [(Systems, &'static str)],
    /// Templates for the files that the client reads if it runs with another of its own profiles.
    pub(crate) profiles: &'static [&'static str],
    /// The places of a project's file, below the project's folder.
    pub(crate) project: &'static [&'static str],
    /// Whether the client reads only one of the places, so that only one of them may have a file.
    pub(crate) reads_only_one_file: bool,
    /// The text of a file that Drawbridge creates, before the entry is added.
    pub(crate) new_file: &'static str,
    /// The keys from the root of the file to the servers.
    pub(crate) container: &'static [&'static str],
    /// Whether the servers are a list, and not a map by name.
    pub(crate) is_list: bool,
    /// Returns the entry that starts the bridge.
    pub(crate) bridge: fn(&Connection) -> Entry,
    /// Returns the entry with this URL and token. `None` if the client supports no URL.
    pub(crate) http: Option<fn(&str, Option<&str>) -> Entry>,
    /// The members that "ask once" adds to the entry.
    pub(crate) ask_once_members: &'static [(&'static str, MemberValue)],
    pub(crate) tool_allow_list: Option<ToolAllowList>,
    /// The text that the client puts before the name of each tool.
    pub(crate) tool_prefix: &'static str,
}

/// How many seconds a client waits for the result of a call with "ask once".
const WAIT_SECONDS: u64 = 600;

/// The setting "ask once": the client leaves the approval of calls to Drawbridge, and waits longer
/// for their results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskOnce {
    /// The exposed names of all tools, for clients that list each tool.
    pub tools: Vec<String>,
}

impl Client {
    /// Returns a row with defaults: the client reads `mcpServers` from a JSON file.
    pub(crate) const fn new(id: &'static str, name: &'static str) -> Self {
        Self {
            id,
            name,
            format: Format::Jsonc,
            notes: &[],
            link: None,
            install_paths: &[],
            programs: &[],
            overrides: &[],
            files: &[],
            profiles: &[],
            project: &[],
            reads_only_one_file: false,
            new_file: "",
            container: &["mcpServers"],
            is_list: false,
            bridge: shape::command,
            http: Some(shape::url),
            ask_once_members: &[],
            tool_allow_list: None,
            tool_prefix: "mcp__drawbridge__",
        }
    }

    /// Returns the part of the file that has the servers.
    pub fn container(&self) -> Container {
        Container {
            path: self.container.iter().map(|key| (*key).to_owned()).collect(),
            is_list: self.is_list,
        }
    }

    /// Returns how many characters of a tool's name the client leaves to Drawbridge, if the entry
    /// is named [`SERVER_NAME`]. A client whose prefix is unknown counts as having the longest
    /// known prefix.
    pub fn name_budget(&self) -> usize {
        MAX_TOOL_NAME - self.tool_prefix.len()
    }

    /// Returns whether the client can reach Drawbridge by a URL. All clients can start the bridge.
    pub fn supports_http(&self) -> bool {
        self.http.is_some()
    }

    /// Returns whether single projects can have a file of their own.
    pub fn supports_projects(&self) -> bool {
        !self.project.is_empty()
    }

    /// Returns whether Drawbridge can write "ask once" to the client's files, at least in part.
    pub fn supports_ask_once(&self) -> bool {
        !self.ask_once_members.is_empty() || self.tool_allow_list.is_some()
    }

    /// Returns the seconds that the client waits for an answer with "ask once", or `None` if its
    /// files have no setting for this time.
    pub fn ask_once_wait(&self) -> Option<u64> {
        self.ask_once_members
            .iter()
            .find_map(|(_, value)| match value {
                MemberValue::WaitMilliseconds => Some(WAIT_SECONDS),
                MemberValue::WaitSeconds { max } => Some(WAIT_SECONDS.min(*max)),
                MemberValue::True | MemberValue::Text(_) | MemberValue::ToolNames => None,
            })
    }

    /// Returns the changes that "ask once" writes, in words, or an empty list if Drawbridge cannot
    /// write "ask once".
    pub fn ask_once_changes(&self) -> Vec<String> {
        let members = self
            .ask_once_members
            .iter()
            .map(|(name, value)| match value {
                MemberValue::True => format!("`{name}`: true"),
                MemberValue::Text(text) => format!("`{name}`: `{text}`"),
                MemberValue::WaitMilliseconds => format!("`{name}`: {}", WAIT_SECONDS * 1_000),
                MemberValue::WaitSeconds { max } => format!("`{name}`: {}", WAIT_SECONDS.min(*max)),
                MemberValue::ToolNames => format!("`{name}`: the names of all tools"),
            });
        let list = self.tool_allow_list.iter().map(|list| {
            let path = list.path.join(".");
            format!("`{path}`: `{}` in {}", list.element, list.place)
        });
        members.chain(list).collect()
    }

    /// Returns the entry for a connection, or `None` if the client does not support the transport.
    pub fn entry(&self, connection: &Connection, ask_once: Option<&AskOnce>) -> Option<Entry> {
        let mut entry = match &connection.transport {
            Transport::Bridge => (self.bridge)(connection),
            Transport::Http { token } => (self.http?)(&connection.url, token.as_deref()),
        };
        for (member, value) in self.ask_once_members.iter().filter(|_| ask_once.is_some()) {
            let value = ask_once.and_then(|ask_once| value.to_json(ask_once));
            if let Some(value) = value {
                entry.0.retain(|(name, _)| name != member);
                entry = entry.with(member, value);
            }
        }
        Some(entry)
    }

    /// Returns a configuration file that has only Drawbridge's entry, for a person to paste.
    /// Returns `None` if the client does not support the transport.
    pub fn snippet(&self, connection: &Connection) -> Option<String> {
        let edit = Edit::SetEntry {
            container: self.container(),
            name: SERVER_NAME.to_owned(),
            entry: self.entry(connection, None)?,
        };
        let text = self.format.edit("", &[edit]);
        Some(text.expect("an entry can be added to an empty file"))
    }

    /// Returns the contents of a snippet as JSON, or null if the snippet cannot be read.
    pub fn parse_snippet(&self, text: &str) -> serde_json::Value {
        self.format.parse(text).unwrap_or_default()
    }

    /// Returns the name of the client's file, such as `mcp.json`.
    pub fn file_name(&self) -> &'static str {
        let template = self
            .files
            .first()
            .map_or("mcp.json", |(_, template)| template);
        template.rsplit('/').next().unwrap_or(template)
    }

    /// Returns the link that opens the client and adds Drawbridge, or `None` if the client supports
    /// no links. The added entry starts the bridge, because other programs could read a token in a
    /// link.
    pub fn install_link(&self, connection: &Connection) -> Option<String> {
        Some(self.link?.build(connection, &(self.bridge)(connection)))
    }
}

impl MemberValue {
    fn to_json(self, ask_once: &AskOnce) -> Option<serde_json::Value> {
        match self {
            Self::True => Some(true.into()),
            Self::Text(text) => Some(text.into()),
            Self::WaitMilliseconds => Some((WAIT_SECONDS * 1_000).into()),
            Self::WaitSeconds { max } => Some(WAIT_SECONDS.min(max).into()),
            Self::ToolNames => (!ask_once.tools.is_empty()).then(|| ask_once.tools.clone().into()),
        }
    }
}
