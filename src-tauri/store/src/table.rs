//! The tables. Each table has a module with its rows and statements. The journal's statements on
//! the audit log are in [`crate::audit`].

pub mod access_report;
pub mod audit;
pub mod call;
pub mod call_stats;
pub mod capability;
pub mod client;
pub mod client_copy;
pub mod client_file;
pub mod definition;
pub mod hook;
pub mod memory;
pub mod profile;
pub mod published_server;
pub mod rule;
pub mod sampling_usage;
pub mod server;
pub mod setting;
pub mod token_usage;

use serde::{Serialize, de::DeserializeOwned};

/// Returns the name under which serde writes a unit variant.
fn to_enum_text(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        other => unreachable!("a unit variant is written as a string, not as {other:?}"),
    }
}

/// Parses the name of a unit variant. Returns an error if the name is unknown.
fn from_enum_text<T: DeserializeOwned>(word: &str) -> Result<T, sqlx::Error> {
    serde_json::from_value(serde_json::Value::from(word)).map_err(|e| sqlx::Error::Decode(e.into()))
}
