//! The commands, one file for each noun (such as `servers`) and for each command without a noun
//! (such as `serve`). Most commands turn their arguments into a verb, and the verb's answer into
//! lines of text.

pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod browsers;
pub(crate) mod calls;
pub(crate) mod clients;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod desktop;
pub(crate) mod doctor;
pub(crate) mod drawbridge;
pub(crate) mod folders;
pub(crate) mod health;
pub(crate) mod hooks;
pub(crate) mod import;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod memory;
pub(crate) mod open;
pub(crate) mod policy;
pub(crate) mod profiles;
pub(crate) mod prompts;
pub(crate) mod registry;
pub(crate) mod resources;
pub(crate) mod roots;
pub(crate) mod sampling;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod settings;
pub(crate) mod stdio;
pub(crate) mod tools;
