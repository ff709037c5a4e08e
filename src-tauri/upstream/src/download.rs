//! Downloads without credentials: from a given host and from the hosts that this host names, only
//! at addresses that the dial policy of the given host allows, and within limits of time and size.

use std::{io, time::Duration};

use drawbridge_model::cause::Cause;
use http::{StatusCode, header};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use url::Url;

use crate::oauth::{DialError, DialPolicy, build_filtered_client};

/// The most redirects that a download follows.
const MAX_REDIRECTS: usize = 5;

/// Downloads from one host, and from the hosts that this host names.
pub struct Downloader {
    client: reqwest::Client,
    dial_policy: DialPolicy,
}

/// Why a download failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DownloadError {
    #[error("its address is not a URL")]
    NotUrl,
    #[error("its address uses http, so others on the network could change the downloaded file")]
    PlainHttp,
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error("there is no connection: {0}")]
    Failed(Cause),
    #[error("it answered {0}")]
    Status(StatusCode),
    #[error("it redirects more than {MAX_REDIRECTS} times")]
    TooManyRedirects,
    #[error("it answered with more than {} MiB, which is the limit", .0 >> 20)]
    TooLong(u64),
    #[error("it did not answer completely within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("the download cannot be stored: {0}")]
    Write(Cause),
}

impl Downloader {
    /// Returns a downloader for the host of `url`. The URL has to use https, or http if the host is
    /// this computer.
    ///
    /// # Errors
    /// Returns an error if `url` is not such a URL or contains a user name, or if TLS is not
    /// available.
    pub fn new(url: &str) -> Result<Self, DownloadError> {
        let url = parse_url(url)?;
        let dial_policy = DialPolicy::for_server(&url).map_err(|_| DownloadError::PlainHttp)?;
        dial_policy.check_url(&url)?;
        let client = build_filtered_client(&dial_policy).map_err(request_error)?;
        Ok(Self {
            client,
            dial_policy,
        })
    }

    /// Returns the body of a URL. Follows no redirect.
    ///
    /// # Errors
    /// Returns an error if the URL is not allowed, if there is no complete answer within
    /// `time_limit`, if the status is not 2xx, or if the body has more than `max_bytes` bytes.
    pub async fn get(
        &self,
        url: &Url,
        max_bytes: u64,
        time_limit: Duration,
    ) -> Result<Vec<u8>, DownloadError> {
        let exchange = async {
            let response = self.send(url).await?;
            let mut body = Vec::new();
            copy_body(response, max_bytes, &mut body).await?;
            Ok(body)
        };
        with_timeout(time_limit, exchange).await
    }

    /// Writes the body of a URL to `sink`, and returns its length. Follows redirects to allowed
    /// URLs.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Self::get`], if there are too many redirects, and if
    /// `sink` cannot be written. A part of the body may have been written then.
    pub async fn download(
        &self,
        url: &str,
        max_bytes: u64,
        time_limit: Duration,
        sink: &mut (impl AsyncWrite + Unpin + Send),
    ) -> Result<u64, DownloadError> {
        let mut url = parse_url(url)?;
        let exchange = async {
            for _ in 0..=MAX_REDIRECTS {
                let response = self.send(&url).await?;
                match redirect_target(&url, &response) {
                    Some(target) => url = target?,
                    None => return copy_body(response, max_bytes, sink).await,
                }
            }
            Err(DownloadError::TooManyRedirects)
        };
        with_timeout(time_limit, exchange).await
    }

    async fn send(&self, url: &Url) -> Result<reqwest::Response, DownloadError> {
        // A literal address does not pass through the resolver, so it is checked here.
        self.dial_policy.check_url(url)?;
        let request = self
            .client
            .get(url.clone())
            .header(header::USER_AGENT, "drawbridge")
            .header(header::ACCEPT, "*/*");
        request.send().await.map_err(request_error)
    }
}

async fn with_timeout<T>(
    time_limit: Duration,
    exchange: impl Future<Output = Result<T, DownloadError>>,
) -> Result<T, DownloadError> {
    tokio::time::timeout(time_limit, exchange)
        .await
        .unwrap_or(Err(DownloadError::TimedOut(time_limit)))
}

/// Returns the URL to which a response redirects, or `None` if it does not redirect.
fn redirect_target(url: &Url, response: &reqwest::Response) -> Option<Result<Url, DownloadError>> {
    if !response.status().is_redirection() {
        return None;
    }
    let location = response.headers().get(header::LOCATION)?;
    let target = location.to_str().ok().and_then(|text| url.join(text).ok());
    Some(target.ok_or(DownloadError::NotUrl))
}

async fn copy_body(
    mut response: reqwest::Response,
    max_bytes: u64,
    sink: &mut (impl AsyncWrite + Unpin),
) -> Result<u64, DownloadError> {
    if !response.status().is_success() {
        return Err(DownloadError::Status(response.status()));
    }
    let mut length = 0;
    while let Some(chunk) = response.chunk().await.map_err(request_error)? {
        length += chunk.len() as u64;
        if length > max_bytes {
            return Err(DownloadError::TooLong(max_bytes));
        }
        sink.write_all(&chunk).await.map_err(write_error)?;
    }
    sink.flush().await.map_err(write_error)?;
    Ok(length)
}

fn parse_url(url: &str) -> Result<Url, DownloadError> {
    Url::parse(url).map_err(|_| DownloadError::NotUrl)
}

fn request_error(error: reqwest::Error) -> DownloadError {
    DownloadError::Failed(Cause::innermost(error.without_url()))
}

fn write_error(error: io::Error) -> DownloadError {
    DownloadError::Write(Cause::innermost(error))
}
