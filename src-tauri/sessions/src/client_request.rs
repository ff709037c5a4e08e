//! A request of a client with a method that Drawbridge knows.

use drawbridge_jsonrpc::{
    json::RawObject,
    rpc::{RpcError, code},
};
use drawbridge_model::trace::TraceContext;
use serde_json::value::RawValue;

use super::ClientHandle;

/// A request of a client, as its session received it.
#[derive(Clone, Copy)]
pub struct ClientRequest<'a> {
    pub handle: &'a ClientHandle,
    pub method: &'static str,
    pub params: Option<&'a RawValue>,
    /// The span of the request, if spans are recorded.
    pub trace: Option<TraceContext>,
}

impl<'a> ClientRequest<'a> {
    /// Returns the params as an object, which is empty if there are none.
    ///
    /// # Errors
    /// Returns an error (`-32602`) if the params are not an object, or if a key occurs twice.
    pub fn params_object(&self) -> Result<RawObject<'a>, RpcError> {
        let params = self.params.map(RawObject::parse).transpose();
        params
            .map(Option::unwrap_or_default)
            .map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("{}: {e}", self.method)))
    }
}
