//! A rate limit for log lines, and for messages that nobody requested. A server that writes without
//! end is read slowly: its own writes block, and calls to other servers are not delayed.
//!
//! Progress is requested: each request has its own budget for its progress, and only progress
//! beyond that budget is limited like other messages.

use std::{collections::BTreeMap, time::Duration};

use tokio::{
    task::yield_now,
    time::{Instant, sleep_until},
};

/// The cost of a line that is only logged, in addition to its bytes.
const LOG_LINE_COST: usize = 128;
/// The cost of a message that Drawbridge processes, in addition to its bytes.
const MESSAGE_COST: usize = 2 * 1024;
/// The cost that may be spent within one [`WINDOW`]: some 40 short messages, or 80 KiB of a long
/// message (40 MiB a second).
const BUDGET: usize = 80 * 1024;
/// The time after which the budget is available again. The time is short, so that a server that
/// spends its whole budget at once delays nobody.
const WINDOW: Duration = Duration::from_millis(2);
/// The cost of a message about progress, in addition to its bytes, as long as the budget of its
/// request lasts.
const PROGRESS_COST: usize = 128;
/// The budget of each request for its progress: about 580 short messages. The message queue ends
/// the stream of a client that misses too many messages. This budget is smaller than its
/// `MAX_MISSED_BYTES`, so a stream does not end even if its client misses all these messages.
const PROGRESS_BUDGET: usize = 128 * 1024;
/// The cost after which the reading of progress lets other tasks have a turn: half of the message
/// queue's `MAX_WAITING_BYTES`, so that a client that keeps reading misses no progress.
const PROGRESS_TURN: usize = 32 * 1024;
/// The most requests whose budgets are kept, so that a server that saves the progress tokens of
/// many requests cannot spend all these budgets at once.
const MAX_PROGRESS_BUDGETS: usize = 64;

/// Counts the cost of the lines or messages that were read in the current window.
#[derive(Debug)]
pub(super) struct RateLimit {
    base_cost: usize,
    window_start: Instant,
    spent: usize,
    progress: ProgressBudgets,
}

/// The costs that the requests of a connection have spent on their progress.
#[derive(Debug, Default)]
struct ProgressBudgets {
    /// By the ids of the requests.
    spent: BTreeMap<u64, usize>,
    /// The highest id of a request whose budget was dropped. Requests up to this id have no budget.
    dropped: Option<u64>,
    /// The cost since other tasks last had a turn.
    spent_in_turn: usize,
}

impl ProgressBudgets {
    /// Takes the cost from the budget of a request. Returns whether the budget was sufficient.
    fn try_spend(&mut self, request: u64, cost: usize) -> bool {
        if self.dropped.is_some_and(|dropped| request <= dropped) {
            return false;
        }
        let spent = self.spent.entry(request).or_default();
        if *spent + cost > PROGRESS_BUDGET {
            return false;
        }
        *spent += cost;
        self.spent_in_turn += cost;
        if self.spent.len() > MAX_PROGRESS_BUDGETS {
            self.dropped = self.spent.pop_first().map(|(oldest, _)| oldest);
        }
        true
    }
}

impl RateLimit {
    /// Returns the rate limit for log lines.
    pub(super) fn for_log_lines() -> Self {
        Self {
            base_cost: LOG_LINE_COST,
            window_start: Instant::now(),
            spent: 0,
            progress: ProgressBudgets::default(),
        }
    }

    /// Returns the rate limit for requests and notifications.
    pub(super) fn for_messages() -> Self {
        Self {
            base_cost: MESSAGE_COST,
            window_start: Instant::now(),
            spent: 0,
            progress: ProgressBudgets::default(),
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

    /// Counts a message of this many bytes about the progress of a request. Waits like
    /// [`Self::spend`] once the budget of the request is exceeded.
    pub(super) async fn spend_progress(&mut self, request: u64, bytes: usize) {
        if !self.progress.try_spend(request, bytes + PROGRESS_COST) {
            return self.spend(bytes).await;
        }
        if self.progress.spent_in_turn > PROGRESS_TURN {
            self.progress.spent_in_turn = 0;
            yield_now().await;
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

    async fn measure_progress(rate_limit: &mut RateLimit, request: u64, count: usize) -> Duration {
        let start = Instant::now();
        for _ in 0..count {
            rate_limit.spend_progress(request, 80).await;
        }
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn the_progress_of_each_request_is_limited_only_beyond_its_own_budget() {
        let mut rate_limit = RateLimit::for_messages();
        for request in 1..=20 {
            let took = measure_progress(&mut rate_limit, request, 500).await;
            assert_eq!(took, Duration::ZERO, "request {request}");
        }
        let flood = measure_progress(&mut rate_limit, 21, 100_000).await;
        assert!(
            (4..=6).contains(&flood.as_secs()),
            "reading 100,000 messages took {flood:?}, but 20,000 messages a second are allowed"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_budget_that_was_dropped_is_not_available_again() {
        let mut rate_limit = RateLimit::for_messages();
        let requests = 2 * MAX_PROGRESS_BUDGETS as u64;
        for request in 1..=requests {
            measure_progress(&mut rate_limit, request, 600).await;
        }
        assert_eq!(rate_limit.progress.spent.len(), MAX_PROGRESS_BUDGETS);
        for request in 1..=requests {
            let took = measure_progress(&mut rate_limit, request, 600).await;
            assert!(took > Duration::from_millis(20), "{request}: {took:?}");
        }
    }
}
