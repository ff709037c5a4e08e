//! Browsers: a one-time code is exchanged for a token, which signs a browser in. The sign-in ends
//! if a person signs the browser out, if the browser has made no request for [`IDLE_TTL`], if
//! [`MAX_TTL`] has passed, if another browser takes the place of this browser, or if the hub ends.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_model::{
    clock, digest,
    ids::{BrowserId, Timestamp},
    random,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::plain_text;

/// How long a code can be exchanged.
pub const CODE_TTL: Duration = Duration::from_secs(5 * 60);
/// How long a browser stays signed in without a request.
const IDLE_TTL: Duration = Duration::from_secs(12 * 60 * 60);
/// How long a browser stays signed in at most.
const MAX_TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The maximum number of codes that have not expired, whether used or not. A new code replaces the
/// oldest.
const MAX_CODES: usize = 32;
/// The maximum number of signed-in browsers. A new browser replaces the least recently used
/// browser.
const MAX_BROWSERS: usize = 64;

/// Codes and tokens of browsers, as digests.
#[derive(Default)]
pub(super) struct Browsers(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The codes, by their digests.
    codes: HashMap<String, Code>,
    /// The sessions, by the digests of their tokens.
    sessions: BTreeMap<String, BrowserSession>,
}

struct Code {
    issued: Instant,
    redeemed_by: Option<SignedInBrowser>,
}

/// The address under which a browser has the web UI open. A token is valid only at the address at
/// which the browser signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebUiAddress {
    /// The `Host` of the request, with the port.
    pub host: String,
    /// The `Origin` of the request, which browsers send with every POST.
    pub origin: Option<String>,
}

/// A browser that is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedInBrowser {
    pub id: BrowserId,
    pub address: WebUiAddress,
    /// The `User-Agent` that the browser sent, shortened and without control characters.
    pub user_agent: Option<String>,
    pub signed_in_at: Timestamp,
    pub last_used_at: Timestamp,
    /// When the browser is signed out if nobody uses it until then.
    pub expires_at: Timestamp,
}

/// Whether a code was exchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeUse {
    Waiting,
    Redeemed(SignedInBrowser),
    /// The code has expired, was replaced by a newer code, or was never issued.
    Expired,
}

/// The session of a browser, which a request or a stream of the browser holds. Cheap to clone.
#[derive(Clone)]
pub struct BrowserSession(Arc<Session>);

struct Session {
    id: BrowserId,
    address: WebUiAddress,
    user_agent: Option<String>,
    began: Instant,
    signed_in_at: Timestamp,
    last_use: Mutex<LastUse>,
    ended: CancellationToken,
}

#[derive(Clone, Copy)]
struct LastUse {
    instant: Instant,
    at: Timestamp,
}

/// A token for a browser, which is sent to the browser once.
pub struct BrowserToken {
    pub browser: SignedInBrowser,
    pub token: String,
}

impl Browsers {
    pub(super) fn issue_code(&self) -> String {
        let code = random::id();
        let mut inner = self.lock();
        inner.codes.retain(|_, code| !code.has_expired());
        while inner.codes.len() >= MAX_CODES {
            let oldest = inner.codes.iter().min_by_key(|(_, code)| code.issued);
            let Some(oldest) = oldest.map(|(digest, _)| digest.clone()) else {
                break;
            };
            inner.codes.remove(&oldest);
        }
        inner.codes.insert(
            digest_of_code(&code),
            Code {
                issued: Instant::now(),
                redeemed_by: None,
            },
        );
        code
    }

    /// Exchanges a code for a token. A person may have typed the code, with spaces or hyphens. Also
    /// returns the browser that is signed out to make room. Returns `None` if the code is unknown,
    /// used or expired.
    pub(super) fn redeem_code(
        &self,
        code: &str,
        address: WebUiAddress,
        user_agent: Option<&str>,
    ) -> Option<(BrowserToken, Option<SignedInBrowser>)> {
        let mut inner = self.lock();
        let Inner { codes, sessions } = &mut *inner;
        let code = codes.get_mut(&digest_of_code(code))?;
        if code.has_expired() || code.redeemed_by.is_some() {
            return None;
        }
        let now = LastUse::now();
        let session = BrowserSession(Arc::new(Session {
            id: BrowserId::new(random::id()),
            address,
            user_agent: user_agent.map(plain_text),
            began: now.instant,
            signed_in_at: now.at,
            last_use: Mutex::new(now),
            ended: CancellationToken::new(),
        }));
        let token = random::token();
        let browser = session.describe();
        code.redeemed_by = Some(browser.clone());
        let least_recent = sessions
            .iter()
            .filter(|_| sessions.len() >= MAX_BROWSERS)
            .min_by_key(|(_, session)| session.last_use().instant)
            .map(|(digest, _)| digest.clone());
        let evicted = least_recent
            .and_then(|digest| sessions.remove(&digest))
            .map(|session| {
                session.0.ended.cancel();
                session.describe()
            });
        sessions.insert(digest::sha256(token.as_bytes()), session);
        Some((BrowserToken { browser, token }, evicted))
    }

