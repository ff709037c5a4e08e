//! Discovery of a server's authorization server. rmcp implements RFC 9728, RFC 8414 and OpenID
//! Connect discovery. This module checks all endpoints that rmcp finds before any of them is used.

use std::{error::Error, sync::Arc};

use drawbridge_model::{
    cause::{Cause, MapText, sources},
    display_url::DisplayUrl,
};
use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata};
use url::Url;

use super::{
    dial_policy::{BrowserUrlError, DialError, DialPolicy, check_browser_url, printable_excerpt},
    http::SignInHttpClient,
};

/// An authorization server, discovered and checked.
pub(super) struct Discovered {
    pub(super) manager: AuthorizationManager,
    pub(super) metadata: AuthorizationMetadata,
    pub(super) dial_policy: DialPolicy,
    /// The issuer or, if the metadata names no issuer, the server's origin. Tokens and
    /// registrations are stored under this name.
    pub(super) issuer: String,
}

/// Why the authorization server of a server was not found, or is not used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DiscoveryError {
    #[error(transparent)]
    Server(DialError),
    #[error("Drawbridge cannot create an HTTP client: {source}")]
    HttpClient { source: Cause },
    #[error(
        "Drawbridge cannot connect to {url}: {source}. Check the URL and whether the server runs."
    )]
    Unreachable { url: DisplayUrl, source: Cause },
    #[error("{source}")]
    Protocol { source: Cause },
    #[error(
        "The metadata at the URL that {server} names is not available or may not be used: {named}"
    )]
    Metadata {
        server: DisplayUrl,
        /// The beginning of the server's challenge, which names the URL.
        named: String,
    },
    #[error("The authorization server names an endpoint that is not a URL: {source}")]
    EndpointNotUrl { source: url::ParseError },
    #[error("Drawbridge does not use the authorization server: {source}")]
    Endpoint { source: DialError },
    #[error("Drawbridge does not use the authorization server: {source}")]
    Browser { source: BrowserUrlError },
}

impl DiscoveryError {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Server(error) => Self::Server(error.map_text(change)),
            Self::HttpClient { source } => Self::HttpClient {
                source: source.map_text(change),
            },
            Self::Unreachable { url, source } => Self::Unreachable {
                url,
                source: source.map_text(change),
            },
            Self::Protocol { source } => Self::Protocol {
                source: source.map_text(change),
            },
            Self::Metadata { server, named } => Self::Metadata {
                server,
                named: change(&named),
            },
            Self::EndpointNotUrl { .. } => self,
            Self::Endpoint { source } => Self::Endpoint {
                source: source.map_text(change),
            },
            Self::Browser { source } => Self::Browser {
                source: source.map_text(change),
            },
        }
    }
}

impl From<AuthError> for DiscoveryError {
    fn from(error: AuthError) -> Self {
        if let AuthError::DiscoveryRequestFailed { url, source } = &error
            && is_connection_failure(source.as_ref())
        {
            return Self::Unreachable {
                url: DisplayUrl::from(url),
                source: Cause::innermost(error),
            };
        }
        Self::Protocol {
            source: Cause::chain(error),
        }
    }
}

/// Returns whether a connection failed that the dial policy allowed.
fn is_connection_failure(error: &(dyn Error + 'static)) -> bool {
    sources(error)
        .filter_map(|error| error.downcast_ref::<reqwest::Error>())
        .any(reqwest::Error::is_connect)
        && !sources(error).any(|error| error.is::<DialError>())
}

/// Discovers the authorization server of `server`. `challenge` is the `WWW-Authenticate` header of
/// the server's refusal of a request, if there was a refusal.
///
/// # Errors
/// Returns an error if the URL of the server is not allowed, if the metadata cannot be read, or if
/// the metadata names a URL that is not allowed.
pub(super) async fn discover(
    server: &Url,
    challenge: Option<&str>,
) -> Result<Discovered, DiscoveryError> {
    let dial_policy = DialPolicy::for_server(server).map_err(DiscoveryError::Server)?;
    let http =
        SignInHttpClient::new(dial_policy.clone()).map_err(|error| DiscoveryError::HttpClient {
            source: Cause::chain(error),
        })?;
    let mut manager =
        AuthorizationManager::new_with_oauth_http_client(server.clone(), Arc::new(http)).await?;
    let resolution = manager.resolve_metadata_from_challenge(challenge).await?;
    // Servers without metadata (before RFC 9728) have fixed endpoint paths. A server that names its
    // metadata in the challenge must not fall back to these paths.
    if !resolution.source.is_discovered()
        && challenge.is_some_and(|challenge| challenge.contains("resource_metadata"))
    {
        let named = challenge.map(printable_excerpt).unwrap_or_default();
        return Err(DiscoveryError::Metadata {
            server: DisplayUrl::from(server),
            named,
        });
    }
    let metadata = resolution.metadata;
    let endpoints = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    for endpoint in endpoints.into_iter().chain(&metadata.registration_endpoint) {
        let url =
            Url::parse(endpoint).map_err(|source| DiscoveryError::EndpointNotUrl { source })?;
        dial_policy
            .check_url(&url)
            .map_err(|source| DiscoveryError::Endpoint { source })?;
    }
    // Check the URL now, before anything is registered at the authorization server.
    check_browser_url(&metadata.authorization_endpoint)
        .map_err(|source| DiscoveryError::Browser { source })?;
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
    /// Returns whether this member of the metadata is `true`.
    pub(super) fn supports(&self, member: &str) -> bool {
        self.metadata
            .additional_fields
            .get(member)
            .and_then(serde_json::Value::as_bool)
            .unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_does_not_run_is_named_with_a_remedy() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address");
        drop(free);
        let server = Url::parse(&format!("http://{address}/mcp")).expect("a URL");
        let Err(error) = discover(&server, None).await else {
            panic!("nothing listens at {server}")
        };
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("Drawbridge cannot connect to http://{address}/"))
                && text.ends_with(". Check the URL and whether the server runs."),
            "{text}"
        );
    }
}
