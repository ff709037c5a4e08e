//! Progress tokens, which say to which request a progress notification belongs.

use std::{
    hash::{BuildHasher, RandomState},
    ops::Range,
    sync::{Arc, LazyLock},
};

use drawbridge_jsonrpc::{
    json::{self, RawObject},
    rpc::{RpcError, code},
};
use serde_json::value::RawValue;

/// The member of `_meta`, and of the params of `notifications/progress`, that holds the token.
pub(super) const MEMBER: &str = "progressToken";

/// The key of the hashes in Drawbridge's own tokens.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A progress token, as its sender wrote it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ProgressToken(Arc<RawValue>);

impl ProgressToken {
    /// Returns the token of Drawbridge's request with this id to a server. It contains the id, and
    /// a hash that only this process can make, so that a server cannot guess the token of another
    /// request.
    pub fn for_request(id: u64) -> Self {
        let hash = KEY.hash_one(id);
        Self(json::raw(format!(r#""{id}-{hash:016x}""#)).into())
    }

    /// Returns the token in the `_meta` of a request, if it can be read.
    pub fn read(params: &RawObject<'_>) -> Option<Self> {
        let meta = RawObject::parse(params.get("_meta")?).ok()?;
        Some(Self(meta.get(MEMBER)?.to_owned().into()))
    }

    /// Removes the token from the `_meta` of a request, and returns it. Drawbridge sends the server
    /// a token of its own.
    ///
    /// # Errors
    /// Returns an error (`-32602`) if `_meta` is not an object or repeats a key, because the server
    /// might read another token than Drawbridge does.
    pub fn take_from(params: &mut RawObject<'_>) -> Result<Option<Self>, RpcError> {
        let Some(meta) = params.get("_meta").map(ToOwned::to_owned) else {
            return Ok(None);
        };
        if meta.get() == "null" {
            return Ok(None);
        }
        let mut members = RawObject::parse(&meta)
            .map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("params._meta: {e}")))?;
        let Some(token) = members.get(MEMBER).map(ToOwned::to_owned) else {
            return Ok(None);
        };
        members.remove(MEMBER);
        if members.keys().next().is_none() {
            params.remove("_meta");
        } else {
            let members = members.to_raw();
            params.set("_meta", members);
        }
        Ok(Some(Self(token.into())))
    }

    /// Returns the id of Drawbridge's request that has the token with this JSON text, or `None` if
    /// Drawbridge did not make the token.
    fn read_request_id(token: &str) -> Option<u64> {
        let (id, hash) = token
            .strip_prefix('"')?
            .strip_suffix('"')?
            .split_once('-')?;
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if id.starts_with(['+', '0']) || hash.len() != 16 || !hash.bytes().all(is_digit) {
            return None;
        }
        let id = id.parse().ok()?;
        (u64::from_str_radix(hash, 16) == Ok(KEY.hash_one(id))).then_some(id)
    }

    /// Returns the params of Drawbridge's own `notifications/progress` for a request that is not
    /// sent yet. The progress is `count` times 1e-6, because it must increase, and must stay below
    /// the server's own progress, which follows.
    pub fn early_progress(&self, count: u32, message: &str) -> Box<RawValue> {
        json::raw(format!(
            r#"{{"progressToken":{},"progress":{},"message":{}}}"#,
            self.get(),
            f64::from(count) * 1e-6,
            json::quote(message)
        ))
    }

    /// Returns the JSON text of the token.
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

/// The progress of one of Drawbridge's requests: the params of a server's `notifications/progress`.
#[derive(Debug)]
pub struct ServerProgress {
    /// The id of the request.
    pub request: u64,
    /// How much is done, in the server's own unit. `None` if this is not a finite number.
    pub progress: Option<f64>,
    /// How much there is to do.
    pub total: Option<f64>,
    /// The server's text, however long.
    pub message: Option<String>,
    params: Box<RawValue>,
    /// The place of Drawbridge's token in the text of the params.
    token: Range<usize>,
}

impl ServerProgress {
    /// Reads the params of a notification. Returns `None` if Drawbridge did not make the token, or
    /// if the params repeat a key.
    pub fn read(params: Box<RawValue>) -> Option<Self> {
        let members = RawObject::parse(&params).ok()?;
        let token = members.get(MEMBER)?.get();
        let request = ProgressToken::read_request_id(token)?;
        let number = |key: &str| {
            let number: f64 = serde_json::from_str(members.get(key)?.get()).ok()?;
            number.is_finite().then_some(number)
        };
        let begin = token.as_ptr().addr() - params.get().as_ptr().addr();
        Some(Self {
            request,
            progress: number("progress"),
            total: number("total"),
            message: members.get_string("message"),
            token: begin..begin + token.len(),
            params,
        })
    }

    /// Returns the JSON text of the params with the client's token in place of Drawbridge's.
    pub fn params_with_token(&self, token: &ProgressToken) -> String {
        let params = self.params.get();
        [
            &params[..self.token.start],
            token.get(),
            &params[self.token.end..],
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(params: &str) -> Result<(Option<String>, String), RpcError> {
        let params = json::raw(params.into());
        let mut params = RawObject::parse(&params).expect("an object");
        let token = ProgressToken::take_from(&mut params)?;
        let token = token.map(|token| token.get().to_owned());
        Ok((token, params.to_raw().get().to_owned()))
    }

    #[test]
    fn the_token_is_taken_out_and_a_meta_that_servers_may_read_differently_is_refused() {
        for (params, token, rest) in [
            (r#"{"a":1}"#, None, r#"{"a":1}"#),
            (r#"{"_meta":null}"#, None, r#"{"_meta":null}"#),
            (r#"{"_meta":{"progressToken":"t"}}"#, Some(r#""t""#), "{}"),
            (
                r#"{"_meta":{"progressToken":7,"x":1}}"#,
                Some("7"),
                r#"{"_meta":{"x":1}}"#,
            ),
        ] {
            let taken = take(params).expect(params);
            assert_eq!((taken.0.as_deref(), taken.1.as_str()), (token, rest));
        }
        for params in [
            r#"{"_meta":{"progressToken":2,"x":1,"x":2}}"#,
            r#"{"_meta":{"progressToken":2,"progressToken":3}}"#,
            r#"{"_meta":[{"progressToken":2}]}"#,
        ] {
            let error = take(params).expect_err(params);
            assert_eq!(error.code, code::INVALID_PARAMS, "{params}");
        }
    }

    fn read_progress(params: &str) -> Option<ServerProgress> {
        ServerProgress::read(json::raw(params.into()))
    }

    #[test]
    fn only_a_token_of_drawbridge_names_a_request() {
        let read = |token: &str| {
            let params = format!(r#"{{"progressToken":{token},"progress":1}}"#);
            read_progress(&params).map(|progress| progress.request)
        };
        let token = ProgressToken::for_request(7);
        assert_eq!(read(token.get()), Some(7));
        let of_another_request = ProgressToken::for_request(8).get().replace("8-", "7-");
        for token in [
            "7",
            r#""7""#,
            r#""7-""#,
            r#""7-0000000000000000""#,
            &token.get().replace("7-", "7-0"),
            &token.get().replace("7-", "07-"),
            &token.get().replace("7-", "+7-"),
            &of_another_request,
        ] {
            assert_eq!(read(token), None, "{token}");
        }
    }

    #[test]
    fn progress_is_forwarded_with_the_token_of_the_client() {
        let own = ProgressToken::for_request(7);
        let own = own.get();
        // A server may use the token as a key too.
        let params = format!(
            r#"{{{own}:1, "progressToken" : {own} ,"progress":2.5,"total":5,"message":"half"}}"#
        );
        let progress = read_progress(&params).expect("progress");
        assert_eq!((progress.progress, progress.total), (Some(2.5), Some(5.0)));
        assert_eq!(progress.message.as_deref(), Some("half"));
        let token = ProgressToken(json::raw(r#""a b""#.into()).into());
        assert_eq!(
            progress.params_with_token(&token),
            format!(
                r#"{{{own}:1, "progressToken" : "a b" ,"progress":2.5,"total":5,"message":"half"}}"#
            )
        );
        let repeated = format!(r#"{{"progressToken":{own},"progress":1,"progress":2}}"#);
        assert!(read_progress(&repeated).is_none());
        let no_number = format!(r#"{{"progressToken":{own},"progress":"2"}}"#);
        assert_eq!(read_progress(&no_number).expect("progress").progress, None);
    }
}
