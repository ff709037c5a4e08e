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
            Self::Servers => "## Servers tried\n",
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
    let parts = Part::ALL.map(|known| {
        if known == part {
            text.trim_end()
        } else {
            find_part(&page, known).trim_end()
        }
    });
    let wanted = parts
        .iter()
        .filter(|part| !part.is_empty())
        .map(|part| format!("{part}\n"));
    let wanted = wanted.collect::<Vec<_>>().join("\n");
    if env::var_os(WRITE_VARIABLE).is_some() {
        fs::write(&file, wanted).unwrap_or_else(|e| panic!("write {}: {e}", file.display()));
    } else {
        assert!(
            page == wanted,
            "{} is stale: run `cargo xtask compatibility`",
            file.display()
        );
    }
}

/// Returns a part of the page, or an empty text if the page does not have it.
fn find_part(page: &str, part: Part) -> &str {
    let start = |part: Part| {
        let heading = part.heading();
        if page.starts_with(heading) {
            Some(0)
        } else {
            page.find(&format!("\n{heading}")).map(|at| at + 1)
        }
    };
    let Some(from) = start(part) else { return "" };
    let to = Part::ALL
        .into_iter()
        .filter_map(start)
        .filter(|at| *at > from)
        .min();
    &page[from..to.unwrap_or(page.len())]
}
