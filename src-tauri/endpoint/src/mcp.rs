//! The Model Context Protocol towards clients.

pub(crate) mod in_flight;
pub(crate) mod streamable_http;
