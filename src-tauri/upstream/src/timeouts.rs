//! The timeouts of a request to a server.

use std::time::Duration;

use drawbridge_model::spec::Timeouts;

/// How long an answer may take: without a sign of life, and in total.
#[derive(Debug, Clone, Copy)]
pub struct RequestTimeouts {
    pub inactivity: Duration,
    pub total: Duration,
}

impl RequestTimeouts {
    /// Returns the timeouts of a request, or of a call of `tool` if it is given.
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
    /// Progress extends the timeout to at most ten times its length.
    fn from(inactivity: Duration) -> Self {
        Self {
            inactivity,
            total: inactivity * 10,
        }
    }
}
