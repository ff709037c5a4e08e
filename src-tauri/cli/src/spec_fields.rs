//! Changes single fields of a server's spec, named as in the spec file, for
//! `drawbridge servers set`.

use drawbridge_model::spec::ServerSpec;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The error if a field of a spec cannot be set.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FieldError {
    #[error("'{field}' is not of the form FIELD=VALUE, such as visibility=deferred")]
    Syntax { field: String },
    #[error("cannot set '{path}', because a part of the path is not an object")]
    NotInObject { path: String },
    #[error("a spec has no field '{field}'. docs/servers.md lists the fields.")]
    Unknown { field: String },
    #[error("cannot set '{path}': {source}")]
    InvalidValue {
        path: String,
        source: serde_json::Error,
    },
    #[error("the spec would be invalid: {0}")]
    InvalidSpec(#[source] serde_json::Error),
}

/// Returns a copy of the spec with changed fields. Each field is given as `FIELD=VALUE`.
///
/// # Errors
/// Returns an error if a field is not of this form, does not exist, or has an invalid value, or if
/// its path leads through a value that is not an object.
pub(crate) fn apply_fields(spec: &ServerSpec, fields: &[String]) -> Result<ServerSpec, FieldError> {
    let mut members = serde_json::to_value(spec).map_err(FieldError::InvalidSpec)?;
    // The error of the field that made the spec invalid. A later field may make the spec valid
    // again.
    let mut invalid = None;
    for field in fields {
        let (path, value) = field
            .split_once('=')
            .filter(|(path, _)| !path.is_empty())
            .ok_or_else(|| FieldError::Syntax {
                field: field.clone(),
            })?;
        set_value(&mut members, path, parse_value(value)).ok_or_else(|| {
            FieldError::NotInObject {
                path: path.to_owned(),
            }
        })?;
        match ServerSpec::deserialize(&members) {
            Ok(_) => invalid = None,
            Err(source) => {
                invalid.get_or_insert(FieldError::InvalidValue {
                    path: path.to_owned(),
                    source,
                });
            }
        }
    }
    if let Some(error) = invalid {
        return Err(error);
    }
    // An unknown field in a file is kept, but an unknown field on the command line is a mistake.
    let unknown = fields.iter().find_map(|field| {
        let (path, value) = field.split_once('=')?;
        (value != "null" && !is_known(&members, path)).then(|| path.to_owned())
    });
    match unknown {
        Some(field) => Err(FieldError::Unknown { field }),
        None => serde_json::from_value(members).map_err(FieldError::InvalidSpec),
    }
}

/// Returns whether a spec has a field at this path. Tries the value `[[]]`: an unknown field
/// accepts any value, and no known field accepts this value.
fn is_known(members: &Value, path: &str) -> bool {
    let mut changed = members.clone();
    set_value(&mut changed, path, serde_json::json!([[]])).is_some()
        && ServerSpec::deserialize(changed).is_err()
}

/// Parses a value as JSON. If the value is not JSON, returns it as a string.
fn parse_value(value: &str) -> Value {
    serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()))
}

/// Sets the value at a path; `null` removes the value. Returns `None` if the path leads through a
/// value that is not an object.
fn set_value(members: &mut Value, path: &str, value: Value) -> Option<()> {
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(first, rest)| (first, Some(rest)));
    let members = members.as_object_mut()?;
    match (rest, value) {
        (Some(rest), value) => set_value(
            members.entry(first).or_insert_with(|| Map::new().into()),
            rest,
            value,
        ),
        (None, Value::Null) => {
            members.remove(first);
            Some(())
        }
        (None, value) => {
            members.insert(first.to_owned(), value);
            Some(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(fields: &[&str]) -> Result<ServerSpec, FieldError> {
        let spec =
            serde_json::from_str(r#"{"command":"x","env":{"A":"1"},"mine":true}"#).expect("a spec");
        let fields: Vec<_> = fields.iter().map(|field| (*field).to_owned()).collect();
        apply_fields(&spec, &fields)
    }

    #[test]
    fn a_field_is_set_by_its_path_and_null_removes_it() {
        let spec = set(&[
            "visibility=deferred",
            "timeouts.tools.slow=90000",
            "prefix=",
            "env.A=null",
            "env.B=2 words",
        ]);
        let spec = spec.expect("a spec");
        assert_eq!(
            serde_json::to_value(&spec).expect("json")["visibility"],
            "deferred"
        );
        assert_eq!(
            (spec.timeouts.tools["slow"], spec.timeouts.call_ms),
            (90_000, 30_000)
        );
        assert_eq!(
            (
                spec.prefix.as_deref(),
                spec.env.get("A"),
                spec.env["B"].as_str()
            ),
            (Some(""), None, "2 words")
        );
        assert_eq!(
            spec.other["mine"], true,
            "unknown fields of the file are kept"
        );
    }

    #[test]
    fn unknown_fields_and_invalid_values_are_reported() {
        for (field, expected) in [
            ("visibility", "FIELD=VALUE"),
            ("=x", "FIELD=VALUE"),
            ("timeouts.call_ms=abc", "cannot set 'timeouts.call_ms'"),
            ("visibilty=deferred", "no field 'visibilty'"),
            ("timeouts.cal_ms=1", "no field 'timeouts.cal_ms'"),
            ("visibility=hidden", "hidden"),
            ("command.x=1", "not an object"),
            ("retries=many", "many"),
        ] {
            let error = set(&[field]).expect_err(field).to_string();
            assert!(error.contains(expected), "{field}: {error}");
        }
    }
}
