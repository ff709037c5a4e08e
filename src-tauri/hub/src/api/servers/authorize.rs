//! Signing in to a remote server, and out again.

use serde::{Deserialize, Serialize};

use super::{ServerView, view};
use crate::{
    api::{ApiError, Done, Verb},
    hub::Hub,
    model::{authorization::SignIn, ids::ServerId, server::Acceptance},
};

/// `servers.authorize`: begins to sign in to a remote server; the one attempt that runs, where one does. The
/// answer's URL is to be opened in a browser; the desktop app does that itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AuthorizeServer {
    pub id: ServerId,
}

/// `servers.await_sign_in`: waits until the attempt to sign in to a server has ended, at most two minutes;
/// how it stands then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AwaitSignIn {
    pub id: ServerId,
}

/// `servers.cancel_sign_in`: ends the attempt to sign in to a server, and forgets how it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CancelSignIn {
    pub id: ServerId,
}

/// `servers.sign_out`: forgets the tokens of a server, and ends its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SignOutServer {
    pub id: ServerId,
}

/// Shorter than a face waits for an answer.
const AWAIT: std::time::Duration = std::time::Duration::from_secs(120);

impl Verb for AuthorizeServer {
    const NAME: &'static str = "servers.authorize";
    type Answer = SignIn;

    async fn run(self, hub: &Hub) -> Result<SignIn, ApiError> {
        let server = hub.registry.get(&self.id)?;
        if hub.registry.acceptance(&server) != Acceptance::Accepted {
            return Err(ApiError::conflict(format!(
                "'{}' waits for your approval; accept it first",
                self.id
            )));
        }
        Ok(hub.authorizer.sign_in(&self.id, &server.spec).await?)
    }
}

impl Verb for AwaitSignIn {
    const NAME: &'static str = "servers.await_sign_in";
    type Answer = SignIn;

    async fn run(self, hub: &Hub) -> Result<SignIn, ApiError> {
        let ended = tokio::time::timeout(AWAIT, hub.authorizer.ended(&self.id)).await;
        let attempt = ended.unwrap_or_else(|_| hub.authorizer.attempt(&self.id));
        attempt.ok_or_else(|| ApiError::not_found(format!("nobody signs in to '{}' now", self.id)))
    }
}

impl Verb for CancelSignIn {
    const NAME: &'static str = "servers.cancel_sign_in";
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        hub.authorizer.cancel(&self.id);
        Ok(Done {})
    }
}

impl Verb for SignOutServer {
    const NAME: &'static str = "servers.sign_out";
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = hub.registry.get(&self.id)?;
        hub.authorizer.cancel(&self.id);
        hub.authorizer.sign_out(&server.spec).await?;
        // With a new session it says itself what it wants now.
        hub.connect_anew(&server, "a person signed out").await;
        Ok(view::server(hub, &server))
    }
}
