//! Well-known servers, ready to be added: manifests that are part of Drawbridge, in `presets.json`.
//! The name and the version of each package are verified in its registry, and its arguments are
//! verified in that version.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::manifest::{self, Choice, Manifest};

const PRESETS: &str = include_str!("presets.json");

/// A well-known server, and its only choice.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerPreset {
    /// The id for `servers add --preset`.
    pub id: String,
    pub title: String,
    /// The purpose of the server, in one sentence.
    pub description: String,
    pub choice: Choice,
}

impl ServerPreset {
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
        let manifests: Vec<Map<String, Value>> =
            serde_json::from_str(PRESETS).expect("the presets are JSON objects");
        manifests
            .into_iter()
            .filter_map(|value| {
                to_preset(manifest::read_server_json(value).expect("each preset is a manifest"))
            })
            .collect()
    });
    &ALL
}

/// Returns the preset with this id.
pub fn get(id: &str) -> Option<&'static ServerPreset> {
    all().iter().find(|preset| preset.id == id)
}

fn to_preset(manifest: Manifest) -> Option<ServerPreset> {
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
    })
}

#[cfg(test)]
mod tests;
