//! Says how to reopen the app on a desktop that shows no tray icons, in a notification and in the
//! main window, until the person has read the hint. The empty file `reopen-hint-read` in the data
//! folder records that the hint was read.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use serde::Serialize;
use tauri::{AppHandle, Manager};
use tokio::sync::mpsc;

use crate::{input::Input, shortcut, tray};

const FILE: &str = "reopen-hint-read";

/// How long a panel may take to start after the app, if both start when the person logs in.
const PANEL_STARTS_WITHIN: Duration = Duration::from_secs(3);

/// Whether the person has read how to reopen the app. Tauri manages the value as state of the app.
pub(crate) struct ReopenHintRead {
    file: PathBuf,
    is_read: AtomicBool,
}

impl ReopenHintRead {
    pub(crate) fn load(data_dir: PathBuf) -> Self {
        let file = data_dir.join(FILE);
        let is_read = AtomicBool::new(file.exists());
        Self { file, is_read }
    }

    pub(crate) fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Relaxed)
    }

    /// Records that the person has read the hint. If the record cannot be stored, the hint appears
    /// again after the next start.
    pub(crate) fn record(&self) {
        if self.is_read.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Err(error) = fs::write(&self.file, "") {
            tracing::warn!(%error, "{} cannot be written", self.file.display());
        }
    }
}

/// How to reopen the app, as the main window shows it.
#[derive(Debug, Serialize)]
pub(crate) struct ReopenHint {
    /// The global shortcut, if it works.
    shortcut: Option<String>,
}

/// Returns how to reopen the app, or `None` if the person has read the hint or there is a tray.
pub(crate) fn find(app: &AppHandle) -> Option<ReopenHint> {
    let is_known = app.state::<ReopenHintRead>().is_read() || tray::is_shown(app);
    (!is_known).then(|| ReopenHint {
        shortcut: shortcut::registered_keys(app),
    })
}

/// Reports a desktop without a tray, once its panel has had time to start.
pub(crate) async fn report_missing_tray(app: AppHandle, inputs: mpsc::UnboundedSender<Input>) {
    tokio::time::sleep(PANEL_STARTS_WITHIN).await;
    let is_shown = tokio::task::spawn_blocking(move || tray::is_shown(&app)).await;
    if let Ok(false) = is_shown {
        // The controller is dropped only while the app ends.
        let _ = inputs.send(Input::TrayMissing);
    }
}

#[cfg(test)]
mod tests {
    use super::ReopenHintRead;

    #[test]
    fn a_new_start_knows_that_the_reopen_hint_was_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let load = || ReopenHintRead::load(folder.path().to_owned());
        let first = load();
        assert!(!first.is_read());
        assert!(!load().is_read(), "a start does not mark the hint as read");
        first.record();
        assert!(first.is_read() && load().is_read());
    }
}
