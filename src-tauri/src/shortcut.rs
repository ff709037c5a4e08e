//! The global shortcut, which works in any program: it opens the waiting calls or, if there are
//! none, the main window. A person can choose other keys, or none. If the desktop does not support
//! it, the app runs without it.

use std::{
    str::FromStr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;
use tauri::{AppHandle, Manager, Wry};
use tauri_plugin_global_shortcut::{Builder, GlobalShortcut, Modifiers, Shortcut, ShortcutState};
use tokio::sync::mpsc;

use crate::{display, input::Input, preferences::StoredPreferences};

/// The keys at first.
pub(crate) const DEFAULT_KEYS: &str = if cfg!(target_os = "macos") {
    "Cmd+Alt+D"
} else {
    "Ctrl+Alt+D"
};
const ON_WAYLAND: &str = "On Wayland, an app cannot register a global shortcut. Add one in the settings of your desktop that starts drawbridge-desktop.";

/// Whether the shortcut works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ShortcutStatus {
    Registered,
    /// The person chose no keys.
    Off,
    /// The shortcut does not work, for this reason.
    Failed {
        reason: String,
    },
}

/// Why keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShortcutError {
    #[error("'{keys}' is not a shortcut: {source}")]
    Invalid {
        keys: String,
        source: <Shortcut as FromStr>::Err,
    },
    #[error("'{0}' would take a key from every program; add Ctrl, Alt or the system key")]
    NoModifier(String),
    #[error("the desktop refused {keys}, perhaps because another program uses it: {source}")]
    Refused {
        keys: String,
        source: tauri_plugin_global_shortcut::Error,
    },
    #[error("{ON_WAYLAND}")]
    Wayland,
    #[error("the desktop has no global shortcuts: {0}")]
    Unsupported(String),
}

/// The shortcut while the app runs. It is managed by the app.
struct Current(Mutex<(Option<Shortcut>, ShortcutStatus)>);

/// Prepares global shortcuts, and registers these keys. A failure goes to the log and to
/// [`status`].
pub(crate) fn register(app: &AppHandle, inputs: mpsc::UnboundedSender<Input>, keys: &str) {
    app.manage(Current(Mutex::new((None, ShortcutStatus::Off))));
    let plugin = Builder::new().with_handler(move |_, _, event| {
        if event.state == ShortcutState::Pressed {
            // The controller is dropped only while the app ends.
            let _ = inputs.send(Input::ShortcutPressed);
        }
    });
    // On Wayland the registration succeeds, but no key press ever arrives.
    let prepared = if display::is_wayland() {
        Err(ShortcutError::Wayland)
    } else {
        app.plugin(plugin.build())
            .map_err(|error| ShortcutError::Unsupported(error.to_string()))
    };
    if keys.is_empty() {
        return;
    }
    if let Err(error) = prepared.and_then(|()| set(app, keys)) {
        tracing::warn!("no global shortcut: {error}");
        lock(&app.state::<Current>()).1 = ShortcutStatus::Failed {
            reason: error.to_string(),
        };
    }
}

/// Replaces the keys; empty for no shortcut. Blocks until the main thread has done it.
///
/// # Errors
/// Returns an error if the keys cannot be used. The shortcut then stays as it is.
pub(crate) fn set(app: &AppHandle, keys: &str) -> Result<(), ShortcutError> {
    let new = (!keys.is_empty()).then(|| parse(keys)).transpose()?;
    let old = lock(&app.state::<Current>()).0;
    if new != old {
        if new.is_some() && display::is_wayland() {
            return Err(ShortcutError::Wayland);
        }
        let shortcuts = app.try_state::<GlobalShortcut<Wry>>().ok_or_else(|| {
            ShortcutError::Unsupported("it offers none to this program".to_owned())
        })?;
        // The new one first, so that a refusal leaves the old one.
        if let Some(new) = new {
            shortcuts
                .register(new)
                .map_err(|source| ShortcutError::Refused {
                    keys: keys.to_owned(),
                    source,
                })?;
        }
        if let Some(old) = old
            && let Err(error) = shortcuts.unregister(old)
        {
            tracing::warn!("the earlier shortcut stays until Drawbridge ends: {error}");
        }
    }
    let status = match new {
        Some(_) => ShortcutStatus::Registered,
        None => ShortcutStatus::Off,
    };
    *lock(&app.state::<Current>()) = (new, status);
    Ok(())
}

/// Returns whether the shortcut works.
pub(crate) fn status(app: &AppHandle) -> ShortcutStatus {
    lock(&app.state::<Current>()).1.clone()
}

/// Returns the keys of the shortcut, or `None` if it does not work.
pub(crate) fn registered(app: &AppHandle) -> Option<String> {
    (status(app) == ShortcutStatus::Registered)
        .then(|| app.state::<StoredPreferences>().get().shortcut)
}

fn lock(current: &Current) -> MutexGuard<'_, (Option<Shortcut>, ShortcutStatus)> {
    current.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Parses keys such as `Ctrl+Alt+D`. Function keys need no modifier.
fn parse(keys: &str) -> Result<Shortcut, ShortcutError> {
    let shortcut: Shortcut = keys.parse().map_err(|source| ShortcutError::Invalid {
        keys: keys.to_owned(),
        source,
    })?;
    let modifiers = Modifiers::CONTROL | Modifiers::ALT | Modifiers::SUPER;
    // The names of letters begin with `Key`.
    let is_function_key = shortcut.key.to_string().starts_with('F');
    if shortcut.mods.intersects(modifiers) || is_function_key {
        Ok(shortcut)
    } else {
        Err(ShortcutError::NoModifier(keys.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_would_take_a_letter_from_every_program_are_refused() {
        for keys in [DEFAULT_KEYS, "Ctrl+Shift+F2", "Alt+Space", "Super+1", "F9"] {
            assert!(parse(keys).is_ok(), "{keys}");
        }
        for keys in ["D", "Shift+D", "Shift+F"] {
            let error = parse(keys).expect_err(keys).to_string();
            assert!(error.contains("every program"), "{error}");
        }
        for keys in ["Ctrl+", "Ctrl+Alt", "Ctrl+D+E", "Hyper+D"] {
            let error = parse(keys).expect_err(keys).to_string();
            assert!(error.contains("is not a shortcut"), "{error}");
        }
    }
}
