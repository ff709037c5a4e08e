//! Checks a tool's arguments against its JSON Schema. Remote references are never fetched.

mod steps;

use std::collections::HashSet;

use drawbridge_model::spec::Validate;
use jsonschema::{PatternOptions, Validator, error::ValidationErrorKind};
use serde_json::{Value, value::RawValue};
use url::Url;

use super::coercion;

pub(super) use steps::{Budget, TooComplex, check_complexity};

/// The maximum number of backtracking steps for a pattern. A text that needs more does not match.
const MAX_BACKTRACKS: usize = 100_000;
/// The maximum number of violations that are reported.
const MAX_REPORTED: usize = 3;
const MAX_VIOLATION_CHARS: usize = 300;

/// The error if a schema refers to a remote document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "its schema refers to '{0}', which is a remote document; Drawbridge does not fetch schemas"
)]
pub struct RemoteReference(String);

/// Arguments that do not match the schema of their tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}", .violations.join("; "), if *.has_more { "; and more" } else { "" })]
pub struct ArgumentsMismatch {
    /// The first violations, each with its path and the schema keyword.
    violations: Vec<String>,
    has_more: bool,
}

/// Checks that Drawbridge need not fetch anything to use the schema.
///
/// # Errors
/// Returns an error if the schema refers to a remote document.
pub(super) fn check_references(schema: &Value) -> Result<(), RemoteReference> {
    let is_draft_4 = schema
        .get("$schema")
        .and_then(Value::as_str)
        .is_some_and(|draft| draft.contains("draft-04"));
    let mut references = References {
        id_keyword: if is_draft_4 { "id" } else { "$id" },
        ids: HashSet::new(),
        targets: Vec::new(),
    };
    // The base for the relative references of a schema without an id.
    let default_base = Url::parse("json-schema:///").expect("this URL is valid");
    references.collect(schema, &default_base);
    let is_embedded = |url: &Url| references.ids.contains(url) || is_meta_schema(url);
    // An unresolvable reference that names no host, such as an unknown URN, causes no request.
    let needs_fetch = |url: &Url| url.has_host() || url.scheme() == "file";
    match references
        .targets
        .iter()
        .find(|(_, url)| needs_fetch(url) && !is_embedded(url))
    {
        Some((to, _)) => Err(RemoteReference((*to).to_owned())),
        None => Ok(()),
    }
}

/// The ids of a schema's subschemas, and its references.
struct References<'a> {
    /// The keyword that holds a subschema's id.
    id_keyword: &'static str,
    ids: HashSet<Url>,
    /// Each reference as written, and its URL without the fragment.
    targets: Vec<(&'a str, Url)>,
}

impl<'a> References<'a> {
    fn collect(&mut self, schema: &'a Value, base: &Url) {
        let members = match schema {
            Value::Object(members) => members,
            Value::Array(items) => return items.iter().for_each(|item| self.collect(item, base)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
        };
        let own_id = members
            .get(self.id_keyword)
            .and_then(Value::as_str)
            .and_then(|id| resolve(base, id));
        self.ids.extend(own_id.clone());
        let base = own_id.as_ref().unwrap_or(base);
        for (key, value) in members {
            match (key.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(to))
                    if !to.starts_with('#') =>
                {
                    self.targets
                        .extend(resolve(base, to).map(|url| (to.as_str(), url)));
                }
                // The keys of these members are names, not keywords.
                (
                    "properties" | "patternProperties" | "dependentSchemas" | "$defs"
                    | "definitions",
                    Value::Object(all),
                ) => {
                    all.values()
                        .for_each(|subschema| self.collect(subschema, base));
                }
                ("default" | "const" | "enum" | "examples", _) => {}
                _ => self.collect(value, base),
            }
        }
    }
}

/// Returns the target of a reference, without its fragment, or `None` if it is not a valid URL.
fn resolve(base: &Url, reference: &str) -> Option<Url> {
    let mut url = base.join(reference).ok()?;
    url.set_fragment(None);
    Some(url)
}

/// Returns whether the URL is a metaschema of JSON Schema, which the validator contains.
fn is_meta_schema(url: &Url) -> bool {
    const OLDER: [&str; 3] = ["/draft-04/schema", "/draft-06/schema", "/draft-07/schema"];
    const NEWER: [&str; 2] = ["/draft/2019-09/", "/draft/2020-12/"];
    let path = url.path();
    url.host_str() == Some("json-schema.org")
        && match url.scheme() {
            "http" => OLDER.contains(&path),
            "https" => NEWER.iter().any(|draft| {
                path.strip_prefix(draft)
                    .is_some_and(|rest| rest == "schema" || rest.starts_with("meta/"))
            }),
            _ => false,
        }
}

