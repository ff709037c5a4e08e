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
        let url = hub.local_url().ok_or_else(|| {
            ApiError::unavailable("the hub does not listen on an address that a browser can open")
        })?;
        let origin = url.trim_end_matches("/mcp");
        Ok(ScreenLink {
            url: format!("{origin}/#login={}", hub.access.issue_browser_code()),
        })
    }
}
