//! Stores regularly how many model tokens the arguments and results of calls had, so that the
//! charts show them after a restart.

use std::time::Duration;

use drawbridge_model::clock;
use drawbridge_store::Store;
use tokio::time::{MissedTickBehavior, interval};

use crate::metrics::Metrics;

const INTERVAL: Duration = Duration::from_secs(30);

/// Stores the counted tokens every [`INTERVAL`]. Runs until the hub aborts the task.
pub(super) async fn store_regularly(store: Store, metrics: Metrics) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        store_now(&store, &metrics).await;
    }
}

/// Stores the model tokens that were counted since they were last stored.
pub(super) async fn store_now(store: &Store, metrics: &Metrics) {
    let rows = metrics.take_tokens();
    if rows.is_empty() {
        return;
    }
    if let Err(error) = store.add_token_usage(clock::now(), &rows).await {
        tracing::warn!("the tokens of calls are not stored yet: {error}");
        metrics.return_tokens(rows);
    }
}
