//! The Model Context Protocol towards clients.

mod answer_stream;
mod batch;
pub(crate) mod events;
mod exchange;
pub(crate) mod legacy_sse;
mod request;
mod response;
pub(crate) mod session_stream;
mod stateless;
pub(crate) mod streamable_http;
