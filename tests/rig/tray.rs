//! A desktop panel: registers the app's tray icon, reads its menu and clicks items, as
//! `org.kde.StatusNotifierItem` and `com.canonical.dbusmenu` specify.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
};

use zbus::{
    blocking::{Connection, Proxy, connection::Builder},
    interface,
    message::Header,
    object_server::SignalEmitter,
    zvariant::{OwnedObjectPath, OwnedValue, Value},
};

use crate::wait::{DEFAULT_TIMEOUT, try_until_within, wait_until};

const WATCHER: &str = "org.kde.StatusNotifierWatcher";
const ITEM: &str = "org.kde.StatusNotifierItem";
const MENU: &str = "com.canonical.dbusmenu";

/// The panel of a desktop session.
#[derive(Default)]
pub struct Tray {
    icons: Arc<Mutex<Vec<Icon>>>,
    connection: OnceLock<Connection>,
}

#[derive(Debug, Clone)]
struct Icon {
    /// The bus name of the app.
    owner: String,
    /// The object path of the icon.
    path: String,
}

/// An item of a menu.
#[derive(Debug, Clone)]
pub struct MenuItem {
    id: i32,
    /// The label without mnemonics; empty for a separator.
    pub label: String,
    pub enabled: bool,
    pub children: Vec<MenuItem>,
}

impl MenuItem {
    /// Returns the labels of the submenu of this item.
    pub fn child_labels(&self) -> Vec<&str> {
        self.children
            .iter()
            .map(|item| item.label.as_str())
            .collect()
    }
}

impl Tray {
    pub(crate) fn serve<'a>(&self, builder: Builder<'a>) -> zbus::Result<Builder<'a>> {
        builder.name(WATCHER)?.serve_at(
            "/StatusNotifierWatcher",
            Watcher {
                icons: Arc::clone(&self.icons),
            },
        )
    }

    pub(crate) fn connect(&self, connection: &Connection) {
        let _ = self.connection.set(connection.clone());
    }

    /// Waits until the newest icon has a menu with items, and returns this menu.
    #[track_caller]
    pub fn wait_for_menu(&self) -> Vec<MenuItem> {
        wait_until("the app has a tray icon with a menu", || {
            self.read_menu().filter(|menu| !menu.is_empty())
        })
    }

    /// Returns all labels of the menu and of its submenus.
    #[track_caller]
    pub fn all_labels(&self) -> Vec<String> {
        labels_of(&self.wait_for_menu())
    }

    /// Waits until an item of the menu contains `text`. Fails with the items that the menu has.
    #[track_caller]
    pub fn wait_for_item(&self, text: &str) -> MenuItem {
        try_until_within(DEFAULT_TIMEOUT, || {
            flatten(&self.read_menu()?)
                .into_iter()
                .find(|item| item.label.contains(text))
        })
        .unwrap_or_else(|| {
            let icons = lock(&self.icons).len();
            let labels = self.read_menu().map(|menu| labels_of(&menu));
            panic!(
                "no item of the tray menu contains '{text}' after {DEFAULT_TIMEOUT:?}: {icons} icons, menu: {labels:?}"
            )
        })
    }

    /// Waits for an item that contains `text`, and clicks it.
    #[track_caller]
    pub fn click(&self, text: &str) {
        let item = self.wait_for_item(text);
        assert!(item.enabled, "'{}' cannot be clicked", item.label);
        let icon = self.icon().expect("an icon");
        let menu = self.menu_path(&icon).expect("a menu");
        let proxy = self
            .proxy(&icon.owner, menu.as_str(), MENU)
            .expect("the menu's proxy");
        let clicked: zbus::Result<()> =
            proxy.call("Event", &(item.id, "clicked", Value::from(""), 0_u32));
        clicked.unwrap_or_else(|e| panic!("click '{text}' in the tray: {e}"));
    }

    fn read_menu(&self) -> Option<Vec<MenuItem>> {
        let icon = self.icon()?;
        let menu = self.menu_path(&icon)?;
        let proxy = self.proxy(&icon.owner, menu.as_str(), MENU).ok()?;
        let _: zbus::Result<bool> = proxy.call("AboutToShow", &0_i32);
        let all_properties: Vec<&str> = Vec::new();
        let layout: zbus::Result<(u32, Node)> =
            proxy.call("GetLayout", &(0_i32, -1_i32, all_properties));
        Some(parse_children(layout.ok()?.1.2))
    }

    fn icon(&self) -> Option<Icon> {
        lock(&self.icons).last().cloned()
    }

    fn menu_path(&self, icon: &Icon) -> Option<OwnedObjectPath> {
        self.proxy(&icon.owner, &icon.path, ITEM)
            .ok()?
            .get_property("Menu")
            .ok()
    }

    fn proxy(&self, owner: &str, path: &str, interface: &str) -> zbus::Result<Proxy<'static>> {
        let connection = self.connection.get().expect("the desktop is on its bus");
        Proxy::new(
            connection,
            owner.to_owned(),
            path.to_owned(),
            interface.to_owned(),
        )
    }
}

