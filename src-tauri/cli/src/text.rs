//! Text for a terminal. Text from other programs is escaped, so that the terminal never interprets
//! it.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use drawbridge_hub::model::{hidden::is_hidden, ids::Timestamp};

/// Escapes every character that a terminal would interpret, hide or reorder.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Escapes each line like [`escape`], but keeps the line breaks.
pub(crate) fn escape_lines(text: &str) -> String {
    text.split('\n')
        .map(|line| escape(line.strip_suffix('\r').unwrap_or(line)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the same JSON, with hidden characters written as JSON escapes.
pub(crate) fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Indents JSON. Only the space between its tokens changes, so numbers and duplicate keys stay as
/// they are.
pub(crate) fn indent_json(json: &str) -> String {
    let (mut out, mut depth, mut in_string, mut escaped) =
        (String::with_capacity(json.len() * 2), 0_usize, false, false);
    let mut opened = false;
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    for c in json.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            out.push(c);
            continue;
        }
        if matches!(c, ' ' | '\t' | '\r' | '\n') {
            continue;
        }
        if matches!(c, '}' | ']') {
            depth = depth.saturating_sub(1);
        }
        if opened != matches!(c, '}' | ']') {
            new_line(&mut out, depth);
        }
        opened = matches!(c, '{' | '[');
        in_string = c == '"';
        out.push(c);
        match c {
            '{' | '[' => depth += 1,
            ',' => new_line(&mut out, depth),
            ':' => out.push(' '),
            _ => {}
        }
    }
    out
}

/// A table whose columns are as wide as their widest cells.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(head: [&str; N]) -> Self {
        Self {
            rows: vec![head.iter().map(ToString::to_string).collect()],
        }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows
            .push(cells.iter().map(|cell| escape(cell)).collect());
    }

    /// Returns the table as lines, or `nothing` if it has no rows.
    pub(crate) fn lines_or(&self, nothing: &str) -> String {
        if self.rows.len() == 1 {
            return nothing.to_owned();
        }
        let columns = self.rows[0].len();
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        self.rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Formats a moment in UTC, such as `2026-11-21 03:18:46Z`.
pub(crate) fn moment(at: Timestamp) -> String {
    let seconds = at.0.div_euclid(1000);
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}Z",
        time / 3600,
        time / 60 % 60,
        time % 60
    )
}

/// Formats a moment like [`moment`], or returns a dash if there is none.
pub(crate) fn moment_or_dash(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "-".to_owned(), moment)
}

/// Returns the name of an enum's value as in the API. Empty if the value is not a JSON string.
pub(crate) fn enum_text(value: impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}
