//! The tokens of one server: read from the keyring once, renewed by one task at a time, and
//! deleted.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    Authorizer, BearerError, Place,
    discovery::{self, Discovered},
    grant::{Grant, Registration},
    known::Signed,
    reach::shown,
};
use crate::{
    clock,
    model::spec::OauthClient,
    secrets::{Secret, SecretError},
};
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore, InMemoryCredentialStore, OAuthClientConfig,
    StoredCredentials,
};

/// A server and a client. Servers with the same URL and the same client share one account.
pub(super) struct Account {
    pub(super) place: Place,
    /// The client that a person registered, as in the current spec.
    own_client: Mutex<Option<OauthClient>>,
    challenge: Mutex<Option<Challenge>>,
    /// As in the [`Grant`].
    answered: Mutex<BTreeSet<String>>,
    held: tokio::sync::Mutex<Held>,
}

/// The refusal of the server, until a person signs in or a request succeeds.
#[derive(Debug, Clone)]
pub(super) struct Challenge {
    /// The `WWW-Authenticate` header.
    pub(super) header: Option<String>,
    /// True if the server refuses every request, false if it refuses only those that need more
    /// rights.
    pub(super) shuts: bool,
    /// The scopes that the server demands. Empty text if it names none.
    pub(super) scopes: BTreeSet<String>,
}

impl Challenge {
    /// Returns the reason why a person has to sign in.
    pub(super) fn reason(&self) -> String {
        if self.shuts {
            return "it answers only to a person who has signed in".into();
        }
        format!(
            "it refused a request that needs {} than you signed in for",
            named(&self.scopes)
        )
    }
}

/// Returns a description of the additional rights.
pub(super) fn named(scopes: &BTreeSet<String>) -> String {
    let names: Vec<_> = scopes
        .iter()
        .filter(|scope| !scope.is_empty())
        .map(String::as_str)
        .collect();
    if names.is_empty() {
        "more rights".into()
    } else {
        format!("more rights (scope '{}')", shown(&names.join(" ")))
    }
}

#[derive(Default)]
struct Held {
    /// True if the grant was read from the keyring.
    read: bool,
    grant: Option<Grant>,
    /// The client of the grant's authorization server, if it was discovered already.
    manager: Option<AuthorizationManager>,
}

impl Account {
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            own_client: Mutex::default(),
            challenge: Mutex::default(),
            answered: Mutex::default(),
            held: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn set_own_client(&self, client: Option<OauthClient>) {
        *lock(&self.own_client) = client;
    }

    pub(super) fn own_client(&self) -> Option<OauthClient> {
        lock(&self.own_client).clone()
    }

    /// Returns the client to use at the authorization server: the one that a person registered,
    /// with its current secret, or else `registered`.
    pub(super) async fn client(
        &self,
        authorizer: &Authorizer,
        registered: &Registration,
    ) -> Result<Registration, SecretError> {
        let Some(own) = self.own_client() else {
            return Ok(registered.clone());
        };
        let given = own
            .client_secret
            .map(|secret| (String::new(), secret))
            .into_iter()
            .collect();
        let (mut resolved, _) = authorizer.0.kept.0.resolve(&given).await?;
        let client_secret = resolved.remove("");
        if let Some(secret) = &client_secret {
            authorizer.0.logs.add_secret(&Secret::new(secret.clone()));
        }
        Ok(Registration::new(
            own.client_id,
            client_secret,
            registered.redirect_uri.clone(),
        ))
    }

    /// Returns the scopes that a person has already signed in again for.
    pub(super) fn answered(&self) -> BTreeSet<String> {
        lock(&self.answered).clone()
    }

    pub(super) fn challenge(&self) -> Option<Challenge> {
        lock(&self.challenge).clone()
    }

    /// Sets or clears the challenge. Returns true if the reason to sign in has changed.
    pub(super) fn set_challenge(&self, challenge: Option<Challenge>) -> bool {
        let said = |challenge: &Option<Challenge>| challenge.as_ref().map(Challenge::reason);
        let now = said(&challenge);
        said(&std::mem::replace(&mut *lock(&self.challenge), challenge)) != now
    }

