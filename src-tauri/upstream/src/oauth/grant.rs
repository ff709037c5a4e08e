//! The result of a sign-in, stored only in the secret store: tokens for each combination of issuer,
//! server and registered client, and this program's registration at each issuer. Tokens of one
//! authorization server never go to another.

use std::collections::BTreeSet;

use drawbridge_model::{digest, ids::Timestamp};
use drawbridge_store::secrets::{OAUTH_PREFIX, Secret, SecretError, Secrets};
use oauth2::TokenResponse;
use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::AccountKey;

/// Tokens are refreshed this many milliseconds before they expire, and short-lived tokens after
/// half of their lifetime.
const REFRESH_MARGIN_MS: i64 = 30_000;

/// The tokens that an authorization server issued for one server.
#[derive(Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) issuer: String,
    pub(super) client: Registration,
    /// The tokens, when they were received, and their scopes.
    pub(super) credentials: StoredCredentials,
    /// The additional scopes that the server demanded and for which a person has signed in again,
    /// whether the authorization server granted them or not. Empty text stands for a demand without
    /// a scope.
    // Earlier versions stored this field under the name `answered`.
    #[serde(default, alias = "answered")]
    pub(super) signed_in_scopes: BTreeSet<String>,
}

/// This program's registration at an authorization server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Registration {
    pub(super) client_id: String,
    /// `None` if the client has no secret. In a [`Grant`], also `None` if a person registered the
    /// client, because the spec then holds the secret.
    pub(super) client_secret: Option<String>,
    pub(super) redirect_uri: String,
    /// The scopes with which the client was registered, and the only scopes that it may request.
    /// `None` if it may request any scope.
    #[serde(default)]
    pub(super) scopes: Option<BTreeSet<String>>,
}

impl Registration {
    /// Returns a client that may request any scope.
    pub(super) fn new(
        client_id: String,
        client_secret: Option<String>,
        redirect_uri: String,
    ) -> Self {
        Self {
            client_id,
            client_secret,
            redirect_uri,
            scopes: None,
        }
    }

    pub(super) fn allows_scopes(&self, scopes: &[&str]) -> bool {
        self.scopes
            .as_ref()
            .is_none_or(|registered| scopes.iter().all(|scope| registered.contains(*scope)))
    }
}

impl Grant {
    /// Returns the access token, if there is one.
    pub(super) fn token(&self) -> Option<Secret> {
        let token = self.credentials.token_response.as_ref()?.access_token();
        Some(Secret::new(token.secret().clone()))
    }

    pub(super) fn refresh_token(&self) -> Option<Secret> {
        let token = self.credentials.token_response.as_ref()?.refresh_token()?;
        Some(Secret::new(token.secret().clone()))
    }

    /// Returns when the token expires, if the authorization server stated a lifetime.
    pub(super) fn expires_at(&self) -> Option<Timestamp> {
        let lifetime_ms = i64::try_from(
            self.credentials
                .token_response
                .as_ref()?
                .expires_in()?
                .as_millis(),
        )
        .ok()?;
        let received_at = i64::try_from(self.credentials.token_received_at?)
            .ok()?
            .checked_mul(1000)?;
        received_at.checked_add(lifetime_ms).map(Timestamp)
    }

    /// Returns whether it is time to refresh the token, or whether it has expired if it cannot be
    /// refreshed.
    pub(super) fn is_refresh_due(&self, now: Timestamp) -> bool {
        if self.refresh_token().is_none() {
            return self.has_expired(now);
        }
        let (Some(expires_at), Some(received_at)) =
            (self.expires_at(), self.credentials.token_received_at)
        else {
            return false;
        };
        let received_at = i64::try_from(received_at).expect("expires_at has converted it");
        let lifetime_ms = expires_at
            .0
            .saturating_sub(received_at.saturating_mul(1000));
        now.0
            >= expires_at
                .0
                .saturating_sub(REFRESH_MARGIN_MS.min(lifetime_ms / 2))
    }

    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at().is_some_and(|end| now >= end)
    }
}

/// Stores grants and registrations in the secret store.
#[derive(Clone)]
pub(super) struct TokenStore(pub(super) Secrets);

impl TokenStore {
    pub(super) async fn load_grant(
        &self,
        issuer: &str,
        account: &AccountKey,
    ) -> Result<Option<Grant>, SecretError> {
        self.read(&grant_name(issuer, account)).await
    }

    pub(super) async fn store_grant(
        &self,
        account: &AccountKey,
        grant: &Grant,
    ) -> Result<(), SecretError> {
        self.write(&grant_name(&grant.issuer, account), grant).await
    }

    pub(super) async fn delete_grant(
        &self,
        issuer: &str,
        account: &AccountKey,
    ) -> Result<(), SecretError> {
        self.0.remove_long(&grant_name(issuer, account)).await
    }

    pub(super) async fn load_registration(
        &self,
        issuer: &str,
    ) -> Result<Option<Registration>, SecretError> {
        self.read(&registration_name(issuer)).await
    }

    pub(super) async fn store_registration(
        &self,
        issuer: &str,
        client: &Registration,
    ) -> Result<(), SecretError> {
        self.write(&registration_name(issuer), client).await
    }

    pub(super) async fn delete_registration(&self, issuer: &str) -> Result<(), SecretError> {
        self.0.remove_long(&registration_name(issuer)).await
    }

