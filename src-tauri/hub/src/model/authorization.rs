//! Signing in to a remote server: how a server stands with that, and how one attempt goes.

use serde::{Deserialize, Serialize};

use super::ids::{SignInId, Timestamp};

/// How a server stands with OAuth.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Authorization {
    /// It has not asked for it, or it cannot: a local server, or one with an `Authorization` header of its own.
    #[default]
    None,
    /// It refused a request: a person has to sign in.
    Needed,
    /// Its tokens are in the keyring, as this authorization server gave them.
    SignedIn {
        issuer: String,
        /// When the token runs out. It is renewed before, where the authorization server lets it.
        expires_at: Option<Timestamp>,
    },
}

/// An attempt to sign in to a server. There is at most one of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SignIn {
    pub id: SignInId,
    /// Where the person signs in: to be opened in a browser.
    pub url: String,
    pub state: SignInState,
}

/// How far an attempt has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SignInState {
    WaitingForBrowser,
    /// The browser came back; the code is being redeemed.
    Exchanging,
    Done,
    Failed {
        reason: String,
    },
}

impl SignInState {
    pub fn has_ended(&self) -> bool {
        matches!(self, Self::Done | Self::Failed { .. })
    }
}
