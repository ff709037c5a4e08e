//! What the hub asks a supervisor to record, and where the results go.

use std::{path::PathBuf, sync::Arc};

use drawbridge_model::access_report::RecordedAccess;
use serde::{Deserialize, Serialize};

/// Receives what becomes known of a recorded run. Each value replaces the one before.
pub type RecordingSink = Arc<dyn Fn(RecordedAccess) + Send + Sync>;

/// Asks a supervisor to record what the server uses.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RecordingRequest {
    /// What every sandbox lets this server read. It is counted, and not listed.
    pub(super) system: Vec<PathBuf>,
    /// The server's own folder in its sandbox. It is counted too.
    pub(super) own_folder: Option<PathBuf>,
    /// The user's home folder.
    pub(super) home: Option<PathBuf>,
}

/// Returns whether this system can record at all.
pub fn is_available() -> bool {
    cfg!(target_os = "linux")
}
