//! Waiting: on a condition, with a bound, never on the clock alone.

use std::{
    fmt::Display,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

const PAUSE: Duration = Duration::from_millis(25);

/// How long a person would wait before calling it broken; ample on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Polls `look` until it sees something; fails with `what` after [`PATIENCE`].
#[track_caller]
pub fn until<T>(what: impl Display, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look)
}

/// Polls `look` until it sees something; fails with `what` after `bound`.
#[track_caller]
pub fn within<T>(bound: Duration, what: impl Display, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + bound;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(
            Instant::now() < end,
            "waited {bound:?} in vain until {what}"
        );
        thread::sleep(PAUSE);
    }
}

/// The time of day, in microseconds since 1970: what processes of one machine can compare.
#[expect(
    clippy::disallowed_methods,
    reason = "it is measured against another process"
)]
pub fn micros() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("it is after 1970")
        .as_micros()
}

/// `then_some(())`, so that a plain condition can be waited for.
pub fn yes(condition: bool) -> Option<()> {
    condition.then_some(())
}
