//! Sign-in to remote servers with OAuth 2.1, as MCP specifies it: discovery, PKCE, client metadata
//! documents or dynamic registration, resource indicators, the issuer check of RFC 9207, and
//! refresh.
//!
//! rmcp implements the protocol, over an HTTP client of this module ([`http`]) that connects only
//! to addresses that [`dial_policy`] allows. The secret store holds tokens and registrations
//! ([`grant`]): tokens by issuer, server and registered client, registrations by issuer. The store
//! records only which server has tokens of which issuer, and when they expire. Access tokens leave
//! this module only for the secret store, and in the `Authorization` header of a request to the
//! server for which they were issued ([`Bearer`]).

mod account;
mod attempt;
mod bearer;
mod callback;
mod dial_policy;
mod discovery;
mod grant;
mod http;
mod signed_in_servers;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use drawbridge_model::{
    display_url::DisplayUrl,
    event::{Event, Events},
    ids::ServerId,
    reference::begins_reference,
    sign_in::{ServerSignIn, SignIn},
    spec::ServerSpec,
};
use drawbridge_store::{
    Store, StoreError,
    logs::Logs,
    secrets::{SecretError, SecretScope, Secrets, StoredName},
    settings::Settings,
};
use url::Url;

pub use attempt::SignInError;
pub use bearer::{Bearer, BearerError, InsufficientScope, SignInReason, TokenError};
pub use dial_policy::{BrowserUrlError, DialError, check_browser_url};
pub use discovery::DiscoveryError;

pub(crate) use dial_policy::DialPolicy;
pub(crate) use http::build_filtered_client;

use crate::dirty_set::DirtySet;
use account::Account;
use attempt::Attempt;
use grant::TokenStore;
use signed_in_servers::SignedInServers;

/// Why a person cannot sign in.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OauthError {
    #[error(transparent)]
    NotPossible(#[from] SignInImpossible),
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The attempt failed, for example because the server or its authorization server broke the
    /// rules of OAuth or did not answer.
    #[error("Drawbridge cannot sign in to the server. {0}")]
    Failed(SignInError),
}

/// Why a server does not support a sign-in.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SignInImpossible {
    #[error("You cannot sign in to this server, because it is a local program")]
    Local,
    #[error(
        "You cannot sign in to this server, because its spec has an Authorization header. Remove \
         the header to sign in instead"
    )]
    AuthorizationHeader,
    #[error(
        "You cannot sign in to this server, because its URL contains a user name. Remove the name \
         to sign in instead"
    )]
    UserName,
    #[error("You cannot sign in to this server, because its URL cannot be read: {source}")]
    NotUrl { source: url::ParseError },
    #[error("You cannot sign in to this server: {source}")]
    Dial { source: DialError },
}

/// Signs in to servers, and stores and refreshes their tokens. Cheap to clone.
#[derive(Clone)]
pub struct Authorizer(Arc<Inner>);

/// The key of a set of tokens: a server, by its URL, and the client that a person registered for
/// the server. Tokens that were issued to one client are of no use to another client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct AccountKey {
    server: Url,
    /// `None` if Drawbridge registers the client itself.
    client_id: Option<String>,
}

impl AccountKey {
    /// Returns the URL of the server in a form that may be shown and recorded.
    fn shown_url(&self) -> DisplayUrl {
        DisplayUrl::from(&self.server)
    }
}

struct Inner {
    store: Store,
    tokens: TokenStore,
    signed_in_servers: SignedInServers,
    settings: Settings,
    events: Events,
    logs: Logs,
    accounts: Mutex<BTreeMap<AccountKey, Arc<Account>>>,
    attempts: Mutex<BTreeMap<ServerId, Attempt>>,
    /// A lock for each server, held while an attempt begins. Each server therefore has at most one
    /// attempt at a time, and an authorization server that does not answer delays no attempt at
    /// another server.
    beginning: Mutex<BTreeMap<ServerId, Arc<tokio::sync::Mutex<()>>>>,
    new_sign_ins: DirtySet<Url>,
}

