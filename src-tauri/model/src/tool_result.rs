//! The result of a call in a uniform shape for hooks and scripts, whatever blocks of content the
//! server sends.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The kind of a content item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ContentKind {
    Text,
    Image,
    Audio,
    /// A link to a resource that the result does not contain.
    ResourceLink,
    /// A resource with its text.
    Resource,
    /// A resource with its bytes, in base64.
    Binary,
    /// A block of another type, or a block that does not fit its type: it lacks a required member,
    /// or is a resource with both text and bytes. `raw` has the block.
    Unknown,
}

/// One block of content of a result. Members that the block does not have are absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct ContentItem {
    pub kind: ContentKind,
    /// The text of a text block or of a resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub text: Option<String>,
    /// The bytes of an image, of audio or of a binary resource, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub mime_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub name: Option<String>,
    /// The block's other members, such as `annotations`, as the server sent them. For an unknown
    /// block, the whole block.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "deserialize_present"
    )]
    #[cfg_attr(feature = "bindings", ts(optional, type = "unknown"))]
    pub raw: Option<Value>,
}

/// Reads a member that is present. The value null does not count as an absent member.
fn deserialize_present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct ToolExecutionResult {
    /// Whether the tool succeeded.
    pub success: bool,
    /// The text blocks, joined with line breaks.
    pub content: String,
    /// All blocks, including the text blocks, in the server's order.
    pub content_items: Vec<ContentItem>,
    /// The structured result; null if there is none.
    #[cfg_attr(feature = "bindings", ts(type = "unknown"))]
    pub structured_content: Value,
    /// The error in words; empty if the call succeeded.
    pub error_message: String,
    /// The time from sending the call to its answer, in milliseconds, if it is known.
    pub execution_time_ms: Option<u32>,
    /// The `_meta` of the result; an empty object if there is none.
    #[cfg_attr(feature = "bindings", ts(type = "unknown"))]
    pub metadata: Value,
    /// The result in one text, as a model reads it: the content, or else a summary of the content
    /// items, or else the structured content as JSON, or else the error.
    pub history: String,
}

impl ToolExecutionResult {
    /// Converts a result of `tools/call`. Accepts any JSON: a block that is unknown or does not fit
    /// its type becomes an item of the kind `unknown`.
    pub fn from_result(result: &Value, execution_time_ms: Option<u32>) -> Self {
        let content_items: Vec<_> = match &result["content"] {
            Value::Null => Vec::new(),
            Value::Array(blocks) => blocks.iter().map(ContentItem::from_block).collect(),
            other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                vec![ContentItem::unknown(other)]
            }
        };
        let texts: Vec<_> = content_items
            .iter()
            .filter(|item| item.kind == ContentKind::Text)
            .filter_map(|item| item.text.as_deref())
            .collect();
        let content = texts.join("\n");
        let success = result["isError"] != true;
        let metadata = result["_meta"].as_object().cloned().unwrap_or_default();
        let metadata = Value::Object(metadata);
        let mut converted = Self {
            success,
            content,
            content_items,
            structured_content: result["structuredContent"].clone(),
            error_message: String::new(),
            execution_time_ms,
            metadata,
            history: String::new(),
        };
        converted.history = converted.summarize();
        if !success {
            converted.error_message = if converted.history.is_empty() {
                "The tool failed without a message".to_owned()
            } else {
                converted.history.clone()
            };
            converted.history = converted.summarize();
        }
        converted
    }

    /// Returns the result of a call that the server did not answer, or answered with an error.
    pub fn from_error(message: &str, execution_time_ms: Option<u32>) -> Self {
        let mut converted = Self {
            success: false,
            content: String::new(),
            content_items: Vec::new(),
            structured_content: Value::Null,
            error_message: message.to_owned(),
            execution_time_ms,
            metadata: Value::Object(Map::new()),
            history: String::new(),
        };
        converted.history = converted.summarize();
        converted
    }

    /// Returns the length of the content in bytes: of the text and data of all items (of an unknown
    /// block, its JSON), or of the structured content if there are no items.
    pub fn content_length(&self) -> usize {
        if self.content_items.is_empty() {
            return if self.structured_content.is_null() {
                0
            } else {
                self.structured_content.to_string().len()
            };
        }
        self.content_items
            .iter()
            .map(ContentItem::content_length)
            .sum()
    }

    /// Returns the first of these texts that is not empty: the content, the summaries of the items,
    /// the structured content as JSON, or the error.
    fn summarize(&self) -> String {
        if !self.content.trim().is_empty() {
            return self.content.clone();
        }
        let lines: Vec<_> = self
            .content_items
            .iter()
            .map(ContentItem::summarize)
            .filter(|line| !line.is_empty())
            .collect();
        if !lines.is_empty() {
            return lines.join("\n");
        }
        if self.structured_content.is_null() {
            self.error_message.clone()
        } else {
            self.structured_content.to_string()
        }
    }
}

