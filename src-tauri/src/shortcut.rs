//! The global shortcut, which works in any program: it opens the waiting calls or, if there are
//! none, the main window. If the desktop does not support it, the app runs without it.

use std::sync::OnceLock;

use tauri::{AppHandle, Manager};
use tauri_plugin_global_shortcut::{
    Builder, Code, GlobalShortcutExt, Modifiers, Shortcut, ShortcutState,
};
use tokio::sync::mpsc;

use crate::{display, input::Input};

const NAME: &str = if cfg!(target_os = "macos") {
    "Cmd+Alt+D"
} else {
    "Ctrl+Alt+D"
};
const MODIFIER: Modifiers = if cfg!(target_os = "macos") {
    Modifiers::SUPER
} else {
    Modifiers::CONTROL
};

/// The name of the shortcut, once it is registered. It is managed by the app.
#[derive(Default)]
pub(crate) struct Registered(OnceLock<String>);

/// Returns the name of the shortcut, or `None` if it does not work.
pub(crate) fn registered(app: &AppHandle) -> Option<String> {
    app.state::<Registered>().0.get().cloned()
}

/// Registers the shortcut. Runs on the main thread.
pub(crate) fn register(app: &AppHandle, inputs: mpsc::UnboundedSender<Input>) {
    // On Wayland the registration succeeds, but no key press ever arrives.
    if display::is_wayland() {
        tracing::info!(
            "no {NAME}: on Wayland an app cannot register a global shortcut. Add one in the desktop's settings that starts drawbridge-desktop."
        );
        return;
    }
    match try_register(app, inputs) {
        Ok(()) => record(app, NAME),
        Err(error) => tracing::warn!(%error, "no {NAME}: the shortcut is not available"),
    }
}

/// Records that a shortcut works. It is registered once.
fn record(app: &AppHandle, name: &str) {
    let _ = app.state::<Registered>().0.set(name.to_owned());
}

fn try_register(
    app: &AppHandle,
    inputs: mpsc::UnboundedSender<Input>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    app.plugin(Builder::new().build())?;
    let shortcut = Shortcut::new(Some(MODIFIER | Modifiers::ALT), Code::KeyD);
    app.global_shortcut()
        .on_shortcut(shortcut, move |_, _, event| {
            if event.state == ShortcutState::Pressed {
                // The controller is dropped only while the app ends.
                let _ = inputs.send(Input::ShortcutPressed);
            }
        })?;
    Ok(())
}
