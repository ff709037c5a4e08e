//! The `Authorization` header of requests to one server.

use std::{collections::BTreeSet, sync::Arc};

use drawbridge_model::{
    cause::{Cause, MapText},
    ids::ServerId,
};
use drawbridge_store::secrets::{Secret, SecretError};
use http::{
    HeaderValue, StatusCode,
    header::{AUTHORIZATION, WWW_AUTHENTICATE},
};
use rmcp::transport::auth::{AuthError, WWWAuthenticateParams};
use url::Url;

use super::{
    Authorizer,
    account::{Account, Challenge, describe_scopes},
    discovery::DiscoveryError,
};
use crate::http::{HttpClient, HttpError, HttpRequest, HttpResponse};

/// The most scopes of one challenge that are recorded. Further scopes are ignored.
const MAX_SCOPES: usize = 100;

/// Why a request has no usable answer. Unless this is [`BearerError::Http`], the server has not
/// carried out the request.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BearerError {
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A person has to sign in.
    #[error(transparent)]
    NeedsSignIn(SignInReason),
    /// The request requires more rights, and signing in again has not helped.
    #[error(transparent)]
    Refused(InsufficientScope),
}

/// Why the token of a server cannot be used now.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TokenError {
    #[error("The server's token cannot be read: {0}")]
    Secret(#[from] SecretError),
    #[error("The server's token has expired or was refused, and cannot be refreshed now: {0}")]
    Discovery(#[from] DiscoveryError),
    #[error("The server's token has expired or was refused, and cannot be refreshed now: {source}")]
    Protocol { source: Cause },
    #[error("The task that refreshes the server's token failed: {source}")]
    Aborted { source: Cause },
}

impl TokenError {
    pub(super) fn protocol(error: AuthError) -> Self {
        Self::Protocol {
            source: Cause::chain(error),
        }
    }

    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Discovery(error) => Self::Discovery(error.map_text(change)),
            Self::Protocol { source } => Self::Protocol {
                source: source.map_text(change),
            },
            Self::Secret(error) => Self::Secret(error.map_text(change)),
            Self::Aborted { .. } => self,
        }
    }
}

/// Why a person has to sign in to a server.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SignInReason {
    #[error("The server requires a sign-in ({server} answered HTTP {status})")]
    Unauthorized { server: String, status: StatusCode },
    #[error(
        "The request requires {} than you signed in for ({server} answered HTTP {status})",
        describe_scopes(.scopes)
    )]
    Scope {
        server: String,
        status: StatusCode,
        scopes: BTreeSet<String>,
    },
}

impl SignInReason {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Unauthorized { .. } => self,
            Self::Scope {
                server,
                status,
                scopes,
            } => Self::Scope {
                server,
                status,
                scopes: scopes.iter().map(|scope| change(scope)).collect(),
            },
        }
    }
}

/// A request requires rights that the authorization server does not grant.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "The request requires {}, which the authorization server did not grant although a person \
     signed in for them ({server} answered HTTP {status})",
    describe_scopes(.scopes)
)]
pub struct InsufficientScope {
    server: String,
    status: StatusCode,
    scopes: BTreeSet<String>,
}

impl InsufficientScope {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        Self {
            scopes: self.scopes.iter().map(|scope| change(scope)).collect(),
            ..self
        }
    }
}

/// Authorizes the requests to one server. Cheap to clone.
#[derive(Clone)]
pub struct Bearer {
    authorizer: Authorizer,
    id: ServerId,
    account: Arc<Account>,
}

impl Bearer {
    pub(super) fn new(authorizer: Authorizer, id: ServerId, account: Arc<Account>) -> Self {
        Self {
            authorizer,
            id,
            account,
        }
    }

    /// Sends a request with the server's token, if there is a token. If the server refuses the
    /// token, sends the request once more with a newer token. A second request is safe, because a
    /// server answers 401 before it carries out a request.
    ///
    /// # Errors
    /// Returns an error if the HTTP exchange fails, or if the request was not carried out because
    /// the token cannot be read or refreshed, or because the server demands a sign-in or more
    /// scopes.
    pub async fn send(
        &self,
        http: &HttpClient,
        request: HttpRequest,
    ) -> Result<HttpResponse, BearerError> {
        // Boxed, because the future of a refresh is large and rarely needed.
        let token = match self.account.cached_token() {
            Some(token) => token,
            None => Box::pin(self.token()).await?,
        };
        // A token is sent only to the origin of the server for which it was issued.
        let Some(token) = token.filter(|_| self.has_server_origin(&request)) else {
            return self.check_response(http.send(request).await?);
        };
        let copy = request.clone();
        let mut response = http.send(with_token(request, &token)).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(token) = Box::pin(self.replace_token(token)).await?
        {
            response = http.send(with_token(copy, &token)).await?;
        }
        self.check_response(response)
    }