impl ContentItem {
    fn from_block(block: &Value) -> Self {
        Self::from_known_block(block).unwrap_or_else(|| Self::unknown(block))
    }

    /// Converts a block of a known type. Returns `None` if the type is unknown, or if the block
    /// does not fit its type.
    fn from_known_block(block: &Value) -> Option<Self> {
        let block = block.as_object()?;
        let text_of = |members: &Map<String, Value>, key: &str| {
            members.get(key).and_then(Value::as_str).map(str::to_owned)
        };
        let mut item = Self::empty(ContentKind::Text);
        // The members of the block that have a place in the item.
        let known: &[&str] = match block.get("type")?.as_str()? {
            "text" => {
                item.text = Some(text_of(block, "text")?);
                &["type", "text"]
            }
            kind @ ("image" | "audio") => {
                item.kind = if kind == "image" {
                    ContentKind::Image
                } else {
                    ContentKind::Audio
                };
                item.data = Some(text_of(block, "data")?);
                item.mime_type = text_of(block, "mimeType");
                &["type", "data", "mimeType"]
            }
            "resource_link" => {
                item.kind = ContentKind::ResourceLink;
                item.uri = Some(text_of(block, "uri")?);
                item.name = text_of(block, "name");
                item.mime_type = text_of(block, "mimeType");
                &["type", "uri", "name", "mimeType"]
            }
            "resource" => {
                let resource = block.get("resource")?.as_object()?;
                item.uri = text_of(resource, "uri");
                item.mime_type = text_of(resource, "mimeType");
                (item.kind, item.text, item.data) =
                    match (text_of(resource, "text"), text_of(resource, "blob")) {
                        (Some(text), None) => (ContentKind::Resource, Some(text), None),
                        (None, Some(blob)) => (ContentKind::Binary, None, Some(blob)),
                        (Some(_), Some(_)) | (None, None) => return None,
                    };
                let is_in_item = |(key, value): (&String, &Value)| {
                    value.is_string() && ["uri", "mimeType", "text", "blob"].contains(&key.as_str())
                };
                if !resource.iter().all(is_in_item) {
                    &["type"]
                } else {
                    &["type", "resource"]
                }
            }
            _ => return None,
        };
        // A known member is kept too if its value has an unexpected type and is therefore not in
        // the item.
        let is_kept = |key: &str, value: &Value| {
            !known.contains(&key) || (!value.is_string() && key != "resource")
        };
        let rest: Map<String, Value> = block
            .iter()
            .filter(|(key, value)| is_kept(key, value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        item.raw = (!rest.is_empty()).then_some(Value::Object(rest));
        Some(item)
    }

    fn unknown(block: &Value) -> Self {
        Self {
            raw: Some(block.clone()),
            ..Self::empty(ContentKind::Unknown)
        }
    }

    fn empty(kind: ContentKind) -> Self {
        Self {
            kind,
            text: None,
            data: None,
            mime_type: None,
            uri: None,
            name: None,
            raw: None,
        }
    }

    fn content_length(&self) -> usize {
        let length = [&self.text, &self.data]
            .into_iter()
            .flatten()
            .map(String::len)
            .sum();
        match (self.kind, &self.raw) {
            (ContentKind::Unknown, Some(raw)) => raw.to_string().len(),
            _ => length,
        }
    }

    /// Returns a line that describes the item without its data. For a resource with its text, the
    /// text follows on the next lines. Returns an empty text for a text item, because the content
    /// has its text.
    fn summarize(&self) -> String {
        let or_empty = |value: &Option<String>| value.clone().unwrap_or_default();
        let describe = |kind: &str| {
            let details: Vec<_> = [&self.name, &self.uri, &self.mime_type]
                .into_iter()
                .map(or_empty)
                .filter(|detail| !detail.is_empty())
                .collect();
            let details = details.join(", ");
            let separator = if details.is_empty() { "" } else { ": " };
            format!("[{kind}{separator}{details}]")
        };
        match self.kind {
            ContentKind::Text => String::new(),
            ContentKind::Image => describe("image"),
            ContentKind::Audio => describe("audio"),
            ContentKind::ResourceLink => describe("resource link"),
            ContentKind::Resource => format!("{}\n{}", describe("resource"), or_empty(&self.text))
                .trim_end()
                .to_owned(),
            ContentKind::Binary => describe("binary"),
            ContentKind::Unknown => {
                let kind = self.raw.as_ref().and_then(|raw| raw["type"].as_str());
                format!("[{}]", kind.unwrap_or("unknown content"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
