//! The token under which a request gets progress.

use std::sync::Arc;

use drawbridge_jsonrpc::json::{self, RawObject};
use serde_json::value::RawValue;

/// The member of `_meta`, and of the params of `notifications/progress`, that holds the token.
pub(super) const MEMBER: &str = "progressToken";

/// A progress token, as its sender wrote it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ProgressToken(Arc<RawValue>);

impl ProgressToken {
    /// Returns the token under which Drawbridge asks a server for progress: the id of the request.
    pub fn for_request(id: u64) -> Self {
        Self(json::raw(id.to_string()).into())
    }

    /// Returns the token in the `_meta` of a request.
    pub fn read(params: &RawObject<'_>) -> Option<Self> {
        let meta = RawObject::parse(params.get("_meta")?).ok()?;
        Some(Self(meta.get(MEMBER)?.to_owned().into()))
    }

    /// Removes the token from the `_meta` of a request, and returns it. Drawbridge sends the server
    /// a token of its own.
    pub fn take_from(params: &mut RawObject<'_>) -> Option<Self> {
        let meta = params.get("_meta")?.to_owned();
        let mut members = RawObject::parse(&meta).ok()?;
        let token = members.get(MEMBER)?.to_owned();
        members.remove(MEMBER);
        if members.keys().next().is_none() {
            params.remove("_meta");
        } else {
            let members = members.to_raw();
            params.set("_meta", members);
        }
        Some(Self(token.into()))
    }

    /// Returns the id of Drawbridge's request to which the params of a server's
    /// `notifications/progress` belong.
    pub fn read_request_id(progress: &RawObject<'_>) -> Option<u64> {
        progress.get(MEMBER)?.get().parse().ok()
    }

    /// Replaces the token in the params of a `notifications/progress`.
    pub fn put_into(&self, progress: &mut RawObject<'_>) {
        progress.set(MEMBER, (*self.0).to_owned());
    }

    /// Returns the params of Drawbridge's own `notifications/progress` for a request that is not
    /// sent yet. Progress must increase, so each value is 1e-6 higher than the one before, and
    /// leaves room for the server's own progress.
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
