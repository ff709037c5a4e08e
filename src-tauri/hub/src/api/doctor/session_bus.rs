//! The checks of the desktop: whether the session bus has a tray, notifications and a portal.

#[cfg(not(target_os = "linux"))]
pub(super) async fn check_desktop() -> Vec<super::DoctorCheck> {
    // On other systems the tray, the notifications and the portal's functions are built in.
    Vec::new()
}

#[cfg(target_os = "linux")]
pub(super) use linux::check_desktop;

#[cfg(target_os = "linux")]
mod linux {
    use std::{collections::BTreeSet, env, time::Duration};

    use tokio::time::timeout;
    use zbus::blocking::{Connection, fdo::DBusProxy};

    use super::super::{DoctorCheck, DoctorTopic};

    const TOPIC: DoctorTopic = DoctorTopic::Desktop;

    /// A bus that hangs must not hang the doctor.
    const BUS_TIMEOUT: Duration = Duration::from_secs(3);

    /// The names on the bus that a desktop provides. Each has the finding if the name is there, and
    /// the remedy if it is missing.
    const NAMES: [(&str, &str, &str); 3] = [
        (
            "org.kde.StatusNotifierWatcher",
            "The desktop shows tray icons",
            "On GNOME, install the extension 'AppIndicator and KStatusNotifierItem Support'. Without a tray, Drawbridge keeps running when you close its window: start Drawbridge again to open a window.",
        ),
        (
            "org.freedesktop.Notifications",
            "The desktop shows notifications",
            "Start a notification server: your desktop's own, mako or dunst. The popup and the window show pending calls all the same.",
        ),
        (
            "org.freedesktop.portal.Desktop",
            "The desktop has a portal, which opens links and files",
            "Install xdg-desktop-portal and the backend of your desktop.",
        ),
    ];

    pub(in super::super) async fn check_desktop() -> Vec<DoctorCheck> {
        let has_display = ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
        if !has_display {
            return vec![DoctorCheck::ok(
                TOPIC,
                "There is no display, so nothing of a desktop is needed.",
            )];
        }
        let listed = timeout(BUS_TIMEOUT, tokio::task::spawn_blocking(list_names)).await;
        let Ok(Ok(Ok(names))) = listed else {
            return vec![DoctorCheck::warning(
                TOPIC,
                "The session bus cannot be reached, so there is no tray, no notification and no keyring.",
                "Start Drawbridge from your desktop session, or set DBUS_SESSION_BUS_ADDRESS.",
            )];
        };
        NAMES
            .iter()
            .map(|(name, found, remedy)| {
                if names.contains(*name) {
                    DoctorCheck::ok(TOPIC, format!("{found} ({name})."))
                } else {
                    let text = format!("Nothing on the session bus has the name {name}.");
                    DoctorCheck::warning(TOPIC, text, *remedy)
                }
            })
            .collect()
    }

    /// Returns the names of the services that run on the bus or that the bus can start.
    fn list_names() -> zbus::Result<BTreeSet<String>> {
        let connection = Connection::session()?;
        let bus = DBusProxy::new(&connection)?;
        let owned = bus.list_names()?;
        let startable = bus.list_activatable_names()?;
        Ok(owned
            .iter()
            .chain(&startable)
            .map(ToString::to_string)
            .collect())
    }
}
