//! The generated page of the docs, docs/compatibility.md. Each test binary owns a part of it.

use std::{env, fs};

use crate::paths;

/// A part of the page, in order of appearance. A part begins with its heading and ends before the
/// next part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Matrix,
    Servers,
    Suites,
}

impl Part {
    const ALL: [Self; 3] = [Self::Matrix, Self::Servers, Self::Suites];

    fn heading(self) -> &'static str {
        match self {
            Self::Matrix => "# Compatibility\n",
            Self::Servers => "## Tested servers\n",
            Self::Suites => "## Conformance suites\n",
        }
    }
}

/// The variable that is set if the page is to be written instead of compared.
const WRITE_VARIABLE: &str = "DRAWBRIDGE_WRITE_COMPATIBILITY";

/// Compares a part of the page with `text`, which begins with the part's heading. Writes the part
/// instead if `cargo xtask compatibility` runs the test.
#[track_caller]
pub fn check_or_write(part: Part, text: &str) {
    assert!(
        text.starts_with(part.heading()),
        "{part:?} begins with its heading"
    );
    let file = paths::repository_root().join("docs/compatibility.md");
    let page = fs::read_to_string(&file).unwrap_or_default();
    let parts = Part::ALL.map(|page_part| {
        if page_part == part {
            text.trim_end()
        } else {
            find_part(&page, page_part).trim_end()
        }
    });
    let expected_page = parts
        .iter()
        .filter(|part| !part.is_empty())
        .map(|part| format!("{part}\n"));
    let expected_page = expected_page.collect::<Vec<_>>().join("\n");
    if env::var_os(WRITE_VARIABLE).is_some() {
        fs::write(&file, expected_page).unwrap_or_else(|e| panic!("write {}: {e}", file.display()));
    } else {
        assert!(
            page == expected_page,
            "{} is stale: run `cargo xtask compatibility`",
            file.display()
        );
    }
}

/// Returns a part of the page, or an empty text if the page does not have it.
fn find_part(page: &str, part: Part) -> &str {
    let find_start = |part: Part| {
        let heading = part.heading();
        if page.starts_with(heading) {
            Some(0)
        } else {
            page.find(&format!("\n{heading}")).map(|index| index + 1)
        }
    };
    let Some(start_index) = find_start(part) else {
        return "";
    };
    let end_index = Part::ALL
        .into_iter()
        .filter_map(find_start)
        .filter(|index| *index > start_index)
        .min();
    &page[start_index..end_index.unwrap_or(page.len())]
}
