//! Parses conditions from the command line, such as `/path in /home/me/notes`.

use drawbridge_model::policy::{Condition, Literal, Predicate};
use serde_json::value::RawValue;

/// The error if a text is not a condition.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ParseConditionError {
    #[error(
        "expected 'POINTER is JSON', 'POINTER one-of JSON-ARRAY', 'POINTER in FOLDER', 'POINTER \
         host HOST', 'POINTER between MIN MAX' or 'POINTER matches REGEX'"
    )]
    Syntax,
    #[error("'one-of' must list at least one value")]
    NoValues,
    #[error("'{text}' is not a JSON array: {source}")]
    NotArray {
        text: String,
        source: serde_json::Error,
    },
    #[error("'{text}' is not a JSON value; a string needs quotes, such as '\"{text}\"'")]
    NotValue {
        text: String,
        source: serde_json::Error,
    },
}

/// Parses a condition.
///
/// # Errors
/// Returns an error if the text has none of the forms of a condition, if a value is not JSON, or if
/// `one-of` is not followed by a JSON array with at least one value.
pub(crate) fn parse_condition(text: &str) -> Result<Condition, ParseConditionError> {
    use ParseConditionError::Syntax;
    let (pointer, rest) = text.split_once(' ').ok_or(Syntax)?;
    let (predicate, value) = rest.trim_start().split_once(' ').ok_or(Syntax)?;
    let value = value.trim_start();
    let is = match predicate {
        "is" => Predicate::Equals(parse_literal(value)?),
        "one-of" => Predicate::OneOf(parse_literals(value)?),
        "in" => Predicate::PathWithin(value.to_owned()),
        "host" => Predicate::Host(value.to_owned()),
        "between" => {
            let (min, max) = value.split_once(' ').ok_or(Syntax)?;
            Predicate::Between {
                min: parse_bound(min)?,
                max: parse_bound(max.trim_start())?,
            }
        }
        "matches" => Predicate::Matches(value.to_owned()),
        _ => return Err(Syntax),
    };
    Ok(Condition {
        pointer: pointer.to_owned(),
        is,
    })
}

fn parse_literal(text: &str) -> Result<Literal, ParseConditionError> {
    match RawValue::from_string(text.to_owned()) {
        Ok(value) => Ok(Literal(value.get().to_owned())),
        Err(source) => Err(ParseConditionError::NotValue {
            text: text.to_owned(),
            source,
        }),
    }
}

fn parse_literals(text: &str) -> Result<Vec<Literal>, ParseConditionError> {
    match serde_json::from_str::<Vec<Box<RawValue>>>(text) {
        Ok(values) if values.is_empty() => Err(ParseConditionError::NoValues),
        Ok(values) => Ok(values
            .into_iter()
            .map(|value| Literal(value.get().to_owned()))
            .collect()),
        Err(source) => Err(ParseConditionError::NotArray {
            text: text.to_owned(),
            source,
        }),
    }
}

/// Parses a bound of a range. The text `-` stands for no bound.
fn parse_bound(text: &str) -> Result<Option<Literal>, ParseConditionError> {
    if text == "-" {
        Ok(None)
    } else {
        parse_literal(text).map(Some)
    }
}
