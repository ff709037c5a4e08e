//! The lists and the resource that change on request, and the notifications about these changes.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rmcp::{
    ErrorData, Peer, RoleServer,
    model::ResourceUpdatedNotificationParam,
    service::{SubscriptionContext, SubscriptionSendError},
};
use tokio::sync::broadcast;

/// The subject of a change: a list, or the watched resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    WatchedResource,
}

/// The current state of the lists, and the channel that announces changes. A list has its extra
/// entry, `test_added_tool` or `test_added_prompt`, if its flag is set.
#[derive(Debug)]
pub(crate) struct Changes {
    tools: AtomicBool,
    prompts: AtomicBool,
    sender: broadcast::Sender<Change>,
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            tools: AtomicBool::default(),
            prompts: AtomicBool::default(),
            sender: broadcast::Sender::new(16),
        }
    }
}

impl Changes {
    /// Toggles the extra entry if the subject is a list, and notifies all receivers.
    pub(crate) fn toggle(&self, change: Change) {
        if let Some(flag) = self.extra_entry_flag(change) {
            flag.fetch_xor(true, Ordering::SeqCst);
        }
        drop(self.sender.send(change));
    }

    /// Returns whether the list contains its extra entry.
    pub(crate) fn has_extra_entry(&self, change: Change) -> bool {
        self.extra_entry_flag(change)
            .is_some_and(|flag| flag.load(Ordering::SeqCst))
    }

    fn extra_entry_flag(&self, change: Change) -> Option<&AtomicBool> {
        match change {
            Change::Tools => Some(&self.tools),
            Change::Prompts => Some(&self.prompts),
            Change::WatchedResource => None,
        }
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.sender.subscribe()
    }
}

/// Notifies the client of a session about changes until the client disconnects.
pub(crate) async fn notify_session(
    peer: Peer<RoleServer>,
    mut changes: broadcast::Receiver<Change>,
    is_subscribed: Arc<AtomicBool>,
    watched_uri: String,
) {
    while let Ok(change) = changes.recv().await {
        let result = match change {
            Change::Tools => peer.notify_tool_list_changed().await,
            Change::Prompts => peer.notify_prompt_list_changed().await,
            Change::WatchedResource if is_subscribed.load(Ordering::SeqCst) => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(&watched_uri))
                    .await
            }
            Change::WatchedResource => Ok(()),
        };
        if result.is_err() {
            return;
        }
    }
}

/// Notifies a subscription about the changes that it requested, until it is cancelled.
pub(crate) async fn notify_subscription(
    subscription: &SubscriptionContext,
    mut changes: broadcast::Receiver<Change>,
    watched_uri: &str,
) -> Result<(), ErrorData> {
    loop {
        let change = tokio::select! {
            () = subscription.cancelled() => return Ok(()),
            change = changes.recv() => change,
        };
        let result = match change {
            Ok(Change::Tools) => subscription.sink().notify_tool_list_changed().await,
            Ok(Change::Prompts) => subscription.sink().notify_prompt_list_changed().await,
            Ok(Change::WatchedResource) => {
                subscription
                    .sink()
                    .notify_resource_updated(watched_uri)
                    .await
            }
            Err(_) => return Ok(()),
        };
        match result {
            Ok(()) | Err(SubscriptionSendError::NotificationNotAccepted(_)) => {}
            Err(error) => return Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }
}
