//! What a message of the modern era says in its `_meta`: who asks, in which revision, with which capabilities.
//!
//! Inside, params have none of it: it is taken out where a request comes in, and put in where one goes out to a
//! server of that era. So a decision about a call is about the call, whoever's revision it came in.

use serde_json::value::RawValue;

use super::{
    capabilities::{ClientCapabilities, LogLevel},
    handshake::{self, ClientHello},
    revision::{self, Era},
};
use crate::model::{
    json::{self, RawObject},
    rpc::{RpcError, code},
};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The headers do not say what the body says.
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a capability that the client did not name.
pub const MISSING_CAPABILITY: i64 = -32021;
/// The request names a revision that the server does not speak.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// What a request of the modern era says of itself.
#[derive(Debug, Clone)]
pub struct RequestMeta {
    pub hello: ClientHello,
    /// From which level on the client wants log messages; none where it wants none.
    pub log_level: Option<LogLevel>,
}

/// The revision that a request names in its `_meta`; none for one of the era with sessions.
pub fn version_of(params: Option<&RawValue>) -> Option<String> {
    let params = params.filter(|params| json::mentions(params, VERSION))?;
    let meta = RawObject::parse(params).ok()?.get("_meta")?.to_owned();
    let version = RawObject::parse(&meta).ok()?.get(VERSION)?.to_owned();
    Some(serde_json::from_str(version.get()).unwrap_or_else(|_| version.get().to_owned()))
}

/// Takes what a request says of itself out of its params.
///
/// # Errors
/// `-32602` where something that must be there is missing or is not what it must be, `-32022` for a revision that
/// Drawbridge does not speak this way.
pub fn take(params: Option<&RawValue>) -> Result<(RequestMeta, Box<RawValue>), RpcError> {
    let invalid = |why: &str| RpcError::new(code::INVALID_PARAMS, format!("params._meta: {why}"));
    let mut params = params
        .map(RawObject::parse)
        .transpose()
        .map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("params: {e}")))?
        .unwrap_or_default();
    let meta = params.get("_meta").ok_or_else(|| invalid("it is missing"))?.to_owned();
    let mut meta = RawObject::parse(&meta).map_err(|e| invalid(&e.to_string()))?;
    let protocol_version = meta.string(VERSION).ok_or_else(|| invalid(&format!("'{VERSION}' must be a string")))?;
    if protocol_version != revision::MODERN {
        return Err(unsupported(&protocol_version));
    }
    let capabilities = meta.get(CLIENT_CAPABILITIES).filter(|raw| raw.get().starts_with('{'));
    let capabilities = capabilities.ok_or_else(|| invalid(&format!("'{CLIENT_CAPABILITIES}' must be an object")))?;
    let log_level = meta.get(LOG_LEVEL).map(|_| LogLevel::in_object(&meta, LOG_LEVEL)).transpose()?;
    let hello = ClientHello {
        protocol_version,
        era: Era::Modern,
        info: meta.get(CLIENT_INFO).map(ToOwned::to_owned),
        capabilities: ClientCapabilities::read(capabilities),
    };
    [VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL].into_iter().for_each(|key| meta.remove(key));
    set_meta(&mut params, &meta);
    Ok((RequestMeta { hello, log_level }, params.to_raw()))
}

/// `-32022` with the revisions that Drawbridge speaks.
pub fn unsupported(requested: &str) -> RpcError {
    let data = serde_json::json!({ "supported": revision::all().collect::<Vec<_>>(), "requested": requested });
    RpcError {
        data: Some(json::to_raw(&data)),
        ..RpcError::new(UNSUPPORTED_VERSION, format!("Unsupported protocol version: {requested}"))
    }
}

/// Puts into params what a server of the modern era must be told: of this client, or of Drawbridge itself.
pub fn put(params: &mut RawObject<'_>, client: Option<&ClientHello>, log_level: Option<LogLevel>) {
    change(params, |meta| {
        // What a client of the other era may have written there is not for the server to believe.
        let info = client.and_then(|client| client.info.clone());
        meta.set(VERSION, json::raw(json::string(revision::MODERN)));
        meta.set(CLIENT_INFO, info.unwrap_or_else(|| json::to_raw(&handshake::own_info())));
        let none = json::raw("{}".into());
        meta.set(CLIENT_CAPABILITIES, client.map_or(none, |client| client.capabilities.raw().to_owned()));
        match log_level {
            Some(level) => meta.set(LOG_LEVEL, json::raw(json::string(level.as_str()))),
            None => meta.remove(LOG_LEVEL),
        }
    });
}

/// Puts Drawbridge's own progress token into params: the id of the request.
pub fn put_progress_token(params: &mut RawObject<'_>, id: u64) {
    change(params, |meta| meta.set("progressToken", json::raw(id.to_string())));
}

/// The params of a notification with the id of the subscription that it belongs to.
pub fn of_subscription(params: Option<&RawValue>, id: &RawValue) -> Box<RawValue> {
    let mut params = params.and_then(|params| RawObject::parse(params).ok()).unwrap_or_default();
    change(&mut params, |meta| meta.set(SUBSCRIPTION, id.to_owned()));
    params.to_raw()
}

/// The same notification as servers of the other era send it.
pub fn without_subscription(params: &RawValue) -> Box<RawValue> {
    let Ok(mut object) = RawObject::parse(params) else { return params.to_owned() };
    let Some(meta) = object.get("_meta").map(ToOwned::to_owned) else { return params.to_owned() };
    let Ok(mut meta) = RawObject::parse(&meta) else { return params.to_owned() };
    meta.remove(SUBSCRIPTION);
    set_meta(&mut object, &meta);
    object.to_raw()
}

/// The result of a subscription that ends since Drawbridge does.
pub fn subscription_over(id: &RawValue) -> Box<RawValue> {
    json::raw(format!(r#"{{"resultType":"complete","_meta":{{"{SUBSCRIPTION}":{}}}}}"#, id.get()))
}

/// Changes what `_meta` holds; where there is none, or none that can be read, it begins empty.
fn change(params: &mut RawObject<'_>, change: impl FnOnce(&mut RawObject<'_>)) {
    let meta = params.get("_meta").map_or_else(|| json::raw("{}".into()), ToOwned::to_owned);
    let mut meta = RawObject::parse(&meta).unwrap_or_default();
    change(&mut meta);
    set_meta(params, &meta);
}

/// Puts `_meta` back where something is left in it.
fn set_meta(params: &mut RawObject<'_>, meta: &RawObject<'_>) {
    if meta.keys().next().is_none() {
        params.remove("_meta");
    } else {
        params.set("_meta", meta.to_raw());
    }
}

#[cfg(test)]
mod tests;
