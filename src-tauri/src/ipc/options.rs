//! The options of the app on this computer: starting at login, the shortcut, and notifications.

use drawbridge_hub::api::ApiError;
use serde::{Deserialize, Serialize};
use tauri::{AppHandle, Manager};

use crate::{
    autostart::Autostart,
    preferences::{Notifications, StoredPreferences},
    shortcut::{self, ShortcutStatus},
};

/// The commands. Their answer is [`Options`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Show,
    Change,
}

/// The app's options, as the main window shows them.
#[derive(Debug, Serialize)]
pub(super) struct Options {
    /// Whether the app starts at login; `None` if this system cannot start the app.
    autostart: Option<bool>,
    /// The keys of the global shortcut; empty for none.
    shortcut: String,
    shortcut_status: ShortcutStatus,
    notifications: Notifications,
}

/// The parameter of `options_change`. An option that is missing stays as it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Change {
    autostart: Option<bool>,
    shortcut: Option<String>,
    notifications: Option<Notifications>,
}

impl Command {
    pub(super) fn parse(command: &str) -> Option<Self> {
        match command {
            "options_show" => Some(Self::Show),
            "options_change" => Some(Self::Change),
            _ => None,
        }
    }

    pub(super) async fn run(self, app: AppHandle, params: String) -> Result<Options, ApiError> {
        let work = move || {
            if self == Self::Change {
                let change = serde_json::from_str(&params)
                    .map_err(|error| ApiError::invalid(format!("the options: {error}")))?;
                apply_change(&app, change)?;
            }
            Ok(read_options(&app))
        };
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|error| ApiError::internal(error.to_string()))?
    }
}

fn read_options(app: &AppHandle) -> Options {
    let preferences = app.state::<StoredPreferences>().get();
    Options {
        autostart: app
            .state::<Option<Autostart>>()
            .as_ref()
            .map(Autostart::is_enabled),
        shortcut: preferences.shortcut,
        shortcut_status: shortcut::status(app),
        notifications: preferences.notifications,
    }
}

fn apply_change(app: &AppHandle, change: Change) -> Result<(), ApiError> {
    if let Some(enabled) = change.autostart {
        let autostart = app.state::<Option<Autostart>>();
        let autostart = autostart.as_ref().ok_or_else(|| {
            ApiError::invalid("Drawbridge cannot start itself at login on this system")
        })?;
        autostart.set(enabled).map_err(|error| {
            ApiError::internal(format!("the autostart entry cannot be changed: {error}"))
        })?;
    }
    let stored = app.state::<StoredPreferences>();
    let mut preferences = stored.get();
    if let Some(keys) = change.shortcut {
        let keys = keys.trim();
        shortcut::set_keys(app, keys).map_err(|error| ApiError::invalid(error.to_string()))?;
        preferences.shortcut = keys.to_owned();
    }
    if let Some(notifications) = change.notifications {
        preferences.notifications = notifications;
    }
    stored
        .set(preferences)
        .map_err(|error| ApiError::internal(format!("the options cannot be stored: {error}")))
}
