//! Sends combinations of `Host`, `Origin` and `Sec-Fetch-Site` to every route. Also tests the
//! target of a request, hosts that a person allows, and websites that open the web UI.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
    routing::any,
};

use drawbridge_model::allowed_host::AllowedHost;

use super::{ListenerHosts, NamedHost};
use crate::{checked_router::CheckedRouter, routes::routes};

const GOOD_HOSTS: [&str; 9] = [
    "127.0.0.1:8765",
    "localhost:8765",
    "[::1]:8765",
    "192.168.1.7:8765",
    // Allowed by a person.
    "mcp-hub:8765",
    "mapped.example:8082",
    "proxy.example",
    "proxy.example:443",
    "[2001:db8::7]:8765",
];

fn allowed_hosts() -> Vec<AllowedHost> {
    [
        "mcp-hub",
        "mapped.example:8082",
        "proxy.example:443",
        "[2001:db8::7]",
    ]
    .iter()
    .map(|host| host.parse().expect("a host"))
    .collect()
}

const BAD_HOSTS: [&str; 21] = [
    "mcp-hub",
    "mcp-hub:8766",
    "mcp-hub.evil.example:8765",
    "evil-mcp-hub:8765",
    "MCP-HUB:8765",
    "mapped.example:8765",
    "mapped.example",
    "proxy.example:80",
    "evil.example",
    "evil.example:8765",
    "127.0.0.1",
    "127.0.0.1:80",
    "127.0.0.1:87650",
    "127.0.0.1:8765.evil.example",
    "127.0.0.1.evil.example:8765",
    "localhost.evil.example:8765",
    "evillocalhost:8765",
    "user@127.0.0.1:8765",
    "127.1:8765",
    "0.0.0.0:8765",
    "2130706433:8765",
];

const BAD_ORIGINS: [&str; 17] = [
    "http://mcp-hub",
    "ftp://mcp-hub:8765",
    "http://mapped.example",
    "http://proxy.example",
    "https://proxy.example.evil.example",
    "null",
    "",
    "http://evil.example",
    "http://evil.example:8765",
    "http://127.0.0.1",
    "http://127.0.0.1:8766",
    "https://127.0.0.1:8765",
    "HTTP://127.0.0.1:8765",
    "http://127.0.0.1:8765/",
    "http://127.0.0.1:8765.evil.example",
    "http://localhost:8765@evil.example",
    "file://",
];

/// The production checks and paths, with one handler that only counts requests.
struct CheckedRoutes {
    router: CheckedRouter,
    reached: Arc<AtomicUsize>,
    paths: Vec<String>,
}

impl CheckedRoutes {
    fn new() -> Self {
        let reached = Arc::new(AtomicUsize::new(0));
        let paths: Vec<String> = routes()
            .iter()
            .map(|route| route.path.replace(['{', '}', '*'], ""))
            .collect();
        let counter = Arc::clone(&reached);
        let routes = Router::new().fallback(any(move || async move {
            counter.fetch_add(1, Ordering::SeqCst);
        }));
        let router = CheckedRouter::new(
            routes,
            Some(Arc::new(ListenerHosts::new(
                ([192, 168, 1, 7], 8765).into(),
                &allowed_hosts(),
            ))),
        );
        Self {
            router,
            reached,
            paths,
        }
    }

    /// Sends a request with these headers to every route, and returns the status of all responses.
    /// Panics if the statuses differ.
    async fn request_every_route(&self, headers: &[(&str, &str)]) -> StatusCode {
        let mut statuses = Vec::new();
        for path in &self.paths {
            for method in ["GET", "POST", "DELETE", "OPTIONS", "PUT"] {
                let mut request = Request::builder().method(method).uri(path);
                for (name, value) in headers {
                    request = request.header(*name, *value);
                }
                let request = request.body(Body::empty()).expect("a request");
                statuses.push(self.router.answer(request).await.status());
            }
        }
        let first = statuses[0];
        assert!(
            statuses.iter().all(|status| *status == first),
            "{headers:?}: {statuses:?}"
        );
        first
    }
}

#[tokio::test]
async fn every_route_accepts_the_hosts_and_origins_of_its_listener() {
    let routes = CheckedRoutes::new();
    assert!(
        routes.paths.len() >= 8,
        "the route table has too few routes"
    );
    for host in GOOD_HOSTS {
        assert_eq!(
            routes.request_every_route(&[("host", host)]).await,
            StatusCode::OK,
            "{host}"
        );
        for other in GOOD_HOSTS {
            // A person allowed this host with port 443, so its pages without a port use https.
            let scheme = if other == "proxy.example" {
                "https"
            } else {
                "http"
            };
            let origin = format!("{scheme}://{other}");
            assert_eq!(
                routes
                    .request_every_route(&[("host", host), ("origin", &origin)])
                    .await,
                StatusCode::OK,
                "{host} {origin}"
            );
        }
        for site in ["same-origin", "none"] {
            assert_eq!(
                routes
                    .request_every_route(&[("host", host), ("sec-fetch-site", site)])
                    .await,
                StatusCode::OK,
                "{site}"
            );
        }
    }
}

