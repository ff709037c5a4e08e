//! The definition of a tool, prompt, resource or template: as the server sent it, and the fields
//! that Drawbridge reads from it. A server's instructions are a definition too, with one field.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, OnceLock},
    time::Duration,
};

use drawbridge_jsonrpc::json::{self, RawObject};
use drawbridge_model::{
    acceptance::DefinitionKind,
    capability::CapabilityKind,
    content::ContentFlag,
    digest,
    protocol::headers::{self, HeaderParam, HeaderParamError},
    spec::Validate,
    tool::Annotations,
};
use jsonschema::Validator;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use crate::content;

use super::{
    merge::templates,
    schema::{self, ArgumentsMismatch, Budget, RemoteReference, TooComplex},
};

/// The maximum length of a definition, in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// The limits of a check of arguments, in steps and time: first on the thread that handles the
/// call, then on a blocking thread.
const SHORT_CHECK: (u32, Duration) = (10_000, Duration::from_millis(20));
const LONG_CHECK: (u32, Duration) = (5_000_000, Duration::from_secs(1));

/// The name of the definition that holds a server's instructions, and of its only member.
const INSTRUCTIONS: &str = "instructions";

/// Lets one long check run at a time.
static LONG_CHECKS: Semaphore = Semaphore::const_new(1);

/// The reason why a definition cannot be offered to clients.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    #[error("its definition has {0} bytes; at most {MAX_BYTES} are allowed")]
    TooLarge(usize),
    #[error("its definition cannot be read: {0}")]
    Malformed(#[source] serde_json::Error),
    #[error("it has no '{0}'")]
    NoName(&'static str),
    #[error("its '{member}' is invalid: {source}")]
    InvalidMember {
        member: &'static str,
        source: serde_json::Error,
    },
    #[error(
        "it does not begin with a literal scheme such as 'file:', so it would match the URIs of other servers"
    )]
    NoScheme,
    #[error(transparent)]
    RemoteReference(#[from] RemoteReference),
    #[error(transparent)]
    TooComplex(#[from] TooComplex),
}

/// A server's description of a tool, prompt, resource or template, or its instructions.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The definition that clients see, byte for byte except for the name.
    pub raw: Box<RawValue>,
    /// SHA-256 of `raw`, in hex.
    pub digest: String,
    /// The definition that the server offers, if `raw` is an accepted, earlier definition. A call
    /// runs the offered definition, so decisions bind to [`Definition::offered_digest`].
    pub offered: Option<ChangedDefinition>,
    /// The server's own name. For a resource, it is the URI; for a template, the URI template.
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub input_schema: serde_json::Value,
    pub annotations: Annotations,
    /// The arguments that the server wants to be repeated in headers, or the reason why they cannot
    /// be repeated.
    pub header_params: Result<Vec<HeaderParam>, HeaderParamError>,
    /// The range of the name in `raw`, with its quotes.
    name_range: Range<usize>,
    /// Compiled at the first call of the tool.
    validator: OnceLock<Option<Arc<Validator>>>,
    /// Found when they are first needed.
    flags: OnceLock<Vec<ContentFlag>>,
}

/// The definition that a server offers while clients see an earlier definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedDefinition {
    /// The definition, as JSON text.
    pub text: String,
    /// SHA-256 of `text`, in hex.
    pub digest: String,
}

impl Definition {
    /// Reads a definition.
    ///
    /// # Errors
    /// Returns an error if the definition cannot be offered to clients. Other definitions of the
    /// server are not affected.
    pub fn parse(kind: CapabilityKind, text: String) -> Result<Self, DefinitionError> {
        if text.len() > MAX_BYTES {
            return Err(DefinitionError::TooLarge(text.len()));
        }
        let digest = digest::sha256(text.as_bytes());
        let raw = RawValue::from_string(text).map_err(DefinitionError::Malformed)?;
        let object = RawObject::parse(&raw).map_err(DefinitionError::Malformed)?;
        let (name, name_range) = name_and_range(kind, &raw, &object)?;
        if kind == CapabilityKind::Templates && !templates::has_scheme(&name) {
            return Err(DefinitionError::NoScheme);
        }
        let title = parse_member(&object, "title")?;
        let description = parse_member(&object, "description")?;
        let annotations = parse_member(&object, "annotations")?;
        let input_schema: serde_json::Value =
            parse_member(&object, "inputSchema")?.unwrap_or_default();
        let header_params = headers::header_params(&input_schema);
        schema::check_references(&input_schema)?;
        schema::check_complexity(&input_schema)?;
        drop(object);
        Ok(Self {
            validator: OnceLock::new(),
            flags: OnceLock::new(),
            header_params,
            raw,
            digest,
            offered: None,
            name,
            name_range,
            title,
            description: description.unwrap_or_default(),
            input_schema,
            annotations: annotations.unwrap_or_default(),
        })
    }

