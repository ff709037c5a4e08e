//! Folders whose files Drawbridge shares with clients.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A folder that the built-in server `folders` shares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct SharedFolder {
    /// The absolute path of the folder, without links.
    pub path: PathBuf,
    /// Whether hidden files, and files whose names suggest that they hold secrets, are shared too.
    #[serde(default)]
    pub all_files: bool,
}
