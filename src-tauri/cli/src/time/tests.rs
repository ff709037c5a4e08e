//! Parsing and formatting of times and durations.

use super::*;

const NOW: Timestamp = Timestamp(1_000_000_000_000);

fn berlin() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a time zone")
}

fn parse_in_berlin(text: &str) -> Option<String> {
    parse_time_at(text, NOW, berlin()).ok().map(format_utc)
}

#[test]
fn a_duration_is_parsed_with_its_units() {
    for (text, seconds) in [
        ("90s", 90),
        ("15m", 900),
        ("15 min", 900),
        ("1h30m", 5_400),
        ("1.5h", 5_400),
        ("8h", 28_800),
        ("2d", 172_800),
        ("1d 12h", 129_600),
        ("1w", 604_800),
        ("PT15M", 900),
    ] {
        let parsed = parse_duration(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(parsed, Duration::from_secs(seconds), "{text}");
    }
}

#[test]
fn the_error_of_a_duration_says_what_is_expected() {
    let malformed = ["", "m", "15", "15µ", "soon", "1mo", "1y"];
    let out_of_range = ["0m", "-1m", "1m ago", "999ms", "99999999999s", "36501d"];
    for wrong in malformed.into_iter().chain(out_of_range) {
        let error = parse_duration(wrong).expect_err(wrong).to_string();
        assert_eq!(
            error, "expected a duration from 1s to 36500d, such as 90s, 15m, 1h30m or 2d",
            "{wrong}"
        );
    }
}

#[test]
fn a_time_is_a_day_a_local_time_a_time_with_an_offset_or_an_age() {
    for (text, expected) in [
        ("2026-11-21", "2026-11-20 23:00:00Z"),
        ("2026-07-01", "2026-06-30 22:00:00Z"),
        ("2026-11-21 03:18", "2026-11-21 02:18:00Z"),
        ("2026-11-21T03:18:46", "2026-11-21 02:18:46Z"),
        ("2026-11-21T03:18:46Z", "2026-11-21 03:18:46Z"),
        ("2026-11-21 03:18:46Z", "2026-11-21 03:18:46Z"),
        ("2026-11-21T03:18:46+01:00", "2026-11-21 02:18:46Z"),
        ("2026-11-21T03:18[+05:30]", "2026-11-20 21:48:00Z"),
        ("15m", "2001-09-09 01:31:40Z"),
        ("15m ago", "2001-09-09 01:31:40Z"),
        ("7d", "2001-09-02 01:46:40Z"),
    ] {
        assert_eq!(parse_in_berlin(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn the_error_of_a_time_says_what_is_expected() {
    for wrong in [
        "",
        "d",
        "é",
        "ago",
        "yesterday",
        "2026-13-01",
        "2025-02-29",
        "2026-11-21T24:00",
        "2026-11",
        "-1d",
        "1:2",
        "2026-11-21T1",
    ] {
        let error = parse_time_at(wrong, NOW, berlin()).expect_err(wrong);
        for accepted in ["2026-11-21", "2026-11-21T03:18:46Z", "15m, 12h, 7d"] {
            assert!(error.to_string().contains(accepted), "{wrong}: {error}");
        }
    }
}

#[test]
fn a_time_is_parsed_as_it_is_shown() {
    for millis in [0, 951_782_399_000, 1_795_231_126_000] {
        let time = Timestamp(millis);
        for text in [format_time(time), format_utc(time)] {
            assert_eq!(parse_time(&text).ok(), Some(time), "{text}");
        }
    }
}

#[test]
fn times_are_shown_with_their_offset() {
    let format_in_berlin = |millis| format_in(Timestamp(millis), berlin(), "%Y-%m-%d %H:%M:%S%:z");
    assert_eq!(
        format_in_berlin(1_795_231_126_000),
        "2026-11-21 04:18:46+01:00"
    );
    for (millis, expected) in [
        (0, "1970-01-01 00:00:00Z"),
        (951_782_399_999, "2000-02-28 23:59:59Z"),
        (951_782_400_000, "2000-02-29 00:00:00Z"),
        (1_795_231_126_000, "2026-11-21 03:18:46Z"),
        (-1, "1969-12-31 23:59:59Z"),
        (i64::MAX, "9223372036854775807 ms"),
    ] {
        assert_eq!(format_utc(Timestamp(millis)), expected);
    }
    assert_eq!(format_utc_day(Timestamp(1_795_231_126_000)), "2026-11-21");
}
