//! The types that all layers of Drawbridge share: ids, names, specs, calls, outcomes, events. This
//! crate performs no I/O. [`protocol`] knows the revisions of MCP.

pub mod acceptance;
pub mod approval;
pub mod audit;
pub mod call;
pub mod capability;
pub mod cause;
pub mod client_file;
pub mod clock;
pub mod digest;
pub mod event;
pub mod ids;
pub mod invisible_chars;
mod labels;
pub mod listener;
pub mod log;
pub mod manifest;
pub mod names;
pub mod policy;
pub mod profile;
pub mod program;
pub mod protocol;
pub mod random;
pub mod runtime;
pub mod secret;
pub mod server;
pub mod sign_in;
pub mod spec;
pub mod tool;
