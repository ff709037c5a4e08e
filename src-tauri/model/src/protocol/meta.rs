//! The `_meta` of modern messages: the client with its revision, its capabilities and its log
//! level, and the subscription to which a notification belongs.
//!
//! The hub takes the members about the client out of the params of its request, and adds them to a
//! request that the hub sends to a modern server. A decision about a call therefore does not depend
//! on the client's revision.

use std::{borrow::Cow, sync::LazyLock};

use drawbridge_jsonrpc::{
    json::{self, RawObject},
    rpc::{RpcError, code},
};
use serde_json::value::RawValue;

use super::progress::{self, ProgressToken};
use super::{
    capabilities::{ClientCapabilities, LogLevel},
    extensions::Extensions,
    hello::{self, ClientHello},
    revision::{self, Era},
};
use crate::trace::{TRACEPARENT, TraceContext};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// [`revision::MODERN`] as JSON.
const MODERN_TEXT: &str = "\"2026-07-28\"";

/// Error code: the headers contradict the body.
pub const HEADER_MISMATCH: i64 = -32020;
/// Error code: the request needs a capability that the client did not declare.
pub const MISSING_CAPABILITY: i64 = -32021;
/// Error code: the request names a revision that the server does not support.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Returns whether an error rejects a revision and names the modern revision among the
/// supported revisions.
pub fn names_modern_revision(error: &RpcError) -> bool {
    #[derive(serde::Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    let data = error
        .data
        .as_ref()
        .filter(|_| error.code == UNSUPPORTED_VERSION);
    let data = data.and_then(|data| serde_json::from_str::<Data>(data.get()).ok());
    data.is_some_and(|data| {
        data.supported
            .iter()
            .any(|version| version == revision::MODERN)
    })
}

/// The introduction in the `_meta` of a modern request.
#[derive(Debug, Clone)]
pub struct RequestMeta {
    pub hello: ClientHello,
    /// The lowest level of log messages that the client wants; `None` if it wants no messages.
    pub log_level: Option<LogLevel>,
}

/// Returns the revision that a request names in its `_meta`, or `None` for a legacy request.
pub fn named_revision(params: Option<&RawValue>) -> Option<String> {
    // Looks for `_meta` first: most legacy requests lack it, and a short text is found faster.
    let params = params
        .filter(|params| json::mentions(*params, "_meta") && json::mentions(*params, VERSION))?;
    find_revision(&RawObject::parse(params).ok()?)
}

/// Returns the revision that params name in their `_meta`.
pub fn find_revision(params: &RawObject<'_>) -> Option<String> {
    let meta = RawObject::parse(params.get("_meta")?).ok()?;
    let version = meta.get(VERSION)?.get();
    Some(serde_json::from_str(version).unwrap_or_else(|_| version.to_owned()))
}

/// Parses the params of a request. Missing params are an empty object.
///
/// # Errors
/// Returns an error (`-32602`) if the params are not an object, or if a key occurs twice.
pub fn parse_params(params: Option<&RawValue>) -> Result<RawObject<'_>, RpcError> {
    let params = params.map(RawObject::parse).transpose();
    params
        .map(Option::unwrap_or_default)
        .map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("params: {e}")))
}

