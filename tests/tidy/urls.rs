//! Errors and log lines show a URL only as a `DisplayUrl`, because its user name, password and
//! query may be secrets.

use drawbridge_tests::source::without_tests;

use crate::{assert_none, read_rust_files};

/// Places whose errors show a URL that a person typed for one command, or that a public manifest
/// names.
const MAY_SHOW: &[&str] = &[
    "src-tauri/cli/",
    "src-tauri/endpoint/",
    "src-tauri/xtask/",
    "src-tauri/hub/src/registry/manifest/",
];

/// The number of lines after the message of an error in which its fields are checked.
const MAX_FIELD_LINES: u32 = 12;

/// Returns whether a line of an error declares a field `url` that is not a `DisplayUrl`.
fn declares_raw_url(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches("pub ");
    ["url: String", "url: Url", "url: &"]
        .iter()
        .any(|field| line.starts_with(field) || line.contains(&format!("{{ {field}")))
}

#[test]
fn errors_and_log_lines_show_a_url_only_as_a_display_url() {
    let mut found = Vec::new();
    for file in read_rust_files() {
        let is_exempt = MAY_SHOW.iter().any(|folder| file.path.starts_with(folder));
        if is_exempt || file.path.starts_with("tests/") || file.is_test() {
            continue;
        }
        let text = without_tests(&file.text);
        let mut lines_to_check = 0_u32;
        for line in text.lines() {
            if line.contains("#[error(") {
                lines_to_check = MAX_FIELD_LINES;
            }
            let shows = line.contains("%url") || line.contains("?url");
            if shows || (lines_to_check > 0 && declares_raw_url(line)) {
                found.push(format!("{}: {}", file.path, line.trim()));
            }
            lines_to_check = match line.trim_end() {
                "}" => 0,
                _ => lines_to_check.saturating_sub(1),
            };
        }
    }
    assert_none(
        "show a URL as drawbridge_model::display_url::DisplayUrl",
        &found,
    );
}
