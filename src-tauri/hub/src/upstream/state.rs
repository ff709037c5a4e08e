//! The state machine of a server session: pure, `(state, event) → (state, effects)`.
//!
//! ```text
//!          Wanted                  Ready            IdleTimeout
//! Idle ─────────────▶ Initializing ─────▶ Active ─────────────────▶ Idle
//!  ▲                   │    ▲              │
//!  │            Failed │    │ PauseOver    │ Ended
//!  │                   ▼    │              │
//!  │      PauseOver   ┌───────┐            │
//!  ├──────────────────│ Error │◀───────────┤
//!  │                  └───────┘            │
//!  │                    │ Failed after the last retry, or for good
//!  │                    ▼                  │
//!  │                  Closed ──Wanted──▶ Initializing
//!  │    PauseOver                          │ the fifth crash within a minute
//!  └─────────────────────────── Open ◀─────┘
//! ```

use std::time::Duration;

/// So many crashes within [`CRASH_WINDOW`] open the breaker.
pub const MAX_CRASHES: u32 = 5;
/// See [`MAX_CRASHES`].
pub const CRASH_WINDOW: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How long the breaker stays open.
const OPEN: Duration = Duration::from_secs(30);

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Idle,
    /// Being started; `failures` starts in a row have failed.
    Initializing {
        failures: u32,
    },
    Active,
    /// Failed, and left alone for a pause. With `failures` a start is tried again then; without any it crashed, and
    /// the next call after the pause starts it.
    Error {
        failures: u32,
    },
    /// The breaker is open: it crashed so often that it is left alone for a while, whoever wants it.
    Open,
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
        /// Starts that may follow the first one.
        retries: u32,
        /// See [`Event::Ended`]; a start that failed without a crash adds none.
        crashes: u32,
    },
    /// The pause after a failure, or that of the open breaker, is over.
    PauseOver,
    /// The connection ended by itself; with this one so many crashes in the last [`CRASH_WINDOW`].
    Ended {
        crashes: u32,
    },
    IdleTimeout,
    /// The user, or a changed spec, ends it.
    Close,
}

/// What the driver has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Start,
    /// Let it alone for that long, to which the driver adds jitter, then take the step [`Event::PauseOver`].
    Pause(Duration),
    Stop,
}

impl State {
    /// The next state, and what to do. An event that means nothing in a state changes nothing.
    pub fn on(self, event: Event) -> (Self, Option<Effect>) {
        match (self, event) {
            (Self::Idle | Self::Closed, Event::Wanted) => {
                (Self::Initializing { failures: 0 }, Some(Effect::Start))
            }
            (Self::Initializing { .. }, Event::Ready) => (Self::Active, None),
            (
                Self::Initializing { failures },
                Event::Failed {
                    for_good,
                    retries,
                    crashes,
                },
            ) => {
                if crashes >= MAX_CRASHES {
                    (Self::Open, Some(Effect::Pause(OPEN)))
                } else if for_good || failures >= retries {
                    (Self::Closed, None)
                } else {
                    (
                        Self::Error {
                            failures: failures + 1,
                        },
                        Some(Effect::Pause(pause(failures))),
                    )
                }
            }
            (Self::Error { failures: 0 } | Self::Open, Event::PauseOver) => (Self::Idle, None),
            (Self::Error { failures }, Event::PauseOver) => {
                (Self::Initializing { failures }, Some(Effect::Start))
            }
            (Self::Active, Event::Ended { crashes }) if crashes >= MAX_CRASHES => {
                (Self::Open, Some(Effect::Pause(OPEN)))
            }
            (Self::Active, Event::Ended { crashes }) => (
                Self::Error { failures: 0 },
                Some(Effect::Pause(pause(crashes.saturating_sub(1)))),
            ),
            (Self::Active, Event::IdleTimeout) => (Self::Idle, Some(Effect::Stop)),
            (Self::Active, Event::Close) => (Self::Closed, Some(Effect::Stop)),
            (
                Self::Idle
                | Self::Initializing { .. }
                | Self::Error { .. }
                | Self::Open
                | Self::Closed,
                Event::Close,
            ) => (Self::Closed, None),
            (
                state,
                Event::Wanted
                | Event::Ready
                | Event::Failed { .. }
                | Event::PauseOver
                | Event::Ended { .. }
                | Event::IdleTimeout,
            ) => (state, None),
        }
    }
}

/// The pause after so many failures: doubled each time.
fn pause(failures: u32) -> Duration {
    (FIRST_PAUSE * 2_u32.saturating_pow(failures.min(16))).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests;
