//! Turns an entry in the notation of any client into a spec.

use std::collections::BTreeMap;

use drawbridge_model::{
    protocol,
    spec::{OauthClient, ServerSpec, TransportKind},
};
use serde_json::{Map, Value};

use super::{
    EntryError, RawEntry, Surroundings, naming,
    variables::{self, InputDefinition, Variables},
};
use crate::{connection::URL_MEMBERS, secrets};

/// A server that was not compared with other servers yet. Each value that the person has to give is
/// `${input:ID}`.
pub(super) struct Draft {
    pub(super) spec: Result<ServerSpec, EntryError>,
    pub(super) inputs: BTreeMap<String, InputDefinition>,
    pub(super) notes: Vec<String>,
}

/// The members that tell a client to ask less often.
const APPROVAL_MEMBERS: [&str; 6] = [
    "autoApprove",
    "alwaysAllow",
    "autoapprove",
    "trust",
    "default_tools_approval_mode",
    "autoAllow",
];

/// The members that describe a server for people, or repeat the client's defaults.
const WITHOUT_EFFECT: [&str; 15] = [
    "name",
    "source",
    "description",
    "display_name",
    "displayName",
    "icon",
    "iconPath",
    "gallery",
    "version",
    "bundled",
    "$schema",
    "id",
    "registry",
    "isActive",
    "_meta",
];

/// Returns the draft for an entry. Gives the entry a name if it has none.
pub(super) fn read(
    raw: &mut RawEntry,
    surroundings: Surroundings<'_>,
    inputs: &[InputDefinition],
) -> Draft {
    let mut notes = Vec::new();
    let mut needed = BTreeMap::new();
    let spec = match raw.entry.as_object() {
        Some(members) => {
            let mut reader = Reader {
                members: members.clone(),
                notes: &mut notes,
            };
            reader.read(surroundings, inputs, &mut needed)
        }
        None => Err(EntryError::NotAnObject(type_name(&raw.entry))),
    };
    if raw.name.is_empty() {
        raw.name = spec
            .as_ref()
            .map_or_else(|_| String::new(), naming::infer_name);
    }
    let spec = spec.and_then(|spec| {
        let spec = ServerSpec {
            name: raw.name.clone(),
            ..spec
        };
        check_with_values(&spec)?;
        Ok(spec)
    });
    Draft {
        spec,
        inputs: needed,
        notes,
    }
}

/// Checks a spec as if the person had given all values.
fn check_with_values(spec: &ServerSpec) -> Result<(), EntryError> {
    let mut filled = spec.clone();
    for text in plain_values(&mut filled) {
        *text = variables::replace_inputs(text, |_| "1".to_owned());
    }
    Ok(protocol::check_spec(&filled)?)
}

/// Returns the values that cannot refer to the secret store.
pub(super) fn plain_values(spec: &mut ServerSpec) -> impl Iterator<Item = &mut String> {
    let texts = spec.command.iter_mut().chain(&mut spec.args);
    texts.chain(&mut spec.cwd).chain(&mut spec.url)
}

