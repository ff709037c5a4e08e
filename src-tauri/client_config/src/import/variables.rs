//! The variables in the values of an entry. Each client has its own notation: `${VAR}`,
//! `${VAR:-x}`, `${env:VAR}`, `{env:VAR}`, `{file:path}`, `$VAR`, `${input:id}`,
//! `${workspaceFolder}`. A variable without a value becomes `${input:ID}`, which stands for a value
//! that the person has to give.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::Value;

use super::Surroundings;
use crate::{machine::Os, secrets};

const OPEN_INPUT: &str = "${input:";

/// The longest variable, in bytes with its braces.
const MAX_VARIABLE: usize = 1_024;

/// Returns the text that stands for an input.
pub(super) fn marker(id: &str) -> String {
    format!("{OPEN_INPUT}{id}}}")
}

/// Returns the ids of the inputs that a text contains.
pub(super) fn input_ids(text: &str) -> impl Iterator<Item = &str> {
    text.split(OPEN_INPUT)
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('}')?.0))
}

/// Replaces each input in a text by the result of `replace` for its id.
pub(super) fn replace_inputs(text: &str, replace: impl Fn(&str) -> String) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN_INPUT) {
        let Some((id, remaining)) = after.split_once('}') else {
            break;
        };
        replaced.push_str(before);
        // A reference that is not closed before the next reference begins is plain text.
        let (plain, id) = match id.rfind(OPEN_INPUT) {
            Some(start) => {
                replaced.push_str(OPEN_INPUT);
                (&id[..start], &id[start + OPEN_INPUT.len()..])
            }
            None => ("", id),
        };
        replaced.push_str(plain);
        replaced.push_str(&replace(id));
        rest = remaining;
    }
    replaced + rest
}

/// An input that a configuration of VS Code defines, or that stands for a variable or placeholder
/// without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InputDefinition {
    pub(super) id: String,
    pub(super) description: String,
    /// The values to choose from; empty if any value is possible.
    pub(super) choices: Vec<String>,
    pub(super) is_secret: bool,
    /// The value that is used without asking the person, unless the input is a secret; empty if
    /// there is none.
    default: String,
}

impl InputDefinition {
    pub(super) fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let options = value.get("options").and_then(Value::as_array);
        let choice = |option: &Value| {
            let value = option.get("value").unwrap_or(option);
            value.as_str().map(str::to_owned)
        };
        Some(Self {
            id: value.get("id")?.as_str()?.replace('}', ""),
            description: text("description").to_owned(),
            choices: options.into_iter().flatten().filter_map(choice).collect(),
            is_secret: value
                .get("password")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            default: text("default").to_owned(),
        })
    }
}

