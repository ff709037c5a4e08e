//! A URL as logs, errors and screens show it: without its user name, password, query and fragment,
//! which may contain secrets.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::cause::MapText;

/// The most characters that are shown.
const MAX_CHARS: usize = 300;

/// A URL for people: its scheme, host, port and path. Errors contain URLs only in this form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DisplayUrl(String);

impl DisplayUrl {
    /// Returns the URL in `text` as it may be shown. A text that is not a URL is cut at its query
    /// or fragment. If it may contain a password, at most its scheme is shown.
    pub fn new(text: &str) -> Self {
        if let Ok(url) = Url::parse(text) {
            return Self::from(&url);
        }
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        Self(printable_prefix(match (text.contains('@'), scheme) {
            (true, Some(scheme)) if scheme.chars().all(|c| c.is_ascii_alphanumeric()) => {
                format!("{scheme}://…")
            }
            (true, _) => "…".to_owned(),
            (false, _) => text.split(['?', '#']).next().unwrap_or_default().to_owned(),
        }))
    }

    /// Returns the URL with its text changed, for instance to mask secrets in its path.
    #[must_use]
    pub fn map_text(&self, change: MapText<'_>) -> Self {
        Self(change(&self.0))
    }
}

impl From<&Url> for DisplayUrl {
    fn from(url: &Url) -> Self {
        if url.cannot_be_a_base() {
            return Self(printable_prefix(format!("{}:…", url.scheme())));
        }
        let mut shown = url.clone();
        // Both calls fail only for a URL without a host, which has neither a user name nor a
        // password.
        let _ = shown.set_password(None);
        let _ = shown.set_username("");
        shown.set_query(None);
        shown.set_fragment(None);
        Self(printable_prefix(shown.into()))
    }
}

/// Returns the beginning of a text, with control characters replaced by spaces: a server may have
/// chosen the text.
fn printable_prefix(text: String) -> String {
    if text.len() <= MAX_CHARS && !text.contains(char::is_control) {
        return text;
    }
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(MAX_CHARS).map(printable).collect()
}

impl fmt::Display for DisplayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_url_has_no_user_name_password_query_or_fragment() {
        for (url, shown) in [
            ("https://example.com/mcp", "https://example.com/mcp"),
            (
                "https://user:canary@example.com:8443/mcp?api_key=canary#canary",
                "https://example.com:8443/mcp",
            ),
            ("https://canary@[::1]/", "https://[::1]/"),
            (
                "postgres://u:canary@db:5432/app?x=canary",
                "postgres://db:5432/app",
            ),
            ("mailto:canary@example.com", "mailto:…"),
            ("u:canary@host", "u:…"),
            // The following texts are not URLs.
            ("https://u:canary@host:99999/", "https://…"),
            ("https://u:ca?nary@host/", "https://…"),
            ("/messages?session=canary", "/messages"),
            ("host name/path?key=canary", "host name/path"),
        ] {
            assert_eq!(DisplayUrl::new(url).to_string(), shown, "{url}");
        }
    }
}