    pub(super) fn use_of_code(&self, code: &str) -> CodeUse {
        match self.lock().codes.get(&digest_of_code(code)) {
            Some(Code {
                redeemed_by: Some(browser),
                ..
            }) => CodeUse::Redeemed(browser.clone()),
            Some(code) if !code.has_expired() => CodeUse::Waiting,
            Some(_) | None => CodeUse::Expired,
        }
    }

    /// Returns the session to which a token belongs, and notes the use. Returns `None` if the
    /// session has ended, or if the token is used at another address.
    pub(super) fn use_token(&self, token: &str, address: &WebUiAddress) -> Option<BrowserSession> {
        let digest = digest::sha256(token.as_bytes());
        let session = self.lock().sessions.get(&digest).cloned()?;
        if session.has_ended() || !session.0.address.includes(address) {
            return None;
        }
        *session.last_use_mut() = LastUse::now();
        Some(session)
    }

    pub(super) fn has_token(&self, token: &str) -> bool {
        let digest = digest::sha256(token.as_bytes());
        self.lock().sessions.contains_key(&digest)
    }

    /// Removes the browsers whose sign-in has expired, and returns them.
    pub(super) fn remove_ended(&self) -> Vec<SignedInBrowser> {
        self.remove_if(BrowserSession::has_ended)
    }

    /// Signs out one browser, or all of them. Returns the signed-out browsers.
    pub(super) fn sign_out(&self, id: Option<&BrowserId>) -> Vec<SignedInBrowser> {
        self.remove_if(|session| id.is_none_or(|id| session.0.id == *id))
    }

    fn remove_if(&self, is_removed: impl Fn(&BrowserSession) -> bool) -> Vec<SignedInBrowser> {
        let mut removed = Vec::new();
        self.lock().sessions.retain(|_, session| {
            let stays = !is_removed(session);
            if !stays {
                session.0.ended.cancel();
                removed.push(session.describe());
            }
            stays
        });
        removed
    }

