//! Stages the contents of a data folder without some of its parts.

use std::{collections::BTreeSet, fs, io, path::Path};

use drawbridge_model::{audit::AuditKind, reset::ResetPart};
use rusqlite::Connection;
use serde_json::json;

use super::{
    BackupError, copy_database, create_private_file, io_error, list_files, lock, record_in_staged,
    remove_leftovers,
};
use crate::{
    audit,
    data_dir::{CLIENT_BACKUPS, DATABASE, SERVERS},
    settings::SettingsValues,
};

/// The names of the settings that belong to the policy begin with this prefix.
const POLICY_SETTINGS: &str = "default_";
/// The settings that no part contains, so that paused calls stay paused.
const KEPT_SETTINGS: [&str; 2] = ["paused", "paused_until"];

/// Copies the contents of the data folder, without the `parts` that a reset deletes, into the
/// staging folder, and records the reset in the audit log there.
pub(super) async fn stage_other_parts(
    data_dir: &Path,
    staging: &Path,
    parts: &BTreeSet<ResetPart>,
) -> Result<(), BackupError> {
    let database = data_dir.join(DATABASE);
    if !database.exists() {
        return Err(BackupError::NoDatabase(database));
    }
    let copied = staging.join(DATABASE);
    {
        let _one_at_a_time = lock(data_dir)?;
        remove_leftovers(data_dir)?;
        if !parts.contains(&ResetPart::Records) {
            // The head file may be older than the database, but not newer, so it is read first.
            for name in [audit::KEY_FILE, audit::head_file::FILE_NAME] {
                copy_file(&data_dir.join(name), &staging.join(name))?;
            }
        }
        let copy = copy_database(&database)?;
        delete_parts(copy.path(), parts).map_err(BackupError::DeleteParts)?;
        copy.persist(&copied)
            .map_err(|error| io_error(&copied)(error.error))?;
    }
    let servers = (!parts.contains(&ResetPart::Servers)).then_some(SERVERS);
    for folder in servers.into_iter().chain([CLIENT_BACKUPS]) {
        for name in list_files(&data_dir.join(folder))? {
            let target = staging.join(folder);
            fs::create_dir_all(&target).map_err(io_error(&target))?;
            copy_file(&data_dir.join(folder).join(&name), &target.join(&name))?;
        }
    }
    // A fault of the audit log is ignored, because it must not prevent a person from deleting data.
    record_in_staged(
        &copied,
        AuditKind::ReplacementPrepared,
        &json!({ "resets": parts }),
    )
    .await?;
    Ok(())
}

/// Deletes the rows of some parts from a copy of the database.
fn delete_parts(database: &Path, parts: &BTreeSet<ResetPart>) -> Result<(), rusqlite::Error> {
    let mut connection = Connection::open(database)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let transaction = connection.transaction()?;
    for part in parts {
        let tables: &[&str] = match part {
            ResetPart::Records => &[
                "call",
                "session_period",
                "audit",
                "audit_head",
                "token_usage",
            ],
            ResetPart::Settings => &["hook"],
            ResetPart::Rules => &["rule"],
            ResetPart::Clients => &["client_profile", "client_copy", "client", "profile"],
            ResetPart::Servers => &["server", "access_report"],
            ResetPart::Memory => &["memory", "memory_index"],
            ResetPart::Secrets => &[],
        };
        for table in tables {
            transaction.execute(&format!("DELETE FROM {table}"), [])?;
        }
        for name in setting_names(*part) {
            transaction.execute("DELETE FROM setting WHERE name = ?", [name])?;
        }
    }
    transaction.commit()?;
    // Without `VACUUM`, deleted rows could still be read from the file.
    connection.execute("VACUUM", []).map(drop)
}

/// Returns the names of the settings that belong to a part.
fn setting_names(part: ResetPart) -> Vec<&'static str> {
    let all = SettingsValues::STORED_NAMES.iter().copied();
    let is_policy = |name: &&str| name.starts_with(POLICY_SETTINGS);
    match part {
        ResetPart::Records => vec![audit::head_file::WRITTEN],
        ResetPart::Settings => all
            .filter(|name| !is_policy(name) && !KEPT_SETTINGS.contains(name))
            .collect(),
        ResetPart::Rules => all.filter(is_policy).collect(),
        ResetPart::Clients | ResetPart::Servers | ResetPart::Memory | ResetPart::Secrets => {
            Vec::new()
        }
    }
}

/// Copies a file, for this user only. A file that does not exist is left out.
fn copy_file(from: &Path, to: &Path) -> Result<(), BackupError> {
    let mut source = match fs::File::open(from) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error(from)(error)),
    };
    let mut target = create_private_file(to).map_err(io_error(to))?;
    io::copy(&mut source, &mut target).map_err(io_error(to))?;
    target.sync_all().map_err(io_error(to))
}
