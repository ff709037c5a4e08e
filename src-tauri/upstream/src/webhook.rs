//! Sends an event to a webhook: without redirects, and only to addresses that the dial policy of
//! the webhook's own host allows.

use std::{collections::BTreeMap, time::Duration};

use drawbridge_model::cause::Cause;
use http::{HeaderName, HeaderValue, StatusCode, header};
use url::Url;

use crate::oauth::{DialError, DialPolicy, build_filtered_client};

/// Sends events to one webhook.
pub struct WebhookClient {
    client: reqwest::Client,
    dial_policy: DialPolicy,
}

/// Why a request to a webhook was not sent, or failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WebhookError {
    #[error("its address is not a URL")]
    NotUrl,
    #[error("its URL contains a secret before the path")]
    SecretInHost,
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error("the header '{0}' is not valid")]
    Header(String),
    #[error("there is no connection: {0}")]
    Failed(Cause),
    #[error("it answered {0}")]
    Status(StatusCode),
    #[error("it answered with more than {0} bytes")]
    TooLong(usize),
    #[error("it did not answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
}

impl WebhookClient {
    /// Returns a client for the webhook at `url`. The path and the query may contain references to
    /// secrets that are not replaced yet.
    ///
    /// # Errors
    /// Returns an error if `url` is not a URL, has a reference to a secret before the path,
    /// contains a user name, or uses http for another machine, or if TLS is not available.
    pub fn new(url: &str) -> Result<Self, WebhookError> {
        let url = parse_url(url)?;
        if url.host_str().is_some_and(|host| host.contains('$')) {
            return Err(WebhookError::SecretInHost);
        }
        let dial_policy = DialPolicy::for_server(&url)?;
        dial_policy.check_url(&url)?;
        let client =
            build_filtered_client(&dial_policy).map_err(|e| WebhookError::Failed(cause(e)))?;
        Ok(Self {
            client,
            dial_policy,
        })
    }

    /// Sends a JSON body with POST, and returns the body of the answer.
    ///
    /// # Errors
    /// Returns an error if the URL or a header is not allowed, if there is no answer within
    /// `time_limit`, if the status is not 2xx, or if the body of the answer has more than
    /// `max_answer` bytes.
    pub async fn post(
        &self,
        url: &str,
        headers: &BTreeMap<String, String>,
        body: Vec<u8>,
        time_limit: Duration,
        max_answer: usize,
    ) -> Result<Vec<u8>, WebhookError> {
        let url = parse_url(url)?;
        // A literal address does not pass through the resolver, so it is checked here.
        self.dial_policy.check_url(&url)?;
        let mut request = self
            .client
            .post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body);
        for (name, value) in headers {
            let invalid = || WebhookError::Header(name.clone());
            let header = HeaderName::try_from(name).map_err(|_| invalid())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| invalid())?;
            value.set_sensitive(true);
            request = request.header(header, value);
        }
        let exchange = async {
            let failed = |e| WebhookError::Failed(cause(e));
            let mut response = request.send().await.map_err(failed)?;
            if !response.status().is_success() {
                return Err(WebhookError::Status(response.status()));
            }
            let mut answer = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(failed)? {
                if answer.len() + chunk.len() > max_answer {
                    return Err(WebhookError::TooLong(max_answer));
                }
                answer.extend_from_slice(&chunk);
            }
            Ok(answer)
        };
        tokio::time::timeout(time_limit, exchange)
            .await
            .unwrap_or(Err(WebhookError::TimedOut(time_limit)))
    }
}

/// Checks the name of a header that a person adds to the requests to a webhook.
///
/// # Errors
/// Returns an error if the name is not a valid header name.
pub fn check_header_name(name: &str) -> Result<(), WebhookError> {
    HeaderName::try_from(name)
        .map(drop)
        .map_err(|_| WebhookError::Header(name.to_owned()))
}

fn parse_url(url: &str) -> Result<Url, WebhookError> {
    Url::parse(url).map_err(|_| WebhookError::NotUrl)
}

/// Returns the cause of an error without the URL, which may contain a secret.
fn cause(error: reqwest::Error) -> Cause {
    Cause::innermost(error.without_url())
}
