//! `cargo xtask bench`: how fast it is, as tables. Figures, no tests: those of one run can be compared with each other.

use crate::{
    run,
    step::{self, Outcome, cargo, command},
};

/// Measures one of them, or both.
pub(crate) fn bench(arguments: &[&str]) -> Outcome {
    match arguments {
        [] => catalog().and_then(|()| neighbours()),
        ["catalog"] => catalog(),
        ["neighbours"] => neighbours(),
        other => Err(format!("there is no benchmark '{}'; there are catalog, neighbours", other.join(" "))),
    }
}

/// What the catalog costs by the number of tools.
fn catalog() -> Outcome {
    step::run(&mut cargo(&["bench", "--package", "drawbridge-hub", "--bench", "catalog"]))
}

/// What servers that go wrong cost the calls of the others.
fn neighbours() -> Outcome {
    let mut build = cargo(&["build", "--release", "--bins"]);
    step::run(build.args(["--package", "drawbridge-cli", "--package", "drawbridge-tests"]))?;
    step::run(&mut command(run::built(true, "bench-neighbours")?, &[]))
}
