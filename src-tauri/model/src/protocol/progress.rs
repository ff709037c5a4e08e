//! Progress tokens, which say to which request a progress notification belongs.

use std::{
    hash::{BuildHasher, RandomState},
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

    /// Returns the id of Drawbridge's request to which the params of a server's
    /// `notifications/progress` belong, or `None` if Drawbridge did not make the token.
    pub fn read_request_id(progress: &RawObject<'_>) -> Option<u64> {
        let token = progress.get(MEMBER)?;
        let (id, _) = token.get().strip_prefix('"')?.split_once('-')?;
        let id = id.parse().ok()?;
        (Self::for_request(id).get() == token.get()).then_some(id)
    }

    /// Replaces the token in the params of a `notifications/progress`.
    pub fn put_into(&self, progress: &mut RawObject<'_>) {
        progress.set(MEMBER, (*self.0).to_owned());
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

    #[test]
    fn only_a_token_of_drawbridge_names_a_request() {
        let read = |token: &str| {
            let progress = json::raw(format!(r#"{{"progressToken":{token},"progress":1}}"#));
            let progress = RawObject::parse(&progress).expect("an object");
            ProgressToken::read_request_id(&progress)
        };
        assert_eq!(read(ProgressToken::for_request(7).get()), Some(7));
        let of_another_request = ProgressToken::for_request(8).get().replace("8-", "7-");
        for token in [
            "7",
            r#""7""#,
            r#""7-""#,
            r#""7-0000000000000000""#,
            &of_another_request,
        ] {
            assert_eq!(read(token), None, "{token}");
        }
    }
}
