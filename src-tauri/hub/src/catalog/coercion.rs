//! Checks whether arguments fit a schema after the conversions that many servers perform on
//! purpose.
//!
//! The Python SDK, FastMCP and pydantic read `"2"` as a number, `"true"` as a boolean, and a string
//! of JSON as the object or list that it contains. Servers in TypeScript convert numbers, booleans
//! and strings with `z.coerce`. Only a copy is converted: the server gets the arguments unchanged.

use std::collections::BTreeSet;

use jsonschema::{
    JsonType, ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::{Number, Value};

/// The maximum length of arguments that are converted, in bytes of JSON text.
pub(super) const MAX_BYTES: usize = 256 * 1024;
/// The maximum number of validations, beginning with the arguments as they are.
const MAX_CHECKS: usize = 16;
/// The maximum number of copies that wait to be validated.
const MAX_OPEN: usize = 8;
/// The maximum number of faults that are read from one validation.
const MAX_FAULTS: usize = 2_000;

/// A copy of the arguments, and the places in it that were converted. No place is converted twice.
#[derive(Clone)]
struct Attempt {
    value: Value,
    converted: BTreeSet<String>,
}

/// Returns whether some conversion makes the arguments fit. The search is bounded. The result is
/// also false if a bound ends the search.
pub(super) fn fits_after_conversion(validator: &Validator, arguments: Value) -> bool {
    let mut open = vec![Attempt {
        value: arguments,
        converted: BTreeSet::new(),
    }];
    for _ in 0..MAX_CHECKS {
        let Some(attempt) = open.pop() else {
            return false;
        };
        let errors: Vec<_> = validator
            .iter_errors(&attempt.value)
            .take(MAX_FAULTS)
            .collect();
        if errors.is_empty() {
            return true;
        }
        let mut next = next_attempts(&attempt, &errors);
        next.truncate(MAX_OPEN.saturating_sub(open.len()));
        // Reversed, so that `pop` returns the first copy first.
        open.extend(next.into_iter().rev());
    }
    false
}

/// Returns the copies to validate next. In the first copy, every convertible fault is converted;
/// for a fault of an `anyOf` or `oneOf`, the first convertible alternative is used. In each other
/// copy, only the first fault of an `anyOf` or `oneOf` is converted, by another alternative.
fn next_attempts(attempt: &Attempt, errors: &[ValidationError<'_>]) -> Vec<Attempt> {
    let all: Vec<_> = errors
        .iter()
        .filter_map(|error| find_conversions(attempt, std::slice::from_ref(error)))
        .collect();
    if all.is_empty() {
        return Vec::new();
    }
    let others = errors
        .iter()
        .filter_map(alternatives)
        .find(|context| context.len() > 1)
        .into_iter()
        .flatten();
    let others = others
        .filter_map(|errors| find_conversions(attempt, errors))
        .skip(1)
        .take(MAX_OPEN);
    let all = all.into_iter().flatten().collect();
    std::iter::once(all)
        .chain(others)
        .map(|conversions| attempt.converted_by(conversions))
        .collect()
}

/// Returns the conversions for the faults, or `None` if one of the faults cannot be converted.
fn find_conversions(
    attempt: &Attempt,
    errors: &[ValidationError<'_>],
) -> Option<Vec<(String, Conversion)>> {
    let mut all = Vec::new();
    for error in errors {
        match alternatives(error) {
            Some(context) => all.extend(
                context
                    .iter()
                    .find_map(|errors| find_conversions(attempt, errors))?,
            ),
            None => {
                let path = error.instance_path().as_str();
                let is_new = !attempt.converted.contains(path);
                all.push((
                    path.to_owned(),
                    find_conversion(&attempt.value, path, error.kind()).filter(|_| is_new)?,
                ));
            }
        }
    }
    Some(all)
}

/// Returns the faults of each alternative of an `anyOf` or `oneOf`. Returns `None` for any other
/// fault.
fn alternatives<'a>(
    error: &'a ValidationError<'_>,
) -> Option<&'a Vec<Vec<ValidationError<'static>>>> {
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } =
        error.kind()
    {
        Some(context)
    } else {
        None
    }
}

impl Attempt {
    fn converted_by(&self, conversions: Vec<(String, Conversion)>) -> Self {
        let mut next = self.clone();
        for (path, conversion) in conversions {
            // If one value has two faults, the first conversion counts.
            if !next.converted.contains(&path) && conversion.apply(&mut next.value, &path) {
                next.converted.insert(path);
            }
        }
        next
    }
}

/// A change of the value at a path in the arguments.
enum Conversion {
    /// Replaces the value.
    To(Value),
    /// Removes a null that stands for an omitted member. The validation of the copy shows whether
    /// the member is optional.
    Removal,
}

impl Conversion {
    fn apply(self, arguments: &mut Value, path: &str) -> bool {
        match self {
            Self::To(converted) => arguments
                .pointer_mut(path)
                .map(|place| *place = converted)
                .is_some(),
            Self::Removal => {
                let Some((parent, key)) = path.rsplit_once('/') else {
                    return false;
                };
                let key = key.replace("~1", "/").replace("~0", "~");
                let members = arguments.pointer_mut(parent).and_then(Value::as_object_mut);
                members.is_some_and(|members| members.remove(&key).is_some())
            }
        }
    }
}

fn find_conversion(
    arguments: &Value,
    path: &str,
    error: &ValidationErrorKind,
) -> Option<Conversion> {
    let value = arguments.pointer(path)?;
    let is_member = || {
        path.rsplit_once('/')
            .and_then(|(parent, _)| arguments.pointer(parent))
            .is_some_and(Value::is_object)
    };
    let converted = if let ValidationErrorKind::Type { kind } = error {
        match kind {
            TypeKind::Single(expected) => to_type(value, *expected),
            TypeKind::Multiple(types) => {
                types.iter().find_map(|json_type| to_type(value, json_type))
            }
        }
    } else if let ValidationErrorKind::Constant { expected_value } = error {
        to_constant(value, expected_value)
    } else if let ValidationErrorKind::Enum { options } = error {
        options
            .as_array()?
            .iter()
            .find_map(|constant| to_constant(value, constant))
    } else {
        return None;
    };
    match converted {
        Some(converted) => Some(Conversion::To(converted)),
        None => (value.is_null() && is_member()).then_some(Conversion::Removal),
    }
}

fn to_type(value: &Value, expected: JsonType) -> Option<Value> {
    match (value, expected) {
        (Value::String(text), JsonType::Number) => parse_number(text).map(Value::Number),
        (Value::String(text), JsonType::Integer) => {
            let is_integer =
                |number: &Number| number.as_f64().is_some_and(|number| number.fract() == 0.0);
            parse_number(text).filter(is_integer).map(Value::Number)
        }
        (Value::String(text), JsonType::Boolean) => match text.trim() {
            text if text.eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
            text if text.eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
            _ => None,
        },
        (Value::String(text), JsonType::Object) => parse_json(text).filter(Value::is_object),
        (Value::String(text), JsonType::Array) => parse_json(text).filter(Value::is_array),
        (Value::String(text), JsonType::Null) => parse_json(text).filter(Value::is_null),
        (Value::Number(_) | Value::Bool(_), JsonType::String) => {
            Some(Value::String(value.to_string()))
        }
        _ => None,
    }
}

fn to_constant(value: &Value, expected: &Value) -> Option<Value> {
    let kind = match expected {
        Value::Null => JsonType::Null,
        Value::Bool(_) => JsonType::Boolean,
        Value::Number(_) => JsonType::Number,
        Value::String(_) => JsonType::String,
        Value::Array(_) => JsonType::Array,
        Value::Object(_) => JsonType::Object,
    };
    let is_expected = |converted: &Value| match (converted, expected) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64() == right.as_f64()
        }
        _ => converted == expected,
    };
    to_type(value, kind).filter(is_expected)
}

fn parse_number(text: &str) -> Option<Number> {
    serde_json::from_str(text).ok()
}

fn parse_json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}