#[tokio::test]
async fn no_route_is_reached_under_another_host() {
    let routes = CheckedRoutes::new();
    for host in BAD_HOSTS {
        assert_eq!(
            routes.request_every_route(&[("host", host)]).await,
            StatusCode::FORBIDDEN,
            "{host}"
        );
        let origin = format!("http://{host}");
        assert_eq!(
            routes
                .request_every_route(&[("host", host), ("origin", &origin)])
                .await,
            StatusCode::FORBIDDEN,
            "{host}"
        );
    }
    assert_eq!(
        routes.request_every_route(&[]).await,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(
        routes.request_every_route(&[("host", "")]).await,
        StatusCode::BAD_REQUEST
    );
    let twice = [("host", GOOD_HOSTS[0]), ("host", GOOD_HOSTS[0])];
    assert_eq!(
        routes.request_every_route(&twice).await,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(routes.reached.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn no_route_is_reached_from_another_origin() {
    let routes = CheckedRoutes::new();
    for host in GOOD_HOSTS {
        for origin in BAD_ORIGINS {
            let headers = [("host", host), ("origin", origin)];
            assert_eq!(
                routes.request_every_route(&headers).await,
                StatusCode::FORBIDDEN,
                "{host} {origin}"
            );
        }
        let twice = [
            ("host", host),
            ("origin", "http://127.0.0.1:8765"),
            ("origin", "http://127.0.0.1:8765"),
        ];
        assert_eq!(
            routes.request_every_route(&twice).await,
            StatusCode::FORBIDDEN
        );
        for site in ["cross-site", "same-site", "Same-Origin", ""] {
            let headers = [("host", host), ("sec-fetch-site", site)];
            assert_eq!(
                routes.request_every_route(&headers).await,
                StatusCode::FORBIDDEN,
                "{site}"
            );
        }
    }
    assert_eq!(routes.reached.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_absolute_form_target_must_name_the_listener_too() {
    let routes = CheckedRoutes::new();
    for (uri, expected) in [
        ("http://127.0.0.1:8765/health", StatusCode::OK),
        ("http://evil.example/health", StatusCode::FORBIDDEN),
    ] {
        let request = Request::builder()
            .uri(uri)
            .header("host", "127.0.0.1:8765")
            .body(Body::empty())
            .expect("request");
        assert_eq!(
            routes.router.answer(request).await.status(),
            expected,
            "{uri}"
        );
    }
}

#[tokio::test]
async fn a_person_can_allow_and_forbid_a_host_while_the_listener_serves() {
    let hosts = Arc::new(ListenerHosts::new(([127, 0, 0, 1], 8765).into(), &[]));
    let routes = Router::new().fallback(any(async || {}));
    let router = CheckedRouter::new(routes, Some(Arc::clone(&hosts)));
    let status = async || {
        let request = Request::builder()
            .uri("/health")
            .header("host", "mcp-hub:8765")
            .header("origin", "http://mcp-hub:8765")
            .body(Body::empty())
            .expect("a request");
        router.answer(request).await.status()
    };
    assert_eq!(status().await, StatusCode::FORBIDDEN);
    hosts.set_allowed(&allowed_hosts());
    assert_eq!(status().await, StatusCode::OK);
    hosts.set_allowed(&[]);
    assert_eq!(status().await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_listener_on_all_addresses_does_not_answer_to_the_unspecified_address() {
    let hosts = ListenerHosts::new(([0, 0, 0, 0], 8765).into(), &[]);
    assert_eq!(hosts.find_host(b"0.0.0.0:8765"), None);
    assert_eq!(hosts.find_host(b"127.0.0.1:8765"), Some(NamedHost::Own));
}

#[tokio::test]
async fn another_site_can_only_open_the_page_of_the_web_ui() {
    let routes = CheckedRoutes::new();
    let status = async |path: &str, mode: &str, dest: &str| {
        let request = Request::builder()
            .uri(path)
            .header("host", GOOD_HOSTS[0])
            .header("sec-fetch-site", "cross-site")
            .header("sec-fetch-mode", mode)
            .header("sec-fetch-dest", dest)
            .body(Body::empty())
            .expect("a request");
        routes.router.answer(request).await.status()
    };
    assert_eq!(status("/", "navigate", "document").await, StatusCode::OK);
    for (path, mode, dest) in [
        ("/", "navigate", "iframe"),
        ("/", "cors", "document"),
        ("/", "no-cors", "image"),
        ("/?x=y", "navigate", "document"),
        ("/health", "navigate", "document"),
        ("/api/login", "navigate", "document"),
        ("/api/verbs/clients.list", "navigate", "document"),
    ] {
        assert_eq!(
            status(path, mode, dest).await,
            StatusCode::FORBIDDEN,
            "{path} {mode} {dest}"
        );
    }
}