/// Returns the validator for arguments, or `None` if every object is valid or the schema cannot be
/// used. The validator keeps to the budget of [`check_arguments`].
pub(super) fn compile_validator(tool: &str, schema: &Value) -> Option<Validator> {
    if accepts_any_object(schema) {
        return None;
    }
    let Some(counted) = steps::with_step_keyword(schema) else {
        tracing::warn!(
            "the schema of '{tool}' refers to a value that is no schema, so Drawbridge does not check its arguments"
        );
        return None;
    };
    let options = || {
        let patterns = PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS);
        Validator::options()
            .offline()
            .with_pattern_options(patterns)
            .with_keyword(steps::KEYWORD, |_, value, _| {
                Ok(steps::build_keyword(value))
            })
    };
    // The metaschemas take a while to prepare, and few schemas refer to them, so they are added
    // only if the first attempt fails.
    let built = options().build(&counted).or_else(|_| {
        options()
            .with_registry(&referencing::SPECIFICATIONS)
            .build(&counted)
    });
    built
        .inspect_err(|e| {
            tracing::warn!(
                "cannot compile the schema of '{tool}', so Drawbridge does not check its arguments: {e}"
            )
        })
        .ok()
}

/// Returns true only if the schema accepts every object. May return false for a schema that accepts
/// every object.
fn accepts_any_object(schema: &Value) -> bool {
    const ANNOTATIONS: [&str; 8] = [
        "type",
        "$schema",
        "title",
        "description",
        "$id",
        "default",
        "examples",
        "$comment",
    ];
    let Value::Object(members) = schema else {
        return !matches!(schema, Value::Bool(false));
    };
    let is_object = members.get("type").is_none_or(|kind| kind == "object");
    let is_empty = |value: &Value| {
        value.as_object().is_some_and(serde_json::Map::is_empty) || *value == Value::Bool(true)
    };
    is_object
        && members.iter().all(|(key, value)| {
            ANNOTATIONS.contains(&key.as_str())
                || (matches!(key.as_str(), "properties" | "additionalProperties")
                    && is_empty(value))
                || (key == "required" && value.as_array().is_some_and(Vec::is_empty))
        })
}

/// Checks arguments within a budget. Returns `None` if the budget is used up. Returns `Ok` if the
/// arguments cannot be parsed here, for example because a number is out of range; the server then
/// checks them.
///
/// # Errors
/// Returns an error that lists the first violations in the arguments as the client sent them.
pub(super) fn check_arguments(
    validator: &Validator,
    arguments: &RawValue,
    validate: Validate,
    budget: Budget,
) -> Option<Result<(), ArgumentsMismatch>> {
    if validate == Validate::Off {
        return Some(Ok(()));
    }
    let length = arguments.get().len();
    let Ok(arguments) = serde_json::from_str::<Value>(arguments.get()) else {
        return Some(Ok(()));
    };
    if steps::run(budget, || validator.is_valid(&arguments))? {
        return Some(Ok(()));
    }
    // Errors take memory, so the search for them has fewer steps.
    let mismatch = steps::run(budget.for_errors(), || {
        find_violations(validator, &arguments)
    })?;
    let may_convert = validate == Validate::Coercible && length <= coercion::MAX_BYTES;
    let fits = may_convert
        && steps::run(budget, || {
            coercion::fits_after_conversion(validator, arguments)
        })?;
    Some(if fits { Ok(()) } else { Err(mismatch) })
}

fn find_violations(validator: &Validator, arguments: &Value) -> ArgumentsMismatch {
    let mut errors = validator.iter_errors(arguments);
    let violations = errors
        .by_ref()
        .take(MAX_REPORTED)
        .map(|e| describe_violation(&e))
        .collect();
    ArgumentsMismatch {
        violations,
        has_more: errors.next().is_some(),
    }
}

fn describe_violation(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let place = if path.is_empty() {
        "the arguments"
    } else {
        path.as_str()
    };
    let mut message = if let ValidationErrorKind::Not { schema } = error.kind() {
        let schema = steps::without_step_keyword(schema);
        format!("{schema} is not allowed for {}", error.instance())
    } else {
        error.to_string()
    };
    if let Some((end, _)) = message.char_indices().nth(MAX_VIOLATION_CHARS) {
        message.truncate(end);
        message.push('…');
    }
    format!(
        "{place}: {message} (schema keyword '{}')",
        error.kind().keyword()
    )
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
