//! An attempt to sign in: discovers the authorization server, obtains a client id there, builds the
//! URL at which a person signs in, receives the answer and redeems the code.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use drawbridge_model::{
    audit::AuditKind,
    cause::{Cause, MapText},
    event::Event,
    ids::{ServerId, SignInId},
    random,
    sign_in::{SignIn, SignInState},
};
use drawbridge_store::secrets::SecretError;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore, InMemoryCredentialStore,
};
use serde_json::json;
use tokio::{sync::watch, task::AbortHandle, time::timeout};
use url::Url;

use super::{
    Authorizer, OauthError,
    account::{self, Account},
    callback::{AuthorizationResponse, AuthorizationResult, Callback},
    dial_policy::{BrowserUrlError, DialError, check_browser_url},
    discovery::{self, Discovered, DiscoveryError},
    grant::{Grant, Registration},
};

/// The longest time that a person may take to sign in.
const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(300);
/// The longest time for discovery of the authorization server, which takes several requests.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(45);
const CLIENT_NAME: &str = "Drawbridge";

/// An attempt, running or ended.
pub(super) struct Attempt {
    server: ServerId,
    /// The issuer at which Drawbridge is registered. The stored registration is deleted if the
    /// attempt is cancelled or fails. `None` if a person registered the client.
    registration_issuer: Option<String>,
    states: watch::Receiver<SignIn>,
    task: AbortHandle,
}

impl Attempt {
    pub(super) fn snapshot(&self) -> SignIn {
        self.states.borrow().clone()
    }

    pub(super) fn watch(&self) -> watch::Receiver<SignIn> {
        self.states.clone()
    }

    pub(super) fn cancel(self, authorizer: &Authorizer) {
        self.task.abort();
        let mut attempt = self.snapshot();
        if !attempt.state.has_ended() {
            attempt.state = cancelled_state();
            delete_registration(authorizer, self.registration_issuer);
            emit_changed(authorizer, &self.server, &attempt);
        }
    }
}

/// Returns the state of an attempt that was cancelled.
pub(super) fn cancelled_state() -> SignInState {
    SignInState::Failed {
        reason: "The sign-in was cancelled".into(),
    }
}

/// Why an attempt failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SignInError {
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    #[error("The server's authorization server was not found within {} s", .timeout.as_secs())]
    DiscoveryTimedOut { timeout: Duration },
    /// The authorization server refused a request, or its answer breaks the rules.
    #[error("{source}")]
    Protocol { source: Cause },
    #[error(transparent)]
    BrowserUrl(#[from] BrowserUrlError),
    #[error("Drawbridge does not use the URL of the sign-in page: {0}")]
    Dial(#[from] DialError),
    #[error("The URL of the sign-in page has no 'state'")]
    NoState,
    #[error("No port on this computer is free for the browser's answer: {source}")]
    NoPort { source: Cause },
    #[error(
        "{issuer} does not let programs register themselves. Register an OAuth client there and \
         enter its id for the server, enter a token of yours as the server's Authorization header, \
         or set the URL of a client metadata document in the settings"
    )]
    NoRegistration { issuer: String },
    #[error("Nobody signed in within {} s", .timeout.as_secs())]
    TimedOut { timeout: Duration },
    #[error("The authorization server refused: {reason}")]
    Refused { reason: String },
    #[error("The authorization server issued no token")]
    NoToken,
    #[error("The tokens cannot be stored: {0}. {remedy}", remedy = .0.remedy())]
    NotStored(#[source] SecretError),
}

impl SignInError {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Discovery(error) => Self::Discovery(error.map_text(change)),
            Self::Protocol { source } => Self::Protocol {
                source: source.map_text(change),
            },
            Self::BrowserUrl(error) => Self::BrowserUrl(error.map_text(change)),
            Self::Dial(error) => Self::Dial(error.map_text(change)),
            Self::NoRegistration { issuer } => Self::NoRegistration {
                issuer: change(&issuer),
            },
            Self::Refused { reason } => Self::Refused {
                reason: change(&reason),
            },
            Self::DiscoveryTimedOut { .. }
            | Self::NoState
            | Self::NoPort { .. }
            | Self::TimedOut { .. }
            | Self::NoToken => self,
            Self::NotStored(error) => Self::NotStored(error.map_text(change)),
        }
    }
}

impl From<AuthError> for SignInError {
    fn from(error: AuthError) -> Self {
        Self::Protocol {
            source: Cause::chain(error),
        }
    }
}

/// The data that the task of a running attempt owns.
struct Running {
    authorizer: Authorizer,
    id: ServerId,
    account: Arc<Account>,
    manager: AuthorizationManager,
    issuer: String,
    client: Registration,
    /// The additional scopes for which a person has signed in before, and those that the server
    /// demands now. After the sign-in, they become [`Grant::signed_in_scopes`].
    signed_in_scopes: BTreeSet<String>,
    callback: Callback,
    /// The `state` parameter of the authorization request.
    state: String,
    sender: watch::Sender<SignIn>,
}

