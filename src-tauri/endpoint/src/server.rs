//! The route table, and the lifecycle of the endpoint: bind, serve, drain.
//!
//! | route | methods | role | |
//! |---|---|---|---|
//! | `/mcp`, `/mcp/` | POST, GET, DELETE | client | streamable HTTP for MCP clients ([`mcp`](crate::mcp)) |
//! | `/mcp/{server}`, with or without a slash | POST, GET, DELETE | client | the same for a single server, with the server's own names |
//! | `/sse`, `/sse/` | GET | client | the stream of the older HTTP+SSE transport |
//! | `/messages`, `/messages/` | POST | client | the client's messages over that transport |
//! | `/health` | GET | anyone | the hub's health; 503 if down |
//! | `/api/login` | POST | anyone | exchanges a one-time code for a browser's cookie |
//! | `/api/verbs/{verb}` | POST | administrator | every verb of the hub, with parameters and answer in JSON |
//! | `/api/events` | GET | administrator | the hub's events, as server-sent events |
//! | `/api/presence` | GET | administrator | a stream without events, which keeps the hub from ending for lack of use |
//! | `/api/tools` | GET | administrator | the catalog as MCP tools, or as function tools (`?format=openai`) |
//! | `/api/approvals`, `/api/approvals/{id}` | GET, POST | administrator | pending approvals, and decisions on them |
//! | `/api/calls`, `/api/calls/{id}` | GET | administrator | past calls |
//! | `/registry/servers`, `/registry/servers/{id}` | GET, POST, PUT, PATCH, DELETE | administrator | specs; a server added or changed here has to be accepted |
//! | `/api/mcp/servers`, `…/{id}/verify`, `…/{id}/sync`, `…/{id}/capabilities` | GET, POST | administrator | the state of servers |
//! | `/`, `/icon.svg`, `/assets/{file}` | GET | anyone | the web UI |
//!
//! The paths at which clients look for OAuth are not routes: [`error_response`] answers them with
//! 404 and an OAuth error.
//!
//! A request passes, in this order, [`CheckedRouter`] with the check of host and origin (TCP only),
//! the check of the announced body length, the panic handler and the limits of the body; then the
//! router, [`auth`] and its handler. Security headers are then added to the response.
//! [`error_response`] turns every failure into a response. The handlers for clients call [`auth`]
//! themselves, because each layer of middleware would box and copy each request.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::from_fn_with_state,
    routing::{MethodRouter, get, post},
    serve::ListenerExt,
};
use drawbridge_hub::Hub;
use drawbridge_model::listener::ListenerHealth;
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    activity::Activity,
    auth,
    checked_router::CheckedRouter,
    error_response,
    listener::{self, BindError},
    local::{self, BindOutcome},
    mcp,
    origin::OwnHosts,
    rest::{approvals, calls, events, health, login, servers, tools, ui, verbs},
    state::{ListenerKind, ListenerState},
};

/// The TCP address to listen on.
#[derive(Debug, Clone, Copy)]
pub struct ServeOptions {
    pub host: IpAddr,
    /// The port, or 0 for any free port.
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

/// The error if no listener could start.
#[derive(Debug, thiserror::Error)]
#[error("no listener could start: {http} (HTTP), {local} (local socket)")]
pub struct ServeError {
    #[source]
    http: BindError,
    local: BindError,
}

/// The role that a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Anyone,
    /// A client. The handler authenticates it with [`auth::authenticate_client`].
    Client,
    Administrator,
}

/// An entry of the route table.
pub(crate) struct Route {
    pub(crate) path: &'static str,
    pub(crate) role: Role,
    pub(crate) methods: MethodRouter<Arc<ListenerState>>,
}

