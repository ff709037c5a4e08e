//! The folders server: the files of folders that a person chose, as `file://` resources.
//!
//! Each request that needs the list of folders reads this list from the settings, so that a change
//! applies at once. Only the later pages of a list of files still show the folders that were shared
//! when the first page was read. [`private_names`] says which files are private, [`tree`] opens the
//! files, and [`watch`] notices changes.

mod private_names;
mod tree;
mod watch;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use drawbridge_model::{shared_folder::SharedFolder, spec::Isolation};
use drawbridge_store::settings::Settings;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        Implementation, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
        ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig,
        SubscribeRequestParams, UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext},
};
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use super::BuiltInSpec;
use tree::{Contents, ListedFile, Tree};

pub(super) const SPEC: BuiltInSpec = BuiltInSpec {
    name: "Shared folders",
    isolation: Isolation::Shared,
    call_timeout_ms: None,
};

/// The most files that are listed, in all folders together.
const MAX_LISTED: usize = 10_000;
/// The number of files on a page of the list.
const PAGE: usize = 500;
/// The maximum number of files that have subscriptions.
const MAX_SUBSCRIPTIONS: usize = 1_000;
/// The media type of a folder in the freedesktop.org database of media types.
const FOLDER_TYPE: &str = "inode/directory";

/// The server that shares folders with all clients.
pub(super) struct FoldersServer {
    settings: Settings,
    /// Drawbridge's own data folder, which is never shared.
    data_dir: PathBuf,
    listing: Mutex<Listing>,
    subscriptions: Arc<Mutex<Subscriptions>>,
    watch: OnceLock<AbortOnDropHandle<()>>,
}

/// The newest list of files, which clients read page by page.
#[derive(Default)]
struct Listing {
    /// The number of the list, which is a part of its cursors.
    number: u64,
    resources: Arc<Vec<Resource>>,
}

/// The subscribed URIs as clients wrote them. The key is the path of the URIs' file, without links.
#[derive(Default)]
struct Subscriptions(BTreeMap<PathBuf, BTreeSet<String>>);

/// The reason why a folder cannot be shared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderProblem {
    #[error("the path '{0}' is not absolute; use a path such as /home/me/notes")]
    NotAbsolute(String),
    #[error("'{path}' cannot be opened: {source}")]
    Io {
        path: String,
        source: std::io::Error,
    },
    #[error("'{0}' is not a folder; share the folder that contains it")]
    NotFolder(String),
    #[error("'{0}' is the whole disk; share single folders")]
    WholeDisk(String),
    #[error(
        "'{0}' belongs to Drawbridge's data folder, which is never shared; choose another folder"
    )]
    DataFolder(String),
}

/// Returns the path, without links, under which a folder is shared.
///
/// # Errors
/// Returns an error if the folder cannot be shared.
pub(crate) fn check_folder(path: &Path, data_dir: &Path) -> Result<PathBuf, FolderProblem> {
    let text = || path.display().to_string();
    if !path.is_absolute() {
        return Err(FolderProblem::NotAbsolute(text()));
    }
    let io = |source| FolderProblem::Io {
        path: text(),
        source,
    };
    let path_without_links = path.canonicalize().map_err(io)?;
    if !path_without_links.metadata().map_err(io)?.is_dir() {
        return Err(FolderProblem::NotFolder(text()));
    }
    if path_without_links.parent().is_none() {
        return Err(FolderProblem::WholeDisk(text()));
    }
    let data_dir = data_dir
        .canonicalize()
        .unwrap_or_else(|_| data_dir.to_owned());
    if path_without_links.starts_with(data_dir) {
        return Err(FolderProblem::DataFolder(text()));
    }
    Ok(path_without_links)
}

impl FoldersServer {
    pub(super) fn new(settings: Settings, data_dir: PathBuf) -> Self {
        Self {
            settings,
            data_dir,
            listing: Mutex::default(),
            subscriptions: Arc::default(),
            watch: OnceLock::new(),
        }
    }

