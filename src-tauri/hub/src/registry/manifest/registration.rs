//! The JSON with which an MCP server is registered as a source at a tools provider, such as
//! another MCP gateway. The source is a plugin on this computer, with the folder of its manifest or
//! a command, or a remote server. The registration also has the values of the manifest's inputs.
//!
//! ```json
//! {"name": "GitHub", "url": "mcp://github", "source_type": "mcp",
//!   "mcp_plugin_dir": "/opt/plugins/github", "mcp_runtime_hint": "uvx",
//!   "mcp_env_vars": {"GITHUB_TOKEN": "…"}}
//! ```

use std::{collections::BTreeMap, path::PathBuf};

use drawbridge_client_config::is_likely_secret;
use drawbridge_model::{
    manifest::{InputFormat, InputKind, ManifestInput},
    runtime::Runtime,
    spec::{Lifecycle, TransportKind},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Manifest, ManifestError,
    choice::Choice,
    from_json, plugin_json, read_file, read_members, server_json,
    template::{Piece, Template},
};

/// Members that no other format has. Every registration has at least one of them.
const DISTINCTIVE_MEMBERS: [&str; 4] = [
    "source_type",
    "mcp_plugin_dir",
    "mcp_server_url",
    "mcp_command",
];

#[derive(Deserialize)]
struct Registration {
    name: Option<String>,
    /// The source's address. For a plugin it is only a name, such as `mcp://github`.
    url: Option<String>,
    source_type: Option<String>,
    mcp_plugin_dir: Option<PathBuf>,
    mcp_transport_type: Option<String>,
    mcp_runtime_hint: Option<String>,
    mcp_lifecycle_mode: Option<Lifecycle>,
    /// The environment of a plugin, or the headers for a remote server.
    mcp_env_vars: Option<BTreeMap<String, String>>,
    mcp_command: Option<Value>,
    mcp_args: Option<Vec<String>>,
    mcp_server_url: Option<String>,
}

pub(super) fn is_registration(value: &Map<String, Value>) -> bool {
    DISTINCTIVE_MEMBERS
        .iter()
        .any(|name| value.contains_key(*name))
}

/// Reads a registration. If it names a plugin's folder, reads the plugin's manifest too.
pub(super) fn read(value: Map<String, Value>) -> Result<Manifest, ManifestError> {
    let registration: Registration = from_json(value)?;
    if let Some(kind) = registration
        .source_type
        .as_ref()
        .filter(|kind| *kind != "mcp")
    {
        return Err(field_error(
            "source_type",
            format!("it is '{kind}', but only sources of the type 'mcp' are servers"),
        ));
    }
    let mut manifest = match (&registration.mcp_plugin_dir, &registration.mcp_command) {
        (Some(folder), _) => registration.read_plugin(folder)?,
        (None, Some(_)) => plugin_json::read(registration.to_plugin_json(), None)?,
        (None, None) => registration.to_remote()?,
    };
    if let Some(name) = registration.name.filter(|name| !name.trim().is_empty()) {
        manifest.title = name;
    }
    for choice in &mut manifest.choices {
        if let (Some(lifecycle), true) = (registration.mcp_lifecycle_mode, choice.is_local()) {
            choice.lifecycle = lifecycle;
        }
        let values = registration.mcp_env_vars.iter().flatten();
        for (name, value) in values.filter(|(_, value)| !value.trim().is_empty()) {
            choice.set_value(name, value);
        }
    }
    Ok(manifest)
}

