//! Servers from manifests and presets: what they ask, and the spec that the answers make. What comes of it is for
//! `servers.try` and `servers.add`, as any other spec.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{SecretValues, ServerSpec};
use crate::{
    api::{ApiError, Verb},
    hub::Hub,
    model::{
        manifest::ManifestInput,
        runtime::{Runtime, RuntimeFound},
    },
    registry::{
        manifest::{self, Choice, FillError, Filled, Manifest, ManifestError},
        presets::{self, Preset},
    },
    transport::process::runtime,
};

/// Where a manifest is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ManifestSource {
    /// The id of one that comes with Drawbridge.
    Preset(String),
    /// The text of a `server.json` or a `plugin.json`.
    Text(String),
    /// A file, or a folder that has a `plugin.json` or a `server.json`, where the hub runs. Absolute.
    Path(PathBuf),
}

/// A server as its author describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ManifestView {
    /// As the manifest has it: `io.github.owner/server`.
    pub name: String,
    /// What the server is called where the person calls it nothing else.
    pub title: String,
    pub description: String,
    pub version: String,
    /// The ways to have it; at least one, but perhaps none that can be used.
    pub choices: Vec<ManifestChoice>,
}

/// A package or a remote of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ManifestChoice {
    /// In a few words: `npx @scope/server@1.2.3`, or a URL.
    pub label: String,
    /// The whole command line or the URL, with `<name>` where the value of an input goes.
    pub preview: String,
    /// The program with which it is started, where it is one that Drawbridge looks for.
    pub runtime: Option<Runtime>,
    pub inputs: Vec<ManifestInput>,
    /// Why it cannot be used, in plain words; empty where it can.
    pub problem: String,
}

/// A well-known server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PresetView {
    pub id: String,
    pub title: String,
    /// What it does, in one sentence.
    pub description: String,
    pub choice: ManifestChoice,
    /// How its runtime is found here; nothing where it needs none.
    pub runtime: Option<RuntimeFound>,
}

/// The spec that a manifest's choice and a person's values make, as `servers.add` takes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FilledManifest {
    pub spec: ServerSpec,
    pub secrets: SecretValues,
}

/// `servers.presets`: well-known servers, and whether what each needs is here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListPresets {}

/// `servers.check_runtimes`: looks for the programs with which packages are started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckRuntimes {}

/// `servers.read_manifest`: reads a manifest. Saves nothing, starts nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ReadManifest {
    pub source: ManifestSource,
}

/// `servers.fill_manifest`: makes the spec of one of a manifest's choices. Saves nothing; what is missing or does not
/// fit is an error that names it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FillManifest {
    pub source: ManifestSource,
    /// Which of its choices, counted from 0.
    #[serde(default)]
    pub choice: u32,
    /// The name of the server, where it is not that of the manifest.
    #[serde(default)]
    pub name: Option<String>,
    /// By the inputs' names, those of secrets as well. Where an input takes several, one a line. An empty one is left
    /// out; for one that is not here the default is taken.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// The same for those that go to the keyring although the manifest does not say so.
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
    const NAME: &'static str = "servers.presets";
    type Answer = Vec<PresetView>;

    async fn run(self, _: &Hub) -> Result<Vec<PresetView>, ApiError> {
        let mut needed: Vec<Runtime> = presets::all()
            .iter()
            .filter_map(|preset| preset.choice.runtime)
            .collect();
        needed.sort_unstable();
        needed.dedup();
        let found = runtime::check(&needed).await;
        Ok(presets::all()
            .iter()
            .map(|preset| preset_view(preset, &found))
            .collect())
    }
}

impl Verb for CheckRuntimes {
    const NAME: &'static str = "servers.check_runtimes";
    type Answer = Vec<RuntimeFound>;

    async fn run(self, _: &Hub) -> Result<Vec<RuntimeFound>, ApiError> {
        Ok(runtime::check(&Runtime::ALL).await)
    }
}

impl Verb for ReadManifest {
    const NAME: &'static str = "servers.read_manifest";
    type Answer = ManifestView;

    async fn run(self, _: &Hub) -> Result<ManifestView, ApiError> {
        let manifest = read(&self.source)?;
        Ok(ManifestView {
            title: manifest.server_name().to_owned(),
            choices: manifest.choices.iter().map(choice_view).collect(),
            name: manifest.name,
            description: manifest.description,
            version: manifest.version,
        })
    }
}

impl Verb for FillManifest {
    const NAME: &'static str = "servers.fill_manifest";
    type Answer = FilledManifest;

    async fn run(self, _: &Hub) -> Result<FilledManifest, ApiError> {
        let manifest = read(&self.source)?;
        let count = manifest.choices.len();
        let choice = usize::try_from(self.choice)
            .ok()
            .and_then(|at| manifest.choices.get(at));
        let choice = choice.ok_or_else(|| {
            ApiError::invalid(format!("choice: the manifest has {count}, counted from 0"))
        })?;
        let name = self
            .name
            .as_deref()
            .unwrap_or_else(|| manifest.server_name());
        let Filled {
            spec,
            secret_env,
            secret_headers,
        } = choice.fill(name, &self.values, &self.secrets)?;
        Ok(FilledManifest {
            spec,
            secrets: SecretValues {
                env: secret_env,
                headers: secret_headers,
                oauth_client: None,
            },
        })
    }
}

fn read(source: &ManifestSource) -> Result<Manifest, ApiError> {
    match source {
        ManifestSource::Text(text) => Ok(manifest::read(text)?),
        ManifestSource::Path(path) if path.is_absolute() => Ok(manifest::read_path(path)?),
        ManifestSource::Path(path) => Err(ApiError::invalid(format!(
            "the path must be absolute, as in /plugins/github: {}",
            path.display()
        ))),
        ManifestSource::Preset(id) => {
            let unknown = || {
                ApiError::not_found(format!("no preset is called '{id}'; see `servers presets`"))
            };
            Ok(presets::get(id).ok_or_else(unknown)?.manifest())
        }
    }
}

fn choice_view(choice: &Choice) -> ManifestChoice {
    ManifestChoice {
        label: choice.label.clone(),
        preview: choice.preview(),
        runtime: choice.runtime,
        inputs: choice.inputs.clone(),
        problem: choice.problem.clone(),
    }
}

fn preset_view(preset: &Preset, found: &[RuntimeFound]) -> PresetView {
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
