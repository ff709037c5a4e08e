//! Records which server has tokens of which issuer. The record holds no secret, so that it can be
//! shown without a request to the secret store.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use drawbridge_model::ids::Timestamp;
use drawbridge_store::{Store, StoreError};
use serde::{Deserialize, Serialize};

use super::AccountKey;

const SETTING: &str = "signed_in";

/// The issuer of a server's tokens, and when the access token expires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SignedIn {
    pub(super) issuer: String,
    pub(super) expires_at: Option<Timestamp>,
}

#[derive(Clone)]
pub(super) struct SignedInServers {
    store: Store,
    servers: Arc<Mutex<BTreeMap<String, SignedIn>>>,
    /// Held from a change of `servers` until it is written, so that the latest state is written
    /// last.
    writing: Arc<tokio::sync::Mutex<()>>,
}

impl SignedInServers {
    pub(super) async fn load(store: Store) -> Result<Self, StoreError> {
        let text = store.setting(SETTING).await?;
        let servers = text
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        Ok(Self {
            store,
            servers: Arc::new(Mutex::new(servers)),
            writing: Arc::default(),
        })
    }

    pub(super) fn get(&self, account: &AccountKey) -> Option<SignedIn> {
        self.servers().get(&record_key(account)).cloned()
    }

    /// Returns the accounts with tokens, each with the issuer of its tokens.
    pub(super) fn list(&self) -> Vec<(AccountKey, String)> {
        let servers = self.servers();
        let accounts = servers.iter().filter_map(|(key, signed_in)| {
            let (url, client_id) = match key.split_once(' ') {
                Some((url, client_id)) => (url, Some(client_id.to_owned())),
                None => (key.as_str(), None),
            };
            let server = url.parse().ok()?;
            Some((AccountKey { server, client_id }, signed_in.issuer.clone()))
        });
        accounts.collect()
    }

    /// Sets or removes the record of a server. If the record cannot be written, the change is lost
    /// when the hub ends.
    pub(super) async fn set(&self, account: &AccountKey, signed_in: Option<SignedIn>) {
        let _one_at_a_time = self.writing.lock().await;
        let text = {
            let mut servers = self.servers();
            match signed_in {
                Some(signed_in) => servers.insert(record_key(account), signed_in),
                None => servers.remove(&record_key(account)),
            };
            serde_json::to_string(&*servers).expect("a map with keys of text is valid JSON")
        };
        if let Err(error) = self.store.set_setting(SETTING, &text).await {
            tracing::warn!(
                "The change of the sign-in to {} is not recorded, so it will be lost after a restart: {error}",
                account.shown_url()
            );
        }
    }

    fn servers(&self) -> MutexGuard<'_, BTreeMap<String, SignedIn>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the key of a record: the URL of the server, and after a space the id of the client that
/// a person registered. No URL contains a space.
fn record_key(account: &AccountKey) -> String {
    match &account.client_id {
        None => account.server.to_string(),
        Some(client_id) => format!("{} {client_id}", account.server),
    }
}
