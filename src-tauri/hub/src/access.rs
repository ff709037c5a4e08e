//! Authentication: clients and the administrator by their tokens, and browsers by the tokens that
//! they get for a one-time code. Also bounds the calls of each client.
//!
//! Only the HMAC-SHA-256 of a client's token or of the admin token is kept. The duration of a
//! lookup by HMAC reveals nothing about the token.

mod browsers;
mod call_limits;

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_model::{
    audit::AuditKind,
    clock,
    event::{Event, Events},
    ids::{BrowserId, ClientName, Timestamp, UserName},
    random,
};
use drawbridge_store::{Store, StoreError, table::client::ClientRow};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::Sha256;

use browsers::Browsers;
use call_limits::CallLimits;

pub use browsers::{
    BrowserSession, BrowserToken, CODE_TTL, CodeUse, SignedInBrowser, WebUiAddress,
};
pub use call_limits::CallLimitReached;

/// The minimum length, in characters, of a token that a user supplies.
pub const MIN_TOKEN_CHARS: usize = 32;
const MAX_NAME_CHARS: usize = 64;
/// The maximum time for which the old token of a client stays valid after a rotation. The old token
/// becomes invalid earlier if the new token is used, or if the old token expires.
pub const OLD_TOKEN_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The minimum time between two updates of a client's last use, in milliseconds. A new connection,
/// a use by another program and the first use of a new token update the last use at once.
const USE_INTERVAL_MS: i64 = 1000;

/// The clients, the admin token and the signed-in browsers.
pub struct Access {
    store: Store,
    events: Events,
    key: Key,
    clients: Mutex<BTreeMap<ClientName, ClientRow>>,
    call_limits: CallLimits,
    /// The clients whose last use is not stored yet.
    unsaved_uses: Mutex<BTreeSet<ClientName>>,
    /// Held from reading a row to writing it, so that no change is lost.
    write_lock: tokio::sync::Mutex<()>,
    admin_hmac: Option<Vec<u8>>,
    browsers: Browsers,
}

/// Why a client cannot be added, admitted, changed or revoked.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error(
        "a client's name must have 1 to {MAX_NAME_CHARS} characters, not only spaces, and no control characters"
    )]
    BadName,
    #[error(
        "a user's name must have 1 to {MAX_NAME_CHARS} characters, not only spaces, and no control characters"
    )]
    BadUser,
    #[error("a token must have at least {MIN_TOKEN_CHARS} characters; this one has {0}")]
    ShortToken(usize),
    #[error("a client named '{0}' already exists; revoke it first, or choose another name")]
    NameTaken(ClientName),
    #[error("there is no client named '{0}'")]
    Unknown(ClientName),
    #[error("the client '{0}' was revoked; add it again to give it access")]
    Revoked(ClientName),
    #[error("the client '{0}' has no token: it connects with `drawbridge stdio`, which needs none")]
    NoToken(ClientName),
    #[error("another client already uses this token")]
    TokenTaken,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a client's token is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenRefusal {
    /// No client has this token, or the client was revoked.
    Unknown,
    Expired(ClientName),
}

/// The token of a client, without the token itself, so that the token can be made valid again after
/// it was removed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemovableToken {
    pub client: ClientName,
    /// When the client was added.
    client_since: Timestamp,
    hmac: Vec<u8>,
    issued_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
}

impl RemovableToken {
    /// Returns whether the token was issued before this time or at this time.
    pub fn existed_at(&self, time: Timestamp) -> bool {
        self.issued_at.is_none_or(|issued| issued <= time)
    }
}

/// How long a new token of a client is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenLifetime {
    /// As long as the old token was valid, from its issue to its end.
    Same,
    Unlimited,
    For(Duration),
}

/// A client with a new token that passed all checks. While this value exists, no other task adds or
/// changes a client.
pub struct PreparedClient<'a> {
    access: &'a Access,
    _one_at_a_time: tokio::sync::MutexGuard<'a, ()>,
    row: ClientRow,
    token: String,
    /// Whether the token replaces the token of a client.
    is_rotation: bool,
}

