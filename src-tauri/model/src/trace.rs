//! The W3C trace context that requests carry in `_meta` (`traceparent`, `tracestate`), so that the
//! spans of all programs that handle a request belong to one trace.
//! <https://www.w3.org/TR/trace-context/>

use std::fmt;

use drawbridge_jsonrpc::json::{self, RawObject};
use serde_json::value::RawValue;

use crate::random;

/// The member of `_meta` that names the trace and the span of the sender.
pub const TRACEPARENT: &str = "traceparent";

/// The trace and the id of a span. The span's children, in this program or in the next, need both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    /// Whether the sender records its span.
    pub is_sampled: bool,
}

impl TraceContext {
    /// Returns the context of the first span of a new trace.
    pub fn new_root() -> Self {
        Self {
            trace_id: random::bytes(),
            span_id: random::bytes(),
            is_sampled: true,
        }
    }

    /// Returns the context of a new span in the same trace.
    #[must_use]
    pub fn new_child(self) -> Self {
        Self {
            span_id: random::bytes(),
            ..self
        }
    }

    /// Reads a `traceparent`. Returns `None` if the text is malformed. The receiver then begins a
    /// new trace.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let [version, trace_id, span_id, flags] = std::array::from_fn(|_| parts.next());
        let version = read_hex::<1>(version?)?;
        // A later version may have more parts. Version 0 has exactly four, and version 255 is
        // invalid.
        if version == [0xff] || version == [0] && parts.next().is_some() {
            return None;
        }
        let context = Self {
            trace_id: read_hex(trace_id?)?,
            span_id: read_hex(span_id?)?,
            is_sampled: read_hex::<1>(flags?)?[0] & 1 == 1,
        };
        (context.trace_id != [0; 16] && context.span_id != [0; 8]).then_some(context)
    }

    /// Returns the context in the `_meta` of a request's params, if there is a valid one.
    pub fn read(params: Option<&RawValue>) -> Option<Self> {
        let params = params.filter(|params| json::mentions(*params, TRACEPARENT))?;
        let params = RawObject::parse(params).ok()?;
        let meta = RawObject::parse(params.get("_meta")?).ok()?;
        Self::parse(&meta.get_string(TRACEPARENT)?)
    }

    /// Returns the `tracestate` in the `_meta` of a request's params, or an empty text.
    pub fn read_state(params: Option<&RawValue>) -> String {
        let read = |params: &RawValue| {
            let params = RawObject::parse(params).ok()?;
            let meta = RawObject::parse(params.get("_meta")?).ok()?;
            meta.get_string("tracestate")
        };
        params.and_then(read).unwrap_or_default()
    }
}

/// Writes a `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [trace_id, span_id] = [hex::encode(self.trace_id), hex::encode(self.span_id)];
        write!(f, "00-{trace_id}-{span_id}-0{}", u8::from(self.is_sampled))
    }
}

/// Reads lower-case hex digits.
fn read_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let mut bytes = [0; N];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_is_read_and_written_unchanged() {
        let context = TraceContext::parse(PARENT).expect("valid");
        assert!(context.is_sampled);
        assert_eq!(context.to_string(), PARENT);
        let child = context.new_child();
        assert_eq!(child.trace_id, context.trace_id);
        assert_ne!(child.span_id, context.span_id);
        let unsampled = TraceContext::parse(&PARENT.replace("-01", "-00")).expect("valid");
        assert!(!unsampled.is_sampled);
    }

    #[test]
    fn a_malformed_traceparent_is_ignored() {
        for text in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c8031-b7ad6b7169203331-01",
        ] {
            assert_eq!(TraceContext::parse(text), None, "{text}");
        }
        let later = format!("{}-more", PARENT.replacen("00", "01", 1));
        assert!(TraceContext::parse(&later).is_some(), "a later version");
    }

    #[test]
    fn the_context_is_found_in_the_meta_of_the_params_only() {
        let read = |params: &str| {
            let params = json::raw(params.replace("PARENT", PARENT));
            TraceContext::read(Some(&params))
        };
        assert!(read(r#"{"_meta":{"traceparent":"PARENT"}}"#).is_some());
        assert_eq!(read(r#"{"traceparent":"PARENT"}"#), None);
        assert_eq!(read(r#"{"_meta":{"traceparent":7}}"#), None);
        assert_eq!(TraceContext::read(None), None);
    }
}
