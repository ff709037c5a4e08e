//! Counts refused tokens that belong to no known client, and refused codes with which browsers try
//! to sign in to the web UI. Even a flood of requests adds at most one entry of each kind a minute
//! to the audit log.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use drawbridge_model::audit::AuditKind;
use drawbridge_store::Store;
use serde_json::json;

const INTERVAL: Duration = Duration::from_secs(60);

/// The refusals of one kind. The first refusal is recorded at once. The refusals of the following
/// minute are recorded together at the end of that minute.
pub(super) struct Refusals {
    store: Store,
    kind: AuditKind,
    window: Arc<Mutex<Window>>,
}

#[derive(Default)]
struct Window {
    /// Whether an entry was made within the last minute.
    is_open: bool,
    /// The refusals that are in no entry yet.
    count: u32,
}

impl Refusals {
    pub(super) fn new(store: Store, kind: AuditKind) -> Self {
        Self {
            store,
            kind,
            window: Arc::default(),
        }
    }

    /// Counts a refusal, and records it at once if no refusal was recorded within the last minute.
    pub(super) fn add(&self) {
        {
            let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
            window.count += 1;
            if std::mem::replace(&mut window.is_open, true) {
                return;
            }
        }
        self.flush();
        let (window, store) = (Arc::downgrade(&self.window), self.store.clone());
        let kind = self.kind;
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(INTERVAL).await;
                let Some(window) = window.upgrade() else {
                    return;
                };
                let count = {
                    let mut window = window.lock().unwrap_or_else(PoisonError::into_inner);
                    window.is_open = window.count > 0;
                    std::mem::take(&mut window.count)
                };
                if count == 0 {
                    return;
                }
                store.append_audit(kind, &json!({ "count": count }));
            }
        });
    }

    /// Records the refusals that are in no entry yet.
    pub(super) fn flush(&self) {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if window.count > 0 {
            self.store
                .append_audit(self.kind, &json!({ "count": window.count }));
            window.count = 0;
        }
    }
}