impl PreparedClient<'_> {
    /// Adds the client or replaces its token, and returns the new token.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn store(self) -> Result<String, StoreError> {
        if self.is_rotation {
            self.access.put_rotated_client(self.row).await?;
        } else {
            self.access.add_client(self.row).await?;
        }
        Ok(self.token)
    }
}

impl Access {
    /// Reads the clients from the store.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read or its HMAC key cannot be written.
    pub async fn load(
        store: Store,
        events: Events,
        admin_token: Option<&str>,
    ) -> Result<Self, StoreError> {
        let key = Key::new(&load_hmac_key(&store).await?);
        let clients: BTreeMap<_, _> = store
            .clients()
            .await?
            .into_iter()
            .map(|row| (row.name.clone(), row))
            .collect();
        let call_limits = CallLimits::default();
        for row in clients.values() {
            call_limits.set(&row.name, row.calls_per_minute);
        }
        let admin_hmac = admin_token.map(|token| key.hmac(token));
        Ok(Self {
            store,
            events,
            key,
            clients: Mutex::new(clients),
            call_limits,
            unsaved_uses: Mutex::default(),
            write_lock: tokio::sync::Mutex::default(),
            admin_hmac,
            browsers: Browsers::default(),
        })
    }

    /// Checks that a client with this name was added, even if it has been revoked.
    ///
    /// # Errors
    /// Returns [`AccessError::Unknown`] if there is no such client.
    pub fn check_known(&self, name: &ClientName) -> Result<(), AccessError> {
        if self.lock().contains_key(name) {
            Ok(())
        } else {
            Err(AccessError::Unknown(name.clone()))
        }
    }

    /// Returns the client that owns the token, or `None` if the token is unknown or revoked. The
    /// token may have expired.
    pub fn find_client(&self, token: &str) -> Option<ClientName> {
        let hmac = self.key.hmac(token);
        let clients = self.lock();
        find_owner(&clients, &hmac).map(|(row, _)| row.name.clone())
    }

    /// Returns the client that owns a valid token, and notes the use.
    ///
    /// # Errors
    /// Returns an error if the token is unknown, was revoked, or has expired.
    pub fn authenticate(
        &self,
        token: &str,
        user_agent: Option<&str>,
    ) -> Result<ClientName, TokenRefusal> {
        let hmac = self.key.hmac(token);
        let user_agent = user_agent.map(plain_text);
        let now = clock::now();
        let mut clients = self.lock();
        let (row, token_use) = find_owner(&clients, &hmac).ok_or(TokenRefusal::Unknown)?;
        let expires_at = match token_use {
            TokenUse::Current => row.token_expires_at,
            TokenUse::Old => row.old_token_until,
        };
        if expires_at.is_some_and(|expires_at| now >= expires_at) {
            return Err(TokenRefusal::Expired(row.name.clone()));
        }
        let name = row.name.clone();
        let rotation_ends = token_use == TokenUse::Current && row.old_token_hmac.is_some();
        let is_recent = row
            .last_seen_at
            .is_some_and(|last| (last.0..last.0 + USE_INTERVAL_MS).contains(&now.0));
        let is_other_program = user_agent.is_some() && row.user_agent != user_agent;
        if is_recent && !rotation_ends && !is_other_program {
            return Ok(name);
        }
        if let Some(row) = clients.get_mut(&name) {
            row.last_seen_at = Some(now);
            if user_agent.is_some() {
                row.user_agent = user_agent;
            }
            if rotation_ends {
                (row.old_token_hmac, row.old_token_until) = (None, None);
            }
        }
        drop(clients);
        self.note_unsaved_use(&name);
        if rotation_ends {
            self.events.publish(Event::ClientsChanged);
        }
        Ok(name)
    }

