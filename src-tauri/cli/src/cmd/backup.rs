//! `drawbridge backup`: makes backups of the data folder, restores them, resets the folder, and
//! cancels a prepared reset or restore.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use clap::{Subcommand, ValueEnum};
use drawbridge_endpoint::HubHandle;
use drawbridge_hub::api::{
    ApiError, Done,
    backup::{CancelReplacement, ResetDataFolder},
};
use drawbridge_model::reset::ResetPart;
use drawbridge_store::{
    backup::{BackupManifest, cancel_prepared, create_backup, read_manifest, restore_backup},
    data_dir::DataDir,
};
use serde::Serialize;

use crate::{
    confirm::confirm,
    context::Context,
    exit::Failure,
    output::print_answer,
    text::{escape, format_count},
    time::format_time,
};

#[derive(Subcommand)]
pub(crate) enum Backup {
    /// Save the data folder in a ZIP archive, without secrets
    ///
    /// The archive has the database (calls, rules, clients, profiles, hooks, settings and memory),
    /// the audit log, the specs of servers, and encrypted copies of the clients' files.
    Create {
        /// The archive; it must not exist yet
        #[arg(value_name = "FILE.zip")]
        file: PathBuf,
    },
    /// Replace the contents of the data folder with those of a backup
    ///
    /// Drawbridge must not run. The replaced contents stay in the data folder, in a folder
    /// `replaced-…`.
    Restore {
        /// The archive
        #[arg(value_name = "FILE.zip")]
        file: PathBuf,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Delete everything that Drawbridge stores, or the named parts
    ///
    /// Secrets are deleted at once and for good. The next start of Drawbridge moves the other parts
    /// to a folder `replaced-…` in the data folder.
    Reset {
        /// The parts to delete; everything if none is named
        #[arg(value_enum, value_name = "PART")]
        parts: Vec<Part>,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Cancel a prepared reset or restore
    Cancel,
}

/// A part of Drawbridge's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Calls and the audit log
    Records,
    /// Settings and hooks
    Settings,
    /// Rules and the defaults of the policy
    Rules,
    /// Clients and profiles
    Clients,
    /// Servers, and which of their definitions are accepted
    Servers,
    /// The entries of the built-in memory
    Memory,
    /// Secrets, and the sign-ins to servers
    Secrets,
}

impl From<Part> for ResetPart {
    fn from(part: Part) -> Self {
        match part {
            Part::Records => Self::Records,
            Part::Settings => Self::Settings,
            Part::Rules => Self::Rules,
            Part::Clients => Self::Clients,
            Part::Servers => Self::Servers,
            Part::Memory => Self::Memory,
            Part::Secrets => Self::Secrets,
        }
    }
}

/// A backup, as `--json` prints it.
#[derive(Serialize)]
struct CreatedBackup<'a> {
    file: String,
    #[serde(flatten)]
    manifest: &'a BackupManifest,
}

/// A restored backup, as `--json` prints it.
#[derive(Serialize)]
struct RestoredFolder<'a> {
    data_dir: String,
    /// The folder to which the replaced contents were moved, or `None` if nothing was replaced.
    previous: Option<String>,
    /// The fault of the audit log in the backup, or `None` if the log is intact.
    audit_fault: Option<&'a str>,
    #[serde(flatten)]
    manifest: &'a BackupManifest,
}

impl Backup {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        if context.remote_hub()?.is_some() {
            return Err(Failure::BackupOfRemoteHub);
        }
        match self {
            Self::Create { file } => create(context, &file),
            Self::Restore { file, yes } => restore(context, &file, yes).await,
            Self::Reset { parts, yes } => reset(context, &parts, yes).await,
            Self::Cancel => cancel(context).await,
        }
    }
}

