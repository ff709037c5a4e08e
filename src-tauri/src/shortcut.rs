//! The global shortcut, which works while any program has the focus: it shows the pending calls or,
//! if there are none, the main window. A person can choose other keys, or none. On Wayland, the
//! desktop's portal binds the shortcut. If the desktop supports no global shortcuts, the app runs
//! without one.

#[cfg(target_os = "linux")]
mod portal;
#[cfg(target_os = "linux")]
mod x11;

use std::{
    str::FromStr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;
use tauri::{AppHandle, Manager};
use tauri_plugin_global_shortcut::{Modifiers, Shortcut};
use tokio::sync::mpsc;

#[cfg(target_os = "linux")]
use crate::{display, texts};
use crate::{input::Input, preferences::StoredPreferences};

/// Whether the shortcut works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ShortcutStatus {
    Registered,
    /// The desktop has bound these keys, which may differ from the chosen keys.
    Bound {
        keys: String,
    },
    /// The desktop was asked for the shortcut, and has not answered yet.
    Asked,
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
    #[error(
        "the desktop refused {keys}, perhaps because another program uses these keys: {source}"
    )]
    Refused { keys: String, source: RefusalError },
    #[error("the desktop has no global shortcuts: {0}")]
    Unsupported(String),
    #[error("global shortcuts could not be prepared when Drawbridge started")]
    NotPrepared,
}

#[cfg(target_os = "linux")]
type RefusalError = x11::GrabError;
#[cfg(not(target_os = "linux"))]
type RefusalError = tauri_plugin_global_shortcut::Error;

/// The shortcut while the app runs. Tauri manages the value as state of the app.
struct Current {
    state: Mutex<State>,
    inputs: mpsc::UnboundedSender<Input>,
}

struct State {
    /// The shortcut that this app has registered; always `None` on Wayland.
    registered: Option<Shortcut>,
    status: ShortcutStatus,
    /// The task that reports the presses on Wayland.
    #[cfg(target_os = "linux")]
    portal_task: Option<tokio::task::AbortHandle>,
    /// The connection that registers shortcuts on X11.
    #[cfg(target_os = "linux")]
    grabs: Option<x11::KeyGrabs>,
}

/// Prepares global shortcuts, and registers these keys; empty for none. A failure goes to the log
/// and to [`status`].
pub(crate) fn register(app: &AppHandle, inputs: mpsc::UnboundedSender<Input>, keys: &str) {
    app.manage(Current {
        state: Mutex::new(State {
            registered: None,
            status: ShortcutStatus::Off,
            #[cfg(target_os = "linux")]
            portal_task: None,
            #[cfg(target_os = "linux")]
            grabs: None,
        }),
        inputs: inputs.clone(),
    });
    // On Wayland, the registration with the X server succeeds, but no key press ever arrives.
    #[cfg(target_os = "linux")]
    if display::is_wayland() {
        bind_with_portal(app, keys);
        return;
    }
    let registered = listen(app, inputs).and_then(|()| set_keys(app, keys));
    if let Err(error) = registered {
        tracing::warn!("no global shortcut: {error}");
        lock(&app.state::<Current>()).status = ShortcutStatus::Failed {
            reason: error.to_string(),
        };
    }
}

/// Begins to report the presses of the shortcut.
#[cfg(target_os = "linux")]
fn listen(app: &AppHandle, inputs: mpsc::UnboundedSender<Input>) -> Result<(), ShortcutError> {
    let on_pressed = move || {
        // The controller is dropped only while the app ends.
        let _ = inputs.send(Input::ShortcutPressed);
    };
    let grabs = x11::KeyGrabs::open(on_pressed)
        .map_err(|error| ShortcutError::Unsupported(error.to_string()))?;
    lock(&app.state::<Current>()).grabs = Some(grabs);
    Ok(())
}

/// Begins to report the presses of the shortcut.
#[cfg(not(target_os = "linux"))]
fn listen(app: &AppHandle, inputs: mpsc::UnboundedSender<Input>) -> Result<(), ShortcutError> {
    use tauri_plugin_global_shortcut::{Builder, ShortcutState};
    let plugin = Builder::new().with_handler(move |_, _, event| {
        if event.state == ShortcutState::Pressed {
            // The controller is dropped only while the app ends.
            let _ = inputs.send(Input::ShortcutPressed);
        }
    });
    app.plugin(plugin.build())
        .map_err(|error| ShortcutError::Unsupported(error.to_string()))
}