    /// Returns the revoked client that owned the token, if there is one.
    pub fn find_revoked_client(&self, token: &str) -> Option<ClientName> {
        let hmac = self.key.hmac(token);
        let clients = self.lock();
        let mut revoked = clients.values().filter(|row| row.revoked_at.is_some());
        revoked
            .find(|row| row.token_hmac.as_ref() == Some(&hmac))
            .map(|row| row.name.clone())
    }

    /// Returns whether `token` is the admin token.
    pub fn is_admin(&self, token: &str) -> bool {
        self.admin_hmac.as_ref() == Some(&self.key.hmac(token))
    }

    /// Returns a one-time code for a browser, valid for [`CODE_TTL`].
    pub fn issue_browser_code(&self) -> String {
        self.browsers.issue_code()
    }

    /// Exchanges a one-time code for a browser's token, and records the sign-in. Returns `None` if
    /// the code is unknown, used or expired.
    pub fn redeem_browser_code(
        &self,
        code: &str,
        address: WebUiAddress,
        user_agent: Option<&str>,
    ) -> Option<BrowserToken> {
        self.remove_ended_browsers();
        let (token, evicted) = self.browsers.redeem_code(code, address, user_agent)?;
        self.record_signed_out(evicted.as_slice(), "too many browsers");
        let note = json!({
            "browser": token.browser.id,
            "address": token.browser.address.url(),
            "user_agent": token.browser.user_agent,
        });
        self.store.append_audit(AuditKind::BrowserSignedIn, &note);
        self.events.publish(Event::BrowsersChanged);
        Some(token)
    }

    /// Returns whether a code was exchanged, and by which browser.
    pub fn use_of_browser_code(&self, code: &str) -> CodeUse {
        self.browsers.use_of_code(code)
    }

    /// Returns the session of the browser that has this token, if the token is used at the address
    /// at which the browser signed in.
    pub fn use_browser_token(&self, token: &str, address: &WebUiAddress) -> Option<BrowserSession> {
        let session = self.browsers.use_token(token, address);
        if session.is_none() {
            self.remove_ended_browsers();
        }
        session
    }

    /// Returns the browsers that are signed in, newest first.
    pub fn browsers(&self) -> Vec<SignedInBrowser> {
        self.remove_ended_browsers();
        self.browsers.list()
    }

    /// Signs out one browser, or all of them. Returns the number of signed-out browsers.
    pub fn sign_out_browsers(&self, id: Option<&BrowserId>) -> usize {
        let signed_out = self.browsers.sign_out(id);
        self.record_signed_out(&signed_out, "signed out");
        signed_out.len()
    }

    fn remove_ended_browsers(&self) {
        self.record_signed_out(&self.browsers.remove_ended(), "its sign-in expired");
    }

    fn record_signed_out(&self, browsers: &[SignedInBrowser], reason: &str) {
        for browser in browsers {
            let note = json!({
                "browser": browser.id,
                "user_agent": browser.user_agent,
                "reason": reason,
            });
            self.store.append_audit(AuditKind::BrowserSignedOut, &note);
        }
        if !browsers.is_empty() {
            self.events.publish(Event::BrowsersChanged);
        }
    }

    /// Returns whether the token belongs to the administrator, a browser, or a client that was not
    /// revoked. The token may have expired.
    pub fn is_token_in_use(&self, token: &str) -> bool {
        self.is_admin_or_browser(token) || self.find_client(token).is_some()
    }

    fn is_admin_or_browser(&self, token: &str) -> bool {
        self.is_admin(token) || self.browsers.has_token(token)
    }

    /// Returns the name, with a number if a client that was not revoked has the name already.
    /// Without the number, a new client would get the rules of the other client with this name.
    pub fn find_free_name(&self, name: &ClientName) -> ClientName {
        const MAX_NUMBER_CHARS: usize = 8;
        let clients = self.lock();
        let is_free = |name: &ClientName| {
            let row = clients.get(name);
            row.is_none_or(|row| row.revoked_at.is_some())
        };
        let base: String = name
            .as_str()
            .chars()
            .take(MAX_NAME_CHARS - MAX_NUMBER_CHARS)
            .collect();
        let numbered = (2_u32..).map(|number| ClientName::new(format!("{base} {number}")));
        std::iter::once(name.clone())
            .chain(numbered)
            .find(is_free)
            .expect("there are fewer clients than numbers")
    }

