//! Copies text to the clipboard.

/// Copies a text to the clipboard. Runs on the main thread.
#[cfg(target_os = "linux")]
pub(crate) fn copy(text: &str) {
    let clipboard = gtk::Clipboard::get(&gtk::gdk::SELECTION_CLIPBOARD);
    clipboard.set_text(text);
    // A clipboard manager then keeps the text after the app has ended.
    clipboard.store();
}

/// Copies a text to the clipboard. Runs on the main thread. A failure goes to the log.
#[cfg(not(target_os = "linux"))]
pub(crate) fn copy(text: &str) {
    let copied = arboard::Clipboard::new().and_then(|mut clipboard| clipboard.set_text(text));
    if let Err(error) = copied {
        tracing::warn!(%error, "the text cannot be copied");
    }
}