    async fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, SecretError> {
        let value = self.0.get_long(name).await?;
        Ok(value.and_then(|value| serde_json::from_str(value.expose()).ok()))
    }

    async fn write(&self, name: &str, value: &impl Serialize) -> Result<(), SecretError> {
        let text = serde_json::to_string(value).expect("grants and registrations are valid JSON");
        self.0.set_long(name, Secret::new(text)).await
    }
}

/// Returns the names in the secret store of an account's tokens and of the registration at their
/// issuer.
pub(super) fn secret_names(issuer: &str, account: &AccountKey) -> [String; 2] {
    [grant_name(issuer, account), registration_name(issuer)]
}

fn grant_name(issuer: &str, account: &AccountKey) -> String {
    let mut parts = vec![issuer.as_bytes(), account.server.as_str().as_bytes()];
    parts.extend(account.client_id.as_ref().map(String::as_bytes));
    format!("{OAUTH_PREFIX}tokens:{}", digest::sha256_parts(&parts))
}

fn registration_name(issuer: &str) -> String {
    format!("{OAUTH_PREFIX}client:{}", digest::sha256(issuer.as_bytes()))
}

#[cfg(test)]
mod tests {
    use drawbridge_store::secrets::InMemory;

    use super::*;

    fn grant(issuer: &str, lifetime_s: Option<u64>) -> Grant {
        let mut response =
            serde_json::json!({"access_token": "t", "token_type": "bearer", "refresh_token": "r"});
        if let Some(lifetime_s) = lifetime_s {
            response["expires_in"] = lifetime_s.into();
        }
        let credentials = serde_json::json!({"client_id": "c", "token_response": response, "token_received_at": 1000});
        let client = Registration::new("c".into(), None, String::new());
        let credentials = serde_json::from_value(credentials).expect("credentials");
        Grant {
            issuer: issuer.into(),
            client,
            credentials,
            signed_in_scopes: BTreeSet::new(),
        }
    }

    #[test]
    fn a_token_that_cannot_be_refreshed_is_used_until_it_expires() {
        let mut hour = serde_json::to_value(grant("i", Some(3600))).expect("write the grant");
        let response = hour["credentials"]["token_response"].as_object_mut();
        response.expect("a response").remove("refresh_token");
        let hour: Grant = serde_json::from_value(hour).expect("read the grant");
        let at = |seconds: i64| Timestamp((1000 + seconds) * 1000);
        assert!(!hour.is_refresh_due(at(3599)) && hour.is_refresh_due(at(3600)));
    }

    #[test]
    fn a_token_is_refreshed_before_it_expires() {
        let hour = grant("i", Some(3600));
        let at = |seconds: i64| Timestamp((1000 + seconds) * 1000);
        assert!(
            !hour.is_refresh_due(at(3569))
                && hour.is_refresh_due(at(3570))
                && !hour.has_expired(at(3599))
        );
        assert!(hour.has_expired(at(3600)));
        let short = grant("i", Some(10));
        assert!(!short.is_refresh_due(at(4)) && short.is_refresh_due(at(5)));
        let endless = grant("i", None);
        assert!(!endless.is_refresh_due(at(i64::from(i32::MAX))) && !endless.has_expired(at(1)));
        assert!(
            grant("i", Some(u64::MAX)).expires_at().is_none(),
            "a lifetime that overflows counts as unknown"
        );
    }

    #[test]
    fn a_grant_of_an_earlier_version_keeps_its_scopes() {
        let mut stored = serde_json::to_value(grant("i", None)).expect("write the grant");
        let members = stored.as_object_mut().expect("a grant is an object");
        members.remove("signed_in_scopes");
        members.insert("answered".into(), serde_json::json!(["files:write"]));
        let read: Grant = serde_json::from_value(stored).expect("read the grant");
        assert!(read.signed_in_scopes.contains("files:write"));
    }

    #[tokio::test]
    async fn tokens_are_found_only_under_their_issuer_server_and_client() {
        let tokens = TokenStore(Secrets::new(InMemory::default()));
        let account = |url: &str, client_id: Option<&str>| AccountKey {
            server: url.parse().expect("a URL"),
            client_id: client_id.map(str::to_owned),
        };
        let server = account("https://mcp.example.com/mcp", None);
        tokens
            .store_grant(&server, &grant("https://a.example", None))
            .await
            .expect("store the grant");
        assert!(
            tokens
                .load_grant("https://a.example", &server)
                .await
                .expect("load the grant")
                .is_some()
        );
        assert!(
            tokens
                .load_grant("https://b.example", &server)
                .await
                .expect("load the grant")
                .is_none()
        );
        let other_server = account("https://mcp.example.com/other", None);
        assert!(
            tokens
                .load_grant("https://a.example", &other_server)
                .await
                .expect("load the grant")
                .is_none(),
            "another server has no grant"
        );
        let with_client = account("https://mcp.example.com/mcp", Some("mine"));
        assert!(
            tokens
                .load_grant("https://a.example", &with_client)
                .await
                .expect("load the grant")
                .is_none(),
            "another client has no grant"
        );
        tokens
            .delete_grant("https://a.example", &server)
            .await
            .expect("delete the grant");
        assert!(
            tokens
                .load_grant("https://a.example", &server)
                .await
                .expect("load the grant")
                .is_none()
        );
    }
}
