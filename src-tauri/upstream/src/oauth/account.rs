//! The tokens of one server: read from the secret store once, refreshed by one task at a time, and
//! deleted.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use drawbridge_model::{audit::AuditKind, clock, spec::OauthClient};
use drawbridge_store::secrets::{Secret, SecretError, SecretScope};
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore, InMemoryCredentialStore, OAuthClientConfig,
    StoredCredentials,
};
use serde_json::json;

use super::{
    AccountKey, Authorizer, TokenError,
    dial_policy::printable_excerpt,
    discovery::{self, Discovered, DiscoveryError},
    grant::{Grant, Registration},
    signed_in_servers::SignedIn,
};

/// The tokens of one server for one OAuth client. Servers with the same URL and the same client
/// share one account.
pub(super) struct Account {
    pub(super) key: AccountKey,
    /// The client that a person registered, as in the accepted spec, and the secrets that the
    /// spec's server may use.
    spec_client: Mutex<Option<(OauthClient, SecretScope)>>,
    challenge: Mutex<Option<Challenge>>,
    /// A copy of [`Grant::signed_in_scopes`] that can be read while `state` is locked.
    signed_in_scopes: Mutex<BTreeSet<String>>,
    state: tokio::sync::Mutex<AccountState>,
}

/// The server's latest refusal. The account keeps a challenge until a person signs in or out or, if
/// the server refuses every request, until a request succeeds.
#[derive(Debug, Clone)]
pub(super) struct Challenge {
    /// The `WWW-Authenticate` header.
    pub(super) header: Option<String>,
    /// Whether the server refuses every request, and not only those that need more rights.
    pub(super) refuses_all: bool,
    /// The scopes that the server demands. If the server names no scope, the only entry is an empty
    /// text.
    pub(super) scopes: BTreeSet<String>,
}

impl Challenge {
    /// Returns the reason why a person has to sign in.
    pub(super) fn reason(&self) -> String {
        if self.refuses_all {
            return "The server requires a sign-in".into();
        }
        format!(
            "The server refused a request that requires {} than you signed in for",
            describe_scopes(&self.scopes)
        )
    }
}

/// Returns a description of the additional rights.
pub(super) fn describe_scopes(scopes: &BTreeSet<String>) -> String {
    let names: Vec<_> = scopes
        .iter()
        .filter(|scope| !scope.is_empty())
        .map(String::as_str)
        .collect();
    if names.is_empty() {
        "more rights".into()
    } else {
        format!(
            "more rights (scope '{}')",
            printable_excerpt(&names.join(" "))
        )
    }
}

#[derive(Default)]
struct AccountState {
    /// Whether the secret store was read. `grant` is `None` until then.
    is_loaded: bool,
    grant: Option<Grant>,
    /// rmcp's manager for the grant's authorization server, if that server was discovered already.
    manager: Option<AuthorizationManager>,
}