/// Returns the route table.
pub(crate) fn routes() -> Vec<Route> {
    let route = |path, role, methods| Route {
        path,
        role,
        methods,
    };
    let mcp = || {
        post(mcp::streamable_http::post)
            .get(mcp::session_stream::get)
            .delete(mcp::streamable_http::delete)
    };
    let server = || {
        get(servers::show)
            .put(servers::put)
            .patch(servers::patch)
            .delete(servers::remove)
    };
    vec![
        route("/mcp", Role::Client, mcp()),
        route("/mcp/", Role::Client, mcp()),
        route("/mcp/{server}", Role::Client, mcp()),
        route("/mcp/{server}/", Role::Client, mcp()),
        route("/sse", Role::Client, get(mcp::legacy_sse::open)),
        route("/sse/", Role::Client, get(mcp::legacy_sse::open)),
        route("/messages", Role::Client, post(mcp::legacy_sse::post)),
        route("/messages/", Role::Client, post(mcp::legacy_sse::post)),
        route("/health", Role::Anyone, get(health::show)),
        route(
            "/api/login",
            Role::Anyone,
            post(login::redeem).layer(DefaultBodyLimit::max(login::MAX_BODY_BYTES)),
        ),
        route("/api/verbs/{verb}", Role::Administrator, post(verbs::run)),
        route("/api/events", Role::Administrator, get(events::stream)),
        route("/api/presence", Role::Administrator, get(events::presence)),
        route("/api/tools", Role::Administrator, get(tools::list)),
        route("/api/approvals", Role::Administrator, get(approvals::list)),
        route(
            "/api/approvals/{id}",
            Role::Administrator,
            get(approvals::show).post(approvals::decide),
        ),
        route("/api/calls", Role::Administrator, get(calls::list)),
        route("/api/calls/{id}", Role::Administrator, get(calls::show)),
        route(
            "/registry/servers",
            Role::Administrator,
            get(servers::list).post(servers::add),
        ),
        route("/registry/servers/{id}", Role::Administrator, server()),
        route("/api/mcp/servers", Role::Administrator, get(servers::list)),
        route(
            "/api/mcp/servers/{id}/verify",
            Role::Administrator,
            post(servers::verify),
        ),
        route(
            "/api/mcp/servers/{id}/sync",
            Role::Administrator,
            post(servers::sync),
        ),
        route(
            "/api/mcp/servers/{id}/capabilities",
            Role::Administrator,
            get(servers::capabilities),
        ),
        route("/", Role::Anyone, get(ui::index)),
        route("/icon.svg", Role::Anyone, get(ui::icon)),
        route("/assets/{*file}", Role::Anyone, get(ui::asset)),
    ]
}

/// Returns the router with all routes and fallbacks.
fn router(state: &Arc<ListenerState>) -> Router {
    let mut router = Router::new();
    for Route {
        path,
        role,
        methods,
    } in routes()
    {
        let methods = match role {
            Role::Anyone | Role::Client => methods,
            Role::Administrator => methods.layer(from_fn_with_state(
                Arc::clone(state),
                auth::require_administrator,
            )),
        };
        router = router.route(path, methods);
    }
    let router = router
        .fallback(error_response::handle_unknown_route)
        .method_not_allowed_fallback(error_response::method_not_allowed);
    router.with_state(Arc::clone(state))
}

/// Starts all listeners. If one fails, the others keep running and the failure is reported to the
/// hub. The port is never changed.
///
/// # Errors
/// Returns an error if no listener could start.
pub async fn serve(hub: Arc<Hub>, options: ServeOptions) -> Result<RunningEndpoint, ServeError> {
    let (tcp, socket) = tokio::join!(bind_tcp(options), local::bind(hub.data_dir()));
    let mut running = RunningEndpoint::new(Arc::clone(&hub));
    let http_error = match tcp {
        Ok((listener, address)) => {
            let url = format!("http://{address}/mcp");
            let listener = listener.tap_io(|stream| {
                let _ = stream.set_nodelay(true);
            });
            running.spawn_listener(
                "http",
                url.clone(),
                listener,
                ListenerKind::Tcp,
                Some(OwnHosts::for_address(address)),
            );
            running.url = Some(url);
            None
        }
        Err(error) => {
            let url = format!("http://{}/mcp", SocketAddr::new(options.host, options.port));
            running.record_failure("http", url, &error);
            Some(error)
        }
    };
    let BindOutcome { address, listener } = socket;
    let local_error = match listener {
        Ok(listener) => {
            running.spawn_listener("local", address, listener, ListenerKind::Local, None);
            None
        }
        Err(error) => {
            running.record_failure("local", address, &error);
            Some(error)
        }
    };
    match (http_error, local_error) {
        (Some(http), Some(local)) => Err(ServeError { http, local }),
        _ => Ok(running),
    }
}

