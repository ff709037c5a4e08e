//! The lifecycle of the endpoint: bind, serve, drain.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};

use drawbridge_hub::Hub;
use drawbridge_model::{allowed_host::AllowedHost, listener::ListenerHealth};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    activity::Activity,
    checked_router::CheckedRouter,
    descriptors,
    listener::{self, BindError, ConnectionLimits},
    local::{self, BindOutcome},
    routes::router,
    state::{ListenerKind, ListenerState},
    tcp::HttpListener,
};

/// The minimum length of the admin token, in characters.
const MIN_ADMIN_TOKEN_CHARS: usize = 32;

/// The options of [`serve`].
#[derive(Debug, Clone)]
pub struct ServeOptions {
    pub host: IpAddr,
    /// The port to listen on until the settings change it, or 0 for any free port. If it is `None`,
    /// the port in the settings is used.
    pub port: Option<u16>,
    /// The hosts under which the endpoint answers, in addition to the listener's own names and the
    /// hosts in the settings.
    pub allowed_hosts: Vec<AllowedHost>,
    /// Whether to update the entries of Drawbridge in clients' files, and to restore the entries
    /// that a person wants restored.
    pub maintains_client_files: bool,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.into(),
            port: None,
            allowed_hosts: Vec::new(),
            maintains_client_files: true,
        }
    }
}

impl ServeOptions {
    /// Checks the admin token.
    ///
    /// # Errors
    /// Returns an error if the token is short enough to guess, or if it is missing and other
    /// computers can reach the address.
    pub fn check_admin_token(&self, token: Option<&str>) -> Result<(), WeakAdminToken> {
        match token.map(|token| token.chars().count()) {
            None if self.host.is_loopback() => Ok(()),
            Some(MIN_ADMIN_TOKEN_CHARS..) => Ok(()),
            None => Err(WeakAdminToken::Missing { host: self.host }),
            Some(chars) => Err(WeakAdminToken::Short { chars }),
        }
    }
}

/// The error if the admin token is too short, or missing although it is required.
#[derive(Debug, thiserror::Error)]
pub enum WeakAdminToken {
    #[error(
        "the admin token has {chars} characters, and needs at least {MIN_ADMIN_TOKEN_CHARS}. Set \
         DRAWBRIDGE_ADMIN_TOKEN to a longer token (`openssl rand -hex 32` prints one), or \
         DRAWBRIDGE_ADMIN_TOKEN_FILE to a file that holds a longer token"
    )]
    Short { chars: usize },
    #[error(
        "other computers can reach {host}, so the hub needs an admin token of at least {MIN_ADMIN_TOKEN_CHARS} characters, \
         and there is none. Set DRAWBRIDGE_ADMIN_TOKEN to a token (`openssl rand -hex 32` prints one), or \
         DRAWBRIDGE_ADMIN_TOKEN_FILE to a file that holds a token, or leave --host out"
    )]
    Missing { host: IpAddr },
}

/// The error if neither listener could start.
#[derive(Debug, thiserror::Error)]
#[error("no listener could start: {http} (HTTP), {local} (local socket)")]
pub struct ServeError {
    #[source]
    http: BindError,
    local: BindError,
}

/// Starts the HTTP listener and the local socket. If only one of them starts, reports the failure
/// of the other to the hub. The HTTP listener keeps trying to start.
///
/// # Errors
/// Returns an error if no listener could start.
pub async fn serve(hub: Arc<Hub>, options: ServeOptions) -> Result<RunningEndpoint, ServeError> {
    let mut running = RunningEndpoint::new(hub);
    running.hub.set_started_with_hosts(options.allowed_hosts);
    let http = HttpListener {
        hub: Arc::clone(&running.hub),
        host: options.host,
        activity: running.activity.clone(),
        limits: ConnectionLimits::new(descriptors::raise_limit()),
        stopping: running.stopping.clone(),
    };
    let port = options.port.unwrap_or_else(|| running.hub.port());
    let (bound, BindOutcome { address, listener }) =
        tokio::join!(http.bind(port), local::bind(running.hub.data_dir()));
    let local_error = match listener {
        Ok(listener) => {
            running.spawn_local_listener(address, listener);
            None
        }
        Err(error) => {
            running.record_local_failure(address, &error);
            Some(error)
        }
    };
    match (bound, local_error) {
        (Err(http), Some(local)) => Err(ServeError { http, local }),
        (bound, _) => {
            running.listeners.spawn(http.run(port, bound.ok()));
            running
                .hub
                .maintain_client_files(options.maintains_client_files);
            Ok(running)
        }
    }
}

/// The running endpoint. Dropping it stops the listeners at once; [`RunningEndpoint::stop`] drains
/// them first.
pub struct RunningEndpoint {
    hub: Arc<Hub>,
    listeners: JoinSet<()>,
    activity: Activity,
    stopping: CancellationToken,
}

impl RunningEndpoint {
    fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            listeners: JoinSet::new(),
            activity: Activity::default(),
            stopping: CancellationToken::new(),
        }
    }

    /// Returns `http://HOST:PORT/mcp`, or `None` if only the local socket listens.
    pub fn url(&self) -> Option<String> {
        self.hub.endpoint_url()
    }

    /// Returns the listeners that do not listen.
    pub fn failures(&self) -> Vec<ListenerHealth> {
        let mut listeners = self.hub.listener_health();
        listeners.retain(|listener| !listener.listening);
        listeners
    }

    /// Waits until no connection has been open for the duration `idle`, and [`Hub::has_work`] then
    /// returns false. After that, no connection is accepted, and the caller has to stop the
    /// endpoint.
    pub async fn close_when_unused(&self, idle: Duration) {
        self.activity
            .close_when_unused(idle, || self.hub.has_work())
            .await;
    }

    /// Stops the endpoint: accepts no more requests, and gives the requests in flight five seconds.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        while self.listeners.join_next().await.is_some() {}
        for health in self.hub.listener_health() {
            if health.listening {
                self.hub.set_listener(ListenerHealth {
                    listening: false,
                    error: "stopped".to_owned(),
                    ..health
                });
            }
        }
    }

    fn spawn_local_listener(&mut self, address: String, listener: impl axum::serve::Listener) {
        let state = ListenerState::new(
            Arc::clone(&self.hub),
            ListenerKind::Local,
            self.stopping.clone(),
        );
        let router = CheckedRouter::new(router(&Arc::new(state)), None);
        self.listeners.spawn(listener::serve_connections(
            listener,
            |_| None,
            Arc::new(router),
            self.activity.clone(),
            None,
            self.stopping.clone(),
        ));
        self.record_local_health(address, true, String::new());
    }

    fn record_local_failure(&self, address: String, error: &BindError) {
        tracing::warn!(address, %error, "the local listener did not start");
        self.record_local_health(address, false, error.to_string());
    }

    fn record_local_health(&self, address: String, listening: bool, error: String) {
        self.hub.set_listener(ListenerHealth {
            name: "local".to_owned(),
            address,
            listening,
            error,
        });
    }
}