    fn listing(&self) -> MutexGuard<'_, Listing> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a blocking task with the shared folders and Drawbridge's data folder.
    async fn run_blocking<T: Send + 'static>(
        &self,
        task: impl FnOnce(&[SharedFolder], &Path) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let folders = self.settings.get().shared_folders.clone();
        let data_dir = self.data_dir.clone();
        tokio::task::spawn_blocking(move || task(&folders, &data_dir))
            .await
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

/// Returns the shared folder that contains a URI's file, and the file's path relative to the
/// folder.
fn locate(folders: &[SharedFolder], uri: &str) -> Result<(SharedFolder, PathBuf), ErrorData> {
    let path = Url::parse(uri)
        .ok()
        .filter(|url| url.scheme() == "file")
        .and_then(|url| url.to_file_path().ok());
    let path =
        path.ok_or_else(|| not_found(uri, "it is not the URI of a file on this computer"))?;
    // If one shared folder contains another, the settings of the inner folder apply.
    let folder = folders
        .iter()
        .filter(|folder| path.starts_with(&folder.path))
        .max_by_key(|folder| folder.path.components().count());
    let folder = folder.ok_or_else(|| not_found(uri, "it is in no shared folder"))?;
    let inner = path
        .strip_prefix(&folder.path)
        .expect("the path is in the folder");
    Ok((folder.clone(), inner.to_owned()))
}

/// Returns the tree of a shared folder. A subfolder that is shared on its own is not part of
/// the tree, because it has its own setting for private files.
fn tree_of<'a>(
    folder: &'a SharedFolder,
    folders: &'a [SharedFolder],
    data_dir: &'a Path,
) -> Tree<'a> {
    let others = folders
        .iter()
        .map(|other| other.path.as_path())
        .filter(|other| *other != folder.path && other.starts_with(&folder.path));
    Tree::new(folder, others.chain([data_dir]).collect())
}

fn read_contents(
    folders: &[SharedFolder],
    data_dir: &Path,
    uri: &str,
) -> Result<ResourceContents, ErrorData> {
    let (folder, path) = locate(folders, uri)?;
    let contents = tree_of(&folder, folders, data_dir)
        .read(&path)
        .map_err(|error| not_found(uri, &error.to_string()))?;
    Ok(to_contents(uri, &path, contents))
}

/// Returns the full path, without links, of a URI's file.
fn find_file(folders: &[SharedFolder], data_dir: &Path, uri: &str) -> Result<PathBuf, ErrorData> {
    let (folder, path) = locate(folders, uri)?;
    tree_of(&folder, folders, data_dir)
        .find(&path)
        .map_err(|error| not_found(uri, &error.to_string()))
}

fn not_found(uri: &str, reason: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("{uri} cannot be read: {reason}"), None)
}

/// Returns the URI of a file, or `None` if the path cannot be written as a URI.
fn file_uri(path: &Path) -> Option<String> {
    Url::from_file_path(path).ok().map(Into::into)
}

fn list_resources(folders: &[SharedFolder], data_dir: &Path) -> Vec<Resource> {
    let mut files = Vec::new();
    let mut resources = Vec::new();
    for folder in folders {
        files.clear();
        let remaining = MAX_LISTED - resources.len();
        match tree_of(folder, folders, data_dir).list(remaining, &mut files) {
            Ok(true) => {}
            Ok(false) => tracing::warn!(
                "shared folders: {} has more files than are listed; the others can be read by their URIs",
                folder.path.display()
            ),
            Err(error) => tracing::warn!("shared folders: {}: {error}", folder.path.display()),
        }
        resources.extend(files.iter().filter_map(|file| to_resource(folder, file)));
    }
    resources
}

fn to_resource(folder: &SharedFolder, file: &ListedFile) -> Option<Resource> {
    let uri = file_uri(&folder.path.join(&file.path))?;
    let name = file.path.to_string_lossy().into_owned();
    Some(
        Resource::new(uri, name)
            .with_mime_type(media_type(&file.path))
            .with_size(file.size),
    )
}

/// Returns the media type for the extension of a file.
fn media_type(path: &Path) -> String {
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy());
    match extension.as_deref() {
        // The registered types of `.ts` and `.mts` are videos, and the other extensions have none.
        Some("ts" | "mts" | "cts" | "tsx") => "text/typescript".to_owned(),
        _ => mime_guess::from_path(path)
            .first_or_octet_stream()
            .to_string(),
    }
}

/// Returns whether a media type is a type of text, even if its name does not begin with `text/`.
fn is_text_type(media_type: &str) -> bool {
    media_type.starts_with("text/")
        || media_type.ends_with("+xml")
        || media_type.ends_with("+json")
        || matches!(
            media_type,
            "application/json"
                | "application/javascript"
                | "application/xml"
                | "application/toml"
                | "application/x-sh"
                | "application/sql"
                | "application/yaml"
        )
}