async fn bind_tcp(options: ServeOptions) -> Result<(TcpListener, SocketAddr), BindError> {
    let address = SocketAddr::new(options.host, options.port);
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound.await.map_err(|source: io::Error| {
        if source.kind() == io::ErrorKind::AddrInUse {
            BindError::PortInUse {
                port: options.port,
                source,
            }
        } else {
            BindError::Tcp { address, source }
        }
    })
}

/// The running endpoint. Dropping it stops the listeners at once; [`RunningEndpoint::stop`] drains
/// them first.
pub struct RunningEndpoint {
    hub: Arc<Hub>,
    url: Option<String>,
    listener_health: Vec<ListenerHealth>,
    listeners: JoinSet<()>,
    activity: Activity,
    stopping: CancellationToken,
}

impl RunningEndpoint {
    fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            url: None,
            listener_health: Vec::new(),
            listeners: JoinSet::new(),
            activity: Activity::default(),
            stopping: CancellationToken::new(),
        }
    }

    /// Returns `http://HOST:PORT/mcp`, or `None` if only the local socket listens.
    pub fn url(&self) -> Option<String> {
        self.url.clone()
    }

    /// Returns the listeners that did not start.
    pub fn failures(&self) -> Vec<ListenerHealth> {
        self.listener_health
            .iter()
            .filter(|health| !health.listening)
            .cloned()
            .collect()
    }

    /// Waits until no connection has been open for `idle` and the hub has no work: no call in
    /// flight, no pending approval and no sign-in. From then on no connection is accepted, and the
    /// caller has to stop the endpoint.
    pub async fn close_when_unused(&self, idle: Duration) {
        self.activity
            .close_when_unused(idle, || self.hub.has_work())
            .await;
    }

    /// Stops the endpoint: accepts no more requests, and gives those in flight five seconds.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        while self.listeners.join_next().await.is_some() {}
        for health in self
            .listener_health
            .drain(..)
            .filter(|health| health.listening)
        {
            self.hub.set_listener(ListenerHealth {
                listening: false,
                error: "stopped".to_owned(),
                ..health
            });
        }
    }

    fn spawn_listener<L>(
        &mut self,
        name: &str,
        address: String,
        listener: L,
        kind: ListenerKind,
        hosts: Option<OwnHosts>,
    ) where
        L: axum::serve::Listener,
    {
        let state = ListenerState::new(Arc::clone(&self.hub), kind, self.stopping.clone());
        let router = CheckedRouter::new(router(&Arc::new(state)), hosts);
        self.listeners.spawn(listener::serve_connections(
            listener,
            Arc::new(router),
            self.activity.clone(),
            self.stopping.clone(),
        ));
        self.record_health(ListenerHealth {
            name: name.to_owned(),
            address,
            listening: true,
            error: String::new(),
        });
    }

    fn record_failure(&mut self, name: &str, address: String, error: &BindError) {
        tracing::warn!(name, address, %error, "a listener did not start");
        self.record_health(ListenerHealth {
            name: name.to_owned(),
            address,
            listening: false,
            error: error.to_string(),
        });
    }

    fn record_health(&mut self, health: ListenerHealth) {
        self.hub.set_listener(health.clone());
        self.listener_health.push(health);
    }
}
