//! Adds the server of an MCP bundle. `--set` and `--secret` give the values of its inputs; a
//! required secret that is missing is read from stdin or a hidden prompt.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal},
    path::PathBuf,
};

use drawbridge_endpoint::HubHandle;
use drawbridge_hub::api::{
    bundles::{AddBundle, BundleSource, OpenBundle},
    servers::{ManifestChoice, ServerView},
};

use super::{
    AddArgs,
    manifest::{check_missing_inputs, join_values, make_paths_absolute},
};
use crate::{
    cmd::secrets::read_value,
    context::Context,
    exit::{Failure, print_stderr},
    output,
    text::escape,
};

impl AddArgs {
    pub(super) async fn add_bundle(self, path: PathBuf, context: &Context) -> Result<(), Failure> {
        let hub = context.open_hub_handle().await?;
        let added = self.open_and_add(path, &hub).await;
        hub.close().await;
        output::print_answer(context.json, &added?, |server| {
            crate::cmd::servers::format_change("added", server)
        })
    }

    async fn open_and_add(self, path: PathBuf, hub: &HubHandle) -> Result<ServerView, Failure> {
        // The hub may have another working folder, and a remote hub has other files.
        let mut source = BundleSource::Path(std::path::absolute(path)?);
        if hub.is_remote() {
            source = source.embed()?;
        }
        let bundle = hub
            .run(OpenBundle {
                source: source.clone(),
            })
            .await?;
        let (mut values, mut secrets) = (join_values(self.from.set), join_values(self.secret));
        ask_for_secrets(&bundle.choice, &values, &mut secrets)?;
        check_missing_inputs(&bundle.choice, &values, &secrets)?;
        make_paths_absolute(&bundle.choice, &mut values)?;
        let add = AddBundle {
            source,
            name: self.name,
            values,
            secrets,
        };
        Ok(hub.run(add).await?)
    }
}

/// Reads the required secrets that are missing. Without a terminal, reads a secret from stdin only
/// if exactly one is missing. Reads nothing if the bundle cannot be used, which is the `problem` of
/// the choice.
fn ask_for_secrets(
    choice: &ManifestChoice,
    values: &BTreeMap<String, String>,
    secrets: &mut BTreeMap<String, String>,
) -> Result<(), Failure> {
    let is_missing = |name: &String| !values.contains_key(name) && !secrets.contains_key(name);
    let missing: Vec<_> = choice
        .inputs
        .iter()
        .filter(|input| input.secret && input.required && input.default.is_none())
        .map(|input| input.name.clone())
        .filter(is_missing)
        .collect();
    let can_ask = missing.len() == 1 || io::stdin().is_terminal();
    if can_ask && choice.problem.is_empty() {
        for name in missing {
            if !io::stdin().is_terminal() {
                print_stderr(&format!("Reading '{}' from stdin.", escape(&name)));
            }
            let value = read_value(&name)?;
            secrets.insert(name, value);
        }
    }
    Ok(())
}
