//! A tool's definition: as the server sent it, and what Drawbridge reads from it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model::{digest, tool::Annotations};

/// The longest definition that is taken, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// A tool of a server.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The definition, byte for byte.
    pub raw: Box<RawValue>,
    /// SHA-256 of it, hex.
    pub digest: String,
    /// The server's own name of the tool.
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub input_schema: serde_json::Value,
    pub annotations: Annotations,
}

#[derive(Deserialize)]
struct Read {
    name: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default, rename = "inputSchema")]
    input_schema: serde_json::Value,
    #[serde(default)]
    annotations: Option<Annotations>,
}

impl Definition {
    /// Reads a definition.
    ///
    /// # Errors
    /// In plain words, where it cannot be one. The server's other tools are not touched by that.
    pub fn read(text: String) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("a definition has {} bytes; at most {MAX_BYTES} are taken", text.len()));
        }
        let read: Read = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        if read.name.is_empty() {
            return Err("a tool has an empty name".into());
        }
        let digest = digest::sha256(text.as_bytes());
        let raw = RawValue::from_string(text).map_err(|e| e.to_string())?;
        Ok(Self {
            raw,
            digest,
            name: read.name,
            title: read.title,
            description: read.description.unwrap_or_default(),
            input_schema: read.input_schema,
            annotations: read.annotations.unwrap_or_default(),
        })
    }
}
