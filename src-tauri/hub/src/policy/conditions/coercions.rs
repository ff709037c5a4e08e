//! The ways in which servers deliberately convert a value: between strings, numbers, booleans and
//! null, from a string to the JSON in it, and from a null member to a missing member. Only
//! [`MatchMode::May`](super::MatchMode::May) uses these conversions, because in this mode a
//! condition holds if it holds in at least one way of reading the arguments.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{
    canonical::canonical_text,
    number::Number,
    pointer::{EmbeddedJson, embedded_json, items, members},
};

/// Returns whether some server reads the value as the expected value.
pub(super) fn may_equal(expected: &RawValue, value: &RawValue) -> bool {
    let is_text = value.get().starts_with('"');
    match expected.get().as_bytes().first() {
        Some(b'{' | b'[') if is_text => match embedded_json(value) {
            EmbeddedJson::Value(value) => may_equal(expected, &value),
            EmbeddedJson::Unreadable => true,
            EmbeddedJson::Nothing => false,
        },
        Some(b'{') => may_equal_object(expected, value),
        Some(b'[') => match (items(expected), items(value)) {
            (Some(expected), Some(items)) => {
                expected.len() == items.len()
                    && expected
                        .iter()
                        .zip(items)
                        .all(|(expected, item)| may_equal(expected, item))
            }
            _ => false,
        },
        Some(b'"') if !is_text => {
            let expected: Option<Cow<'_, str>> = serde_json::from_str(expected.get()).ok();
            expected.is_some_and(|expected| {
                coerce_to_texts(value)
                    .is_none_or(|texts| texts.iter().any(|text| *text == expected))
            })
        }
        Some(b'"') => {
            canonical_text(value).is_none_or(|value| Some(value) == canonical_text(expected))
        }
        Some(b't') => may_be_true(value),
        Some(b'f') => may_be_false(value),
        Some(b'n') => match coerce_to_texts(value) {
            Some(texts) => texts
                .iter()
                .any(|text| ["null", "None"].contains(&text.trim())),
            None => true,
        },
        Some(_) => Number::parse(expected.get())
            .is_some_and(|expected| may_be_number(value, |number| *number == expected)),
        None => false,
    }
}

/// Returns whether some server reads the value as the expected object. A server may read a null
/// member as a missing member.
fn may_equal_object(expected: &RawValue, value: &RawValue) -> bool {
    if !value.get().starts_with('{') {
        return false;
    }
    let (Some(expected_members), Some(value_members)) = (members(expected), members(value)) else {
        return true;
    };
    let is_present = |value: &RawValue| value.get() != "null";
    let is_matched = |(key, expected): &(Cow<'_, str>, &RawValue)| {
        !is_present(expected)
            || value_members
                .iter()
                .any(|(name, value)| name == key && may_equal(expected, value))
    };
    let is_expected = |(key, value): &(Cow<'_, str>, &RawValue)| {
        !is_present(value)
            || expected_members
                .iter()
                .any(|(name, value)| name == key && is_present(value))
    };
    expected_members.iter().all(is_matched) && value_members.iter().all(is_expected)
}

/// Returns whether some server reads the value as `true`. JavaScript does so for every string
/// except the empty string, even for `"false"`.
fn may_be_true(value: &RawValue) -> bool {
    match value.get().as_bytes().first() {
        Some(b'"') => value.get() != "\"\"",
        Some(b't') => true,
        Some(b'f' | b'n' | b'{' | b'[') | None => false,
        Some(_) => Number::parse(value.get()).is_none_or(|number| !number.is_zero()),
    }
}

fn may_be_false(value: &RawValue) -> bool {
    const WORDS: [&str; 5] = ["false", "f", "no", "n", "off"];
    let is_false_word = |text: &str| {
        WORDS
            .iter()
            .any(|word| text.trim().eq_ignore_ascii_case(word))
    };
    match coerce_to_texts(value) {
        Some(texts) => {
            texts.iter().any(|text| is_false_word(text)) || may_be_number(value, Number::is_zero)
        }
        None => true,
    }
}