    fn has_server_origin(&self, request: &HttpRequest) -> bool {
        Url::parse(&request.uri().to_string())
            .is_ok_and(|url| url.origin() == self.account.key.server.origin())
    }

    async fn token(&self) -> Result<Option<Secret>, TokenError> {
        let (authorizer, account) = (self.authorizer.clone(), self.account.clone());
        run_to_completion(async move { account.token(&authorizer).await }).await
    }

    async fn replace_token(&self, refused: Secret) -> Result<Option<Secret>, TokenError> {
        let (authorizer, account) = (self.authorizer.clone(), self.account.clone());
        run_to_completion(async move { account.replace_token(&authorizer, &refused).await }).await
    }

    /// Returns the response, or an error if the server demands that a person signs in, or demands
    /// scopes for which a person has signed in already. Records or clears the account's challenge
    /// accordingly.
    fn check_response(&self, response: HttpResponse) -> Result<HttpResponse, BearerError> {
        let status = response.status();
        if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            if status.is_success()
                && self
                    .account
                    .challenge()
                    .is_some_and(|challenge| challenge.refuses_all)
            {
                self.update_challenge(None);
            }
            return Ok(response);
        }
        let header = bearer_challenge(&response);
        let server = &self.account.key.server;
        let challenge = header
            .as_ref()
            .map(|header| WWWAuthenticateParams::parse(header, server))
            .unwrap_or_default();
        // If there is no challenge, this may be a server from before RFC 9728. A challenge of
        // another scheme is not OAuth.
        let other_scheme = header.is_none() && response.headers().contains_key(WWW_AUTHENTICATE);
        let refuses_all = match status {
            StatusCode::UNAUTHORIZED if !other_scheme => true,
            StatusCode::FORBIDDEN if challenge.is_insufficient_scope() => false,
            _ => return Ok(response),
        };
        let scopes = demanded_scopes(challenge.scope.as_deref());
        let server = server.to_string();
        let reason = if refuses_all {
            SignInReason::Unauthorized { server, status }
        } else if scopes.is_subset(&self.account.signed_in_scopes()) {
            return Err(BearerError::Refused(InsufficientScope {
                server,
                status,
                scopes,
            }));
        } else {
            SignInReason::Scope {
                server,
                status,
                scopes: scopes.clone(),
            }
        };
        self.update_challenge(Some(Challenge {
            header,
            refuses_all,
            scopes,
        }));
        Err(BearerError::NeedsSignIn(reason))
    }

    fn update_challenge(&self, challenge: Option<Challenge>) {
        if self.account.set_challenge(challenge) {
            self.authorizer.emit_server_changed(&self.id);
        }
    }
}

/// Runs the future in a task of its own, so that a refresh completes even if the caller is dropped.
async fn run_to_completion(
    refresh: impl Future<Output = Result<Option<Secret>, TokenError>> + Send + 'static,
) -> Result<Option<Secret>, TokenError> {
    tokio::spawn(refresh).await.unwrap_or_else(|error| {
        Err(TokenError::Aborted {
            source: Cause::new(error),
        })
    })
}

/// Returns the scopes of a challenge. If the challenge names no scope, the set contains only an
/// empty string.
fn demanded_scopes(scope: Option<&str>) -> BTreeSet<String> {
    let names: BTreeSet<_> = scope
        .unwrap_or_default()
        .split_whitespace()
        .take(MAX_SCOPES)
        .map(str::to_owned)
        .collect();
    if names.is_empty() {
        BTreeSet::from([String::new()])
    } else {
        names
    }
}

/// Returns the first `WWW-Authenticate` header that contains the word "bearer".
fn bearer_challenge(response: &HttpResponse) -> Option<String> {
    let headers = response
        .headers()
        .get_all(WWW_AUTHENTICATE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut bearers = headers.filter(|value| value.to_ascii_lowercase().contains("bearer"));
    bearers.next().map(str::to_owned)
}

fn with_token(mut request: HttpRequest, token: &Secret) -> HttpRequest {
    if let Ok(mut value) = HeaderValue::try_from(format!("Bearer {}", token.expose())) {
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    request
}
