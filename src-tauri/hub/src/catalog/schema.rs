//! A tool's arguments against its JSON Schema. Nothing is fetched for that, whatever a schema refers to.

use jsonschema::{PatternOptions, Validator};
use serde_json::{Value, value::RawValue};

/// Steps of a pattern of a schema; one that needs more does not fit.
const MAX_BACKTRACKS: usize = 100_000;
/// Faults that are told.
const MAX_TOLD: usize = 3;
const MAX_FAULT: usize = 300;

/// Whether a tool with this schema can be offered.
///
/// # Errors
/// In plain words, where it refers to something that would have to be fetched.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    match schema {
        Value::Object(members) => members.iter().try_for_each(|(key, value)| match (key.as_str(), value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(to)) if !is_local(to) => {
                Err(format!("its schema refers to '{to}', which would have to be fetched"))
            }
            _ => check(value),
        }),
        Value::Array(values) => values.iter().try_for_each(check),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Within the schema itself: a fragment, or the name of a part that has one.
fn is_local(reference: &str) -> bool {
    reference.starts_with('#') || !(reference.contains("://") || reference.starts_with("//"))
}

/// What checks arguments; nothing where there is nothing to check, or the schema is none.
pub(super) fn compile(tool: &str, schema: &Value) -> Option<Validator> {
    if demands_nothing(schema) {
        return None;
    }
    let patterns = PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS);
    let built = Validator::options().offline().with_pattern_options(patterns).build(schema);
    built.inspect_err(|e| tracing::warn!("the schema of '{tool}' cannot be used, its server checks alone: {e}")).ok()
}

/// Whether every object fits, as far as is seen at a glance.
fn demands_nothing(schema: &Value) -> bool {
    const SAYS_NOTHING: [&str; 8] =
        ["type", "$schema", "title", "description", "$id", "default", "examples", "$comment"];
    let Value::Object(members) = schema else { return !matches!(schema, Value::Bool(false)) };
    let is_object = members.get("type").is_none_or(|kind| kind == "object");
    let is_empty =
        |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty) || *value == Value::Bool(true);
    is_object
        && members.iter().all(|(key, value)| {
            SAYS_NOTHING.contains(&key.as_str())
                || (matches!(key.as_str(), "properties" | "additionalProperties") && is_empty(value))
                || (key == "required" && value.as_array().is_some_and(Vec::is_empty))
        })
}

/// Checks arguments. Numbers that no machine has are left to the server.
///
/// # Errors
/// With the path and the rule of the first faults.
pub(super) fn check_arguments(validator: &Validator, arguments: &RawValue) -> Result<(), String> {
    let Ok(arguments) = serde_json::from_str::<Value>(arguments.get()) else { return Ok(()) };
    let mut errors = validator.iter_errors(&arguments);
    let told: Vec<_> = errors.by_ref().take(MAX_TOLD).map(|e| fault(&e)).collect();
    if told.is_empty() {
        return Ok(());
    }
    let more = if errors.next().is_some() { "; and more" } else { "" };
    Err(format!("{}{more}", told.join("; ")))
}

fn fault(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let place = if path.is_empty() { "the arguments" } else { path.as_str() };
    let mut what = error.to_string();
    if let Some((at, _)) = what.char_indices().nth(MAX_FAULT) {
        what.truncate(at);
        what.push('…');
    }
    format!("{place}: {what} (rule '{}')", error.kind().keyword())
}

#[cfg(test)]
mod tests;
