//! The engine of Drawbridge: the path of a call from a client to a server and back, and everything
//! that decides and shows the call. This crate depends on neither tauri nor axum.
//!
//! | module | purpose |
//! |---|---|
//! | [`registry`], [`access`], [`clients`] | specs; clients and their tokens; clients' files |
//! | `metrics`, `traces`, `live_calls` | counters, spans, and the running calls |
//! | `content` | the content defence: flags of the texts of servers |
//! | [`access_reports`] | recorded accesses of local servers, and sandboxes that follow from them |
//! | `builtin` | the built-in servers |
//! | [`pairing`] | unknown clients that ask to be added |
//! | [`sampling`], [`elicitation`], [`roots`] | answers to servers in place of clients |
//! | [`catalog`] | the merged lists of all servers, and the stored copies behind them |
//! | [`policy`], [`router`] | whether a call may run; to which server it goes |
//! | [`hooks`] | programs and webhooks that run on the events of servers and calls |
//! | [`pipeline`] | the steps of a call |
//! | `file_watch` | changes of files, in batches |
//! | [`error`] | the error of a verb |
//! | [`hub`] | the facade |
//! | [`api`] | the verbs |

pub mod access;
pub mod access_reports;
pub mod api;
mod builtin;
pub mod catalog;
pub mod clients;
mod content;
pub mod elicitation;
pub mod error;
mod file_watch;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod hooks;
pub mod hub;
mod live_calls;
mod metrics;
pub mod pairing;
pub mod pipeline;
pub mod policy;
pub mod registry;
pub mod roots;
pub mod router;
pub mod sampling;
mod traces;

pub use hub::{Hub, HubOptions, methods};