    /// Returns the signed-in browsers, newest first.
    pub(super) fn list(&self) -> Vec<SignedInBrowser> {
        let mut browsers: Vec<_> = self
            .lock()
            .sessions
            .values()
            .map(BrowserSession::describe)
            .collect();
        browsers.sort_by_key(|browser| std::cmp::Reverse(browser.signed_in_at));
        browsers
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Code {
    fn has_expired(&self) -> bool {
        self.issued.elapsed() >= CODE_TTL
    }
}

impl LastUse {
    fn now() -> Self {
        Self {
            instant: Instant::now(),
            at: clock::now(),
        }
    }
}

impl WebUiAddress {
    /// Returns whether a request with the `Host` and `Origin` of `used` belongs to the web UI at
    /// this address. A browser sends no `Origin` with a GET to its own origin.
    fn includes(&self, used: &Self) -> bool {
        self.host == used.host && (used.origin.is_none() || self.origin == used.origin)
    }

    /// Returns the address as a URL.
    pub fn url(&self) -> String {
        let from_host = || format!("http://{}", self.host);
        self.origin.clone().unwrap_or_else(from_host)
    }
}

impl BrowserSession {
    /// Resolves when the browser is signed out: by a person, for another browser, or because its
    /// sign-in has expired.
    pub async fn ended(&self) {
        loop {
            tokio::select! {
                () = self.0.ended.cancelled() => return,
                () = sleep_until(self.deadline()) => {}
            }
            if self.has_ended() {
                return;
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.0.ended.is_cancelled() || Instant::now() >= self.deadline()
    }

    fn deadline(&self) -> Instant {
        (self.last_use().instant + IDLE_TTL).min(self.0.began + MAX_TTL)
    }

    fn describe(&self) -> SignedInBrowser {
        let last_use = self.last_use();
        let idle_end = last_use.at.0 + millis(IDLE_TTL);
        let last_end = self.0.signed_in_at.0 + millis(MAX_TTL);
        SignedInBrowser {
            id: self.0.id.clone(),
            address: self.0.address.clone(),
            user_agent: self.0.user_agent.clone(),
            signed_in_at: self.0.signed_in_at,
            last_used_at: last_use.at,
            expires_at: Timestamp(idle_end.min(last_end)),
        }
    }

    fn last_use(&self) -> LastUse {
        *self.last_use_mut()
    }

    fn last_use_mut(&self) -> MutexGuard<'_, LastUse> {
        self.0
            .last_use
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the digest of a code, as a person types it or as the link has it.
fn digest_of_code(code: &str) -> String {
    let normalized: String = code
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '-')
        .flat_map(char::to_lowercase)
        .collect();
    digest::sha256(normalized.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web_ui_address() -> WebUiAddress {
        WebUiAddress {
            host: "127.0.0.1:8765".to_owned(),
            origin: Some("http://127.0.0.1:8765".to_owned()),
        }
    }

    fn sign_in(browsers: &Browsers) -> BrowserToken {
        let code = browsers.issue_code();
        let token = browsers.redeem_code(&code, web_ui_address(), Some("Fire\u{7}fox"));
        token.expect("signed in").0
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_can_be_typed_and_redeemed_once_within_five_minutes() {
        let browsers = Browsers::default();
        let code = browsers.issue_code();
        assert_eq!(browsers.use_of_code(&code), CodeUse::Waiting);
        let typed = format!(" {}-{} ", &code[..5].to_uppercase(), &code[5..]);
        let token = browsers.redeem_code(&typed, web_ui_address(), Some("Fire\u{7}fox"));
        let browser = token.expect("a token").0.browser;
        assert_eq!(browser.user_agent.as_deref(), Some("Firefox"));
        assert_eq!(browsers.use_of_code(&code), CodeUse::Redeemed(browser));
        assert!(
            browsers
                .redeem_code(&code, web_ui_address(), None)
                .is_none()
        );
        let late = browsers.issue_code();
        tokio::time::advance(CODE_TTL).await;
        assert_eq!(browsers.use_of_code(&late), CodeUse::Expired);
        assert!(
            browsers
                .redeem_code(&late, web_ui_address(), None)
                .is_none()
        );
    }

    #[tokio::test]
    async fn a_token_is_valid_only_at_the_address_of_its_browser() {
        let browsers = Browsers::default();
        let token = sign_in(&browsers).token;
        let at = |host: &str, origin: Option<&str>| {
            let address = WebUiAddress {
                host: host.to_owned(),
                origin: origin.map(str::to_owned),
            };
            browsers.use_token(&token, &address).is_some()
        };
        assert!(at("127.0.0.1:8765", None));
        assert!(at("127.0.0.1:8765", Some("http://127.0.0.1:8765")));
        assert!(!at("127.0.0.1:8766", None), "another port");
        assert!(!at("localhost:8765", None), "another name");
        assert!(!at("127.0.0.1:8765", Some("http://127.0.0.1:9999")));
        assert!(!at("127.0.0.1:8765", Some("http://localhost:8765")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_browser_is_signed_out_after_idle_hours_and_after_a_week() {
        let browsers = Browsers::default();
        let token = sign_in(&browsers).token;
        let session = browsers
            .use_token(&token, &web_ui_address())
            .expect("signed in");
        let steps = MAX_TTL.as_secs() / (IDLE_TTL.as_secs() - 1);
        for _ in 0..steps {
            tokio::time::advance(IDLE_TTL - Duration::from_secs(1)).await;
            assert!(
                browsers.use_token(&token, &web_ui_address()).is_some(),
                "in use"
            );
        }
        session.ended().await;
        assert!(
            browsers.use_token(&token, &web_ui_address()).is_none(),
            "a week"
        );

        let token = sign_in(&browsers).token;
        tokio::time::advance(IDLE_TTL).await;
        assert!(
            browsers.use_token(&token, &web_ui_address()).is_none(),
            "idle"
        );
        assert_eq!(browsers.remove_ended().len(), 2);
        assert!(browsers.list().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_browser_beyond_the_limit_signs_out_the_least_recently_used_browser() {
        let browsers = Browsers::default();
        let first = sign_in(&browsers);
        let session = browsers
            .use_token(&first.token, &web_ui_address())
            .expect("first");
        for _ in 1..MAX_BROWSERS {
            tokio::time::advance(Duration::from_secs(1)).await;
            sign_in(&browsers);
        }
        let code = browsers.issue_code();
        let (_, evicted) = browsers
            .redeem_code(&code, web_ui_address(), None)
            .expect("signed in");
        let evicted = evicted.expect("one browser makes room");
        assert_eq!(evicted.id, first.browser.id);
        session.ended().await;
        assert_eq!(browsers.list().len(), MAX_BROWSERS);
    }

    #[tokio::test]
    async fn a_browser_that_is_signed_out_loses_its_token_and_its_streams() {
        let browsers = Browsers::default();
        let (first, other) = (sign_in(&browsers), sign_in(&browsers));
        let session = browsers
            .use_token(&first.token, &web_ui_address())
            .expect("first");
        assert_eq!(browsers.sign_out(Some(&first.browser.id)).len(), 1);
        session.ended().await;
        assert!(
            browsers
                .use_token(&first.token, &web_ui_address())
                .is_none()
        );
        assert!(
            browsers
                .use_token(&other.token, &web_ui_address())
                .is_some()
        );
        assert_eq!(browsers.sign_out(None).len(), 1);
        assert!(browsers.list().is_empty());
    }
}
