//! Reads and locks the keyring over the Secret Service on the private bus, as a program other than
//! Drawbridge does.

use std::collections::HashMap;

use zbus::{
    blocking::{Connection, Proxy},
    zvariant::{OwnedObjectPath, OwnedValue, Value},
};

const SERVICE: &str = "org.freedesktop.secrets";

/// An item of the keyring.
#[derive(Debug, Clone)]
pub struct KeyringItem {
    pub label: String,
    pub attributes: HashMap<String, String>,
    pub value: String,
}

pub struct Keyring<'a> {
    connection: &'a Connection,
}

impl<'a> Keyring<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Self {
        Self { connection }
    }

    /// Returns all items of all collections.
    #[track_caller]
    pub fn items(&self) -> Vec<KeyringItem> {
        self.read_items()
            .unwrap_or_else(|e| panic!("read the keyring: {e}"))
    }

    /// Locks all collections, as the end of a desktop session does.
    #[track_caller]
    pub fn lock(&self) {
        self.try_lock()
            .unwrap_or_else(|e| panic!("lock the keyring: {e}"));
    }

    fn try_lock(&self) -> zbus::Result<()> {
        let service = self.proxy("/org/freedesktop/secrets", "Service")?;
        let collections: Vec<OwnedObjectPath> = service.get_property("Collections")?;
        let _: (Vec<OwnedObjectPath>, OwnedObjectPath) = service.call("Lock", &collections)?;
        Ok(())
    }

    fn read_items(&self) -> zbus::Result<Vec<KeyringItem>> {
        let service = self.proxy("/org/freedesktop/secrets", "Service")?;
        let (_, session): (OwnedValue, OwnedObjectPath) =
            service.call("OpenSession", &("plain", Value::from("")))?;
        let collections: Vec<OwnedObjectPath> = service.get_property("Collections")?;
        let mut items = Vec::new();
        for collection in collections {
            let paths: Vec<OwnedObjectPath> = self
                .proxy(collection.as_str(), "Collection")?
                .get_property("Items")?;
            for path in paths {
                let item = self.proxy(path.as_str(), "Item")?;
                let secret: (OwnedObjectPath, Vec<u8>, Vec<u8>, String) =
                    item.call("GetSecret", &session)?;
                items.push(KeyringItem {
                    label: item.get_property("Label")?,
                    attributes: item.get_property("Attributes")?,
                    value: String::from_utf8_lossy(&secret.2).into_owned(),
                });
            }
        }
        Ok(items)
    }

    fn proxy<'p>(&self, path: &'p str, interface: &str) -> zbus::Result<Proxy<'p>> {
        Proxy::new(
            self.connection,
            SERVICE,
            path,
            format!("org.freedesktop.Secret.{interface}"),
        )
    }
}
