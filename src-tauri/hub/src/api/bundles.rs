//! MCP bundles (`.mcpb`): describes a bundle, and adds its server.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use drawbridge_model::{manifest::ManifestInput, runtime::RuntimeStatus};
use drawbridge_upstream::transport::process::runtime;
use serde::{Deserialize, Serialize};

use super::{
    ApiError, Verb, on_blocking_thread,
    servers::{AddServer, FilledManifest, ManifestChoice, ServerView},
};
use crate::{
    hub::Hub,
    registry::bundle::{
        self, Bundle, BundleError, BundleManifest, BundleServerType, BundleValues, UserConfig,
    },
};

/// The source of a bundle.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum BundleSource {
    /// The absolute path of a `.mcpb` file on the hub's computer.
    Path(PathBuf),
    /// The bytes of a `.mcpb` file, in base64.
    Base64(String),
}

impl BundleSource {
    /// Returns the source with the bytes of the file in place of its path, for a hub on another
    /// computer.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is larger than a bundle may be.
    pub fn embed(self) -> Result<Self, ApiError> {
        match self {
            Self::Path(path) => Ok(Self::Base64(
                BASE64_STANDARD.encode(bundle::read_file(&path)?),
            )),
            embedded @ Self::Base64(_) => Ok(embedded),
        }
    }
}

/// A tool that a bundle announces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BundleTool {
    pub name: String,
    pub description: String,
}

/// A bundle as its author describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BundleView {
    pub name: String,
    /// The default name of the server in Drawbridge.
    pub title: String,
    pub version: String,
    pub description: String,
    pub author: String,
    pub server_type: BundleServerType,
    pub tools: Vec<BundleTool>,
    /// Whether the server may have more tools than `tools`.
    pub tools_generated: bool,
    /// The command that starts the server, and the values that it needs.
    pub choice: ManifestChoice,
    /// The status of the server's runtime on this computer; null if it needs no known runtime.
    pub runtime: Option<RuntimeStatus>,
    /// Which versions of the runtime the server needs; empty if its author does not say.
    pub runtime_version: String,
}

/// `bundles.open`: reads and checks a bundle. Saves nothing and starts nothing.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OpenBundle {
    pub source: BundleSource,
}

/// `bundles.add`: unpacks a bundle into the data folder, and adds its server, which waits for
/// acceptance. If a value is missing or invalid, the error names it, and nothing is added.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AddBundle {
    pub source: BundleSource,
    /// The name for the server. If it is absent, the bundle's title is used.
    #[serde(default)]
    pub name: Option<String>,
    /// Maps each input's name to its value, including secrets. The values of an input with several
    /// values are separated by line breaks. A missing entry uses the default; an empty entry leaves
    /// the input unset.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Like `values`, for values that go to the secret store even if the bundle does not mark them
    /// as sensitive.
    #[serde(default)]
    pub secrets: BTreeMap<String, String>,
}

impl Verb for OpenBundle {
    type Answer = BundleView;

    async fn run(self, _: &Hub) -> Result<BundleView, ApiError> {
        let manifest = read_source(self.source).await?.manifest;
        let needed: Vec<_> = manifest.runtime().into_iter().collect();
        let runtime = runtime::check_runtimes(&needed).await.pop();
        Ok(bundle_view(&manifest, runtime)?)
    }
}

impl Verb for AddBundle {
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let mut bundle = read_source(self.source).await?;
        let name = self
            .name
            .unwrap_or_else(|| bundle.manifest.title().to_owned());
        let id = hub.registry.new_id(&name)?;
        for input in self.secrets.keys() {
            if let Some(declared) = bundle.manifest.user_config.get_mut(input) {
                declared.sensitive = true;
            }
        }
        // A form sends unchanged defaults back. A default counts as not entered, because it may
        // refer to the bundle's folder, and this reference is replaced only in a default.
        let inputs = bundle.manifest.inputs()?;
        let is_default = |(name, value): &(String, String)| {
            let has_name = |input: &&ManifestInput| input.name == *name;
            let input = inputs.iter().find(has_name);
            input.is_some_and(|input| input.default.as_ref() == Some(value))
        };
        let entered = self.values.into_iter().chain(self.secrets);
        let values = entered.filter(|entry| !is_default(entry));
        let values = split_values(&bundle.manifest, values);
        let data_dir = hub.data_dir().to_owned();
        let folder = bundle::bundle_folder(&data_dir, &id, &bundle.digest);
        let filled: FilledManifest = bundle.fill(&name, &folder, &values)?.into();
        on_blocking_thread(move || Ok(bundle::unpack(&mut bundle, &folder)?)).await?;
        let add = AddServer {
            spec: filled.spec,
            secrets: filled.secrets,
            pending: true,
            grant_secrets: Vec::new(),
        };
        let added = add.run(hub).await;
        if added.is_err() && hub.registry.get(&id).is_err() {
            on_blocking_thread(move || Ok(bundle::delete_bundles(&data_dir, &id)?)).await?;
        }
        added
    }
}

async fn read_source(source: BundleSource) -> Result<Bundle, ApiError> {
    on_blocking_thread(move || match source {
        BundleSource::Path(path) if path.is_absolute() => Ok(Bundle::read_path(&path)?),
        BundleSource::Path(path) => Err(relative_path(&path)),
        BundleSource::Base64(text) => {
            let bytes = BASE64_STANDARD.decode(text).map_err(|error| {
                ApiError::invalid(format!("the bundle is not valid base64: {error}"))
            })?;
            Ok(Bundle::read(bytes)?)
        }
    })
    .await
}

fn relative_path(path: &Path) -> ApiError {
    ApiError::invalid(format!(
        "the path '{}' is not absolute; use a path such as /downloads/files.mcpb",
        path.display()
    ))
}

/// Splits a value into its lines if the value's input may have several values.
fn split_values(
    manifest: &BundleManifest,
    values: impl Iterator<Item = (String, String)>,
) -> BundleValues {
    let is_multiple = |name: &String| {
        let declared = manifest.user_config.get(name);
        declared.is_some_and(|declared: &UserConfig| declared.multiple)
    };
    values
        .map(|(name, value)| {
            let entries = if is_multiple(&name) {
                value.lines().map(str::to_owned).collect()
            } else {
                vec![value]
            };
            (name, entries)
        })
        .collect()
}

fn bundle_view(
    manifest: &BundleManifest,
    runtime: Option<RuntimeStatus>,
) -> Result<BundleView, BundleError> {
    let problem = manifest.check_platform().err();
    let tool = |tool: &bundle::Tool| BundleTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
    };
    Ok(BundleView {
        name: manifest.name.clone(),
        title: manifest.title().to_owned(),
        version: manifest.version.clone(),
        description: manifest.description.clone(),
        author: manifest.author.name.clone(),
        server_type: manifest.server_type(),
        tools: manifest.tools.iter().map(tool).collect(),
        tools_generated: manifest.tools_generated,
        choice: ManifestChoice {
            label: format!("{} {}", manifest.title(), manifest.version),
            preview: manifest.preview(),
            runtime: manifest.runtime(),
            inputs: manifest.inputs()?,
            problem: problem.map_or_else(String::new, |problem| problem.to_string()),
        },
        runtime,
        runtime_version: manifest.runtime_version().to_owned(),
    })
}

impl From<BundleError> for ApiError {
    fn from(error: BundleError) -> Self {
        let message = error.to_string();
        if matches!(
            error,
            BundleError::Unpack { .. } | BundleError::Delete { .. } | BundleError::Restore { .. }
        ) {
            Self::unavailable(message)
        } else {
            Self::invalid(message)
        }
    }
}