impl Registration {
    /// Reads the manifest in the plugin's folder. The registration takes precedence over the
    /// manifest.
    fn read_plugin(&self, folder: &std::path::Path) -> Result<Manifest, ManifestError> {
        if !folder.is_absolute() {
            return Err(field_error(
                "mcp_plugin_dir",
                "it must be an absolute path, such as /opt/plugins/github".to_owned(),
            ));
        }
        let (text, file) = read_file(folder)?;
        let in_file = |source| ManifestError::InFile {
            file: file.display().to_string(),
            source: Box::new(source),
        };
        let mut value = read_members(&text).map_err(in_file)?;
        if plugin_json::is_plugin_json(&value) {
            let packages = value.get_mut("packages").and_then(Value::as_array_mut);
            for package in packages.into_iter().flatten() {
                if let Some(package) = package.as_object_mut() {
                    self.override_package(package);
                }
            }
            return plugin_json::read(value, file.parent()).map_err(in_file);
        }
        let mut manifest = server_json::read(value).map_err(in_file)?;
        manifest.choices = self.override_choices(manifest.choices);
        if manifest.choices.is_empty() {
            return Err(in_file(ManifestError::NoServers));
        }
        Ok(manifest)
    }

    /// Overrides the members of a package in a `plugin.json` with the registration's members.
    fn override_package(&self, package: &mut Map<String, Value>) {
        let mut set = |name: &str, value: Value| {
            package.insert(name.to_owned(), value);
        };
        if let Some(command) = &self.mcp_command {
            set("command", command.clone());
            set("args", json!([]));
            set("runtime", json!(""));
        }
        if let Some(runtime) = &self.mcp_runtime_hint {
            set("runtime", json!(runtime));
        }
        if let Some(transport) = &self.mcp_transport_type {
            set("transport_type", json!(transport));
        }
        if let Some(url) = &self.mcp_server_url {
            set("url", json!(url));
        }
        let extra_args = self.mcp_args.iter().flatten().map(|word| json!(word));
        match package.get_mut("args") {
            Some(Value::Array(args)) => args.extend(extra_args),
            _ => drop(package.insert("args".to_owned(), extra_args.collect())),
        }
        // Only one spelling of each member may remain, because two spellings count as a duplicate.
        for (name, aliases) in [
            ("runtime", ["runtime_hint", "runtimeHint"].as_slice()),
            ("transport_type", &["transportType", "transport"]),
            ("url", &["server_url", "serverUrl"]),
        ] {
            if package.contains_key(name) {
                package.retain(|key, _| !aliases.contains(&key.as_str()));
            }
        }
    }

    /// Returns the choices of a `server.json` to which the registration applies: the local choices
    /// with the registration's command and arguments or, if no choice is local, the remote choices.
    /// If some local choices have the registration's runtime, returns only these.
    fn override_choices(&self, choices: Vec<Choice>) -> Vec<Choice> {
        let runtime = self
            .mcp_runtime_hint
            .as_deref()
            .and_then(Runtime::from_name);
        let (mut local, remote): (Vec<_>, Vec<_>) = choices.into_iter().partition(Choice::is_local);
        if runtime.is_some() && local.iter().any(|choice| choice.runtime == runtime) {
            local.retain(|choice| choice.runtime == runtime);
        }
        if local.is_empty() {
            return remote;
        }
        for choice in &mut local {
            if let Some(mut words) = self.command_words() {
                choice.replace_command(words.remove(0), words);
            }
            choice.add_words(self.mcp_args.iter().flatten());
            choice.lifecycle = Lifecycle::Transient;
        }
        local
    }

    fn command_words(&self) -> Option<Vec<String>> {
        let words: Vec<String> = match self.mcp_command.as_ref()? {
            Value::String(word) => vec![word.clone()],
            Value::Array(words) => words
                .iter()
                .filter_map(|word| word.as_str().map(str::to_owned))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        };
        (!words.is_empty()).then_some(words)
    }

    /// Returns a `plugin.json` for a registration that has a command and no folder.
    fn to_plugin_json(&self) -> Map<String, Value> {
        let mut package = Map::new();
        self.override_package(&mut package);
        let name = self.name.as_deref().unwrap_or("plugin");
        [
            ("name".to_owned(), json!(name)),
            ("packages".to_owned(), json!([package])),
        ]
        .into_iter()
        .collect()
    }

