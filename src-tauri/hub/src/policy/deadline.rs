//! Deadlines for a person's decision. The time during which the computer is suspended counts,
//! because the client's own timeout includes this time. The monotonic clocks of Linux and macOS
//! stop during a suspension. On Linux, the module adds the time of suspension; on macOS, a deadline
//! is late by this time.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The most time between two checks of a deadline, because a timer does not run during a
/// suspension.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The moment until which a person may decide.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    at: Instant,
    /// How long the computer had been suspended when the deadline was set.
    suspended_before: Duration,
    /// Returns how long the computer has been suspended since it was started.
    suspended: fn() -> Duration,
}

impl Deadline {
    /// Returns the deadline after a timeout that begins now.
    pub(super) fn after(timeout: Duration) -> Self {
        Self::with_clock(timeout, time_suspended)
    }

    fn with_clock(timeout: Duration, suspended: fn() -> Duration) -> Self {
        Self {
            at: Instant::now() + timeout,
            suspended_before: suspended(),
            suspended,
        }
    }

    /// Returns the remaining time.
    pub(super) fn remaining(&self) -> Duration {
        let suspended = (self.suspended)().saturating_sub(self.suspended_before);
        self.at
            .saturating_duration_since(Instant::now())
            .saturating_sub(suspended)
    }

    /// Waits until the deadline.
    pub(super) async fn wait(&self) {
        loop {
            let remaining = self.remaining();
            if remaining.is_zero() {
                return;
            }
            sleep(remaining.min(CHECK_INTERVAL)).await;
        }
    }
}

/// Returns how long the computer has been suspended since it was started, to about a millisecond.
#[cfg(target_os = "linux")]
fn time_suspended() -> Duration {
    use nix::time::{ClockId, clock_gettime};

    let read = |clock| clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    // The clocks are read in this order, so that the difference is never too small.
    let running = read(ClockId::CLOCK_MONOTONIC);
    let whole = read(ClockId::CLOCK_BOOTTIME);
    whole.saturating_sub(running)
}

/// Returns zero. The monotonic clock of Windows includes the time of suspension; that of macOS does
/// not, and a deadline there is late by that time.
#[cfg(not(target_os = "linux"))]
fn time_suspended() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering},
        time::Duration,
    };

    use tokio::time::Instant;

    use super::Deadline;

    static SUSPENDED_SECONDS: AtomicU64 = AtomicU64::new(1000);

    fn suspended() -> Duration {
        Duration::from_secs(SUSPENDED_SECONDS.load(Ordering::Relaxed))
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_that_passed_during_suspension_is_noticed_within_a_second() {
        let deadline = Deadline::with_clock(Duration::from_secs(50), suspended);
        assert_eq!(deadline.remaining(), Duration::from_secs(50));
        let waiting = tokio::spawn(async move { deadline.wait().await });
        tokio::time::sleep(Duration::from_secs(10)).await;
        SUSPENDED_SECONDS.fetch_add(3600, Ordering::Relaxed);
        assert_eq!(deadline.remaining(), Duration::ZERO);
        let awake = Instant::now();
        waiting.await.expect("the wait ends");
        assert!(awake.elapsed() <= Duration::from_secs(1));

        let undisturbed = Deadline::with_clock(Duration::from_secs(50), suspended);
        let begin = Instant::now();
        undisturbed.wait().await;
        assert_eq!(begin.elapsed().as_secs(), 50);
    }
}
