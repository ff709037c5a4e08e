//! The Model Context Protocol towards clients.

pub(crate) mod batch;
pub(crate) mod events;
pub(crate) mod exchange;
pub(crate) mod legacy_sse;
pub(crate) mod session_stream;
pub(crate) mod stateless;
pub(crate) mod streamable_http;