/// The members of an entry that were not read yet.
struct Reader<'a> {
    members: Map<String, Value>,
    notes: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn read(
        &mut self,
        surroundings: Surroundings<'_>,
        inputs: &[InputDefinition],
        needed: &mut BTreeMap<String, InputDefinition>,
    ) -> Result<ServerSpec, EntryError> {
        self.unnest_command();
        let transport = self.take_transport()?;
        let (command, mut args) = self.take_command()?;
        let mut env = self.take_texts_by_name(&["env", "environment", "envs"])?;
        if command.as_deref().is_some_and(naming::is_container_engine) {
            move_container_secrets(&mut args, &mut env);
        }
        let mut variables = Variables::new(surroundings, inputs, env.keys().cloned().collect());
        self.add_passed_variables(&mut env, &mut variables)?;
        let has_plain_url = self.members.contains_key("url");
        let url = self.take_text(&URL_MEMBERS)?;
        let headers = self.take_headers(&mut variables)?;
        let cwd = self.take_text(&["cwd", "workingDirectory", "working_directory"])?;
        let oauth = self.take_oauth(&mut variables);
        let enabled = self.take_enabled()?;
        let mut spec = ServerSpec {
            command: command.map(|text| variables.expand_plain(&text)),
            args: args
                .iter()
                .map(|text| variables.expand_plain(text))
                .collect(),
            env: env
                .iter()
                .map(|(name, text)| (name.clone(), variables.expand_value(name, text)))
                .collect(),
            cwd: cwd.map(|text| variables.expand_plain(&text)),
            url: url.map(|text| variables.expand_plain(&text)),
            headers,
            oauth,
            transport,
            enabled,
            ..ServerSpec::default()
        };
        if spec.transport.is_none() && has_plain_url && surroundings.url_means_sse() {
            spec.transport = Some(TransportKind::Sse);
        }
        self.drop_unused(&mut spec);
        self.take_tools(&mut spec)?;
        self.take_timeouts(&mut spec);
        set_folder(&mut spec, surroundings);
        self.note_ignored_members();
        *needed = variables.needed;
        Ok(spec)
    }

    /// Returns the first of these members that is present, and removes all of them.
    fn take(&mut self, names: &[&'static str]) -> Option<(&'static str, Value)> {
        let mut found = None;
        for name in names {
            let value = self.members.remove(*name).filter(|value| !value.is_null());
            found = found.or(value.map(|value| (*name, value)));
        }
        found
    }

    fn take_text(&mut self, names: &[&'static str]) -> Result<Option<String>, EntryError> {
        let Some((name, value)) = self.take(names) else {
            return Ok(None);
        };
        match value.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(wrong_type(name, "a text", &value)),
        }
    }

    fn take_texts(&mut self, names: &[&'static str]) -> Result<Option<Vec<String>>, EntryError> {
        match self.take(names) {
            None => Ok(None),
            Some((name, value)) => to_texts(name, &value).map(Some),
        }
    }

    fn take_texts_by_name(
        &mut self,
        names: &[&'static str],
    ) -> Result<BTreeMap<String, String>, EntryError> {
        match self.take(names) {
            None => Ok(BTreeMap::new()),
            Some((_, Value::Object(members))) => Ok(members
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, to_text(&value)))
                .collect()),
            Some((name, other)) => Err(wrong_type(name, "an object of texts by name", &other)),
        }
    }

    fn take_flag(&mut self, name: &'static str) -> Result<Option<bool>, EntryError> {
        match self.take(&[name]) {
            None => Ok(None),
            Some((_, Value::Bool(flag))) => Ok(Some(flag)),
            Some((_, other)) => Err(wrong_type(name, "true or false", &other)),
        }
    }

    /// Moves the members of `command: {path, args, env}` to the entry. Earlier versions of Zed used
    /// this notation.
    fn unnest_command(&mut self) {
        let nested = match self.members.get_mut("command") {
            Some(Value::Object(nested)) => std::mem::take(nested),
            _ => return,
        };
        self.members.remove("command");
        for (name, value) in nested {
            let name = if name == "path" {
                "command".to_owned()
            } else {
                name
            };
            self.members.entry(name).or_insert(value);
        }
    }

    fn take_transport(&mut self) -> Result<Option<TransportKind>, EntryError> {
        let Some(kind) = self.take_text(&["type", "transport", "transportType"])? else {
            return Ok(None);
        };
        match kind.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
            "http" | "streamablehttp" | "remote" => Ok(Some(TransportKind::Http)),
            "sse" => Ok(Some(TransportKind::Sse)),
            "stdio" | "local" | "command" => Ok(Some(TransportKind::Stdio)),
            _ => Err(EntryError::UnknownTransport(kind)),
        }
    }

    fn take_command(&mut self) -> Result<(Option<String>, Vec<String>), EntryError> {
        let (command, mut args) = match self.take(&["command", "cmd"]) {
            None => (None, Vec::new()),
            Some((_, Value::String(command))) => (Some(command), Vec::new()),
            Some((name, words @ Value::Array(_))) => {
                let mut words = to_texts(name, &words)?.into_iter();
                (words.next(), words.collect())
            }
            Some((name, other)) => {
                return Err(wrong_type(name, "a text or a list of texts", &other));
            }
        };
        args.extend(self.take_texts(&["args", "arguments"])?.unwrap_or_default());
        match command {
            Some(line) if args.is_empty() => {
                // Some clients split the command at its spaces. If the first word has a slash, the
                // spaces may be part of a path.
                let words = shell_words::split(&line).unwrap_or_default();
                let is_line = words.len() > 1 && !words[0].contains(['/', '\\']);
                let mut words = if is_line { words } else { vec![line] }.into_iter();
                Ok((words.next(), words.collect()))
            }
            command => Ok((command, args)),
        }
    }

    /// Adds the variables that an entry of Codex or Goose only names.
    fn add_passed_variables(
        &mut self,
        env: &mut BTreeMap<String, String>,
        variables: &mut Variables<'_>,
    ) -> Result<(), EntryError> {
        for name in self.take_texts(&["env_vars"])?.unwrap_or_default() {
            if !env.contains_key(&name) {
                env.insert(name.clone(), format!("${{{name}}}"));
            }
        }
        // Goose keeps the values of these variables in its own keyring.
        for name in self.take_texts(&["env_keys"])?.unwrap_or_default() {
            if !env.contains_key(&name) {
                let description = format!("The value of {name}, which Goose keeps in its keyring.");
                env.insert(name.clone(), variables.add_input(&name, &description, true));
            }
        }
        Ok(())
    }

    fn take_headers(
        &mut self,
        variables: &mut Variables<'_>,
    ) -> Result<BTreeMap<String, String>, EntryError> {
        let mut headers = self.take_texts_by_name(&["headers", "http_headers"])?;
        // Continue has the headers in `requestOptions`.
        if let Some((_, Value::Object(mut options))) = self.take(&["requestOptions"]) {
            if let Some(Value::Object(members)) = options.remove("headers") {
                headers.extend(
                    members
                        .into_iter()
                        .map(|(name, value)| (name, to_text(&value))),
                );
            }
            if !options.is_empty() {
                self.notes
                    .push("Of 'requestOptions', only 'headers' is taken over.".to_owned());
            }
        }
        for (name, variable) in self.take_texts_by_name(&["env_http_headers"])? {
            headers.insert(name, format!("${{{variable}}}"));
        }
        if let Some(variable) = self.take_text(&["bearer_token_env_var"])? {
            headers.insert(
                "Authorization".to_owned(),
                format!("Bearer ${{{variable}}}"),
            );
        }
        if let Some(token) = self.take_text(&["bearer_token", "apiKey"])? {
            headers.insert("Authorization".to_owned(), format!("Bearer {token}"));
        }
        Ok(headers
            .into_iter()
            .map(|(name, text)| {
                let value = variables.expand_value(&name, &text);
                (name, value)
            })
            .collect())
    }

    /// Returns the OAuth client, or `None` if no member describes one: a client may have an option
    /// of its own with the same name.
    fn take_oauth(&mut self, variables: &mut Variables<'_>) -> Option<OauthClient> {
        let (name, value) = self.take(&["oauth", "auth"])?;
        let mut client: OauthClient = serde_json::from_value(value.clone()).ok()?;
        if value.get("scopes").or_else(|| value.get("scope")).is_some() {
            self.notes
                .push(format!("The scopes in '{name}' are not taken over: Drawbridge asks for the scopes that the server names."));
        }
        client.client_secret = client
            .client_secret
            .map(|secret| variables.expand_value("client_secret", &secret));
        Some(client)
    }

    fn take_enabled(&mut self) -> Result<bool, EntryError> {
        let disabled = self.take_flag("disabled")?.unwrap_or(false);
        Ok(self.take_flag("enabled")?.unwrap_or(true) && !disabled)
    }

    /// Drops the members that only the other kind of server (local or remote) uses. Clients ignore
    /// these members, but a spec may not have them.
    fn drop_unused(&mut self, spec: &mut ServerSpec) {
        if spec.url.is_some() && spec.command.is_none() {
            if !spec.env.is_empty() {
                self.notes
                    .push("'env' is not taken over, because the server is remote.".to_owned());
            }
            spec.env.clear();
            spec.args.clear();
            spec.cwd = None;
        } else if spec.command.is_some() && spec.url.is_none() {
            if !spec.headers.is_empty() {
                self.notes
                    .push("'headers' is not taken over, because the server is local.".to_owned());
            }
            spec.headers.clear();
            spec.oauth = None;
        }
    }

    fn take_tools(&mut self, spec: &mut ServerSpec) -> Result<(), EntryError> {
        let allowed = [
            "includeTools",
            "enabled_tools",
            "available_tools",
            "allowedTools",
        ];
        // Copilot CLI writes "*" for all tools. Goose writes an empty list.
        let tools = self.take_texts(&allowed)?.unwrap_or_default();
        let tools = match self.members.get("tools") {
            Some(Value::Array(_)) if tools.is_empty() => {
                self.take_texts(&["tools"])?.unwrap_or_default()
            }
            _ => tools,
        };
        if !tools.is_empty() && !tools.iter().any(|tool| tool == "*") {
            spec.allowed_tools = Some(tools);
        }
        let excluded = ["excludeTools", "disabled_tools", "disabledTools"];
        let excluded = self.take_texts(&excluded)?.unwrap_or_default();
        if !excluded.is_empty() {
            self.notes.push(format!(
                "The client hides these tools: {}. Add a rule that denies them, or list the others in 'allowed_tools'.",
                excluded.join(", ")
            ));
        }
        Ok(())
    }

    /// Takes over the timeouts that are longer than Drawbridge's defaults.
    fn take_timeouts(&mut self, spec: &mut ServerSpec) {
        let from_seconds = |value: Value| value.as_f64().map(|seconds| seconds * 1_000.0);
        // The unit is seconds in Cline, Crush, Goose and Roo Code, and milliseconds in other
        // clients.
        let from_unknown_unit = |value: Value| {
            let number = value.as_f64()?;
            Some(if number < 1_000.0 {
                number * 1_000.0
            } else {
                number
            })
        };
        let start = self
            .take(&["startup_timeout_sec"])
            .and_then(|(_, value)| from_seconds(value));
        let start_ms = self
            .take(&["startup_timeout_ms"])
            .and_then(|(_, value)| value.as_f64());
        let call = self
            .take(&["tool_timeout_sec"])
            .and_then(|(_, value)| from_seconds(value));
        let timeout = self
            .take(&["timeout", "connectionTimeout"])
            .and_then(|(_, value)| from_unknown_unit(value));
        let timeouts = &mut spec.timeouts;
        raise(&mut timeouts.initialize_ms, start.or(start_ms));
        raise(&mut timeouts.call_ms, call.or(timeout));
        timeouts.total_ms = timeouts.total_ms.max(timeouts.call_ms);
    }

    fn note_ignored_members(&mut self) {
        let mut approval_members: Vec<String> = APPROVAL_MEMBERS
            .iter()
            .filter(|name| {
                self.members
                    .remove(**name)
                    .is_some_and(|value| is_set(&value))
            })
            .map(|name| format!("'{name}'"))
            .collect();
        if !approval_members.is_empty() {
            approval_members.sort();
            self.notes.push(format!(
                "Not taken over: {}. Drawbridge's policy decides which calls need no approval.",
                approval_members.join(", ")
            ));
        }
        if self.members.remove("envFile").is_some() {
            self.notes.push(
                "The file in 'envFile' was not read. Add its variables to the server.".to_owned(),
            );
        }
        let rest: Vec<String> = self
            .members
            .iter()
            .filter(|(name, value)| !WITHOUT_EFFECT.contains(&name.as_str()) && is_set(value))
            .map(|(name, _)| format!("'{name}'"))
            .collect();
        if !rest.is_empty() {
            self.notes
                .push(format!("Not taken over: {}.", rest.join(", ")));
        }
    }
}

