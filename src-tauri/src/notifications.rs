//! Shows notifications with Tauri, at most one at a time. A [`Notice`] holds the text; a click
//! becomes the same [`Input::Chosen`] as a choice in the tray.

pub(crate) mod notice;

use std::time::Duration;

use drawbridge_model::ids::{CallId, ClientName, ServerId};
use tauri::AppHandle;
use tauri_plugin_notification::{
    Action, ActionPerformed, ActionType, ActiveNotification, NotificationExt,
};
use tokio::sync::{mpsc, watch};

use crate::{input::Input, summary::CallRef};
use notice::{Button, Notice, Subject};

/// The pause after each change, so that simultaneous calls share one notification, and so that a
/// notification exists on the desktop before it is withdrawn.
const PAUSE: Duration = Duration::from_secs(2);

/// The keys under which a notification carries the id and the digest of its call, its client and
/// its server.
const ID_KEY: &str = "id";
const DIGEST_KEY: &str = "digest";
const CLIENT_KEY: &str = "client";
const SERVER_KEY: &str = "server";

/// The notification that has to be open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LatestNotice {
    notice: Option<Notice>,
    /// How many times the notice was withdrawn. A click makes the desktop close the notification
    /// and the controller withdraw the notice. If the same notice returns before [`show_latest`]
    /// sees the withdrawal, this count tells that the notice has to be shown again.
    withdrawals: u64,
}

impl LatestNotice {
    pub(crate) fn set(&mut self, notice: Option<&Notice>) {
        self.withdrawals += u64::from(notice.is_none());
        self.notice = notice.cloned();
    }
}

/// Registers the buttons of notifications and a handler for clicks. Must be called before the first
/// notification is shown.
pub(crate) fn register_actions(app: &AppHandle, inputs: mpsc::UnboundedSender<Input>) {
    let types = Button::SETS.map(|(id, buttons)| {
        let action = |button: &Button| Action::builder(button.id(), button.label()).build();
        ActionType::builder(id)
            .actions(buttons.iter().map(action).collect())
            .build()
    });
    let notifications = app.notification();
    let prepared = notifications
        .register_action_types(types.into())
        .and_then(|()| {
            notifications.on_action(move |performed| {
                let shown = performed.notification();
                // The controller is dropped only while the app ends.
                let _ = inputs.send(Input::Chosen(notice::parse_choice(
                    shown.and_then(ActiveNotification::action_type_id),
                    performed.action_id(),
                    Subject {
                        call: call_ref(performed),
                        client: extra_text(performed, CLIENT_KEY).map(ClientName::new),
                        server: extra_text(performed, SERVER_KEY).map(ServerId::new),
                    },
                )));
            })
        });
    if let Err(error) = prepared {
        tracing::warn!(%error, "notifications have no buttons");
    }
}

/// Keeps the open notification equal to the latest notice until the sender is dropped.
pub(crate) async fn show_latest(app: AppHandle, mut notices: watch::Receiver<LatestNotice>) {
    let mut latest_id = 0;
    let mut shown = LatestNotice::default();
    while notices.changed().await.is_ok() {
        let latest = notices.borrow_and_update().clone();
        if latest == shown {
            continue;
        }
        close(&app, latest_id).await;
        if let Some(notice) = &latest.notice {
            latest_id += 1;
            show(&app, latest_id, notice);
        }
        shown = latest;
        tokio::time::sleep(PAUSE).await;
    }
    close(&app, latest_id).await;
}

fn show(app: &AppHandle, id: i32, notice: &Notice) {
    let mut builder = app
        .notification()
        .builder()
        .id(id)
        .title(&notice.title)
        .body(&notice.body);
    if let Some(call) = notice.actions.call() {
        builder = builder
            .extra(ID_KEY, call.id.as_str())
            .extra(DIGEST_KEY, &call.digest);
    }
    if let Some(client) = notice.actions.client() {
        builder = builder.extra(CLIENT_KEY, client.as_str());
    }
    if let Some(server) = notice.actions.server() {
        builder = builder.extra(SERVER_KEY, server.as_str());
    }
    if let Err(error) = builder.action_type_id(notice.actions.id()).show() {
        tracing::warn!(%error, "a notification cannot be shown");
    }
}

/// Withdraws a notification. Only Linux desktops support this. Elsewhere the notification
/// disappears by itself, and a late click on it is rejected.
async fn close(app: &AppHandle, id: i32) {
    let app = app.clone();
    let closed =
        tokio::task::spawn_blocking(move || app.notification().remove_active(vec![id])).await;
    if let Ok(Err(error)) = closed {
        tracing::warn!(%error, "a notification cannot be closed");
    }
}

fn call_ref(performed: &ActionPerformed) -> Option<CallRef> {
    Some(CallRef {
        id: CallId::new(extra_text(performed, ID_KEY)?),
        digest: extra_text(performed, DIGEST_KEY)?,
    })
}

/// Returns a text that [`show`] attached to the notification.
fn extra_text(performed: &ActionPerformed, key: &str) -> Option<String> {
    let extra = performed.notification()?.extra();
    Some(extra.get(key)?.as_str()?.to_owned())
}