/// An item in the notation of `com.canonical.dbusmenu`: its id, its properties and its children.
type Node = (i32, HashMap<String, OwnedValue>, Vec<OwnedValue>);

fn parse_children(children: Vec<OwnedValue>) -> Vec<MenuItem> {
    children
        .into_iter()
        .filter_map(|child| parse_item(Value::from(child)))
        .collect()
}

fn parse_item(value: Value<'static>) -> Option<MenuItem> {
    let value = if let Value::Value(inner) = value {
        *inner
    } else {
        value
    };
    let Value::Structure(structure) = value else {
        return None;
    };
    let (id, properties, children): Node = structure.try_into().ok()?;
    let text = |name: &str| {
        properties
            .get(name)
            .and_then(|value| String::try_from(value.clone()).ok())
    };
    let flag = |name: &str| {
        properties
            .get(name)
            .and_then(|value| bool::try_from(value.clone()).ok())
    };
    if flag("visible") == Some(false) {
        return None;
    }
    Some(MenuItem {
        id,
        label: without_mnemonics(&text("label").unwrap_or_default()),
        enabled: flag("enabled").unwrap_or(true),
        children: parse_children(children),
    })
}

/// Removes mnemonics: a single underscore marks the access key, and a double underscore stands for
/// a literal underscore.
fn without_mnemonics(label: &str) -> String {
    label
        .split("__")
        .map(|part| part.replace('_', ""))
        .collect::<Vec<_>>()
        .join("_")
}

fn labels_of(menu: &[MenuItem]) -> Vec<String> {
    flatten(menu)
        .into_iter()
        .map(|item| item.label)
        .filter(|label| !label.is_empty())
        .collect()
}

fn flatten(items: &[MenuItem]) -> Vec<MenuItem> {
    items
        .iter()
        .flat_map(|item| [vec![item.clone()], flatten(&item.children)].concat())
        .collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

struct Watcher {
    icons: Arc<Mutex<Vec<Icon>>>,
}

#[interface(name = "org.kde.StatusNotifierWatcher")]
impl Watcher {
    async fn register_status_notifier_item(
        &self,
        service: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) {
        let owner = header.sender().map(ToString::to_string).unwrap_or_default();
        // Ayatana registers the object path of its item; other toolkits register their bus name.
        let path = if service.starts_with('/') {
            service
        } else {
            "/StatusNotifierItem"
        };
        lock(&self.icons).push(Icon {
            owner,
            path: path.to_owned(),
        });
        let _ = Self::status_notifier_item_registered(&emitter, service).await;
    }

    fn register_status_notifier_host(&self, _service: &str) {}

    #[zbus(property)]
    fn is_status_notifier_host_registered(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn protocol_version(&self) -> i32 {
        0
    }

    #[zbus(property)]
    fn registered_status_notifier_items(&self) -> Vec<String> {
        lock(&self.icons)
            .iter()
            .map(|icon| format!("{}{}", icon.owner, icon.path))
            .collect()
    }

    #[zbus(signal)]
    async fn status_notifier_item_registered(
        emitter: &SignalEmitter<'_>,
        service: &str,
    ) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn status_notifier_item_unregistered(
        emitter: &SignalEmitter<'_>,
        service: &str,
    ) -> zbus::Result<()>;
}
