//! Reads command lines that start a server, and command lines with which a client adds a server.

use serde_json::{Map, Value, json};

use super::{AddError, Document, ImportError, RawEntry, containers, entry, naming};
use crate::clients::CLIENTS;

/// The editors that take a server as JSON after `--add-mcp`.
const EDITORS: [&str; 6] = [
    "code",
    "code-insiders",
    "codium",
    "cursor",
    "windsurf",
    "kiro",
];

/// The subcommands of `mcp` with which a client runs as a server itself.
const SERVER_SUBCOMMANDS: [&str; 4] = ["serve", "server", "start", "run"];

const SHELL_OPERATORS: [&str; 9] = ["|", "||", "&&", "&", ";", ">", ">>", "<", "2>&1"];

pub(super) fn read(text: &str) -> Result<Document, ImportError> {
    let mut entries = Vec::new();
    for (line, command) in split_commands(text) {
        let escaped = escape_windows_paths(&command);
        let mut words = shell_words::split(&escaped)
            .map_err(|source| ImportError::CommandLine { line, source })?;
        // The prompt of a shell may have been copied too.
        if words.len() > 1 && ["$", "%", ">"].contains(&words[0].as_str()) {
            words.remove(0);
        }
        if words.is_empty() {
            continue;
        }
        let start = entries.len();
        entries.extend(read_words(line, words)?);
        for entry in &mut entries[start..] {
            entry.line = Some(line);
        }
    }
    if entries.is_empty() {
        return Err(ImportError::Empty);
    }
    Ok(Document {
        entries,
        ..Document::default()
    })
}

/// Returns the commands of a text with the numbers of their first lines, without comments. A
/// command continues on the next line within quotation marks, after `\`, and, as in shells of
/// Windows, after `` ` `` and `^`.
fn split_commands(text: &str) -> Vec<(usize, String)> {
    let mut commands = Vec::new();
    let mut current = String::new();
    let (mut line, mut start) = (1, 1);
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let continues = matches!(c, '\\' | '`' | '^') && chars.peek() == Some(&'\n');
        if c == '\n' {
            line += 1;
        }
        match (quote, c) {
            (None, '\n') => {
                commands.push((start, std::mem::take(&mut current)));
                start = line;
                continue;
            }
            (None, _) if continues => {
                chars.next();
                line += 1;
                current.push(' ');
                continue;
            }
            (None, '#') if current.trim().is_empty() => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        current.push(c);
        if c == '\\'
            && quote != Some('\'')
            && let Some(next) = chars.next()
        {
            line += usize::from(next == '\n');
            current.push(next);
        }
    }
    commands.push((start, current));
    commands.retain(|(_, command)| !command.trim().is_empty());
    commands
}

/// Doubles all backslashes of a command with a Windows path (`C:\…`), because `shell_words` would
/// remove them. Changes nothing if the command contains `\"`.
fn escape_windows_paths(command: &str) -> String {
    let has_path = command.contains(":\\") && !command.contains("\\\"");
    if has_path {
        command.replace('\\', "\\\\")
    } else {
        command.to_owned()
    }
}

fn read_words(line: usize, mut words: Vec<String>) -> Result<Vec<RawEntry>, ImportError> {
    let add_error = |source| ImportError::Add { line, source };
    let env = take_variables(&mut words);
    let Some(first) = words.first() else {
        return Err(ImportError::NotACommand {
            line,
            word: env.keys().next().cloned().unwrap_or_default(),
        });
    };
    let program = naming::program_name(first);
    if EDITORS.contains(&program.as_str())
        && let Some(servers) = read_editor(&words[1..]).map_err(add_error)?
    {
        return Ok(servers);
    }
    let is_client = CLIENTS
        .iter()
        .any(|client| client.programs.contains(&program.as_str()));
    let subcommand = words.get(2).map(String::as_str);
    let is_mcp = is_client && words.get(1).is_some_and(|word| word == "mcp");
    if is_mcp && !subcommand.is_some_and(|word| SERVER_SUBCOMMANDS.contains(&word)) {
        let server = match subcommand {
            Some("add") => read_add(&words[3..]),
            Some("add-json") => read_add_json(&words[3..]),
            _ => Err(AddError::OtherCommand(words.join(" "), program)),
        };
        return Ok(vec![server.map_err(add_error)?]);
    }
    if let Some(operator) = words
        .iter()
        .find(|word| SHELL_OPERATORS.contains(&word.as_str()))
    {
        return Err(ImportError::NeedsShell {
            line,
            operator: operator.clone(),
        });
    }
    let is_program = |word: &str| {
        !word.contains(['{', '}', '[', ']', '<', '>', '"', '='])
            && !word.ends_with([',', ':', '.', ';'])
            && !word.starts_with('-')
    };
    if words.len() == 1 && is_url(first) {
        return Ok(vec![raw_entry(String::new(), json!({ "url": first }))]);
    }
    let is_assignment = words.get(1).is_some_and(|word| word == "=");
    if !is_program(first) || first.contains("://") || is_assignment {
        return Err(ImportError::NotACommand {
            line,
            word: first.clone(),
        });
    }
    let entry = json!({ "command": first, "args": words[1..], "env": env });
    Ok(vec![raw_entry(String::new(), entry)])
}

