//! The time of day: the only code that asks the system for it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::model::ids::Timestamp;

/// Now. For records and screens; whatever must not jump uses `tokio::time::Instant`.
pub fn now() -> Timestamp {
    Timestamp(i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX))
}

/// The time that it will be after that pause.
pub fn after(pause: Duration) -> Timestamp {
    Timestamp(
        now()
            .0
            .saturating_add(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX)),
    )
}

/// Now, in microseconds since 1970.
pub fn micros() -> u64 {
    u64::try_from(since_1970().as_micros()).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "the one place that may")]
fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}
