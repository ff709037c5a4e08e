//! Whether a Linux desktop has a tray: the library that Tauri loads for it, and a panel that
//! shows what it registers (the StatusNotifierItem convention of KDE, freedesktop.org).

use gtk::{
    gio::{BusType, Cancellable, DBusCallFlags, bus_get_sync},
    glib::{ToVariant, VariantTy},
};

const LIBRARIES: [&str; 2] = ["libayatana-appindicator3.so.1", "libappindicator3.so.1"];
const WATCHER: &str = "org.kde.StatusNotifierWatcher";
/// A session bus answers at once; one that hangs must not hang the app.
const ANSWER_WITHIN_MS: i32 = 500;

/// Tauri loads the tray's library when the tray is built, and panics where it is missing.
pub(super) fn library_is_there() -> bool {
    LIBRARIES.iter().any(|name| {
        // SAFETY: the tray loads this same library next; its initialisers only register types.
        let library = unsafe { libloading::Library::new(name) };
        // Kept open: types that a library registered with GTK must not go away with it.
        library.map(std::mem::forget).is_ok()
    })
}

/// Whether some panel shows tray icons now. Some desktops have none, and a panel may come late.
pub(super) fn panel_is_there() -> bool {
    let Ok(bus) = bus_get_sync(BusType::Session, Cancellable::NONE) else {
        return false;
    };
    let answer = bus.call_sync(
        Some("org.freedesktop.DBus"),
        "/org/freedesktop/DBus",
        "org.freedesktop.DBus",
        "NameHasOwner",
        Some(&(WATCHER,).to_variant()),
        VariantTy::new("(b)").ok(),
        DBusCallFlags::NONE,
        ANSWER_WITHIN_MS,
        Cancellable::NONE,
    );
    answer
        .ok()
        .and_then(|answer| answer.get::<(bool,)>())
        .is_some_and(|(owned,)| owned)
}
