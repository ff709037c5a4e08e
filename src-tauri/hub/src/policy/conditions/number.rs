//! JSON numbers of any size, which are compared exactly by their value.

use std::cmp::Ordering;

/// The number `±0.digits · 10^exponent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    is_negative: bool,
    exponent: i64,
    /// The digits, without zeros at either end.
    digits: Vec<u8>,
}

impl Number {
    /// Parses a JSON number. Returns `None` if the text is not a number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (is_negative, rest) = text
            .strip_prefix('-')
            .map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (rest, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (mantissa, ""),
        };
        let are_digits = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
        if whole.is_empty()
            || !are_digits(whole)
            || !are_digits(fraction)
            || (whole.len() > 1 && whole.starts_with('0'))
        {
            return None;
        }
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let begin = all.iter().take_while(|digit| **digit == b'0').count();
        let end = all.len() - all.iter().rev().take_while(|digit| **digit == b'0').count();
        if begin >= end {
            return Some(Self {
                is_negative: false,
                exponent: 0,
                digits: Vec::new(),
            });
        }
        let place = i64::try_from(whole.len()).ok()? - i64::try_from(begin).ok()?;
        Some(Self {
            is_negative,
            exponent: exponent.saturating_add(place),
            digits: all[begin..end].to_vec(),
        })
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Returns a text that is the same for equal numbers.
    pub(super) fn to_canonical(&self) -> String {
        let sign = if self.is_negative { "-" } else { "" };
        format!(
            "{sign}0.{}e{}",
            String::from_utf8_lossy(&self.digits),
            self.exponent
        )
    }
}

/// Parses an exponent, and clamps it if it is out of range. Returns `None` if it is not a number.
fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let most = i64::MAX / 4;
    let power = digits.parse::<i64>().unwrap_or(most).min(most);
    Some(if text.starts_with('-') { -power } else { power })
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let by_size = || {
            self.exponent
                .cmp(&other.exponent)
                .then_with(|| self.digits.cmp(&other.digits))
        };
        sign(self).cmp(&sign(other)).then_with(|| match sign(self) {
            1 => by_size(),
            -1 => by_size().reverse(),
            _ => Ordering::Equal,
        })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap_or_else(|| panic!("{text} is a number"))
    }

    #[test]
    fn equal_values_in_different_notation_are_equal() {
        for (left, right) in [
            ("1", "1.0"),
            ("1", "10e-1"),
            ("0", "-0.00e7"),
            ("-120", "-1.2E+2"),
            ("0.05", "5e-2"),
        ] {
            assert_eq!(number(left), number(right), "{left} {right}");
        }
    }

    #[test]
    fn digits_beyond_the_precision_of_a_float_count() {
        assert!(number("9007199254740993") > number("9007199254740992"));
        assert!(number("0.10000000000000000001") > number("0.1"));
        assert!(number("1e400") < number("1e401"));
        assert!(number("-1e99999999999999999999") < number("-1"));
    }

    #[test]
    fn text_that_is_not_a_json_number_is_rejected() {
        for text in [
            "", "-", "01", "1.", ".5", "1e", "+1", "0x10", "NaN", "Infinity", "1 ", "１", "true",
            "\"1\"",
        ] {
            assert_eq!(Number::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn integers_are_ordered_by_value(left: i64, right: i64) {
            prop_assert_eq!(number(&left.to_string()).cmp(&number(&right.to_string())), left.cmp(&right));
        }

        #[test]
        fn floats_are_ordered_by_value(left in -1e9..1e9_f64, right in -1e9..1e9_f64) {
            prop_assert_eq!(Some(number(&left.to_string()).cmp(&number(&right.to_string()))), left.partial_cmp(&right));
        }
    }
}
