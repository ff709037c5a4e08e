//! Servers from manifests and presets. The verbs list the presets, check for the runtimes, list the
//! inputs of a server, and build the server's spec from the values of the inputs. The spec can be
//! passed to `servers.verify_spec` and `servers.add`.

use std::{collections::BTreeMap, path::PathBuf};

use drawbridge_model::{
    manifest::ManifestInput,
    runtime::{Runtime, RuntimeStatus},
};
use drawbridge_upstream::transport::process::runtime;
use serde::{Deserialize, Serialize};

use super::{SecretValues, ServerSpec};
use crate::{
    api::{ApiError, Verb},
    hub::Hub,
    registry::{
        manifest::{self, Choice, FillError, FilledSpec, Manifest, ManifestError},
        presets::{self, ServerPreset},
    },
};

/// The source of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ManifestSource {
    /// The id of a preset that comes with Drawbridge.
    Preset(String),
    /// The full name of a server that the official registry published, such as
    /// `io.github.owner/server`.
    Published(String),
    /// The text of a `server.json` or a `plugin.json`.
    Text(String),
    /// The absolute path of a file, or of a folder with a `plugin.json` or a `server.json`, on the
    /// hub's computer.
    Path(PathBuf),
}

/// A server as its author describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ManifestView {
    /// The name in the manifest, such as `io.github.owner/server`.
    pub name: String,
    /// The default name of the server in Drawbridge.
    pub title: String,
    pub description: String,
    pub version: String,
    /// The packages and remotes of the server: at least one, but possibly none that can be used.
    pub choices: Vec<ManifestChoice>,
}

/// A package or a remote of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ManifestChoice {
    /// A short label, such as `npx @scope/server@1.2.3` or a URL.
    pub label: String,
    /// The whole command line or URL, with `<name>` in place of an input's value.
    pub preview: String,
    /// The runtime that starts the package; null for a remote, or if Drawbridge does not know the
    /// runtime.
    pub runtime: Option<Runtime>,
    pub inputs: Vec<ManifestInput>,
    /// Why the choice cannot be used, in plain words; empty if it can.
    pub problem: String,
}

/// A preset: a server that is ready to be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PresetView {
    pub id: String,
    pub title: String,
    /// The purpose of the server, in one sentence.
    pub description: String,
    pub choice: ManifestChoice,
    /// The status of the server's runtime on this computer; null if it needs no runtime.
    pub runtime: Option<RuntimeStatus>,
}

/// A spec built from a manifest's choice and the entered values, with its secrets, ready for
/// `servers.add`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FilledManifest {
    pub spec: ServerSpec,
    pub secrets: SecretValues,
}

/// `servers.presets`: the presets, and whether their prerequisites are present.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListPresets {}

/// `servers.check_runtimes`: checks for the programs that start packages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckRuntimes {}

/// `servers.read_manifest`: reads a manifest. Saves nothing and starts nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ReadManifest {
    pub source: ManifestSource,
}

/// `servers.fill_manifest`: builds a spec from one choice of a manifest. Saves nothing. If a value
/// is missing or invalid, the error names its input.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FillManifest {
    pub source: ManifestSource,
    /// The index of the choice, counted from 0.
    #[serde(default)]
    pub choice: u32,
    /// The name for the server. If it is absent, the `title` of the manifest is used.
    #[serde(default)]
    pub name: Option<String>,
    /// Maps each input's name to its value, including secrets. The values of an input with several
    /// values are separated by line breaks. A missing entry uses the default; an empty entry leaves
    /// the input unset.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Like `values`, for values that go to the secret store even if the manifest does not mark
    /// them as secret.
    #[serde(default)]
    pub secrets: BTreeMap<String, String>,
}

impl std::fmt::Debug for FillManifest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FillManifest")
            .field("choice", &self.choice)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Verb for ListPresets {
    type Answer = Vec<PresetView>;

    async fn run(self, _: &Hub) -> Result<Vec<PresetView>, ApiError> {
        let mut needed: Vec<Runtime> = presets::all()
            .iter()
            .filter_map(|preset| preset.choice.runtime)
            .collect();
        needed.sort_unstable();
        needed.dedup();
        let found = runtime::check_runtimes(&needed).await;
        Ok(presets::all()
            .iter()
            .map(|preset| preset_view(preset, &found))
            .collect())
    }
}

impl Verb for CheckRuntimes {
    type Answer = Vec<RuntimeStatus>;

