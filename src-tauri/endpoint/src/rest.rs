//! HTTP beside MCP: one thin file a noun.

pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod login;
pub(crate) mod servers;
pub(crate) mod tools;
pub(crate) mod ui;
pub(crate) mod verbs;
