//! The timeouts of a request to a server.

use std::time::Duration;

use drawbridge_model::spec::Timeouts;

/// How long an answer may take without a sign of life from the server (`inactivity`), and in total.
#[derive(Debug, Clone, Copy)]
pub struct RequestTimeouts {
    pub inactivity: Duration,
    pub total: Duration,
}

impl RequestTimeouts {
    /// Returns the timeouts for a call of `tool`, or for another request if `tool` is `None`.
    pub fn from_spec(timeouts: &Timeouts, tool: Option<&str>) -> Self {
        let inactivity = tool
            .and_then(|tool| timeouts.tools.get(tool))
            .copied()
            .unwrap_or(timeouts.call_ms);
        let ms = |ms: u32| Duration::from_millis(ms.into());
        Self {
            inactivity: ms(inactivity),
            total: ms(timeouts.total_ms.max(inactivity)),
        }
    }
}

impl From<Duration> for RequestTimeouts {
    /// Returns timeouts with this inactivity timeout. The total timeout is ten times as long.
    fn from(inactivity: Duration) -> Self {
        Self {
            inactivity,
            total: inactivity * 10,
        }
    }
}
