//! How often browsers may try to sign in. All browsers share the limit.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

const ATTEMPTS_PER_MINUTE: usize = 10;

/// The times of the attempts in the last minute.
#[derive(Default)]
pub(crate) struct LoginAttempts(Mutex<Vec<Instant>>);

impl LoginAttempts {
    /// Counts an attempt, unless the limit is reached. Returns whether the attempt was counted.
    pub(crate) fn try_acquire(&self) -> bool {
        let now = Instant::now();
        let mut attempts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.retain(|time| now.duration_since(*time) < Duration::from_secs(60));
        let is_allowed = attempts.len() < ATTEMPTS_PER_MINUTE;
        if is_allowed {
            attempts.push(now);
        }
        is_allowed
    }
}
