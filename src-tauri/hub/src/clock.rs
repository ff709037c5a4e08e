//! The time of day: the only code that asks the system for it.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::model::ids::Timestamp;

/// Now. For records and screens; whatever must not jump uses `tokio::time::Instant`.
#[expect(clippy::disallowed_methods, reason = "the one place that may")]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