/// Moves the secret of `-e NAME=SECRET` in `docker run` to the variables, because every program can
/// read the arguments. The `-e NAME` that remains still passes the variable to the container. If an
/// argument had no value from the beginning, adds the variable with the value that it has in the
/// client's environment.
fn move_container_secrets(args: &mut [String], env: &mut BTreeMap<String, String>) {
    let mut follows_option = false;
    for arg in args {
        let (option, variable) = match arg.strip_prefix("--env=") {
            Some(variable) => ("--env=", variable),
            None if follows_option => ("", arg.as_str()),
            None => {
                follows_option = arg == "-e" || arg == "--env";
                continue;
            }
        };
        follows_option = false;
        let (name, value) = match variable.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (variable.to_owned(), None),
        };
        match value {
            // If the name itself contains a variable, the value has to stay in the arguments.
            Some(value) if !name.contains("${") => {
                let has_input = secrets::is_placeholder(&name, &value) || value.contains("${");
                if has_input || secrets::is_likely_secret(&name, &value) {
                    *arg = format!("{option}{name}");
                    env.entry(name).or_insert(value);
                }
            }
            None if is_variable_name(&name) => {
                env.entry(name.clone()).or_insert(format!("${{{name}}}"));
            }
            Some(_) | None => {}
        }
    }
}

