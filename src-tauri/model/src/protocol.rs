//! The only code that knows the revisions of the protocol, and how to translate between them.
//!
//! There are two eras ([`Era`]): legacy, with `initialize` and sessions, and modern, which is
//! stateless.
//!
//! | module | purpose |
//! |---|---|
//! | [`handshake`] | how peers introduce themselves with `initialize` and `server/discover` |
//! | [`meta`] | how a modern client introduces itself with each request |
//! | [`translate`] | converts results, errors and requests between the eras |
//! | [`input`] | multi round-trip requests: `input_required` and the retry of a request |
//! | [`headers`] | the headers that repeat parts of a modern request |
//! | [`tasks`] | calls that a server answers with a task |
//! | [`guarded`] | the methods whose requests the policy decides |

mod capabilities;
mod extensions;
pub mod guarded;
pub mod handshake;
pub mod headers;
mod hello;
pub mod input;
pub mod meta;
mod progress;
mod revision;
pub mod tasks;
pub mod translate;

use drawbridge_jsonrpc::{
    json::RawObject,
    rpc::{RpcError, code},
};
use serde_json::value::RawValue;

pub use capabilities::{ClientCapabilities, LogLevel, OwnCapabilities, ServerCapabilities};
pub use extensions::Extensions;
pub use handshake::InitializeError;
pub use hello::{ClientHello, Implementation, ServerHello};
pub use meta::RequestMeta;
pub use progress::{ProgressToken, ServerProgress};
pub use revision::{Era, NEWEST_LEGACY};

use crate::spec::{ServerSpec, SpecError, TransportKind};

/// Returns whether a client may name `revision` in `MCP-Protocol-Version`.
pub fn is_known_revision(revision: &str) -> bool {
    Era::from_revision(revision).is_some()
}

/// Checks a spec, including the revision that it names for its server.
///
/// # Errors
/// Returns an error if [`ServerSpec::check`] does, or if Drawbridge does not support the named
/// revision over the spec's transport. The latter error names the possible revisions.
pub fn check_spec(spec: &ServerSpec) -> Result<(), SpecError> {
    spec.check()?;
    let Some(found) = &spec.protocol_version else {
        return Ok(());
    };
    let mut supported: Vec<_> = revision::all().collect();
    if spec.transport == Some(TransportKind::Sse) {
        supported.retain(|revision| Era::from_revision(revision) == Some(Era::Legacy));
    }
    if supported.contains(&found.as_str()) {
        return Ok(());
    }
    Err(SpecError::UnknownRevision {
        found: found.clone(),
        supported: supported.join(", "),
    })
}

/// Returns whether clients of a revision may send JSON-RPC batches. Revision 2025-03-26 introduced
/// them, and 2025-06-18 removed them.
pub fn supports_batches(revision: &str) -> bool {
    revision == "2025-03-26"
}

/// Rejects a list request that continues at a cursor. Drawbridge answers every list in one page,
/// and never issues a cursor. An empty string is a cursor too (2026-07-28), but null is not.
///
/// # Errors
/// Returns an error (`-32602`) if `params` has a cursor.
pub fn reject_cursor(method: &str, params: Option<&RawValue>) -> Result<(), RpcError> {
    let params = params
        .and_then(|params| RawObject::parse(params).ok())
        .unwrap_or_default();
    match params.get("cursor").map(RawValue::get) {
        None | Some("null") => Ok(()),
        Some(_) => Err(RpcError::new(
            code::INVALID_PARAMS,
            format!("{method}: the cursor is unknown. Request the list without a cursor"),
        )),
    }
}
