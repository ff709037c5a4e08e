//! The hub's request to a supervisor to record a server's accesses, and the receiver of the
//! results.

use std::{path::PathBuf, sync::Arc};

use drawbridge_model::access_report::RecordedAccess;
use serde::{Deserialize, Serialize};

/// Receives the accesses of a recorded run. Each value replaces the previous value.
pub type RecordingSink = Arc<dyn Fn(RecordedAccess) + Send + Sync>;

/// Asks a supervisor to record the server's accesses.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RecordingRequest {
    /// The files that every sandbox lets this server read. Reads of them are counted, and not
    /// listed.
    pub(super) system: Vec<PathBuf>,
    /// The server's own folder in its sandbox. Uses of the files in it are counted, and not listed.
    pub(super) own_folder: Option<PathBuf>,
    /// The user's home folder, whose caches are listed as one entry each.
    pub(super) home: Option<PathBuf>,
}

/// Returns whether runs can be recorded on this operating system. An old kernel may still refuse.
pub fn is_available() -> bool {
    cfg!(target_os = "linux")
}
