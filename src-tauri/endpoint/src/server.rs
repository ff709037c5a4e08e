//! The route table, and the door's life: bind, serve, drain.
//!
//! | route | methods | who | |
//! |---|---|---|---|
//! | `/mcp`, `/mcp/` | POST, GET, DELETE | client | streamable HTTP for MCP clients ([`mcp`](crate::mcp)) |
//! | `/mcp/{server}`, with or without a slash | POST, GET, DELETE | client | the same for one server alone, with its own names |
//! | `/sse`, `/sse/` | GET | client | the stream of the older HTTP+SSE transport |
//! | `/messages`, `/messages/` | POST | client | what is said to the hub over that transport |
//! | `/health` | GET | anyone | how the hub is; 503 when down |
//! | `/api/login` | POST | anyone | a one-time code for a browser's cookie |
//! | `/api/verbs/{verb}` | POST | administrator | every verb of the hub, parameters and answer as JSON |
//! | `/api/events` | GET | administrator | what happens, as server-sent events |
//! | `/api/presence` | GET | administrator | says nothing; keeps a hub that ends when nobody uses it |
//! | `/api/tools` | GET | administrator | the catalog as MCP tools, or as function tools (`?format=openai`) |
//! | `/registry/servers`, `/registry/servers/{id}` | GET, POST, PUT, PATCH, DELETE | administrator | specs; what is written here waits for approval |
//! | `/api/mcp/servers`, `…/{id}/verify`, `…/{id}/sync`, `…/{id}/capabilities` | GET, POST | administrator | what is known of servers |
//! | `/`, `/icon.svg`, `/assets/{file}` | GET | anyone | the screens |
//!
//! The paths at which clients look for OAuth are no routes: [`rescue`] answers them with 404 in OAuth's form.
//!
//! A request passes, in this order: a net for panics, [`origin::check`] (TCP only), the bounds of
//! its body, the router, [`auth`], its handler; [`headers::secure`] has the last word. What fails is
//! answered by [`rescue`]. What stands before the router ([`Front`]) is one function and no stack of
//! layers, and the handlers for clients ask [`auth`] themselves: each layer boxes and copies each request.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use axum::{
    BoxError, Router,
    body::{Body, HttpBody},
    extract::DefaultBodyLimit,
    http::{HeaderMap, Request, Uri},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
    serve::ListenerExt,
};
use bytes::Bytes;
use drawbridge_hub::{Hub, api::health::TransportHealth};
use futures_util::FutureExt;
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::{
    activity::Activity,
    auth,
    body::Paced,
    headers, listener, local,
    mcp::{self, legacy_sse::Streams, listening::Listeners},
    origin::{self, Hosts},
    rescue::{self, Refusal},
    rest::{approvals, calls, events, health, login, servers, tools, ui, verbs},
};

/// The largest body that is taken, in bytes. While it grows it may take twice as much.
pub(crate) const LARGEST_BODY: usize = 16 * 1024 * 1024;

/// Where to listen.
#[derive(Debug, Clone, Copy)]
pub struct ServeOptions {
    pub host: IpAddr,
    /// 0 for one that is free.
    pub port: u16,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.into(),
            port: 8765,
        }
    }
}

/// No listener could start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen anywhere: {http} (http), {local} (local socket)")]
pub struct ServeError {
    http: String,
    local: String,
}

/// What the handlers of a listener know.
pub(crate) struct Door {
    pub(crate) hub: Arc<Hub>,
    pub(crate) via: Via,
    pub(crate) listeners: Listeners,
    pub(crate) legacy: Streams,
    pub(crate) logins: login::Attempts,
    /// Cancelled when the door closes.
    pub(crate) stopping: CancellationToken,
}

/// How a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    Tcp,
    Local,
}

/// Who a route is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Anyone,
    /// A client: the handler asks which ([`auth::client`]).
    Client,
    Administrator,
}

/// A line of the route table.
pub(crate) struct Route {
    pub(crate) path: &'static str,
    pub(crate) who: Who,
    pub(crate) methods: MethodRouter<Arc<Door>>,
}