/// Takes the client's introduction out of the params.
///
/// # Errors
/// Returns an error (`-32602`) if a required member is missing or a member has the wrong type, or
/// if the introduction is longer than 64 KiB. Returns an error (`-32022`) if the request names
/// a revision other than the modern one.
pub fn take_request_meta(params: &mut RawObject<'_>) -> Result<RequestMeta, RpcError> {
    let invalid =
        |reason: &str| RpcError::new(code::INVALID_PARAMS, format!("params._meta: {reason}"));
    let meta = params
        .get("_meta")
        .ok_or_else(|| invalid("this member is missing"))?
        .to_owned();
    let mut meta = RawObject::parse(&meta).map_err(|e| invalid(&e.to_string()))?;
    let protocol_version = meta
        .get_string(VERSION)
        .ok_or_else(|| invalid(&format!("'{VERSION}' must be a string")))?;
    if protocol_version != revision::MODERN {
        return Err(unsupported_revision(&protocol_version));
    }
    let capabilities = meta
        .get(CLIENT_CAPABILITIES)
        .filter(|raw| raw.get().starts_with('{'));
    let capabilities = capabilities
        .ok_or_else(|| invalid(&format!("'{CLIENT_CAPABILITIES}' must be an object")))?;
    let log_level = meta
        .get(LOG_LEVEL)
        .map(|_| LogLevel::from_member(&meta, LOG_LEVEL))
        .transpose()?;
    let info_length = meta.get(CLIENT_INFO).map_or(0, |info| info.get().len());
    ClientHello::check_length("params._meta", info_length + capabilities.get().len())?;
    let hello = ClientHello {
        protocol_version,
        era: Era::Modern,
        info: meta.get(CLIENT_INFO).map(ToOwned::to_owned),
        capabilities: ClientCapabilities::read(capabilities),
    };
    [VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL]
        .into_iter()
        .for_each(|key| meta.remove(key));
    set_meta(params, &meta);
    Ok(RequestMeta { hello, log_level })
}

/// Returns the error `-32022` with the revisions that Drawbridge supports.
pub fn unsupported_revision(requested: &str) -> RpcError {
    let data = serde_json::json!({ "supported": revision::all().collect::<Vec<_>>(), "requested": requested });
    RpcError {
        data: Some(json::to_raw(&data)),
        ..RpcError::new(
            UNSUPPORTED_VERSION,
            format!("Unsupported protocol version: {requested}"),
        )
    }
}

/// The members that Drawbridge adds to the `_meta` of a request to a server.
#[derive(Debug, Clone, Copy, Default)]
pub struct OutgoingMeta<'a> {
    /// Whether the server is modern, so that it needs the client's introduction with each request.
    pub is_modern: bool,
    /// The client whose request is sent; `None` for a request of Drawbridge itself.
    pub client: Option<&'a ClientHello>,
    /// The extensions of Drawbridge's clients, for a request of Drawbridge itself.
    pub own_extensions: Option<&'a Extensions>,
    /// The capabilities of the client together with those of Drawbridge; `None` if only the
    /// client's capabilities are declared.
    pub capabilities: Option<&'a RawValue>,
    pub log_level: Option<LogLevel>,
    /// Drawbridge's own progress token; `None` if no progress is wanted.
    pub progress_token: Option<&'a ProgressToken>,
    /// The span of the request to the server; `None` if Drawbridge records no span for it. The
    /// client's `traceparent` then stays as it is.
    pub trace: Option<TraceContext>,
}

