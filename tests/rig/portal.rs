//! The portal `org.freedesktop.portal.GlobalShortcuts` of a Wayland desktop.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use zbus::{
    Connection as AsyncConnection,
    blocking::{Connection, connection},
    fdo, interface,
    message::Header,
    zvariant::{OwnedObjectPath, OwnedValue, Value},
};

use crate::{DesktopSession, wait::wait_until};

const NAME: &str = "org.freedesktop.portal.Desktop";
const PATH: &str = "/org/freedesktop/portal/desktop";
const SHORTCUTS: &str = "org.freedesktop.portal.GlobalShortcuts";

/// The status of a portal's response if the person agreed.
const SUCCESS: u32 = 0;
/// The status of a portal's response if the person refused.
const CANCELLED: u32 = 1;

type Fields = HashMap<String, OwnedValue>;

/// A shortcut that an app asked for.
#[derive(Debug, Clone)]
pub struct RequestedShortcut {
    session: OwnedObjectPath,
    id: String,
    pub description: String,
    pub preferred_keys: String,
}

/// A portal on the bus of a desktop session.
pub struct Portal {
    requested: Arc<Mutex<Vec<RequestedShortcut>>>,
    connection: Connection,
}

impl Portal {
    /// Starts a portal that binds each shortcut to its preferred keys.
    pub fn start(desktop: &DesktopSession) -> Self {
        Self::serve(desktop, SUCCESS)
    }

    /// Starts a portal that refuses each shortcut, as if a person refused it.
    pub fn start_and_refuse(desktop: &DesktopSession) -> Self {
        Self::serve(desktop, CANCELLED)
    }

    fn serve(desktop: &DesktopSession, status: u32) -> Self {
        let requested = Arc::<Mutex<Vec<RequestedShortcut>>>::default();
        let service = Service {
            requested: Arc::clone(&requested),
            status,
        };
        let address = desktop.variable("DBUS_SESSION_BUS_ADDRESS").expect("a bus");
        let connection = connection::Builder::address(address)
            .and_then(|builder| builder.name(NAME))
            .and_then(|builder| builder.serve_at(PATH, service))
            .and_then(connection::Builder::build)
            .unwrap_or_else(|e| panic!("serve a portal on the private bus: {e}"));
        Self {
            requested,
            connection,
        }
    }

    /// Waits until an app has asked for a shortcut.
    #[track_caller]
    pub fn wait_for_shortcut(&self) -> RequestedShortcut {
        wait_until("an app asks the portal for a shortcut", || {
            lock(&self.requested).last().cloned()
        })
    }

    /// Presses the keys of a shortcut.
    #[track_caller]
    pub fn press(&self, shortcut: &RequestedShortcut) {
        let fields: HashMap<&str, Value<'_>> = HashMap::new();
        let press = (&shortcut.session, &shortcut.id, 0_u64, fields);
        self.connection
            .emit_signal(None::<&str>, PATH, SHORTCUTS, "Activated", &press)
            .unwrap_or_else(|e| panic!("press {shortcut:?}: {e}"));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

struct Service {
    requested: Arc<Mutex<Vec<RequestedShortcut>>>,
    status: u32,
}

#[interface(name = "org.freedesktop.portal.GlobalShortcuts")]
impl Service {
    #[zbus(property, name = "version")]
    fn version(&self) -> u32 {
        1
    }

    async fn create_session(
        &self,
        options: Fields,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &AsyncConnection,
    ) -> fdo::Result<OwnedObjectPath> {
        let session = object_path(&header, "session", &options, "session_handle_token")?;
        let results = HashMap::from([("session_handle", Value::from(session.as_str()))]);
        respond(connection, &header, &options, SUCCESS, results).await
    }

    async fn bind_shortcuts(
        &self,
        session: OwnedObjectPath,
        shortcuts: Vec<(String, Fields)>,
        _window: &str,
        options: Fields,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &AsyncConnection,
    ) -> fdo::Result<OwnedObjectPath> {
        let mut bound = Vec::new();
        for (id, fields) in shortcuts {
            let shortcut = RequestedShortcut {
                session: session.clone(),
                description: text(&fields, "description")?,
                preferred_keys: text(&fields, "preferred_trigger")?,
                id,
            };
            let fields = HashMap::from([
                ("description", Value::from(shortcut.description.clone())),
                (
                    "trigger_description",
                    Value::from(shortcut.preferred_keys.clone()),
                ),
            ]);
            bound.push((shortcut.id.clone(), fields));
            lock(&self.requested).push(shortcut);
        }
        let results = if self.status == SUCCESS {
            HashMap::from([("shortcuts", Value::from(bound))])
        } else {
            HashMap::new()
        };
        respond(connection, &header, &options, self.status, results).await
    }
}

/// Emits the response to a request. Returns the path of the request.
async fn respond(
    connection: &AsyncConnection,
    header: &Header<'_>,
    options: &Fields,
    status: u32,
    results: HashMap<&str, Value<'_>>,
) -> fdo::Result<OwnedObjectPath> {
    let request = object_path(header, "request", options, "handle_token")?;
    connection
        .emit_signal(
            header.sender().cloned(),
            &request,
            "org.freedesktop.portal.Request",
            "Response",
            &(status, results),
        )
        .await?;
    Ok(request)
}

/// Returns the path of a request or session of the sender, as the portal's specification forms it.
fn object_path(
    header: &Header<'_>,
    kind: &str,
    options: &Fields,
    token: &str,
) -> fdo::Result<OwnedObjectPath> {
    let sender = header.sender().map(ToString::to_string).unwrap_or_default();
    let sender = sender.trim_start_matches(':').replace('.', "_");
    let token = text(options, token)?;
    OwnedObjectPath::try_from(format!("{PATH}/{kind}/{sender}/{token}"))
        .map_err(|e| fdo::Error::InvalidArgs(e.to_string()))
}

fn text(fields: &Fields, name: &str) -> fdo::Result<String> {
    let value = fields.get(name).cloned();
    value
        .and_then(|value| String::try_from(value).ok())
        .ok_or_else(|| fdo::Error::InvalidArgs(format!("'{name}' is missing")))
}