/// Begins an attempt, and returns its state with the URL at which a person signs in.
pub(super) async fn begin(
    authorizer: &Authorizer,
    id: &ServerId,
    account: &Arc<Account>,
) -> Result<SignIn, OauthError> {
    let failed = |error: SignInError| {
        OauthError::Failed(error.map_text(&|text| authorizer.0.logs.mask_text(text)))
    };
    let challenge = account.challenge();
    let mut signed_in_scopes = account.signed_in_scopes();
    signed_in_scopes.extend(
        challenge
            .iter()
            .filter(|challenge| !challenge.refuses_all)
            .flat_map(|challenge| challenge.scopes.clone()),
    );
    let challenge = challenge.and_then(|challenge| challenge.header);
    let discovery = timeout(
        DISCOVERY_TIMEOUT,
        discovery::discover(&account.key.server, challenge.as_deref()),
    );
    let mut discovered = match discovery.await {
        Ok(discovered) => discovered.map_err(|e| failed(e.into()))?,
        Err(_) => {
            return Err(failed(SignInError::DiscoveryTimedOut {
                timeout: DISCOVERY_TIMEOUT,
            }));
        }
    };
    let mut scopes = discovered.manager.select_initial_scopes(&[]).await;
    // New scopes are requested in addition to those that were granted before, so that a sign-in
    // does not lose rights.
    let granted = if scopes.is_empty() {
        Vec::new()
    } else {
        account.granted_scopes(authorizer).await
    };
    scopes.extend(
        granted
            .into_iter()
            .filter(|scope| !scopes.contains(scope))
            .collect::<Vec<_>>(),
    );
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let (callback, client) = obtain_client(authorizer, account, &mut discovered, &scopes).await?;
    discovered
        .manager
        .configure_client(account::client_config(&client))
        .map_err(|e| failed(e.into()))?;
    let url = discovered
        .manager
        .get_authorization_url(&scopes)
        .await
        .map_err(|e| failed(e.into()))?;
    let url = check_browser_url(&url).map_err(|e| failed(e.into()))?;
    discovered
        .dial_policy
        .check_url(&url)
        .map_err(|e| failed(e.into()))?;
    let state = state_param(&url).ok_or_else(|| failed(SignInError::NoState))?;
    let sign_in = SignIn {
        id: SignInId::new(random::id()),
        url: url.into(),
        state: SignInState::WaitingForBrowser,
    };
    let (sender, states) = watch::channel(sign_in.clone());
    let registration_issuer = account
        .spec_client()
        .is_none()
        .then(|| discovered.issuer.clone());
    let running = Running {
        authorizer: authorizer.clone(),
        id: id.clone(),
        account: account.clone(),
        manager: discovered.manager,
        issuer: discovered.issuer,
        client,
        signed_in_scopes,
        callback,
        state,
        sender,
    };
    let task = tokio::spawn(running.run()).abort_handle();
    authorizer.attempts().insert(
        id.clone(),
        Attempt {
            server: id.clone(),
            registration_issuer,
            states,
            task,
        },
    );
    emit_changed(authorizer, id, &sign_in);
    Ok(sign_in)
}

/// Returns the client to use at the authorization server, and the listener for its redirect URI.
/// The client is the first available of these: the client that a person registered; the URL of a
/// client metadata document, if the user has set one and the authorization server supports it; an
/// earlier registration at this authorization server; or a new registration.
async fn obtain_client(
    authorizer: &Authorizer,
    account: &Account,
    discovered: &mut Discovered,
    scopes: &[&str],
) -> Result<(Callback, Registration), OauthError> {
    let failed = |error: SignInError| {
        OauthError::Failed(error.map_text(&|text| authorizer.0.logs.mask_text(text)))
    };
    let listen = async |port| Callback::bind(port).await;
    let no_port = |error: std::io::Error| {
        failed(SignInError::NoPort {
            source: Cause::new(error),
        })
    };
    // Read the secret store first, so that nobody has to sign in for tokens that cannot be stored.
    let stored = authorizer
        .0
        .tokens
        .load_registration(&discovered.issuer)
        .await?;
    if let Some(spec_client) = account.spec_client() {
        let callback = listen(spec_client.callback_port).await.map_err(no_port)?;
        let registered = Registration::new(spec_client.client_id, None, callback.redirect_uri());
        return Ok((
            callback,
            account.resolve_client(authorizer, &registered).await?,
        ));
    }
    let document = authorizer
        .0
        .settings
        .get()
        .oauth_client_metadata_url
        .clone();
    if !document.is_empty() && discovered.supports("client_id_metadata_document_supported") {
        let callback = listen(None).await.map_err(no_port)?;
        let client = Registration::new(document, None, callback.redirect_uri());
        return Ok((callback, client));
    }
    if let Some(client) = stored.filter(|client| client.allows_scopes(scopes))
        && let Ok(callback) = listen(Callback::port_of(&client.redirect_uri)).await
        && callback.redirect_uri() == client.redirect_uri
    {
        return Ok((callback, client));
    }
    let callback = listen(None).await.map_err(no_port)?;
    if discovered.metadata.registration_endpoint.is_none() {
        return Err(failed(SignInError::NoRegistration {
            issuer: discovered.issuer.clone(),
        }));
    }
    let registered = discovered
        .manager
        .register_client(CLIENT_NAME, &callback.redirect_uri(), scopes)
        .await;
    let config = registered.map_err(|e| failed(e.into()))?;
    let client = Registration {
        client_id: config.client_id,
        client_secret: config.client_secret,
        redirect_uri: config.redirect_uri,
        scopes: (!scopes.is_empty())
            .then(|| scopes.iter().map(|scope| (*scope).to_owned()).collect()),
    };
    authorizer
        .0
        .tokens
        .store_registration(&discovered.issuer, &client)
        .await?;
    Ok((callback, client))
}

