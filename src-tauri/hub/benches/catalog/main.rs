//! Measures how the cost of the catalog depends on the number of tools:
//! `cargo xtask bench catalog`. Only measurements of the same run can be compared.

#![expect(clippy::print_stdout, reason = "the benchmark prints a table")]

mod generated_servers;
mod hub;
mod lists;
mod measure;
mod memory;

use measure::Measurement;

/// The numbers of tools to measure. Each server has a hundred tools.
const COUNTS: [usize; 4] = [100, 1_000, 5_000, 10_000];

fn main() {
    let columns = COUNTS.map(|count| {
        let servers = generated_servers::servers(count);
        [lists::measure_all(&servers), hub::measure_all(&servers)].concat()
    });
    let headings: Vec<String> = COUNTS
        .iter()
        .map(|count| format!("{count} tools"))
        .collect();
    println!("| operation | {} | 10,000 ÷ 1,000 |", headings.join(" | "));
    println!("|---|{}", "---|".repeat(COUNTS.len() + 1));
    for (row, (name, _)) in columns[0].iter().enumerate() {
        let measurements = columns.each_ref().map(|column| column[row].1);
        println!(
            "| {name} | {} | {} |",
            measurements
                .map(|measurement| measurement.to_string())
                .join(" | "),
            growth(measurements)
        );
    }
}

/// Returns the growth of the cost for ten times as many tools: 10 if the cost is proportional to
/// the number of tools, 1 if the cost is constant.
fn growth([_, of_1_000, _, of_10_000]: [Measurement; COUNTS.len()]) -> String {
    let factor = of_10_000.amount() / of_1_000.amount();
    if factor.is_finite() {
        format!("{factor:.1}")
    } else {
        String::new()
    }
}
