//! Finds, in the log of docling-mcp, the reason why a tool failed.
//!
//! The framework of docling-mcp logs the error of a tool: a traceback in a frame, and below it the
//! error, wrapped to the width of a terminal. Then the framework logs, in the same form, its own
//! error, into which it converts the first error.

use std::sync::LazyLock;

use regex::Regex;

/// The classes of the errors into which the framework converts each failure of a tool. Their
/// messages do not say why the tool failed.
const FRAMEWORK_ERRORS: [&str; 2] = ["UnexpectedToolError", "ToolError"];
/// The maximum length of a reason, in characters.
const MAX_REASON: usize = 500;

/// The first line of an error: the name of its class, and the beginning of its message.
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\w+\.)*(\w*(?:Error|Exception)): ?(.*)$").expect("a valid pattern")
});

/// Returns whether the lines have an error of the framework. Such an error comes after the reason,
/// so the log of the failure is then complete.
pub(super) fn has_framework_error(lines: &[&str]) -> bool {
    lines
        .iter()
        .any(|line| read_error(line).is_some_and(|(class, _)| FRAMEWORK_ERRORS.contains(&class)))
}

/// Returns the last error that is not an error of the framework, as its class and message.
pub(super) fn find_reason(lines: &[&str]) -> Option<String> {
    let (at, class, first) = lines.iter().enumerate().rev().find_map(|(at, line)| {
        let (class, first) = read_error(line)?;
        (!FRAMEWORK_ERRORS.contains(&class)).then_some((at, class, first))
    })?;
    let wrapped = lines[at + 1..]
        .iter()
        .map(|line| line.trim())
        .take_while(|line| !ends_message(line));
    let message: Vec<_> = [first].into_iter().chain(wrapped).collect();
    let reason = format!("{class}: {}", message.join(" "));
    Some(reason.chars().take(MAX_REASON).collect())
}

fn read_error(line: &str) -> Option<(&str, &str)> {
    let (_, [class, message]) = ERROR.captures(line.trim())?.extract();
    Some((class, message))
}

/// Returns whether a line is not a part of the message above it.
fn ends_message(line: &str) -> bool {
    line.is_empty()
        || line.starts_with("The above exception")
        || line.starts_with("During handling")
        || line.starts_with(['╭', '│', '['])
        || line.contains(" - docling_mcp - ")
        || read_error(line).is_some()
}

#[cfg(test)]
mod tests;
