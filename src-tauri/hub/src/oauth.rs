//! Signing in to remote servers with OAuth 2.1, as MCP has it: discovery, PKCE, client metadata documents or
//! dynamic registration, resource indicators, the issuer check of RFC 9207, refresh.
//!
//! What the protocol says is done by rmcp, over an HTTP client of ours ([`http`]) that dials only what
//! [`reach`] allows. Tokens and registrations are in the keyring ([`grant`]), keyed by issuer; the store
//! only knows which server has tokens of which issuer. They leave this room in the `Authorization` header
//! of a request to the server they were given for ([`Bearer`]), and to nowhere else.

mod account;
mod attempt;
mod bearer;
mod callback;
mod discovery;
mod grant;
mod http;
mod known;
mod reach;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::mpsc;
use url::Url;

use crate::{
    events::Events,
    logs::Logs,
    model::{
        authorization::{Authorization, SignIn},
        event::Event,
        ids::ServerId,
        spec::ServerSpec,
    },
    secrets::{SecretError, Secrets},
    settings::Settings,
    store::{Store, StoreError},
};
use account::Account;
use attempt::Attempt;
pub use bearer::{Bearer, BearerError};
use grant::Kept;
use known::Known;
pub use reach::openable;

/// Why a person cannot sign in.
#[derive(Debug, thiserror::Error)]
pub enum OauthError {
    /// It is no server to sign in to.
    #[error("{0}")]
    NotPossible(String),
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The server, its metadata or its authorization server is not as it should be.
    #[error("cannot sign in: {0}")]
    Failed(String),
}

/// Signs in, keeps and renews tokens. Cheap to clone.
#[derive(Clone)]
pub struct Authorizer(Arc<Inner>);

/// What tokens are given for: a server, by its URL, and the client that a person registered for it. What one client
/// was given is of no use to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    server: Url,
    /// None for a client that Drawbridge registers itself.
    client_id: Option<String>,
}

struct Inner {
    kept: Kept,
    known: Known,
    settings: Settings,
    events: Events,
    logs: Logs,
    accounts: Mutex<BTreeMap<Place, Arc<Account>>>,
    attempts: Mutex<BTreeMap<ServerId, Attempt>>,
    /// Held while an attempt begins, so that a server has one at a time.
    beginning: tokio::sync::Mutex<()>,
    signed_in: mpsc::UnboundedSender<Url>,
}

impl Authorizer {
    /// Reads which servers have tokens. The receiver gets the URL of each server that a person signs in to.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub async fn load(
        secrets: Secrets,
        store: Store,
        settings: Settings,
        events: Events,
        logs: Logs,
    ) -> Result<(Self, mpsc::UnboundedReceiver<Url>), StoreError> {
        let (signed_in, receiver) = mpsc::unbounded_channel();
        let inner = Inner {
            kept: Kept(secrets),
            known: Known::load(store).await?,
            settings,
            events,
            logs,
            accounts: Mutex::default(),
            attempts: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
            signed_in,
        };
        Ok((Self(Arc::new(inner)), receiver))
    }

    /// What authorizes requests to a server; nothing where its spec does that, or a token would be read by others.
    pub fn bearer(&self, id: &ServerId, spec: &ServerSpec) -> Option<Bearer> {
        Some(Bearer::new(
            self.clone(),
            id.clone(),
            self.account(spec).ok()?,
        ))
    }

    /// How a server stands.
    pub fn standing(&self, spec: &ServerSpec) -> Authorization {
        let Ok(account) = self.account(spec) else {
            return Authorization::None;
        };
        if account.challenge().is_some() {
            return Authorization::Needed;
        }
        match self.0.known.of(&account.place) {
            Some(known) => Authorization::SignedIn {
                issuer: known.issuer,
                expires_at: known.expires_at,
            },
            None => Authorization::None,
        }
    }

    /// Returns why a person has to sign in, or to sign in again, if that is so.
    pub fn wants_sign_in(&self, spec: &ServerSpec) -> Option<String> {
        Some(self.account(spec).ok()?.challenge()?.reason())
    }

    /// Begins an attempt to sign in; the one that runs, where one does.
    ///
    /// # Errors
    /// Where the server cannot be signed in to, or its authorization server is not as it should be.
    pub async fn sign_in(&self, id: &ServerId, spec: &ServerSpec) -> Result<SignIn, OauthError> {
        let account = self.account(spec).map_err(OauthError::NotPossible)?;
        let _one_at_a_time = self.0.beginning.lock().await;
        if let Some(running) = self
            .attempt(id)
            .filter(|attempt| !attempt.state.has_ended())
        {
            return Ok(running);
        }
        attempt::begin(self, id, &account).await
    }

    /// The latest attempt of a server, also one that has failed, until another begins or it is cancelled.
    pub fn attempt(&self, id: &ServerId) -> Option<SignIn> {
        self.attempts().get(id).map(Attempt::shown)
    }

    /// Whether an attempt to sign in to any server runs.
    pub fn is_signing_in(&self) -> bool {
        self.attempts()
            .values()
            .any(|attempt| !attempt.shown().state.has_ended())
    }

    /// Waits until the attempt of a server has ended, and tells how.
    pub async fn ended(&self, id: &ServerId) -> Option<SignIn> {
        let mut states = self.attempts().get(id)?.watch();
        let _ = states.wait_for(|attempt| attempt.state.has_ended()).await;
        let attempt = states.borrow().clone();
        Some(attempt)
    }

    /// Ends the attempt of a server, and forgets it.
    pub fn cancel(&self, id: &ServerId) {
        if let Some(attempt) = self.attempts().remove(id) {
            attempt.cancel(self);
        }
    }

    /// Forgets the tokens of a server.
    ///
    /// # Errors
    /// Where the keyring cannot be asked: they are still there then.
    pub async fn sign_out(&self, spec: &ServerSpec) -> Result<(), OauthError> {
        let Ok(account) = self.account(spec) else {
            return Ok(());
        };
        Ok(account.forget(self).await?)
    }

    /// # Errors
    /// Returns why a person cannot sign in to the server.
    fn account(&self, spec: &ServerSpec) -> Result<Arc<Account>, String> {
        let place = Place {
            server: possible(spec)?,
            client_id: spec.oauth_client_id().map(str::to_owned),
        };
        let mut accounts = self
            .0
            .accounts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let account = accounts
            .entry(place.clone())
            .or_insert_with(|| Arc::new(Account::new(place)))
            .clone();
        drop(accounts);
        account.set_own_client(spec.oauth.clone());
        Ok(account)
    }

    fn attempts(&self) -> MutexGuard<'_, BTreeMap<ServerId, Attempt>> {
        self.0
            .attempts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_server(&self, id: &ServerId) {
        self.0.events.tell(Event::ServerChanged { id: id.clone() });
    }
}

/// The URL of a server that a person can sign in to.
fn possible(spec: &ServerSpec) -> Result<Url, String> {
    let url = spec
        .url
        .as_deref()
        .ok_or("it is a local server: only remote ones are signed in to")?;
    if spec
        .all_headers()
        .keys()
        .any(|name| name.eq_ignore_ascii_case("authorization"))
    {
        return Err(
            "its spec has an Authorization header, which is used instead: remove that to sign in"
                .into(),
        );
    }
    let mut url = Url::parse(url).map_err(|e| format!("its URL cannot be read: {e}"))?;
    url.set_fragment(None);
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "its URL has a user name in it, which is used instead: remove that to sign in".into(),
        );
    }
    reach::Reach::of(&url).map(|_| url)
}