    /// Checks that a client with a token can be added under this name.
    ///
    /// # Errors
    /// Returns an error if the name is invalid or taken.
    pub fn check_free(&self, name: &ClientName) -> Result<(), AccessError> {
        check_name(name)?;
        if self.has_token(name) {
            return Err(AccessError::NameTaken(name.clone()));
        }
        Ok(())
    }

    /// Returns whether there is a client with this name that has a token and was not revoked. The
    /// token may have expired.
    pub fn has_token(&self, name: &ClientName) -> bool {
        self.lock()
            .get(name)
            .is_some_and(|row| row.revoked_at.is_none() && row.token_hmac.is_some())
    }

    /// Adds a client, and returns its token. See [`Self::prepare_client`].
    ///
    /// # Errors
    /// Returns an error if a name is invalid or taken, if the token is too short or taken, or if
    /// the store cannot be written.
    pub async fn add(
        &self,
        name: &ClientName,
        token: Option<String>,
        user: Option<UserName>,
        lifetime: Option<Duration>,
    ) -> Result<String, AccessError> {
        let client = self.prepare_client(name, token, user, lifetime).await?;
        Ok(client.store().await?)
    }

    /// Checks a client that is going to be added. Without a `user`, the client belongs to the user
    /// of the earlier client with this name (which was revoked or had no token), or to the
    /// default user. The client also keeps the call limit of this earlier client. Without a
    /// `lifetime`, the token does not expire.
    ///
    /// # Errors
    /// Returns an error if a name is invalid or taken, or if the token is too short or taken.
    pub async fn prepare_client(
        &self,
        name: &ClientName,
        token: Option<String>,
        user: Option<UserName>,
        lifetime: Option<Duration>,
    ) -> Result<PreparedClient<'_>, AccessError> {
        user.as_ref().map_or(Ok(()), check_user)?;
        let one_at_a_time = self.write_lock.lock().await;
        let token = token.unwrap_or_else(new_token);
        self.check_free(name)?;
        self.check_token(name, &token)?;
        let user = user.or_else(|| self.find_user(name)).unwrap_or_default();
        let row = ClientRow {
            token_expires_at: lifetime.map(end_of),
            calls_per_minute: self.find_call_limit(name),
            ..new_client(name, Some(self.key.hmac(&token)), user)
        };
        Ok(PreparedClient {
            access: self,
            _one_at_a_time: one_at_a_time,
            row,
            token,
            is_rotation: false,
        })
    }

    /// Checks that a token can become the token of a client.
    fn check_token(&self, name: &ClientName, token: &str) -> Result<(), AccessError> {
        let chars = token.chars().count();
        if chars < MIN_TOKEN_CHARS {
            return Err(AccessError::ShortToken(chars));
        }
        // A client's token must not give access as administrator or browser, and belongs to one
        // client only.
        let is_taken = self.is_admin_or_browser(token)
            || self.find_client(token).is_some_and(|owner| owner != *name);
        if is_taken {
            return Err(AccessError::TokenTaken);
        }
        Ok(())
    }

    /// Gives a client a new token, and returns it. See [`Self::prepare_rotation`].
    ///
    /// # Errors
    /// Returns an error if the client does not exist, was revoked or has no token, if the new token
    /// is too short or taken, or if the store cannot be written.
    pub async fn rotate(
        &self,
        name: &ClientName,
        token: Option<String>,
        lifetime: TokenLifetime,
    ) -> Result<String, AccessError> {
        let client = self.prepare_rotation(name, token, lifetime).await?;
        Ok(client.store().await?)
    }

    /// Checks a client that is going to get a new token. The old token stays valid until the new
    /// token is used, the old token expires, or [`OLD_TOKEN_LIFETIME`] has passed.
    ///
    /// # Errors
    /// Returns an error if the client does not exist, was revoked or has no token, or if the new
    /// token is too short or taken.
    pub async fn prepare_rotation(
        &self,
        name: &ClientName,
        token: Option<String>,
        lifetime: TokenLifetime,
    ) -> Result<PreparedClient<'_>, AccessError> {
        let one_at_a_time = self.write_lock.lock().await;
        let row = self.find_admitted(name)?;
        if row.token_hmac.is_none() {
            return Err(AccessError::NoToken(name.clone()));
        }
        let token = token.unwrap_or_else(new_token);
        self.check_token(name, &token)?;
        let now = clock::now();
        let same_lifetime_end = row
            .token_issued_at
            .zip(row.token_expires_at)
            .map(|(issued, expires)| Timestamp(now.0 + (expires.0 - issued.0).max(0)));
        let old_token_end = end_of(OLD_TOKEN_LIFETIME);
        let row = ClientRow {
            old_token_until: Some(
                row.token_expires_at
                    .map_or(old_token_end, |expires| expires.min(old_token_end)),
            ),
            old_token_hmac: row.token_hmac,
            token_hmac: Some(self.key.hmac(&token)),
            token_issued_at: Some(now),
            token_expires_at: match lifetime {
                TokenLifetime::Same => same_lifetime_end,
                TokenLifetime::Unlimited => None,
                TokenLifetime::For(lifetime) => Some(end_of(lifetime)),
            },
            ..row
        };
        Ok(PreparedClient {
            access: self,
            _one_at_a_time: one_at_a_time,
            row,
            token,
            is_rotation: true,
        })
    }

    fn find_admitted(&self, name: &ClientName) -> Result<ClientRow, AccessError> {
        let row = self.lock().get(name).cloned();
        let row = row.ok_or_else(|| AccessError::Unknown(name.clone()))?;
        if row.revoked_at.is_some() {
            return Err(AccessError::Revoked(name.clone()));
        }
        Ok(row)
    }

    /// Checks that a client exists and was not revoked.
    ///
    /// # Errors
    /// Returns an error if the client does not exist or was revoked.
    pub fn check_admitted(&self, name: &ClientName) -> Result<(), AccessError> {
        self.find_admitted(name).map(drop)
    }

    /// Admits a client that connects over the local socket, and adds it if its name is new.
    ///
    /// # Errors
    /// Returns an error if the name is invalid, the client was revoked, or the store cannot be
    /// written.
    pub async fn admit_local(&self, name: &ClientName) -> Result<(), AccessError> {
        check_name(name)?;
        // A known client does not wait for the database.
        if self.is_admitted(name)? {
            return Ok(());
        }
        let _one_at_a_time = self.write_lock.lock().await;
        if self.is_admitted(name)? {
            return Ok(());
        }
        Ok(self
            .add_client(new_client(name, None, UserName::default()))
            .await?)
    }

    /// Returns whether the client is known.
    ///
    /// # Errors
    /// Returns an error if the client was revoked.
    fn is_admitted(&self, name: &ClientName) -> Result<bool, AccessError> {
        match self.lock().get(name) {
            Some(row) if row.revoked_at.is_some() => Err(AccessError::Revoked(name.clone())),
            row => Ok(row.is_some()),
        }
    }

    /// Notes that a client connected, and the software that it reported. No client waits for the
    /// database: [`Self::store_uses`] stores the time and the software later.
    pub fn record_connection(&self, name: &ClientName, software: Option<String>) {
        let mut clients = self.lock();
        let Some(row) = clients.get_mut(name) else {
            return;
        };
        row.last_seen_at = Some(clock::now());
        row.software = software.or(row.software.take());
        drop(clients);
        self.note_unsaved_use(name);
        self.events.publish(Event::ClientsChanged);
    }

    fn note_unsaved_use(&self, name: &ClientName) {
        let mut unsaved = self.unsaved();
        if !unsaved.contains(name) {
            unsaved.insert(name.clone());
        }
    }

    /// Writes the last uses that are not stored yet: the time, the software, the `User-Agent` and
    /// the end of a rotation. If a use cannot be written, the next run of this function tries
    /// again.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn store_uses(&self) -> Result<(), StoreError> {
        let unsaved = std::mem::take(&mut *self.unsaved());
        let mut result = Ok(());
        for name in unsaved {
            let row = self.lock().get(&name).cloned();
            if let (Ok(()), Some(row)) = (&result, row) {
                result = self.store.put_client_use(&row).await;
            }
            if result.is_err() {
                self.unsaved().insert(name);
            }
        }
        result
    }

    fn unsaved(&self) -> MutexGuard<'_, BTreeSet<ClientName>> {
        self.unsaved_uses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the clients with a token that expired after `after` and not later than `until`.
    pub fn list_expired(&self, after: Timestamp, until: Timestamp) -> Vec<ClientName> {
        let ended = |end: Option<Timestamp>| end.is_some_and(|end| end > after && end <= until);
        self.lock()
            .values()
            .filter(|row| ended(row.token_expires_at) || ended(row.old_token_until))
            .map(|row| row.name.clone())
            .collect()
    }

    /// Revokes a client: its token becomes invalid at once.
    ///
    /// # Errors
    /// Returns an error if the client does not exist, or the store cannot be written.
    pub async fn revoke(&self, name: &ClientName) -> Result<(), AccessError> {
        let _one_at_a_time = self.write_lock.lock().await;
        let row = self.lock().get(name).cloned();
        let mut row = row.ok_or_else(|| AccessError::Unknown(name.clone()))?;
        if row.revoked_at.is_none() {
            row.revoked_at = Some(clock::now());
            (row.old_token_hmac, row.old_token_until) = (None, None);
            self.put_client(row).await?;
            self.store
                .append_audit(AuditKind::ClientRevoked, &json!({ "client": name }));
        }
        Ok(())
    }

    /// Makes the token of a client invalid. The client stays admitted, and can use the bridge.
    ///
    /// # Errors
    /// Returns an error if the client does not exist or was revoked, or if the store cannot be
    /// written.
    pub async fn remove_token(&self, name: &ClientName) -> Result<(), AccessError> {
        let _one_at_a_time = self.write_lock.lock().await;
        let row = ClientRow {
            token_hmac: None,
            token_issued_at: None,
            token_expires_at: None,
            old_token_hmac: None,
            old_token_until: None,
            ..self.find_admitted(name)?
        };
        self.put_client(row).await?;
        let note = json!({ "client": name, "token": "removed" });
        self.store.append_audit(AuditKind::ClientChanged, &note);
        Ok(())
    }

    /// Returns the token of a client, or `None` if the client has none or was revoked.
    pub fn find_token(&self, name: &ClientName) -> Option<RemovableToken> {
        let row = self.find_admitted(name).ok()?;
        Some(RemovableToken {
            hmac: row.token_hmac?,
            client: row.name,
            client_since: row.created_at,
            issued_at: row.token_issued_at,
            expires_at: row.token_expires_at,
        })
    }

    /// Makes a token valid again that [`Self::remove_token`] made invalid. Does nothing if the
    /// client was revoked or added again since, if it has another token now, or if another client
    /// has this token.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn restore_token(&self, token: RemovableToken) -> Result<(), AccessError> {
        let _one_at_a_time = self.write_lock.lock().await;
        let Ok(row) = self.find_admitted(&token.client) else {
            return Ok(());
        };
        let is_taken = find_owner(&self.lock(), &token.hmac).is_some();
        if is_taken || row.token_hmac.is_some() || row.created_at != token.client_since {
            return Ok(());
        }
        let row = ClientRow {
            token_hmac: Some(token.hmac),
            token_issued_at: token.issued_at,
            token_expires_at: token.expires_at,
            ..row
        };
        self.put_client(row).await?;
        let note = json!({ "client": token.client, "token": "restored" });
        self.store.append_audit(AuditKind::ClientChanged, &note);
        Ok(())
    }

    /// Gives a client to another user. Returns whether the client belonged to a different user
    /// before.
    ///
    /// # Errors
    /// Returns an error if the client does not exist or was revoked, if the user's name is invalid,
    /// or if the store cannot be written.
    pub async fn set_user(&self, name: &ClientName, user: &UserName) -> Result<bool, AccessError> {
        check_user(user)?;
        let _one_at_a_time = self.write_lock.lock().await;
        let row = self.find_admitted(name)?;
        if row.user == *user {
            return Ok(false);
        }
        let note = json!({ "client": name, "user": user, "was": row.user });
        let row = ClientRow {
            user: user.clone(),
            ..row
        };
        self.put_client(row).await?;
        self.store.append_audit(AuditKind::ClientChanged, &note);
        Ok(true)
    }

    /// Sets how many calls a client may make in a minute, or removes the limit.
    ///
    /// # Errors
    /// Returns an error if the client does not exist or was revoked, or if the store cannot be
    /// written.
    pub async fn set_call_limit(
        &self,
        name: &ClientName,
        calls_per_minute: Option<NonZeroU32>,
    ) -> Result<(), AccessError> {
        let _one_at_a_time = self.write_lock.lock().await;
        let row = self.find_admitted(name)?;
        if row.calls_per_minute == calls_per_minute {
            return Ok(());
        }
        let note = json!({
            "client": name,
            "calls_per_minute": calls_per_minute,
            "was": row.calls_per_minute,
        });
        let row = ClientRow {
            calls_per_minute,
            ..row
        };
        self.put_client(row).await?;
        self.store.append_audit(AuditKind::ClientChanged, &note);
        Ok(())
    }

    /// Counts a call of a client.
    ///
    /// # Errors
    /// Returns an error if the client has reached its limit of calls per minute.
    pub fn count_call(&self, client: &ClientName) -> Result<(), CallLimitReached> {
        self.call_limits.count(client)
    }

    fn find_call_limit(&self, name: &ClientName) -> Option<NonZeroU32> {
        self.lock().get(name).and_then(|row| row.calls_per_minute)
    }

    /// Returns the user to whom a client belongs, or `None` if there is no such client.
    pub fn find_user(&self, name: &ClientName) -> Option<UserName> {
        self.lock().get(name).map(|row| row.user.clone())
    }

    /// Returns all clients, sorted by name.
    pub fn clients(&self) -> Vec<ClientRow> {
        self.lock().values().cloned().collect()
    }

    async fn add_client(&self, row: ClientRow) -> Result<(), StoreError> {
        let mut note = json!({
            "client": row.name,
            "has_token": row.token_hmac.is_some(),
            "user": row.user,
        });
        if let Some(expires_at) = row.token_expires_at {
            note["expires_at"] = json!(expires_at);
        }
        self.put_client(row).await?;
        self.store.append_audit(AuditKind::ClientAdded, &note);
        Ok(())
    }

    async fn put_rotated_client(&self, row: ClientRow) -> Result<(), StoreError> {
        let note = json!({
            "client": row.name,
            "token": "rotated",
            "expires_at": row.token_expires_at,
        });
        self.put_client(row).await?;
        self.store.append_audit(AuditKind::ClientChanged, &note);
        Ok(())
    }

    async fn put_client(&self, row: ClientRow) -> Result<(), StoreError> {
        self.store.put_client(&row).await?;
        let mut row = row;
        let mut clients = self.lock();
        let in_memory = clients
            .get(&row.name)
            .filter(|old| old.created_at == row.created_at);
        // The client may have been used meanwhile, which changes only the row in memory.
        if let Some(used) = in_memory {
            row.last_seen_at = used.last_seen_at;
            row.software.clone_from(&used.software);
            row.user_agent.clone_from(&used.user_agent);
            if used.token_hmac == row.token_hmac && used.old_token_hmac.is_none() {
                (row.old_token_hmac, row.old_token_until) = (None, None);
            }
        }
        let name = row.name.clone();
        self.call_limits.set(&name, row.calls_per_minute);
        clients.insert(name.clone(), row);
        drop(clients);
        self.note_unsaved_use(&name);
        self.events.publish(Event::ClientsChanged);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ClientName, ClientRow>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which of a client's tokens a request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenUse {
    Current,
    /// The token before the last rotation.
    Old,
}

