//! Browsers: a one-time code is exchanged for a token that is valid until the hub ends.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_model::{digest, random};
use tokio::time::Instant;

const CODE_TTL: Duration = Duration::from_secs(60);

/// Codes and tokens of browsers, as digests.
#[derive(Default)]
pub(super) struct BrowserTokens(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    codes: HashMap<String, Instant>,
    tokens: HashSet<String>,
}

impl BrowserTokens {
    pub(super) fn issue_code(&self) -> String {
        let code = random::token();
        let mut inner = self.lock();
        inner
            .codes
            .retain(|_, offered| offered.elapsed() < CODE_TTL);
        inner
            .codes
            .insert(digest::sha256(code.as_bytes()), Instant::now());
        code
    }

    pub(super) fn redeem_code(&self, code: &str) -> Option<String> {
        let mut inner = self.lock();
        let offered = inner.codes.remove(&digest::sha256(code.as_bytes()))?;
        if offered.elapsed() >= CODE_TTL {
            return None;
        }
        let token = random::token();
        inner.tokens.insert(digest::sha256(token.as_bytes()));
        Some(token)
    }

    pub(super) fn is_valid(&self, token: &str) -> bool {
        self.lock()
            .tokens
            .contains(&digest::sha256(token.as_bytes()))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
