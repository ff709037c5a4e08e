//! The rows as a table and as JSON.

use std::{fmt::Write, io};

use serde_json::{Value, json};

const BEGIN: &str = "<!-- The table of `cargo xtask bench call --write` begins. -->\n";
const END: &str = "<!-- The table of `cargo xtask bench call --write` ends. -->\n";

/// A line of the table: medians over the rounds, sums of errors, or single values.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The kind of the server and the era of the client, or with which hub a large hub is compared.
    /// Empty for an idle hub.
    pub(crate) variant: String,
    /// The value of the floor, or of the small hub beside a large hub.
    pub(crate) floor: Option<f64>,
    pub(crate) hub: f64,
    /// The median of the ratios of single rounds. The value of the hub if there is no floor, or if
    /// the values are counts of errors.
    pub(crate) ratio: f64,
    /// The bound for the ratio that Drawbridge aims at, or an empty text.
    pub(crate) target_ratio: &'static str,
}

pub(crate) fn render_table(rows: &[Row]) -> String {
    let mut table = "| measurement | variant | floor | Drawbridge | ratio | target |\n|---|---|---|---|---|---|\n".to_owned();
    for row in rows {
        let floor = row.floor.map(|floor| format!("{floor:.2}"));
        writeln!(
            table,
            "| {} | {} | {} | {:.2} | {:.2} | {} |",
            row.name,
            row.variant,
            floor.unwrap_or_default(),
            row.hub,
            row.ratio,
            row.target_ratio
        )
        .expect("a String takes any text");
    }
    table
}

pub(crate) fn render_json(rows: &[Row]) -> String {
    let rows: Value = rows
        .iter()
        .map(|row| {
            json!({"name": row.name, "variant": row.variant, "floor": row.floor,
                "hub": row.hub, "ratio": row.ratio, "target_ratio": row.target_ratio})
        })
        .collect();
    rows.to_string()
}

/// Replaces the table of the page, which is between two comments.
///
/// # Errors
///
/// Returns an error if the page lacks one of the comments.
pub(crate) fn replace_table(page: &str, rows: &[Row]) -> io::Result<String> {
    let (before, rest) = page.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", render_table(rows)))
}

fn missing(comment: &str) -> io::Error {
    io::Error::other(format!("the page has no {}", comment.trim_end()))
}
