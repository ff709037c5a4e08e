//! A rate limit for log lines, and for messages that nobody requested. A server that writes without
//! end is read slowly: its own writes block, and calls to other servers are not delayed.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The cost of a line that is only logged, in addition to its bytes.
const LOG_LINE_COST: usize = 128;
/// The cost of a message that is acted on, in addition to its bytes.
const MESSAGE_COST: usize = 2 * 1024;
/// The cost that may be spent within one [`WINDOW`]: some 40 short messages, or 80 KiB of a long
/// one (40 MiB a second).
const BUDGET: usize = 80 * 1024;
/// The time after which the budget is available again. The time is short, so that a server that
/// spends its whole budget at once delays nobody.
const WINDOW: Duration = Duration::from_millis(2);

/// Counts the cost of the lines or messages that were read in the current window.
#[derive(Debug)]
pub(super) struct RateLimit {
    base_cost: usize,
    window_start: Instant,
    spent: usize,
}

impl RateLimit {
    /// Returns the rate limit for log lines.
    pub(super) fn for_log_lines() -> Self {
        Self {
            base_cost: LOG_LINE_COST,
            window_start: Instant::now(),
            spent: 0,
        }
    }

    /// Returns the rate limit for requests and notifications.
    pub(super) fn for_messages() -> Self {
        Self {
            base_cost: MESSAGE_COST,
            window_start: Instant::now(),
            spent: 0,
        }
    }

    /// Counts a line or message of this many bytes, and waits if the budget of the window is
    /// exceeded.
    pub(super) async fn spend(&mut self, bytes: usize) {
        if self.window_start.elapsed() >= WINDOW {
            (self.window_start, self.spent) = (Instant::now(), 0);
        }
        self.spent += self.base_cost + bytes;
        if self.spent > BUDGET {
            // A long line uses up the budgets of several windows.
            let windows = u32::try_from(self.spent / BUDGET).unwrap_or(u32::MAX);
            sleep_until(self.window_start + WINDOW * windows).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn measure_reading(mut rate_limit: RateLimit, lines: usize, bytes: usize) -> Duration {
        let start = Instant::now();
        for _ in 0..lines {
            rate_limit.spend(bytes).await;
        }
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn occasional_messages_are_not_delayed() {
        assert_eq!(
            measure_reading(RateLimit::for_messages(), 35, 100).await,
            Duration::ZERO
        );
        assert_eq!(
            measure_reading(RateLimit::for_log_lines(), 300, 100).await,
            Duration::ZERO
        );
        let mut rate_limit = RateLimit::for_messages();
        let start = Instant::now();
        for _ in 0..1_000 {
            tokio::time::sleep(Duration::from_millis(1)).await;
            rate_limit.spend(10_000).await;
        }
        assert_eq!(start.elapsed(), Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_read_slowly_whether_its_lines_are_short_or_long() {
        let messages = measure_reading(RateLimit::for_messages(), 100_000, 10).await;
        assert!(
            (4..=6).contains(&messages.as_secs()),
            "reading 100,000 short messages took {messages:?}, but 20,000 short messages a second are allowed"
        );
        let log_lines = measure_reading(RateLimit::for_log_lines(), 1_000_000, 72).await;
        assert!(
            (4..=6).contains(&log_lines.as_secs()),
            "reading 1,000,000 short log lines took {log_lines:?}, but 200,000 a second are allowed"
        );
        let long_messages = measure_reading(RateLimit::for_messages(), 400, 1024 * 1024).await;
        assert!(
            (8..=12).contains(&long_messages.as_secs()),
            "reading 400 messages of 1 MiB took {long_messages:?}, but some 40 MiB a second are allowed"
        );
    }
}
