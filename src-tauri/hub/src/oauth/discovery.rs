//! Discovery of a server's authorization server. rmcp implements RFC 9728, RFC 8414 and OpenID
//! Connect discovery; this module checks everything that rmcp found before it is used.

use std::sync::Arc;

use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata};
use url::Url;

use super::{
    dial_policy::{DialPolicy, check_browser_url, printable_excerpt},
    http::SignInHttpClient,
};

/// An authorization server, discovered and checked.
pub(super) struct Discovered {
    pub(super) manager: AuthorizationManager,
    pub(super) metadata: AuthorizationMetadata,
    pub(super) dial_policy: DialPolicy,
    /// The key of its tokens: the issuer, or the server's origin if an old server has no metadata.
    pub(super) issuer: String,
}

/// Discovers the authorization server of `server`. `challenge` is the `WWW-Authenticate` header
/// with which the server refused a request.
///
/// # Errors
/// Returns an error if the metadata cannot be read, or if it names a URL that is not allowed.
pub(super) async fn discover(server: &Url, challenge: Option<&str>) -> Result<Discovered, String> {
    let dial_policy = DialPolicy::for_server(server)?;
    let http = Arc::new(SignInHttpClient::new(dial_policy.clone())?);
    let new = AuthorizationManager::new_with_oauth_http_client(server.clone(), http).await;
    let mut manager = new.map_err(|e| describe_error(&e))?;
    let found = manager
        .resolve_metadata_from_challenge(challenge)
        .await
        .map_err(|e| describe_error(&e))?;
    // Servers without metadata (before RFC 9728) have fixed endpoint paths. A server that names its
    // metadata in the challenge must not fall back to them.
    if !found.source.is_discovered()
        && challenge.is_some_and(|challenge| challenge.contains("resource_metadata"))
    {
        let named = challenge.map(printable_excerpt).unwrap_or_default();
        return Err(format!(
            "the metadata that {server} names cannot be had, or may not be used: {named}"
        ));
    }
    let metadata = found.metadata;
    let endpoints = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    for endpoint in endpoints.into_iter().chain(&metadata.registration_endpoint) {
        let url = Url::parse(endpoint)
            .map_err(|e| format!("its authorization server names no URL: {e}"))?;
        dial_policy
            .check_url(&url)
            .map_err(|why| format!("its authorization server is not used: {why}"))?;
    }
    // Check the URL now, before anything is registered at the authorization server.
    check_browser_url(&metadata.authorization_endpoint)?;
    let issuer = metadata
        .issuer
        .clone()
        .unwrap_or_else(|| server.origin().ascii_serialization());
    manager.set_metadata(metadata.clone());
    Ok(Discovered {
        manager,
        metadata,
        dial_policy,
        issuer,
    })
}

impl Discovered {
    pub(super) fn supports(&self, member: &str) -> bool {
        self.metadata
            .additional_fields
            .get(member)
            .and_then(serde_json::Value::as_bool)
            .unwrap_or(false)
    }
}

/// Returns the text of an error with its causes, the outermost first.
pub(super) fn describe_error(error: &AuthError) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| {
        error.source()
    });
    let mut words: Vec<String> = Vec::new();
    for cause in causes.map(ToString::to_string) {
        if words.last().is_none_or(|last| !last.contains(&cause)) {
            words.push(cause);
        }
    }
    words.join(": ")
}
