//! `drawbridge secrets`: lists, sets, renames and removes secrets, chooses where they are stored,
//! and unlocks the secret store. No command prints a value.

mod store;

use std::io::{self, IsTerminal, Read};

use clap::Subcommand;
use drawbridge_hub::api::secrets::{
    ListSecrets, RemoveSecret, RenameSecret, SecretView, SetSecret,
};

use crate::{context::Context, exit::Failure, table::Table, text::escape};
use store::UseStore;

#[derive(Subcommand)]
pub(crate) enum Secrets {
    /// List the secrets to which servers, hooks and traces refer
    List,
    /// Set a secret, read from stdin or a hidden prompt
    Set {
        /// The secret's name, as in `${keyring:NAME}`
        name: String,
    },
    /// Remove a secret
    Remove {
        /// The secret's name
        name: String,
        /// Remove the secret even if something refers to it
        #[arg(long)]
        in_use: bool,
    },
    /// Rename a secret, also in the specs that refer to it
    ///
    /// A secret to which a hook or a header for traces refers cannot be renamed.
    Rename {
        /// The secret's name
        name: String,
        /// The new name
        new_name: String,
    },
    /// Show where secrets are stored, and whether they can be read
    Store,
    /// Move all secrets to the keyring, or to an encrypted file
    #[command(subcommand)]
    Use(UseStore),
    /// Unlock the encrypted file of a running hub; the passphrase is read from stdin or a hidden
    /// prompt
    Unlock,
}

impl Secrets {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List => {
                context
                    .run_and_print(ListSecrets {}, |secrets| format_secrets(secrets))
                    .await
            }
            Self::Set { name } => {
                let value = read_value(&name)?;
                let message = format!("Secret '{}' set.", escape(&name));
                context
                    .run_and_print(SetSecret { name, value }, |_| message)
                    .await
            }
            Self::Remove { name, in_use } => {
                let message = format!("Secret '{}' removed.", escape(&name));
                context
                    .run_and_print(
                        RemoveSecret {
                            name,
                            even_if_used: in_use,
                        },
                        |_| message,
                    )
                    .await
            }
            Self::Rename { name, new_name } => {
                let message = format!(
                    "Secret '{}' renamed to '{}'.",
                    escape(&name),
                    escape(&new_name)
                );
                context
                    .run_and_print(RenameSecret { name, new_name }, |_| message)
                    .await
            }
            Self::Store => store::show(context).await,
            Self::Use(place) => place.run(context).await,
            Self::Unlock => store::unlock(context).await,
        }
    }
}

/// Reads the value of a secret from a hidden prompt or, if stdin is no terminal, from stdin without
/// its last line break.
///
/// # Errors
/// Returns an error if the value is empty.
pub(super) fn read_value(name: &str) -> Result<String, Failure> {
    let value = if io::stdin().is_terminal() {
        rpassword::prompt_password(format!("Value of {}: ", escape(name)))?
    } else {
        let mut value = String::new();
        io::stdin().read_to_string(&mut value)?;
        let line = value.strip_suffix('\n').unwrap_or(&value);
        line.strip_suffix('\r').unwrap_or(line).to_owned()
    };
    if value.is_empty() {
        Err(Failure::EmptySecret)
    } else {
        Ok(value)
    }
}

fn format_secrets(secrets: &[SecretView]) -> String {
    let mut table = Table::new(["NAME", "STORED", "USED BY"]);
    for secret in secrets {
        let present = match secret.present {
            Some(true) => "yes",
            Some(false) => "no",
            None => "unknown",
        };
        let servers = secret.servers.iter().map(|id| {
            let state = if secret.not_granted.contains(id) {
                " (not accepted, so the server cannot read the secret)"
            } else {
                ""
            };
            format!("{id}{state}")
        });
        let hooks = secret.hooks.iter().map(|hook| format!("hook {hook}"));
        let traces = secret.traces.then(|| "traces".to_owned());
        let uses: Vec<_> = servers.chain(hooks).chain(traces).collect();
        table.add_row([&secret.name, present, &uses.join(", ")]);
    }
    table.format_or("Nothing refers to a secret.")
}
