//! The running calls of tools: their progress, and how a person cancels a call.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_model::{
    call::{Call, CallProgress},
    event::{Event, Events},
    ids::CallId,
    protocol::ServerProgress,
};
use drawbridge_store::{logs::Logs, table::call::CallRow};
use drawbridge_upstream::ProgressObserver;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The minimum time between two published notifications about one call.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(250);
/// The maximum number of characters of a progress message that are kept.
const MAX_MESSAGE: usize = 500;

/// The running calls. Cheap to clone.
#[derive(Clone)]
pub struct LiveCalls {
    events: Events,
    logs: Logs,
    calls: Arc<Mutex<BTreeMap<CallId, Arc<LiveCall>>>>,
}

/// A running call.
struct LiveCall {
    row: Arc<CallRow>,
    events: Events,
    logs: Logs,
    began: Instant,
    cancelled: CancellationToken,
    latest: Mutex<LatestProgress>,
}

#[derive(Default)]
struct LatestProgress {
    progress: Option<CallProgress>,
    published_at: Option<Instant>,
}

/// A running call, with its latest progress.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveCallView {
    pub call: Call,
    pub elapsed: Duration,
    pub progress: Option<CallProgress>,
}

/// Keeps a call in the list of running calls until this value is dropped.
pub struct RunningCall {
    live: Arc<LiveCall>,
    calls: LiveCalls,
}

impl LiveCalls {
    pub fn new(events: Events, logs: Logs) -> Self {
        Self {
            events,
            logs,
            calls: Arc::default(),
        }
    }

    /// Adds a call that is about to be sent.
    pub fn begin(&self, row: &Arc<CallRow>) -> RunningCall {
        let live = Arc::new(LiveCall {
            row: row.clone(),
            events: self.events.clone(),
            logs: self.logs.clone(),
            began: Instant::now(),
            cancelled: CancellationToken::new(),
            latest: Mutex::default(),
        });
        self.lock().insert(row.call.id.clone(), live.clone());
        RunningCall {
            live,
            calls: self.clone(),
        }
    }

    /// Returns the running calls, oldest first.
    pub fn list(&self) -> Vec<LiveCallView> {
        let calls: Vec<_> = self.lock().values().cloned().collect();
        calls.iter().map(|live| live.view()).collect()
    }

    /// Cancels a call for a person. Returns the call, or `None` if it does not run.
    pub fn cancel(&self, id: &CallId) -> Option<Call> {
        let live = self.lock().get(id).cloned()?;
        live.cancelled.cancel();
        Some(live.row.call.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<CallId, Arc<LiveCall>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningCall {
    /// Resolves when a person cancels the call.
    pub async fn cancelled(&self) {
        self.live.cancelled.cancelled().await;
    }

    /// Returns the observer of the progress that the server reports.
    pub fn observer(&self) -> Arc<dyn ProgressObserver> {
        self.live.clone()
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.calls.lock().remove(&self.live.row.call.id);
    }
}

impl LiveCall {
    fn view(&self) -> LiveCallView {
        LiveCallView {
            call: self.row.call.clone(),
            elapsed: self.began.elapsed(),
            progress: self.lock().progress.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LatestProgress> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProgressObserver for LiveCall {
    fn observe(&self, progress: &ServerProgress) {
        let Some(mut progress) = call_progress(progress) else {
            return;
        };
        if !progress.message.is_empty() {
            progress.message = self.logs.mask_text(&progress.message);
        }
        let mut latest = self.lock();
        let is_due = latest
            .published_at
            .is_none_or(|at| at.elapsed() >= PUBLISH_INTERVAL);
        if is_due {
            latest.published_at = Some(Instant::now());
        }
        latest.progress = Some(progress.clone());
        drop(latest);
        // `list` also returns progress that is not published. The first notification after the
        // interval is published.
        if is_due {
            self.events.publish_with(|| Event::CallProgressed {
                id: self.row.call.id.clone(),
                progress,
            });
        }
    }
}

/// Returns the progress as a person sees it, or `None` if the server sent no number.
fn call_progress(progress: &ServerProgress) -> Option<CallProgress> {
    let message = progress.message.as_deref().unwrap_or_default();
    Some(CallProgress {
        progress: progress.progress?,
        total: progress.total,
        message: message.chars().take(MAX_MESSAGE).collect(),
    })
}

#[cfg(test)]
mod tests {
    use drawbridge_jsonrpc::json;
    use drawbridge_model::protocol::ProgressToken;

    use super::*;

    #[test]
    fn progress_is_read_and_its_message_is_cut() {
        let token = ProgressToken::for_request(1);
        let read = |members: &str| {
            let params = format!(r#"{{"progressToken":{},{members}}}"#, token.get());
            call_progress(&ServerProgress::read(json::raw(params)).expect("progress"))
        };
        let progress = read(r#""progress":2,"total":5,"message":"half""#);
        let expected = CallProgress {
            progress: 2.0,
            total: Some(5.0),
            message: "half".into(),
        };
        assert_eq!(progress, Some(expected));
        assert_eq!(read(r#""progress":"2""#), None);
        let long = format!(r#""progress":1,"message":"{}""#, "ä".repeat(600));
        let message = read(&long).expect("progress").message;
        assert_eq!(message.chars().count(), MAX_MESSAGE);
    }
}
