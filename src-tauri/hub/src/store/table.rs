//! One file a table: its rows and every statement on it.

pub mod audit;
pub mod call;
pub mod capability;
pub mod client;
pub mod definition;
pub mod profile;
pub mod rule;
pub mod server;
pub mod setting;

use serde::{Serialize, de::DeserializeOwned};

/// A word of a closed list, as its enum writes itself in JSON.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|v| v.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Reads a word back. An unknown one is a database of a newer version.
fn from_word<T: DeserializeOwned>(word: &str) -> Result<T, sqlx::Error> {
    serde_json::from_value(serde_json::Value::from(word)).map_err(|e| sqlx::Error::Decode(e.into()))
}
