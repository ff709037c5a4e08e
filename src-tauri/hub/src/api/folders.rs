//! The folders that the built-in server `folders` shares with clients.

use std::path::PathBuf;

use drawbridge_model::{
    audit::AuditKind, builtin::BuiltIn, event::Event, shared_folder::SharedFolder,
};
use drawbridge_store::settings::{SettingsChange, SettingsValues};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ApiError, Verb};
use crate::{
    builtin::{FolderProblem, check_folder},
    hub::Hub,
};

/// The maximum number of folders that can be shared.
const MAX_FOLDERS: usize = 32;

/// The shared folders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FoldersView {
    /// Whether the built-in server `folders` is enabled. `servers.enable` changes this.
    pub enabled: bool,
    pub folders: Vec<FolderView>,
}

/// A shared folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FolderView {
    pub path: String,
    /// Whether hidden files and likely secrets are shared too.
    pub all_files: bool,
    /// Why the folder cannot be read now, in plain words; empty if there is no problem.
    pub problem: String,
}

/// `folders.list`: the shared folders, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListFolders {}

/// `folders.add`: shares a folder, or changes how a shared folder is shared. Also enables the
/// built-in server `folders`, unless a person has enabled or disabled it before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AddFolder {
    /// An absolute path on the hub's computer. Links in it are resolved.
    pub path: String,
    /// Whether to share hidden files too, and files whose names suggest that they hold secrets.
    #[serde(default)]
    pub all_files: bool,
}

/// `folders.remove`: stops sharing a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RemoveFolder {
    pub path: String,
}

impl Verb for ListFolders {
    type Answer = FoldersView;

    async fn run(self, hub: &Hub) -> Result<FoldersView, ApiError> {
        folders_view(hub).await
    }
}

impl Verb for AddFolder {
    type Answer = FoldersView;

    async fn run(self, hub: &Hub) -> Result<FoldersView, ApiError> {
        let data_dir = hub.data_dir.path().to_owned();
        let path = PathBuf::from(self.path);
        let checked = tokio::task::spawn_blocking(move || check_folder(&path, &data_dir)).await;
        let path = checked.map_err(|error| ApiError::unavailable(error.to_string()))??;
        let known = hub.settings.get().shared_folders.clone();
        if known.len() >= MAX_FOLDERS && !known.iter().any(|folder| folder.path == path) {
            return Err(ApiError::conflict(format!(
                "at most {MAX_FOLDERS} folders can be shared; stop sharing a folder first"
            )));
        }
        let added = SharedFolder {
            path,
            all_files: self.all_files,
        };
        update_folders(hub, move |folders| {
            folders.retain(|folder| folder.path != added.path);
            folders.push(added);
            folders.sort_by(|a, b| a.path.cmp(&b.path));
        })
        .await?;
        if hub.settings.get().folders_enabled.is_none() {
            hub.enable_built_in(BuiltIn::Folders, true).await?;
        }
        refresh_catalog(hub);
        folders_view(hub).await
    }
}

impl Verb for RemoveFolder {
    type Answer = FoldersView;

    async fn run(self, hub: &Hub) -> Result<FoldersView, ApiError> {
        let path = PathBuf::from(&self.path);
        // The links in the path of a folder that no longer exists cannot be resolved.
        let resolved = path.canonicalize().unwrap_or_else(|_| path.clone());
        let is_named = |folder: &SharedFolder| folder.path == path || folder.path == resolved;
        if !hub.settings.get().shared_folders.iter().any(is_named) {
            return Err(ApiError::not_found(format!(
                "'{}' is not shared; see `drawbridge folders list`",
                self.path
            )));
        }
        update_folders(hub, |folders| folders.retain(|folder| !is_named(folder))).await?;
        refresh_catalog(hub);
        folders_view(hub).await
    }
}

async fn folders_view(hub: &Hub) -> Result<FoldersView, ApiError> {
    let data_dir = hub.data_dir.path().to_owned();
    let shared = hub.settings.get().shared_folders.clone();
    let folders = tokio::task::spawn_blocking(move || {
        let view = |folder: SharedFolder| {
            let problem = match check_folder(&folder.path, &data_dir) {
                Ok(path) if path == folder.path => String::new(),
                Ok(_) => {
                    "there is a link in its path now; remove the folder, and add it again".into()
                }
                Err(problem) => problem.to_string(),
            };
            FolderView {
                path: folder.path.display().to_string(),
                all_files: folder.all_files,
                problem,
            }
        };
        shared.into_iter().map(view).collect()
    });
    Ok(FoldersView {
        enabled: hub.registry.get(&BuiltIn::Folders.id())?.spec.enabled,
        folders: folders
            .await
            .map_err(|error| ApiError::unavailable(error.to_string()))?,
    })
}

/// Changes the shared folders, and records the change in the audit log.
async fn update_folders(
    hub: &Hub,
    change: impl FnOnce(&mut Vec<SharedFolder>),
) -> Result<(), ApiError> {
    let changed = hub
        .settings
        .update(|values: &SettingsValues| {
            let mut folders = values.shared_folders.clone();
            change(&mut folders);
            SettingsChange {
                shared_folders: Some(folders),
                ..SettingsChange::default()
            }
        })
        .await?;
    if !changed.is_empty() {
        let note = json!({ "changed": changed });
        hub.store.append_audit(AuditKind::SettingsChanged, &note);
    }
    hub.events.publish(Event::SettingsChanged);
    Ok(())
}

/// Makes the catalog read the lists of the server `folders` again, and notifies the screens.
fn refresh_catalog(hub: &Hub) {
    let id = BuiltIn::Folders.id();
    let may_run = hub.registry.get_runnable(&id).is_ok();
    if may_run && hub.has_endpoint() {
        hub.catalog.start_sync(id.clone());
    }
    hub.events.publish(Event::ServerChanged { id });
}

impl From<FolderProblem> for ApiError {
    fn from(problem: FolderProblem) -> Self {
        Self::invalid(problem.to_string())
    }
}
