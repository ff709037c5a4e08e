//! Requests of servers for a person's input, which Drawbridge shows if the client cannot. Reads the
//! form that a request describes, and checks the values that a person has entered. No value of a
//! form is stored, and no error quotes a value.

use std::collections::HashSet;

use drawbridge_upstream::oauth::{self, BrowserUrlError};
use jiff::{Timestamp, civil::Date};
use serde::Deserialize;
use serde_json::{Map, Number, Value, value::RawValue};
use url::Url;

/// The maximum number of fields of a form.
const MAX_FIELDS: usize = 100;
/// The maximum number of choices of a field.
const MAX_CHOICES: usize = 1_000;
/// The longest value of a field, in characters.
const MAX_CHARS: usize = 64 * 1024;

/// The input that a server requests.
#[derive(Debug)]
pub enum Elicitation {
    Form(Form),
    /// A person has to visit a URL.
    Url(Url),
}

/// The fields of a form, by name.
#[derive(Debug)]
pub struct Form(Vec<Field>);

#[derive(Debug)]
struct Field {
    name: String,
    is_required: bool,
    kind: FieldKind,
}

#[derive(Debug)]
enum FieldKind {
    Text {
        min: Option<u64>,
        max: Option<u64>,
        format: Option<Format>,
    },
    Number {
        is_integer: bool,
        min: Option<f64>,
        max: Option<f64>,
    },
    Boolean,
    Choice(Vec<String>),
    Choices {
        choices: Vec<String>,
        min: Option<u64>,
        max: Option<u64>,
    },
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Format {
    Email,
    Uri,
    Date,
    DateTime,
}

/// Why a request for input cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ElicitationError {
    #[error("the params of the request cannot be read: {0}")]
    Params(#[from] serde_json::Error),
    #[error("'requestedSchema' must be an object schema with 'properties'")]
    NoProperties,
    #[error("the form has more than {MAX_FIELDS} fields")]
    TooManyFields,
    #[error("the field '{0}' is neither a string, a number, a boolean nor a choice")]
    FieldType(String),
    #[error("the field '{0}' must have 1 to {MAX_CHOICES} choices, and each must be a string")]
    Choices(String),
    #[error(transparent)]
    Url(#[from] BrowserUrlError),
    #[error("the mode '{0}' is unknown")]
    Mode(String),
}

/// Why a person's values do not fit a form. The texts contain no values.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    #[error("the values must be a JSON object")]
    NotObject,
    #[error("the form needs values")]
    NoContent,
    #[error("this request has a URL and takes no values")]
    NoForm,
    #[error("'{0}' is required")]
    Missing(String),
    #[error("the form has no field '{0}'")]
    Unknown(String),
    #[error("'{field}' must be {expected}")]
    Wrong { field: String, expected: String },
}

impl Elicitation {
    /// Reads the params of an `elicitation/create`.
    ///
    /// # Errors
    /// Returns an error if the params or the form are malformed, if the mode or the type of a field
    /// is unknown, if there are too many fields or choices, or if the URL must not be opened in a
    /// browser.
    pub fn read(params: &RawValue) -> Result<Self, ElicitationError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            mode: Option<String>,
            url: Option<String>,
            requested_schema: Option<Value>,
        }
        let read: Params = serde_json::from_str(params.get())?;
        match read.mode.as_deref() {
            None | Some("form") => Ok(Self::Form(Form::read(read.requested_schema.as_ref())?)),
            Some("url") => Ok(Self::Url(oauth::check_browser_url(
                &read.url.unwrap_or_default(),
            )?)),
            Some(other) => Err(ElicitationError::Mode(other.to_owned())),
        }
    }

    /// Checks a person's values, or that there are none if the person visits a URL. Returns the
    /// names of the fields that have a value.
    ///
    /// # Errors
    /// Returns an error if the values do not fit the form or the URL.
    pub fn check(&self, content: Option<&str>) -> Result<Vec<String>, ContentError> {
        match (self, content) {
            (Self::Form(form), Some(content)) => form.check(content),
            (Self::Form(_), None) => Err(ContentError::NoContent),
            (Self::Url(_), Some(_)) => Err(ContentError::NoForm),
            (Self::Url(_), None) => Ok(Vec::new()),
        }
    }
}

