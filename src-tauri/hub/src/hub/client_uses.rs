//! Stores regularly when and by what program each client was last used, so that no request of a
//! client waits for the database.

use std::{sync::Weak, time::Duration};

use tokio::time::{MissedTickBehavior, interval};

use super::Hub;
use crate::access::Access;

const INTERVAL: Duration = Duration::from_secs(5);

/// Runs until the hub aborts it.
pub(super) async fn store_regularly(hub: Weak<Hub>) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(hub) = hub.upgrade() else { return };
        store_now(&hub.access).await;
    }
}

/// Stores what is not stored yet.
pub(super) async fn store_now(access: &Access) {
    if let Err(error) = access.store_uses().await {
        tracing::warn!("the last use of clients is not stored yet: {error}");
    }
}
