//! `drawbridge secrets store`, `use` and `unlock`: shows, changes and unlocks the secret store.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf, absolute},
};

use clap::Subcommand;
use drawbridge_hub::api::secrets::store::{
    SecretStoreChange, SecretStoreView, ShowSecretStore, UnlockSecrets, UseSecretStore,
};
use drawbridge_model::secret::{SecretStoreKind, SecretStoreStatus};
use drawbridge_store::secrets::KeySource;

use super::read_value;
use crate::{context::Context, exit::Failure, output, text::escape};

#[derive(Subcommand)]
pub(crate) enum UseStore {
    /// Use the keyring of the operating system
    Keyring,
    /// Use an encrypted file in the data folder, or give it another key
    ///
    /// Without an option, Drawbridge uses the file that DRAWBRIDGE_SECRETS_KEY_FILE or
    /// DRAWBRIDGE_SECRETS_PASSPHRASE_FILE names, or a passphrase that you type now and after each
    /// start.
    File {
        /// The file with the key, an age identity. Drawbridge creates the file if it does not exist
        #[arg(long, value_name = "PATH", conflicts_with = "passphrase_file")]
        key_file: Option<PathBuf>,
        /// A file with a passphrase
        #[arg(long, value_name = "PATH")]
        passphrase_file: Option<PathBuf>,
    },
}

impl UseStore {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let mut verb = UseSecretStore {
            kind: SecretStoreKind::Keyring,
            key_file: None,
            passphrase_file: None,
            passphrase: None,
        };
        if let Self::File {
            key_file,
            passphrase_file,
        } = self
        {
            context.warn_about_remote_files();
            verb.kind = SecretStoreKind::File;
            verb.key_file = key_file.as_deref().map(absolute_text).transpose()?;
            verb.passphrase_file = passphrase_file.as_deref().map(absolute_text).transpose()?;
            let has_source = key_file.is_some() || passphrase_file.is_some();
            if !has_source && KeySource::from_environment().is_none() && io::stdin().is_terminal() {
                verb.passphrase = Some(choose_passphrase()?);
            }
        }
        context.run_and_print(verb, format_change).await
    }
}

/// Returns the absolute path, because the hub may have another working folder.
fn absolute_text(path: &Path) -> Result<String, Failure> {
    Ok(absolute(path)?.display().to_string())
}

fn choose_passphrase() -> Result<String, Failure> {
    let passphrase = rpassword::prompt_password("New passphrase: ")?;
    if passphrase.is_empty() {
        return Err(Failure::EmptySecret);
    }
    if rpassword::prompt_password("The same passphrase again: ")? != passphrase {
        return Err(Failure::DifferentPassphrases);
    }
    Ok(passphrase)
}

pub(super) async fn show(context: &Context) -> Result<(), Failure> {
    context
        .run_and_print(ShowSecretStore {}, format_store)
        .await
}

pub(super) async fn unlock(context: &Context) -> Result<(), Failure> {
    let hub = context.running_hub()?;
    let passphrase = read_value("the passphrase")?;
    let store = hub.call(UnlockSecrets { passphrase }).await?;
    output::print_answer(context.json, &store, format_store)
}

fn format_store(store: &SecretStoreView) -> String {
    let place = match (store.kind, &store.file) {
        (SecretStoreKind::File, Some(file)) => format!("the encrypted file {}", escape(file)),
        (SecretStoreKind::File, None) => "an encrypted file".to_owned(),
        (SecretStoreKind::Keyring, _) => "the keyring".to_owned(),
    };
    let status = match store.status {
        SecretStoreStatus::Ready => {
            return format!("Secrets are stored in {place}, which is ready.");
        }
        SecretStoreStatus::Locked => "locked",
        SecretStoreStatus::Absent => "absent",
        SecretStoreStatus::Unusable => "unusable",
    };
    format!(
        "Secrets are stored in {place} ({status}).\n{}.\n{}",
        escape(&store.problem),
        escape(&store.remedy)
    )
}

fn format_change(change: &SecretStoreChange) -> String {
    let mut text = format_store(&change.store);
    text += &format!("\n{}", format_moved_count(change.moved.len()));
    let lists = [
        (
            "These secrets are needed and were not moved, because no keyring runs. Set them again",
            &change.unread,
        ),
        (
            "These secrets were moved, but could not be removed from the keyring",
            &change.not_removed,
        ),
        (
            "These spec files cannot be read. Their secrets were not moved and stay in the keyring",
            &change.broken_files,
        ),
    ];
    for (title, names) in lists {
        if !names.is_empty() {
            let names: Vec<_> = names.iter().map(|name| escape(name)).collect();
            text += &format!("\n{title}: {}", names.join(", "));
        }
    }
    text
}

fn format_moved_count(count: usize) -> String {
    match count {
        0 => "There was no secret to move.".to_owned(),
        1 => "1 secret was moved.".to_owned(),
        count => format!("{count} secrets were moved."),
    }
}