impl Authorizer {
    /// Reads which servers have tokens. `new_sign_ins` gets the URL of each server to which a
    /// person signs in.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn load(
        secrets: Secrets,
        store: Store,
        settings: Settings,
        events: Events,
        logs: Logs,
        new_sign_ins: DirtySet<Url>,
    ) -> Result<Self, StoreError> {
        let inner = Inner {
            tokens: TokenStore(secrets),
            signed_in_servers: SignedInServers::load(store.clone()).await?,
            store,
            settings,
            events,
            logs,
            accounts: Mutex::default(),
            attempts: Mutex::default(),
            beginning: Mutex::default(),
            new_sign_ins,
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Returns the authorization for requests to a server, or `None` if a person cannot sign in to
    /// the server. [`SignInImpossible`] lists the reasons.
    ///
    /// `scope` limits the secrets that the spec's OAuth client may use.
    pub fn bearer(&self, id: &ServerId, spec: &ServerSpec, scope: SecretScope) -> Option<Bearer> {
        let account = self.account(spec).ok()?;
        account.set_spec_client(spec.oauth.clone(), scope);
        Some(Bearer::new(self.clone(), id.clone(), account))
    }

    /// Returns whether a person is signed in to the server, or has to sign in.
    pub fn sign_in_state(&self, spec: &ServerSpec) -> ServerSignIn {
        let Ok(account) = self.account(spec) else {
            return ServerSignIn::None;
        };
        if account.challenge().is_some() {
            return ServerSignIn::Needed;
        }
        match self.0.signed_in_servers.get(&account.key) {
            Some(signed_in) => ServerSignIn::SignedIn {
                issuer: signed_in.issuer,
                expires_at: signed_in.expires_at,
            },
            None => ServerSignIn::None,
        }
    }

    /// Returns the reason why a person has to sign in, or to sign in again, if there is one.
    pub fn sign_in_reason(&self, spec: &ServerSpec) -> Option<String> {
        Some(self.account(spec).ok()?.challenge()?.reason())
    }

    /// Starts an attempt to sign in, or returns the attempt that is still running. `scope` limits
    /// the secrets that the spec's OAuth client may use.
    ///
    /// # Errors
    /// Returns an error if the server does not support a sign-in, if the attempt cannot begin (see
    /// [`SignInError`]), or if the secret store cannot be used.
    pub async fn sign_in(
        &self,
        id: &ServerId,
        spec: &ServerSpec,
        scope: SecretScope,
    ) -> Result<SignIn, OauthError> {
        let account = self.account(spec)?;
        account.set_spec_client(spec.oauth.clone(), scope);
        let beginning = {
            let mut by_server = self
                .0
                .beginning
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            by_server.entry(id.clone()).or_default().clone()
        };
        let _one_at_a_time = beginning.lock().await;
        if let Some(running) = self
            .attempt(id)
            .filter(|attempt| !attempt.state.has_ended())
        {
            return Ok(running);
        }
        attempt::begin(self, id, &account).await
    }

    /// Returns the latest attempt of a server. An attempt that has ended stays until another
    /// attempt begins or [`Self::cancel`] removes it.
    pub fn attempt(&self, id: &ServerId) -> Option<SignIn> {
        self.attempts().get(id).map(Attempt::snapshot)
    }

    /// Returns true while an attempt to sign in to any server is running.
    pub fn is_signing_in(&self) -> bool {
        self.attempts()
            .values()
            .any(|attempt| !attempt.snapshot().state.has_ended())
    }

    /// Waits until the attempt of a server has ended, and returns its final state. A cancelled
    /// attempt counts as failed. Returns `None` if there is no attempt.
    pub async fn wait_until_ended(&self, id: &ServerId) -> Option<SignIn> {
        let mut states = self.attempts().get(id)?.watch();
        let _ = states.wait_for(|attempt| attempt.state.has_ended()).await;
        let mut attempt = states.borrow().clone();
        if !attempt.state.has_ended() {
            attempt.state = attempt::cancelled_state();
        }
        Some(attempt)
    }

    /// Cancels and removes the attempt of a server.
    pub fn cancel(&self, id: &ServerId) {
        if let Some(attempt) = self.attempts().remove(id) {
            attempt.cancel(self);
        }
    }

    /// Deletes the tokens of a server. The audit log records `reason`.
    ///
    /// # Errors
    /// Returns an error if the secret store cannot be used. In that case, the tokens are still
    /// stored.
    pub async fn sign_out(&self, spec: &ServerSpec, reason: &str) -> Result<(), OauthError> {
        let Ok(account) = self.account(spec) else {
            return Ok(());
        };
        Ok(account.sign_out(self, reason).await?)
    }

    /// Returns the names of all secrets that sign-ins may have stored.
    pub fn stored_names(&self) -> Vec<StoredName> {
        let accounts = self.0.signed_in_servers.list();
        let mut names: Vec<_> = accounts
            .iter()
            .flat_map(|(account, issuer)| grant::secret_names(issuer, account))
            .map(|name| StoredName {
                name,
                is_long: true,
            })
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns the account of a server.
    ///
    /// # Errors
    /// Returns the reason if a person cannot sign in to the server.
    fn account(&self, spec: &ServerSpec) -> Result<Arc<Account>, SignInImpossible> {
        let key = AccountKey {
            server: sign_in_url(spec)?,
            client_id: spec.oauth_client_id().map(str::to_owned),
        };
        let mut accounts = self
            .0
            .accounts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let account = accounts
            .entry(key.clone())
            .or_insert_with(|| Arc::new(Account::new(key)));
        Ok(account.clone())
    }

    fn attempts(&self) -> MutexGuard<'_, BTreeMap<ServerId, Attempt>> {
        self.0
            .attempts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn emit_server_changed(&self, id: &ServerId) {
        self.0
            .events
            .publish(Event::ServerChanged { id: id.clone() });
    }
}

/// Removes the query parameters that refer to secrets, because authorization servers see the URL,
/// too.
fn remove_references(url: &mut Url) {
    if !url.query_pairs().any(|(_, value)| begins_reference(&value)) {
        return;
    }
    let others: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(_, value)| !begins_reference(value))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    url.set_query(None);
    if !others.is_empty() {
        url.query_pairs_mut().extend_pairs(others);
    }
}

/// Returns the URL of the server if a person can sign in to it, or the reason why not.
fn sign_in_url(spec: &ServerSpec) -> Result<Url, SignInImpossible> {
    let url = spec.url.as_deref().ok_or(SignInImpossible::Local)?;
    if spec
        .all_headers()
        .keys()
        .any(|name| name.eq_ignore_ascii_case("authorization"))
    {
        return Err(SignInImpossible::AuthorizationHeader);
    }
    let mut url = Url::parse(url).map_err(|source| SignInImpossible::NotUrl { source })?;
    url.set_fragment(None);
    remove_references(&mut url);
    if !url.username().is_empty() || url.password().is_some() {
        return Err(SignInImpossible::UserName);
    }
    match DialPolicy::for_server(&url) {
        Ok(_) => Ok(url),
        Err(source) => Err(SignInImpossible::Dial { source }),
    }
}