/// Returns the client that owns a token, unless it was revoked.
fn find_owner<'a>(
    clients: &'a BTreeMap<ClientName, ClientRow>,
    hmac: &Vec<u8>,
) -> Option<(&'a ClientRow, TokenUse)> {
    let mut admitted = clients.values().filter(|row| row.revoked_at.is_none());
    admitted.find_map(|row| {
        if row.token_hmac.as_ref() == Some(hmac) {
            Some((row, TokenUse::Current))
        } else if row.old_token_hmac.as_ref() == Some(hmac) {
            Some((row, TokenUse::Old))
        } else {
            None
        }
    })
}

fn new_token() -> String {
    format!("db_{}", random::token())
}

/// Returns the end of a period that begins now.
fn end_of(lifetime: Duration) -> Timestamp {
    let millis = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
    Timestamp(clock::now().0.saturating_add(millis))
}

/// Returns the first 256 characters of a text from outside that are not control characters.
fn plain_text(text: &str) -> String {
    const MAX_CHARS: usize = 256;
    text.chars()
        .filter(|c| !c.is_control())
        .take(MAX_CHARS)
        .collect()
}

fn new_client(name: &ClientName, token_hmac: Option<Vec<u8>>, user: UserName) -> ClientRow {
    let now = clock::now();
    ClientRow {
        name: name.clone(),
        token_issued_at: token_hmac.is_some().then_some(now),
        token_hmac,
        token_expires_at: None,
        old_token_hmac: None,
        old_token_until: None,
        user_agent: None,
        software: None,
        user,
        calls_per_minute: None,
        created_at: now,
        last_seen_at: None,
        revoked_at: None,
    }
}

