//! Finds the values of a spec that belong in the secret store: literal secrets, and inputs.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_model::{names, spec::ServerSpec};

use super::{
    FoundAt, FoundServer, LiteralSecret, RequiredInput,
    entry::Draft,
    variables::{self, InputDefinition},
};
use crate::literals::{self, LiteralPart, Place, reference};

/// Returns the server of a draft. `name` was chosen for the server; `note` says why, if it is not
/// the name that the entry has.
pub(super) fn finish(
    name: String,
    draft: Draft,
    found_at: Vec<FoundAt>,
    note: Option<String>,
) -> FoundServer {
    let Draft {
        spec,
        inputs,
        mut notes,
    } = draft;
    notes.extend(note);
    let mut found = FoundServer {
        name,
        spec,
        found_at,
        secrets: Vec::new(),
        inputs: Vec::new(),
        notes,
    };
    if let Ok(spec) = &mut found.spec {
        spec.name.clone_from(&found.name);
        let id = names::server_id_from_name(&found.name)
            .expect("the name was chosen so that it has an id");
        found.secrets = find_secrets(id.as_str(), spec, &mut found.notes);
        found.inputs = name_inputs(id.as_str(), spec, &inputs, &found.secrets);
    }
    found
}

/// Returns the values that may refer to the secret store, each with its place and the name after
/// which its secret is named.
fn movable_values(spec: &mut ServerSpec) -> impl Iterator<Item = (Place, &str, &mut String)> {
    let env = spec.env.iter_mut();
    let headers = spec.headers.iter_mut();
    let client_secret = spec
        .oauth
        .as_mut()
        .and_then(|client| client.client_secret.as_mut());
    env.map(|(name, value)| (Place::Env(name.clone()), name.as_str(), value))
        .chain(headers.map(|(name, value)| (Place::Header(name.clone()), name.as_str(), value)))
        .chain(client_secret.map(|value| (Place::ClientSecret, "oauth_client", value)))
}

fn find_secrets(id: &str, spec: &ServerSpec, notes: &mut Vec<String>) -> Vec<LiteralSecret> {
    let found = literals::find_literals(id, spec);
    for literal in &found {
        if let Place::Arg(index) = literal.place {
            notes.push(format!(
                "Argument {} looks like a secret. Every program on this computer can read the arguments of a running server; use a variable instead if the server supports one.",
                index + 1
            ));
        }
    }
    let to_secret = |literal: LiteralPart| LiteralSecret {
        place: literal.place,
        secret_name: literal.secret_name,
    };
    found.into_iter().map(to_secret).collect()
}

/// Replaces the inputs by references to the secret store in all values that may have a reference.
/// Returns all inputs.
fn name_inputs(
    id: &str,
    spec: &mut ServerSpec,
    definitions: &BTreeMap<String, InputDefinition>,
    secrets: &[LiteralSecret],
) -> Vec<RequiredInput> {
    let mut places = BTreeMap::<String, Vec<Place>>::new();
    let mut names = BTreeMap::<String, String>::new();
    for (place, name, value) in movable_values(spec) {
        for input in variables::input_ids(value) {
            let is_whole = *value == variables::marker(input);
            let name = if is_whole { name } else { input };
            names
                .entry(input.to_owned())
                .or_insert_with(|| literals::to_key(name));
            places
                .entry(input.to_owned())
                .or_default()
                .push(place.clone());
        }
    }
    let args = spec.args.iter().enumerate();
    let plain = args
        .map(|(index, text)| (Place::Arg(index), text))
        .chain(spec.command.iter().map(|text| (Place::Command, text)))
        .chain(spec.cwd.iter().map(|text| (Place::Cwd, text)))
        .chain(spec.url.iter().map(|text| (Place::Url, text)));
    for (place, text) in plain {
        for input in variables::input_ids(text) {
            places
                .entry(input.to_owned())
                .or_default()
                .push(place.clone());
        }
    }
    let mut used: BTreeSet<String> = secrets
        .iter()
        .map(|secret| secret.secret_name.clone())
        .collect();
    let inputs: Vec<RequiredInput> = places
        .into_iter()
        .map(|(input, mut places)| {
            places.dedup();
            let base = names
                .remove(&input)
                .unwrap_or_else(|| literals::to_key(&input));
            let key = (1..)
                .map(|number| match number {
                    1 => base.clone(),
                    _ => format!("{base}_{number}"),
                })
                .find(|key| used.insert(format!("{id}.{key}")))
                .expect("there are more numbers than inputs");
            let definition = definitions.get(&input);
            RequiredInput {
                secret_name: format!("{id}.{key}"),
                description: definition.map_or_else(String::new, |input| input.description.clone()),
                choices: definition.map_or_else(Vec::new, |input| input.choices.clone()),
                is_secret: definition.is_none_or(|input| input.is_secret),
                id: input,
                places,
            }
        })
        .collect();
    for (_, _, value) in movable_values(spec) {
        *value = variables::replace_inputs(value, |input| {
            let found = inputs.iter().find(|other| other.id == input);
            reference(
                &found
                    .expect("all inputs of the spec were collected")
                    .secret_name,
            )
        });
    }
    inputs
}