/// The variables of one entry.
pub(super) struct Variables<'a> {
    surroundings: Surroundings<'a>,
    /// The inputs that the text defines.
    defined: &'a [InputDefinition],
    /// The names in the entry's own `env`.
    own: BTreeSet<String>,
    /// The inputs that the entry needs, by id.
    pub(super) needed: BTreeMap<String, InputDefinition>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(
        surroundings: Surroundings<'a>,
        defined: &'a [InputDefinition],
        own: BTreeSet<String>,
    ) -> Self {
        Self {
            surroundings,
            defined,
            own,
            needed: BTreeMap::new(),
        }
    }

    /// Expands an argument, the command, the folder or the URL. Keeps `${NAME}` if the entry sets
    /// this variable, because programs such as `mcp-remote` expand it themselves.
    pub(super) fn expand_plain(&mut self, text: &str) -> String {
        self.expand_braces(text, |own, name| own.contains(name))
    }

    /// Expands the value of an environment variable or header, or an OAuth client secret. A
    /// placeholder in a pasted text, such as `<YOUR_TOKEN>`, becomes an input, too.
    pub(super) fn expand_value(&mut self, name: &str, text: &str) -> String {
        let (scheme, credentials) = secrets::split_scheme(text);
        if self.surroundings.file.is_none() && secrets::is_placeholder(name, credentials) {
            let description = format!("The text has '{credentials}' here.");
            return scheme.to_owned() + &self.add_input(name, &description, true);
        }
        let is_name = |name: &str| {
            let mut chars = name.chars();
            chars
                .next()
                .is_some_and(|c| c.is_ascii_uppercase() || c == '_')
                && chars.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        };
        match credentials.strip_prefix('$') {
            Some(variable) if is_name(variable) => {
                scheme.to_owned() + &self.resolve_variable(variable, None)
            }
            _ => self.expand_braces(text, |_, _| false),
        }
    }

    /// Expands each `${…}` and `{…}`. `is_kept` gets the names in the entry's own `env` and a name,
    /// and returns whether `${NAME}` with this name stays.
    fn expand_braces(
        &mut self,
        text: &str,
        is_kept: impl Fn(&BTreeSet<String>, &str) -> bool,
    ) -> String {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            let (before, after) = rest.split_at(start);
            let has_dollar = before.ends_with('$');
            let window = &after[1..after.floor_char_boundary(MAX_VARIABLE)];
            let inner = window.split_once('}').map_or("", |(inner, _)| inner);
            let value = if inner.is_empty() || (has_dollar && is_kept(&self.own, inner)) {
                None
            } else if has_dollar {
                self.resolve(inner)
            } else {
                self.resolve_opencode(inner)
            };
            match value {
                Some(value) => {
                    expanded.push_str(before.strip_suffix('$').unwrap_or(before));
                    expanded.push_str(&value);
                    rest = &after[inner.len() + 2..];
                }
                None => {
                    expanded.push_str(before);
                    expanded.push('{');
                    rest = &after[1..];
                }
            }
        }
        expanded + rest
    }

    /// Returns the value of `${…}`, or `None` if the text has to stay.
    fn resolve(&mut self, inner: &str) -> Option<String> {
        if inner.starts_with("keyring:") {
            return None;
        }
        if let Some(id) = inner.strip_prefix("input:") {
            return Some(self.resolve_input(id));
        }
        let machine = self.surroundings.importer.machine;
        let project = self.surroundings.project;
        Some(match inner {
            "userHome" | "HOME" => machine.home.to_string_lossy().into_owned(),
            "pathSeparator" | "/" => if machine.os == Os::Windows { "\\" } else { "/" }.to_owned(),
            _ => {
                let name = inner.strip_prefix("env:").unwrap_or(inner);
                let (name, default) = match name.split_once(":-") {
                    Some((name, default)) => (name, Some(default)),
                    None => (name, None),
                };
                let folder = project.filter(|_| is_project_folder(name));
                match (folder, name) {
                    (Some(folder), _) => folder.to_string_lossy().into_owned(),
                    (None, "workspaceFolderBasename") if project.is_some() => project
                        .and_then(Path::file_name)
                        .unwrap_or_default()
                        .to_string_lossy()
                        .into_owned(),
                    (None, _) => self.resolve_variable(name, default),
                }
            }
        })
    }

    /// Returns the value of `{env:VAR}` or `{file:path}` in the notation of opencode, or `None` if
    /// the text has to stay.
    fn resolve_opencode(&mut self, inner: &str) -> Option<String> {
        if let Some(name) = inner.strip_prefix("env:") {
            return Some(self.resolve_variable(name, None));
        }
        let file = inner.strip_prefix("file:")?;
        let description = format!("The contents of the file {file}.");
        Some(self.add_input(inner, &description, true))
    }

    fn resolve_variable(&mut self, name: &str, default: Option<&str>) -> String {
        // A variable in a pasted text never gets its value from the environment: a stranger may
        // have written the text, and the server that the text describes could send the value to the
        // stranger.
        let value = self
            .surroundings
            .file
            .and_then(|_| self.surroundings.importer.machine.variable(name));
        if let Some(value) = value.or(default) {
            return value.to_owned();
        }
        let description = if is_project_folder(name) {
            "The folder of your project.".to_owned()
        } else if self.surroundings.file.is_some() {
            format!("The value of the variable {name}, which is not set.")
        } else {
            format!("The value of the variable {name}.")
        };
        self.add_input(name, &description, secrets::is_secret_name(name))
    }

    fn resolve_input(&mut self, id: &str) -> String {
        let Some(definition) = self.defined.iter().find(|input| input.id == id) else {
            return self.add_input(id, "", true);
        };
        if !definition.is_secret && !definition.default.is_empty() {
            return definition.default.clone();
        }
        self.needed.insert(id.to_owned(), definition.clone());
        marker(id)
    }

    /// Adds an input that the text does not define, and returns its marker.
    pub(super) fn add_input(&mut self, id: &str, description: &str, is_secret: bool) -> String {
        let id = id.replace(['{', '}'], "");
        let input_marker = marker(&id);
        self.needed
            .entry(id.clone())
            .or_insert_with(|| InputDefinition {
                id,
                description: description.to_owned(),
                choices: Vec::new(),
                is_secret,
                default: String::new(),
            });
        input_marker
    }
}

/// Returns whether a variable stands for the folder of the project.
fn is_project_folder(name: &str) -> bool {
    let name = name.split(':').next().unwrap_or(name);
    ["workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_that_is_not_closed_before_the_next_reference_is_plain_text() {
        let text = "${input:a${input:b}} and ${input:c}";
        assert_eq!(input_ids(text).collect::<Vec<_>>(), ["b", "c"]);
        let replaced = replace_inputs(text, |id| id.to_uppercase());
        assert_eq!(replaced, "${input:aB} and C");
    }
}
