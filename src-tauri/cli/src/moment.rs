//! Parses moments: a day, a day with a time in UTC, or an age.

use drawbridge_hub::model::ids::Timestamp;

/// Parses `2026-11-21`, `2026-11-21 03:18`, `2026-11-21T03:18:46Z`, or an age such as `15m`, `12h`
/// or `7d`.
pub(crate) fn read(text: &str) -> Result<Timestamp, String> {
    read_at(text, drawbridge_hub::clock::now())
}

fn read_at(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let moment = ago(text, now).or_else(|| date(text));
    moment.ok_or_else(|| {
        "it is a day as 2026-11-21, a time as 2026-11-21T03:18:46Z, or 15m, 12h, 7d ago".to_owned()
    })
}

fn ago(text: &str, now: Timestamp) -> Option<Timestamp> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds: i64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    let number: u32 = number.parse().ok()?;
    Some(Timestamp(now.0 - i64::from(number) * seconds * 1_000))
}

fn date(text: &str) -> Option<Timestamp> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (day, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let [year, month, day] = numbers(day, '-')?[..] else {
        return None;
    };
    let (hour, minute, second) = match numbers(time, ':')?[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap),
        1..=12 => 31,
        _ => return None,
    };
    let fits = (1970..=9999).contains(&year)
        && (1..=days).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let seconds = (hour * 60 + minute) * 60 + second;
    fits.then(|| Timestamp((days_from_1970(year, month, day) * 86_400 + seconds) * 1_000))
}

fn numbers(text: &str, between: char) -> Option<Vec<i64>> {
    text.split(between)
        .map(|part| part.parse::<u16>().ok().map(i64::from))
        .collect()
}

/// Returns the days since 1970-01-01. See Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", `days_from_civil`.
fn days_from_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::moment;

    #[test]
    fn a_moment_is_read_as_it_is_shown() {
        for text in [
            "2026-11-21 03:18:46Z",
            "1970-01-01 00:00:00Z",
            "2024-02-29 23:59:59Z",
            "2000-12-31 12:00:00Z",
        ] {
            assert_eq!(read(text).map(moment).as_deref(), Ok(text));
        }
        assert_eq!(read("2026-11-21"), read("2026-11-21T00:00:00Z"));
        assert_eq!(read("2026-11-21 03:18"), read("2026-11-21T03:18:00Z"));
        let now = Timestamp(1_000_000_000_000);
        assert_eq!(read_at("15m", now), Ok(Timestamp(now.0 - 15 * 60_000)));
        assert_eq!(read_at("7d", now), Ok(Timestamp(now.0 - 7 * 86_400_000)));
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "d",
            "é",
            "yesterday",
            "2026-13-01",
            "2025-02-29",
            "2026-11-21T24:00",
            "2026-11",
            "-1d",
            "1:2",
            "2026-11-21T1",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
