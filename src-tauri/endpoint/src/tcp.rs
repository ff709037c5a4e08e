//! The HTTP listener: moves to another port and applies the allowed hosts if the settings change
//! them, and retries while it cannot listen.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::serve::ListenerExt;
use drawbridge_hub::Hub;
use drawbridge_model::listener::ListenerHealth;
use listeners::Protocol;
use tokio::{
    net::{TcpListener, TcpSocket},
    task::{JoinSet, spawn_blocking},
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

use crate::{
    activity::Activity,
    checked_router::CheckedRouter,
    listener::{BindError, ConnectionLimits, serve_connections},
    origin::ListenerHosts,
    pairing::Peer,
    routes::router,
    state::{ListenerKind, ListenerState},
};

/// How many connections may wait to be accepted. If there are more, the operating system drops the
/// next connection, and its client tries again only a second later.
const BACKLOG: u32 = 4096;
/// The interval between attempts to bind a port that could not be bound.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The HTTP listener. Reports its state to the hub.
pub(crate) struct HttpListener {
    pub(crate) hub: Arc<Hub>,
    pub(crate) host: IpAddr,
    pub(crate) activity: Activity,
    pub(crate) limits: ConnectionLimits,
    pub(crate) stopping: CancellationToken,
}

/// A port that is bound and not served yet.
pub(crate) struct BoundPort {
    listener: TcpListener,
    address: SocketAddr,
}

/// A port that is being served.
struct ServedPort {
    stopping: CancellationToken,
    hosts: Arc<ListenerHosts>,
}

impl HttpListener {
    /// Binds a port, and reports the outcome to the hub.
    ///
    /// # Errors
    /// Returns an error if the port cannot be bound, for instance because another program uses it.
    pub(crate) async fn bind(&self, port: u16) -> Result<BoundPort, BindError> {
        let address = SocketAddr::new(self.host, port);
        let bound = try_bind(address).await;
        match &bound {
            Ok(bound) => self.record_health(bound.address, String::new()),
            Err(error) => self.record_health(address, error.to_string()),
        }
        bound
    }

    /// Serves a bound port, if there is one, until the endpoint stops. Moves to another port, and
    /// applies the allowed hosts, if the settings change them. While the port cannot be bound,
    /// tries again every [`RETRY_INTERVAL`].
    pub(crate) async fn run(self, mut port: u16, bound: Option<BoundPort>) {
        let mut settings_changes = self.hub.settings_changes();
        let mut port_setting = self.hub.port();
        let mut retry = interval(RETRY_INTERVAL);
        retry.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut tasks = JoinSet::new();
        let mut serving = bound.map(|bound| self.serve(bound, &mut tasks));
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => break,
                changed = settings_changes.changed() => if changed.is_err() { break },
                _ = retry.tick(), if serving.is_none() => {}
            }
            let has_port_changed = port_setting != self.hub.port();
            if has_port_changed {
                port_setting = self.hub.port();
                port = port_setting;
            } else if let Some(serving) = &serving {
                serving.hosts.set_allowed(&self.hub.allowed_hosts());
                continue;
            }
            // Stop first, so that no client gets the URL of a port that Drawbridge leaves.
            if let Some(old) = serving.take() {
                old.stopping.cancel();
            }
            if let Ok(bound) = self.bind(port).await {
                serving = Some(self.serve(bound, &mut tasks));
            }
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Serves a port until [`ServedPort::stopping`] is cancelled or the endpoint stops.
    fn serve(&self, bound: BoundPort, tasks: &mut JoinSet<()>) -> ServedPort {
        let stopping = self.stopping.child_token();
        let state = ListenerState::new(Arc::clone(&self.hub), ListenerKind::Tcp, stopping.clone());
        let hosts = Arc::new(ListenerHosts::new(bound.address, &self.hub.allowed_hosts()));
        let router = CheckedRouter::new(router(&Arc::new(state)), Some(Arc::clone(&hosts)));
        let listener = bound.listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let port = bound.address.port();
        tasks.spawn(serve_connections(
            listener,
            move |address| Some(Peer::new(address, port)),
            Arc::new(router),
            self.activity.clone(),
            Some(self.limits.clone()),
            stopping.clone(),
        ));
        ServedPort { stopping, hosts }
    }

    fn record_health(&self, address: SocketAddr, error: String) {
        if !error.is_empty() {
            tracing::warn!(%address, error, "the HTTP listener did not start");
        }
        self.hub.set_listener(ListenerHealth {
            name: "http".to_owned(),
            address: format!("http://{address}/mcp"),
            listening: error.is_empty(),
            error,
        });
    }
}

async fn try_bind(address: SocketAddr) -> Result<BoundPort, BindError> {
    let bound = async {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // `TcpListener::bind` sets the same option. On Windows, the option would let other programs
        // take the port.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?;
        let address = listener.local_addr()?;
        Ok(BoundPort { listener, address })
    };
    match bound.await {
        Ok(bound) => Ok(bound),
        Err(source) => Err(describe_bind_error(address, source).await),
    }
}

async fn describe_bind_error(address: SocketAddr, source: io::Error) -> BindError {
    if source.kind() != io::ErrorKind::AddrInUse {
        return BindError::Tcp { address, source };
    }
    let port = address.port();
    // The search reads the tables of the system, which takes a few milliseconds.
    let owner = spawn_blocking(move || listeners::get_process_by_port(port, Protocol::TCP).ok());
    let owner = owner.await.ok().flatten();
    BindError::PortInUse {
        port,
        owner: owner.map_or_else(
            || "another program".to_owned(),
            |process| format!("'{}' (process {})", process.name, process.pid),
        ),
        source,
    }
}
