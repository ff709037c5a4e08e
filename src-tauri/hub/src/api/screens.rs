//! Screens: access to the web UI from a browser.

use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::hub::Hub;

/// `screens.open`: a link that opens the web UI in a browser, valid for one use within a minute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OpenScreen {}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ScreenLink {
    /// `http://HOST:PORT/#login=CODE`
    pub url: String,
}

impl Verb for OpenScreen {
    type Answer = ScreenLink;

    async fn run(self, hub: &Hub) -> Result<ScreenLink, ApiError> {
        let url = hub.endpoint_url().ok_or_else(|| {
            ApiError::unavailable("the hub does not listen on an address that a browser can open")
        })?;
        let origin = local_origin(url.trim_end_matches("/mcp"));
        Ok(ScreenLink {
            url: format!("{origin}/#login={}", hub.access.issue_browser_code()),
        })
    }
}

/// Returns the origin with this machine's address in place of `0.0.0.0` or `[::]`, which stand for
/// all its addresses and which a browser may not open.
fn local_origin(origin: &str) -> String {
    origin
        .replacen("//0.0.0.0:", "//127.0.0.1:", 1)
        .replacen("//[::]:", "//[::1]:", 1)
}

#[cfg(test)]
mod tests {
    use super::local_origin;

    #[test]
    fn a_link_names_an_address_that_a_browser_can_open() {
        for (origin, opened) in [
            ("http://0.0.0.0:8765", "http://127.0.0.1:8765"),
            ("http://[::]:8765", "http://[::1]:8765"),
            ("http://192.168.1.7:8765", "http://192.168.1.7:8765"),
        ] {
            assert_eq!(local_origin(origin), opened);
        }
    }
}
