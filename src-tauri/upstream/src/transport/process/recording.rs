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
    /// The files that every sandbox lets this server read. The recorder counts reads of these
    /// files, and does not list them.
    pub(super) system: Vec<PathBuf>,
    /// The server's own folder in its sandbox. The recorder counts uses of the files in this
    /// folder, and does not list them.
    pub(super) own_folder: Option<PathBuf>,
    /// The user's home folder, whose caches are listed as one entry each.
    pub(super) home: Option<PathBuf>,
}

/// Returns whether runs can be recorded on this operating system. An old kernel may still refuse.
pub fn is_available() -> bool {
    cfg!(target_os = "linux")
}