    /// Returns the instructions of a server as a definition.
    pub(super) fn of_instructions(text: &str) -> Self {
        let raw = json::to_raw(&serde_json::json!({ INSTRUCTIONS: text }));
        Self {
            digest: digest::sha256(raw.get().as_bytes()),
            raw,
            offered: None,
            name: INSTRUCTIONS.to_owned(),
            title: None,
            description: text.to_owned(),
            input_schema: serde_json::Value::Null,
            annotations: Annotations::default(),
            header_params: Ok(Vec::new()),
            name_range: 0..0,
            validator: OnceLock::new(),
            flags: OnceLock::new(),
        }
    }

    /// Reads a stored definition of any kind.
    ///
    /// # Errors
    /// Returns an error in the cases of [`Self::parse`], or if stored instructions are malformed.
    pub(super) fn parse_stored(
        kind: DefinitionKind,
        text: String,
    ) -> Result<Self, DefinitionError> {
        let kind = match kind {
            DefinitionKind::Tool => CapabilityKind::Tools,
            DefinitionKind::Prompt => CapabilityKind::Prompts,
            DefinitionKind::Template => CapabilityKind::Templates,
            DefinitionKind::Resource => CapabilityKind::Resources,
            DefinitionKind::Instructions => {
                let raw = RawValue::from_string(text).map_err(DefinitionError::Malformed)?;
                let object = RawObject::parse(&raw).map_err(DefinitionError::Malformed)?;
                let text = object.get_string(INSTRUCTIONS);
                return text
                    .map(|text| Self::of_instructions(&text))
                    .ok_or(DefinitionError::NoName(INSTRUCTIONS));
            }
        };
        Self::parse(kind, text)
    }

    /// Returns the name, the title and the description of a resource as a definition. Returns
    /// `None` if they say nothing that the resource's URI does not say.
    pub(super) fn resource_texts(&self) -> Option<Self> {
        let resource = RawObject::parse(&self.raw).ok()?;
        let uri = percent_decode_str(&self.name).decode_utf8_lossy();
        let is_in_uri = |name: String| self.name.contains(&name) || uri.contains(&name);
        let has_plain_name =
            resource.get("name").is_none() || resource.get_string("name").is_some_and(is_in_uri);
        if self.title.is_none() && self.description.is_empty() && has_plain_name {
            return None;
        }
        let mut texts = RawObject::default();
        for member in ["uri", "name", "title", "description"] {
            if let Some(value) = resource.get(member) {
                texts.set(member, value.to_owned());
            }
        }
        Self::parse(CapabilityKind::Resources, texts.to_raw().get().to_owned()).ok()
    }

    /// Returns this resource with other texts. Without texts, the returned resource has no title
    /// and no description, and its URI is its name.
    pub(super) fn with_resource_texts(&self, texts: Option<&Self>) -> Option<Self> {
        let mut resource = RawObject::parse(&self.raw).ok()?;
        resource.remove("title");
        resource.remove("description");
        resource.set("name", json::raw(json::quote(&self.name)));
        if let Some(texts) = texts {
            let texts = RawObject::parse(&texts.raw).ok()?;
            for member in ["name", "title", "description"] {
                if let Some(value) = texts.get(member) {
                    resource.set(member, value.to_owned());
                }
            }
        }
        Self::parse(
            CapabilityKind::Resources,
            resource.to_raw().get().to_owned(),
        )
        .ok()
    }

    /// Returns the name in a definition that may be malformed otherwise.
    pub(super) fn parse_name(kind: CapabilityKind, raw: &RawValue) -> Option<String> {
        let object = RawObject::parse(raw).ok()?;
        object
            .get_string(kind.key_member())
            .filter(|name| !name.is_empty())
    }

    /// Returns this accepted definition for clients to see while the server offers `offered`.
    pub(super) fn retained_for(&self, offered: &Self) -> Self {
        Self {
            offered: Some(ChangedDefinition {
                text: offered.raw.get().to_owned(),
                digest: offered.digest.clone(),
            }),
            flags: OnceLock::new(),
            ..self.clone()
        }
    }

    /// Returns the flags of the definition that clients see, and of the definition that the server
    /// offers, because a call runs the offered definition.
    pub fn flags(&self) -> &[ContentFlag] {
        self.flags.get_or_init(|| {
            let mut flags = content::find_definition_flags(self.raw.get());
            if let Some(offered) = &self.offered {
                for flag in content::find_definition_flags(&offered.text) {
                    if !flags.contains(&flag) {
                        flags.push(flag);
                    }
                }
            }
            flags
        })
    }

