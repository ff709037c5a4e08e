//! Tests do not use a running clock, because a machine may be slow. They wait for a condition,
//! compare the order of two events, or run with a paused clock. `cargo xtask bench` measures
//! durations.

use drawbridge_tests::source::{SourceFile, without_comments, without_tests};

use crate::{assert_none, read_rust_files};

/// The files and folders of tests that may use the clock, with the reason.
const ALLOWED: &[(&str, &str)] = &[
    ("tests/upstreams/", "the fixtures are slow on request"),
    ("tests/bench/", "benchmarks measure durations"),
    ("tests/soak/", "the load lasts for a given time"),
    ("src-tauri/hub/benches/", "benchmarks measure durations"),
    (
        "tests/rig/wait.rs",
        "a deadline only turns a hang into a failure, and a shifted moment changes no result",
    ),
    (
        "tests/e2e/first_run.rs",
        "the report of the first run names its time, which no test asserts",
    ),
    (
        "src-tauri/src/throttle/tests.rs",
        "the code under test gets its times from the caller, and measures none",
    ),
];

const CLOCK: &[&str] = &["elapsed()", "Instant::now", "sleep(", "sleep_until("];

const PAUSED: &str = "#[tokio::test(start_paused = true";

/// Returns the code of the tests in a file.
fn read_tests(source: &SourceFile) -> String {
    let code = without_comments(&source.text);
    if source.path.starts_with("tests/") || source.path.contains("/benches/") || source.is_test() {
        return code;
    }
    code[without_tests(&code).len()..].to_owned()
}

/// Splits code before each test function. The first part contains no test.
fn split_tests(code: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = ["#[test]", "#[tokio::test"]
        .iter()
        .flat_map(|attribute| code.match_indices(attribute).map(|(index, _)| index))
        .collect();
    starts.sort_unstable();
    let ends = starts.iter().copied().chain([code.len()]);
    std::iter::once(0)
        .chain(starts.iter().copied())
        .zip(ends)
        .map(|(start, end)| &code[start..end])
        .collect()
}

/// Returns the uses of the clock in tests whose clock is not paused. Functions before the first
/// test may use the clock if every test of the file pauses the clock.
fn find_clock_uses(code: &str) -> Vec<&str> {
    let parts = split_tests(code);
    let is_paused = |part: &&str| part.starts_with(PAUSED);
    let all_paused = parts.len() > 1 && parts[1..].iter().all(is_paused);
    let parts = parts
        .iter()
        .enumerate()
        .filter(|(number, part)| !(is_paused(part) || *number == 0 && all_paused));
    parts
        .flat_map(|(_, part)| part.lines())
        .filter(|line| CLOCK.iter().any(|name| line.contains(name)))
        .map(str::trim)
        .collect()
}

#[test]
fn only_uses_of_a_running_clock_are_found() {
    let paused_code = format!("{PAUSED})]\nasync fn a() {{ sleep(1); }}\n");
    assert_eq!(find_clock_uses(&paused_code), Vec::<&str>::new());
    let helper_code = format!("async fn help() {{ sleep(2); }}\n{paused_code}");
    assert_eq!(find_clock_uses(&helper_code), Vec::<&str>::new());
    let running_code = format!("{helper_code}#[test]\nfn b() {{\n    sleep(3);\n}}\n");
    assert_eq!(
        find_clock_uses(&running_code),
        ["async fn help() { sleep(2); }", "sleep(3);"]
    );
}

#[test]
fn tests_do_not_use_a_running_clock() {
    let files: Vec<SourceFile> = read_rust_files()
        .into_iter()
        .filter(|source| source.path != "tests/tidy/clock.rs")
        .collect();
    let is_allowed = |path: &str| ALLOWED.iter().any(|(place, _)| path.starts_with(place));
    let mut violations = Vec::new();
    for source in files.iter().filter(|source| !is_allowed(&source.path)) {
        let code = read_tests(source);
        violations.extend(
            find_clock_uses(&code)
                .into_iter()
                .map(|line| format!("{}: {line}", source.path)),
        );
    }
    assert_none(
        "a test waits for a condition (`wait_until`), or its clock is paused",
        &violations,
    );
    let unused = ALLOWED
        .iter()
        .filter(|(place, _)| {
            !files.iter().any(|source| {
                source.path.starts_with(place) && !find_clock_uses(&read_tests(source)).is_empty()
            })
        })
        .map(|(place, _)| (*place).to_owned());
    assert_none(
        "each exception is still needed",
        &unused.collect::<Vec<_>>(),
    );
}