fn check_name(name: &ClientName) -> Result<(), AccessError> {
    is_valid_name(name.as_str())
        .then_some(())
        .ok_or(AccessError::BadName)
}

/// Checks that a user can have this name.
///
/// # Errors
/// Returns [`AccessError::BadUser`] if the name is invalid.
pub fn check_user(user: &UserName) -> Result<(), AccessError> {
    is_valid_name(user.as_str())
        .then_some(())
        .ok_or(AccessError::BadUser)
}

fn is_valid_name(name: &str) -> bool {
    !name.trim().is_empty()
        && name.chars().count() <= MAX_NAME_CHARS
        && !name.chars().any(char::is_control)
}

/// The key for the HMACs of tokens.
struct Key(Hmac<Sha256>);

impl Key {
    fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes a key of any length"))
    }

    fn hmac(&self, token: &str) -> Vec<u8> {
        self.0
            .clone()
            .chain_update(token.as_bytes())
            .finalize()
            .into_bytes()
            .to_vec()
    }
}

/// Returns the key in the store. If there is none, creates and stores a key.
async fn load_hmac_key(store: &Store) -> Result<Vec<u8>, StoreError> {
    const NAME: &str = "token_hmac_key";
    if let Some(key) = store
        .setting(NAME)
        .await?
        .and_then(|key| hex::decode(key).ok())
    {
        return Ok(key);
    }
    let key = random::token();
    store.set_setting(NAME, &key).await?;
    Ok(hex::decode(key).expect("a token consists of hex digits"))
}

#[cfg(test)]
mod tests;