pub(super) fn is_variable_name(name: &str) -> bool {
    let is_name_char = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty()
        && name.chars().all(is_name_char)
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Makes the folder of a project's server absolute. If the spec has no folder but has relative
/// paths, sets the project's folder, because clients start the servers of a project there.
fn set_folder(spec: &mut ServerSpec, surroundings: Surroundings<'_>) {
    let Some(project) = surroundings.project.filter(|_| spec.command.is_some()) else {
        return;
    };
    let is_relative =
        |text: &String| text == "." || text.starts_with("./") || text.starts_with("../");
    let folder = match &spec.cwd {
        Some(folder) => project.join(folder),
        None if spec.command.iter().chain(&spec.args).any(is_relative) => project.to_owned(),
        None => return,
    };
    spec.cwd = Some(folder.to_string_lossy().into_owned());
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float saturates when it is converted"
)]
fn raise(limit: &mut u32, found: Option<f64>) {
    *limit = found.map_or(*limit, |found| (*limit).max(found as u32));
}

/// Returns whether a member has an effect, because its value is not false, null or empty.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

fn to_texts(name: &'static str, value: &Value) -> Result<Vec<String>, EntryError> {
    let is_text = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    match value.as_array() {
        Some(values) if values.iter().all(is_text) => Ok(values.iter().map(to_text).collect()),
        _ => Err(wrong_type(name, "a list of texts", value)),
    }
}

fn to_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn wrong_type(member: &str, expected: &'static str, found: &Value) -> EntryError {
    EntryError::WrongType {
        member: member.to_owned(),
        expected,
        found: type_name(found),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