fn create(context: &Context, file: &Path) -> Result<(), Failure> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let archive = options.open(file).map_err(|source| Failure::CreateFile {
        file: file.to_owned(),
        source,
    })?;
    let created = create_backup(&context.data_dir, env!("CARGO_PKG_VERSION"), &archive)
        .map_err(Failure::from)
        .and_then(|manifest| {
            archive.sync_all()?;
            Ok(manifest)
        });
    let manifest = created.inspect_err(|_| {
        // The incomplete archive would look like a backup.
        let _ = std::fs::remove_file(file);
    })?;
    let answer = CreatedBackup {
        file: file.display().to_string(),
        manifest: &manifest,
    };
    print_answer(context.json, &answer, |answer| {
        let count = u32::try_from(manifest.files.len()).unwrap_or(u32::MAX);
        format!(
            "Saved {} in {}.\n\
             Keep the archive where only you can read it: it has the key of the audit log, the memory, \
             and any secret that a spec contains in plain text. It has no secrets of the secret store.",
            format_count(count, "file", "files"),
            escape(&answer.file),
        )
    })
}

async fn reset(context: &Context, parts: &[Part], yes: bool) -> Result<(), Failure> {
    let parts = if parts.is_empty() {
        Part::value_variants()
    } else {
        parts
    };
    if !yes {
        let lines: Vec<_> = parts
            .iter()
            .filter_map(|part| part.to_possible_value())
            .filter_map(|part| Some(format!("  {}", part.get_help()?)))
            .collect();
        confirm(
            &format!(
                "This deletes from {}:\n{}",
                escape(&context.data_dir.display().to_string()),
                lines.join("\n")
            ),
            "Delete this data?",
        )?;
    }
    let needs_restart = parts.iter().any(|part| *part != Part::Secrets);
    let parts = parts.iter().copied().map(ResetPart::from).collect();
    context
        .run_and_print(ResetDataFolder { parts }, |_| {
            if needs_restart {
                "The reset is prepared. To complete it, start Drawbridge, or quit it and start it \
                 again. To cancel it, run `drawbridge backup cancel`. Secrets, if the reset \
                 includes them, are already deleted."
                    .to_owned()
            } else {
                "The secrets are deleted.".to_owned()
            }
        })
        .await
}

/// Cancels a prepared reset or restore. Opens no hub in this process, because opening a hub would
/// complete the reset or restore.
async fn cancel(context: &Context) -> Result<(), Failure> {
    if let Ok(client) = context.running_hub() {
        HubHandle::OtherProcess(client)
            .run(CancelReplacement {})
            .await?;
    } else if !cancel_prepared(&context.data_dir)? {
        return Err(ApiError::conflict("no restore and no reset is prepared").into());
    }
    print_answer(context.json, &Done {}, |_| {
        "The next start of Drawbridge changes nothing.".to_owned()
    })
}

async fn restore(context: &Context, file: &Path, yes: bool) -> Result<(), Failure> {
    let open = || {
        File::open(file).map_err(|source| Failure::ReadFile {
            file: file.to_owned(),
            source,
        })
    };
    let manifest = read_manifest(open()?)?;
    // Lock the folder first, so that nobody has to confirm a restore that then fails.
    let data_dir = DataDir::open(context.data_dir.clone()).map_err(ApiError::from)?;
    if !yes {
        confirm(
            &format!(
                "The backup was made on {} by version {}.\n\
                 Restoring it replaces the calls, rules, clients, profiles, hooks, settings, memory \
                 and servers in {}. \
                 Clients that were revoked after the backup have access again, and rules that were \
                 deleted apply again.",
                format_time(manifest.created_at),
                escape(&manifest.version),
                escape(&data_dir.path().display().to_string()),
            ),
            "Restore the backup?",
        )?;
    }
    let restored = restore_backup(&data_dir, open()?).await?;
    let answer = RestoredFolder {
        data_dir: data_dir.path().display().to_string(),
        previous: restored
            .previous
            .as_ref()
            .map(|previous| previous.display().to_string()),
        audit_fault: restored.audit_fault.as_deref(),
        manifest: &restored.manifest,
    };
    print_answer(context.json, &answer, |answer| {
        let mut lines = vec!["The backup is restored.".to_owned()];
        if let Some(previous) = &answer.previous {
            lines.push(format!(
                "The replaced contents are in {}. Delete that folder when you no longer need it.",
                escape(previous)
            ));
        }
        if let Some(fault) = answer.audit_fault {
            lines.push(format!(
                "The audit log in the backup is not intact {}.",
                escape(fault)
            ));
        }
        lines.push(
            "Secrets are not in a backup: `drawbridge secrets list` shows which secrets are missing."
                .to_owned(),
        );
        lines.join("\n")
    })
}
