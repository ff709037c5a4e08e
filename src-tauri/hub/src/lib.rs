//! The engine of Drawbridge: the path of a call from a client to a server and back, and everything
//! that decides and shows the call. This crate names neither tauri nor axum.
//!
//! | module | purpose |
//! |---|---|
//! | [`registry`], [`access`], [`clients`] | specs; clients and their tokens; clients' configuration files |
//! | [`catalog`] | all tools as one snapshot, and the stored copies behind it |
//! | [`policy`], [`router`] | whether a call may run; which server it goes to |
//! | [`pipeline`] | the steps of a call |
//! | [`error`] | the error of a verb |
//! | [`hub`] | the facade |
//! | [`api`] | the verbs |

pub mod access;
pub mod api;
pub mod catalog;
pub mod clients;
pub mod error;
pub mod hub;
pub mod pipeline;
pub mod policy;
pub mod registry;
pub mod router;

pub use hub::{Hub, HubOptions, methods};
