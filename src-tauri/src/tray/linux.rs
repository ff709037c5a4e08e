//! Checks whether a Linux desktop has a tray: the library that Tauri loads for it, and a panel that
//! shows registered items (the StatusNotifierItem convention of KDE and freedesktop.org).

use gtk::{
    gio::{BusType, Cancellable, DBusCallFlags, bus_get_sync},
    glib::{ToVariant, VariantTy},
};

const LIBRARIES: [&str; 2] = ["libayatana-appindicator3.so.1", "libappindicator3.so.1"];
/// The name on the session bus that a panel owns if it shows tray icons.
const WATCHER: &str = "org.kde.StatusNotifierWatcher";
/// The timeout of a request on the session bus, so that a bus that hangs does not hang the app.
const ANSWER_WITHIN_MS: i32 = 500;

/// Returns whether the tray's library is installed. Tauri loads the library when it builds the
/// tray, and panics if the library is missing.
pub(super) fn has_library() -> bool {
    LIBRARIES.iter().any(|name| {
        // SAFETY: the tray loads this same library next; its initializers only register types.
        let library = unsafe { libloading::Library::new(name) };
        // The library stays loaded, because the types that it registered with GTK must remain
        // valid.
        library.map(std::mem::forget).is_ok()
    })
}

/// Returns whether a panel shows tray icons now. Some desktops have no such panel, and a panel may
/// start late.
pub(super) fn has_panel() -> bool {
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