impl Account {
    pub(super) fn new(key: AccountKey) -> Self {
        Self {
            key,
            spec_client: Mutex::default(),
            challenge: Mutex::default(),
            signed_in_scopes: Mutex::default(),
            state: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn set_spec_client(&self, client: Option<OauthClient>, scope: SecretScope) {
        *lock(&self.spec_client) = client.map(|client| (client, scope));
    }

    pub(super) fn spec_client(&self) -> Option<OauthClient> {
        lock(&self.spec_client)
            .as_ref()
            .map(|(client, _)| client.clone())
    }

    /// Returns the client to use at the authorization server: the client that a person registered,
    /// with its current secret, or else `registered`.
    pub(super) async fn resolve_client(
        &self,
        authorizer: &Authorizer,
        registered: &Registration,
    ) -> Result<Registration, SecretError> {
        let spec_client = lock(&self.spec_client).clone();
        let Some((spec_client, scope)) = spec_client else {
            return Ok(registered.clone());
        };
        let secret_refs = spec_client
            .client_secret
            .map(|secret| (String::new(), secret))
            .into_iter()
            .collect();
        let (mut resolved, _) = authorizer.0.tokens.0.resolve(&secret_refs, &scope).await?;
        let client_secret = resolved.remove("");
        if let Some(secret) = &client_secret {
            authorizer.0.logs.add_secret(&Secret::new(secret.clone()));
        }
        Ok(Registration::new(
            spec_client.client_id,
            client_secret,
            registered.redirect_uri.clone(),
        ))
    }

    /// Returns the additional scopes for which a person has already signed in again.
    pub(super) fn signed_in_scopes(&self) -> BTreeSet<String> {
        lock(&self.signed_in_scopes).clone()
    }

    pub(super) fn challenge(&self) -> Option<Challenge> {
        lock(&self.challenge).clone()
    }

    /// Sets or clears the challenge. Returns whether the reason to sign in has changed.
    pub(super) fn set_challenge(&self, challenge: Option<Challenge>) -> bool {
        let reason = |challenge: &Option<Challenge>| challenge.as_ref().map(Challenge::reason);
        let new_reason = reason(&challenge);
        reason(&std::mem::replace(&mut *lock(&self.challenge), challenge)) != new_reason
    }

    /// Returns the token if it is in memory and not due for a refresh. The outer `None` means that
    /// [`Account::token`] has to be called, the inner `None` that nobody has signed in.
    pub(super) fn cached_token(&self) -> Option<Option<Secret>> {
        let state = self.state.try_lock().ok().filter(|state| state.is_loaded)?;
        let Some(grant) = &state.grant else {
            return Some(None);
        };
        (!grant.is_refresh_due(clock::now())).then(|| grant.token())
    }

    /// Returns a token that has not expired, or `None` if a person has to sign in. The future must
    /// not be dropped before it completes: a refreshed token would be lost, and the old token may
    /// be void.
    pub(super) async fn token(
        &self,
        authorizer: &Authorizer,
    ) -> Result<Option<Secret>, TokenError> {
        let mut state = self.state.lock().await;
        let Some(grant) = state.load_grant(self, authorizer).await? else {
            return Ok(None);
        };
        let now = clock::now();
        if !grant.is_refresh_due(now) {
            return Ok(grant.token());
        }
        let valid_token = grant.token().filter(|_| !grant.has_expired(now));
        match state.refresh(self, authorizer).await {
            // The refresh failed, but the old token is still valid.
            Err(error) if valid_token.is_some() => {
                tracing::warn!(
                    "The token for {} could not be refreshed yet: {error}",
                    self.key.server
                );
                Ok(valid_token)
            }
            refreshed => refreshed,
        }
    }

    /// Returns another token than `refused`, which the server refused: a token that was refreshed
    /// meanwhile, or else a token that this call refreshes. Returns `None` if a person has to sign
    /// in.
    pub(super) async fn replace_token(
        &self,
        authorizer: &Authorizer,
        refused: &Secret,
    ) -> Result<Option<Secret>, TokenError> {
        let mut state = self.state.lock().await;
        let Some(grant) = state.load_grant(self, authorizer).await? else {
            return Ok(None);
        };
        match grant.token() {
            Some(token) if token.expose() != refused.expose() => Ok(Some(token)),
            Some(_) | None => state.refresh(self, authorizer).await,
        }
    }

    /// Returns the scopes that were granted before.
    pub(super) async fn granted_scopes(&self, authorizer: &Authorizer) -> Vec<String> {
        let mut state = self.state.lock().await;
        let grant = state.load_grant(self, authorizer).await.ok().flatten();
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
        let mut state = self.state.lock().await;
        let previous = authorizer.0.signed_in_servers.get(&self.key);
        store_grant(self, authorizer, &grant).await?;
        // If the authorization server has changed, the tokens of the previous authorization server
        // are of no use.
        if let Some(previous) = previous.filter(|previous| previous.issuer != grant.issuer) {
            authorizer
                .0
                .tokens
                .delete_grant(&previous.issuer, &self.key)
                .await?;
        }
        self.set_signed_in_scopes(Some(&grant));
        *state = AccountState {
            is_loaded: true,
            grant: Some(grant),
            manager: Some(manager),
        };
        self.set_challenge(None);
        Ok(())
    }

    fn set_signed_in_scopes(&self, grant: Option<&Grant>) {
        *lock(&self.signed_in_scopes) = grant
            .map(|grant| grant.signed_in_scopes.clone())
            .unwrap_or_default();
    }

    pub(super) async fn sign_out(
        &self,
        authorizer: &Authorizer,
        reason: &str,
    ) -> Result<(), SecretError> {
        let mut state = self.state.lock().await;
        state.delete_tokens(self, authorizer, reason).await?;
        self.set_challenge(None);
        Ok(())
    }
}

impl AccountState {
    /// Returns the grant, and reads it from the secret store at the first call. If the secret store
    /// does not hold the grant, removes the record of the sign-in.
    async fn load_grant(
        &mut self,
        account: &Account,
        authorizer: &Authorizer,
    ) -> Result<Option<&Grant>, SecretError> {
        if !self.is_loaded {
            if let Some(signed_in) = authorizer.0.signed_in_servers.get(&account.key) {
                let grant = authorizer
                    .0
                    .tokens
                    .load_grant(&signed_in.issuer, &account.key)
                    .await?;
                match &grant {
                    Some(grant) => mask_secrets(account, authorizer, grant),
                    None => authorizer.0.signed_in_servers.set(&account.key, None).await,
                }
                account.set_signed_in_scopes(grant.as_ref());
                self.grant = grant;
            }
            self.is_loaded = true;
        }
        Ok(self.grant.as_ref())
    }

    /// Refreshes the token. Deletes the tokens and returns `None` if the authorization server
    /// refuses to refresh it, if there is no refresh token, or if the server has another
    /// authorization server now.
    async fn refresh(
        &mut self,
        account: &Account,
        authorizer: &Authorizer,
    ) -> Result<Option<Secret>, TokenError> {
        let Some(grant) = &self.grant else {
            return Ok(None);
        };
        if grant.refresh_token().is_none() {
            self.delete_tokens(
                account,
                authorizer,
                "the token expired or was refused, and cannot be refreshed",
            )
            .await?;
            return Ok(None);
        }
        let client = account.resolve_client(authorizer, &grant.client).await?;
        let mut manager = match self.manager.take() {
            Some(manager) => manager,
            None => match discover_manager(account, grant).await? {
                Some(manager) => manager,
                // The new authorization server must not get the tokens of the old authorization
                // server.
                None => {
                    let server = &account.key.server;
                    tracing::warn!(
                        "{server} has changed its authorization server, so a person has to sign in again"
                    );
                    self.delete_tokens(
                        account,
                        authorizer,
                        "the server has changed its authorization server",
                    )
                    .await?;
                    return Ok(None);
                }
            },
        };
        manager
            .configure_client(client_config(&client))
            .map_err(TokenError::protocol)?;
        match refresh_credentials(manager, grant).await {
            Ok((credentials, manager)) => {
                let grant = Grant {
                    credentials,
                    issuer: grant.issuer.clone(),
                    client: grant.client.clone(),
                    signed_in_scopes: grant.signed_in_scopes.clone(),
                };
                if let Err(error) = store_grant(account, authorizer, &grant).await {
                    tracing::warn!(
                        "The new token for {} could not be stored in the secret store: {error}",
                        account.key.server
                    );
                }
                let token = grant.token();
                (self.grant, self.manager) = (Some(grant), Some(manager));
                Ok(token)
            }
            Err(AuthError::TokenRefreshRejected(reason)) => {
                tracing::warn!(
                    "The authorization server refuses to refresh the token for {}: {reason}",
                    account.key.server
                );
                self.delete_tokens(
                    account,
                    authorizer,
                    "the authorization server refused to refresh the token",
                )
                .await?;
                Ok(None)
            }
            Err(error) => {
                Err(TokenError::protocol(error).map_text(&|text| authorizer.0.logs.mask_text(text)))
            }
        }
    }

    async fn delete_tokens(
        &mut self,
        account: &Account,
        authorizer: &Authorizer,
        reason: &str,
    ) -> Result<(), SecretError> {
        if let Some(signed_in) = authorizer.0.signed_in_servers.get(&account.key) {
            authorizer
                .0
                .tokens
                .delete_grant(&signed_in.issuer, &account.key)
                .await?;
            authorizer.0.signed_in_servers.set(&account.key, None).await;
            let (url, issuer) = (account.key.shown_url(), &signed_in.issuer);
            let note = json!({ "url": url, "issuer": issuer, "reason": reason });
            authorizer.0.store.append_audit(AuditKind::SignedOut, &note);
        }
        account.set_signed_in_scopes(None);
        *self = Self {
            is_loaded: true,
            grant: None,
            manager: None,
        };
        Ok(())
    }
}

/// Returns rmcp's manager for the grant's authorization server, or `None` if the server has another
/// authorization server now.
async fn discover_manager(
    account: &Account,
    grant: &Grant,
) -> Result<Option<AuthorizationManager>, DiscoveryError> {
    let Discovered {
        manager, issuer, ..
    } = discovery::discover(&account.key.server, None).await?;
    Ok((issuer == grant.issuer).then_some(manager))
}

async fn refresh_credentials(
    mut manager: AuthorizationManager,
    grant: &Grant,
) -> Result<(StoredCredentials, AuthorizationManager), AuthError> {
    let credential_store = InMemoryCredentialStore::new();
    credential_store.save(grant.credentials.clone()).await?;
    manager.set_credential_store(credential_store.clone());
    manager.refresh_token().await?;
    let credentials = credential_store
        .load()
        .await?
        .ok_or(AuthError::AuthorizationRequired)?;
    Ok((credentials, manager))
}

/// Writes a grant to the secret store, and records its issuer.
async fn store_grant(
    account: &Account,
    authorizer: &Authorizer,
    grant: &Grant,
) -> Result<(), SecretError> {
    mask_secrets(account, authorizer, grant);
    authorizer.0.tokens.store_grant(&account.key, grant).await?;
    let signed_in = SignedIn {
        issuer: grant.issuer.clone(),
        expires_at: grant.expires_at(),
    };
    authorizer
        .0
        .signed_in_servers
        .set(&account.key, Some(signed_in))
        .await;
    Ok(())
}

/// Makes the logs mask the secrets of a grant instead of those of the account's previous grant.
fn mask_secrets(account: &Account, authorizer: &Authorizer, grant: &Grant) {
    let client_secret = grant.client.client_secret.clone().map(Secret::new);
    for (kind, secret) in [
        ("token", grant.token()),
        ("refresh token", grant.refresh_token()),
        ("client secret", client_secret),
    ] {
        if let Some(secret) = secret {
            let key = &account.key;
            let client = key.client_id.as_deref().unwrap_or_default();
            let name = format!("{} {client} {kind}", key.server);
            authorizer.0.logs.replace_secret(&name, &secret);
        }
    }
}

pub(super) fn client_config(client: &Registration) -> OAuthClientConfig {
    let config = OAuthClientConfig::new(&client.client_id, &client.redirect_uri);
    match &client.client_secret {
        Some(secret) => config.with_client_secret(secret),
        None => config,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
