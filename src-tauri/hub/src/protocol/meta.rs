//! What a message of the modern era says in its `_meta`: who asks, in which revision, with which capabilities.
//!
//! Inside, params have none of it: it is taken out where a request comes in, and put in where one goes out to a
//! server of that era. So a decision about a call is about the call, whoever's revision it came in.

use std::{borrow::Cow, sync::LazyLock};

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
/// [`revision::MODERN`] as JSON.
const MODERN_TEXT: &str = "\"2026-07-28\"";

/// The headers do not say what the body says.
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a capability that the client did not name.
pub const MISSING_CAPABILITY: i64 = -32021;
/// The request names a revision that the server does not speak.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Whether a server refuses a revision, and names the modern one among those that it supports.
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

/// What a request of the modern era says of itself.
#[derive(Debug, Clone)]
pub struct RequestMeta {
    pub hello: ClientHello,
    /// From which level on the client wants log messages; none where it wants none.
    pub log_level: Option<LogLevel>,
}

/// The revision that a request names in its `_meta`; none for one of the era with sessions.
pub fn version_of(params: Option<&RawValue>) -> Option<String> {
    let params = params.filter(|params| json::mentions(*params, VERSION))?;
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
    let meta = params
        .get("_meta")
        .ok_or_else(|| invalid("it is missing"))?
        .to_owned();
    let mut meta = RawObject::parse(&meta).map_err(|e| invalid(&e.to_string()))?;
    let protocol_version = meta
        .string(VERSION)
        .ok_or_else(|| invalid(&format!("'{VERSION}' must be a string")))?;
    if protocol_version != revision::MODERN {
        return Err(unsupported(&protocol_version));
    }
    let capabilities = meta
        .get(CLIENT_CAPABILITIES)
        .filter(|raw| raw.get().starts_with('{'));
    let capabilities = capabilities
        .ok_or_else(|| invalid(&format!("'{CLIENT_CAPABILITIES}' must be an object")))?;
    let log_level = meta
        .get(LOG_LEVEL)
        .map(|_| LogLevel::in_object(&meta, LOG_LEVEL))
        .transpose()?;
    let hello = ClientHello {
        protocol_version,
        era: Era::Modern,
        info: meta.get(CLIENT_INFO).map(ToOwned::to_owned),
        capabilities: ClientCapabilities::read(capabilities),
    };
    [VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL]
        .into_iter()
        .for_each(|key| meta.remove(key));
    set_meta(&mut params, &meta);
    Ok((RequestMeta { hello, log_level }, params.to_raw()))
}

/// `-32022` with the revisions that Drawbridge speaks.
pub fn unsupported(requested: &str) -> RpcError {
    let data = serde_json::json!({ "supported": revision::all().collect::<Vec<_>>(), "requested": requested });
    RpcError {
        data: Some(json::to_raw(&data)),
        ..RpcError::new(
            UNSUPPORTED_VERSION,
            format!("Unsupported protocol version: {requested}"),
        )
    }
}

/// What a request says to a server beside what it asks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told<'a> {
    /// Whether the server is of the modern era, and must be told who asks.
    pub modern: bool,
    /// Who asks; none for Drawbridge itself.
    pub client: Option<&'a ClientHello>,
    pub log_level: Option<LogLevel>,
    /// Drawbridge's own, where progress is wanted: the id of the request.
    pub progress_token: Option<u64>,
}

/// The params with what the server is told in `_meta`, as JSON text.
///
/// # Errors
/// Where the params are no object that can be read.
pub fn put(params: Option<&RawValue>, told: &Told<'_>) -> Result<String, serde_json::Error> {
    let params = params.map_or("{}", RawValue::get);
    let members = params
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    // Most params have no `_meta`, however it may be written: then they need not be understood.
    let is_plain = !params.contains(r#""_meta""#) && !params.contains(r"\u");
    let Some(members) = members.filter(|_| is_plain) else {
        return put_into(params, told);
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
    for (index, (key, value)) in told.members().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        for part in [comma, "\"", key, "\":", &value] {
            text.push_str(part);
        }
    }
    text.push_str("}}");
    Ok(text)
}

/// The params of a request of Drawbridge's own to a server of the modern era, where there is nothing else to say.
pub fn own_params() -> String {
    put(
        None,
        &Told {
            modern: true,
            ..Told::default()
        },
    )
    .unwrap_or_default()
}

fn put_into(params: &str, told: &Told<'_>) -> Result<String, serde_json::Error> {
    let mut params: RawObject<'_> = serde_json::from_str(params)?;
    change(&mut params, |meta| {
        // What a client of the other era may have written there is not for the server to believe.
        if told.modern {
            meta.remove(LOG_LEVEL);
        }
        for (key, value) in told.members() {
            meta.set(key, json::raw(value.into_owned()));
        }
    });
    Ok(params.to_raw().get().to_owned())
}

impl Told<'_> {
    /// The members of `_meta`: keys that need no escapes, and values as JSON text.
    fn members(&self) -> impl Iterator<Item = (&'static str, Cow<'_, str>)> {
        static OWN_INFO: LazyLock<String> = LazyLock::new(|| handshake::own_info().to_string());
        let info = self
            .client
            .and_then(|client| client.info.as_ref())
            .map_or(OWN_INFO.as_str(), |info| info.get());
        let capabilities = self
            .client
            .map_or("{}", |client| client.capabilities.raw().get());
        let of_era = [
            (VERSION, MODERN_TEXT),
            (CLIENT_INFO, info),
            (CLIENT_CAPABILITIES, capabilities),
        ];
        let of_era = of_era
            .into_iter()
            .filter(|_| self.modern)
            .map(|(key, value)| (key, Cow::Borrowed(value)));
        let level = self
            .log_level
            .filter(|_| self.modern)
            .map(|level| (LOG_LEVEL, json::string(level.as_str()).into()));
        let token = self
            .progress_token
            .map(|token| ("progressToken", token.to_string().into()));
        of_era.chain(level).chain(token)
    }
}

/// The params of a notification with the id of the subscription that it belongs to.
pub fn of_subscription(params: Option<&RawValue>, id: &RawValue) -> Box<RawValue> {
    let mut params = params
        .and_then(|params| RawObject::parse(params).ok())
        .unwrap_or_default();
    change(&mut params, |meta| meta.set(SUBSCRIPTION, id.to_owned()));
    params.to_raw()
}

/// The same notification as servers of the other era send it.
pub fn without_subscription(params: &RawValue) -> Box<RawValue> {
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

/// The result of a subscription that ends since Drawbridge does.
pub fn subscription_over(id: &RawValue) -> Box<RawValue> {
    json::raw(format!(
        r#"{{"resultType":"complete","_meta":{{"{SUBSCRIPTION}":{}}}}}"#,
        id.get()
    ))
}

/// Changes what `_meta` holds; where there is none, or none that can be read, it begins empty.
fn change(params: &mut RawObject<'_>, change: impl FnOnce(&mut RawObject<'_>)) {
    let meta = params
        .get("_meta")
        .map_or_else(|| json::raw("{}".into()), ToOwned::to_owned);
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
