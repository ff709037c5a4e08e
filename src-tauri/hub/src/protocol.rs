//! The only code that knows the revisions of the protocol, and how to carry a message from one to another.
//!
//! There are two eras ([`Era`]): with sessions, begun by `initialize`, and without. [`handshake`] and [`meta`] are how
//! a peer introduces itself in the one and in the other; [`translate`] is what differs between them; [`input`] is how
//! a server of the modern era asks a client; [`headers`] is what it wants repeated outside the body; [`tasks`] are calls that go on by themselves.

mod capabilities;
pub mod handshake;
pub mod headers;
pub mod input;
pub mod meta;
mod revision;
pub mod tasks;
pub mod translate;

pub use capabilities::{ClientCapabilities, LogLevel, ServerCapabilities};
pub use handshake::{ClientHello, Implementation, ServerHello};
pub use meta::RequestMeta;
pub use revision::Era;

use serde_json::value::RawValue;

use crate::model::{
    json::RawObject,
    rpc::{RpcError, code},
    spec::{ServerSpec, SpecError, TransportKind},
};

/// Whether `revision` is one that a client may name in `MCP-Protocol-Version`.
pub fn is_known(revision: &str) -> bool {
    Era::of(revision).is_some()
}

/// Checks a spec, with the revision that it names for its server.
///
/// # Errors
/// Returns the first contradiction among its fields, or an error that names the possible revisions if Drawbridge does
/// not speak this one over the spec's transport.
pub fn check_spec(spec: &ServerSpec) -> Result<(), SpecError> {
    spec.check()?;
    let Some(found) = &spec.protocol_version else {
        return Ok(());
    };
    let mut known: Vec<_> = revision::all().collect();
    if spec.transport == Some(TransportKind::Sse) {
        known.retain(|revision| Era::of(revision) == Some(Era::Legacy));
    }
    if known.contains(&found.as_str()) {
        return Ok(());
    }
    Err(SpecError::UnknownRevision {
        found: found.clone(),
        known: known.join(", "),
    })
}

/// Whether a client of that revision may send several messages at once: a later one took that back.
pub fn has_batches(revision: &str) -> bool {
    revision == "2025-03-26"
}

/// Refuses a list request that continues at a cursor. Drawbridge answers every list in one page, so it never gave one
/// out. An empty string is a cursor like any other (2026-07-28); null is none.
///
/// # Errors
/// Returns `-32602` if `params` has a cursor.
pub fn refuse_cursor(method: &str, params: Option<&RawValue>) -> Result<(), RpcError> {
    let params = params
        .and_then(|params| RawObject::parse(params).ok())
        .unwrap_or_default();
    match params.get("cursor").map(RawValue::get) {
        None | Some("null") => Ok(()),
        Some(_) => Err(RpcError::new(
            code::INVALID_PARAMS,
            format!("{method}: the cursor is unknown"),
        )),
    }
}