/// Replaces the keys; empty for no shortcut. Blocks until they are replaced. On Wayland, the
/// desktop is asked, and [`status`] has its answer later.
///
/// # Errors
/// Returns an error if the keys cannot be used. The shortcut then stays as it is.
pub(crate) fn set_keys(app: &AppHandle, keys: &str) -> Result<(), ShortcutError> {
    let new = (!keys.is_empty()).then(|| parse(keys)).transpose()?;
    #[cfg(target_os = "linux")]
    if display::is_wayland() {
        bind_with_portal(app, keys);
        return Ok(());
    }
    #[cfg(not(target_os = "linux"))]
    let shortcuts = app.try_state::<tauri_plugin_global_shortcut::GlobalShortcut<tauri::Wry>>();
    let current = app.state::<Current>();
    let mut state = lock(&current);
    #[cfg(target_os = "linux")]
    let shortcuts = state.grabs.as_ref();
    if new != state.registered {
        let shortcuts = shortcuts.ok_or(ShortcutError::NotPrepared)?;
        // Register the new shortcut first, so that a refusal leaves the old shortcut.
        if let Some(new) = new {
            shortcuts
                .register(new)
                .map_err(|source| ShortcutError::Refused {
                    keys: keys.to_owned(),
                    source,
                })?;
        }
        if let Some(old) = state.registered
            && let Err(error) = shortcuts.unregister(old)
        {
            tracing::warn!("the earlier shortcut stays until Drawbridge ends: {error}");
        }
    }
    state.registered = new;
    state.status = match new {
        Some(_) => ShortcutStatus::Registered,
        None => ShortcutStatus::Off,
    };
    Ok(())
}

/// Asks the portal for a shortcut with these keys in place of the earlier shortcut; empty for none.
/// Reports the presses until the portal ends or the keys are replaced.
#[cfg(target_os = "linux")]
fn bind_with_portal(app: &AppHandle, keys: &str) {
    let current = app.state::<Current>();
    let mut state = lock(&current);
    if let Some(earlier) = state.portal_task.take() {
        earlier.abort();
    }
    state.status = ShortcutStatus::Off;
    if keys.is_empty() {
        return;
    }
    state.status = ShortcutStatus::Asked;
    let (app, keys, inputs) = (app.clone(), keys.to_owned(), current.inputs.clone());
    let task = tauri::async_runtime::spawn(async move {
        let set_status = |status| lock(&app.state::<Current>()).status = status;
        let pressed = || {
            // The controller is dropped only while the app ends.
            let _ = inputs.send(Input::ShortcutPressed);
        };
        let bound = |keys: &str| {
            set_status(ShortcutStatus::Bound {
                keys: keys.to_owned(),
            });
        };
        if let Err(error) = portal::run(texts::SHORTCUT, &keys, bound, pressed).await {
            let reason = format!(
                "the desktop's portal does not bind the shortcut ({error}). In the desktop's settings, add a shortcut that starts drawbridge-desktop"
            );
            tracing::warn!("no global shortcut: {reason}");
            set_status(ShortcutStatus::Failed { reason });
        }
    });
    state.portal_task = Some(task.inner().abort_handle());
}

/// Returns whether the shortcut works.
pub(crate) fn status(app: &AppHandle) -> ShortcutStatus {
    lock(&app.state::<Current>()).status.clone()
}

/// Returns the keys of the shortcut, or `None` if it does not work.
pub(crate) fn registered_keys(app: &AppHandle) -> Option<String> {
    match status(app) {
        ShortcutStatus::Registered => Some(app.state::<StoredPreferences>().get().shortcut),
        ShortcutStatus::Bound { keys } => Some(keys),
        ShortcutStatus::Asked | ShortcutStatus::Off | ShortcutStatus::Failed { .. } => None,
    }
}

fn lock(current: &Current) -> MutexGuard<'_, State> {
    current.state.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn unknown_keys_and_keys_that_would_take_a_letter_from_every_program_are_refused() {
        for keys in [
            crate::preferences::DEFAULT_KEYS,
            "Ctrl+Shift+F2",
            "Alt+Space",
            "Super+1",
            "F9",
        ] {
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
