//! The tokens of one server: read from the keyring once, renewed by one at a time, forgotten.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore, InMemoryCredentialStore, OAuthClientConfig, StoredCredentials,
};
use url::Url;

use super::{
    Authorizer, BearerError,
    discovery::{self, Discovered},
    grant::{Grant, Registration},
    known::Signed,
};
use crate::{
    clock,
    secrets::{Secret, SecretError},
};

/// A server by its URL; servers with the same URL share it.
pub(super) struct Account {
    pub(super) server: Url,
    challenge: Mutex<Option<Challenge>>,
    held: tokio::sync::Mutex<Held>,
}

/// How the server refused, not answered by a person yet.
#[derive(Debug, Clone)]
pub(super) struct Challenge {
    /// Its `WWW-Authenticate`.
    pub(super) header: Option<String>,
    /// It refuses everything, not only what needs more rights.
    pub(super) shuts: bool,
}

#[derive(Default)]
struct Held {
    /// The keyring was asked.
    read: bool,
    grant: Option<Grant>,
    /// Knows the authorization server of the grant.
    manager: Option<AuthorizationManager>,
}

impl Account {
    pub(super) fn new(server: Url) -> Self {
        Self { server, challenge: Mutex::default(), held: tokio::sync::Mutex::default() }
    }

    pub(super) fn challenge(&self) -> Option<Challenge> {
        self.challenge_now().clone()
    }

    /// Whether that is news.
    pub(super) fn set_challenge(&self, challenge: Option<Challenge>) -> bool {
        let before = std::mem::replace(&mut *self.challenge_now(), challenge.clone());
        before.is_some() != challenge.is_some()
            || before.is_some_and(|before| challenge.is_some_and(|now| now.shuts != before.shuts))
    }

    fn challenge_now(&self) -> MutexGuard<'_, Option<Challenge>> {
        self.challenge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A token that is good for a while, where that is known without asking anybody; inside, nothing where a
    /// person has not signed in.
    pub(super) fn ready(&self) -> Option<Option<Secret>> {
        let held = self.held.try_lock().ok().filter(|held| held.read)?;
        let Some(grant) = &held.grant else { return Some(None) };
        (!grant.is_due(clock::now())).then(|| grant.token())
    }

    /// A token that has not run out; nothing where a person has not signed in. Not to be dropped halfway: a
    /// new token that nobody takes is lost, and the old one may be void.
    pub(super) async fn token(&self, authorizer: &Authorizer) -> Result<Option<Secret>, BearerError> {
        let mut held = self.held.lock().await;
        let Some(grant) = held.grant(self, authorizer).await? else { return Ok(None) };
        let now = clock::now();
        if !grant.is_due(now) {
            return Ok(grant.token());
        }
        let usable = grant.token().filter(|_| !grant.has_run_out(now));
        match held.refresh(self, authorizer).await {
            // It could not be renewed now, but is still good.
            Err(error) if usable.is_some() => {
                tracing::warn!("the token for {} is not renewed yet: {error}", self.server);
                Ok(usable)
            }
            renewed => renewed,
        }
    }

    /// Another token than the one that the server refused, where there is one or one can be had.
    pub(super) async fn other_than(
        &self,
        authorizer: &Authorizer,
        refused: &Secret,
    ) -> Result<Option<Secret>, BearerError> {
        let mut held = self.held.lock().await;
        let Some(grant) = held.grant(self, authorizer).await? else { return Ok(None) };
        match grant.token() {
            Some(token) if token.expose() != refused.expose() => Ok(Some(token)),
            Some(_) | None => held.refresh(self, authorizer).await,
        }
    }

    /// What a person may do there already.
    pub(super) async fn granted_scopes(&self, authorizer: &Authorizer) -> Vec<String> {
        let mut held = self.held.lock().await;
        let grant = held.grant(self, authorizer).await.ok().flatten();
        grant.map(|grant| grant.credentials.granted_scopes.clone()).unwrap_or_default()
    }

    /// Keeps what an authorization server gave.
    pub(super) async fn sign_in(
        &self,
        authorizer: &Authorizer,
        grant: Grant,
        manager: AuthorizationManager,
    ) -> Result<(), SecretError> {
        let mut held = self.held.lock().await;
        let before = authorizer.0.known.of(&self.server);
        keep(self, authorizer, &grant).await?;
        // Of another authorization server than before: what that one gave is of no use any more.
        if let Some(before) = before.filter(|before| before.issuer != grant.issuer) {
            authorizer.0.kept.forget_grant(&before.issuer, &self.server).await?;
        }
        *held = Held { read: true, grant: Some(grant), manager: Some(manager) };
        self.set_challenge(None);
        Ok(())
    }

