//! The nouns of Drawbridge as types: ids, names, specs, calls, outcomes, events. There is no I/O
//! here.

pub mod acceptance;
pub mod approval;
pub mod audit;
pub mod call;
pub mod capability;
pub mod cause;
pub mod digest;
pub mod event;
pub mod hidden;
pub mod ids;
pub mod json;
mod labels;
pub mod listener;
pub mod log;
pub mod manifest;
pub mod names;
pub mod policy;
pub mod profile;
pub mod rpc;
pub mod runtime;
pub mod secret;
pub mod server;
pub mod sign_in;
pub mod spec;
pub mod tool;
