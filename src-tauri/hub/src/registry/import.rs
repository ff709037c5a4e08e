//! Reads servers from a pasted text: any client's configuration, a part of it, command lines, a
//! URL, or the registration of a source at a tools provider. Also finds the secrets that a spec
//! holds in plain text.

use std::collections::BTreeMap;

use drawbridge_client_config::{
    self as client_config, FoundServer, Importer, Machine, Place, SkippedEntry,
};
use drawbridge_model::{ids::ServerId, spec::ServerSpec};

use super::manifest::{self, FillError, FilledSpec, ManifestError};

/// An entry of a pasted text, with its spec or the reason why it cannot be a server.
#[derive(Debug)]
pub struct ImportedServer {
    pub name: String,
    /// The spec. A value of `env` or `headers` that the person has to enter is empty.
    pub spec: Result<ServerSpec, EntryError>,
    /// Names in `env` and `headers` whose values are likely to be secrets, or have to be entered.
    pub likely_secrets: Vec<String>,
    /// Sentences about values that were changed or ignored.
    pub notes: Vec<String>,
}

/// The servers of a text.
#[derive(Debug)]
pub struct ImportedServers {
    pub servers: Vec<ImportedServer>,
    /// The entries that were skipped, with the reasons.
    pub skipped: Vec<SkippedEntry>,
}

/// The reason why no server can be read from a text.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Text(#[from] client_config::ImportError),
    #[error(transparent)]
    Registration(#[from] ManifestError),
    #[error("the home folder is unknown; set HOME, and start Drawbridge again")]
    NoHome,
    #[error("there is no server to add: '{name}' is skipped. {reason}")]
    OnlySkipped {
        name: String,
        reason: client_config::SkipReason,
    },
}

/// The reason why an entry cannot be a server.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    #[error(transparent)]
    Entry(#[from] client_config::EntryError),
    #[error("{0}. Correct the text, and read it again")]
    Registration(#[from] FillError),
    #[error(
        "{place} needs a value that the text does not have: '{id}'. {description} Write the value into the text, and read it again"
    )]
    MissingValue {
        place: String,
        id: String,
        description: String,
    },
}

/// Reads the servers of a text. An entry that connects to Drawbridge itself is skipped.
///
/// # Errors
/// Returns an error if no server can be read from the text, or if the home folder is unknown.
pub fn read_specs(text: &str, endpoint_url: &str) -> Result<ImportedServers, ImportError> {
    if manifest::is_registration(text) {
        return read_registration(text);
    }
    let machine = Machine::this().ok_or(ImportError::NoHome)?;
    let importer = Importer {
        machine: &machine,
        endpoint_url,
        registered: &BTreeMap::new(),
    };
    let found = importer.read_text(text)?;
    match found.skipped.first() {
        Some(skipped) if found.servers.is_empty() => Err(ImportError::OnlySkipped {
            name: skipped.name.clone(),
            reason: skipped.reason,
        }),
        _ => Ok(ImportedServers {
            servers: found.servers.into_iter().map(to_imported).collect(),
            skipped: found.skipped,
        }),
    }
}

/// Reads the registration of a source at a tools provider. The text has the values of the inputs,
/// so no person has to enter them.
fn read_registration(text: &str) -> Result<ImportedServers, ImportError> {
    let manifest = manifest::read(text)?;
    let name = manifest.server_name().to_owned();
    let choice = manifest.first_usable();
    let filled = choice.fill(&name, &BTreeMap::new(), &BTreeMap::new());
    let mut likely_secrets = Vec::new();
    let spec = filled.map(|filled| {
        let FilledSpec {
            mut spec,
            secret_env,
            secret_headers,
        } = filled;
        likely_secrets.extend(secret_env.keys().chain(secret_headers.keys()).cloned());
        spec.env.extend(secret_env);
        spec.headers.extend(secret_headers);
        spec
    });
    Ok(ImportedServers {
        servers: vec![ImportedServer {
            name,
            spec: spec.map_err(EntryError::from),
            likely_secrets,
            notes: Vec::new(),
        }],
        skipped: Vec::new(),
    })
}

fn to_imported(found: FoundServer) -> ImportedServer {
    let (name, notes) = (found.name.clone(), found.notes.clone());
    let blank: Vec<String> = found
        .inputs
        .iter()
        .flat_map(|input| &input.places)
        .filter_map(|place| match place {
            Place::Env(name) | Place::Header(name) => Some(name.clone()),
            Place::Command
            | Place::Arg(_)
            | Place::Cwd
            | Place::Url
            | Place::BearerToken
            | Place::ClientSecret => None,
        })
        .collect();
    let spec = blank_inputs(found);
    let mut secrets = spec.as_ref().map(likely_secrets).unwrap_or_default();
    secrets.extend(blank);
    ImportedServer {
        name,
        spec,
        likely_secrets: secrets,
        notes,
    }
}

/// Returns the spec with empty values in the place of inputs, so that the form asks for them. The
/// form can ask only for whole values of variables and headers.
fn blank_inputs(found: FoundServer) -> Result<ServerSpec, EntryError> {
    let mut spec = found.spec?;
    for input in found.inputs {
        let reference = format!("${{keyring:{}}}", input.secret_name);
        for place in &input.places {
            let value = match place {
                Place::Env(name) => spec.env.get_mut(name),
                Place::Header(name) => spec.headers.get_mut(name),
                Place::Command
                | Place::Arg(_)
                | Place::Cwd
                | Place::Url
                | Place::BearerToken
                | Place::ClientSecret => None,
            };
            match value.filter(|value| **value == reference) {
                Some(value) => value.clear(),
                None => {
                    return Err(EntryError::MissingValue {
                        place: describe_place(place),
                        id: input.id,
                        description: input.description,
                    });
                }
            }
        }
    }
    Ok(spec)
}

fn describe_place(place: &Place) -> String {
    match place {
        Place::Command => "the command".to_owned(),
        Place::Arg(index) => format!("argument {}", index + 1),
        Place::Cwd => "the folder".to_owned(),
        Place::Url => "the URL".to_owned(),
        Place::Env(name) => format!("the variable {name}"),
        Place::Header(name) => format!("the header {name}"),
        Place::BearerToken => "the bearer token".to_owned(),
        Place::ClientSecret => "the OAuth client secret".to_owned(),
    }
}

/// Returns the places of a spec that hold secrets in plain text, for people.
pub fn literal_places(id: &ServerId, spec: &ServerSpec) -> Vec<String> {
    let mut places: Vec<String> = client_config::find_literals(id.as_str(), spec)
        .iter()
        .map(|literal| describe_place(&literal.place))
        .collect();
    places.dedup();
    places
}

/// Returns the names in `env` and `headers` whose literal value is likely to be a secret.
pub(super) fn likely_secrets(spec: &ServerSpec) -> Vec<String> {
    let members = spec.env.iter().chain(&spec.headers);
    members
        .filter(|(name, value)| client_config::is_likely_secret(name, value))
        .map(|(name, _)| name.clone())
        .collect()
}

#[cfg(test)]
mod tests;
