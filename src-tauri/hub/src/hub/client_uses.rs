//! Stores the last use of each client regularly, so that no request of a client waits for the
//! database. Also ends the sessions of clients whose token has expired.

use std::{sync::Weak, time::Duration};

use drawbridge_model::{clock, ids::Timestamp};
use tokio::time::{MissedTickBehavior, interval};

use super::Hub;
use crate::access::Access;

const INTERVAL: Duration = Duration::from_secs(5);

/// Stores the last uses every few seconds, and ends the sessions of clients whose token has
/// expired. Runs until the hub aborts the task or is dropped.
pub(super) async fn store_regularly(hub: Weak<Hub>) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut checked_until = clock::now();
    loop {
        ticks.tick().await;
        let Some(hub) = hub.upgrade() else { return };
        let now = clock::now();
        close_expired(&hub, checked_until, now);
        checked_until = now;
        store_now(&hub.access).await;
    }
}

/// Ends all sessions of each client with a token that expired after `after` and not later than
/// `until`. A client that also connects without a token can open a new session.
pub(super) fn close_expired(hub: &Hub, after: Timestamp, until: Timestamp) {
    for name in hub.access.list_expired(after, until) {
        hub.sessions.close_client(&name);
    }
}

/// Stores the last uses that are not stored yet.
pub(super) async fn store_now(access: &Access) {
    if let Err(error) = access.store_uses().await {
        tracing::warn!("the last use of clients is not stored yet: {error}");
    }
}
