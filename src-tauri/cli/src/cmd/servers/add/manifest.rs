//! Adds a server from a preset, a manifest or the official registry. `--set` and `--secret` give
//! the values of its inputs.

use std::{collections::BTreeMap, path::PathBuf};

use drawbridge_endpoint::HubHandle;
use drawbridge_hub::api::servers::{
    AddServer, FillManifest, FilledManifest, ManifestChoice, ManifestSource, ManifestView,
    ReadManifest, ServerView,
};
use drawbridge_model::{manifest::InputFormat, spec::Isolation};

use super::AddArgs;
use crate::{
    context::Context,
    exit::{Failure, print_stderr},
    output,
};

/// The preset, manifest or published server, and the values of its inputs.
#[derive(clap::Args)]
pub(super) struct ManifestArgs {
    /// A preset, as listed by `servers presets`
    #[arg(long, value_name = "ID")]
    pub(super) preset: Option<String>,
    /// A server.json or plugin.json, or a folder with one of these files
    #[arg(long, value_name = "PATH")]
    pub(super) manifest: Option<PathBuf>,
    /// The full name of a server in the official registry, as `registry search` lists it
    #[arg(long, value_name = "SERVER")]
    pub(super) registry: Option<String>,
    /// The number of the manifest's package or remote, starting at 1 [default: the first usable
    /// package or remote]
    #[arg(long, value_name = "N", conflicts_with_all = ["preset", "command", "url"], value_parser = clap::value_parser!(u32).range(1..))]
    package: Option<u32>,
    /// The value of an input of the preset, manifest, published server or bundle. May be repeated
    /// for an input that takes several values.
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::parse_pair, allow_hyphen_values = true, conflicts_with_all = ["command", "url"])]
    pub(super) set: Vec<(String, String)>,
}

impl AddArgs {
    /// Returns the source of the manifest, or `None` if the server has no manifest.
    pub(super) fn manifest_source(&self) -> Result<Option<ManifestSource>, Failure> {
        let from = &self.from;
        Ok(match (&from.preset, &from.manifest, &from.registry) {
            (Some(id), _, _) => Some(ManifestSource::Preset(id.clone())),
            (None, Some(path), _) => Some(path_source(path.clone())?),
            (None, None, Some(name)) => Some(ManifestSource::Published(name.clone())),
            (None, None, None) => None,
        })
    }

    pub(super) async fn add_from_manifest(
        self,
        source: ManifestSource,
        context: &Context,
    ) -> Result<(), Failure> {
        let hub = context.open_hub_handle().await?;
        let added = self.read_and_add(source, &hub).await;
        hub.close().await;
        output::print_answer(context.json, &added?, |server| {
            crate::cmd::servers::format_change("added", server)
        })
    }

    async fn read_and_add(
        self,
        source: ManifestSource,
        hub: &HubHandle,
    ) -> Result<ServerView, Failure> {
        let view = hub
            .run(ReadManifest {
                source: source.clone(),
            })
            .await?;
        let choice = self
            .from
            .package
            .map_or_else(|| find_first_usable(&view), |number| number - 1);
        let (mut values, secrets) = (join_values(self.from.set), join_values(self.secret));
        if let Some(chosen) = usize::try_from(choice)
            .ok()
            .and_then(|index| view.choices.get(index))
        {
            check_missing_inputs(chosen, &values, &secrets)?;
            make_paths_absolute(chosen, &mut values)?;
        }
        let fill = FillManifest {
            source,
            choice,
            name: self.name,
            values,
            secrets,
        };
        let FilledManifest { mut spec, secrets } = hub.run(fill).await?;
        if self.per_client {
            spec.isolation = Isolation::PerClient;
        }
        spec.validate = self.validate.to_validate();
        spec.content_defence = self.content_defence.to_content_defence();
        spec.sandbox = self.confinement.into_sandbox(spec.sandbox.take())?;
        Ok(hub
            .run(AddServer {
                spec,
                secrets,
                pending: self.pending,
                grant_secrets: self.grant_secret,
            })
            .await?)
    }
}

/// Returns the source for a path. The path is made absolute, because the hub may have another
/// working folder.
pub(in crate::cmd::servers) fn path_source(path: PathBuf) -> Result<ManifestSource, Failure> {
    Ok(ManifestSource::Path(std::path::absolute(path)?))
}

/// Returns the index of the first choice (a package or remote of the manifest) that has no problem,
/// or 0 if there is none.
fn find_first_usable(view: &ManifestView) -> u32 {
    let index = view
        .choices
        .iter()
        .position(|choice| choice.problem.is_empty());
    index
        .and_then(|index| u32::try_from(index).ok())
        .unwrap_or(0)
}

/// Collects the values by name. If a name is given several times, its values are joined as lines.
pub(super) fn join_values(pairs: Vec<(String, String)>) -> BTreeMap<String, String> {
    let mut values = BTreeMap::<String, String>::new();
    for (name, value) in pairs {
        values
            .entry(name)
            .and_modify(|lines| *lines = format!("{lines}\n{value}"))
            .or_insert(value);
    }
    values
}

/// Makes paths absolute. A relative path refers to the working folder of this process, which may
/// differ from the folder in which the server starts.
pub(super) fn make_paths_absolute(
    choice: &ManifestChoice,
    values: &mut BTreeMap<String, String>,
) -> Result<(), Failure> {
    for input in choice
        .inputs
        .iter()
        .filter(|input| input.format == InputFormat::Path)
    {
        let Some(value) = values
            .get_mut(&input.name)
            .filter(|value| !value.is_empty())
        else {
            continue;
        };
        let paths = value
            .lines()
            .map(|path| Ok(std::path::absolute(path)?.display().to_string()));
        *value = paths.collect::<Result<Vec<_>, Failure>>()?.join("\n");
    }
    Ok(())
}

/// Reports each missing input on stderr, one per line.
///
/// # Errors
/// Returns an error if a required input without a default is missing, unless the choice has a
/// `problem`.
pub(super) fn check_missing_inputs(
    choice: &ManifestChoice,
    values: &BTreeMap<String, String>,
    secrets: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    let missing: Vec<_> = choice
        .inputs
        .iter()
        .filter(|input| input.required && input.default.is_none())
        .filter(|input| !values.contains_key(&input.name) && !secrets.contains_key(&input.name))
        .collect();
    if missing.is_empty() || !choice.problem.is_empty() {
        return Ok(());
    }
    for input in &missing {
        let option = if input.secret { "--secret" } else { "--set" };
        let separator = if input.description.is_empty() {
            ""
        } else {
            ": "
        };
        let range = input.range().map(|range| format!(" ({range})"));
        print_stderr(&format!(
            "missing input: {option}='{}=…'{separator}{}{}",
            input.name,
            input.description,
            range.unwrap_or_default()
        ));
    }
    Err(Failure::MissingInputs {
        label: choice.label.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_given_twice_becomes_two_lines() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let values = join_values(vec![
            pair("folder", "/a"),
            pair("x", "1"),
            pair("folder", "/b"),
        ]);
        assert_eq!(
            (values["folder"].as_str(), values["x"].as_str()),
            ("/a\n/b", "1")
        );
    }
}
