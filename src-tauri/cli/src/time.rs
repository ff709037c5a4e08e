//! Times and durations: parses them as a person types them, and formats them for a person. Times
//! are local unless their text has a UTC offset.

use std::time::Duration;

use drawbridge_model::{clock, ids::Timestamp};
use jiff::{Span, SpanRelativeTo, Zoned, civil::Time, fmt::temporal::Pieces, tz::TimeZone};

#[cfg(test)]
mod tests;

/// The longest duration that a person may give.
const MAX_DAYS: u64 = 36_500;

/// The error if a text is not a duration that a person may give.
#[derive(Debug, thiserror::Error)]
#[error("expected a duration from 1s to {MAX_DAYS}d, such as 90s, 15m, 1h30m or 2d")]
pub(crate) struct ParseDurationError {
    /// `None` if the duration is out of range.
    source: Option<jiff::Error>,
}

/// The error if a text is not a time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ParseTimeError {
    #[error(
        "expected a day (2026-11-21), a local time (2026-11-21T03:18), a time with a UTC offset \
         (2026-11-21T03:18:46Z) or an age (15m, 12h, 7d)"
    )]
    Syntax(#[source] jiff::Error),
}

/// Parses a duration such as `90s`, `15m`, `1h30m` or `2d`. A day has 24 hours.
///
/// # Errors
/// Returns an error if the text is not a duration, or if the duration is shorter than a second or
/// longer than a hundred years.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, ParseDurationError> {
    let wrong_syntax = |error| ParseDurationError {
        source: Some(error),
    };
    let span: Span = text.parse().map_err(wrong_syntax)?;
    let duration = span
        .to_duration(SpanRelativeTo::days_are_24_hours())
        .map_err(wrong_syntax)?;
    Duration::try_from(duration)
        .ok()
        .filter(|duration| (1..=MAX_DAYS * 86_400).contains(&duration.as_secs()))
        .ok_or(ParseDurationError { source: None })
}

/// Parses a day (`2026-11-21`), a local time (`2026-11-21 03:18`), a time with a UTC offset
/// (`2026-11-21T03:18:46Z`), or an age (`15m`, `7d ago`).
///
/// # Errors
/// Returns an error if the text has none of these forms.
pub(crate) fn parse_time(text: &str) -> Result<Timestamp, ParseTimeError> {
    parse_time_at(text, clock::now(), TimeZone::system())
}

fn parse_time_at(text: &str, now: Timestamp, zone: TimeZone) -> Result<Timestamp, ParseTimeError> {
    let age = text.strip_suffix("ago").unwrap_or(text).trim_end();
    if let Ok(age) = parse_duration(age) {
        let age = i64::try_from(age.as_millis()).expect("a duration has at most MAX_DAYS");
        return Ok(Timestamp(now.0.saturating_sub(age)));
    }
    let time = parse_zoned(text, zone).map_err(ParseTimeError::Syntax)?;
    Ok(Timestamp(time.timestamp().as_millisecond()))
}

/// Parses a day or a time. Uses `zone` if the text has neither a UTC offset nor a time zone.
fn parse_zoned(text: &str, zone: TimeZone) -> Result<Zoned, jiff::Error> {
    let pieces = Pieces::parse(text)?;
    let zone = match (pieces.to_time_zone()?, pieces.to_numeric_offset()) {
        (Some(named), _) => named,
        (None, Some(offset)) => offset.to_time_zone(),
        (None, None) => zone,
    };
    let time = pieces.time().unwrap_or(Time::midnight());
    pieces.date().to_datetime(time).to_zoned(zone)
}

/// Formats a time in the local time zone, such as `2026-11-21 04:18:46+01:00`.
pub(crate) fn format_time(time: Timestamp) -> String {
    format_in(time, TimeZone::system(), "%Y-%m-%d %H:%M:%S%:z")
}

/// Formats a time like [`format_time`], or returns a dash if there is none.
pub(crate) fn format_time_or_dash(time: Option<Timestamp>) -> String {
    time.map_or_else(|| "-".to_owned(), format_time)
}

/// Formats a time in UTC, such as `2026-11-21 03:18:46Z`.
pub(crate) fn format_utc(time: Timestamp) -> String {
    format_in(time, TimeZone::UTC, "%Y-%m-%d %H:%M:%SZ")
}

/// Formats the day of a time in UTC, such as `2026-11-21`.
pub(crate) fn format_utc_day(time: Timestamp) -> String {
    format_in(time, TimeZone::UTC, "%Y-%m-%d")
}

/// Formats a time in a time zone. Returns the milliseconds since 1970 if the time is outside the
/// range of the calendar, which happens only in a damaged record.
fn format_in(time: Timestamp, zone: TimeZone, format: &str) -> String {
    jiff::Timestamp::from_millisecond(time.0).map_or_else(
        |_| format!("{} ms", time.0),
        |timestamp| timestamp.to_zoned(zone).strftime(format).to_string(),
    )
}
