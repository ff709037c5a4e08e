//! Screens: access to the web UI from a browser.

use serde::{Deserialize, Serialize};

use super::{ApiError, Verb, browsers::BrowserView};
use crate::{access::CodeUse, hub::Hub};

/// `screens.open`: a link with a one-time code that signs a browser in to the screens. The code is
/// valid for one use within five minutes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OpenScreen {}

/// A link that signs a browser in to the screens, and its code.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ScreenLink {
    /// `http://HOST:PORT/#login=CODE`
    pub url: String,
    /// The code in the link. A person can also type it on the sign-in page.
    pub code: String,
}

/// `screens.check_code`: whether a browser has signed in with a code, and which browser it is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckCode {
    pub code: String,
}

/// Whether a browser has signed in with a code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CodeState {
    /// The code can still be used.
    Waiting,
    Used {
        browser: BrowserView,
    },
    /// The code has expired, was replaced by a newer code, or was never issued.
    Expired,
}

impl Verb for OpenScreen {
    type Answer = ScreenLink;

    async fn run(self, hub: &Hub) -> Result<ScreenLink, ApiError> {
        let url = hub.local_url().ok_or_else(|| {
            ApiError::unavailable("the hub does not listen on an address that a browser can open")
        })?;
        let origin = url.trim_end_matches("/mcp");
        let code = hub.access.issue_browser_code();
        Ok(ScreenLink {
            url: format!("{origin}/#login={code}"),
            code,
        })
    }
}

impl Verb for CheckCode {
    type Answer = CodeState;

    async fn run(self, hub: &Hub) -> Result<CodeState, ApiError> {
        Ok(match hub.access.use_of_browser_code(&self.code) {
            CodeUse::Waiting => CodeState::Waiting,
            CodeUse::Redeemed(browser) => CodeState::Used {
                browser: browser.into(),
            },
            CodeUse::Expired => CodeState::Expired,
        })
    }
}