    async fn run(self, _: &Hub) -> Result<Vec<RuntimeStatus>, ApiError> {
        Ok(runtime::check_runtimes(&Runtime::ALL).await)
    }
}

impl Verb for ReadManifest {
    type Answer = ManifestView;

    async fn run(self, hub: &Hub) -> Result<ManifestView, ApiError> {
        Ok(manifest_view(read_source(hub, &self.source).await?))
    }
}

impl Verb for FillManifest {
    type Answer = FilledManifest;

    async fn run(self, hub: &Hub) -> Result<FilledManifest, ApiError> {
        let manifest = read_source(hub, &self.source).await?;
        let count = manifest.choices.len();
        let choice = usize::try_from(self.choice)
            .ok()
            .and_then(|index| manifest.choices.get(index));
        let choice = choice.ok_or_else(|| {
            ApiError::invalid(format!(
                "choice: the manifest has {count} choices, numbered from 0"
            ))
        })?;
        let name = self
            .name
            .as_deref()
            .unwrap_or_else(|| manifest.server_name());
        let mut filled: FilledManifest = choice.fill(name, &self.values, &self.secrets)?.into();
        if let ManifestSource::Preset(id) = &self.source {
            filled.spec.sandbox = presets::get(id).and_then(|preset| preset.sandbox(&self.values));
        }
        Ok(filled)
    }
}

impl From<FilledSpec> for FilledManifest {
    fn from(filled: FilledSpec) -> Self {
        Self {
            spec: filled.spec,
            secrets: SecretValues {
                env: filled.secret_env,
                headers: filled.secret_headers,
                oauth_client: None,
                move_literals: false,
            },
        }
    }
}

/// Builds a spec from a registration: the JSON with which a plugin or a remote server is registered
/// at a tools provider (for instance another MCP gateway), such as `{"source_type": "mcp", …}`. The
/// JSON contains the values of the inputs. Returns `None` if the text is no registration.
///
/// # Errors
/// Returns an error if the registration or the manifest that it names cannot be read, or if a value
/// is missing or invalid.
pub fn read_registration(text: &str) -> Result<Option<FilledManifest>, ApiError> {
    if !manifest::is_registration(text) {
        return Ok(None);
    }
    let manifest = manifest::read(text)?;
    let no_values = BTreeMap::new();
    let filled = manifest
        .first_usable()
        .fill(manifest.server_name(), &no_values, &no_values)?;
    Ok(Some(filled.into()))
}

async fn read_source(hub: &Hub, source: &ManifestSource) -> Result<Manifest, ApiError> {
    match source {
        ManifestSource::Published(name) => Ok(hub.official_registry.find(name).await?.1),
        ManifestSource::Text(text) => Ok(manifest::read(text)?),
        ManifestSource::Path(path) if path.is_absolute() => Ok(manifest::read_path(path)?),
        ManifestSource::Path(path) => Err(ApiError::invalid(format!(
            "the path '{}' is not absolute; use a path such as /plugins/github",
            path.display()
        ))),
        ManifestSource::Preset(id) => {
            let unknown = || {
                ApiError::not_found(format!(
                    "there is no preset '{id}'; see `drawbridge servers presets`"
                ))
            };
            Ok(presets::get(id).ok_or_else(unknown)?.to_manifest())
        }
    }
}

pub(in crate::api) fn manifest_view(manifest: Manifest) -> ManifestView {
    ManifestView {
        title: manifest.server_name().to_owned(),
        choices: manifest.choices.iter().map(choice_view).collect(),
        name: manifest.name,
        description: manifest.description,
        version: manifest.version,
    }
}

fn choice_view(choice: &Choice) -> ManifestChoice {
    ManifestChoice {
        label: choice.label.clone(),
        preview: choice.preview(),
        runtime: choice.runtime,
        inputs: choice.inputs.clone(),
        problem: choice
            .problem
            .as_ref()
            .map_or_else(String::new, ToString::to_string),
    }
}

fn preset_view(preset: &ServerPreset, found: &[RuntimeStatus]) -> PresetView {
    PresetView {
        id: preset.id.clone(),
        title: preset.title.clone(),
        description: preset.description.clone(),
        choice: choice_view(&preset.choice),
        runtime: found
            .iter()
            .find(|found| Some(found.runtime) == preset.choice.runtime)
            .cloned(),
    }
}

impl From<ManifestError> for ApiError {
    fn from(error: ManifestError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<FillError> for ApiError {
    fn from(error: FillError) -> Self {
        Self::invalid(error.to_string())
    }
}

#[cfg(test)]
mod tests;