/// The route table.
pub(crate) fn routes() -> Vec<Route> {
    let route = |path, who, methods| Route { path, who, methods };
    let mcp = || {
        post(mcp::streamable_http::post)
            .get(mcp::listening::get)
            .delete(mcp::streamable_http::delete)
    };
    let server = || {
        get(servers::show)
            .put(servers::put)
            .patch(servers::patch)
            .delete(servers::remove)
    };
    vec![
        route("/mcp", Who::Client, mcp()),
        route("/mcp/", Who::Client, mcp()),
        route("/mcp/{server}", Who::Client, mcp()),
        route("/mcp/{server}/", Who::Client, mcp()),
        route("/sse", Who::Client, get(mcp::legacy_sse::open)),
        route("/sse/", Who::Client, get(mcp::legacy_sse::open)),
        route("/messages", Who::Client, post(mcp::legacy_sse::post)),
        route("/messages/", Who::Client, post(mcp::legacy_sse::post)),
        route("/health", Who::Anyone, get(health::show)),
        route(
            "/api/login",
            Who::Anyone,
            post(login::redeem).layer(DefaultBodyLimit::max(login::LARGEST_BODY)),
        ),
        route("/api/verbs/{verb}", Who::Administrator, post(verbs::run)),
        route("/api/events", Who::Administrator, get(events::stream)),
        route("/api/presence", Who::Administrator, get(events::presence)),
        route("/api/tools", Who::Administrator, get(tools::list)),
        route("/api/approvals", Who::Administrator, get(approvals::list)),
        route(
            "/api/approvals/{id}",
            Who::Administrator,
            get(approvals::show).post(approvals::decide),
        ),
        route("/api/calls", Who::Administrator, get(calls::list)),
        route("/api/calls/{id}", Who::Administrator, get(calls::show)),
        route(
            "/registry/servers",
            Who::Administrator,
            get(servers::list).post(servers::add),
        ),
        route("/registry/servers/{id}", Who::Administrator, server()),
        route("/api/mcp/servers", Who::Administrator, get(servers::list)),
        route(
            "/api/mcp/servers/{id}/verify",
            Who::Administrator,
            post(servers::verify),
        ),
        route(
            "/api/mcp/servers/{id}/sync",
            Who::Administrator,
            post(servers::sync),
        ),
        route(
            "/api/mcp/servers/{id}/capabilities",
            Who::Administrator,
            get(servers::capabilities),
        ),
        route("/", Who::Anyone, get(ui::index)),
        route("/icon.svg", Who::Anyone, get(ui::icon)),
        route("/assets/{*file}", Who::Anyone, get(ui::asset)),
    ]
}

/// The routes with their handlers.
fn router(door: &Arc<Door>) -> Router {
    let mut router = Router::new();
    for Route { path, who, methods } in routes() {
        let methods = match who {
            Who::Anyone | Who::Client => methods,
            Who::Administrator => {
                methods.layer(from_fn_with_state(Arc::clone(door), auth::administrator))
            }
        };
        router = router.route(path, methods);
    }
    let router = router
        .fallback(rescue::unknown_route)
        .method_not_allowed_fallback(rescue::wrong_method);
    router.with_state(Arc::clone(door))
}

/// Routes, and what stands before them.
pub(crate) struct Front {
    routes: Router,
    /// Where browsers can reach it.
    hosts: Option<Hosts>,
}

impl Front {
    pub(crate) fn new(routes: Router, hosts: Option<Hosts>) -> Self {
        Self { routes, hosts }
    }