impl Form {
    fn read(schema: Option<&Value>) -> Result<Self, ElicitationError> {
        let schema = schema.and_then(Value::as_object);
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        let (Some(schema), Some(properties)) = (schema, properties) else {
            return Err(ElicitationError::NoProperties);
        };
        if properties.len() > MAX_FIELDS {
            return Err(ElicitationError::TooManyFields);
        }
        let required: HashSet<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let read = |(name, schema): (&String, &Value)| {
            Ok(Field {
                name: name.clone(),
                is_required: required.contains(name.as_str()),
                kind: FieldKind::read(name, schema)?,
            })
        };
        properties
            .iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn check(&self, content: &str) -> Result<Vec<String>, ContentError> {
        let values: Map<String, Value> =
            serde_json::from_str(content).map_err(|_| ContentError::NotObject)?;
        if let Some(unknown) = values
            .keys()
            .find(|name| self.0.iter().all(|field| field.name != **name))
        {
            return Err(ContentError::Unknown(unknown.clone()));
        }
        for field in &self.0 {
            match values.get(&field.name) {
                Some(value) => field
                    .kind
                    .check(value)
                    .map_err(|expected| ContentError::Wrong {
                        field: field.name.clone(),
                        expected,
                    })?,
                None if field.is_required => return Err(ContentError::Missing(field.name.clone())),
                None => {}
            }
        }
        Ok(values.keys().cloned().collect())
    }
}

impl FieldKind {
    fn read(name: &str, schema: &Value) -> Result<Self, ElicitationError> {
        let length = |key: &str| schema.get(key).and_then(Value::as_u64);
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => match read_choices(name, schema)? {
                Some(choices) => Ok(Self::Choice(choices)),
                None => Ok(Self::Text {
                    min: length("minLength"),
                    max: length("maxLength"),
                    format: schema
                        .get("format")
                        .and_then(|format| Format::deserialize(format).ok()),
                }),
            },
            Some(kind @ ("number" | "integer")) => Ok(Self::Number {
                is_integer: kind == "integer",
                min: bound("minimum"),
                max: bound("maximum"),
            }),
            Some("boolean") => Ok(Self::Boolean),
            Some("array") => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                let choices = read_choices(name, items)?;
                Ok(Self::Choices {
                    choices: choices.ok_or_else(|| ElicitationError::Choices(name.to_owned()))?,
                    min: length("minItems"),
                    max: length("maxItems"),
                })
            }
            _ => Err(ElicitationError::FieldType(name.to_owned())),
        }
    }

    /// Checks a value. If the value does not fit, the error describes a valid value.
    fn check(&self, value: &Value) -> Result<(), String> {
        match (self, value) {
            (Self::Text { min, max, format }, Value::String(text)) => {
                check_text(text, *min, *max, *format)
            }
            (Self::Text { .. }, _) => Err("a text".into()),
            (
                Self::Number {
                    is_integer,
                    min,
                    max,
                },
                Value::Number(number),
            ) => check_number(number, *is_integer, *min, *max),
            (Self::Number { .. }, _) => Err("a number".into()),
            (Self::Boolean, Value::Bool(_)) => Ok(()),
            (Self::Boolean, _) => Err("true or false".into()),
            (Self::Choice(choices), Value::String(chosen)) if choices.contains(chosen) => Ok(()),
            (Self::Choice(_), _) => Err("one of the choices".into()),
            (Self::Choices { choices, min, max }, Value::Array(chosen)) => {
                check_choices(chosen, choices, *min, *max)
            }
            (Self::Choices { .. }, _) => Err("a list of choices".into()),
        }
    }
}

/// Reads the choices of a string: `enum`, or `oneOf` or `anyOf` with a title for each. Returns
/// `None` if the string is not limited to choices.
fn read_choices(name: &str, schema: &Value) -> Result<Option<Vec<String>>, ElicitationError> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let choices: Option<Vec<String>> = if let Some(plain) = list("enum") {
        plain.iter().map(to_text).collect()
    } else if let Some(titled) = list("oneOf").or_else(|| list("anyOf")) {
        let constants = titled.iter().map(|choice| to_text(choice.get("const")?));
        constants.collect()
    } else {
        return Ok(None);
    };
    choices
        .filter(|choices| (1..=MAX_CHOICES).contains(&choices.len()))
        .map(Some)
        .ok_or_else(|| ElicitationError::Choices(name.to_owned()))
}

fn to_text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn check_text(
    text: &str,
    min: Option<u64>,
    max: Option<u64>,
    format: Option<Format>,
) -> Result<(), String> {
    let length = text.chars().count() as u64;
    if let Some(min) = min.filter(|min| length < *min) {
        return Err(format!("at least {min} characters long"));
    }
    let max = max.unwrap_or(u64::MAX).min(MAX_CHARS as u64);
    if length > max {
        return Err(format!("at most {max} characters long"));
    }
    match format {
        Some(Format::Email) if !is_email(text) => Err("an email address".into()),
        Some(Format::Uri) if Url::parse(text).is_err() => Err("a URL".into()),
        Some(Format::Date) if text.len() != 10 || text.parse::<Date>().is_err() => {
            Err("a date such as 2026-12-31".into())
        }
        Some(Format::DateTime) if text.parse::<Timestamp>().is_err() => {
            Err("a time with its offset, such as 2026-12-31T13:00:00Z".into())
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns whether a text has the form of an email address. Only the mail server knows whether the
/// address exists.
fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty()
            && !domain.contains('@')
            && domain.split('.').all(|label| !label.is_empty())
            && !text.contains(char::is_whitespace)
    })
}

fn check_number(
    number: &Number,
    is_integer: bool,
    min: Option<f64>,
    max: Option<f64>,
) -> Result<(), String> {
    let value = number.as_f64().unwrap_or(f64::NAN);
    // 1.0 is an integer in JSON Schema.
    if is_integer && value.fract() != 0.0 {
        return Err("a whole number".into());
    }
    if let Some(min) = min.filter(|min| value < *min) {
        return Err(format!("at least {min}"));
    }
    if let Some(max) = max.filter(|max| value > *max) {
        return Err(format!("at most {max}"));
    }
    Ok(())
}

fn check_choices(
    chosen: &[Value],
    choices: &[String],
    min: Option<u64>,
    max: Option<u64>,
) -> Result<(), String> {
    let mut distinct = HashSet::new();
    let are_choices = chosen.iter().all(|value| {
        value.as_str().is_some_and(|text| {
            distinct.insert(text) && choices.iter().any(|choice| choice == text)
        })
    });
    if !are_choices {
        return Err("a list of different choices".into());
    }
    let count = chosen.len() as u64;
    if let Some(min) = min.filter(|min| count < *min) {
        return Err(format!("at least {min} of the choices"));
    }
    if let Some(max) = max.filter(|max| count > *max) {
        return Err(format!("at most {max} of the choices"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
