//! A notification service, `org.freedesktop.Notifications`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
};

use zbus::{
    blocking::{Connection, connection::Builder},
    interface,
    zvariant::OwnedValue,
};

use crate::wait::{some_if, wait_until};

const PATH: &str = "/org/freedesktop/Notifications";
const NAME: &str = "org.freedesktop.Notifications";

/// A notification that was shown.
#[derive(Debug, Clone)]
pub struct ShownNotification {
    pub id: u32,
    pub summary: String,
    pub body: String,
    /// The ids of the actions, without their labels.
    pub actions: Vec<String>,
    pub closed: bool,
}

/// The notifications that were shown in a desktop session.
#[derive(Default)]
pub struct Notifications {
    shown: Arc<Mutex<Vec<ShownNotification>>>,
    connection: OnceLock<Connection>,
}

impl Notifications {
    pub(crate) fn serve<'a>(&self, builder: Builder<'a>) -> zbus::Result<Builder<'a>> {
        builder.name(NAME)?.serve_at(
            PATH,
            Service {
                shown: Arc::clone(&self.shown),
            },
        )
    }

    pub(crate) fn connect(&self, connection: &Connection) {
        let _ = self.connection.set(connection.clone());
    }

    pub fn shown(&self) -> Vec<ShownNotification> {
        lock(&self.shown).clone()
    }

    /// Waits until the only open notification has this summary.
    #[track_caller]
    pub fn wait_for_summary(&self, summary: &str) -> ShownNotification {
        wait_until(
            format!("a notification has the summary '{summary}'"),
            || {
                let open: Vec<ShownNotification> = self
                    .shown()
                    .into_iter()
                    .filter(|notification| !notification.closed)
                    .collect();
                assert!(
                    open.len() <= 1,
                    "more than one notification is open: {open:?}"
                );
                open.into_iter()
                    .find(|notification| notification.summary == summary)
            },
        )
    }

    /// Waits until no notification is open.
    #[track_caller]
    pub fn wait_until_none(&self) {
        wait_until("no notification is open", || {
            some_if(self.shown().iter().all(|notification| notification.closed))
        });
    }

    /// Clicks an action of a notification.
    #[track_caller]
    pub fn click(&self, id: u32, action: &str) {
        let connection = self.connection.get().expect("the desktop is on its bus");
        connection
            .emit_signal(None::<&str>, PATH, NAME, "ActionInvoked", &(id, action))
            .and_then(|()| {
                connection.emit_signal(None::<&str>, PATH, NAME, "NotificationClosed", &(id, 2_u32))
            })
            .unwrap_or_else(|e| panic!("click on notification {id}: {e}"));
        close(&self.shown, id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn close(shown: &Mutex<Vec<ShownNotification>>, id: u32) {
    for shown in lock(shown).iter_mut().filter(|shown| shown.id == id) {
        shown.closed = true;
    }
}

struct Service {
    shown: Arc<Mutex<Vec<ShownNotification>>>,
}

#[interface(name = "org.freedesktop.Notifications")]
impl Service {
    fn get_capabilities(&self) -> Vec<&'static str> {
        vec!["body", "actions"]
    }

    fn get_server_information(&self) -> (&'static str, &'static str, &'static str, &'static str) {
        ("drawbridge-tests", "drawbridge", "1", "1.2")
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the specification defines the signature"
    )]
    fn notify(
        &self,
        _app: &str,
        replaces: u32,
        _icon: &str,
        summary: &str,
        body: &str,
        actions: Vec<String>,
        _hints: HashMap<String, OwnedValue>,
        _timeout: i32,
    ) -> u32 {
        let mut shown = lock(&self.shown);
        let next_id = u32::try_from(shown.len()).unwrap_or(u32::MAX - 1) + 1;
        let id = if replaces == 0 { next_id } else { replaces };
        let actions = actions.into_iter().step_by(2).collect();
        shown.push(ShownNotification {
            id,
            summary: summary.to_owned(),
            body: body.to_owned(),
            actions,
            closed: false,
        });
        id
    }

    fn close_notification(&self, id: u32) {
        close(&self.shown, id);
    }
}
