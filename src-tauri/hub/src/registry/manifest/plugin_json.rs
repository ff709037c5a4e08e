//! `plugin.json`: a plugin's folder with a command for each package, a format of MCP gateways since
//! 2025.
//!
//! ```json
//! {"name": "@scope/github", "packages": [{"runtime": "uvx", "command": ["mcp-server-github"],
//!   "environment_variables": [{"name": "GITHUB_TOKEN", "required": true, "secret": true}]}]}
//! ```

use std::path::Path;

use drawbridge_model::runtime::Runtime;
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

/// Returns true if this is a `plugin.json`: its packages have commands, while those of a
/// `server.json` have identifiers.
pub(super) fn is_plugin_json(value: &Map<String, Value>) -> bool {
    let packages = value.get("packages").and_then(Value::as_array);
    packages.is_some_and(|packages| {
        packages
            .iter()
            .any(|package| package.get("command").is_some())
    })
}

/// Reads a manifest whose commands run in `folder`, which contains the plugin's own files.
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
    if !matches!(package.transport_type.as_str(), "stdio" | "") {
        return Err(Problem::NotStdio(package.transport_type.clone()));
    }
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
    let is_named = Runtime::from_name(first).is_some_and(|named| Some(named) == runtime);
    let words = if is_named || runtime.is_none() {
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
        ..Choice::default()
    };
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
        Some(Runtime::Docker) if !is_named => add_docker_run(&mut choice, package, words),
        _ => words,
    };
    choice.add_words(words.iter().cloned());
    Ok(choice)
}

/// Adds `docker run` with the names of the container's variables, and returns the remaining words.
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
