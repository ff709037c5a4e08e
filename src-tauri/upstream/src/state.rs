//! The state machine of a server session: a pure function `(state, event) → (state, effect)`.
//! ARCHITECTURE.md shows the function as a table, which a test compares with [`State::apply`].

use std::time::Duration;

/// If a server crashes this often within [`CRASH_WINDOW`], the breaker opens.
pub const MAX_CRASHES: u32 = 5;
/// The period in which crashes count towards [`MAX_CRASHES`].
pub const CRASH_WINDOW: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How long the breaker stays open.
pub const BREAKER_PAUSE: Duration = Duration::from_secs(30);

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Idle,
    /// The server is being started. The last `failures` starts in a row have failed.
    Initializing {
        failures: u32,
    },
    Active,
    /// The server failed and waits out a pause. If `failures` is not 0, a start is tried again
    /// after the pause. If it is 0, the server crashed, and the next request after the pause starts
    /// the server.
    Error {
        failures: u32,
    },
    /// The breaker is open: the server crashed so often that it is not started for a while, even if
    /// somebody needs it.
    BreakerOpen,
    /// The session was ended, or a start failed and is not tried again. The next request starts the
    /// server, unless the session was retired.
    Closed,
}

/// An event of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateEvent {
    /// Somebody needs the server.
    Needed,
    Ready,
    /// A start failed. `is_permanent` is set if no retry can help.
    Failed {
        is_permanent: bool,
        /// How many starts may follow the first start.
        retries: u32,
        /// The crashes within the last [`CRASH_WINDOW`]. A start that failed without a crash does
        /// not count.
        crashes: u32,
    },
    /// The pause after a failure, or the pause of the open breaker, is over.
    PauseOver,
    /// The connection ended by itself. `crashes` counts the crashes within the last
    /// [`CRASH_WINDOW`], including this crash.
    Ended {
        crashes: u32,
    },
    /// The session gives up a live connection: nobody used it for a while, or a new connection has
    /// to replace it.
    IdleTimeout,
    /// The session is ended for good, for instance because its spec has changed or the hub is
    /// shutting down.
    Close,
}

/// An action for the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateEffect {
    Start,
    /// Wait for about this long (the driver adds jitter), then apply [`StateEvent::PauseOver`].
    Pause(Duration),
    Stop,
}

impl State {
    /// Returns the next state and the action to perform. If an event has no meaning in a state,
    /// nothing changes.
    pub fn apply(self, event: StateEvent) -> (Self, Option<StateEffect>) {
        match (self, event) {
            (Self::Idle | Self::Closed, StateEvent::Needed) => {
                (Self::Initializing { failures: 0 }, Some(StateEffect::Start))
            }
            (Self::Initializing { .. }, StateEvent::Ready) => (Self::Active, None),
            (
                Self::Initializing { failures },
                StateEvent::Failed {
                    is_permanent,
                    retries,
                    crashes,
                },
            ) => {
                if crashes >= MAX_CRASHES {
                    (Self::BreakerOpen, Some(StateEffect::Pause(BREAKER_PAUSE)))
                } else if is_permanent || failures >= retries {
                    (Self::Closed, None)
                } else {
                    (
                        Self::Error {
                            failures: failures + 1,
                        },
                        Some(StateEffect::Pause(pause_after(failures))),
                    )
                }
            }
            (Self::Error { failures: 0 } | Self::BreakerOpen, StateEvent::PauseOver) => {
                (Self::Idle, None)
            }
            (Self::Error { failures }, StateEvent::PauseOver) => {
                (Self::Initializing { failures }, Some(StateEffect::Start))
            }
            (Self::Active, StateEvent::Ended { crashes }) if crashes >= MAX_CRASHES => {
                (Self::BreakerOpen, Some(StateEffect::Pause(BREAKER_PAUSE)))
            }
            (Self::Active, StateEvent::Ended { crashes }) => (
                Self::Error { failures: 0 },
                Some(StateEffect::Pause(pause_after(crashes.saturating_sub(1)))),
            ),
            (Self::Active, StateEvent::IdleTimeout) => (Self::Idle, Some(StateEffect::Stop)),
            (Self::Active, StateEvent::Close) => (Self::Closed, Some(StateEffect::Stop)),
            (
                Self::Idle
                | Self::Initializing { .. }
                | Self::Error { .. }
                | Self::BreakerOpen
                | Self::Closed,
                StateEvent::Close,
            ) => (Self::Closed, None),
            (
                state,
                StateEvent::Needed
                | StateEvent::Ready
                | StateEvent::Failed { .. }
                | StateEvent::PauseOver
                | StateEvent::Ended { .. }
                | StateEvent::IdleTimeout,
            ) => (state, None),
        }
    }
}

/// Returns the pause after a failure. Each earlier failure doubles the pause, up to
/// [`LONGEST_PAUSE`].
fn pause_after(earlier_failures: u32) -> Duration {
    (FIRST_PAUSE * 2_u32.saturating_pow(earlier_failures.min(16))).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests;
