//! The browser of the person, for pages that are not ours: where they sign in to a server.

use drawbridge_hub::oauth;

/// Opens a URL through the system, without a shell. One that a browser must not be sent to is not opened,
/// whatever hub it came from. The screen shows the URL too, so that a failure leaves a way.
pub(crate) fn open(url: String) {
    tokio::task::spawn_blocking(move || {
        let opened = oauth::openable(&url)
            .and_then(|url| open::that_detached(url.as_str()).map_err(|e| e.to_string()));
        if let Err(why) = opened {
            tracing::warn!("no browser was opened: {why}");
        }
    });
}
