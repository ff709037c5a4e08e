//! What a window may ask for: one command a verb, one file a noun, each handing a typed
//! request to the door and its answer back. What a verb does is the hub's to know.

pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod calls;
pub(crate) mod clients;
pub(crate) mod drawbridge;
pub(crate) mod health;
pub(crate) mod logs;
pub(crate) mod policy;
pub(crate) mod profiles;
pub(crate) mod screens;
pub(crate) mod secrets;
pub(crate) mod servers;
pub(crate) mod settings;
pub(crate) mod tools;

use drawbridge_hub::api::{ApiError, Verb};

/// What a verb answers, as a window gets it.
pub(crate) type Answer<V> = Result<<V as Verb>::Answer, ApiError>;
