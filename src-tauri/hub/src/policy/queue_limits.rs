//! The limits of the queue: how many calls of a client may wait for a person, and how many may be
//! missed in a row.

use drawbridge_model::ids::ClientName;

/// The most calls of one client that may wait at a time.
pub(super) const MAX_PER_CLIENT: usize = 20;
/// If this many consecutive approval requests of a client are missed, the client is muted.
pub(super) const MAX_MISSED_IN_A_ROW: u32 = 3;

/// The reason why a call is not queued.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotQueued {
    #[error("{MAX_PER_CLIENT} calls of '{0}' are already waiting for a decision")]
    QueueFull(ClientName),
    #[error(
        "nobody decided the last {MAX_MISSED_IN_A_ROW} calls of '{client}'; it can ask again in {seconds} s, or when the user unmutes it"
    )]
    Muted { client: ClientName, seconds: u64 },
}
