//! The state machine of a server session: pure, `(state, event) → (state, effects)`.
//!
//! ```text
//! Idle ──Wanted──▶ Initializing ──Ready──▶ Active ──IdleTimeout──▶ Idle
//!                    │    ▲                  │
//!                 Failed  RetryDue         Ended
//!                    ▼    │                  ▼
//!                    Error ◀─────────────────┘
//!                      │ Failed after the last retry, or for good
//!                      ▼
//!                    Closed ──Wanted──▶ Initializing
//! ```

use std::time::Duration;

/// Starts after the first one that failed.
pub const RETRIES: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Idle,
    /// Being started; `failures` starts in a row have failed.
    Initializing {
        failures: u32,
    },
    Active,
    /// Failed; with `failures` a retry is due, without any the next call begins anew.
    Error {
        failures: u32,
    },
    Closed,
}

/// What happens to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Somebody needs the server.
    Wanted,
    Ready,
    /// A start failed; `for_good` where no retry can help.
    Failed {
        for_good: bool,
    },
    RetryDue,
    /// The connection ended by itself.
    Ended,
    IdleTimeout,
    /// The user, or a changed spec, ends it.
    Close,
}

/// What the driver has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Start,
    /// Try again after a pause, to which the driver adds jitter.
    RetryAfter(Duration),
    Stop,
}

impl State {
    /// The next state, and what to do. An event that means nothing in a state changes nothing.
    pub fn on(self, event: Event) -> (Self, Option<Effect>) {
        match (self, event) {
            (Self::Idle | Self::Closed | Self::Error { failures: 0 }, Event::Wanted) => {
                (Self::Initializing { failures: 0 }, Some(Effect::Start))
            }
            (Self::Initializing { .. }, Event::Ready) => (Self::Active, None),
            (Self::Initializing { failures }, Event::Failed { for_good }) => {
                if for_good || failures == RETRIES {
                    (Self::Closed, None)
                } else {
                    (Self::Error { failures: failures + 1 }, Some(Effect::RetryAfter(pause(failures))))
                }
            }
            (Self::Error { failures }, Event::RetryDue) if failures > 0 => {
                (Self::Initializing { failures }, Some(Effect::Start))
            }
            (Self::Active, Event::Ended) => (Self::Error { failures: 0 }, None),
            (Self::Active, Event::IdleTimeout) => (Self::Idle, Some(Effect::Stop)),
            (Self::Active, Event::Close) => (Self::Closed, Some(Effect::Stop)),
            (Self::Idle | Self::Initializing { .. } | Self::Error { .. } | Self::Closed, Event::Close) => {
                (Self::Closed, None)
            }
            (
                state,
                Event::Wanted
                | Event::Ready
                | Event::Failed { .. }
                | Event::RetryDue
                | Event::Ended
                | Event::IdleTimeout,
            ) => (state, None),
        }
    }
}

/// The pause after so many failures: doubled each time.
fn pause(failures: u32) -> Duration {
    FIRST_PAUSE * 2_u32.pow(failures)
}

#[cfg(test)]
mod tests;
