//! How many unknown tokens each address may send. A request with a known token is never counted,
//! and never refused because of other requests.

use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZeroU32,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use drawbridge_sessions::{TokenBucket, round_up_to_seconds};

/// The unknown tokens that an address may send in a minute. A client that repeats a revoked token
/// in a loop is told to wait, and causes no more pairing requests and log entries. All programs on
/// this computer share one address, so there is room for several such clients. The limit is no
/// defence against guessing, because a correct token is always accepted. Tokens cannot be guessed
/// because they have at least 32 characters.
const TOKENS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("not zero");
const MINUTE: Duration = Duration::from_secs(60);
/// The number of addresses that have a count of their own. Further addresses share a count.
const MAX_ADDRESSES: usize = 1_000;

/// Counts the unknown tokens of each address.
#[derive(Default)]
pub(crate) struct UnknownTokens(Mutex<HashMap<Source, TokenBucket>>);

/// The senders of requests that share a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    /// An IPv4 address, or the /64 network of an IPv6 address, because one computer may have all
    /// addresses of such a network.
    Network(IpAddr),
    /// All requests that may have come through a proxy, and the addresses beyond
    /// [`MAX_ADDRESSES`].
    Other,
}

impl Source {
    fn of(address: Option<IpAddr>) -> Self {
        const NETWORK: u128 = !(u64::MAX as u128);
        match address {
            None => Self::Other,
            Some(IpAddr::V6(address)) if !address.is_loopback() => {
                Self::Network(IpAddr::V6((address.to_bits() & NETWORK).into()))
            }
            Some(address) => Self::Network(address),
        }
    }
}

impl UnknownTokens {
    /// Counts an unknown token. `address` is `None` if the request may have come through a proxy.
    ///
    /// # Errors
    /// Returns an error if the address has sent too many tokens: the seconds until it may send
    /// another token.
    pub(crate) fn count(&self, address: Option<IpAddr>) -> Result<(), u64> {
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut source = Source::of(address);
        if !sources.contains_key(&source) && sources.len() >= MAX_ADDRESSES {
            sources.retain(|_, bucket| !bucket.is_full());
            if sources.len() >= MAX_ADDRESSES {
                source = Source::Other;
            }
        }
        let bucket = sources
            .entry(source)
            .or_insert_with(|| TokenBucket::new(TOKENS_PER_MINUTE, MINUTE));
        bucket.try_take().map_err(round_up_to_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().expect("an address"))
    }

    #[tokio::test(start_paused = true)]
    async fn each_address_has_a_limit_of_its_own() {
        let tokens = UnknownTokens::default();
        let count = |address| (0..1_000).filter(|_| tokens.count(address).is_ok()).count();
        assert_eq!(count(address("127.0.0.1")), 600);
        assert_eq!(tokens.count(address("127.0.0.1")), Err(1));
        assert_eq!(count(address("192.0.2.1")), 600);
        assert_eq!(count(None), 600);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(count(address("127.0.0.1")), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn the_addresses_of_one_network_share_a_limit_and_so_do_too_many_addresses() {
        let tokens = UnknownTokens::default();
        let counted: usize = (0..5_000)
            .filter(|n| tokens.count(address(&format!("2001:db8::{n:x}"))).is_ok())
            .count();
        assert_eq!(counted, 600);
        let counted = (0..5_000_u32)
            .filter(|n| {
                tokens
                    .count(Some(IpAddr::V4((0x0a00_0000 + n).into())))
                    .is_ok()
            })
            .count();
        // The network above takes up one of the counts. Each of the next 999 addresses sends one
        // token, and the further addresses share a count.
        assert_eq!(counted, 999 + 600);
        assert!(tokens.0.lock().expect("the table").len() <= MAX_ADDRESSES + 1);
    }
}
