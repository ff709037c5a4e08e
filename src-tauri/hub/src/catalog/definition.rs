//! The definition of a tool, prompt, resource or template: as the server sent it, and what Drawbridge reads from it.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, OnceLock},
};

use jsonschema::Validator;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::schema;
use crate::{
    model::{
        capability::Kind,
        digest,
        json::{self, RawObject},
        spec::Validate,
        tool::Annotations,
    },
    protocol::headers::{self, Mirrored},
};

/// The longest definition that is taken, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// Something that a server offers.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The definition, byte for byte.
    pub raw: Box<RawValue>,
    /// SHA-256 of it, hex; of what the server offers now, where that is another one.
    pub digest: String,
    /// What the server offers now, where this is what was accepted before.
    pub now: Option<Box<RawValue>>,
    /// The server's own name of it; the URI of a resource, the URI template of a template.
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub input_schema: serde_json::Value,
    pub annotations: Annotations,
    /// The arguments that are repeated in headers, where the server wants that; or why it cannot be done.
    pub mirrored: Result<Vec<Mirrored>, String>,
    /// Where in `raw` its name stands, with its quotes.
    name_at: Range<usize>,
    /// Made when the tool is first called.
    validator: OnceLock<Option<Arc<Validator>>>,
}

impl Definition {
    /// Reads a definition.
    ///
    /// # Errors
    /// In plain words, where it cannot be one. What else the server offers is not touched by that.
    pub fn read(kind: Kind, text: String) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!(
                "its definition has {} bytes; at most {MAX_BYTES} are taken",
                text.len()
            ));
        }
        let digest = digest::sha256(text.as_bytes());
        let raw = RawValue::from_string(text).map_err(|e| e.to_string())?;
        let object = RawObject::parse(&raw).map_err(|e| format!("it cannot be read: {e}"))?;
        let (name, name_at) = name(kind, &raw, &object)?;
        let title = member(&object, "title").map_err(|_| "its 'title' is not a string")?;
        let description =
            member(&object, "description").map_err(|_| "its 'description' is not a string")?;
        let annotations = member(&object, "annotations")
            .map_err(|e| format!("its 'annotations' are wrong: {e}"))?;
        let input_schema = member(&object, "inputSchema")
            .map_err(|e| format!("its 'inputSchema' is wrong: {e}"))?;
        let input_schema: serde_json::Value = input_schema.unwrap_or_default();
        let mirrored = headers::mirrored(&input_schema);
        schema::check(&input_schema)?;
        drop(object);
        Ok(Self {
            validator: OnceLock::new(),
            mirrored,
            raw,
            digest,
            now: None,
            name,
            name_at,
            title,
            description: description.unwrap_or_default(),
            input_schema,
            annotations: annotations.unwrap_or_default(),
        })
    }

    /// The name in a definition that may be none otherwise.
    pub(super) fn name_in(kind: Kind, raw: &RawValue) -> Option<String> {
        let object = RawObject::parse(raw).ok()?;
        object.string(kind.key()).filter(|name| !name.is_empty())
    }

    /// This one, for clients to see, while the server offers another.
    pub(super) fn while_it_is(&self, now: &Self) -> Self {
        Self {
            digest: now.digest.clone(),
            now: Some(now.raw.clone()),
            ..self.clone()
        }
    }

    /// Whether it is the same, for clients as for decisions.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.digest == other.digest && self.now.is_some() == other.now.is_some()
    }

    /// Writes it under another name; else as it is, byte for byte.
    pub(super) fn write_as(&self, name: &str, to: &mut String) {
        let raw = self.raw.get();
        to.push_str(&raw[..self.name_at.start]);
        to.push_str(&json::string(name));
        to.push_str(&raw[self.name_at.end..]);
    }

    /// Whether a tool's arguments fit its schema, as closely as its server's spec asks.
    ///
    /// # Errors
    /// With the path and the rule of the first faults.
    pub fn check_arguments(&self, arguments: &RawValue, validate: Validate) -> Result<(), String> {
        let compile = || schema::compile(&self.name, &self.input_schema).map(Arc::new);
        let validator = self.validator.get_or_init(compile);
        validator.as_ref().map_or(Ok(()), |validator| {
            schema::check_arguments(validator, arguments, validate)
        })
    }

    /// About how many tokens a model spends on it: a quarter of its characters.
    pub fn tokens(&self) -> u32 {
        u32::try_from(self.raw.get().len().div_ceil(4)).unwrap_or(u32::MAX)
    }
}

/// Its own name, and where it stands.
fn name(
    kind: Kind,
    raw: &RawValue,
    object: &RawObject<'_>,
) -> Result<(String, Range<usize>), String> {
    let name = object.string(kind.key()).unwrap_or_default();
    let value = object.get(kind.key()).filter(|_| !name.is_empty());
    let value = value
        .ok_or_else(|| format!("it has no '{}'", kind.key()))?
        .get();
    let begin = value.as_ptr().addr() - raw.get().as_ptr().addr();
    Ok((name, begin..begin + value.len()))
}

/// Reads a member; none if it is missing or null.
fn member<T: DeserializeOwned>(
    object: &RawObject<'_>,
    key: &str,
) -> Result<Option<T>, serde_json::Error> {
    object
        .get(key)
        .map_or(Ok(None), |value| serde_json::from_str(value.get()))
}

/// Those that were known already stay the same: what was made of them need not be made again.
pub(super) fn keep(known: &[Arc<Definition>], read: &mut [Arc<Definition>]) {
    let known: HashMap<&str, &Arc<Definition>> =
        known.iter().map(|one| (one.digest.as_str(), one)).collect();
    for one in read {
        if let Some(known) = known.get(one.digest.as_str()) {
            *one = Arc::clone(known);
        }
    }
}
