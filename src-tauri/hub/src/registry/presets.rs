//! The presets: servers that are ready to be added, as manifests in `presets.json`. Before a preset
//! is added there, a person has to check the package's name and version in the package registry,
//! and the arguments with that version.

use std::{collections::BTreeMap, sync::LazyLock};

use drawbridge_model::sandbox::Sandbox;
use drawbridge_upstream::transport::process::sandbox;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::manifest::{self, Choice, Manifest};

const PRESETS: &str = include_str!("presets.json");

/// A preset, and its only choice.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerPreset {
    /// The id for `servers add --preset`.
    pub id: String,
    pub title: String,
    /// The purpose of the server, in one sentence.
    pub description: String,
    pub choice: Choice,
    profile: SandboxProfile,
}

/// The sandbox in which a preset is known to work.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct SandboxProfile {
    sandbox: Option<Sandbox>,
    /// The inputs whose values are folders that the server reads and writes.
    writes: Vec<String>,
}

/// A preset as `presets.json` has it: a manifest with a sandbox profile.
#[derive(Deserialize)]
struct WrittenPreset {
    #[serde(flatten)]
    profile: SandboxProfile,
    #[serde(flatten)]
    manifest: Map<String, Value>,
}

impl ServerPreset {
    /// Returns the sandbox for these values of the inputs, or `None` if the preset has no sandbox
    /// or this system does not support sandboxes. A person may choose another sandbox.
    pub fn sandbox(&self, values: &BTreeMap<String, String>) -> Option<Sandbox> {
        let mut sandbox = self.profile.sandbox.clone()?;
        let folders = self
            .profile
            .writes
            .iter()
            .filter_map(|name| values.get(name));
        sandbox.write = folders
            .flat_map(|folders| folders.lines())
            .map(str::trim)
            .filter(|folder| !folder.is_empty())
            .map(str::to_owned)
            .collect();
        sandbox::is_available().then_some(sandbox)
    }

    /// Returns the preset as a manifest.
    pub fn to_manifest(&self) -> Manifest {
        Manifest {
            name: self.id.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            version: String::new(),
            choices: vec![self.choice.clone()],
        }
    }
}

/// Returns all presets, in display order.
pub fn all() -> &'static [ServerPreset] {
    static ALL: LazyLock<Vec<ServerPreset>> = LazyLock::new(|| {
        let written: Vec<WrittenPreset> =
            serde_json::from_str(PRESETS).expect("the presets are JSON objects");
        written
            .into_iter()
            .filter_map(|WrittenPreset { manifest, profile }| {
                let manifest = manifest::read_server_json(manifest);
                to_preset(manifest.expect("each preset is a manifest"), profile)
            })
            .collect()
    });
    &ALL
}

/// Returns the preset with this id.
pub fn get(id: &str) -> Option<&'static ServerPreset> {
    all().iter().find(|preset| preset.id == id)
}

fn to_preset(manifest: Manifest, profile: SandboxProfile) -> Option<ServerPreset> {
    let Manifest {
        name: id,
        title,
        description,
        version: _,
        choices,
    } = manifest;
    Some(ServerPreset {
        id,
        title,
        description,
        choice: choices.into_iter().next()?,
        profile,
    })
}

#[cfg(test)]
mod tests;
