//! The person's browser, which shows pages that are not part of the app: the sign-in pages of
//! servers, and the pages that servers ask a person to visit.

use drawbridge_upstream::oauth;

/// Opens a URL with the system's browser, without a shell. A URL that `oauth::check_browser_url`
/// refuses is not opened, even if the hub sent it. The screen shows the URL too, so that a person
/// can still open it after a failure.
pub(crate) fn open(url: String) {
    tokio::task::spawn_blocking(move || {
        let result = oauth::check_browser_url(&url)
            .map_err(|e| e.to_string())
            .and_then(|url| open::that_detached(url.as_str()).map_err(|e| e.to_string()));
        if let Err(error) = result {
            tracing::warn!("a page cannot be opened in the browser: {error}");
        }
    });
}
