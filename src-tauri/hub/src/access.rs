//! Authentication: clients and administrators by their tokens, browsers by a one-time code.
//!
//! Only the HMAC-SHA-256 of a client's or the administrator's token is kept. The duration of a
//! lookup by HMAC reveals nothing about the token.

mod browser_tokens;

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use drawbridge_model::{
    audit::AuditKind,
    clock,
    event::{Event, Events},
    ids::{ClientName, UserName},
    random,
};
use drawbridge_store::{Store, StoreError, table::client::ClientRow};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

use browser_tokens::BrowserTokens;

/// The minimum length, in characters, of a token that a user brings.
pub const MIN_TOKEN_CHARS: usize = 32;
const MAX_NAME_CHARS: usize = 64;

/// The tokens that the hub knows.
pub struct Access {
    store: Store,
    events: Events,
    key: Key,
    clients: Mutex<BTreeMap<ClientName, ClientRow>>,
    /// Held from reading a row to writing it, so that no change is lost.
    write_lock: tokio::sync::Mutex<()>,
    admin_hmac: Option<Vec<u8>>,
    browser_tokens: BrowserTokens,
}

/// Why a client cannot be added, admitted or revoked.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("a client's name must have 1 to {MAX_NAME_CHARS} characters and no control characters")]
    BadName,
    #[error("a user's name must have 1 to {MAX_NAME_CHARS} characters and no control characters")]
    BadUser,
    #[error("a token must have at least {MIN_TOKEN_CHARS} characters; this one has {0}")]
    ShortToken(usize),
    #[error("a client named '{0}' already exists; revoke it first, or choose another name")]
    NameTaken(ClientName),
    #[error("there is no client named '{0}'")]
    Unknown(ClientName),
    #[error("the client '{0}' was revoked; add it again to give it access")]
    Revoked(ClientName),
    #[error("another client already uses this token")]
    TokenTaken,
    #[error(transparent)]
    Store(#[from] StoreError),
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
        let key = Key::new(&hmac_key(&store).await?);
        let clients = store
            .clients()
            .await?
            .into_iter()
            .map(|row| (row.name.clone(), row))
            .collect();
        let admin_hmac = admin_token.map(|token| key.hmac(token));
        Ok(Self {
            store,
            events,
            key,
            clients: Mutex::new(clients),
            write_lock: tokio::sync::Mutex::default(),
            admin_hmac,
            browser_tokens: BrowserTokens::default(),
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

    /// Returns the client that owns the token, or `None` if the token is unknown or revoked.
    pub fn find_client(&self, token: &str) -> Option<ClientName> {
        let hmac = self.key.hmac(token);
        let clients = self.lock();
        let mut admitted = clients.values().filter(|row| row.revoked_at.is_none());
        admitted
            .find(|row| row.token_hmac.as_ref() == Some(&hmac))
            .map(|row| row.name.clone())
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

    /// Returns whether the token is the admin token, or was given to a browser for a code.
    pub fn is_admin(&self, token: &str) -> bool {
        let hmac = self.key.hmac(token);
        self.admin_hmac.as_ref() == Some(&hmac) || self.browser_tokens.is_valid(token)
    }

    /// Returns a one-time code for a browser, valid for a minute.
    pub fn issue_browser_code(&self) -> String {
        self.browser_tokens.issue_code()
    }

    /// Exchanges a one-time code for a browser's token, which is valid until the hub ends.
    pub fn redeem_browser_code(&self, code: &str) -> Option<String> {
        self.browser_tokens.redeem_code(code)
    }

    /// Returns whether the token gives access to anything.
    pub fn is_token_in_use(&self, token: &str) -> bool {
        self.is_admin(token) || self.find_client(token).is_some()
    }

    /// Returns the name, with a number if a client that was not revoked has it already. Otherwise a
    /// new client would get the rules of the other one by its name.
    pub fn free_name(&self, name: &ClientName) -> ClientName {
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
        let is_taken = self
            .lock()
            .get(name)
            .is_some_and(|row| row.revoked_at.is_none() && row.token_hmac.is_some());
        if is_taken {
            return Err(AccessError::NameTaken(name.clone()));
        }
        Ok(())
    }

    /// Adds a client, and returns its token. Without a `user`, the client belongs to the user to
    /// whom a revoked client of this name belonged, or to the default user.
    ///
    /// # Errors
    /// Returns an error if a name is invalid or taken, if the token is too short or taken, or if
    /// the store cannot be written.
    pub async fn add(
        &self,
        name: &ClientName,
        token: Option<String>,
        user: Option<UserName>,
    ) -> Result<String, AccessError> {
        user.as_ref().map_or(Ok(()), check_user)?;
        let _one_at_a_time = self.write_lock.lock().await;
        let token = token.unwrap_or_else(|| format!("db_{}", random::token()));
        let chars = token.chars().count();
        if chars < MIN_TOKEN_CHARS {
            return Err(AccessError::ShortToken(chars));
        }
        self.check_free(name)?;
        // A client's token must never administer, and belongs to one client only.
        if self.is_admin(&token) || self.find_client(&token).is_some_and(|owner| owner != *name) {
            return Err(AccessError::TokenTaken);
        }
        let user = user.or_else(|| self.find_user(name)).unwrap_or_default();
        self.add_client(new_client(name, Some(self.key.hmac(&token)), user))
            .await?;
        Ok(token)
    }

    /// Admits a client of the local socket, and adds the client if its name is new.
    ///
    /// # Errors
    /// Returns an error if the name is invalid or was revoked, or if the store cannot be written.
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
    fn is_admitted(&self, name: &ClientName) -> Result<bool, AccessError> {
        match self.lock().get(name) {
            Some(row) if row.revoked_at.is_some() => Err(AccessError::Revoked(name.clone())),
            row => Ok(row.is_some()),
        }
    }

    /// Records that a client connected, and the software that it reported.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn record_connection(
        &self,
        name: &ClientName,
        software: Option<String>,
    ) -> Result<(), StoreError> {
        let _one_at_a_time = self.write_lock.lock().await;
        let Some(mut row) = self.lock().get(name).cloned() else {
            return Ok(());
        };
        row.last_seen_at = Some(clock::now());
        row.software = software.or(row.software);
        self.put_client(row).await
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
            self.put_client(row).await?;
            self.store
                .append_audit(AuditKind::ClientRevoked, &json!({ "client": name }));
        }
        Ok(())
    }

    /// Gives a client to another user. Returns whether it belonged to somebody else before.
    ///
    /// # Errors
    /// Returns an error if the client does not exist or was revoked, if the user's name is invalid,
    /// or if the store cannot be written.
    pub async fn set_user(&self, name: &ClientName, user: &UserName) -> Result<bool, AccessError> {
        check_user(user)?;
        let _one_at_a_time = self.write_lock.lock().await;
        let row = self.lock().get(name).cloned();
        let row = row.ok_or_else(|| AccessError::Unknown(name.clone()))?;
        if row.revoked_at.is_some() {
            return Err(AccessError::Revoked(name.clone()));
        }
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

    /// Returns the user to whom a client belongs, or `None` if there is no such client.
    pub fn find_user(&self, name: &ClientName) -> Option<UserName> {
        self.lock().get(name).map(|row| row.user.clone())
    }

    /// Returns all clients, by name.
    pub fn clients(&self) -> Vec<ClientRow> {
        self.lock().values().cloned().collect()
    }

    async fn add_client(&self, row: ClientRow) -> Result<(), StoreError> {
        let note = json!({
            "client": row.name,
            "has_token": row.token_hmac.is_some(),
            "user": row.user,
        });
        self.put_client(row).await?;
        self.store.append_audit(AuditKind::ClientAdded, &note);
        Ok(())
    }

    async fn put_client(&self, row: ClientRow) -> Result<(), StoreError> {
        self.store.put_client(&row).await?;
        self.lock().insert(row.name.clone(), row);
        self.events.publish(Event::ClientsChanged);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ClientName, ClientRow>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn new_client(name: &ClientName, token_hmac: Option<Vec<u8>>, user: UserName) -> ClientRow {
    ClientRow {
        name: name.clone(),
        token_hmac,
        software: None,
        user,
        created_at: clock::now(),
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
/// Returns [`AccessError::BadUser`] if not.
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

async fn hmac_key(store: &Store) -> Result<Vec<u8>, StoreError> {
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
