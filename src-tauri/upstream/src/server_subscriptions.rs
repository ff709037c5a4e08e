//! Subscriptions to a server's notifications: about changed lists, and about the resources to which
//! clients subscribed. Drawbridge renews the subscriptions on each new connection.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_jsonrpc::{
    json,
    rpc::{RpcResponse, code},
};
use drawbridge_model::protocol::Era;
use serde_json::{json, value::RawValue};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout},
};

use super::{
    connection::{Connection, RequestIds},
    server_request::ServerRequest,
};

/// How long a server may take to confirm a subscription.
const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause before a stream that ended is opened again. Each further pause is twice as long, up to
/// [`MAX_PAUSE`], until a stream lasts longer than [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The subscriptions that clients want at one server, and those that the server has acknowledged.
pub(super) struct DesiredSubscriptions {
    resources: Mutex<BTreeSet<String>>,
    changed: Notify,
    /// The resources whose changes a server of the modern era has agreed to report.
    acknowledged: watch::Sender<BTreeSet<String>>,
}

impl Default for DesiredSubscriptions {
    fn default() -> Self {
        Self {
            resources: Mutex::default(),
            changed: Notify::new(),
            acknowledged: watch::Sender::default(),
        }
    }
}

impl DesiredSubscriptions {
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(super) fn add(&self, uri: &str) {
        self.lock().insert(uri.to_owned());
        self.changed.notify_one();
    }

    pub(super) fn remove(&self, uri: &str) {
        self.lock().remove(uri);
        self.changed.notify_one();
    }

    /// Waits until the server has agreed to report changes of this resource, for at most
    /// [`SUBSCRIBE_TIMEOUT`].
    pub(super) async fn wait_until_acknowledged(&self, uri: &str) {
        let mut acknowledged = self.acknowledged.subscribe();
        let _ = timeout(
            SUBSCRIBE_TIMEOUT,
            acknowledged.wait_for(|uris| uris.contains(uri)),
        )
        .await;
    }

    /// Stores the resources whose changes the server agrees to report.
    pub(super) fn set_acknowledged(&self, params: &RawValue) {
        #[derive(serde::Deserialize)]
        struct Params {
            notifications: Notifications,
        }
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Notifications {
            #[serde(default)]
            resource_subscriptions: BTreeSet<String>,
        }
        if let Ok(Params { notifications }) = serde_json::from_str(params.get()) {
            self.acknowledged
                .send_replace(notifications.resource_subscriptions);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.resources
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renews the subscriptions on a new connection. In the modern era, also keeps the stream of
/// notifications open for as long as the connection lives, if the server supports the stream.
pub(super) async fn maintain(
    desired: Arc<DesiredSubscriptions>,
    connection: Arc<Connection>,
    ids: RequestIds,
) {
    match connection.era() {
        Era::Legacy => renew_subscriptions(&desired, &connection).await,
        Era::Modern => listen(&desired, &connection, &ids).await,
    }
}

async fn renew_subscriptions(desired: &DesiredSubscriptions, connection: &Connection) {
    let uris = desired.lock().clone();
    for uri in uris {
        let params = json::to_raw(&json!({ "uri": uri }));
        let response = connection
            .request_with_timeout("resources/subscribe", &params, SUBSCRIBE_TIMEOUT)
            .await;
        if !matches!(response, Ok(RpcResponse::Result(_))) {
            tracing::warn!("The subscription to {uri} could not be renewed on the new connection");
        }
    }
}

async fn listen(desired: &DesiredSubscriptions, connection: &Connection, ids: &RequestIds) {
    // The server acknowledged the previous resources on an earlier connection.
    desired.acknowledged.send_replace(BTreeSet::new());
    let mut pause = FIRST_PAUSE;
    loop {
        let uris = desired.lock().clone();
        let params = json::to_raw(&json!({ "notifications": {
            "toolsListChanged": true,
            "promptsListChanged": true,
            "resourcesListChanged": true,
            "resourceSubscriptions": uris,
        }}));
        let request = ServerRequest::without_timeout("subscriptions/listen", Some(&params));
        let opened_at = Instant::now();
        tokio::select! {
            response = connection.request(ids.next(), &request) => match response {
                Ok(RpcResponse::Error(error)) if error.code == code::METHOD_NOT_FOUND => return,
                _ if connection.transport().end_reason().is_some() => return,
                _ => {
                    if opened_at.elapsed() > MAX_PAUSE {
                        pause = FIRST_PAUSE;
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            },
            () = desired.changed.notified() => {}
        }
    }
}