    /// Returns a token that is not due for renewal, if that is known without I/O. The inner `None`
    /// means that nobody has signed in.
    pub(super) fn ready(&self) -> Option<Option<Secret>> {
        let held = self.held.try_lock().ok().filter(|held| held.read)?;
        let Some(grant) = &held.grant else {
            return Some(None);
        };
        (!grant.is_due(clock::now())).then(|| grant.token())
    }

    /// Returns a token that has not expired, or `None` if nobody has signed in. The future must not
    /// be dropped before it completes: a renewed token would be lost, and the old one may be void.
    pub(super) async fn token(
        &self,
        authorizer: &Authorizer,
    ) -> Result<Option<Secret>, BearerError> {
        let mut held = self.held.lock().await;
        let Some(grant) = held.grant(self, authorizer).await? else {
            return Ok(None);
        };
        let now = clock::now();
        if !grant.is_due(now) {
            return Ok(grant.token());
        }
        let usable = grant.token().filter(|_| !grant.has_run_out(now));
        match held.refresh(self, authorizer).await {
            // The renewal failed, but the old token is still valid.
            Err(error) if usable.is_some() => {
                tracing::warn!(
                    "the token for {} is not renewed yet: {error}",
                    self.place.server
                );
                Ok(usable)
            }
            renewed => renewed,
        }
    }

    /// Returns another token than the one that the server refused: a newer one, or a renewed one.
    /// Returns `None` if there is none.
    pub(super) async fn other_than(
        &self,
        authorizer: &Authorizer,
        refused: &Secret,
    ) -> Result<Option<Secret>, BearerError> {
        let mut held = self.held.lock().await;
        let Some(grant) = held.grant(self, authorizer).await? else {
            return Ok(None);
        };
        match grant.token() {
            Some(token) if token.expose() != refused.expose() => Ok(Some(token)),
            Some(_) | None => held.refresh(self, authorizer).await,
        }
    }

    /// Returns the scopes that were granted before.
    pub(super) async fn granted_scopes(&self, authorizer: &Authorizer) -> Vec<String> {
        let mut held = self.held.lock().await;
        let grant = held.grant(self, authorizer).await.ok().flatten();
        grant
            .map(|grant| grant.credentials.granted_scopes.clone())
            .unwrap_or_default()
    }

    /// Stores the tokens of a sign-in, and clears the challenge.
    pub(super) async fn sign_in(
        &self,
        authorizer: &Authorizer,
        grant: Grant,
        manager: AuthorizationManager,
    ) -> Result<(), SecretError> {
        let mut held = self.held.lock().await;
        let before = authorizer.0.known.of(&self.place);
        keep(self, authorizer, &grant).await?;
        // The authorization server has changed, so the tokens of the previous one are of no use.
        if let Some(before) = before.filter(|before| before.issuer != grant.issuer) {
            authorizer
                .0
                .kept
                .forget_grant(&before.issuer, &self.place)
                .await?;
        }
        self.answered_by(Some(&grant));
        *held = Held {
            read: true,
            grant: Some(grant),
            manager: Some(manager),
        };
        self.set_challenge(None);
        Ok(())
    }

    fn answered_by(&self, grant: Option<&Grant>) {
        *lock(&self.answered) = grant
            .map(|grant| grant.answered.clone())
            .unwrap_or_default();
    }

    pub(super) async fn forget(&self, authorizer: &Authorizer) -> Result<(), SecretError> {
        let mut held = self.held.lock().await;
        held.forget(self, authorizer).await?;
        self.set_challenge(None);
        Ok(())
    }
}

impl Held {
    /// Returns the grant, and reads it from the keyring at the first call. If the keyring does not
    /// hold it any more, its record is removed too.
    async fn grant(
        &mut self,
        account: &Account,
        authorizer: &Authorizer,
    ) -> Result<Option<&Grant>, SecretError> {
        if !self.read {
            if let Some(known) = authorizer.0.known.of(&account.place) {
                let grant = authorizer
                    .0
                    .kept
                    .grant(&known.issuer, &account.place)
                    .await?;
                match &grant {
                    Some(grant) => mask(authorizer, grant),
                    None => authorizer.0.known.set(&account.place, None).await,
                }
                account.answered_by(grant.as_ref());
                self.grant = grant;
            }
            self.read = true;
        }
        Ok(self.grant.as_ref())
    }