/// Removes and returns the `NAME=VALUE` words before a command. Also removes an `env` before these
/// words.
fn take_variables(words: &mut Vec<String>) -> Map<String, Value> {
    if words.len() > 2 && words[0] == "env" && is_variable(&words[1]) {
        words.remove(0);
    }
    let count = words.iter().take_while(|word| is_variable(word)).count();
    words
        .drain(..count)
        .filter_map(|word| {
            let (name, value) = word.split_once('=')?;
            Some((name.to_owned(), value.into()))
        })
        .collect()
}

fn is_url(word: &str) -> bool {
    word.starts_with("http://") || word.starts_with("https://")
}

fn raw_entry(name: String, entry: Value) -> RawEntry {
    RawEntry {
        name,
        entry,
        keys: Vec::new(),
        line: None,
        project: None,
    }
}

/// Reads `code --add-mcp '{"name": …}'`. Returns `None` if the option is missing.
fn read_editor(words: &[String]) -> Result<Option<Vec<RawEntry>>, AddError> {
    let mut servers = Vec::new();
    let mut has_option = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let json = match word.strip_prefix("--add-mcp") {
            Some("") => words
                .next()
                .ok_or_else(|| AddError::NoValue(word.clone()))?,
            Some(rest) => rest.strip_prefix('=').unwrap_or(rest),
            None => continue,
        };
        has_option = true;
        servers.extend(containers::read_json(json).map_err(AddError::Json)?);
    }
    if has_option && servers.is_empty() {
        return Err(AddError::NoServer);
    }
    Ok(has_option.then_some(servers))
}

/// Reads the words after `mcp add-json`: a name and the server as JSON.
fn read_add_json(words: &[String]) -> Result<RawEntry, AddError> {
    let mut add = AddArguments::default();
    add.read(words)?;
    let mut words = add.positional.into_iter();
    let name = words.next().ok_or(AddError::NoName)?;
    let json = words.next().ok_or(AddError::NoCommand)?;
    let mut servers = containers::read_json(&json)
        .map_err(AddError::Json)?
        .into_iter();
    let server = servers.next().ok_or(AddError::NoServer)?;
    Ok(raw_entry(name, server.entry))
}

/// Reads the words after `mcp add`: options, a name, and a command or URL.
fn read_add(words: &[String]) -> Result<RawEntry, AddError> {
    let mut add = AddArguments {
        ends_at_command: true,
        ..AddArguments::default()
    };
    add.read(words)?;
    let mut words = add.positional.into_iter();
    let name = match add.name {
        Some(name) => name,
        None => words.next().ok_or(AddError::NoName)?,
    };
    let mut entry = add.members;
    if let Some(first) = words.next() {
        let is_remote = is_url(&first);
        entry.insert(
            if is_remote { "url" } else { "command" }.to_owned(),
            first.into(),
        );
        if is_remote {
            // A server with a URL never uses stdio, whatever `--transport` says.
            entry.retain(|name, value| name != "type" || *value != "stdio");
        } else {
            entry.insert("args".to_owned(), words.collect());
        }
    }
    if !entry.contains_key("url") && !entry.contains_key("command") {
        return Err(AddError::NoCommand);
    }
    entry.insert("env".to_owned(), add.env.into());
    entry.insert("headers".to_owned(), add.headers.into());
    Ok(raw_entry(name, entry.into()))
}

/// The options with one value, and the member of an entry that each option sets.
const MEMBERS: [(&str, &str); 12] = [
    ("-t", "type"),
    ("--transport", "type"),
    ("--type", "type"),
    ("--url", "url"),
    ("--command", "command"),
    ("--cwd", "cwd"),
    ("--timeout", "timeout"),
    ("--bearer-token-env-var", "bearer_token_env_var"),
    ("--description", "description"),
    ("--include-tools", "includeTools"),
    ("--exclude-tools", "excludeTools"),
    ("--tools", "tools"),
];

