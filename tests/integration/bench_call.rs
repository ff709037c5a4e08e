//! The benchmark of a call, in its short form.

use std::{fs, time::Duration};

use drawbridge_tests::{Home, paths, process::Process};
use serde_json::Value;

/// The longest time for the short form on a slow machine.
const TIMEOUT: Duration = Duration::from_secs(180);

#[test]
fn the_benchmark_of_a_call_measures_every_row_without_errors() {
    let home = Home::new();
    let file = home.file("rows.json");
    let mut command = home.command(paths::built_binary("bench-call"));
    command.args(["--short", "--out"]).arg(&file);
    let mut bench = Process::start(&home, "bench-call", &mut command);
    let (status, table) = bench.wait_until_exit(TIMEOUT);
    assert!(status.success(), "{table}\n{}", bench.stderr());

    let text = fs::read_to_string(file).expect("read the rows");
    let rows: Vec<Value> = serde_json::from_str(&text).expect("the rows are JSON");
    for row in &rows {
        let name = row["name"].as_str().expect("a name");
        let measured = row["hub"].as_f64();
        if name.starts_with("errors") {
            assert_eq!(measured, Some(0.0), "{row}");
        } else if name.starts_with("CPU") {
            // A short slice may use less processor time than the kernel counts.
            assert!(measured.is_some_and(|ms| ms >= 0.0), "{row}");
        } else if !name.starts_with("p50 in addition") {
            assert!(measured.is_some_and(|value| value > 0.0), "{row}");
        }
        assert!(table.contains(name), "the table has {name}: {table}");
    }
    let variants = |name: &str| rows.iter().filter(|row| row["name"] == name).count();
    assert_eq!(
        variants("calls per second at 64 sessions"),
        4,
        "for both kinds of servers and both eras: {table}"
    );
}
