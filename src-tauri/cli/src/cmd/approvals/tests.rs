//! Parsing of durations.

use std::time::Duration;

use super::parse_duration;

#[test]
fn times_have_a_unit() {
    for (text, seconds) in [("90s", 90), ("15m", 900), ("8h", 28_800), ("2d", 172_800)] {
        assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)));
    }
    for wrong in ["", "m", "15", "0m", "-1m", "1.5h", "15µ", "99999999999s"] {
        assert!(parse_duration(wrong).is_err(), "{wrong}");
    }
}
