//! Notifications on Tauri: a shortcut to the popup, never more than one open. What one says
//! is a [`Notice`]; what a person answers comes back as a choice of the tray.

pub(crate) mod notice;

use std::time::Duration;

use drawbridge_hub::model::ids::CallId;
use tauri::AppHandle;
use tauri_plugin_notification::{Action, ActionPerformed, ActionType, NotificationExt};
use tokio::sync::{mpsc, watch};

use crate::{controller::Input, glance::Seen};
use notice::{Button, Notice};

/// Calls that come at once are one notification, and one that was just sent can be taken back.
const PAUSE: Duration = Duration::from_secs(2);

const ID: &str = "id";
const DIGEST: &str = "digest";

/// Says what notifications offer, and takes what is chosen there. Before any is shown.
pub(crate) fn prepare(app: &AppHandle, inputs: mpsc::UnboundedSender<Input>) {
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
                // The controller is gone only when the app is about to end.
                let _ = inputs.send(Input::Chosen(notice::choice(
                    performed.action_id(),
                    call(performed),
                )));
            })
        });
    if let Err(error) = prepared {
        tracing::warn!(%error, "notifications have no buttons");
    }
}

/// Keeps the one notification as it is wanted, until nobody can want one any more.
pub(crate) async fn follow(app: AppHandle, mut wanted: watch::Receiver<Option<Notice>>) {
    let mut latest = 0;
    let mut shown = None;
    while wanted.changed().await.is_ok() {
        let notice = wanted.borrow_and_update().clone();
        if notice == shown {
            continue;
        }
        close(&app, latest).await;
        if let Some(notice) = &notice {
            latest += 1;
            show(&app, latest, notice);
        }
        shown = notice;
        tokio::time::sleep(PAUSE).await;
    }
    close(&app, latest).await;
}

fn show(app: &AppHandle, id: i32, notice: &Notice) {
    let mut builder = app
        .notification()
        .builder()
        .id(id)
        .title(&notice.title)
        .body(&notice.body);
    if let Some(seen) = notice.actions.call() {
        builder = builder
            .extra(ID, seen.id.as_str())
            .extra(DIGEST, &seen.digest);
    }
    if let Err(error) = builder.action_type_id(notice.actions.id()).show() {
        tracing::warn!(%error, "a notification cannot be shown");
    }
}

/// Only Linux desktops can take one back; elsewhere it goes by itself, and a late click on it is answered so.
async fn close(app: &AppHandle, id: i32) {
    let app = app.clone();
    let closed =
        tokio::task::spawn_blocking(move || app.notification().remove_active(vec![id])).await;
    if let Ok(Err(error)) = closed {
        tracing::warn!(%error, "a notification cannot be closed");
    }
}

fn call(performed: &ActionPerformed) -> Option<Seen> {
    let extra = performed.notification()?.extra();
    let text = |key| Some(extra.get(key)?.as_str()?.to_owned());
    Some(Seen {
        id: CallId::new(text(ID)?),
        digest: text(DIGEST)?,
    })
}
