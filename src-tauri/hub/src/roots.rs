//! The folders that Drawbridge gives to servers as roots in place of a client that cannot name
//! roots: the project folder in which the client works or, if it works in none, the folders in the
//! settings.

use std::path::Path;

use drawbridge_jsonrpc::json::{self, Json};
use drawbridge_store::settings::Settings;
use serde_json::json;
use url::Url;

/// The maximum number of folders in the settings.
const MAX_ROOTS: usize = 50;

/// The roots that Drawbridge can give. Cheap to clone.
#[derive(Clone)]
pub struct Roots {
    settings: Settings,
}

/// Why a folder cannot be a root.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    #[error("'{0}' is neither an absolute path nor a file:// URL of this computer")]
    NotFolderUrl(String),
    #[error("'{folder}' cannot be used: {source}")]
    Unreadable {
        folder: String,
        source: std::io::Error,
    },
    #[error("'{0}' is not a folder")]
    NotFolder(String),
    #[error("there can be at most {MAX_ROOTS} roots")]
    TooMany,
}

impl Roots {
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Returns whether there are roots for a client that works in this project folder, or in no
    /// project folder.
    pub fn has_any(&self, project: Option<&Path>) -> bool {
        project.is_some() || !self.settings.get().roots.is_empty()
    }

    /// Returns the result of `roots/list`, or `None` if there are no roots to give.
    pub fn list_result(&self, project: Option<&Path>) -> Option<Json> {
        let urls = match project {
            Some(folder) => vec![Url::from_file_path(folder).ok()?.to_string()],
            None => self.settings.get().roots.clone(),
        };
        if urls.is_empty() {
            return None;
        }
        let root = |url: &String| match folder_name(url) {
            Some(name) => json!({ "uri": url, "name": name }),
            None => json!({ "uri": url }),
        };
        let roots: Vec<_> = urls.iter().map(root).collect();
        Some(json::to_raw(&json!({ "roots": roots })).into())
    }
}

/// Returns the last part of the folder's path.
fn folder_name(url: &str) -> Option<String> {
    let path = Url::parse(url).ok()?.to_file_path().ok()?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// Returns the `file://` URLs of folders that a person gave as paths or URLs, without duplicates.
///
/// # Errors
/// Returns an error if a path or URL is not a readable folder, or if there are too many folders.
pub fn check_roots(folders: &[String]) -> Result<Vec<String>, RootError> {
    let mut urls = Vec::new();
    for folder in folders {
        let url = check_root(folder.trim())?;
        if !urls.contains(&url) {
            urls.push(url);
        }
    }
    if urls.len() > MAX_ROOTS {
        return Err(RootError::TooMany);
    }
    Ok(urls)
}

fn check_root(folder: &str) -> Result<String, RootError> {
    let not_url = || RootError::NotFolderUrl(folder.to_owned());
    let path = match Url::parse(folder) {
        Ok(url) if url.scheme() == "file" => url.to_file_path().map_err(|()| not_url())?,
        _ if Path::new(folder).is_absolute() => Path::new(folder).to_owned(),
        _ => return Err(not_url()),
    };
    let metadata = path.metadata().map_err(|source| RootError::Unreadable {
        folder: folder.to_owned(),
        source,
    })?;
    if !metadata.is_dir() {
        return Err(RootError::NotFolder(folder.to_owned()));
    }
    let url = Url::from_file_path(&path).map_err(|()| not_url())?;
    Ok(url.to_string())
}

#[cfg(test)]
mod tests {
    use super::check_roots;

    #[test]
    fn folders_become_urls_without_duplicates_and_everything_else_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let spaced = folder.path().join("my work");
        std::fs::create_dir(&spaced).expect("make the folder");
        let path = spaced.display().to_string();
        let url = url::Url::from_file_path(&spaced)
            .expect("a path")
            .to_string();
        assert!(url.ends_with("/my%20work"), "{url}");
        let roots = check_roots(&[path.clone(), url.clone()]).expect("folders");
        assert_eq!(roots, [url]);
        let file = folder.path().join("file");
        std::fs::write(&file, "").expect("write");
        for wrong in [
            "work",
            "https://example.com/",
            "file://server/share",
            &format!("{path}/missing"),
            &file.display().to_string(),
        ] {
            check_roots(&[wrong.to_owned()]).expect_err(wrong);
        }
    }
}
