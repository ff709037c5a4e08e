//! Notifies hooks when a connection to a server begins or ends. A new connection is reported after
//! the server's lists are read, so that the counts in the payload are right.

use std::collections::{BTreeMap, VecDeque};

use drawbridge_model::{hook::HookEvent, ids::ServerId};
use drawbridge_upstream::{ConnectionChange, ConnectionChangeKind};
use tokio::task::JoinSet;

use super::{Hooks, payload, runner::HookTrigger};
use crate::catalog::{Catalog, ServerCopy};

impl Hooks {
    /// Follows the changes of connections until the hub ends.
    pub async fn follow_connections(self, catalog: Catalog) {
        let mut changes = self.shared.connection_changes.lock().await;
        // For each server whose lists are being read: the changes that came after its connection.
        let mut queued: BTreeMap<ServerId, VecDeque<ConnectionChange>> = BTreeMap::new();
        let mut reading: JoinSet<(ConnectionChange, ServerCopy)> = JoinSet::new();
        loop {
            tokio::select! {
                change = changes.recv() => {
                    let Some(change) = change else { return };
                    match queued.get_mut(&change.server) {
                        Some(changes) => changes.push_back(change),
                        None => self.report_change(change, &catalog, &mut reading, &mut queued),
                    }
                }
                Some(Ok((connected, copy))) = reading.join_next() => {
                    self.report_connected(&connected, &copy);
                    let mut rest = queued.remove(&connected.server).unwrap_or_default();
                    while let Some(change) = rest.pop_front() {
                        match queued.get_mut(&change.server) {
                            Some(changes) => changes.push_back(change),
                            None => self.report_change(change, &catalog, &mut reading, &mut queued),
                        }
                    }
                }
            }
        }
    }

    fn report_change(
        &self,
        change: ConnectionChange,
        catalog: &Catalog,
        reading: &mut JoinSet<(ConnectionChange, ServerCopy)>,
        queued: &mut BTreeMap<ServerId, VecDeque<ConnectionChange>>,
    ) {
        match change.kind {
            ConnectionChangeKind::Connected { .. } => {
                if self.has_hook_for_event(HookEvent::ServerConnected) {
                    queued.insert(change.server.clone(), VecDeque::new());
                    let catalog = catalog.clone();
                    reading.spawn(async move {
                        let copy = catalog.synced_copy(&change.server).await;
                        (change, copy)
                    });
                }
            }
            ConnectionChangeKind::Disconnected { .. } => self.report_disconnected(&change),
        }
    }

    fn report_connected(&self, change: &ConnectionChange, copy: &ServerCopy) {
        if let ConnectionChangeKind::Connected { protocol_version } = &change.kind {
            let payload = payload::server_connected(change, protocol_version, copy);
            self.observe_server(HookEvent::ServerConnected, change, &payload);
        }
    }

    /// Notifies the hooks that a connection has ended. Does nothing for a new connection.
    pub(super) fn report_disconnected(&self, change: &ConnectionChange) {
        if !self.has_hook_for_event(HookEvent::ServerDisconnected) {
            return;
        }
        if let Some(payload) = payload::server_disconnected(change) {
            self.observe_server(HookEvent::ServerDisconnected, change, &payload);
        }
    }

    fn observe_server(
        &self,
        event: HookEvent,
        change: &ConnectionChange,
        payload: &serde_json::value::RawValue,
    ) {
        let trigger = HookTrigger {
            event,
            server: change.server.clone(),
            tool: String::new(),
            is_trial: false,
        };
        for hook in self.hooks_for_event(event, &change.server, None) {
            hook.observe(&trigger, change.at, payload);
        }
    }
}
