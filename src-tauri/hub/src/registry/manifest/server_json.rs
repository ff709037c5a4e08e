//! `server.json` of the official MCP registry: the current format (schema 2025-12-11, camelCase)
//! and the formats from before September 2025 (`snake_case`, `registry_name`). The format is
//! specified in `docs/reference/server-json` of `modelcontextprotocol/registry`.

use std::collections::BTreeMap;

use drawbridge_model::{runtime::Runtime, spec::TransportKind};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    Manifest, ManifestError,
    choice::{Choice, Problem},
    declaration::InputDeclaration,
    from_json,
};

mod package;

#[derive(Deserialize)]
struct ServerJson {
    name: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    version_detail: VersionDetail,
    #[serde(default)]
    packages: Vec<Package>,
    #[serde(default)]
    remotes: Vec<Remote>,
}

#[derive(Default, Deserialize)]
struct VersionDetail {
    #[serde(default)]
    version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Package {
    #[serde(default, alias = "registry_type", alias = "registry_name")]
    registry_type: String,
    #[serde(default, alias = "registry_base_url")]
    registry_base_url: String,
    #[serde(alias = "name")]
    identifier: String,
    #[serde(default)]
    version: String,
    #[serde(default, alias = "runtime_hint")]
    runtime_hint: String,
    #[serde(default)]
    transport: PackageTransport,
    #[serde(default, alias = "environment_variables")]
    environment_variables: Vec<InputDeclaration>,
    #[serde(default, alias = "package_arguments")]
    package_arguments: Vec<InputDeclaration>,
    #[serde(default, alias = "runtime_arguments")]
    runtime_arguments: Vec<InputDeclaration>,
}

/// The transport that a package uses after its start. The default is stdio.
#[derive(Default, Deserialize)]
struct PackageTransport {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    url: String,
}

#[derive(Deserialize)]
struct Remote {
    #[serde(default, rename = "type", alias = "transport_type")]
    kind: String,
    url: String,
    #[serde(default)]
    headers: Vec<InputDeclaration>,
    #[serde(default)]
    variables: BTreeMap<String, InputDeclaration>,
}

pub(super) fn read(value: Map<String, Value>) -> Result<Manifest, ManifestError> {
    if !["packages", "remotes"]
        .iter()
        .any(|member| value.contains_key(*member))
    {
        return Err(ManifestError::NoServers);
    }
    let server: ServerJson = from_json(value)?;
    let packages = server.packages.iter().map(package::package_choice);
    Ok(Manifest {
        name: server.name,
        title: server.title,
        description: server.description,
        version: if server.version.is_empty() {
            server.version_detail.version
        } else {
            server.version
        },
        choices: packages
            .chain(server.remotes.iter().map(remote_choice))
            .collect(),
    })
}

fn remote_choice(remote: &Remote) -> Choice {
    to_choice(remote).unwrap_or_else(|problem| Choice::unusable(remote.url.clone(), problem))
}

fn to_choice(remote: &Remote) -> Result<Choice, Problem> {
    let transport = match remote.kind.as_str() {
        "streamable-http" | "streamable_http" | "streamable" | "http" | "" => TransportKind::Http,
        "sse" => TransportKind::Sse,
        other => {
            return Err(Problem::UnknownTransport(other.to_owned()));
        }
    };
    let url = InputDeclaration {
        value: Some(remote.url.clone()),
        variables: remote.variables.clone(),
        ..InputDeclaration::default()
    };
    let mut choice = Choice {
        label: remote.url.clone(),
        transport: Some(transport),
        ..Choice::default()
    };
    choice.set_url(&url)?;
    remote
        .headers
        .iter()
        .try_for_each(|header| choice.add_header(header))?;
    Ok(choice)
}