    fn to_remote(&self) -> Result<Manifest, ManifestError> {
        let is_http = |url: &&String| url.starts_with("http://") || url.starts_with("https://");
        let url = self
            .mcp_server_url
            .as_ref()
            .or(self.url.as_ref().filter(is_http));
        let url = url.ok_or_else(|| {
            field_error(
                "mcp_plugin_dir",
                "it is missing; a plugin needs the folder of its plugin.json or server.json, or \
                 'mcp_command', and a remote server 'mcp_server_url'"
                    .to_owned(),
            )
        })?;
        let transport = match self.mcp_transport_type.as_deref() {
            None | Some("streamable_http" | "streamable-http" | "http") => TransportKind::Http,
            Some("sse") => TransportKind::Sse,
            Some(other) => {
                return Err(field_error(
                    "mcp_transport_type",
                    format!(
                        "it is '{other}', but a remote server needs 'streamable_http' or 'sse'"
                    ),
                ));
            }
        };
        Ok(Manifest {
            name: self.name.clone().unwrap_or_default(),
            title: String::new(),
            description: String::new(),
            version: String::new(),
            choices: vec![Choice {
                label: url.clone(),
                url: Some(Template::from_text(url)),
                transport: Some(transport),
                ..Choice::default()
            }],
        })
    }
}

impl Choice {
    fn is_local(&self) -> bool {
        self.command.is_some()
    }

    fn replace_command(&mut self, command: String, args: Vec<String>) {
        self.label = [vec![command.clone()], args.clone()].concat().join(" ");
        self.problem = None;
        self.runtime = Runtime::from_name(&command);
        self.command = Some(command);
        self.args.clear();
        self.inputs.retain(|input| input.kind == InputKind::Env);
        self.add_words(args);
    }

    /// Sets the value of an environment variable, or of a header of a remote server, so that no
    /// person has to enter it. The value counts as a secret if the manifest marks it as secret, or
    /// if it looks like a secret.
    fn set_value(&mut self, name: &str, value: &str) {
        let (kind, members) = if self.is_local() {
            (InputKind::Env, &mut self.env)
        } else {
            (InputKind::Header, &mut self.headers)
        };
        let declared = members.iter().position(|(member, _)| member == name);
        let replaced = declared.map(|index| members.remove(index).1);
        members.push((
            name.to_owned(),
            Template::new(vec![Piece::Input(name.to_owned())]),
        ));
        let replaced_inputs: Vec<ManifestInput> = replaced
            .iter()
            .flat_map(Template::inputs)
            .filter_map(|input| self.inputs.iter().find(|known| known.name == input))
            .cloned()
            .collect();
        // The inputs of the replaced template are removed, unless another variable or header uses
        // them.
        let members = self.env.iter().chain(&self.headers);
        let used: Vec<&str> = members
            .flat_map(|(_, template)| template.inputs())
            .collect();
        self.inputs.retain(|input| {
            !replaced_inputs.contains(input)
                || used.contains(&input.name.as_str()) && input.name != name
        });
        let declared = match replaced_inputs.as_slice() {
            [only] => only.clone(),
            _ => ManifestInput {
                name: name.to_owned(),
                kind,
                description: String::new(),
                required: replaced_inputs.iter().any(|input| input.required),
                secret: replaced_inputs.iter().any(|input| input.secret),
                repeated: false,
                default: None,
                choices: Vec::new(),
                placeholder: String::new(),
                format: InputFormat::Text,
                min: None,
                max: None,
            },
        };
        let input = ManifestInput {
            name: name.to_owned(),
            secret: declared.secret || is_likely_secret(name, value),
            ..declared
        };
        self.given.push((input, value.to_owned()));
    }
}

fn field_error(field: &str, message: String) -> ManifestError {
    ManifestError::Field {
        field: field.to_owned(),
        message,
    }
}
