//! Waiting for a condition with an upper bound, instead of for a fixed time.

use std::{
    fmt::Display,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// How long a person waits before they consider the app broken; ample on a loaded machine.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);

/// Polls `look` until it returns a value. Fails with `what` after [`DEFAULT_TIMEOUT`].
#[track_caller]
pub fn wait_until<T>(what: impl Display, look: impl FnMut() -> Option<T>) -> T {
    wait_until_within(DEFAULT_TIMEOUT, what, look)
}

/// Polls `look` until it returns a value. Fails with `what` after `bound`.
#[track_caller]
pub fn wait_until_within<T>(
    bound: Duration,
    what: impl Display,
    mut look: impl FnMut() -> Option<T>,
) -> T {
    let end = Instant::now() + bound;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(
            Instant::now() < end,
            "waited {bound:?} in vain until {what}"
        );
        thread::sleep(POLL_INTERVAL);
    }
}

/// Returns the time of day in microseconds since 1970, which processes of one machine can compare.
#[expect(
    clippy::disallowed_methods,
    reason = "the time is compared with that of another process"
)]
pub fn unix_micros() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("it is after 1970")
        .as_micros()
}

/// Returns `condition.then_some(())`, so that a test can wait for a plain condition.
pub fn some_if(condition: bool) -> Option<()> {
    condition.then_some(())
}