/// Returns whether some server reads the value as a number for which `holds` is true.
pub(super) fn may_be_number(value: &RawValue, holds: impl Fn(&Number) -> bool) -> bool {
    let holds_for = |text: &str| Number::parse(text).is_some_and(|number| holds(&number));
    match value.get().as_bytes().first() {
        Some(b'"') => match serde_json::from_str::<Cow<'_, str>>(value.get()) {
            // Python accepts the digits of every script.
            Ok(text) if text.chars().any(|c| !c.is_ascii() && c.is_numeric()) => true,
            Ok(text) => read_numbers(text.trim())
                .is_none_or(|numbers| numbers.iter().any(|number| holds_for(number))),
            Err(_) => true,
        },
        Some(b't') => holds_for("1"),
        Some(b'f' | b'n') => holds_for("0"),
        Some(b'{' | b'[') | None => false,
        Some(_) => holds_for(value.get()),
    }
}

/// Returns the JSON notation of each number that JavaScript, Python and others may read in a text,
/// or `None` if the text is a number that is not computed here. The texts that no server reads as a
/// number have no notation, or one that [`Number::parse`] rejects.
fn read_numbers(text: &str) -> Option<Vec<String>> {
    if text.is_empty() {
        return Some(vec!["0".into()]);
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let rest = rest.replace('_', "").to_ascii_lowercase();
    if matches!(rest.as_str(), "inf" | "infinity") {
        return Some(vec![format!("{sign}1e999999999999999999")]);
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = rest.strip_prefix(prefix) {
            // Some numbers do not fit into `u128`: JavaScript and Python read integers of any size,
            // and C and Java read fractions with an exponent, such as `0x1.8p3`.
            let is_fraction_sign = |c| radix == 16 && matches!(c, '.' | 'p' | '+' | '-');
            let may_be_number = digits.contains(|c: char| c.is_digit(radix))
                && digits
                    .chars()
                    .all(|c| c.is_digit(radix) || is_fraction_sign(c));
            return match u128::from_str_radix(digits, radix) {
                Ok(number) => Some(vec![format!("{sign}{number}")]),
                Err(_) if may_be_number => None,
                Err(_) => Some(Vec::new()),
            };
        }
    }
    let (mantissa, exponent) = rest
        .split_once('e')
        .map_or((rest.as_str(), None), |(mantissa, e)| (mantissa, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Some(Vec::new());
    }
    let whole = whole.trim_start_matches('0');
    let exponent = exponent.map_or(String::new(), |exponent| format!("e{exponent}"));
    let decimal = format!(
        "{sign}{}.{fraction}0{exponent}",
        if whole.is_empty() { "0" } else { whole }
    );
    // Go and YAML 1.1 read `0144` as 100, and other readers as 144.
    if rest.starts_with('0') && rest.chars().all(|c| c.is_digit(8)) {
        let octal = u128::from_str_radix(&rest, 8).ok()?;
        return Some(vec![decimal, format!("{sign}{octal}")]);
    }
    Some(vec![decimal])
}

/// Returns the texts that servers make of a string, number, boolean or null. The list is empty for
/// an object or list. Returns `None` if the string cannot be decoded, for example because of a lone
/// surrogate.
pub(super) fn coerce_to_texts(value: &RawValue) -> Option<Vec<String>> {
    let text = value.get();
    Some(match text.as_bytes().first()? {
        b'"' => vec![serde_json::from_str(text).ok()?],
        b'{' | b'[' => Vec::new(),
        b't' => vec!["true".into(), "True".into()],
        b'f' => vec!["false".into(), "False".into()],
        b'n' => vec!["null".into(), "None".into()],
        _ => {
            // `1e2` and `1.0` become `100` and `1`.
            let short = text.parse::<f64>().ok().map(|number| number.to_string());
            std::iter::once(text.to_owned()).chain(short).collect()
        }
    })
}