    /// Answers a request, whatever happens.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin + Send + 'static,
    {
        let answered = match self.check(request.uri(), request.headers()) {
            Ok(()) => AssertUnwindSafe(self.route(request)).catch_unwind().await,
            Err(refusal) => Ok(refusal.into_response()),
        };
        let mut response = answered.unwrap_or_else(rescue::panicked);
        headers::secure(response.headers_mut());
        response
    }

    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        if let Some(hosts) = &self.hosts {
            origin::check(hosts, uri, headers)?;
        }
        headers::check_length(headers)
    }

    async fn route<B>(&self, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin + Send + 'static,
    {
        let mut request = request.map(|body| Body::new(Paced::new(body)));
        DefaultBodyLimit::max(LARGEST_BODY).apply(&mut request);
        match self.routes.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// Opens the door: starts all listeners at once. One that fails leaves the others running and
/// is told to the hub; the port is never changed.
///
/// # Errors
/// Where no listener could start.
pub async fn serve(hub: Arc<Hub>, options: ServeOptions) -> Result<Running, ServeError> {
    let (tcp, socket) = tokio::join!(bind_tcp(options), local::bind(hub.data_dir()));
    let mut running = Running::new(Arc::clone(&hub));
    let mut problems = Vec::new();
    match tcp {
        Ok((listener, address)) => {
            let url = format!("http://{address}/mcp");
            let listener = listener.tap_io(|stream| {
                let _ = stream.set_nodelay(true);
            });
            running.listen(
                "http",
                url.clone(),
                listener,
                Via::Tcp,
                Some(Hosts::of(address)),
            );
            running.url = Some(url);
        }
        Err(error) => {
            let url = format!("http://{}/mcp", SocketAddr::new(options.host, options.port));
            running.fail("http", url, error.clone());
            problems.push(error);
        }
    }
    match socket {
        Ok(bound) => running.listen("local", bound.address, bound.listener, Via::Local, None),
        Err(local::BindError { address, error }) => {
            running.fail("local", address, error.clone());
            problems.push(error);
        }
    }
    match <[String; 2]>::try_from(problems) {
        Ok([http, local]) => Err(ServeError { http, local }),
        Err(_) => Ok(running),
    }
}

async fn bind_tcp(options: ServeOptions) -> Result<(TcpListener, SocketAddr), String> {
    let address = SocketAddr::new(options.host, options.port);
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound.await.map_err(|e: io::Error| {
        if e.kind() == io::ErrorKind::AddrInUse {
            return format!(
                "port {} is taken by another program: end that one, or choose another port",
                options.port
            );
        }
        format!("{address}: {e}")
    })
}

/// The open door. Dropped, it closes at once; [`Running::stop`] is kinder.
pub struct Running {
    hub: Arc<Hub>,
    url: Option<String>,
    transports: Vec<TransportHealth>,
    listeners: JoinSet<()>,
    activity: Activity,
    stopping: CancellationToken,
}

impl Running {
    fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            url: None,
            transports: Vec::new(),
            listeners: JoinSet::new(),
            activity: Activity::default(),
            stopping: CancellationToken::new(),
        }
    }

    /// `http://HOST:PORT/mcp`; none where only the local socket listens.
    pub fn url(&self) -> Option<String> {
        self.url.clone()
    }

    /// The listeners that did not start.
    pub fn failures(&self) -> Vec<TransportHealth> {
        self.transports
            .iter()
            .filter(|transport| !transport.listening)
            .cloned()
            .collect()
    }

    /// Waits until nobody has used the hub for `idle`: no connection was open, no call under way, nobody was asked
    /// for a decision or was signing in. From then on the door takes no connection, and is to be stopped.
    pub async fn close_when_unused(&self, idle: Duration) {
        self.activity
            .close_when_unused(idle, || self.hub.has_work())
            .await;
    }

    /// Closes the door: takes no more requests, and gives those in flight five seconds.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        while self.listeners.join_next().await.is_some() {}
        for transport in self
            .transports
            .drain(..)
            .filter(|transport| transport.listening)
        {
            self.hub.set_transport(TransportHealth {
                listening: false,
                error: "stopped".to_owned(),
                ..transport
            });
        }
    }

    fn listen<L>(
        &mut self,
        name: &str,
        address: String,
        listener: L,
        via: Via,
        hosts: Option<Hosts>,
    ) where
        L: axum::serve::Listener,
    {
        let door = Door {
            hub: Arc::clone(&self.hub),
            via,
            listeners: Listeners::default(),
            legacy: Streams::default(),
            logins: login::Attempts::default(),
            stopping: self.stopping.clone(),
        };
        let front = Front::new(router(&Arc::new(door)), hosts);
        self.listeners.spawn(listener::run(
            listener,
            Arc::new(front),
            self.activity.clone(),
            self.stopping.clone(),
        ));
        self.note(TransportHealth {
            name: name.to_owned(),
            address,
            listening: true,
            error: String::new(),
        });
    }

    fn fail(&mut self, name: &str, address: String, error: String) {
        tracing::warn!(name, address, error, "a listener did not start");
        self.note(TransportHealth {
            name: name.to_owned(),
            address,
            listening: false,
            error,
        });
    }

    fn note(&mut self, transport: TransportHealth) {
        self.hub.set_transport(transport.clone());
        self.transports.push(transport);
    }
}