/// Returns the params with the members of `outgoing` in their `_meta`, as JSON text.
///
/// # Errors
/// Returns an error if the params are not a JSON object that can be read.
pub fn add_meta(
    params: Option<&RawValue>,
    outgoing: &OutgoingMeta<'_>,
) -> Result<String, serde_json::Error> {
    // Most params have no `_meta` in any spelling and need not be parsed.
    let is_plain = params.is_none_or(|params| !json::mentions(params, r#""_meta""#));
    let params = params.map_or("{}", RawValue::get);
    let members = params
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    let Some(members) = members.filter(|_| is_plain) else {
        return merge_meta(params, outgoing);
    };
    let members = members.trim_end();
    let comma = if members.trim_start().is_empty() {
        ""
    } else {
        ","
    };
    let mut text = String::with_capacity(params.len() + 512);
    for part in ["{", members, comma, r#""_meta":{"#] {
        text.push_str(part);
    }
    for (index, (key, value)) in outgoing.members().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        for part in [comma, "\"", key, "\":", &value] {
            text.push_str(part);
        }
    }
    text.push_str("}}");
    Ok(text)
}

/// Returns the params of a request that Drawbridge itself sends to a modern server, with nothing
/// but `_meta`.
pub fn own_params(extensions: &Extensions) -> String {
    add_meta(
        None,
        &OutgoingMeta {
            is_modern: true,
            own_extensions: Some(extensions),
            ..OutgoingMeta::default()
        },
    )
    .expect("an empty object can be read")
}

fn merge_meta(params: &str, outgoing: &OutgoingMeta<'_>) -> Result<String, serde_json::Error> {
    let mut params: RawObject<'_> = serde_json::from_str(params)?;
    update_meta(&mut params, |meta| {
        // A legacy client may have set this member. The server must not use the client's level.
        if outgoing.is_modern {
            meta.remove(LOG_LEVEL);
        }
        for (key, value) in outgoing.members() {
            meta.set(key, json::raw(value.into_owned()));
        }
    });
    Ok(params.to_raw().get().to_owned())
}

impl OutgoingMeta<'_> {
    /// Returns the members of `_meta`: keys that need no escapes, and values as JSON text.
    fn members(&self) -> impl Iterator<Item = (&'static str, Cow<'_, str>)> {
        static OWN_INFO: LazyLock<String> = LazyLock::new(|| hello::own_info().to_string());
        let info = self
            .client
            .and_then(|client| client.info.as_ref())
            .map_or(OWN_INFO.as_str(), |info| info.get());
        let own_extensions = self.own_extensions.filter(|own| !own.is_empty());
        let client_capabilities = self.client.map(|client| client.capabilities.raw());
        let capabilities: Cow<'_, str> =
            match (self.capabilities.or(client_capabilities), own_extensions) {
                (Some(capabilities), _) => capabilities.get().into(),
                (None, Some(own)) => format!(r#"{{"extensions":{}}}"#, own.to_json()).into(),
                (None, None) => "{}".into(),
            };
        let era_members = [
            (VERSION, MODERN_TEXT.into()),
            (CLIENT_INFO, info.into()),
            (CLIENT_CAPABILITIES, capabilities),
        ];
        let era_members = era_members.into_iter().filter(|_| self.is_modern);
        let level = self
            .log_level
            .filter(|_| self.is_modern)
            .map(|level| (LOG_LEVEL, json::quote(level.as_str()).into()));
        let token = self
            .progress_token
            .map(|token| (progress::MEMBER, token.get().into()));
        let parent = self
            .trace
            .map(|trace| (TRACEPARENT, json::quote(&trace.to_string()).into()));
        era_members.chain(level).chain(token).chain(parent)
    }
}

/// Returns the params of a notification with the id of the subscription to which it belongs.
pub fn with_subscription_id(params: Option<&RawValue>, id: &RawValue) -> Box<RawValue> {
    let mut params = params
        .and_then(|params| RawObject::parse(params).ok())
        .unwrap_or_default();
    update_meta(&mut params, |meta| meta.set(SUBSCRIPTION, id.to_owned()));
    params.to_raw()
}

/// Returns the params of a notification as legacy servers send it: without the id of the
/// subscription.
pub fn without_subscription_id(params: &RawValue) -> Box<RawValue> {
    let Ok(mut object) = RawObject::parse(params) else {
        return params.to_owned();
    };
    let Some(meta) = object.get("_meta").map(ToOwned::to_owned) else {
        return params.to_owned();
    };
    let Ok(mut meta) = RawObject::parse(&meta) else {
        return params.to_owned();
    };
    meta.remove(SUBSCRIPTION);
    set_meta(&mut object, &meta);
    object.to_raw()
}

/// Returns the result of a subscription that ends because Drawbridge shuts down.
pub fn subscription_ended_result(id: &RawValue) -> Box<RawValue> {
    json::raw(format!(
        r#"{{"resultType":"complete","_meta":{{"{SUBSCRIPTION}":{}}}}}"#,
        id.get()
    ))
}

/// Changes `_meta`, or an empty object if `_meta` is missing or cannot be read.
fn update_meta(params: &mut RawObject<'_>, change: impl FnOnce(&mut RawObject<'_>)) {
    let meta = params
        .get("_meta")
        .map_or_else(|| json::raw("{}".into()), ToOwned::to_owned);
    let mut meta = RawObject::parse(&meta).unwrap_or_default();
    change(&mut meta);
    set_meta(params, &meta);
}

/// Sets `_meta`, or removes it if it has become empty.
fn set_meta(params: &mut RawObject<'_>, meta: &RawObject<'_>) {
    if meta.keys().next().is_none() {
        params.remove("_meta");
    } else {
        params.set("_meta", meta.to_raw());
    }
}

#[cfg(test)]
mod tests;