    pub(super) async fn forget(&self, authorizer: &Authorizer) -> Result<(), SecretError> {
        let mut held = self.held.lock().await;
        held.forget(self, authorizer).await?;
        self.set_challenge(None);
        Ok(())
    }
}

impl Held {
    /// The grant, read where it was not; one that is not in the keyring any more is not known any more.
    async fn grant(&mut self, account: &Account, authorizer: &Authorizer) -> Result<Option<&Grant>, SecretError> {
        if !self.read {
            if let Some(known) = authorizer.0.known.of(&account.server) {
                let grant = authorizer.0.kept.grant(&known.issuer, &account.server).await?;
                match &grant {
                    Some(grant) => mask(authorizer, grant),
                    None => authorizer.0.known.set(&account.server, None).await,
                }
                self.grant = grant;
            }
            self.read = true;
        }
        Ok(self.grant.as_ref())
    }

    /// Renews the token. Nothing, and the tokens are forgotten, where the authorization server will not.
    async fn refresh(&mut self, account: &Account, authorizer: &Authorizer) -> Result<Option<Secret>, BearerError> {
        let Some(grant) = &self.grant else { return Ok(None) };
        if grant.refresh_token().is_none() {
            self.forget(account, authorizer).await?;
            return Ok(None);
        }
        let manager = match self.manager.take() {
            Some(manager) => manager,
            None => match manager_of(account, grant).await.map_err(BearerError::Refresh)? {
                Some(manager) => manager,
                // The server has another authorization server now: what this one gave is not shown to it.
                None => {
                    tracing::warn!("{} has another authorization server now: a person has to sign in", account.server);
                    self.forget(account, authorizer).await?;
                    return Ok(None);
                }
            },
        };
        match renew(manager, grant).await {
            Ok((credentials, manager)) => {
                let grant = Grant { credentials, issuer: grant.issuer.clone(), client: grant.client.clone() };
                if let Err(error) = keep(account, authorizer, &grant).await {
                    tracing::warn!("the new token for {} is not in the keyring: {error}", account.server);
                }
                let token = grant.token();
                (self.grant, self.manager) = (Some(grant), Some(manager));
                Ok(token)
            }
            Err(AuthError::TokenRefreshRejected(why)) => {
                tracing::warn!("the token for {} cannot be renewed: {why}", account.server);
                self.forget(account, authorizer).await?;
                Ok(None)
            }
            Err(error) => Err(BearerError::Refresh(authorizer.0.logs.masked(&discovery::in_words(&error)))),
        }
    }

    async fn forget(&mut self, account: &Account, authorizer: &Authorizer) -> Result<(), SecretError> {
        if let Some(known) = authorizer.0.known.of(&account.server) {
            authorizer.0.kept.forget_grant(&known.issuer, &account.server).await?;
            authorizer.0.known.set(&account.server, None).await;
        }
        *self = Self { read: true, grant: None, manager: None };
        Ok(())
    }
}

/// What speaks to the authorization server of the grant; nothing where the server has another one now.
async fn manager_of(account: &Account, grant: &Grant) -> Result<Option<AuthorizationManager>, String> {
    let Discovered { mut manager, issuer, .. } = discovery::discover(&account.server, None).await?;
    if issuer != grant.issuer {
        return Ok(None);
    }
    manager.configure_client(config(&grant.client)).map_err(|e| discovery::in_words(&e))?;
    Ok(Some(manager))
}

async fn renew(
    mut manager: AuthorizationManager,
    grant: &Grant,
) -> Result<(StoredCredentials, AuthorizationManager), AuthError> {
    let desk = InMemoryCredentialStore::new();
    desk.save(grant.credentials.clone()).await?;
    manager.set_credential_store(desk.clone());
    manager.refresh_token().await?;
    let credentials = desk.load().await?.ok_or(AuthError::AuthorizationRequired)?;
    Ok((credentials, manager))
}

/// Puts a grant into the keyring, and notes whose it is.
async fn keep(account: &Account, authorizer: &Authorizer, grant: &Grant) -> Result<(), SecretError> {
    mask(authorizer, grant);
    authorizer.0.kept.keep_grant(&account.server, grant).await?;
    let signed = Signed { issuer: grant.issuer.clone(), expires_at: grant.expires_at() };
    authorizer.0.known.set(&account.server, Some(signed)).await;
    Ok(())
}

fn mask(authorizer: &Authorizer, grant: &Grant) {
    let client_secret = grant.client.client_secret.clone().map(Secret::new);
    for secret in [grant.token(), grant.refresh_token(), client_secret].into_iter().flatten() {
        authorizer.0.logs.mask(&secret);
    }
}

pub(super) fn config(client: &Registration) -> OAuthClientConfig {
    let config = OAuthClientConfig::new(&client.client_id, &client.redirect_uri);
    match &client.client_secret {
        Some(secret) => config.with_client_secret(secret),
        None => config,
    }
}
