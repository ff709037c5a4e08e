//! Signing in to a remote server: the state of a server, and the state of one attempt.

use serde::{Deserialize, Serialize};

use super::ids::{SignInId, Timestamp};

/// The sign-in state of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ServerSignIn {
    /// The server has not asked for a sign-in, or a person cannot sign in to it, for example
    /// because it has no URL, or because its spec has an `Authorization` header.
    #[default]
    None,
    /// The server refused a request; a person has to sign in.
    Needed,
    /// The tokens of this authorization server are in the secret store.
    SignedIn {
        issuer: String,
        /// The moment when the token expires. Drawbridge refreshes it earlier if the authorization
        /// server issued a refresh token.
        expires_at: Option<Timestamp>,
    },
}

/// An attempt to sign in to a server. A server has at most one attempt at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct SignIn {
    pub id: SignInId,
    /// The page on which the person signs in, to be opened in a browser.
    pub url: String,
    pub state: SignInState,
}

/// The state of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SignInState {
    WaitingForBrowser,
    /// The browser returned with a code, and Drawbridge redeems the code.
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
