//! Waiting for a condition with an upper bound, instead of for a fixed time. Also a delay that
//! shifts a race, and the time of day.

use std::{
    fmt::Display,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// How long a person waits before they consider the app broken; ample on a loaded machine.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);

/// Polls `condition` until it returns a value. Fails with `description` after [`DEFAULT_TIMEOUT`].
#[track_caller]
pub fn wait_until<T>(description: impl Display, condition: impl FnMut() -> Option<T>) -> T {
    wait_until_within(DEFAULT_TIMEOUT, description, condition)
}

/// Polls `condition` until it returns a value. Fails with `description` after `timeout`.
#[track_caller]
pub fn wait_until_within<T>(
    timeout: Duration,
    description: impl Display,
    condition: impl FnMut() -> Option<T>,
) -> T {
    try_until_within(timeout, condition)
        .unwrap_or_else(|| panic!("timed out after {timeout:?}, waiting until {description}"))
}

/// Polls `condition` until it returns a value. Returns `None` after `timeout`.
pub fn try_until_within<T>(
    timeout: Duration,
    mut condition: impl FnMut() -> Option<T>,
) -> Option<T> {
    let deadline = Instant::now() + timeout;
    loop {
        let value = condition();
        if value.is_some() || Instant::now() >= deadline {
            return value;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Delays a step, so that a race happens at another moment. The test must pass with any delay.
pub fn shift_moment(delay: Duration) {
    thread::sleep(delay);
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
