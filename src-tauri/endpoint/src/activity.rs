//! Tracks whether the hub is in use by counting the open connections of all listeners. Each request
//! and each open stream of a client, the web UI or the command line holds a connection.

use std::time::Duration;

use tokio::{sync::watch, time::sleep};

/// Counts open connections. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Activity(watch::Sender<State>);

#[derive(Default)]
struct State {
    open_connections: usize,
    /// Whether the hub is ending and accepts no more connections.
    is_closed: bool,
}

/// An open connection, counted until it is dropped.
pub(crate) struct ConnectionGuard(watch::Sender<State>);

impl Activity {
    /// Counts a connection. Returns `None` if the hub is ending and must not serve the connection.
    pub(crate) fn try_count_connection(&self) -> Option<ConnectionGuard> {
        let is_open = self.0.send_if_modified(|state| {
            state.open_connections += usize::from(!state.is_closed);
            !state.is_closed
        });
        is_open.then(|| ConnectionGuard(self.0.clone()))
    }

    /// Waits until no connection has been open for the duration `idle`, and `has_work` then returns
    /// false. Later connections are refused. A client whose connection was accepted earlier keeps
    /// the hub running, and a client whose connection is refused can start another hub.
    pub(crate) async fn close_when_unused(&self, idle: Duration, has_work: impl Fn() -> bool) {
        let mut states = self.0.subscribe();
        loop {
            let is_unused = states.borrow_and_update().open_connections == 0;
            tokio::select! {
                _ = states.changed() => {}
                () = sleep(idle), if is_unused => {
                    if !has_work() && self.close() {
                        return;
                    }
                }
            }
        }
    }

    /// Refuses all later connections, unless a connection is open. Returns whether later
    /// connections are refused.
    fn close(&self) -> bool {
        self.0.send_if_modified(|state| {
            state.is_closed = state.open_connections == 0;
            state.is_closed
        })
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.open_connections -= 1);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;

    const IDLE: Duration = Duration::from_secs(600);

    #[tokio::test(start_paused = true)]
    async fn a_hub_is_unused_after_its_idle_time_without_a_connection() {
        let activity = Activity::default();
        let start = Instant::now();
        let first = activity.try_count_connection().expect("open");
        assert!(
            timeout(3 * IDLE, activity.close_when_unused(IDLE, || false))
                .await
                .is_err(),
            "the hub counts as unused although a connection is open"
        );
        drop(first);
        // A new wait takes the whole idle time again.
        assert!(
            timeout(IDLE / 2, activity.close_when_unused(IDLE, || false))
                .await
                .is_err()
        );
        drop(activity.try_count_connection());
        activity.close_when_unused(IDLE, || false).await;
        assert_eq!(start.elapsed(), 3 * IDLE + IDLE / 2 + IDLE);
        assert!(
            activity.try_count_connection().is_none(),
            "a connection was accepted after the hub had closed"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn work_without_a_connection_keeps_a_hub_running_too() {
        let activity = Activity::default();
        assert!(
            timeout(5 * IDLE, activity.close_when_unused(IDLE, || true))
                .await
                .is_err()
        );
        assert!(activity.try_count_connection().is_some());
    }
}
