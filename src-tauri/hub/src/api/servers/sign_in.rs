//! Signing in to a remote server, and signing out.

use drawbridge_model::{acceptance::AcceptanceState, ids::ServerId, sign_in::SignIn};
use drawbridge_upstream::Acceptances as _;
use serde::{Deserialize, Serialize};

use super::{ServerView, view};
use crate::{
    api::{ApiError, Done, Verb},
    hub::Hub,
};

/// `servers.sign_in`: starts an attempt to sign in to a remote server, or returns the attempt that
/// is in progress. A person has to open the answer's URL in a browser; the desktop app and the
/// command line open the URL themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SignInServer {
    pub id: ServerId,
}

/// `servers.await_sign_in`: waits for the end of the attempt to sign in, at most two minutes, and
/// returns the attempt's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AwaitSignIn {
    pub id: ServerId,
}

/// `servers.cancel_sign_in`: cancels the attempt to sign in to a server if it is in progress, and
/// removes the record of the attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CancelSignIn {
    pub id: ServerId,
}

/// `servers.sign_out`: deletes the tokens of a server and ends its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SignOutServer {
    pub id: ServerId,
}

/// How long `servers.await_sign_in` waits: less than the timeout of any caller.
const AWAIT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(120);

impl Verb for SignInServer {
    type Answer = SignIn;

    async fn run(self, hub: &Hub) -> Result<SignIn, ApiError> {
        let server = hub.registry.get(&self.id)?;
        if hub.registry.acceptance(&server) != AcceptanceState::Accepted {
            return Err(ApiError::conflict(format!(
                "'{}' is not accepted yet; accept it first",
                self.id
            )));
        }
        let scope = hub.registry.secret_scope(&self.id);
        Ok(hub
            .authorizer
            .sign_in(&self.id, &server.spec, scope)
            .await?)
    }
}

impl Verb for AwaitSignIn {
    type Answer = SignIn;

    async fn run(self, hub: &Hub) -> Result<SignIn, ApiError> {
        let ended =
            tokio::time::timeout(AWAIT_TIMEOUT, hub.authorizer.wait_until_ended(&self.id)).await;
        let attempt = ended.unwrap_or_else(|_| hub.authorizer.attempt(&self.id));
        attempt.ok_or_else(|| {
            ApiError::not_found(format!("no sign-in to '{}' is in progress", self.id))
        })
    }
}

impl Verb for CancelSignIn {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        hub.authorizer.cancel(&self.id);
        Ok(Done {})
    }
}

impl Verb for SignOutServer {
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = hub.registry.get(&self.id)?;
        if server.spec.url.is_none() {
            return Err(ApiError::conflict(format!(
                "'{}' is a local program, so there is nothing to sign out of",
                self.id
            )));
        }
        hub.authorizer.cancel(&self.id);
        hub.authorizer
            .sign_out(&server.spec, "a person signed out")
            .await?;
        // A new session finds out again whether the server demands a sign-in.
        hub.reconnect_server(&server, "you signed out").await;
        Ok(view::server_view(hub, &server))
    }
}