/// The words after `mcp add` or `mcp add-json`, by their meaning.
#[derive(Default)]
struct AddArguments {
    /// Whether all words after the name and the command are arguments of the command.
    ends_at_command: bool,
    name: Option<String>,
    /// The words that are neither options nor their values.
    positional: Vec<String>,
    env: Map<String, Value>,
    headers: Map<String, Value>,
    /// The other members of the entry.
    members: Map<String, Value>,
}

impl AddArguments {
    fn read(&mut self, words: &[String]) -> Result<(), AddError> {
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            if word == "--" {
                self.positional.extend(words.cloned());
                return Ok(());
            }
            if !word.starts_with('-') {
                self.positional.push(word.clone());
                let position = self.positional.len() + usize::from(self.name.is_some());
                if self.ends_at_command && position == 2 && !is_url(word) && !word.contains(' ') {
                    let rest = words.filter(|word| *word != "--");
                    self.positional.extend(rest.cloned());
                    return Ok(());
                }
                continue;
            }
            let (option, attached) = match word.split_once('=') {
                Some((option, value)) if option.starts_with("--") => (option, Some(value)),
                _ => (word.as_str(), None),
            };
            // The options without a value. With `--client-secret`, a client asks for the secret.
            if [
                "--trust",
                "-g",
                "--global",
                "--client-secret",
                "--force",
                "-f",
                "-y",
                "--yes",
            ]
            .contains(&option)
            {
                if option == "--trust" {
                    self.members.insert("trust".to_owned(), true.into());
                }
                continue;
            }
            let mut value = || {
                attached
                    .map(str::to_owned)
                    .or_else(|| words.next().cloned())
                    .ok_or_else(|| AddError::NoValue(option.to_owned()))
            };
            match option {
                "-e" | "--env" => {
                    self.add_variable(&value()?)?;
                    // Several variables may follow one option.
                    while let Some(word) = words.next_if(|word| is_variable(word)) {
                        self.add_variable(word)?;
                    }
                }
                "-H" | "--header" => {
                    self.add_header(&value()?)?;
                    while let Some(word) = words.next_if(|word| word.contains(": ")) {
                        self.add_header(word)?;
                    }
                }
                "--name" | "-n" => self.name = Some(value()?),
                "--client-id" => self.add_oauth("client_id", value()?.into()),
                "--callback-port" => {
                    let port = value()?;
                    self.add_oauth(
                        "callback_port",
                        port.parse().map_or(port.into(), |port: u16| port.into()),
                    );
                }
                "-s" | "--scope" => drop(value()?),
                _ => {
                    let Some((_, member)) = MEMBERS.iter().find(|(name, _)| *name == option) else {
                        return Err(AddError::UnknownOption(option.to_owned()));
                    };
                    let value = value()?;
                    self.members
                        .insert((*member).to_owned(), to_member(member, value));
                }
            }
        }
        Ok(())
    }

    fn add_variable(&mut self, word: &str) -> Result<(), AddError> {
        let (name, value) = word
            .split_once('=')
            .filter(|_| is_variable(word))
            .ok_or_else(|| AddError::BadVariable(hide_value(word)))?;
        self.env.insert(name.to_owned(), value.into());
        Ok(())
    }

    fn add_header(&mut self, word: &str) -> Result<(), AddError> {
        let (name, value) = word
            .split_once(':')
            .filter(|(name, _)| !name.is_empty() && !name.contains([' ', '/']))
            .ok_or_else(|| AddError::BadHeader(hide_value(word)))?;
        self.headers.insert(name.to_owned(), value.trim().into());
        Ok(())
    }

    fn add_oauth(&mut self, member: &str, value: Value) {
        let oauth = self
            .members
            .entry("oauth")
            .or_insert_with(|| Map::new().into());
        oauth[member] = value;
    }
}

/// Returns whether a word is `NAME=VALUE`.
fn is_variable(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| entry::is_variable_name(name))
}

/// Returns at most the first eight characters of a word, because the rest may be a secret.
fn hide_value(word: &str) -> String {
    let start: String = word.chars().take(8).collect();
    if start.len() == word.len() {
        start
    } else {
        start + "…"
    }
}

fn to_member(member: &str, value: String) -> Value {
    match member {
        "timeout" => value
            .parse::<f64>()
            .map_or_else(|_| value.into(), Value::from),
        "includeTools" | "excludeTools" | "tools" => value.split(',').map(str::trim).collect(),
        _ => value.into(),
    }
}
