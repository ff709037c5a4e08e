//! Explains why a server could not be verified, with the last lines that it printed.

use drawbridge_model::{
    ids::Timestamp,
    log::{LogKind, LogLine},
    spec::RegisteredServer,
};
use drawbridge_store::logs::LogFilter;

use crate::{api::ApiError, hub::Hub};

/// The maximum number of lines of output that an error contains.
const MAX_LINES: usize = 20;
/// How many lines of the server's log are read. Some of the lines may be from the hub.
const READ_LINES: usize = 200;
/// The words that a line with the cause of a failure contains, the most telling first.
const CAUSES: &[&str] = &[
    "not found",
    "cannot find",
    "no such file",
    "no module named",
    "permission denied",
    "unauthorized",
    "forbidden",
    "refused",
    "is required",
    "missing",
    "invalid",
    "enoent",
    "panicked",
    "exception",
    "fatal",
    "error",
    "failed",
    "usage:",
];
/// The words of lines that only say where to find out more.
const POINTERS: &[&str] = &[
    "a complete log of this run",
    "debug-0.log",
    "run with `rust_backtrace",
];

/// Adds to an error the last lines that the server has printed since the start. The message begins
/// with the line that names the cause, if there is such a line.
pub(super) async fn explain(
    hub: &Hub,
    server: &RegisteredServer,
    started_at: Timestamp,
    error: ApiError,
) -> ApiError {
    let filter = LogFilter {
        server: Some(server.id.clone()),
        since: Some(started_at),
        limit: READ_LINES,
        ..LogFilter::default()
    };
    let lines: Vec<String> = hub
        .logs
        .read(filter)
        .await
        .into_iter()
        .filter(is_output)
        .map(|line| line.text)
        .collect();
    let newest = &lines[lines.len().saturating_sub(MAX_LINES)..];
    if newest.is_empty() {
        return error;
    }
    let message = format_message(&error.message, newest);
    ApiError::new(error.code, message)
}

/// Returns whether the server itself has printed the line.
fn is_output(line: &LogLine) -> bool {
    matches!(line.kind, LogKind::Stderr | LogKind::Stdout)
}

fn format_message(message: &str, lines: &[String]) -> String {
    let cause = match find_cause(lines) {
        Some(cause) if !message.contains(cause) => format!("The server printed “{cause}”. "),
        _ => String::new(),
    };
    let heading = match lines.len() {
        1 => "The last line that it printed:".to_owned(),
        count => format!("The last {count} lines that it printed:"),
    };
    format!("{cause}{message}\n{heading}\n{}", lines.join("\n"))
}

/// Returns the line that most likely names the cause: the first line with the most telling word.
fn find_cause(lines: &[String]) -> Option<&str> {
    let candidates: Vec<(&str, String)> = lines
        .iter()
        .map(|line| (line.trim(), line.to_lowercase()))
        .filter(|(_, lower)| !POINTERS.iter().any(|words| lower.contains(words)))
        .collect();
    CAUSES.iter().find_map(|words| {
        candidates
            .iter()
            .find(|(_, lower)| lower.contains(words))
            .map(|(line, _)| *line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_message_begins_with_the_line_that_names_the_cause() {
        let output = lines(
            "npm error code E404\nnpm error 404 Not Found - GET https://example.com/@x%2fy\nnpm error A complete log of this run can be found in: /home/ada/.npm/debug-0.log",
        );
        let message = format_message("The server exited with exit code 1.", &output);
        let mut printed = message.lines();
        assert_eq!(
            printed.next(),
            Some(
                "The server printed “npm error 404 Not Found - GET https://example.com/@x%2fy”. The server exited with exit code 1."
            )
        );
        assert_eq!(printed.next(), Some("The last 3 lines that it printed:"));
        assert_eq!(printed.count(), 3);
    }

    #[test]
    fn a_cause_that_the_error_names_already_is_not_repeated() {
        let output = lines("starting\nError: API_KEY is required");
        let message = format_message("It ended: Error: API_KEY is required.", &output);
        assert!(message.starts_with("It ended"), "{message}");
    }

    #[test]
    fn output_without_a_cause_is_only_listed() {
        let message = format_message("It ended.", &lines("hello"));
        assert_eq!(message, "It ended.\nThe last line that it printed:\nhello");
    }
}
