//! The HTTP client of sign-ins: without redirects, with bounds on time and size, and only for
//! addresses that [`DialPolicy`] allows. Also makes the clients of webhooks and downloads, which
//! set bounds of their own.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use drawbridge_model::display_url::DisplayUrl;
use futures_util::StreamExt;
use oauth2::http;
use reqwest::{
    Client, ClientBuilder,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};
use url::Url;

use super::dial_policy::{DialError, DialPolicy};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_BODY: usize = 1024 * 1024;
const PROXY_VARIABLES: [&str; 6] = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
];

pub(super) struct SignInHttpClient {
    client: Client,
    dial_policy: DialPolicy,
}

impl SignInHttpClient {
    /// Returns a client that is limited to `dial_policy`.
    ///
    /// # Errors
    /// Returns an error if TLS is not available.
    pub(super) fn new(dial_policy: DialPolicy) -> Result<Self, reqwest::Error> {
        Self::with_resolver(dial_policy, Arc::new(SystemResolver))
    }

    fn with_resolver(
        dial_policy: DialPolicy,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, reqwest::Error> {
        let client = filtered_client(&dial_policy, resolver)
            .timeout(REQUEST_TIMEOUT)
            .build()?;
        Ok(Self {
            client,
            dial_policy,
        })
    }

    async fn exchange(
        &self,
        request: http::Request<Vec<u8>>,
    ) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let request = reqwest::Request::try_from(request)?;
        // A literal address does not pass through the resolver, so it is checked here.
        self.dial_policy.check_url(request.url())?;
        let response = self.client.execute(request).await?;
        let mut answer = http::Response::builder().status(response.status());
        for (name, value) in response.headers() {
            answer = answer.header(name, value);
        }
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(&chunk?);
            if body.len() > MAX_BODY {
                return Err(format!("The answer is longer than {MAX_BODY} bytes").into());
            }
        }
        Ok(answer.body(body)?)
    }
}

impl OAuthHttpClient for SignInHttpClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let url = request.request.uri().clone();
            let answer = self.exchange(request.request).await;
            answer.inspect_err(|error| {
                let innermost =
                    std::iter::successors(Some(&**error as &dyn std::error::Error), |error| {
                        error.source()
                    })
                    .last();
                tracing::warn!(
                    "The request to {}{} failed: {}",
                    url.authority().map_or("", |a| a.as_str()),
                    url.path(),
                    innermost.unwrap_or(&**error)
                );
            })
        })
    }
}

/// Returns a client without redirects that connects only to addresses that `dial_policy` allows,
/// and to the user's proxies. The client has no timeout for a whole request.
///
/// # Errors
/// Returns an error if TLS is not available.
pub(crate) fn build_filtered_client(dial_policy: &DialPolicy) -> Result<Client, reqwest::Error> {
    filtered_client(dial_policy, Arc::new(SystemResolver)).build()
}

fn filtered_client(dial_policy: &DialPolicy, resolver: Arc<dyn Resolve>) -> ClientBuilder {
    crate::install_tls();
    Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(Policy::none())
        .dns_resolver(Arc::new(FilteringResolver {
            dial_policy: dial_policy.clone(),
            resolver,
            proxies: proxy_hosts(),
        }))
}

/// A resolver that returns only addresses that the dial policy allows, and those of proxies.
struct FilteringResolver {
    dial_policy: DialPolicy,
    resolver: Arc<dyn Resolve>,
    /// The hosts of the proxies that the user has set. A proxy may have any address, and resolves
    /// the names of the hosts that are reached through the proxy.
    proxies: Vec<String>,
}

impl Resolve for FilteringResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let is_proxy = self.proxies.contains(&host.to_ascii_lowercase());
        let (dial_policy, resolving) = (self.dial_policy.clone(), self.resolver.resolve(name));
        Box::pin(async move {
            let allowed: Vec<SocketAddr> = resolving
                .await?
                .filter(|address| is_proxy || dial_policy.allows(&host, address.ip()))
                .collect();
            if allowed.is_empty() {
                return Err(DialError::PrivateAddress {
                    url: DisplayUrl::new(&host),
                }
                .into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let addresses: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

fn proxy_hosts() -> Vec<String> {
    let values = PROXY_VARIABLES
        .iter()
        .filter_map(|name| std::env::var(name).ok());
    let urls = values.map(|text| {
        if text.contains("://") {
            text
        } else {
            format!("http://{text}")
        }
    });
    urls.filter_map(|url| {
        Url::parse(&url)
            .ok()?
            .host_str()
            .map(str::to_ascii_lowercase)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// A resolver that returns loopback for every name.
    struct RebindingResolver;

    impl Resolve for RebindingResolver {
        fn resolve(&self, _: Name) -> Resolving {
            Box::pin(async {
                Ok(Box::new(std::iter::once(SocketAddr::from(([127, 0, 0, 1], 0)))) as Addrs)
            })
        }
    }

    fn get(url: &str) -> http::Request<Vec<u8>> {
        http::Request::get(url).body(Vec::new()).expect("a request")
    }

    #[tokio::test]
    async fn nothing_connects_to_an_internal_address_whatever_its_name() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind a port");
        let port = listener.local_addr().expect("address").port();
        let dial_policy =
            DialPolicy::for_server(&Url::parse("https://mcp.example.com/mcp").expect("a URL"))
                .expect("make the dial policy");
        let http = SignInHttpClient::with_resolver(dial_policy, Arc::new(RebindingResolver))
            .expect("a client");
        for host in [
            "127.0.0.1",
            "[::ffff:127.0.0.1]",
            "localhost",
            "auth.example.com",
            "mcp.example.com",
        ] {
            let refused = http
                .exchange(get(&format!("https://{host}:{port}/token")))
                .await
                .expect_err("the connection is refused");
            let errors =
                std::iter::successors(Some(&*refused as &dyn std::error::Error), |e| e.source());
            let errors = errors
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(": ");
            assert!(errors.contains("neither public nor"), "{host}: {errors}");
        }
        let connected = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(connected.is_err(), "no connection arrives at the listener");
    }
}
