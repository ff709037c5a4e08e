//! `plugin.json`: describes a plugin, which is a folder with a server's files. Each of its packages
//! has a command. Some MCP gateways have used this format since 2025.
//!
//! ```json
//! {"name": "@scope/github", "packages": [{"runtime": "uvx", "command": ["mcp-server-github"],
//!   "environment_variables": [{"name": "GITHUB_TOKEN", "required": true, "secret": true}]}]}
//! ```
//!
//! By default, a plugin over stdio has one process for each call (`transient`). A plugin that
//! serves a URL has one process for all calls (`singleton`), because two processes could not listen
//! on the same port.

use std::path::Path;

use drawbridge_model::{
    manifest::InputKind,
    runtime::Runtime,
    spec::{Lifecycle, TransportKind},
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    Manifest, ManifestError,
    choice::{Choice, Problem},
    declaration::InputDeclaration,
    from_json,
};

#[derive(Deserialize)]
struct PluginJson {
    name: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    version: String,
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    #[serde(default, alias = "transportType", alias = "transport")]
    transport_type: String,
    #[serde(default, alias = "runtime_hint", alias = "runtimeHint")]
    runtime: String,
    /// The URL that the program serves, if it does not use stdio.
    #[serde(default, alias = "server_url", alias = "serverUrl")]
    url: String,
    command: Command,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default, alias = "environmentVariables")]
    environment_variables: Vec<InputDeclaration>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, or a list of texts")]
enum Command {
    Word(String),
    Words(Vec<String>),
}

/// Returns whether the JSON is a `plugin.json`: its packages have commands, while the packages of a
/// `server.json` have identifiers.
pub(super) fn is_plugin_json(value: &Map<String, Value>) -> bool {
    let packages = value.get("packages").and_then(Value::as_array);
    packages.is_some_and(|packages| {
        packages
            .iter()
            .any(|package| package.get("command").is_some())
    })
}

/// Reads a `plugin.json`. `folder` contains the plugin's own files; the plugin's commands run
/// there.
pub(super) fn read(
    value: Map<String, Value>,
    folder: Option<&Path>,
) -> Result<Manifest, ManifestError> {
    let plugin: PluginJson = from_json(value)?;
    let cwd = folder.map(|folder| folder.display().to_string());
    let choice = |package: &Package| match to_choice(package, cwd.clone()) {
        Ok(choice) => choice,
        Err(problem) => Choice::unusable(package.words().join(" "), problem),
    };
    Ok(Manifest {
        choices: plugin.packages.iter().map(choice).collect(),
        name: plugin.name,
        title: plugin.title,
        description: plugin.description,
        version: plugin.version,
    })
}

impl Package {
    fn words(&self) -> Vec<String> {
        let command = match &self.command {
            Command::Word(word) => std::slice::from_ref(word),
            Command::Words(words) => words,
        };
        command.iter().chain(&self.args).cloned().collect()
    }
}

fn to_choice(package: &Package, cwd: Option<String>) -> Result<Choice, Problem> {
    let transport = read_transport(&package.transport_type)?;
    let words = package.words();
    let first = words
        .first()
        .filter(|word| !word.is_empty())
        .ok_or(Problem::EmptyCommand)?;
    let runtime = match package.runtime.as_str() {
        "" => Runtime::from_name(first),
        name => {
            let unknown = || Problem::UnknownRuntime(name.to_owned());
            Some(Runtime::from_name(name).ok_or_else(unknown)?)
        }
    };
    let first_names_runtime = Runtime::from_name(first).is_some_and(|named| Some(named) == runtime);
    let words = if first_names_runtime || runtime.is_none() {
        &words[1..]
    } else {
        &words[..]
    };
    let command = runtime.map_or_else(|| first.clone(), |runtime| runtime.command().to_owned());
    let label = words
        .iter()
        .fold(command.clone(), |label, word| format!("{label} {word}"));
    let mut choice = Choice {
        label,
        runtime,
        command: Some(command),
        cwd,
        lifecycle: Lifecycle::Transient,
        ..Choice::default()
    };
    if let Some(transport) = transport {
        choice.transport = Some(transport);
        choice.lifecycle = Lifecycle::Singleton;
        set_served_url(&mut choice, &package.url)?;
    }
    package
        .environment_variables
        .iter()
        .try_for_each(|variable| choice.add_env(variable))?;
    let words = match runtime {
        // Without `-y`, npx asks whether to install the package, and nobody can answer.
        Some(Runtime::Npx) if !words.iter().any(|word| word == "-y" || word == "--yes") => {
            choice.add_words(["-y"]);
            words
        }
        Some(Runtime::Docker) if !first_names_runtime => {
            add_docker_run(&mut choice, package, words)
        }
        _ => words,
    };
    choice.add_words(words.iter().cloned());
    Ok(choice)
}

/// Returns the transport of a program that serves a URL, or `None` for stdio.
fn read_transport(name: &str) -> Result<Option<TransportKind>, Problem> {
    match name.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
        "stdio" | "" => Ok(None),
        "sse" => Ok(Some(TransportKind::Sse)),
        "http" | "streamablehttp" => Ok(Some(TransportKind::Http)),
        _ => Err(Problem::UnknownTransport(name.to_owned())),
    }
}

/// Sets the URL that the program serves. If the manifest has none, a person has to enter it.
fn set_served_url(choice: &mut Choice, url: &str) -> Result<(), Problem> {
    if !url.is_empty() {
        return choice.set_url(&InputDeclaration {
            value: Some(url.to_owned()),
            ..InputDeclaration::default()
        });
    }
    let url_input = InputDeclaration {
        description: "The URL that the program serves on this computer".to_owned(),
        placeholder: "http://127.0.0.1:8000/sse".to_owned(),
        is_required: true,
        ..InputDeclaration::default()
    };
    choice.url = choice.build_template("url", &url_input, InputKind::Url)?;
    Ok(())
}

/// Adds `run`, its flags, and `-e NAME` for each environment variable. Returns the words of the
/// command that the caller still has to add.
fn add_docker_run<'a>(choice: &mut Choice, package: &Package, words: &'a [String]) -> &'a [String] {
    let rest = words.strip_prefix(&["run".to_owned()]).unwrap_or(words);
    choice.add_words(["run"]);
    choice.add_words(
        ["-i", "--rm"]
            .into_iter()
            .filter(|flag| !rest.iter().any(|word| word == flag)),
    );
    for variable in &package.environment_variables {
        choice.add_words(["-e", &variable.name]);
    }
    rest
}