impl Running {
    async fn run(self) {
        let Self {
            authorizer,
            id,
            account,
            manager,
            issuer,
            client,
            signed_in_scopes,
            callback,
            state,
            sender,
        } = self;
        let publish_state = |state: SignInState| {
            sender.send_modify(|attempt| attempt.state = state);
            emit_changed(&authorizer, &id, &sender.borrow());
        };
        let redeemed = async {
            let answer = timeout(SIGN_IN_TIMEOUT, callback.wait(&state)).await;
            let answer = answer.map_err(|_| SignInError::TimedOut {
                timeout: SIGN_IN_TIMEOUT,
            })?;
            publish_state(SignInState::Exchanging);
            let (mut grant, manager) = redeem(manager, &issuer, client, &state, answer).await?;
            if account.spec_client().is_some() {
                // The secret stays where the spec keeps it.
                grant.client.client_secret = None;
            }
            grant.signed_in_scopes = signed_in_scopes;
            account
                .sign_in(&authorizer, grant, manager)
                .await
                .map_err(SignInError::NotStored)
        };
        match redeemed.await {
            Ok(()) => {
                tracing::info!("server {id}: a person has signed in at {issuer}");
                let note =
                    json!({ "server": id, "url": account.key.shown_url(), "issuer": issuer });
                authorizer.0.store.append_audit(AuditKind::SignedIn, &note);
                publish_state(SignInState::Done);
                authorizer.0.new_sign_ins.insert(account.key.server.clone());
            }
            Err(error) => {
                let reason = error
                    .map_text(&|text| authorizer.0.logs.mask_text(text))
                    .to_string();
                tracing::warn!("server {id}: the sign-in failed: {reason}");
                delete_registration(
                    &authorizer,
                    account.spec_client().is_none().then_some(issuer),
                );
                publish_state(SignInState::Failed { reason });
            }
        }
    }
}

/// Redeems the code. rmcp rejects an answer whose issuer is not that of the authorization server.
async fn redeem(
    mut manager: AuthorizationManager,
    issuer: &str,
    client: Registration,
    state: &str,
    answer: AuthorizationResponse,
) -> Result<(Grant, AuthorizationManager), SignInError> {
    let code = match answer.outcome {
        AuthorizationResult::Code(code) => code,
        AuthorizationResult::Refused(reason) => return Err(SignInError::Refused { reason }),
    };
    let credential_store = InMemoryCredentialStore::new();
    manager.set_credential_store(credential_store.clone());
    manager
        .exchange_code_for_token_with_issuer(&code, state, answer.issuer.as_deref())
        .await?;
    let credentials = credential_store
        .load()
        .await
        .ok()
        .flatten()
        .ok_or(SignInError::NoToken)?;
    let grant = Grant {
        issuer: issuer.to_owned(),
        client,
        credentials,
        signed_in_scopes: BTreeSet::new(),
    };
    Ok((grant, manager))
}

/// Deletes a registration from the secret store, because the authorization server may no longer
/// know the client. The next attempt registers again.
fn delete_registration(authorizer: &Authorizer, registration_issuer: Option<String>) {
    let Some(issuer) = registration_issuer else {
        return;
    };
    let tokens = authorizer.0.tokens.clone();
    tokio::spawn(async move {
        if let Err(error) = tokens.delete_registration(&issuer).await {
            tracing::warn!(
                "The registration at {issuer} could not be deleted from the secret store: {error}"
            );
        }
    });
}

fn emit_changed(authorizer: &Authorizer, server: &ServerId, attempt: &SignIn) {
    let (id, state) = (attempt.id.clone(), attempt.state.clone());
    authorizer.0.events.publish(Event::SignInChanged {
        id,
        server: server.clone(),
        state,
    });
    authorizer.emit_server_changed(server);
}

fn state_param(url: &Url) -> Option<String> {
    url.query_pairs()
        .find(|(name, _)| name == "state")
        .map(|(_, value)| value.into_owned())
}
