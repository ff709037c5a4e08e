//! How many calls a client may make in a minute, if a person has set a limit. A token bucket counts
//! the calls: after a minute without calls, a client may make as many calls at once as the limit
//! allows for a minute.
//!
//! By default, no client has a limit: a client that only makes calls that rules allow may make
//! thousands in a second, and the requests in flight are bounded anyway. A limit is for an agent
//! that a person does not watch, so that a loop in the agent costs a bounded number of calls.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use drawbridge_model::ids::ClientName;
use drawbridge_sessions::{TokenBucket, round_up_to_seconds};

const MINUTE: Duration = Duration::from_secs(60);

/// The clients that have a limit. A call of another client takes no lock.
#[derive(Default)]
pub(super) struct CallLimits(ArcSwap<BTreeMap<ClientName, Arc<CallLimit>>>);

struct CallLimit {
    calls_per_minute: NonZeroU32,
    bucket: Mutex<TokenBucket>,
}

/// The error if a client has reached its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this client may make at most {calls_per_minute} calls a minute, and has reached this limit; wait {wait_s} s before the next call"
)]
pub struct CallLimitReached {
    pub calls_per_minute: NonZeroU32,
    pub wait_s: u64,
}

impl CallLimits {
    /// Sets or removes the limit of a client. A limit that stays the same keeps its count.
    pub(super) fn set(&self, client: &ClientName, calls_per_minute: Option<NonZeroU32>) {
        let before = self
            .0
            .load()
            .get(client)
            .map(|limit| limit.calls_per_minute);
        if before == calls_per_minute {
            return;
        }
        self.0.rcu(|limits| {
            let mut limits = BTreeMap::clone(limits);
            match calls_per_minute {
                Some(calls) => {
                    let limit = CallLimit {
                        calls_per_minute: calls,
                        bucket: Mutex::new(TokenBucket::new(calls, MINUTE)),
                    };
                    limits.insert(client.clone(), Arc::new(limit));
                }
                None => drop(limits.remove(client)),
            }
            limits
        });
    }

    /// Counts a call.
    ///
    /// # Errors
    /// Returns an error if the client has reached its limit.
    pub(super) fn count(&self, client: &ClientName) -> Result<(), CallLimitReached> {
        let limits = self.0.load();
        let Some(limit) = limits.get(client) else {
            return Ok(());
        };
        let mut bucket = limit.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.try_take().map_err(|wait| CallLimitReached {
            calls_per_minute: limit.calls_per_minute,
            wait_s: round_up_to_seconds(wait),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_the_calls_of_the_client_with_a_limit_are_counted() {
        let limits = CallLimits::default();
        let (limited, free) = (ClientName::new("limited"), ClientName::new("free"));
        let two = NonZeroU32::new(2);
        limits.set(&limited, two);
        assert_eq!(
            (limits.count(&limited), limits.count(&limited)),
            (Ok(()), Ok(()))
        );
        let reached = limits.count(&limited).expect_err("the limit is reached");
        assert_eq!(
            reached.to_string(),
            "this client may make at most 2 calls a minute, and has reached this limit; wait 30 s before the next call"
        );
        assert!((0..10_000).all(|_| limits.count(&free).is_ok()));
        limits.set(&limited, two);
        assert!(
            limits.count(&limited).is_err(),
            "the same limit keeps its count"
        );
        tokio::time::advance(Duration::from_secs(reached.wait_s)).await;
        assert_eq!(limits.count(&limited), Ok(()));
        limits.set(&limited, None);
        assert!((0..10_000).all(|_| limits.count(&limited).is_ok()));
    }
}