fn to_contents(uri: &str, path: &Path, contents: Contents) -> ResourceContents {
    match contents {
        Contents::Folder { names, is_complete } => {
            let mut text = names.join("\n");
            if !is_complete {
                text.push_str("\n(There are more entries.)");
            }
            ResourceContents::TextResourceContents {
                uri: uri.to_owned(),
                mime_type: Some(FOLDER_TYPE.to_owned()),
                text,
                meta: None,
            }
        }
        Contents::File(bytes) => {
            let media_type = media_type(path);
            match String::from_utf8(bytes) {
                Ok(text) if !text.contains(is_binary_char) => {
                    ResourceContents::TextResourceContents {
                        uri: uri.to_owned(),
                        mime_type: Some(if is_text_type(&media_type) {
                            media_type
                        } else {
                            "text/plain".to_owned()
                        }),
                        text,
                        meta: None,
                    }
                }
                decoded => ResourceContents::BlobResourceContents {
                    uri: uri.to_owned(),
                    mime_type: Some(if media_type.starts_with("text/") {
                        "application/octet-stream".to_owned()
                    } else {
                        media_type
                    }),
                    blob: STANDARD.encode(
                        decoded.map_or_else(|error| error.into_bytes(), String::into_bytes),
                    ),
                    meta: None,
                },
            }
        }
    }
}

/// Returns whether a character shows that a file is binary although the file is valid UTF-8.
fn is_binary_char(c: char) -> bool {
    c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0c' | '\x1b')
}

/// Returns the page of the list that begins at an index, and the index of the next page, if any.
/// The page is empty if the index is beyond the end of the list.
fn page_at(resources: &[Resource], start: usize) -> (&[Resource], Option<usize>) {
    let end = start.saturating_add(PAGE).min(resources.len());
    let page = resources.get(start..end).unwrap_or_default();
    (page, (end < resources.len()).then_some(end))
}

/// Reads a cursor: the number of a list, and the index of the next entry.
fn parse_cursor(cursor: &str) -> Option<(u64, usize)> {
    let (number, index) = cursor.split_once('.')?;
    Some((number.parse().ok()?, index.parse().ok()?))
}

impl ServerHandler for FoldersServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new(
            "drawbridge-folders",
            env!("CARGO_PKG_VERSION"),
        ))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let task = watch::run(
            self.settings.clone(),
            self.subscriptions.clone(),
            context.peer,
        );
        let _ = self.watch.set(AbortOnDropHandle::new(tokio::spawn(task)));
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let (number, start, resources) = match cursor {
            None => {
                let resources = Arc::new(self.run_blocking(list_resources).await?);
                let mut listing = self.listing();
                listing.number += 1;
                listing.resources = resources.clone();
                (listing.number, 0, resources)
            }
            Some(cursor) => {
                let listing = self.listing();
                let expired = || {
                    ErrorData::invalid_params(
                        "the cursor is unknown or belongs to an older list; read the list from its beginning",
                        None,
                    )
                };
                let (number, start) = parse_cursor(&cursor)
                    .filter(|(number, _)| *number == listing.number)
                    .ok_or_else(expired)?;
                (number, start, listing.resources.clone())
            }
        };
        let (page, next) = page_at(&resources, start);
        let mut result = ListResourcesResult::with_all_items(page.to_vec());
        result.next_cursor = next.map(|next| format!("{number}.{next}"));
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let folders = self.settings.get().shared_folders.clone();
        let templates = folders.iter().filter_map(|folder| {
            let uri = file_uri(&folder.path)?;
            let name = folder.path.file_name()?.to_string_lossy().into_owned();
            Some(
                ResourceTemplate::new(format!("{uri}/{{+path}}"), name).with_description(format!(
                    "A file in {}, or the names in one of its folders",
                    folder.path.display()
                )),
            )
        });
        Ok(ListResourceTemplatesResult::with_all_items(
            templates.collect(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let contents = self
            .run_blocking(move |folders, data_dir| read_contents(folders, data_dir, &uri))
            .await??;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = request.uri.clone();
        let file = self
            .run_blocking(move |folders, data_dir| find_file(folders, data_dir, &uri))
            .await??;
        let mut subscriptions = self.subscriptions();
        if subscriptions.0.len() >= MAX_SUBSCRIPTIONS && !subscriptions.0.contains_key(&file) {
            return Err(ErrorData::invalid_params(
                format!("at most {MAX_SUBSCRIPTIONS} files can be subscribed to at a time"),
                None,
            ));
        }
        subscriptions.0.entry(file).or_default().insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions().0.retain(|_, uris| {
            uris.remove(&request.uri);
            !uris.is_empty()
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
