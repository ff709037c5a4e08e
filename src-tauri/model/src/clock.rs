//! The time of day. No other module asks the system for the time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::ids::Timestamp;

/// Returns the current time, for records and screens. Code that needs a monotonic clock uses
/// `tokio::time::Instant`.
pub fn now() -> Timestamp {
    Timestamp(i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX))
}

/// Returns the time that is `duration` from now.
pub fn time_after(duration: Duration) -> Timestamp {
    Timestamp(
        now()
            .0
            .saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
    )
}

/// Returns the microseconds since 1970.
pub fn now_micros() -> u64 {
    u64::try_from(since_1970().as_micros()).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "the only access to the clock")]
fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}
