//! The limits of the queue: how many approval requests of a client may wait for a person, and after
//! how many missed requests in a row the client is muted.

use drawbridge_model::ids::ClientName;

/// The most approval requests of one client that may wait at a time.
pub(super) const MAX_PER_CLIENT: usize = 20;
/// If this many consecutive approval requests of a client are missed, the client is muted.
pub(super) const MAX_MISSED_IN_A_ROW: u32 = 3;

/// The reason why an approval request is not queued.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotQueued {
    #[error("{MAX_PER_CLIENT} requests of '{0}' are already waiting for a decision")]
    QueueFull(ClientName),
    #[error(
        "nobody decided the last {MAX_MISSED_IN_A_ROW} requests of '{client}'; it can ask again in {seconds} s, or when the user unmutes it"
    )]
    Muted { client: ClientName, seconds: u64 },
}
