//! The route table.
//!
//! | route | methods | role | |
//! |---|---|---|---|
//! | `/mcp`, `/mcp/` | POST, GET, DELETE | client | streamable HTTP for MCP clients ([`mcp`](crate::mcp)) |
//! | `/mcp/{server}`, `/mcp/{server}/` | POST, GET, DELETE | client | the same for a single server, with the names that the server itself uses |
//! | `/sse`, `/sse/` | GET | client | the stream of the older HTTP+SSE transport |
//! | `/messages`, `/messages/` | POST | client | the client's messages over the HTTP+SSE transport |
//! | `/health` | GET | anyone | the hub's health; 503 if down. An administrator sees each server |
//! | `/metrics` | GET | administrator | metrics in Prometheus' text format |
//! | `/ws/progress` | GET | administrator | the calls that run now, and their progress, over a WebSocket |
//! | `/config/client/{type}` | GET | anyone | the configuration for a client, without a secret (`?format=raw` to download) |
//! | `/pair` | POST | anyone on this computer | asks a person to add the client, and waits for the answer |
//! | `/api/login` | POST | anyone | exchanges a one-time code for a browser's token |
//! | `/api/verbs/{verb}` | POST | administrator | every verb of the hub, with parameters and answer in JSON |
//! | `/api/events` | GET | administrator | the hub's events, as server-sent events |
//! | `/api/presence` | GET | administrator | a stream without events, which keeps the hub from ending for lack of use |
//! | `/api/tools` | GET | administrator | the catalog as MCP tools, or as function tools (`?format=openai`) |
//! | `/api/approvals`, `/api/approvals/{id}` | GET, POST | administrator | pending approvals, and decisions on them |
//! | `/api/calls`, `/api/calls/{id}` | GET | administrator | past calls |
//! | `/api/logs` | GET | administrator | lines of the log |
//! | `/registry/servers`, `/registry/servers/{id}` | GET, POST, PUT, PATCH, DELETE | administrator | specs; a server added or changed here has to be accepted |
//! | `/api/mcp/servers`, `…/{id}/verify`, `…/{id}/sync`, `…/{id}/capabilities` | GET, POST | administrator | the state of servers |
//! | `/`, `/icon.svg`, `/assets/{file}` | GET | anyone | the web UI |
//!
//! The paths at which clients look for OAuth are not routes: [`error_response`] answers them with
//! 404 and an OAuth error.
//!
//! [`CheckedRouter`] checks the host and origin of a request (TCP only) and its announced body
//! length, limits the body, catches panics, and adds security headers to the response. The request
//! passes the router, [`auth`] and the handler of its route. [`error_response`] turns every failure
//! into a response. The handlers for clients call [`auth`] themselves, because each layer of
//! middleware would box and copy each request.

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::from_fn_with_state,
    routing::{MethodRouter, get, post},
};

use crate::{
    auth, error_response, mcp,
    rest::{
        approvals, calls, config, events, health, login, logs, metrics, pair, progress, servers,
        tools, ui, verbs,
    },
    state::ListenerState,
};

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
        route("/metrics", Role::Administrator, get(metrics::show)),
        route("/ws/progress", Role::Administrator, get(progress::show)),
        route("/config/client/{type}", Role::Anyone, get(config::show)),
        route(
            "/pair",
            Role::Anyone,
            post(pair::pair).layer(DefaultBodyLimit::max(pair::MAX_BODY_BYTES)),
        ),
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
        route("/api/logs", Role::Administrator, get(logs::list)),
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
pub(crate) fn router(state: &Arc<ListenerState>) -> Router {
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
        .fallback(error_response::answer_unknown_route)
        .method_not_allowed_fallback(error_response::refuse_method);
    router.with_state(Arc::clone(state))
}