    /// Returns whether both definitions are equal, both for clients and for decisions.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.digest == other.digest && self.offered == other.offered
    }

    /// Returns the digest to which decisions bind: the digest of the definition that the server
    /// offers, because a call runs that definition.
    pub fn offered_digest(&self) -> &str {
        self.offered
            .as_ref()
            .map_or(&self.digest, |offered| &offered.digest)
    }

    /// Writes the definition with another name. All other bytes stay the same.
    pub(super) fn write_renamed(&self, name: &str, to: &mut String) {
        let raw = self.raw.get();
        to.push_str(&raw[..self.name_range.start]);
        to.push_str(&json::quote(name));
        to.push_str(&raw[self.name_range.end..]);
    }

    /// Checks whether the arguments fit the tool's schema, as strictly as the server's spec
    /// demands. A check that takes long runs on another thread, one at a time. A check that takes
    /// too long is left to the server.
    ///
    /// # Errors
    /// Returns an error with the first faults if the arguments do not match the schema.
    pub async fn check_arguments(
        &self,
        arguments: &RawValue,
        validate: Validate,
    ) -> Result<(), ArgumentsMismatch> {
        let Some(validator) = self.validator() else {
            return Ok(());
        };
        let budget = Budget::new(SHORT_CHECK);
        if let Some(checked) = schema::check_arguments(&validator, arguments, validate, budget) {
            return checked;
        }
        // The result is always a permit, because the semaphore is never closed.
        let _one_at_a_time = LONG_CHECKS.acquire().await;
        let arguments = arguments.to_owned();
        let check = move || {
            let budget = Budget::new(LONG_CHECK);
            schema::check_arguments(&validator, &arguments, validate, budget)
        };
        let checked = tokio::task::spawn_blocking(check).await;
        checked.ok().flatten().unwrap_or_else(|| {
            tracing::warn!(
                "the arguments of '{}' take too long to check, so Drawbridge leaves the check to the server",
                self.name
            );
            Ok(())
        })
    }

    /// Checks arguments like [`Self::check_arguments`], but leaves a check that takes long to the
    /// server.
    ///
    /// # Errors
    /// Returns an error with the first faults if the arguments do not match the schema.
    pub fn check_edited_arguments(
        &self,
        arguments: &RawValue,
        validate: Validate,
    ) -> Result<(), ArgumentsMismatch> {
        let budget = Budget::new(SHORT_CHECK);
        self.validator()
            .and_then(|validator| schema::check_arguments(&validator, arguments, validate, budget))
            .unwrap_or(Ok(()))
    }

    fn validator(&self) -> Option<Arc<Validator>> {
        let compile = || schema::compile_validator(&self.name, &self.input_schema).map(Arc::new);
        self.validator.get_or_init(compile).clone()
    }

    /// Returns the approximate number of tokens that a model needs for the definition: a quarter of
    /// its bytes.
    pub fn estimate_tokens(&self) -> u32 {
        u32::try_from(self.raw.get().len().div_ceil(4)).unwrap_or(u32::MAX)
    }
}

/// Returns the server's own name of the definition, and its range in `raw`.
fn name_and_range(
    kind: CapabilityKind,
    raw: &RawValue,
    object: &RawObject<'_>,
) -> Result<(String, Range<usize>), DefinitionError> {
    let member = kind.key_member();
    let (name, value) = object
        .get_string(member)
        .filter(|name| !name.is_empty())
        .zip(object.get(member))
        .ok_or(DefinitionError::NoName(member))?;
    let value = value.get();
    let begin = value.as_ptr().addr() - raw.get().as_ptr().addr();
    Ok((name, begin..begin + value.len()))
}

/// Reads a member. Returns `None` if it is missing or null.
fn parse_member<T: DeserializeOwned>(
    object: &RawObject<'_>,
    member: &'static str,
) -> Result<Option<T>, DefinitionError> {
    object.get(member).map_or(Ok(None), |value| {
        serde_json::from_str(value.get())
            .map_err(|source| DefinitionError::InvalidMember { member, source })
    })
}

/// Replaces each definition in `read` by an equal definition in `previous`, if there is one, so
/// that its compiled validator and its flags are reused.
pub(super) fn reuse_previous(previous: &[Arc<Definition>], read: &mut [Arc<Definition>]) {
    let by_digest: HashMap<&str, &Arc<Definition>> = previous
        .iter()
        .map(|definition| (definition.digest.as_str(), definition))
        .collect();
    for definition in read {
        if let Some(reused) = by_digest.get(definition.digest.as_str()) {
            *definition = Arc::clone(reused);
        }
    }
}
