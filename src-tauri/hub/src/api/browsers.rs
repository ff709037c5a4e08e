//! Browsers that are signed in to the screens.

use drawbridge_model::ids::{BrowserId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{ApiError, Done, Verb};
use crate::{access::SignedInBrowser, hub::Hub};

/// A browser that is signed in to the screens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BrowserView {
    pub id: BrowserId,
    /// The address at which the browser signed in, and the only address for which its token is
    /// valid.
    pub address: String,
    /// The `User-Agent` that the browser sent: untrusted plain text.
    pub user_agent: Option<String>,
    pub signed_in_at: Timestamp,
    pub last_used_at: Timestamp,
    /// When the browser's sign-in ends if nobody uses the browser until then.
    pub expires_at: Timestamp,
}

/// `browsers.list`: the browsers that are signed in, the latest sign-in first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListBrowsers {}

/// `browsers.sign_out`: signs a browser out. The browser's token becomes invalid and its open pages
/// are disconnected at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SignOutBrowser {
    pub id: BrowserId,
}

/// `browsers.sign_out_all`: signs all browsers out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SignOutAllBrowsers {}

impl From<SignedInBrowser> for BrowserView {
    fn from(browser: SignedInBrowser) -> Self {
        Self {
            id: browser.id,
            address: browser.address.url(),
            user_agent: browser.user_agent,
            signed_in_at: browser.signed_in_at,
            last_used_at: browser.last_used_at,
            expires_at: browser.expires_at,
        }
    }
}

impl Verb for ListBrowsers {
    type Answer = Vec<BrowserView>;

    async fn run(self, hub: &Hub) -> Result<Vec<BrowserView>, ApiError> {
        Ok(hub.access.browsers().into_iter().map(Into::into).collect())
    }
}

impl Verb for SignOutBrowser {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        match hub.access.sign_out_browsers(Some(&self.id)) {
            0 => Err(ApiError::not_found(format!(
                "no browser with the id '{}' is signed in; see `drawbridge browsers list`",
                self.id
            ))),
            _ => Ok(Done {}),
        }
    }
}

impl Verb for SignOutAllBrowsers {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        hub.access.sign_out_browsers(None);
        Ok(Done {})
    }
}
