//! A token bucket, which limits how often something may happen.

use std::{num::NonZeroU32, time::Duration};

use tokio::time::Instant;

/// A bucket that is full at first. Tokens flow in evenly, and an empty bucket is full again after
/// one period.
#[derive(Debug)]
pub struct TokenBucket {
    period: Duration,
    /// The time between two tokens.
    interval: Duration,
    /// When the bucket is full again. The bucket is empty if that moment is a whole period away.
    full_at: Instant,
}

impl TokenBucket {
    /// Returns a full bucket.
    pub fn new(tokens: NonZeroU32, period: Duration) -> Self {
        Self {
            period,
            interval: period / tokens.get(),
            full_at: Instant::now(),
        }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// Returns an error if the bucket is empty: the time until the next token.
    pub fn try_take(&mut self) -> Result<(), Duration> {
        let now = Instant::now();
        let full_at = self.full_at.max(now) + self.interval;
        let wait = full_at.saturating_duration_since(now + self.period);
        if !wait.is_zero() {
            return Err(wait);
        }
        self.full_at = full_at;
        Ok(())
    }

    /// Returns whether no token is missing, so that a new bucket would be the same.
    pub fn is_full(&self) -> bool {
        self.full_at <= Instant::now()
    }
}

/// Returns a wait in whole seconds, rounded up, and at least 1.
pub fn round_up_to_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn bucket(tokens: u32) -> TokenBucket {
        TokenBucket::new(NonZeroU32::new(tokens).expect("not zero"), MINUTE)
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_bucket_gives_all_tokens_at_once_and_then_one_in_each_interval() {
        for tokens in [1, 7, 60, 1_000] {
            let mut bucket = bucket(tokens);
            let taken = (0..tokens).filter(|_| bucket.try_take().is_ok()).count();
            assert_eq!(taken, tokens as usize);
            let wait = bucket.try_take().expect_err("the bucket is empty");
            assert!(
                wait <= MINUTE / tokens + Duration::from_nanos(1),
                "{wait:?}"
            );
            advance(wait).await;
            assert_eq!(bucket.try_take(), Ok(()), "after the stated wait");
            assert!(bucket.try_take().is_err());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_bucket_that_rests_for_its_period_is_full_again_and_never_fuller() {
        let mut bucket = bucket(5);
        while bucket.try_take().is_ok() {}
        assert!(!bucket.is_full());
        advance(MINUTE * 10).await;
        assert!(bucket.is_full());
        assert_eq!((0..9).filter(|_| bucket.try_take().is_ok()).count(), 5);
    }

    #[test]
    fn a_wait_is_rounded_up_to_whole_seconds() {
        let waits = [0, 1, 1_000, 1_001].map(|ms| round_up_to_seconds(Duration::from_millis(ms)));
        assert_eq!(waits, [1, 1, 1, 2]);
    }
}
