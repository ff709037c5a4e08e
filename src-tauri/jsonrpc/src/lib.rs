//! The wire format of MCP: JSON-RPC messages with their parts as raw JSON, and server-sent events.
//! All crates that read or write messages use this crate, so that there is one reader and one
//! writer. The crate performs no I/O, and knows no method except `notifications/cancelled`.
//!
//! | module | purpose |
//! |---|---|
//! | [`json`] | raw JSON: objects that keep order, numbers and unknown members |
//! | [`rpc`] | errors, and responses: a result or an error |
//! | [`client_message`] | reads the messages of clients, strictly |
//! | [`server_message`] | reads the messages of servers, tolerantly |
//! | [`encode`] | writes messages |
//! | [`pending`] | requests that wait for their responses |
//! | [`sse`] | reads server-sent events |
//! | [`headers`] | the names of the HTTP headers of legacy MCP |

pub mod client_message;
pub mod encode;
mod envelope;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod headers;
pub mod json;
pub mod pending;
pub mod rpc;
pub mod server_message;
pub mod sse;
