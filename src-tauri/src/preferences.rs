//! The preferences of the app on this computer, in the file `desktop.json` in the data folder.
//! The settings of a hub are elsewhere, because the app may show a hub of another computer.

use std::{
    fs, io,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::notifications::notice::NoticeKind;

const FILE: &str = "desktop.json";

/// The default keys of the global shortcut.
pub(crate) const DEFAULT_KEYS: &str = if cfg!(target_os = "macos") {
    "Cmd+Alt+D"
} else {
    "Ctrl+Alt+D"
};

/// The choices of a person. A choice that is missing in the file has its default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Preferences {
    /// The keys of the global shortcut, such as `Ctrl+Alt+D`; empty for none.
    pub(crate) shortcut: String,
    pub(crate) notifications: Notifications,
}

/// The events about which the app shows notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Notifications {
    /// Calls that wait for a decision, and clients that ask to be paired.
    pub(crate) approvals: bool,
    /// Calls that nobody decided in time, and clients that are muted because of them.
    pub(crate) missed: bool,
    /// Servers that failed and are not started again soon.
    pub(crate) failed_servers: bool,
    /// New or changed definitions that wait for acceptance.
    #[serde(alias = "changed_tools")]
    pub(crate) changed_definitions: bool,
}

impl Notifications {
    /// Returns whether the person wants notifications of this kind.
    pub(crate) fn include(self, kind: NoticeKind) -> bool {
        match kind {
            NoticeKind::Approvals | NoticeKind::Pairings => self.approvals,
            NoticeKind::MissedCalls | NoticeKind::MutedClient => self.missed,
            NoticeKind::FailedServers => self.failed_servers,
            NoticeKind::UnacceptedDefinitions => self.changed_definitions,
            // A person who turned the search for updates on wants to know the results. Without the
            // hint on how to reopen the app, a person might not find the app again.
            NoticeKind::Update | NoticeKind::ReopenHint => true,
        }
    }
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            shortcut: DEFAULT_KEYS.to_owned(),
            notifications: Notifications::default(),
        }
    }
}

impl Default for Notifications {
    fn default() -> Self {
        Self {
            approvals: true,
            missed: true,
            failed_servers: true,
            changed_definitions: true,
        }
    }
}

/// The preferences while the app runs. Tauri manages the value as state of the app.
pub(crate) struct StoredPreferences {
    file: PathBuf,
    current: Mutex<Preferences>,
}

impl StoredPreferences {
    /// Reads the stored preferences. A file that is missing or cannot be read counts as the
    /// defaults.
    pub(crate) fn load(data_dir: PathBuf) -> Self {
        let file = data_dir.join(FILE);
        let current = match fs::read(&file) {
            Ok(text) => serde_json::from_slice(&text)
                .inspect_err(|error| tracing::warn!("{} cannot be read: {error}", file.display()))
                .unwrap_or_default(),
            Err(_) => Preferences::default(),
        };
        Self {
            file,
            current: Mutex::new(current),
        }
    }

    pub(crate) fn get(&self) -> Preferences {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Stores new preferences. Blocks.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written. The preferences then stay as they are.
    pub(crate) fn set(&self, new: Preferences) -> io::Result<()> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let new_file = self.file.with_extension("json.new");
        fs::write(&new_file, serde_json::to_vec(&new)?)?;
        fs::rename(&new_file, &self.file)?;
        *current = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_outlive_the_app_and_missing_choices_have_their_defaults() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(
            folder.path().join(FILE),
            r#"{"notifications": {"missed": false}}"#,
        )
        .expect("write the file");
        let stored = StoredPreferences::load(folder.path().to_owned());
        let mut preferences = stored.get();
        assert_eq!(preferences.shortcut, DEFAULT_KEYS);
        assert!(preferences.notifications.approvals && !preferences.notifications.missed);
        preferences.shortcut = String::new();
        stored.set(preferences.clone()).expect("store");
        assert_eq!(
            StoredPreferences::load(folder.path().to_owned()).get(),
            preferences
        );
    }

    #[test]
    fn notifications_of_calls_and_servers_can_be_turned_off() {
        let off = Notifications {
            approvals: false,
            missed: false,
            failed_servers: false,
            changed_definitions: false,
        };
        let shown: Vec<_> = NoticeKind::BY_URGENCY
            .into_iter()
            .filter(|kind| off.include(*kind))
            .collect();
        assert_eq!(shown, [NoticeKind::Update, NoticeKind::ReopenHint]);
        let on = Notifications::default();
        assert!(
            NoticeKind::BY_URGENCY
                .into_iter()
                .all(|kind| on.include(kind))
        );
    }

    #[test]
    fn a_choice_of_an_earlier_version_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(
            folder.path().join(FILE),
            r#"{"notifications": {"changed_tools": false}}"#,
        )
        .expect("write the file");
        let stored = StoredPreferences::load(folder.path().to_owned());
        assert!(!stored.get().notifications.changed_definitions);
    }

    #[test]
    fn a_damaged_file_counts_as_the_defaults() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(FILE), "{").expect("write the file");
        let stored = StoredPreferences::load(folder.path().to_owned());
        assert_eq!(stored.get(), Preferences::default());
    }
}
