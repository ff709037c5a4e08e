//! Parses conditions from the command line, such as `/path in /home/me/notes`.

use drawbridge_hub::model::policy::{Condition, Literal, Predicate};
use serde_json::value::RawValue;

/// Parses a condition.
pub(crate) fn parse_condition(text: &str) -> Result<Condition, String> {
    const WRONG: &str = "this must be 'POINTER is JSON', 'POINTER one-of JSON-ARRAY', 'POINTER in FOLDER', \
                         'POINTER host HOST', 'POINTER between MIN MAX' or 'POINTER matches REGEX'";
    let (pointer, rest) = text.split_once(' ').ok_or(WRONG)?;
    let (word, value) = rest.trim_start().split_once(' ').ok_or(WRONG)?;
    let value = value.trim_start();
    let is = match word {
        "is" => Predicate::Equals(parse_literal(value)?),
        "one-of" => {
            let values: Vec<Box<RawValue>> = serde_json::from_str(value)
                .map_err(|e| format!("'{value}' is no JSON array: {e}"))?;
            Predicate::OneOf(
                values
                    .into_iter()
                    .map(|value| Literal(value.get().to_owned()))
                    .collect(),
            )
        }
        "in" => Predicate::PathWithin(value.to_owned()),
        "host" => Predicate::Host(value.to_owned()),
        "between" => {
            let (min, max) = value.split_once(' ').ok_or(WRONG)?;
            let bound = |text: &str| {
                if text == "-" {
                    Ok(None)
                } else {
                    parse_literal(text).map(Some)
                }
            };
            Predicate::Between {
                min: bound(min)?,
                max: bound(max.trim_start())?,
            }
        }
        "matches" => Predicate::Matches(value.to_owned()),
        _ => return Err(WRONG.into()),
    };
    Ok(Condition {
        pointer: pointer.to_owned(),
        is,
    })
}

fn parse_literal(text: &str) -> Result<Literal, String> {
    let value = RawValue::from_string(text.to_owned());
    value
        .map(|value| Literal(value.get().to_owned()))
        .map_err(|_| format!("'{text}' is no JSON value; a text has quotes, such as '\"{text}\"'"))
}
