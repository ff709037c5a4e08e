//! The global shortcut on Wayland, through the portal `org.freedesktop.portal.GlobalShortcuts`. The
//! desktop asks the person before it binds the shortcut, and may bind other keys.

use std::pin::pin;

use ashpd::desktop::global_shortcuts::{GlobalShortcuts, NewShortcut};
use futures_util::StreamExt;

/// The name of the shortcut for the portal, which remembers its keys.
const ID: &str = "open";

/// Why the portal does not bind the shortcut.
#[derive(Debug, thiserror::Error)]
pub(super) enum PortalError {
    #[error(transparent)]
    Portal(#[from] ashpd::Error),
    #[error("the desktop did not bind the shortcut")]
    NotBound,
}

/// Binds the shortcut, if possible to these keys, calls `on_bound` with the name of its keys, and
/// then calls `on_pressed` at each press. Returns when the portal has ended.
///
/// # Errors
/// Returns an error if there is no such portal, or if the person or the portal refuses.
pub(super) async fn run(
    description: &str,
    keys: &str,
    on_bound: impl FnOnce(&str),
    on_pressed: impl Fn(),
) -> Result<(), PortalError> {
    let portal = GlobalShortcuts::new().await?;
    let mut pressed = pin!(portal.receive_activated().await?);
    let session = portal.create_session(Default::default()).await?;
    let shortcut =
        NewShortcut::new(ID, description).preferred_trigger(keys_for_portal(keys).as_str());
    let request = portal
        .bind_shortcuts(&session, &[shortcut], None, Default::default())
        .await?;
    let response = request.response()?;
    let bound = response.shortcuts().iter().find(|bound| bound.id() == ID);
    on_bound(bound.ok_or(PortalError::NotBound)?.trigger_description());
    while let Some(press) = pressed.next().await {
        if press.shortcut_id() == ID {
            on_pressed();
        }
    }
    Ok(())
}

/// Converts keys such as `Ctrl+Alt+D` to the notation of the portal, such as `CTRL+ALT+d`.
fn keys_for_portal(keys: &str) -> String {
    let names: Vec<String> = keys
        .split('+')
        .map(|name| match name {
            "Super" | "Cmd" => "LOGO".to_owned(),
            "Ctrl" | "Alt" | "Shift" => name.to_uppercase(),
            _ if name.chars().count() == 1 => name.to_lowercase(),
            _ => name.to_owned(),
        })
        .collect();
    names.join("+")
}

#[cfg(test)]
mod tests {
    use super::keys_for_portal;

    #[test]
    fn keys_are_converted_to_the_notation_of_the_portal() {
        assert_eq!(keys_for_portal("Ctrl+Alt+D"), "CTRL+ALT+d");
        assert_eq!(keys_for_portal("Shift+Super+F2"), "SHIFT+LOGO+F2");
    }
}