    /// Renews the token. Deletes the tokens and returns `None` if the authorization server refuses
    /// to renew, if there is no refresh token, or if the server has another authorization server
    /// now.
    async fn refresh(
        &mut self,
        account: &Account,
        authorizer: &Authorizer,
    ) -> Result<Option<Secret>, BearerError> {
        let Some(grant) = &self.grant else {
            return Ok(None);
        };
        if grant.refresh_token().is_none() {
            self.forget(account, authorizer).await?;
            return Ok(None);
        }
        let client = account.client(authorizer, &grant.client).await?;
        let mut manager = match self.manager.take() {
            Some(manager) => manager,
            None => match manager_of(account, grant)
                .await
                .map_err(BearerError::Refresh)?
            {
                Some(manager) => manager,
                // The server has another authorization server now, which must not get the tokens of
                // the old one.
                None => {
                    let server = &account.place.server;
                    tracing::warn!(
                        "{server} has another authorization server now: a person has to sign in"
                    );
                    self.forget(account, authorizer).await?;
                    return Ok(None);
                }
            },
        };
        let configured = manager.configure_client(config(&client));
        configured.map_err(|e| BearerError::Refresh(discovery::in_words(&e)))?;
        match renew(manager, grant).await {
            Ok((credentials, manager)) => {
                let grant = Grant {
                    credentials,
                    issuer: grant.issuer.clone(),
                    client: grant.client.clone(),
                    answered: grant.answered.clone(),
                };
                if let Err(error) = keep(account, authorizer, &grant).await {
                    tracing::warn!(
                        "the new token for {} is not in the keyring: {error}",
                        account.place.server
                    );
                }
                let token = grant.token();
                (self.grant, self.manager) = (Some(grant), Some(manager));
                Ok(token)
            }
            Err(AuthError::TokenRefreshRejected(why)) => {
                tracing::warn!(
                    "the token for {} cannot be renewed: {why}",
                    account.place.server
                );
                self.forget(account, authorizer).await?;
                Ok(None)
            }
            Err(error) => Err(BearerError::Refresh(
                authorizer.0.logs.mask_text(&discovery::in_words(&error)),
            )),
        }
    }

    async fn forget(
        &mut self,
        account: &Account,
        authorizer: &Authorizer,
    ) -> Result<(), SecretError> {
        if let Some(known) = authorizer.0.known.of(&account.place) {
            authorizer
                .0
                .kept
                .forget_grant(&known.issuer, &account.place)
                .await?;
            authorizer.0.known.set(&account.place, None).await;
        }
        account.answered_by(None);
        *self = Self {
            read: true,
            grant: None,
            manager: None,
        };
        Ok(())
    }
}

/// Returns the client of the grant's authorization server, or `None` if the server has another
/// authorization server now.
async fn manager_of(
    account: &Account,
    grant: &Grant,
) -> Result<Option<AuthorizationManager>, String> {
    let Discovered {
        manager, issuer, ..
    } = discovery::discover(&account.place.server, None).await?;
    Ok((issuer == grant.issuer).then_some(manager))
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

/// Writes a grant to the keyring, and records its issuer.
async fn keep(
    account: &Account,
    authorizer: &Authorizer,
    grant: &Grant,
) -> Result<(), SecretError> {
    mask(authorizer, grant);
    authorizer.0.kept.keep_grant(&account.place, grant).await?;
    let signed = Signed {
        issuer: grant.issuer.clone(),
        expires_at: grant.expires_at(),
    };
    authorizer.0.known.set(&account.place, Some(signed)).await;
    Ok(())
}

fn mask(authorizer: &Authorizer, grant: &Grant) {
    let client_secret = grant.client.client_secret.clone().map(Secret::new);
    for secret in [grant.token(), grant.refresh_token(), client_secret]
        .into_iter()
        .flatten()
    {
        authorizer.0.logs.add_secret(&secret);
    }
}

pub(super) fn config(client: &Registration) -> OAuthClientConfig {
    let config = OAuthClientConfig::new(&client.client_id, &client.redirect_uri);
    match &client.client_secret {
        Some(secret) => config.with_client_secret(secret),
        None => config,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
