//! The types that all layers of Drawbridge share: ids, names, specs, calls, outcomes, events. This
//! crate performs no I/O. [`protocol`] knows the revisions of MCP.

pub mod acceptance;
pub mod access_report;
pub mod allowed_host;
pub mod approval;
pub mod audit;
pub mod builtin;
pub mod call;
pub mod capability;
pub mod cause;
pub mod check;
pub mod client_file;
pub mod clock;
pub mod content;
pub mod digest;
pub mod display_url;
pub mod event;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod hook;
pub mod ids;
pub mod invisible_chars;
mod labels;
pub mod listener;
pub mod log;
pub mod manifest;
pub mod memory;
pub mod names;
pub mod pairing;
pub mod policy;
pub mod profile;
pub mod program;
pub mod protocol;
pub mod published;
pub mod random;
pub mod reference;
pub mod reset;
pub mod runtime;
pub mod sandbox;
pub mod secret;
pub mod server;
pub mod shared_folder;
pub mod sign_in;
pub mod spec;
pub mod tool;
pub mod tool_result;
pub mod trace;
